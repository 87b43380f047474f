# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the tools end: outputs that are closed, full or somebody else's, signals, names that are no text."""

import os
import signal
import subprocess
import sys
import unittest

from support import SOURCE, InFolder, result, results_file, run
from tarn_tools.failure import Failure
from tarn_tools.replaced_file import replaced_file, write_text

TRACE = "# tarn-trace 1\na 0 100 0 0 10\nf 0 0 0 30\n"


def program(name, *arguments):
    return [sys.executable, str(SOURCE / "tools" / name), *map(str, arguments)]


class StandardOutput(InFolder):
    def shell(self, redirection, *arguments):
        """With a standard output that a shell makes."""
        words = ["bash", "-c", f'"$@" {redirection}', "bash", *program(*arguments)]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, cwd=self.folder)

    def test_it_is_closed(self):
        path = self.write("good.trace", TRACE)
        done = self.shell(">&-", "tarn-trace", "check", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.shell(">&-", "tarn-trace", "cut", path, "-o", "-")
        self.assertEqual((done.returncode, done.stderr), (1, "tarn-trace: the standard output is closed\n"))

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_it_is_full(self):
        path = self.write("good.trace", TRACE)
        done = self.shell(">/dev/full", "tarn-trace", "stats", path)
        self.assertEqual((done.returncode, done.stderr), (
            1, "tarn-trace: the standard output cannot be written: No space left on device\n"))
        done = self.shell("", "tarn-trace", "timeline", path, "-o", "/dev/full")
        self.assertEqual((done.returncode, done.stderr), (
            1, "tarn-trace: /dev/full: cannot be written: No space left on device\n"))
        for output in ("-", "/dev/stdout"):
            done = self.shell(">/dev/full", "tarn-trace", "timeline", path, "-o", output)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"^tarn-trace: .* cannot be written: No space left on device\n$")

    def test_nobody_reads_on(self):
        good = self.write("good.trace", TRACE)
        done = self.shell("| true; exit ${PIPESTATUS[0]}", "tarn-trace", "stats", *[good] * 2000)
        self.assertEqual((done.returncode, done.stderr), (1, ""))

    def test_a_link_to_it(self):
        """/dev/stdout is a link that must stay one."""
        path, link = self.write("good.trace", TRACE), self.folder / "link"
        link.symlink_to("/dev/stdout")
        for redirection in (">whole.json", "| cat >whole.json"):
            done = self.shell(redirection, "tarn-trace", "timeline", path, "-o", link, "--force")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(link.is_symlink())
            self.assertIn("traceEvents", (self.folder / "whole.json").read_text())


class Signals(InFolder):
    def test_it_says_so_and_leaves_nothing(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                pipe = self.folder / "pipe.trace"
                os.mkfifo(pipe)
                child = subprocess.Popen(program("tarn-trace", "cut", pipe, "-o", self.folder / "out.trace"),
                                         stderr=subprocess.PIPE, text=True)
                with open(pipe, "w") as file: # opened: the child reads
                    file.write(TRACE)
                    file.flush()
                    child.send_signal(number)
                    _, said = child.communicate(timeout=60)
                self.assertEqual((child.returncode, said), (status, "tarn-trace: interrupted\n"))
                pipe.unlink()
                self.assertEqual(list(self.folder.iterdir()), [])


class Replaced(InFolder):
    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_an_old_file_stays_when_the_new_one_fails(self):
        path = self.write("page.html", "old")
        with self.assertRaises(KeyError):
            with replaced_file(str(path)) as file:
                file.write(b"new")
                raise KeyError
        self.assertEqual((path.read_text(), self.names()), ("old", ["page.html"]))

    def test_a_link_stays(self):
        target, link = self.write("there/page.html", "old"), self.folder / "link.html"
        link.symlink_to(target)
        write_text(str(link), "new")
        self.assertTrue(link.is_symlink())
        self.assertEqual(target.read_text(), "new")

    def test_permissions_stay(self):
        path = self.write("page.html", "old")
        path.chmod(0o640)
        write_text(str(path), "new")
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        mask = os.umask(0o027)
        write_text(str(self.folder / "new.html"), "new")
        os.umask(mask)
        self.assertEqual((self.folder / "new.html").stat().st_mode & 0o777, 0o640)

    def test_where_there_is_no_folder(self):
        with self.assertRaisesRegex(Failure, "cannot be written: No such file"):
            write_text(str(self.folder / "none" / "page.html"), "new")


class CommandLine(InFolder):
    """What all programs have."""

    def test_version_and_help_of_each_command(self):
        from tarn_tools import map_command, report_command, trace_command
        from tarn_tools.version import version
        header = (SOURCE / "include" / "tarn" / "version.h").read_text()
        for part, number in zip(("MAJOR", "MINOR", "PATCH"), version().split(".")):
            self.assertRegex(header, rf"#define TARN_VERSION_{part}\s+{number}\n")
        commands = [command for command in trace_command.parser().words() if not command.startswith("-")]
        self.assertIn("timeline", commands)
        self.assertTrue(map_command.parser() and report_command.parser())
        for name, *command in (["tarn-map"], ["tarn-report"], ["tarn-trace"], *(["tarn-trace", c] for c in commands)):
            self.assertEqual(run(name, *command, "--version").out, f"{name} {version()}\n")
            self.assertIn("Exit status: 0 success", " ".join(run(name, *command, "--help").out.split()))

    def test_what_may_have_been_meant(self):
        for words, hint in ((["tarn-trace", "stat", "x"], "did you mean 'stats'?"),
                            (["tarn-trace", "cut", "x", "-o", "y", "--frist", "3"], "did you mean '--first'?"),
                            (["tarn-report", "x", "--tilte=3"], "did you mean '--title'?")):
            self.assertIn(hint, run(*words, status=2).err)
        self.assertNotIn("did you mean", run("tarn-trace", "qqqqqq", status=2).err)

    def test_what_was_written_is_said(self):
        path = self.write("good.trace", "# tarn-trace 1\na 0 100 0 0 10\n")
        out = self.folder / "out.trace"
        self.assertEqual(run("tarn-trace", "cut", path, "-o", out).err, f"tarn-trace: wrote {out}: 1 event\n")
        self.assertEqual(run("tarn-trace", "cut", path, "-o", "-").err, "")
        self.assertIn("1 event, 1 block left live\n", run("tarn-trace", "check", path).out)

    def test_files_are_replaced_only_if_asked_for(self):
        path, results = self.write("good.trace", TRACE), self.write("in.json", results_file(result("tarn")))
        old, plots = self.write("old", "mine"), self.write("plots/mine.svg", "mine").parent
        for words in (["tarn-trace", "cut", path, "-o", old], ["tarn-trace", "timeline", path, "-o", old],
                      ["tarn-report", results, "--csv", old], ["tarn-report", results, "-o", old],
                      ["tarn-report", results, "--svg", plots]):
            self.assertIn("--force replaces", run(*words, status=2).err)
        self.assertEqual(old.read_text(), "mine")
        run("tarn-report", results, "--csv", old, "--force")
        self.assertIn("tarn", old.read_text())


class Names(InFolder):
    def test_a_name_that_is_no_text(self):
        """Bytes of a name that are no UTF-8, or a new line, are escaped."""
        path = os.fsencode(self.folder / "odd-") + b"\xff\n.trace"
        with open(path, "w") as file:
            file.write(TRACE)
        done = run("tarn-trace", "stats", os.fsdecode(path))
        self.assertIn("odd-\\xff\\x0a.trace", done.out)
        run("tarn-trace", "check", os.fsdecode(path), env={**os.environ, "PYTHONIOENCODING": "ascii"})
        with open(path, "w") as file:
            file.write("nonsense\n")
        self.assertIn("odd-\\xff\\x0a.trace:1: ", run("tarn-trace", "check", os.fsdecode(path), status=1).err)

    def test_letters_of_another_locale(self):
        path = self.write("late.trace", "# tarn-trace 1\na 0 1 0 0 0\nf 0 0 0 50000\n")
        said = run("tarn-trace", "stats", path, env={**os.environ, "PYTHONIOENCODING": "ascii"}).out
        self.assertIn("50 µs", said)

    def test_results_with_such_a_name(self):
        path = os.fsencode(self.folder / "odd-") + b"\xff.json"
        os.rename(self.write("in.json", results_file(result("tarn"))), path)
        run("tarn-report", os.fsdecode(path), "--csv", self.folder / "all.csv")
        self.assertIn("odd-", (self.folder / "all.csv").read_text())


if __name__ == "__main__":
    unittest.main()
