#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
bench/peers/python_bench.py from outside: it plays what tarn-bench plays, and says so in the same form; bad traces and
bad command lines. By hand: as python_bench_program.py says.
"""

import gzip
import json
import os
import subprocess
import sys
import unittest
import unittest.mock

from python_bench_program import NAMES, SOURCE, WHOLE, PythonBenchTest

GOOD = ("# tarn-trace 1\n# name: good\n# events: 7\na 0 1000 0 0 0\na 1 0 0 0 1\na 2 5000 0 1 2\nf 0 0 0 3\n"
        "a 0 1 0 0 4\na 5 3 1 0 4\nf 2 0 0 5\n")

OF_THE_WORK = ("threads", "streams", "pairs", "peak_live_bytes", "peak_live_count", "shared", "mode")
# Threads: a loop in C costs nothing there. And Python has no rounds, and no slices that may not count.
OF_ONE_SIDE = {"harness_ns_per_pair", "instances", "counted_share"}
OF_STREAMS = {"alloc_ns", "free_ns"}  # single calls, which Python does not time there

SEVERAL = ["--sizes", "1,1K,3M", "--counts", "1,10,1001", "--threads", "1,3", "--streams", "1,3", "--until", "1M,37M"]


class SameWork(PythonBenchTest):
    """As tarn-bench, where its device is there."""

    def expect_same_row(self, mine, theirs):
        for key in OF_THE_WORK:
            self.assertEqual(mine.get(key), theirs.get(key), f"{theirs['bench']} {theirs['workload']}: {key}")
        of_one_side = OF_ONE_SIDE | (OF_STREAMS if theirs["bench"] == "streams" else set())
        self.assertEqual(set(mine) - of_one_side, set(theirs) - of_one_side)
        for key in set(theirs) - of_one_side:
            self.assertEqual(type(mine[key]), type(theirs[key]), key)

    def expect_same_work(self, mine, theirs):
        """Each workload of theirs has a row of each allocator, and there are no others, in the same order."""
        subjects = [(row["bench"], row["workload"], name) for row in theirs["results"] for name in NAMES]
        self.assertEqual([(row["bench"], row["workload"], row["allocator"]) for row in mine["results"]], subjects)
        for number, row in enumerate(mine["results"]):
            self.expect_row(row)
            self.expect_same_row(row, theirs["results"][number // len(NAMES)])

    def expect_same_facts(self, mine, theirs):
        self.assertLessEqual(set(theirs["machine"]), set(mine["machine"]))
        self.assertEqual(set(theirs["options"]), set(mine["options"]))
        for name in ("tarn_version", "cpu_model", "cores", "kernel", "c_library"):
            self.assertEqual(mine["machine"][name], theirs["machine"][name])
        for key, value in theirs["machine"].items():
            self.assertEqual(type(mine["machine"][key]), type(value), key)

    def compare(self, *arguments):
        mine, _, _ = self.measure(*arguments, length=WHOLE)
        theirs = self.run_bench(*arguments)
        if theirs:
            self.expect_same_work(mine, theirs)
            self.expect_same_facts(mine, theirs)
        return mine

    def test_all_workloads(self):
        mine = self.compare("all", *SEVERAL, "--live", "1,10")
        self.assertEqual(list(dict.fromkeys(row["bench"] for row in mine["results"])),
                         ["hot", "sweep", "live", "churn", "threads", "streams", "growth", "replay"])
        self.assertEqual(mine["skipped"], [])

    def test_other_seeds_and_sizes(self):
        for seed in (0, 2**63 + 5):
            for command in (["live", "--counts", "10"], ["churn", "--live", "10"], ["growth", "--until", "1M"],
                            ["streams", "--streams", "2", "--live", "3"]):
                self.compare(*command, "--size-range", "3,1K", "--seed", seed)

    def test_defaults_of_each_command(self):
        self.compare("hot")
        self.compare("streams", "--live", "3")
        self.compare("threads", "--live", "2", "--shared", "--one-stream")
        self.compare("threads", "--threads", "3", "--shared")
        self.compare("growth", "--size-range", "1M,2M")

    def test_lists_that_are_not_given(self):
        """Those that take long are made, and not played."""
        sys.path.insert(0, str(SOURCE / "bench/peers"))
        import python_commands
        import python_options
        for command, count, last in (("live", 10, "100000 of 1 to 64K"), ("churn", 5, "100000 of 1K to 16M"),
                                     ("threads", 5, "16 x 100 of 1K to 16M"), ("growth", 4, "to 4G of 1K to 16M"),
                                     ("streams", 7, "8 x 16 of 4K to 1M, handed on")):
            workloads = python_commands.make_workloads(python_options.parse([command], NAMES), 0)
            self.assertEqual((len(workloads), workloads[-1].name), (count, last))
        options = python_options.parse(["sweep"], NAMES)
        for free_bytes, names in ((1, ["1"]), (16, ["1", "16"]), (4095, ["1", "16", "256", "2K"]),
                                  (1 << 20, ["1", "16", "256", "4K", "64K", "1M"])):
            self.assertEqual([each.name for each in python_commands.make_workloads(options, free_bytes)], names)

    def test_a_trace(self):
        trace = self.write("good.trace", GOOD)
        mine = self.compare("replay", trace)
        for row in mine["results"]:
            self.assertEqual((row["pairs"], row["peak_live_bytes"], row["peak_live_count"]), (5, 6000, 3))
        self.assertEqual(mine["results"][0]["vendor_calls"], 5)

    @unittest.skipUnless("EVENTS_RECORDER" in os.environ, "tarn-record was not built")
    def test_a_file_of_events(self):
        path = self.folder / "events.trace.gz"
        subprocess.run([os.environ["EVENTS_PROGRAM"], "100", "ends"], env={**os.environ, "TARN_TRACE": str(path)},
                       check=True)
        found = f"{os.path.dirname(os.environ['EVENTS_RECORDER'])}:{os.environ['PATH']}"
        with unittest.mock.patch.dict(os.environ, {"PATH": found}):
            mine = self.compare("replay", path)
        self.assertEqual({row["pairs"] for row in mine["results"]}, {100})
        message = "which tarn-record reads"
        done = self.run_program("replay", path, PATH="/usr/bin:/bin")
        self.assertIn(message, done.stderr)
        path.write_bytes(path.read_bytes()[:20])
        done = self.run_program("replay", path, PATH=found)
        self.assertIn("is not a file of events", done.stderr)

    def test_a_trace_that_comes_along(self):
        self.compare("replay", SOURCE / "bench/traces/torch_resnet-cut.trace.gz")


class Page(PythonBenchTest):
    def page_of(self, *paths):
        page = self.folder / "page.html"
        done = subprocess.run([SOURCE / "tools/tarn-report", *paths, "-o", page], capture_output=True, text=True)
        if "matplotlib is missing" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        return page.read_text()

    def test_rows_stand_beside_those_of_tarn_bench(self):
        lists = ["all", "--sizes", "1K", "--counts", "10", "--live", "10", "--threads", "1,2", "--streams", "1,2",
                 "--until", "1M"]
        theirs = self.run_bench(*lists)
        if not theirs:
            self.skipTest("tarn-bench has no device")
        mine, _, _ = self.measure(*lists)
        mine["machine"].update({key: theirs["machine"][key] for key in ("backend", "device_name")})  # are fakes
        page = self.page_of(self.write("python.json", json.dumps(mine)), self.folder / "bench.json")
        self.expect_one_run(self.folder / "python.json", self.folder / "bench.json")
        for name in ("tarn", *NAMES):
            self.assertIn(name, page)

    def expect_one_run(self, *paths):
        """In which each workload has a row of each allocator; of fakes some have no time beyond Python's."""
        sys.path.insert(0, str(SOURCE / "tools"))
        from tarn_tools.result_files import read_results
        from tarn_tools.runs import runs_of
        runs = runs_of([read_results(str(path)) for path in paths])
        self.assertEqual(len(runs), 1)
        names = {}
        for result in runs[0].results:
            names.setdefault(result.key, set()).add(result.allocator)
        for key, of_key in names.items():
            self.assertEqual(of_key, {"tarn", *NAMES}, key)


class Missing(PythonBenchTest):
    def test_what_is_missing_is_listed(self):
        mine, output, _ = self.measure("churn", "--live", "1", FAKE_TORCH="no_device")
        self.assertEqual([row["allocator"] for row in mine["results"]], ["cupy-python"])
        self.assertEqual(mine["not_found"][0]["allocator"], "torch-python")
        self.assertIn("finds no device", mine["not_found"][0]["reason"])
        self.assertIn("torch-python: not found: ", output)
        mine, _, _ = self.measure("--allocator", "torch-python", "churn", "--live", "1")
        self.assertEqual(mine["not_found"], [])

    def test_nothing_there_is_a_failure(self):
        mine, _, complaint = self.measure("churn", status=1, FAKE_TORCH="no_device", FAKE_CUPY="no_device")
        self.assertIn("no allocator is there", complaint)
        self.assertEqual(len(mine["not_found"]), 2)
        done = self.run_program("churn", fakes=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("torch-python: not found: No module named 'torch'", done.stdout)
        self.assertIn("cupy-python: not found: No module named 'cupy'", done.stdout)

    def expect_bad(self, path, message):
        good = self.write("good.trace", GOOD)
        for command in ("replay", "all"):
            done = self.run_program(command, good, path)
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
                (first + "a 0 8 0 0 5\r\nf 0 0 0 4\r\n", ":3: the time 4 is before"),
                (first + "\x1b[2J 0\n", ":2: '\\x1b[2J' is no event"),
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
                ([], "required: COMMAND"), (["fly"], "invalid choice: 'fly'"),
                (["replay"], "replay needs the name of a trace"),
                (["churn", "x"], "'x' is one argument too many"),
                (["--repetitions", "0", "churn"], "--repetitions 0: is not from 1 to 1000"),
                (["--time", "0", "churn"], "must be above 0"), (["--seed", "-1", "churn"], "is not from 0"),
                (["--device", "1024", "churn"], "is not from 0 to 1023"),
                (["--allocator", "raw", "churn"], "there is no allocator 'raw'"),
                (["--allocator", "torch-python,torch-python", "churn"], "is named twice"),
                (["churn", "--live", "0"], "--live 0: 0 is not from 1"),
                (["churn", "--live", "x"], "--live x: 'x' is not a number"),
                (["churn", "--live", "1K"], "'1K' is not a number"),
                (["churn", "--live", ""], "'' is not a number"),
                (["churn", "--live", ",".join(["1"] * 65)], "more than 64 numbers"),
                (["churn", "--size-range", "2K,1K"], "the smaller first"),
                (["churn", "--size-range", "1K"], "takes two sizes"),
                (["sweep", "--sizes", "65T"], "65T is not from 1"),
                (["threads", "--threads", "257"], "257 is not from 1 to 256"),
                (["streams", "--streams", "65"], "65 is not from 1 to 64"),
                (["hot", "--sizes", "1"], "--sizes is an option of sweep only"),
                (["churn", "--shared"], "--shared is an option of threads only"),
                (["growth", "--live", "1"], "--live is an option of churn, threads, streams only"),
                (["replay", "x", "--size-range", "1,2"], "--size-range is an option of")):
            done = self.run_program(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(message, done.stderr)

    def test_options_may_stand_anywhere(self):
        trace = self.write("good.trace", GOOD)
        mine, _, _ = self.measure("replay", "--seed", "7", trace, "--allocator", "cupy-python")
        self.assertEqual([row["workload"] for row in mine["results"]], ["good"])
        self.assertEqual(mine["options"]["seed"], 7)

    def test_help_names_every_command(self):
        done = self.run_program("--help")
        self.assertEqual(done.returncode, 0)
        for command in ("hot", "sweep", "live", "churn", "threads", "streams", "growth", "replay", "all"):
            self.assertIn(f"\n  {command} ", done.stdout)

    def test_a_file_that_cannot_be_written_is_named(self):
        done = self.run_program("--time", "0.02", "--json", "/nonexistent/x.json", "churn", "--live", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/x.json: cannot be written", done.stderr)
        self.assertEqual(done.stdout, "", "before anything is measured")

    def test_a_trace_is_not_replaced_by_its_results(self):
        path = self.folder / "good.trace"
        path.write_text(GOOD)
        done = self.run_program("replay", str(path), "--json", str(path))
        self.assertEqual(done.returncode, 2)
        self.assertIn("which is a trace to play", done.stderr)
        self.assertEqual(path.read_text(), GOOD)

    def test_a_trace_that_is_not_there_is_named(self):
        done = self.run_program("replay", "missing.trace")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "python_bench.py: missing.trace: No such file or directory\n")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
