# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
bench/peers/python_bench.py as its tests run it: over PyTorch, CuPy and CUDA's driver as fake_peers has them.

By hand: TARN_SOURCE=$PWD TARN_BENCH=$PWD/build/dev/bin/tarn-bench TARN_FAKE_DRIVER=$PWD/build/dev/fake_driver
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["TARN_SOURCE"])
BENCH = os.environ["TARN_BENCH"]
FAKE_DRIVER = os.environ["TARN_FAKE_DRIVER"]
PROGRAM = SOURCE / "bench/peers/python_bench.py"
FAKES = SOURCE / "tests/bench/fake_peers"
NAMES = ["torch-python", "cupy-python"]

SHORT = ["--repetitions", "2", "--time", "0.02"]
WHOLE = ["--repetitions", "1", "--time", "60"]  # no list is cut, and a repetition is still 50 ms


class PythonBenchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def command(self, *arguments, fakes=True, driver=FAKE_DRIVER, **environment):
        """The words of a command line, and its environment."""
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        clean["LD_LIBRARY_PATH"] = f"{driver}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        if fakes:
            clean["PYTHONPATH"] = str(FAKES)
        isolated = [] if fakes else ["-S", "-E"]  # so that no installed one is found
        return [sys.executable, *isolated, "-B", str(PROGRAM), *map(str, arguments)], clean | environment

    def run_program(self, *arguments, **how):
        words, environment = self.command(*arguments, **how)
        return subprocess.run(words, env=environment, capture_output=True, text=True)

    def measure(self, *arguments, status=0, length=SHORT, **how):
        """(the JSON file, stdout, stderr)"""
        path = self.folder / "python.json"
        done = self.run_program(*arguments, *length, "--json", path, **how)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        if status == 0:
            self.assertEqual(done.stderr, "")
        return json.loads(path.read_text()), done.stdout, done.stderr

    def run_bench(self, *arguments, name="bench.json"):
        """tarn-bench on the same, for tarn alone; None where its device is missing."""
        path = self.folder / name
        done = subprocess.run([BENCH, "--allocator=tarn", *WHOLE, f"--json={path}", *map(str, arguments)],
                              capture_output=True, text=True)
        return json.loads(path.read_text()) if done.returncode == 0 else None

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    # --- claims ---

    def expect_times(self, row):
        for times in (row["alloc_ns"], row["free_ns"]):
            self.assertLessEqual(0, times["p50"])
            self.assertLessEqual(times["p50"], times["p99"])
            self.assertLessEqual(times["p99"], times["p999"])
            self.assertLessEqual(times["p999"], times["max"])

    def expect_row(self, row):
        """It was measured and verified, and its figures can be."""
        self.assertTrue(row["verified"])
        self.assertEqual(row["failures"], 0)
        self.assertLessEqual(row["ns_per_pair_min"], row["ns_per_pair"])
        self.assertLessEqual(row["ns_per_pair"], row["ns_per_pair_max"])
        self.assertGreater(row["harness_ns_per_pair"], 0)
        self.assertGreaterEqual(row["peak_footprint_bytes"], row["peak_live_bytes"])
        self.assertGreaterEqual(row["repetitions"], 1)
        if "alloc_ns" in row:
            self.expect_times(row)

    def rows_of(self, content, bench):
        rows = [row for row in content["results"] if row["bench"] == bench]
        self.assertTrue(rows, f"no result of {bench}")
        for row in rows:
            self.expect_row(row)
        return rows
