# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What TARN_TRACE writes, whatever its name and however the program ends: tarn-trace and tarn-bench read it."""

import gzip
import os
import subprocess
import unittest
from pathlib import Path

from support import BENCH, InFolder, needs_bench, run, run_tests

RECORD = os.environ.get("EVENTS_RECORDER", "")
PROGRAM = os.environ.get("EVENTS_PROGRAM", "")

COUNT = 10_001 # allocations, of which every second one is freed
EVENTS = COUNT + (COUNT + 1) // 2


@unittest.skipUnless(RECORD and PROGRAM, "tarn-record was not built")
class Events(InFolder):
    PATHS = {"PATH": f"{Path(RECORD).parent}:{os.environ['PATH']}"}

    def record(self, name, *how, status=0):
        """Runs a program with a trace; by default it kills itself."""
        path = self.folder / name
        done = subprocess.run([PROGRAM, str(COUNT), *how], env={**os.environ, "TARN_TRACE": str(path)}, check=False)
        self.assertEqual(done.returncode, status)
        self.assertEqual(path.read_bytes()[:14], b"tarn-events 1\n")
        return path

    def trace(self, *arguments, **options):
        return run("tarn-trace", *arguments, env={**os.environ, **self.PATHS}, **options)

    def text_of(self, path):
        return self.trace("cut", path, "-o", "-").out

    def test_any_name_and_any_end(self):
        texts = {}
        for name, how, status in (("a.trace", ("ends",), 0), ("a.trace.gz", ("ends",), 0), ("killed.trace", (), -9),
                                  ("killed.trace.gz", (), -9)):
            path = self.record(name, *how, status=status)
            self.assertIn(f"{EVENTS:,} events".replace(",", " "), self.trace("check", path).out)
            texts[name] = [line.rsplit(" ", 1)[0] for line in self.text_of(path).splitlines() if line[0] in "af"]
        self.assertEqual(len(texts["a.trace"]), EVENTS)
        for text in texts.values():
            self.assertEqual(text, texts["a.trace"])

    def test_every_command_takes_it(self):
        path = self.record("a.trace.gz", "ends")
        subprocess.run([RECORD, "--recover", str(path), "-o", self.folder / "text.trace"], check=True,
                       capture_output=True)
        self.assertTrue(path.exists())
        for command in (["stats"], ["stats", "--json"], ["check"], ["timeline", "-o", "-"], ["cut", "-o", "-"],
                        ["anonymise", "-o", "-"]):
            found = [self.trace(command[0], file, *command[1:]).out.replace(str(file), "FILE")
                     for file in (path, self.folder / "text.trace")]
            self.assertEqual(*found)
            self.assertTrue(found[0])
        merged = self.trace("merge", path, self.folder / "text.trace", "-o", "-").out
        self.assertIn(f"# events: {2 * EVENTS}\n", merged)

    def test_it_becomes_text_in_its_place(self):
        path = self.record("a.trace.gz", "ends")
        before = self.text_of(path)
        subprocess.run([RECORD, "--recover", str(path)], check=True, capture_output=True)
        self.assertTrue(gzip.decompress(path.read_bytes()).startswith(b"# tarn-trace 1\n"))
        self.assertEqual(self.text_of(path), before)
        self.assertEqual(os.listdir(self.folder), ["a.trace.gz"])

    @needs_bench
    def test_tarn_bench_plays_it(self):
        for name, how, status in (("a.trace.gz", ("ends",), 0), ("killed.trace", (), -9)):
            path = self.record(name, *how, status=status)
            out = run("tarn-bench", "replay", path, "--allocator=tarn", "--repetitions=1", "--time=0.05").out
            self.assertIn("killed_program", out)

    @needs_bench
    def test_both_say_the_same_of_damage(self):
        whole = self.record("whole.trace", "ends").read_bytes()
        foreign = whole[:16] + b"\0\0\0 " + whole[20:] # of a machine with another order of bytes
        for name, content, words in (("cut.trace", whole[:4095], "is not a file of events"),
                                     ("cut.trace.gz", whole[:20], "is not a file of events"),
                                     ("foreign.trace", foreign, "has events of an unknown format"),
                                     ("empty.trace", whole[:4096], "the trace has no events")):
            path = self.write(name, content)
            said = self.trace("stats", path, status=1).err
            self.assertIn(words, said)
            self.assertEqual(said.replace("tarn-trace: ", "tarn-bench: "),
                             run("tarn-bench", "replay", path, status=1).err)

    def test_what_is_still_being_written(self):
        path = self.folder / "alive.trace"
        with subprocess.Popen([PROGRAM, "100", "alive"], env={**os.environ, "TARN_TRACE": str(path)},
                              stdout=subprocess.PIPE) as program:
            self.assertEqual(program.stdout.read(1), b"+")
            self.assertIn("is still being written", self.trace("stats", path, status=1).err)
            if BENCH:
                self.assertIn("is still being written", run("tarn-bench", "replay", path, status=1).err)
            program.kill()
        self.trace("check", path)

    def test_without_tarn_record(self):
        path = self.record("a.trace", "ends")
        said = run("tarn-trace", "stats", path, status=1, env={**os.environ, "PATH": "/usr/bin:/bin"}).err
        self.assertEqual(said, f"tarn-trace: {path}: is a file of events, which tarn-record reads; it is not beside this "
                               "program or in PATH\n")


if __name__ == "__main__":
    run_tests()
