# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""support: what the tests of the tools share: the programs as they are run, a folder that goes away, results."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TARN_SOURCE") or Path(__file__).resolve().parents[2])
BENCH = os.environ.get("TARN_BENCH", "")

sys.path.insert(0, str(SOURCE / "tools"))

run_tests = unittest.main
needs_bench = unittest.skipUnless(BENCH, "tarn-bench was not built for the memory of this machine")


def run(program, *arguments, status=0, **options):
    """Runs a tool, or tarn-bench; expects its exit status; returns what it did, texts of it decoded."""
    path = BENCH if program == "tarn-bench" else str(SOURCE / "tools" / program)
    done = subprocess.run([path, *map(str, arguments)], capture_output=True, check=False, timeout=250, **options)
    done.out = done.stdout.decode("utf-8", "surrogateescape")
    done.err = done.stderr.decode("utf-8", "surrogateescape")
    if done.returncode != status:
        raise AssertionError(f"{program} {arguments}: exit status {done.returncode}, not {status}\n"
                             f"{done.out[-2000:]}\n{done.err[-2000:]}")
    return done


def python_with_matplotlib():
    """Returns this Python, or the system's if only that one has it; None if neither."""
    if importlib.util.find_spec("matplotlib"):
        return sys.executable
    system = "/usr/bin/python3"
    return system if os.access(system, os.X_OK) and subprocess.run(
        [system, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0 else None


def has_matplotlib():
    return python_with_matplotlib() is not None


class InFolder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tarn-tools-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path


# --- results that are made up ------------------------------------------------------------------------

MACHINE = {"tarn_version": "0.1.0", "backend": "cuda", "device_name": "Device A", "driver_version": 13000,
           "runtime_version": 13000, "device_bytes": 1 << 36, "cpu_model": "Processor", "cores": 16,
           "kernel": "Linux 6.1", "c_library": "glibc 2.36", "compiler": "GNU 12.2.0", "build_type": "Release",
           "clock_cost_ns": 20}


def result(allocator, ns=100.0, workload="mesh", bench="replay", held=1 << 26, live=1 << 25, **more):
    calls = {"p50": int(ns / 2), "p99": int(ns), "p999": int(2 * ns), "mean": ns / 2, "max": int(9 * ns)}
    return {"bench": bench, "workload": workload, "allocator": allocator, "threads": 1, "streams": 1, "pairs": 1000,
            "alloc_ns": calls, "free_ns": calls, "ns_per_pair": ns, "ns_per_pair_min": ns * 0.98,
            "ns_per_pair_max": ns * 1.03, "harness_ns_per_pair": 5.0, "repetitions": 5, "passes_per_repetition": 3,
            "peak_live_bytes": live, "peak_live_count": 10, "peak_footprint_bytes": held, "vendor_calls": 7,
            "metadata_bytes": 66000, "interleaved": True, "failures": 0, "verified": True, **more}


def rates(allocator, threads, per_second):
    return {"bench": "threads", "workload": f"{threads} x 100 of 1K to 16M", "allocator": allocator,
            "threads": threads, "streams": threads, "shared": False, "pairs_per_second": per_second,
            "pairs_per_second_min": per_second * 0.9, "pairs_per_second_max": per_second * 1.1,
            "ns_per_pair": 1e9 * threads / per_second, "failures": 0, "verified": True}


def results_file(*results, machine=(), skipped=(), not_found=(), **more):
    return {"tarn_bench": 1, "machine": {**MACHINE, **dict(machine)},
            "options": {"seed": 1, "repetitions": 5, "time_seconds": 10.0, "device": 0, "initial_bytes": 1 << 26},
            "results": list(results), "skipped": list(skipped), "not_found": list(not_found), **more}


def heap_result(heap, median=100.0, test="one-size", workload="64 B", figure="allocate, warm", unit="us", **more):
    return {"test": test, "workload": workload, "heap": heap, "figure": figure, "unit": unit, "median": median,
            "min": median * 0.98, "max": median * 1.03, "rounds": 9, **more}


def heap_file(*results, machine=(), kernels=(), skipped=(), faults=(), **more):
    known = ("tarn_version", "backend", "device_name", "driver_version", "runtime_version", "device_bytes", "cpu_model")
    return {"tarn_device_heap_bench": 1,
            "machine": {**{name: MACHINE[name] for name in known}, "commit": "0123456789", **dict(machine)},
            "options": {"rounds": 9, "threads": 1 << 20, "heap_bytes": 8 << 30, "patience_seconds": 1.0},
            "kernels": list(kernels), "results": list(results), "skipped": list(skipped), "faults": list(faults),
            **more}


def heap_remark(heap, text, test="one-size", workload="64 B", **more):
    return {"test": test, "workload": workload, "heap": heap, "text": text, **more}
