# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From tarn-bench to the page: what the program measures is what the page tells, on the real results too."""

import contextlib
import json
import os
import pty
import subprocess
import sys
import threading
import unittest
from unittest import mock

from support import SOURCE, InFolder, has_matplotlib, needs_bench, result, results_file, run
from tarn_tools import progress
from tarn_tools.progress import Progress

TRACE = "# tarn-trace 1\n# name: tiny\n" + "".join(
    f"a {i} {1000 * (i + 1)} 0 0 {10 * i}\n" for i in range(20)) + "".join(f"f {i} 0 0 500\n" for i in range(20))


@unittest.skipUnless(has_matplotlib(), "no Python here has matplotlib: package python3-matplotlib")
class EndToEnd(InFolder):
    @needs_bench
    def test_from_the_benchmark_to_the_page(self):
        trace = self.write("tiny.trace", TRACE)
        commands = (["replay", trace], ["sweep", "--sizes", "1K,1M"], ["churn", "--live", "10,100"],
                    ["live", "--counts", "10,100"], ["threads", "--threads", "1,2", "--live", "10"])
        files = []
        for number, command in enumerate(commands):
            files.append(self.folder / f"{number}.json")
            run("tarn-bench", *command, "--allocator", "raw,tarn,vendor-pool", "--repetitions", "2", "--time", "0.05",
                "--json", files[-1])
        page, plots = self.folder / "page.html", self.folder / "plots"
        run("tarn-report", *files, "-o", page, "--png", plots, "--svg", plots, "--csv", self.folder / "all.csv",
            "--title", "A <title>")
        text = page.read_text().replace("<wbr>", "")
        self.assertIn("<h1>A &lt;title&gt;</h1>", text)
        for words in ("tiny", "10 of 1K to 16M", "vendor-pool", "not found"):
            self.assertIn(words, text)
        for file in files:
            for row in json.loads(file.read_text())["results"]:
                self.assertIn(row["workload"], text)
        kinds = sorted(path.suffix for path in plots.iterdir())
        self.assertEqual(kinds.count(".png"), kinds.count(".svg"))
        self.assertGreaterEqual(kinds.count(".png"), 12)
        for path in plots.glob("*.png"):
            self.assertTrue(path.read_bytes().startswith(b"\x89PNG"), path)

    def test_the_results_that_come_along(self):
        """A page of all of them takes long; the table alone reads and checks them as well."""
        results = SOURCE / "bench" / "results"
        files = sorted(results.glob("*/*.json.gz"))
        self.assertGreater(len(files), 3)
        run("tarn-report", *files, "--csv", self.folder / "all.csv")
        run("tarn-report", *sorted(results.glob("h200-all-2026-11-22/[hrs]*.json.gz")),
            results / "host-peers-2026-11-22" / "churn.json.gz", "-o", self.folder / "page.html")
        for name in ("all.csv", "page.html"):
            text = (self.folder / name).read_text().replace("<wbr>", "")
            for words in ("NVIDIA H200", "host, AMD EPYC", "torch_resnet", "ordered-sets"):
                self.assertIn(words, text)

    def test_of_a_pipe(self):
        """What is read from a pipe is read once, also where another Python has matplotlib."""
        pipe = self.folder / "pipe.json"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=(json.dumps(results_file(result("tarn"))),))
        writer.start()
        run("tarn-report", pipe, "-o", self.folder / "page.html")
        writer.join()
        self.assertIn("mesh", (self.folder / "page.html").read_text())


def read_terminal(ours):
    """All that was written to it, in how many pieces ever it comes. Nobody has it open any more."""
    said = b""
    with contextlib.suppress(OSError): # EIO is its end
        while piece := os.read(ours, 1000):
            said += piece
    os.close(ours)
    return said.decode()


class OnATerminal(InFolder):
    def test_a_line_says_how_far_it_is_and_goes(self):
        """On a terminal alone: elsewhere every test that looks at stderr would see it."""
        ours, theirs = pty.openpty()
        program = ("from tarn_tools import progress; progress.BEGIN_SECONDS = progress.STEP_SECONDS = 0\n"
                   "with progress.Progress('tarn-report', 'drawing') as p: p.tell(1, 4); p.tell(3, 4)")
        subprocess.run([sys.executable, "-c", program], stderr=theirs, check=True,
                       env={**os.environ, "PYTHONPATH": str(SOURCE / "tools")})
        os.close(theirs)
        self.assertEqual(read_terminal(ours),
                         "\rtarn-report: drawing ... 25 %\x1b[K\rtarn-report: drawing ... 75 %\x1b[K\r\x1b[K")

    def test_several_parts(self):
        ours, theirs = pty.openpty()
        with open(theirs, "w") as terminal, mock.patch.object(progress, "BEGIN_SECONDS", 0), \
                mock.patch.object(progress, "STEP_SECONDS", 0), mock.patch("sys.stderr", terminal):
            with Progress("p", "reading") as told:
                told.tell(10, 100, part="a")
                told.tell(90, 100, part="b")
                told.tell(0, 0, part="a pipe")
        self.assertEqual([word for word in read_terminal(ours).split() if word.isdigit()], ["10", "50", "50"])


class WithoutMatplotlib(InFolder):
    def test_the_package_is_named(self):
        """As on a machine where no Python has it: a module of that name that cannot be imported."""
        self.write("matplotlib/__init__.py", "raise ImportError('planted')")
        path = self.write("in.json", json.dumps(results_file(result("tarn"))))
        done = run("tarn-report", path, "-o", self.folder / "page.html", status=1,
                   env={**os.environ, "PYTHONPATH": str(self.folder)})
        self.assertIn("package python3-matplotlib", done.err)
        self.assertFalse((self.folder / "page.html").exists())

    def test_a_table_needs_none(self):
        self.write("matplotlib/__init__.py", "raise ImportError('planted')")
        path = self.write("in.json", json.dumps(results_file(result("tarn"))))
        run("tarn-report", path, "--csv", self.folder / "all.csv",
            env={**os.environ, "PYTHONPATH": str(self.folder)})
        self.assertTrue((self.folder / "all.csv").exists())


if __name__ == "__main__":
    unittest.main()
