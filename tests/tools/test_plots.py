# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plots as files: each has one of its own, that a viewer can open, whatever names the results have."""

import os
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

from support import SOURCE, InFolder, has_matplotlib, python_with_matplotlib, rates, result, results_file, run
from tarn_tools.chart_kinds import offsets_of
from tarn_tools.figures import envelope, live_of


@unittest.skipUnless(has_matplotlib(), "no Python here has matplotlib: package python3-matplotlib")
class Plots(InFolder):
    def plots_of(self, *contents):
        paths = [self.write(f"in-{number}.json", content) for number, content in enumerate(contents)]
        done = run("tarn-report", *paths, "--svg", self.folder / "plots")
        self.assertRegex(done.err, r"^tarn-report: wrote [^\n]*: \d+ plots?\n$")
        return {path.stem: ElementTree.parse(path) for path in (self.folder / "plots").iterdir()}

    @staticmethod
    def words(plot):
        return [element.text for element in plot.iter("{http://www.w3.org/2000/svg}text")]

    def test_their_names_say_a_workload_once(self):
        over_time = {"memory_over_time": [[0, 1, 2], [9, 3, 4]]}
        plots = self.plots_of(results_file(result("tarn", workload="examinimd-lj", **over_time)))
        self.assertEqual(sorted(plots), ["memory-over-time-replay-examinimd-lj", "replay-memory", "replay-time"])

    def test_none_replaces_another(self):
        """Names that differ in letters that no file should have, and long ones that begin alike."""
        over_time = {"memory_over_time": [[0, 1, 2], [9, 3, 4]]}
        names = ["a b", "a-b", "A/B", "x" * 200 + "1", "x" * 200 + "2"]
        plots = self.plots_of(results_file(*[result("tarn", workload=name, **over_time) for name in names]))
        found = [name for name in plots if name.startswith("memory-over-time")]
        self.assertEqual(len(found), len(names), found)
        words = " ".join(word for name in found for word in self.words(plots[name]))
        for name in names[:3]:
            self.assertIn(f"replay: {name}", words)

    def test_odd_names(self):
        """Letters that XML cannot write, that no font has, and what a legend would take for its own."""
        names = ["bell \x07", "half \ud800", "\u4e2d\u6587 \U0001f600", "_nolegend_", "<&>"]
        plots = self.plots_of(results_file(*[result(name, workload=name) for name in names]))
        words = " ".join(filter(None, self.words(plots["replay-time"])))
        for name in ("bell \ufffd", "half \ufffd", "\u4e2d\u6587 \U0001f600", "_nolegend_", "<&>"):
            self.assertGreaterEqual(words.count(name), 2, name) # beside the axis and in the legend

    def test_a_long_name_leaves_room_for_the_plot(self):
        plots = self.plots_of(results_file(result("tarn", workload="begin " + "long " * 100 + "end")))
        labels = [word for word in self.words(plots["replay-time"]) if word and word.startswith("begin")]
        self.assertEqual(len(labels), 1)
        self.assertLess(len(labels[0]), 40)
        self.assertTrue(labels[0].endswith("end"))

    def test_how_a_workload_was_played_is_another_plot(self):
        plots = self.plots_of(results_file(
            *[result("tarn", workload=f"{size}{how}", bench="sweep") for size in ("1K", "1M")
              for how in ("", ", touched")],
            *[result("tarn", workload=f"{count} of 1 to 10", bench="live", touched=touched) for count in (10, 100)
              for touched in (False, True)],
            *[rates(name, threads, 1e6) | {"workload": f"{threads} x 10 of 1K to 16M{how}"} for threads in (1, 2)
              for name in ("tarn", "cub") for how in ("", ", shared", ", shared, one stream")]))
        for name in ("sweep-an-allocation-and-its-free", "sweep-touched-an-allocation-and-its-free",
                     "live-1-to-10-a-free-median", "live-1-to-10-touched-a-free-99th-percentile",
                     "threads-10-of-1k-to-16m", "threads-10-of-1k-to-16m-shared",
                     "threads-10-of-1k-to-16m-shared-one-stream"):
            self.assertIn(name, plots)

    def test_raw_does_not_hide_the_others(self):
        def over_time(held):
            return {"memory_over_time": [[0, 1 << 20, held], [9, 1 << 20, held]]}
        plots = self.plots_of(results_file(result("tarn", **over_time(2 << 20)), result("cub", **over_time(3 << 20)),
                                           result("raw", **over_time(90 << 20))))
        words = self.words(plots["memory-over-time-replay-mesh"])
        self.assertIn("raw: up to 90 MiB, not drawn", words)
        self.assertNotIn("64 MiB", words) # on the axis


    def test_a_file_has_its_own_legend(self):
        words = self.words(self.plots_of(results_file(result("tarn"), result("cub", 500)))["replay-time"])
        self.assertIn("cub", words)


class Apart(unittest.TestCase):
    """Lines that lie on each other are moved by some pixels, all others not at all."""

    def test_only_lines_that_hide_each_other_are_moved(self):
        line = {x: float(x) for x in range(10)}
        near = {x: y + 0.05 for x, y in line.items()} # a two-hundredth of the axis
        half = {x: y if x < 5 else y + 3 for x, y in line.items()}
        far = {x: y + 3 for x, y in line.items()}
        offsets = offsets_of({"a": line, "b": far, "c": near, "d": half}, 10)
        self.assertEqual(offsets["b"], 0)
        self.assertEqual(len({offsets["a"], offsets["c"], offsets["d"]}), 3)
        self.assertAlmostEqual(offsets["a"] + offsets["c"] + offsets["d"], 0)
        for one, other in (("a", "c"), ("c", "d")):
            self.assertGreaterEqual(abs(offsets[one] - offsets[other]), 2.4) # the width of tarn's line
        self.assertEqual(offsets_of({"a": {1: 1.0}, "b": {2: 1.0}}, 10), {"a": 0, "b": 0}) # nowhere at one place

    @unittest.skipUnless(has_matplotlib(), "no Python here has matplotlib: package python3-matplotlib")
    def test_they_are_drawn_apart(self):
        program = """
from tarn_tools import chart, chart_kinds
from tarn_tools.allocators import Palette
held = {name: [(0, 100), (5, 100), (9, 100)] for name in ("tarn", "ordered-sets")}
draw = chart_kinds.memory([(0, 50), (9, 50)], held, {}, Palette(held), 100)
chart.load_matplotlib()
from matplotlib.figure import Figure
axes = Figure().add_subplot()
draw(axes)
print(*[line.get_transform().transform(line.get_xydata())[0][1] for line in axes.lines])
"""
        done = subprocess.run([python_with_matplotlib(), "-c", program], check=True, capture_output=True,
                              env={**os.environ, "PYTHONPATH": str(SOURCE / "tools")})
        one, other = map(float, done.stdout.split())
        self.assertGreater(abs(one - other), 2)


class MemoryOverTime(unittest.TestCase):
    def test_what_is_live_is_told_to_the_end(self):
        """The first allocator was cut short; the grey area is that of one that was not."""
        cut = [[0, 7, 9], [5, 7, 9]]
        whole = [[0, 7, 9], [5, 7, 9], [10, 7, 9]]
        for held in ({"tarn": cut, "cub": whole}, {"tarn": whole, "cub": cut}):
            self.assertEqual(live_of(held)[-1], (10, 7))

    def test_peaks_stay(self):
        for peak in (0, 1, 500, 998, 999):
            points = [(event, 1000 if event == peak else 7) for event in range(1000)]
            found = envelope(points)
            self.assertLessEqual(len(found), 102)
            self.assertEqual(max(held for _, held in found), 1000)
            (at, _), = [point for point in found if point[1] == 1000][:1]
            self.assertLessEqual(abs(at - peak), 10)
        self.assertEqual(envelope([(0, 5), (1, 6)]), [(0, 5), (1, 6), (1, 6)])
        held = envelope([(0, 5), (100, 9), (300, 1), (1000, 2)], 10) # what is held stays so until the next point
        self.assertEqual([most for _, most in held], [5, 9, 9, 9, 1, 1, 1, 1, 1, 2, 2])


if __name__ == "__main__":
    unittest.main()
