# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of the papers: the commands of scripts/papers, and the plots of what they measure."""

import json
import subprocess
import unittest
from pathlib import Path

from page_reader import WithPage
from support import BENCH, SOURCE, InFolder, has_matplotlib, needs_bench, result, results_file, run

# In place of what takes long; the last of two equal options counts.
SHORTER = {"tarn-bench": ["--time", "0.01", "--repetitions", "1"], "tarn-mesh-adapt": ["--steps", "2", "--depth", "4"]}
SMALLER = {"sweep": ["--sizes", "1,1M,1G"], "live": ["--counts", "10,1000"], "churn": ["--live", "20"], "growth": []}


def listed():
    """[(figure, [program, option...])]"""
    done = subprocess.run([SOURCE / "scripts/papers", "--list"], capture_output=True, text=True, check=True)
    return [(figure, words.split()) for figure, words in (line.split(": ", 1) for line in done.stdout.splitlines())]


def part(first, alloc, free):
    """alloc and free: (count, median, worst)"""
    return [first, *alloc, *free]


def latency(**more):
    return {"latency": {"passes": 3, "alloc_worst_ns": 9000, "alloc_worst_once_ns": 80000, "free_worst_ns": 700,
                        "free_worst_once_ns": 700,
                        "over_time": [part(0, (5, 200, 9000), (0, 0, 0)), part(5, (2, 100, 300), (3, 50, 700))],
                        "by_size": [part(4 ** power, (3, 100 + power, 9000), (3, 50, 700)) for power in range(4)],
                        **more}}


class Commands(InFolder):
    def test_the_page_about_them_has_them(self):
        page = (SOURCE / "docs/papers.md").read_text(encoding="utf-8")
        for figure, _ in listed():
            self.assertIn(f"`{figure}`", page)

    @needs_bench
    @unittest.skipUnless(has_matplotlib(), "no Python here has matplotlib: package python3-matplotlib")
    def test_each_gives_results_and_a_page(self):
        """The options are those of the script, but for the sizes of the workloads."""
        for number, (figure, (program, *options)) in enumerate(listed()):
            path = Path(BENCH).with_name(program)
            if not path.exists():
                self.assertEqual(program, "tarn-mesh-adapt") # with the examples, which may be left out
                continue
            smaller = SMALLER[options[0]] if program == "tarn-bench" else []
            file = self.folder / f"{figure}-{number}.json"
            done = subprocess.run([path, *options, *SHORTER[program], *smaller, "--json", file], capture_output=True,
                                  text=True, check=False, timeout=120)
            self.assertEqual(done.returncode, 0, f"{figure}: {done.stderr}")
            results = json.loads(file.read_text())["results"]
            self.assertIn("tarn", [row["allocator"] for row in results], figure)
            if figure != "mam-10-million":
                self.assertIn("raw", [row["allocator"] for row in results], figure)
            for row in results:
                self.assertEqual("latency" in row, "--latency" in options, figure)
                self.assertEqual("program_ns" in row, figure == "pool", figure)
        files = sorted(self.folder.glob("*.json"))
        run("tarn-report", *files, "-o", self.folder / "page.html")
        page = (self.folder / "page.html").read_text()
        for text in ("Latency over time", "Latency by size", "The worst call", "By size", "By number of live blocks"):
            self.assertIn(text, page)


@unittest.skipUnless(has_matplotlib(), "no Python here has matplotlib: package python3-matplotlib")
class Plots(WithPage):
    def plots_of(self, *contents):
        paths = [self.write(f"in-{number}.json", content) for number, content in enumerate(contents)]
        run("tarn-report", *paths, "--svg", self.folder / "plots")
        return sorted(path.stem for path in (self.folder / "plots").iterdir())

    def test_the_time_of_each_call(self):
        names = [name for name in self.plots_of(results_file(
            result("tarn", bench="churn", workload="20 of 1K to 16M", **latency()),
            result("raw", bench="churn", workload="20 of 1K to 16M", **latency()),
            result("cub", bench="churn", workload="20 of 1K to 16M"))) if "latency" in name or "worst" in name]
        self.assertEqual(names, sorted(
            ["churn-worst-call", *[f"churn-20-of-1k-to-16m-latency-{over}-{call}-{figure}"
                                   for over in ("over-time", "by-size") for call in ("an-allocation", "a-free")
                                   for figure in ("median", "worst")]]))

    def test_the_page_tells_them_in_the_section_of_their_workload(self):
        self.page_of(results_file(result("tarn", bench="growth", workload="to full of 1 to 1G", **latency()),
                                  result("tarn", bench="replay", workload="mesh", **latency())))
        growth = self.source[self.source.index('id="growth"'):]
        self.assertIn("Latency over time: growth: to full of 1 to 1G", growth)
        self.assertIn("Latency by size: growth: to full of 1 to 1G", growth)
        self.assertIn("Latency over time: mesh", self.source)

    def test_few_sizes_have_no_plot(self):
        """Two sizes are no line; a part without calls, or a call of 0 ns, has no place on a logarithmic axis."""
        few = latency(by_size=[part(1, (1, 1, 1), (1, 1, 1)), part(4, (1, 1, 1), (1, 1, 1))],
                      over_time=[part(0, (0, 0, 0), (3, 0, 5))], alloc_worst_ns=0, free_worst_ns=0)
        names = self.plots_of(results_file(result("tarn", bench="churn", workload="a", **few)))
        self.assertEqual([name for name in names if "latency" in name or "worst" in name],
                         ["churn-a-latency-over-time-a-free-worst"])

    def test_machines_stand_side_by_side(self):
        one = results_file(result("tarn", bench="churn", workload="a", **latency()))
        other = {**one, "machine": {**one["machine"], "device_name": "Device B"}}
        names = self.plots_of(one, other)
        self.assertEqual(len([name for name in names if "latency-over-time-an-allocation-worst" in name]), 2)

    def test_a_whole_program(self):
        rows = [result(name, bench="adapt", workload="60 steps of depth 18 with a first piece of 8M", program_ns=ns)
                for name, ns in (("raw", 2e9), ("tarn", 1e9))]
        self.assertIn("adapt-program", self.plots_of(results_file(*rows)))
        self.page_of(results_file(*rows))
        self.assertIn("A mesh that adapts", self.text)
        self.assertIn("The whole program", self.text)

    def test_fields_that_are_wrong(self):
        for wrong, message in ((7, '"latency" is not an object'), ({"over_time": [[1, 2]]}, "seven numbers each"),
                               ({"by_size": {}}, "seven numbers each"),
                               ({"alloc_worst_ns": "x"}, '"alloc_worst_ns" is not a number')):
            path = self.write("wrong.json", results_file(result("tarn", latency=wrong)))
            done = run("tarn-report", path, "-o", self.folder / "page.html", status=2)
            self.assertIn(message, done.err)
            self.assertFalse((self.folder / "page.html").exists())


if __name__ == "__main__":
    unittest.main()
