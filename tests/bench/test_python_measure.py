#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
bench/peers/python_bench.py over allocators with a planted fault, each of which must be found and named; what is
skipped, cut, or interrupted; memory over time. By hand: as python_bench_program.py says.
"""

import json
import signal
import subprocess
import time
import unittest

from python_bench_program import NAMES, SOURCE, PythonBenchTest

ALLOCS = "# tarn-trace 1\n" + "".join(f"a {i} 700 0 0 {i}\n" for i in range(12))


class Faults(PythonBenchTest):
    """PyTorch has the fault; CuPy goes on."""

    def expect_found(self, command, fault, message):
        content, _, complaint = self.measure(*command, status=1, FAKE_TORCH=fault)
        self.assertIn(message, complaint)
        failed = [row for row in content["results"] if not row["verified"]]
        self.assertTrue(failed)
        for row in failed:
            self.assertEqual((row["allocator"], row["failures"]), ("torch-python", 1))
            self.assertIn(row["error"], complaint)
            self.assertNotIn("ns_per_pair", row)
        for row in content["results"]:
            if row["verified"]:
                self.expect_row(row)
        self.assertTrue(any(row["allocator"] == "cupy-python" for row in content["results"]))
        return complaint

    def test_a_bad_block_of_a_trace_names_its_line(self):
        trace = self.write("bad.trace", ALLOCS)
        place = f"{trace}:11: torch-python: "
        complaint = self.expect_found(["replay", trace], "overlap", f"{place}the new block of 700 bytes")
        self.assertIn("overlaps the live block of 700 bytes", complaint)
        complaint = self.expect_found(["replay", trace], "full", f"{place}out of memory (planted)\n")
        self.assertNotIn("more about it", complaint)

    def test_a_bad_block_of_a_list_names_its_operation(self):
        for command in (["live", "--counts", "20"], ["churn", "--live", "20"], ["growth", "--until", "128M"]):
            self.expect_found(command, "overlap", ", operation 10: torch-python: the new block of")
            self.expect_found(command, "full", ", operation 10: torch-python: out of memory (planted)")

    def test_bad_blocks_of_threads_are_found(self):
        for options in ([], ["--shared"], ["--one-stream"]):
            command = ["threads", "--threads", "1,3", "--live", "20", *options]
            self.expect_found(command, "overlap", "torch-python: the new block of")
            self.expect_found(command, "full", "torch-python: thread 0: out of memory (planted)")

    def test_bad_blocks_of_streams_are_found(self):
        command = ["streams", "--streams", "2", "--size-range", "9K,9K"]
        self.expect_found(command, "overlap", "torch-python: the block that it frees was filled with")
        self.expect_found(command, "full", "own: torch-python: out of memory (planted)")


class Streams(PythonBenchTest):
    def test_memory_that_another_stream_gets_too_early_is_found(self):
        for name, variable in zip(NAMES, ("FAKE_TORCH", "FAKE_CUPY")):
            content, _, complaint = self.measure("streams", "--streams", "3", status=1, **{variable: "early"})
            bad = [(row["allocator"], row["workload"]) for row in content["results"] if not row["verified"]]
            self.assertEqual(bad, [(name, "3 x 16 of 4K to 1M, handed on")])
            self.assertRegex(complaint, f"handed on, operation [0-9]+: {name}: the block that it frees was filled with "
                                        "[0-9]+ and has [0-9]+ in it: its memory was given to another stream too early")

    def test_what_the_driver_refuses_is_a_failure(self):
        content, _, complaint = self.measure("streams", "--streams", "1", status=1, FAKE_DRIVER_FAILS="1")
        self.assertEqual([row["verified"] for row in content["results"]], [False, False])
        self.assertIn("cupy-python: filling a block: CUDA_ERROR_INVALID_VALUE (1)\n", complaint)

    def test_the_work_alone_is_told(self):
        content, output, _ = self.measure("streams", "--streams", "1,2")
        for row in self.rows_of(content, "streams"):
            self.assertEqual(row["free_order"], "ordered")
            self.assertAlmostEqual(row["allocator_ns_per_pair"], row["ns_per_pair"] - row["harness_ns_per_pair"])
            self.assertGreater(row["total_ns_per_pair"], row["ns_per_pair"])
            self.assertGreater(row["work_total_ns_per_pair"], row["harness_ns_per_pair"])
        self.assertIn("streams 2 x 16 of 4K to 1M, handed on: ", output)


class Skipped(PythonBenchTest):
    """With the reason, as tarn-bench has it, and no failure."""

    def expect_skipped(self, content, allocators, reason):
        self.assertEqual([entry["allocator"] for entry in content["skipped"]], allocators)
        for entry in content["skipped"]:
            self.assertEqual(set(entry), {"bench", "workload", "allocator", "reason"})
            self.assertIn(reason, entry["reason"])

    def test_streams_where_there_is_no_driver(self):
        self.write("libcuda.so.1", "no library")
        content, output, _ = self.measure("streams", "--streams", "1", driver=self.folder)
        self.expect_skipped(content, NAMES, "streams are filled by CUDA's driver, which is not there: ")
        self.assertEqual(content["results"], [])
        self.assertIn("torch-python   skipped: streams are filled by", output)

    def test_streams_of_another_vendor(self):
        content, _, _ = self.measure("streams", "--streams", "1", FAKE_TORCH="hip")
        self.expect_skipped(content, ["torch-python"], "and this is hip")
        self.rows_of(content, "streams")

    def test_more_streams_than_a_library_has(self):
        for command in (["streams", "--streams", "2,3"], ["threads", "--threads", "2,3"]):
            content, _, _ = self.measure(*command, FAKE_TORCH="few_streams")
            self.assertEqual({entry["workload"][:3] for entry in content["skipped"]}, {"3 x"})
            self.assertEqual({entry["allocator"] for entry in content["skipped"]}, {"torch-python"})
            self.assertIn("it wants 3 streams, and PyTorch 0.fake has 2", content["skipped"][0]["reason"])
        content, _, _ = self.measure("threads", "--threads", "3", "--one-stream", FAKE_TORCH="few_streams")
        self.assertEqual(content["skipped"], [])

    def test_what_the_device_has_no_room_for(self):
        content, _, _ = self.measure("sweep", "--sizes", "1G,14G,15G")
        self.expect_skipped(content, NAMES, "it has 16.1 GB live, and the device has 15.0 GB free")
        self.assertEqual([(row["workload"], row["interleaved"]) for row in self.rows_of(content, "sweep")],
                         [("1G", True), ("1G", True), ("14G", False), ("14G", False)])

    def test_a_trace_is_played_however_large_it_is(self):
        trace = self.write("large.trace", f"# tarn-trace 1\na 0 {15 << 30} 0 0 0\n")
        content, _, _ = self.measure("replay", trace)
        self.assertEqual(len(self.rows_of(content, "replay")), 2)


class Figures(PythonBenchTest):
    def test_pythons_own_share_is_a_part(self):
        for command in (["hot"], ["threads", "--threads", "1"], ["streams", "--streams", "1"],
                        ["growth", "--until", "1G"]):
            content, _, _ = self.measure(*command, length=["--time", "0.2"])
            for row in self.rows_of(content, command[0]):
                self.assertLess(row["harness_ns_per_pair"], row["ns_per_pair"], row["bench"])

    def test_a_list_is_cut_where_it_takes_too_long(self):
        content, _, _ = self.measure("churn", "--live", "10", length=["--time", "0.01", "--repetitions", "3"])
        for row in self.rows_of(content, "churn"):
            self.assertLess(row["pairs"], 20000)
            self.assertLessEqual(row["repetitions"], 3)

    def test_a_trace_is_never_cut(self):
        events = "".join(f"a {i} 1 0 0 0\nf {i} 0 0 0\n" for i in range(9999))
        trace = self.write("long.trace", "# tarn-trace 1\n" + events)
        content, _, _ = self.measure("replay", trace, length=["--time", "0.001"])
        for row in self.rows_of(content, "replay"):
            self.assertEqual((row["pairs"], row["repetitions"], row["passes_per_repetition"]), (9999, 1, 1))

    def test_memory_over_time(self):
        for command in (["churn", "--live", "200"], ["growth", "--until", "256M"],
                        ["replay", SOURCE / "bench/traces/examinimd-lj.trace.gz"]):
            content, _, _ = self.measure(*command)
            for row in self.rows_of(content, command[0]):
                self.expect_memory(row)
        content, _, _ = self.measure("hot")
        self.assertNotIn("memory_over_time", self.rows_of(content, "hot")[0])

    def expect_memory(self, row):
        points = row["memory_over_time"]
        self.assertLessEqual(len(points), 500)
        self.assertEqual(points[0], [0, 0, 0])
        events = [event for event, _, _ in points]
        self.assertEqual(events, sorted(set(events)))
        self.assertEqual(events[-1], 2 * row["pairs"] + (200 if row["bench"] == "churn" else 0))
        self.assertLessEqual(max(live for _, live, _ in points), row["peak_live_bytes"])
        self.assertGreaterEqual(max(live for _, live, _ in points), row["peak_live_bytes"] * 0.9)
        for _, live, held in points:
            self.assertLessEqual(live, held)

    def test_growth_tells_what_is_left(self):
        content, output, _ = self.measure("growth", "--until", "64M")
        for row in self.rows_of(content, "growth"):
            self.assertGreaterEqual(row["held_after_free_bytes"], row["peak_live_bytes"])
            self.assertEqual(row["held_after_trim_bytes"], 0)
            self.assertLessEqual(row["first_alloc_ns_min"], row["first_alloc_ns"])
            self.assertLessEqual(row["ns_per_alloc"], row["ns_per_pair_max"])
            self.assertLessEqual(row["ns_per_free"], row["ns_per_pair_max"])
        self.assertIn("growth to 64M of 1K to 16M: ", output)

    def test_threads_are_compared_with_one(self):
        content, _, _ = self.measure("threads", "--threads", "2,1,3", "--live", "5,6")
        for row in self.rows_of(content, "threads"):
            self.assertEqual("ratio_to_one_thread" in row, row["threads"] != 2, row["workload"])
            self.assertAlmostEqual(row["pairs_per_second"] * row["ns_per_pair"], row["threads"] * 1e9, delta=10)


class Interrupted(PythonBenchTest):
    def interrupt(self, command, marker, number):
        """Once the marker is printed."""
        path = self.folder / "interrupted.json"
        words, environment = self.command(*command, "--json", path)
        program = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in program.stdout:
            if marker in line:
                break
        time.sleep(0.2)
        program.send_signal(number)
        _, complaint = program.communicate(timeout=60)
        self.assertEqual(program.returncode, 130)
        self.assertEqual(complaint, "python_bench.py: interrupted\n")
        return json.loads(path.read_text())

    def test_what_was_measured_stays(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            counts = range(1, 7)
            content = self.interrupt(["churn", "--live", ",".join(map(str, counts))], "cupy-python ", number)
            self.assertIs(content["interrupted"], True)
            rows = [row["workload"] for row in self.rows_of(content, "churn")]
            whole = [f"{count} of 1K to 16M" for count in counts for _ in range(2)]
            self.assertIn(len(rows), range(2, len(whole), 2))
            self.assertEqual(rows, whole[:len(rows)])

    def test_threads_end(self):
        content = self.interrupt(["threads", "--threads", "2,3,4,5,6,7,8", "--time", "0.5"], "cupy-python ",
                                 signal.SIGINT)
        self.assertIn(len(self.rows_of(content, "threads")), range(2, 14, 2))


if __name__ == "__main__":
    unittest.main()
