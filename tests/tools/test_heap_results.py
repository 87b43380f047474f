# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tarn-report reads of device_heap_bench: bad files are refused by name, good ones join the run they are of."""

import gzip
import json
import re
import unittest

from heap_sample import sample
from support import SOURCE, InFolder, heap_file, heap_remark, heap_result, result, results_file, run, run_tests
from tarn_tools.heap_units import unit_of
from tarn_tools.heap_words import HEAPS, TESTS
from tarn_tools.result_files import read_results
from tarn_tools.runs import runs_of


class BadFiles(InFolder):
    def expect_refused(self, content, *words):
        path = self.write("bad.json", content)
        done = run("tarn-report", path, "--csv", self.folder / "all.csv", status=2)
        self.assertTrue(done.err.startswith(f"tarn-report: {path}: "), done.err)
        self.assertEqual(done.err.count("\n"), 1, done.err)
        for word in words:
            self.assertIn(word, done.err)
        self.assertEqual([file.name for file in self.folder.iterdir()], ["bad.json"])

    def test_of_somebody_else(self):
        self.expect_refused({"tarn_device": 1}, "not of tarn-bench or device_heap_bench", '"tarn_device_heap_bench"')

    def test_another_format(self):
        self.expect_refused(heap_file(heap_result("tarn"), tarn_device_heap_bench=2), "format 2", "device_heap_bench",
                            "format 1")
        self.expect_refused(heap_file(heap_result("tarn"), tarn_device_heap_bench=[1]), "format [1]")
        self.expect_refused(heap_file(heap_result("tarn"), tarn_device_heap_bench=True), "format true")

    def test_no_results(self):
        self.expect_refused(heap_file(), "has no results")

    def test_results_that_are_wrong(self):
        for change, words in (({"test": None}, ["result 2", "no text \"test\""]), ({"heap": 7}, ["heap"]),
                              ({"workload": ""}, ["workload"]), ({"figure": []}, ["figure"]), ({"unit": {}}, ["unit"]),
                              ({"median": None}, ["no number \"median\""]),
                              ({"min": "little"}, ["min", "not a number"]),
                              ({"max": True}, ["max", "not a number"]), ({"median": -1}, ["not a possible number"]),
                              ({"x": "64"}, ["x", "not a number"]), ({"rounds": None}, ["rounds"]),
                              ({"median": 1e30}, ["not a possible number"]), ({"median": 1}, ["between", "min"])):
            with self.subTest(change):
                self.expect_refused(heap_file(heap_result("tarn"), heap_result("cuda") | change), *words)
        without = heap_result("tarn")
        del without["max"]
        self.expect_refused(heap_file(without), "result 1", "no number \"max\"")

    def test_lists_that_are_none(self):
        good = heap_file(heap_result("tarn"))
        for key in ("results", "skipped", "faults"):
            self.expect_refused(good | {key: {}}, key, "not a list")
            self.expect_refused(good | {key: [3]}, key, "number 1")
        self.expect_refused(good | {"kernels": "two"}, "kernels", "not a list of texts")
        self.expect_refused(good | {"kernels": [2]}, "kernels", "not a list of texts")
        self.expect_refused(good | {"machine": []}, "machine")
        self.expect_refused(good | {"options": {"rounds": []}}, "rounds")

    def test_remarks_that_are_wrong(self):
        self.expect_refused(heap_file(skipped=[heap_remark("cuda", "")]), 'entry 1 of "skipped"', "text")
        self.expect_refused(heap_file(faults=[heap_remark(None, "x")]), 'entry 1 of "faults"', "heap")

    def test_numbers_that_are_none(self):
        for number, word in (("NaN", "is not a number"), ("-Infinity", "is not a number"),
                             ("1e999", "not a possible number")):
            self.expect_refused(json.dumps(heap_file(heap_result("tarn"))).replace("100.0", number), word)



class Sources(unittest.TestCase):
    """What the benchmark is in its sources, and what these tests and the page take it to be, are the same."""

    FOLDER = SOURCE / "bench" / "device_heap"

    def all_matches(self, pattern, suffix):
        return [match for path in sorted(self.FOLDER.glob(f"*{suffix}"))
                for match in re.findall(pattern, path.read_text())]

    def test_tests(self):
        self.assertEqual(self.all_matches(r'\{ "([\w-]+)", test_\w+ \}', "tests.h"), list(TESTS))
        self.assertEqual({row["test"] for row in sample()["results"]}, set(TESTS))

    def test_heaps(self):
        self.assertEqual(set(self.all_matches(r'constexpr const char \*name = "(\w+)"', "heaps.cuh")), set(HEAPS))

    def test_figures_and_units(self):
        found = set(self.all_matches(r'report_?\.add\([^"]*, "([^"]+)", "([^"]+)"', ".cu"))
        self.assertGreater(len(found), 15)
        self.assertEqual(found, {(row["figure"], row["unit"]) for row in sample()["results"]})
        for _, unit in found:
            self.assertIsNotNone(unit_of(unit).is_less_better, unit)


class Read(InFolder):
    def runs_of(self, *contents):
        return runs_of([read_results(str(self.write(f"{number}/part.json", content)))
                        for number, content in enumerate(contents)])

    def test_all_of_the_sample(self):
        content = sample()
        found = read_results(str(self.write("sample.json.gz", gzip.compress(json.dumps(content).encode()))))
        self.assertEqual([(row.test, row.workload, row.x, row.heap, row.figure, row.unit, row.median, row.low, row.high,
                           row.rounds) for row in found.results],
                         [(row["test"], row["workload"], row.get("x"), row["heap"], row["figure"], row["unit"],
                           row["median"], row["min"], row["max"], row["rounds"]) for row in content["results"]])
        self.assertEqual(found.kernels, content["kernels"])
        self.assertEqual([remark.text for remark in found.skipped + found.faults],
                         [remark["text"] for remark in content["skipped"] + content["faults"]])

    def test_what_is_wrong_is_known_where_it_was_measured(self):
        run, = self.runs_of(heap_file(heap_result("tarn"), heap_result("tarn", figure="free"), heap_result("cuda"),
                                      faults=[heap_remark("tarn", "2 words were written over")]))
        self.assertEqual([(row.heap, row.faults) for row in run.heap_results],
                         [("tarn", ["2 words were written over"])] * 2 + [("cuda", [])])

    def test_beside_tarn_bench_on_one_machine_it_is_one_run(self):
        run, = self.runs_of(results_file(result("tarn")), heap_file(heap_result("tarn")))
        self.assertEqual((len(run.files), len(run.heap_files), len(run.results), len(run.heap_results)), (1, 1, 1, 1))

    def test_parts_are_one_run_and_repetitions_are_two(self):
        content = heap_file(heap_result("tarn"))
        self.assertEqual(len(self.runs_of(content, heap_file(heap_result("tarn", test="churn")))), 1)
        self.assertEqual(len(self.runs_of(content, content)), 2)
        runs = self.runs_of(content, heap_file(heap_result("tarn"), machine={"device_name": "Device B"}))
        self.assertEqual([run.label for run in runs], ["Device A", "Device B"])

    def test_two_workloads_of_one_name_are_both_told(self):
        run, = self.runs_of(heap_file(heap_result("tarn", 10), heap_result("tarn", 20)))
        self.assertEqual([row.workload for row in run.heap_results], ["64 B", "64 B (2)"])


if __name__ == "__main__":
    run_tests()
