# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tarn-report reads: files that are none of ours are refused by name; runs are put together by their facts."""

import gzip
import json
import unittest
from unittest import mock

from support import InFolder, rates, result, results_file, run
from tarn_tools.failure import BadInput
from tarn_tools.result_files import read_results
from tarn_tools.runs import runs_of
from tarn_tools.verdicts import kinds_of, verdicts_of


class BadFiles(InFolder):
    def expect_refused(self, content, *words):
        path = self.write("bad.json", content)
        page = self.write("page.html", "the old page")
        done = run("tarn-report", path, "-o", page, "--csv", self.folder / "all.csv", "--force", status=2)
        self.assertTrue(done.err.startswith(f"tarn-report: {path}: "), done.err)
        self.assertEqual(done.err.count("\n"), 1, done.err)
        for word in words:
            self.assertIn(word, done.err)
        self.assertEqual(page.read_text(), "the old page")
        self.assertEqual(sorted(file.name for file in self.folder.iterdir()), ["bad.json", "page.html"])

    def test_not_json(self):
        self.expect_refused("{\"tarn_bench\": 1,", "is not JSON")
        self.expect_refused("", "is not JSON")
        self.expect_refused(b"\xff\xfe\x00", "is not JSON")
        self.expect_refused("[" * 100000, "is not JSON")
        self.expect_refused('{"tarn_bench": 1, "results": [NaN]}', "is not JSON", "NaN")

    def test_damaged_gzip(self):
        whole = gzip.compress(json.dumps(results_file(result("tarn"))).encode())
        self.expect_refused(whole[:-9], "is damaged")
        self.expect_refused(whole[:30] + b"\0\0\0\0" + whole[34:], "is damaged")
        self.expect_refused(b"\x1f\x8b", "is damaged")

    def test_json_of_somebody_else(self):
        self.expect_refused([1, 2], "not of tarn-bench")
        self.expect_refused({"tarn_dump": 1}, "not of tarn-bench")

    def test_another_format(self):
        self.expect_refused(results_file(result("tarn")) | {"tarn_bench": 2}, "format 2", "format 1")

    def test_no_results(self):
        self.expect_refused(results_file(), "has no results")

    def test_results_that_are_wrong(self):
        for change, words in (({"allocator": None}, ["result 2", "allocator"]), ({"workload": ""}, ["workload"]),
                              ({"ns_per_pair": "fast"}, ["ns_per_pair", "not a number"]),
                              ({"ns_per_pair": -1}, ["ns_per_pair"]), ({"pairs": True}, ["pairs"]),
                              ({"alloc_ns": [1]}, ["alloc_ns"]), ({"alloc_ns": {"p50": "x"}}, ["p50"]),
                              ({"memory_over_time": [[1, 2]]}, ["memory_over_time"]),
                              ({"threads": "two"}, ["threads"])):
            self.expect_refused(results_file(result("tarn"), result("cub") | change), *words)
        self.expect_refused(results_file(result("tarn")) | {"results": {}}, "results")
        self.expect_refused(results_file(result("tarn")) | {"results": [3]}, "number 1")
        self.expect_refused(results_file(result("tarn")) | {"machine": []}, "machine")
        self.expect_refused(results_file(result("tarn"), machine={"cores": {}}), "cores")
        self.expect_refused(json.dumps(results_file(result("tarn"))).replace("100.0", "1e999"), "ns_per_pair")

    def test_numbers_that_leave_what_can_be_reckoned_with(self):
        for number in (1e-300, 5e-324, 1e30, 10 ** 400):
            self.expect_refused(results_file(result("tarn") | {"ns_per_pair": number}), "not a possible number")
        self.expect_refused(results_file(result("tarn") | {"memory_over_time": [[0, True, 1]]}), "triples of numbers")

    def test_facts_with_odd_names(self):
        """The sentence is one line whatever the file holds."""
        self.expect_refused(results_file(result("tarn"), machine={"two\nlines \ud800": []}),
                            "neither a text nor a number")

    def test_larger_than_any(self):
        """Also where a small file becomes a large text."""
        path = self.write("bomb.json.gz", gzip.compress(b" " * 5000))
        with mock.patch("tarn_tools.result_files.FILE_BYTES_MAX", 4999):
            for name in (path, self.write("large.json", " " * 5000)):
                with self.assertRaisesRegex(BadInput, "is larger than"):
                    read_results(str(name))
        with self.assertRaisesRegex(BadInput, "is not JSON"):
            read_results(str(path))

    def test_not_there(self):
        done = run("tarn-report", self.folder / "none.json", status=2)
        self.assertEqual(done.err, f"tarn-report: {self.folder}/none.json: cannot be read: No such file or "
                                   "directory\n")
        run("tarn-report", self.folder, status=2)

    def test_one_bad_file_among_good_ones(self):
        good = self.write("good.json", results_file(result("tarn")))
        bad = self.write("bad.json", "{")
        done = run("tarn-report", good, bad, "--csv", self.folder / "all.csv", "--force", status=2)
        self.assertIn("bad.json", done.err)
        self.assertFalse((self.folder / "all.csv").exists())


class Runs(InFolder):
    def runs_of(self, *contents):
        paths = [self.write(f"{number}/part-{number}.json", content) for number, content in enumerate(contents)]
        return runs_of([read_results(str(path)) for path in paths])

    def test_a_compressed_file_is_as_good(self):
        content = results_file(result("tarn"), result("raw"))
        path = self.write("small.json.gz", gzip.compress(json.dumps(content).encode()))
        self.assertEqual([found.allocator for found in read_results(path).results], ["tarn", "raw"])

    def test_parts_of_one_machine_are_one_run(self):
        runs = self.runs_of(results_file(result("tarn")),
                            results_file(result("tarn", bench="hot"), machine={"clock_cost_ns": 35}))
        self.assertEqual([len(run.files) for run in runs], [2])
        self.assertEqual(runs[0].label, "Device A")

    def test_a_part_with_fewer_facts_joins(self):
        content = results_file(result("torch-python"))
        content["machine"] = {"backend": "cuda", "device_name": "Device A", "compiler": ""}
        runs = self.runs_of(results_file(result("tarn")), content)
        self.assertEqual([len(run.files) for run in runs], [2])

    def test_peers_from_python_stand_beside_tarn(self):
        python = {"compiler": "Python 3.12, torch 2.11", "build_type": "Python", "runtime_version": 12080,
                  "device_bytes": 5, "c_library": "glibc 2.40"}
        runs = self.runs_of(results_file(result("torch-python", 500), machine=python), results_file(result("tarn")),
                            results_file(result("cupy-python", 400), machine=python))
        self.assertEqual([len(run.files) for run in runs], [3])
        self.assertEqual(runs[0].facts["compiler"], "GNU 12.2.0")
        self.assertEqual(verdicts_of(runs[0])[0].best_peer.allocator, "cupy-python")

    def test_of_python_counts_what_is_not_the_interpreter(self):
        """What it takes beyond tarn-bench's own harness is taken off; of streams beyond the work of the streams."""
        python = {"build_type": "Python", "compiler": "Python 3.12"}
        streams = {"bench": "streams", "workload": "2 x 16, own"}
        run, = self.runs_of(
            results_file(rates("torch-python", 2, 1e6) | {"harness_ns_per_pair": 500.0},
                         result("torch-python", 1000, harness_ns_per_pair=305.0),
                         result("torch-python", 1000, workload="alone", harness_ns_per_pair=305.0),
                         result("torch-python", 5000, **streams, total_ns_per_pair=6000.0,
                                work_total_ns_per_pair=4000.0),
                         result("torch-python", 9, bench="hot", workload="1K", harness_ns_per_pair=1.0),
                         rates("cupy-python", 2, 1e6), machine=python),
            results_file(result("tarn"), rates("tarn", 2, 1e6), result("tarn", bench="hot", workload="1K"),
                         result("tarn", 3000, **streams, total_ns_per_pair=3500.0, work_total_ns_per_pair=3000.0)))
        found = {key[1]: row["torch-python"] for key, row in run.by_workload.items()}
        self.assertEqual(found["mesh"].pair_ns, (700, 980 - 300, 1030 - 300))
        self.assertAlmostEqual(found["mesh"].pairs_per_second, 1e9 / 700)
        self.assertEqual(found["alone"].pair_ns[0], 695) # nothing stands beside it
        self.assertEqual(found["2 x 16, own"].pair_ns[0], 5000)
        self.assertEqual(found["1K"].pair_ns[0], 9) # never more than was measured
        # Of the 2 us that a pair takes its thread 0.5 are Python's.
        self.assertAlmostEqual(found["2 x 100 of 1K to 16M"].pairs_per_second, 2e9 / 1500)
        self.assertEqual(run.by_workload["threads", "2 x 100 of 1K to 16M", 2]["cupy-python"].rates, (1e6, 9e5, 1.1e6))
        self.assertEqual(found["mesh"]["ns_per_pair"], 1000) # for the table of all figures
        self.assertEqual({row["tarn"].python_ns for row in run.by_workload.values() if "tarn" in row}, {0})

    def test_machines_and_commits_stand_side_by_side(self):
        runs = self.runs_of(results_file(result("tarn"), machine={"commit": "aaaaaaaaaaaaaaaa"}),
                            results_file(result("tarn"), machine={"commit": "bbbbbbbbbbbbbbbb"}),
                            results_file(result("tarn"), machine={"device_name": "Device B"}),
                            results_file(result("tarn"), machine={"device_name": "host memory", "backend": "host",
                                                                  "cpu_model": "Some CPU"}))
        self.assertEqual([run.label for run in runs],
                         ["Device A, aaaaaaaaa", "Device A, bbbbbbbbb", "Device B", "host, Some CPU"])

    def test_the_same_measured_twice_is_two_runs(self):
        runs = self.runs_of(results_file(result("tarn")), results_file(result("tarn")))
        self.assertEqual(len(runs), 2)
        self.assertEqual(len({run.label for run in runs}), 2)

    def test_two_traces_of_one_name_are_both_told(self):
        run, = self.runs_of(results_file(result("tarn", 10), result("tarn", 20)))
        self.assertEqual([key[1] for key in run.by_workload], ["mesh", "mesh (2)"])

    def test_two_faithful_ones_of_one_name_stay_faithful(self):
        run, = self.runs_of(results_file(*[result("tarn", workload="mesh, faithful") for _ in range(2)]))
        self.assertEqual([key[1] for key in run.by_workload], ["mesh, faithful", "mesh (2), faithful"])

    def test_workloads_as_they_are_come_before_those_played_in_another_way(self):
        replayed = [result("tarn", workload=name) for name in ("b, faithful", "b", "a, touched")]
        runs = self.runs_of(results_file(*replayed),
                            results_file(result("tarn", workload="a")),
                            results_file(result("tarn", bench="streams", workload="1 x 2, handed on")),
                            results_file(result("tarn", bench="streams", workload="1 x 2, own")))
        self.assertEqual([key[1] for key in runs[0].by_workload if key[0] == "replay"],
                         ["b", "a", "b, faithful", "a, touched"])
        self.assertEqual([key[1] for key in runs[0].by_workload if key[0] == "streams"],
                         ["1 x 2, handed on", "1 x 2, own"])

    def test_texts_that_no_document_can_hold(self):
        run, = self.runs_of(results_file(result("a\x00b", workload="\ud800 \x1b[2J", bench="x"),
                                         machine={"device_name": "\udfff", "\x01": "\x02"}))
        self.assertEqual(list(run.by_workload), [("x", "\ufffd \ufffd[2J", 1)])
        self.assertEqual((run.label, run.facts["\ufffd"], run.results[0].allocator), ("\ufffd", "\ufffd", "a\ufffdb"))


class Verdicts(InFolder):
    def verdict(self, *results):
        path = self.write("v.json", results_file(*results))
        run, = runs_of([read_results(str(path))])
        verdict, = verdicts_of(run)
        return verdict

    def test_words(self):
        for peer_ns, word in ((200, "wins"), (104, "level"), (100, "level"), (96, "level"), (95, "loses"),
                              (50, "loses")):
            self.assertEqual(self.verdict(result("tarn", 100), result("cub", peer_ns)).word, word, peer_ns)
        self.assertEqual(self.verdict(result("tarn"), result("raw", 9000)).word, "alone")
        self.assertEqual(self.verdict(result("tarn"), result("ordered-sets", 20)).word, "loses")
        self.assertEqual(self.verdict(result("cub")).word, "absent")

    def test_ratios(self):
        verdict = self.verdict(result("tarn", 100, held=200), result("cub", 800, held=100), result("raw", 5000),
                               result("vendor-pool", 900, held=50), result("tarn:tlsf", 40),
                               result("ordered-sets", 300))
        self.assertAlmostEqual(verdict.to_raw, 50)
        self.assertAlmostEqual(verdict.to_best_peer, 8)
        self.assertEqual(verdict.best_peer.allocator, "cub")
        self.assertEqual(verdict.leanest_peer.allocator, "vendor-pool")
        self.assertAlmostEqual(verdict.memory_to_leanest_peer, 4)
        self.assertEqual([mode.allocator for mode, _ in verdict.faster_modes()], ["tarn:tlsf"])
        self.assertTrue(verdict.holds_more)

    def test_of_streams_it_counts_when_their_work_is_done(self):
        verdict = self.verdict(result("tarn", 50, bench="streams", total_ns_per_pair=900.0),
                               result("cub", 500, bench="streams", total_ns_per_pair=450.0))
        self.assertEqual(verdict.word, "loses")
        self.assertAlmostEqual(verdict.to_best_peer, 0.5)

    def test_touched_memory_is_another_workload(self):
        path = self.write("t.json", results_file(result("tarn"), result("tarn", 500, touched=True)))
        run, = runs_of([read_results(str(path))])
        self.assertEqual([key[1] for key in run.by_workload], ["mesh", "mesh, touched"])
        path = self.write("t.json", results_file(result("tarn", workload="untouched"),
                                                 result("tarn", workload="untouched", touched=True),
                                                 result("tarn", workload="mesh, touched", touched=True)))
        run, = runs_of([read_results(str(path))])
        self.assertEqual([key[1] for key in run.by_workload], ["untouched", "untouched, touched", "mesh, touched"])

    def test_a_floor_is_no_rival(self):
        """Allocators that write into the memory are shown, and win nothing."""
        verdict = self.verdict(result("tarn", 100, held=200), result("jemalloc", 20, held=100), result("mimalloc", 10))
        self.assertEqual((verdict.word, verdict.faster_than_tarn(), verdict.best_peer), ("alone", [], None))
        self.assertEqual((verdict.fastest.allocator, verdict.floor.allocator), ("tarn", "mimalloc"))
        self.assertAlmostEqual(verdict.to_floor, 0.1)
        self.assertIsNone(verdict.leanest_peer)
        self.assertEqual(self.verdict(result("tarn", 100), result("mimalloc", 20), result("cub", 30)).word, "loses")

    def test_zero_is_not_told(self):
        """tarn-bench writes 0 for what an allocator cannot tell; what is left after frees may be nothing."""
        run, = runs_of([read_results(str(self.write("z.json", results_file(
            result("libc-malloc", held=0, metadata_bytes=0, held_after_free_bytes=0) | {"vendor_calls": 0}))))])
        found, = run.results
        for name in ("peak_footprint_bytes", "vendor_calls", "metadata_bytes"):
            self.assertIsNone(found[name], name)
        self.assertEqual(found["held_after_free_bytes"], 0)
        self.assertIsNone(found.held_by_live)

    def test_kinds(self):
        path = self.write("k.json", results_file(*[
            result(name, ns, workload=workload) for name, ns, workload in (
                ("tarn", 100, "a"), ("cub", 300, "a"), ("tarn", 100, "b"), ("cub", 50, "b"), ("tarn", 100, "c"),
                ("cub", 800, "c"), ("tarn", 100, "a, faithful"), ("raw", 900, "a"))]))
        plain, faithful = kinds_of(verdicts_of(runs_of([read_results(str(path))])[0]))
        self.assertEqual((plain.name, faithful.name), ("replay", "replay, faithful"))
        self.assertEqual(plain.times_tarn("cub"), (0.5, 3, 8))
        self.assertEqual(plain.times_tarn("raw"), (9, 9, 9))
        self.assertEqual(len(plain.measured("raw")), 1)
        self.assertIsNone(faithful.times_tarn("cub"))

    def test_what_failed_has_no_say(self):
        failed = {"bench": "replay", "workload": "mesh", "allocator": "cub", "failures": 1, "verified": False,
                  "error": "out of memory"}
        self.assertIsNone(self.verdict(result("tarn"), failed).best_peer)


if __name__ == "__main__":
    unittest.main()
