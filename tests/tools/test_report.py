# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From tarn-bench to the page: what the program measures is what the page tells, on the real results too."""

import json
import os
import unittest

from support import SOURCE, InFolder, has_matplotlib, needs_bench, run

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
        text = page.read_text()
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
        files = sorted((SOURCE / "bench" / "results").glob("*/*.json"))
        self.assertGreater(len(files), 3)
        run("tarn-report", *files, "-o", self.folder / "page.html")
        text = (self.folder / "page.html").read_text()
        for words in ("NVIDIA H200", "host, AMD EPYC", "torch_resnet", "ordered-sets"):
            self.assertIn(words, text)


class WithoutMatplotlib(InFolder):
    def test_the_package_is_named(self):
        """As on a machine where no Python has it: a module of that name that cannot be imported."""
        self.write("matplotlib/__init__.py", "raise ImportError('planted')")
        content = (SOURCE / "bench" / "results" / "host-2026-11-21" / "churn.json").read_text()
        path = self.write("in.json", content)
        done = run("tarn-report", path, "-o", self.folder / "page.html", status=1,
                   env={**os.environ, "PYTHONPATH": str(self.folder)})
        self.assertIn("package python3-matplotlib", done.err)
        self.assertFalse((self.folder / "page.html").exists())

    def test_a_table_needs_none(self):
        self.write("matplotlib/__init__.py", "raise ImportError('planted')")
        content = (SOURCE / "bench" / "results" / "host-2026-11-21" / "churn.json").read_text()
        path = self.write("in.json", content)
        run("tarn-report", path, "--csv", self.folder / "all.csv",
            env={**os.environ, "PYTHONPATH": str(self.folder)})
        self.assertTrue((self.folder / "all.csv").exists())


if __name__ == "__main__":
    unittest.main()
