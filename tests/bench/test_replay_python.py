#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
bench/peers/replay_python.py from outside, over PyTorch and CuPy as fake_peers has them.

By hand: TARN_SOURCE=$PWD TARN_BENCH=$PWD/build/dev/bin/tarn-bench python3 tests/bench/test_replay_python.py
"""

import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["TARN_SOURCE"])
BENCH = os.environ["TARN_BENCH"]
PROGRAM = SOURCE / "bench/peers/replay_python.py"
FAKES = SOURCE / "tests/bench/fake_peers"
SHORT = ["--repetitions", "2", "--time", "0.02"]

GOOD = ("# tarn-trace 1\n# name: good\n# events: 7\na 0 1000 0 0 0\na 1 0 0 0 1\na 2 5000 0 1 2\nf 0 0 0 3\n"
        "a 0 1 0 0 4\na 5 3 1 0 4\nf 2 0 0 5\n")


class ReplayPython(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *arguments, fakes=True, **environment):
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        if fakes:
            clean["PYTHONPATH"] = str(FAKES)
        isolated = [] if fakes else ["-S", "-E"]  # so that no installed one is found
        return subprocess.run([sys.executable, *isolated, "-B", PROGRAM, *map(str, arguments)],
                              env=clean | environment, capture_output=True, text=True)

    def run_bench(self, *arguments):
        """tarn-bench on the same, for tarn alone; None where its device is missing."""
        path = self.folder / "bench.json"
        done = subprocess.run([BENCH, "--allocator=tarn", "--time=0.05", "--repetitions=1", f"--json={path}",
                               *map(str, arguments)], capture_output=True, text=True)
        return json.loads(path.read_text()) if done.returncode == 0 else None

    def measure(self, *arguments, **environment):
        path = self.folder / "python.json"
        done = self.run_program(*SHORT, "--json", path, *arguments, **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")
        return json.loads(path.read_text()), done.stdout

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def expect_row(self, row):
        self.assertTrue(row["verified"])
        self.assertEqual(row["failures"], 0)
        self.assertLessEqual(row["ns_per_pair_min"], row["ns_per_pair"])
        self.assertLessEqual(row["ns_per_pair"], row["ns_per_pair_max"])
        self.assertGreater(row["harness_ns_per_pair"], 0)
        self.assertLess(row["harness_ns_per_pair"], row["ns_per_pair"])
        self.assertGreaterEqual(row["peak_footprint_bytes"], row["peak_live_bytes"])
        self.assertIn(row["repetitions"], (1, 2))
        for times in (row["alloc_ns"], row["free_ns"]):
            self.assertLessEqual(0, times["p50"])
            self.assertLessEqual(times["p50"], times["p99"])
            self.assertLessEqual(times["p99"], times["p999"])
            self.assertLessEqual(times["p999"], times["max"])

    def expect_same_work(self, mine, theirs):
        """The rows of one workload say the same of what was played, and the files have the same fields."""
        self.assertLessEqual(set(theirs["machine"]), set(mine["machine"]))
        self.assertLessEqual(set(theirs["options"]) & {"seed", "repetitions", "time_seconds", "device"},
                             set(mine["options"]))
        for name in ("tarn_version", "cpu_model", "cores", "kernel", "c_library"):
            self.assertEqual(mine["machine"][name], theirs["machine"][name])
        for key, value in theirs["machine"].items():
            self.assertEqual(type(mine["machine"][key]), type(value), key)
        for row in theirs["results"]:
            same = [other for other in mine["results"] if other["workload"] == row["workload"]]
            self.assertEqual([other["allocator"] for other in same], ["torch-python", "cupy-python"])
            for other in same:
                for key in ("bench", "threads", "streams", "pairs", "peak_live_bytes", "peak_live_count"):
                    self.assertEqual(other[key], row[key], key)
                for key in ("alloc_ns", "ns_per_pair", "harness_ns_per_pair", "vendor_calls", "metadata_bytes",
                            "passes_per_repetition", "interleaved"):
                    self.assertEqual(type(other[key]), type(row[key]), key)

    def test_a_trace_is_played_as_tarn_bench_plays_it(self):
        trace = self.write("good.trace", GOOD)
        mine, output = self.measure("replay", trace)
        for row in mine["results"]:
            self.expect_row(row)
            self.assertEqual((row["pairs"], row["peak_live_bytes"], row["peak_live_count"]), (5, 6000, 3))
        self.assertEqual(mine["results"][0]["vendor_calls"], 5)
        self.assertIn("replay good: at most 0.006 MB live, at most 3 blocks", output)
        theirs = self.run_bench("replay", trace)
        if theirs:
            self.expect_same_work(mine, theirs)

    def test_a_trace_that_comes_along_is_played(self):
        trace = SOURCE / "bench/traces/torch_resnet-cut.trace.gz"
        mine, _ = self.measure("replay", trace)
        for row in mine["results"]:
            self.expect_row(row)
        theirs = self.run_bench("replay", trace)
        if theirs:
            self.expect_same_work(mine, theirs)

    def test_churn_has_the_same_sizes(self):
        for seed in (1, 2**63 + 5):
            mine, _ = self.measure("--seed", seed, "churn", "--live", "10,100", "--size-range", "1K,16M")
            for row in mine["results"]:
                self.expect_row(row)
            theirs = self.run_bench("churn", "--live=10,100", f"--seed={seed}", "--time=60")
            if theirs:
                self.expect_same_work(mine, theirs)

    def test_what_is_missing_is_listed(self):
        mine, output = self.measure("churn", "--live", "1", FAKE_TORCH="no_device")
        self.assertEqual([row["allocator"] for row in mine["results"]], ["cupy-python"])
        self.assertEqual(mine["not_found"][0]["allocator"], "torch-python")
        self.assertIn("finds no device", mine["not_found"][0]["reason"])
        self.assertIn("torch-python: not found: ", output)
        mine, _ = self.measure("--allocator", "torch-python", "churn", "--live", "1")
        self.assertEqual(mine["not_found"], [])

    def test_nothing_there_is_a_failure(self):
        path = self.folder / "none.json"
        done = self.run_program("--json", path, "churn", FAKE_TORCH="no_device", FAKE_CUPY="no_device")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no allocator is there", done.stderr)
        self.assertEqual(len(json.loads(path.read_text())["not_found"]), 2)
        done = self.run_program("churn", fakes=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("torch-python: not found: No module named 'torch'", done.stdout)
        self.assertIn("cupy-python: not found: No module named 'cupy'", done.stdout)

    def test_an_overlap_is_found(self):
        events = "".join(f"a {i} 700 0 0 {i}\n" for i in range(12))
        trace = self.write("overlap.trace", "# tarn-trace 1\n" + events)
        path = self.folder / "failed.json"
        done = self.run_program(*SHORT, "--json", path, "replay", trace, FAKE_TORCH="overlap")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{trace}:11: torch-python: the new block of 700 bytes at ", done.stderr)
        self.assertIn("overlaps the live block of 700 bytes", done.stderr)
        failed, good = json.loads(path.read_text())["results"]
        self.assertFalse(failed["verified"])
        self.assertEqual(failed["failures"], 1)
        self.assertIn("overlaps", failed["error"])
        self.assertNotIn("ns_per_pair", failed)
        self.expect_row(good)

    def test_a_request_that_fails_names_its_line(self):
        events = "".join(f"a {i} 700 0 0 {i}\n" for i in range(12))
        trace = self.write("full.trace", "# tarn-trace 1\n" + events)
        done = self.run_program(*SHORT, "replay", trace, FAKE_TORCH="full")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{trace}:11: torch-python: CUDA out of memory (planted)", done.stderr)

    def expect_bad(self, path, message):
        good = self.write("good.trace", GOOD)
        done = self.run_program("replay", good, path)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        self.assertIn(message, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_bad_traces_are_named(self):
        first = "# tarn-trace 1\n"
        for text, message in (
                ("", ": the file is empty"), ("a 0 8 0 0 5\n", ":1: the first line"),
                (first + "# remark\n", ":2: '# remark' is not a line"),
                (first, ": the trace has no events"), (first + "x 0\n", ":2: 'x' is no event"),
                (first + "a 0 8 0 0\n", ":2: has 5 fields where 'a' has 6"),
                (first + "a 0 -8 0 0 5\n", ":2: '-8' is not a number"),
                (first + "a 0 8 0 0 5\na 0 8 0 0 5\n", ":3: block 0 is allocated though it is live"),
                (first + "f 0 0 0 5\n", ":2: block 0 is freed though it is not live"),
                (first + "a 0 8 0 0 5\nf 0 0 0 4\n", ":3: the time 4 is before"),
                (first + "# events: 2\na 0 8 0 0 5\n", ": has 1 events and not 2"),
                (first + "a 0 8 0 0 5", ":2: the last line has no newline")):
            self.expect_bad(self.write("bad.trace", text), message)
        self.expect_bad(self.folder / "absent.trace", "No such file")
        cut = self.folder / "cut.trace.gz"
        cut.write_bytes(gzip.compress(GOOD.encode())[:-9])
        self.expect_bad(cut, "the gzip'd data")
        self.expect_bad(self.write("plain.trace.gz", GOOD), "are damaged")

    def test_the_command_line_is_checked(self):
        for arguments, message in (
                ([], "required: command"), (["fly"], "invalid choice: 'fly'"), (["replay"], "TRACE"),
                (["--repetitions", "0", "churn"], "--repetitions 0: is not from 1 to 1000"),
                (["--time", "0", "churn"], "must be above 0"), (["--seed", "-1", "churn"], "is not from 0"),
                (["--allocator", "raw", "churn"], "there is no allocator 'raw'"),
                (["--allocator", "torch-python,torch-python", "churn"], "is named twice"),
                (["churn", "--live", "0"], "0 is not from 1"), (["churn", "--live", "x"], "'x' is not a number"),
                (["churn", "--size-range", "2K,1K"], "the smaller first")):
            done = self.run_program(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(message, done.stderr)

    def test_a_file_that_cannot_be_written_is_named(self):
        done = self.run_program(*SHORT, "--json", "/nonexistent/x.json", "churn", "--live", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/x.json: cannot be written", done.stderr)


if __name__ == "__main__":
    unittest.main()
