# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results as a table on stdout, and as a JSON file of tarn-bench's form."""

import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

FORMAT_VERSION = 1
ROW = "  {:<14} {:>7} {:>8} {:>15} {:>8} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}"


def percentiles(samples):
    """By nearest rank, from all samples."""
    ordered = sorted(samples)
    if not ordered:
        return {"p50": 0, "p99": 0, "p999": 0, "mean": 0.0, "max": 0}

    def rank(per_mille):
        return ordered[max(-(-per_mille * len(ordered) // 1000) - 1, 0)]

    return {"p50": rank(500), "p99": rank(990), "p999": rank(999), "mean": sum(ordered) / len(ordered),
            "max": ordered[-1]}


def spread(values):
    """(min, median, max)"""
    ordered = sorted(values)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return ordered[0], median, ordered[-1]


def result(run, harness_ns):
    """A row of the JSON file."""
    workload = run.workload
    row = {"bench": workload.bench, "workload": workload.name, "allocator": run.allocator.name, "threads": 1,
           "streams": 1}
    if run.error:
        return row | {"failures": 1, "verified": False, "error": run.error}
    least, median, most = spread(run.repetitions_ns)
    return row | {
        "pairs": workload.pair_count,
        "alloc_ns": run.alloc_ns,
        "free_ns": run.free_ns,
        "ns_per_pair": median,
        "ns_per_pair_min": least,
        "ns_per_pair_max": most,
        "harness_ns_per_pair": harness_ns,
        "repetitions": len(run.repetitions_ns),
        "passes_per_repetition": run.pass_count,
        "peak_live_bytes": workload.live_bytes_max,
        "peak_live_count": workload.live_count_max,
        **run.usage,
        "metadata_bytes": 0,
        "failures": 0,
        "verified": True,
        "interleaved": True,
    }


# --- the machine ------------------------------------------------------------------------------------


def clock_cost_ns():
    """Of one reading, the least of many."""
    now = time.perf_counter_ns
    least = 10**9
    for _ in range(1000):
        start = now()
        least = min(least, now() - start)
    return least


TREE = pathlib.Path(__file__).resolve().parents[2]  # that this file is in


def commit():
    """What git says the tree is, as it does for tarn-bench."""
    if not (TREE / ".git").exists():
        return "unknown"
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"],
            cwd=TREE, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return said.stdout.strip() or "unknown"


def tarn_version():
    header = TREE / "include/tarn/version.h"
    try:
        text = header.read_text()
    except OSError:
        return "unknown"
    numbers = re.findall(r"#define TARN_VERSION_(?:MAJOR|MINOR|PATCH)\s+(\d+)", text)
    return ".".join(numbers) if len(numbers) == 3 else "unknown"


def cpu_model():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return "unknown"


def look_at_machine(allocators):
    """The facts that tarn-bench has, in its fields; compiler says who interpreted, with which libraries."""
    libraries = ", ".join(allocator.version for allocator in allocators)
    facts = {"backend": "none", "device_name": "none", "device_bytes": 0, "driver_version": 0, "runtime_version": 0}
    for allocator in reversed(allocators):
        facts |= allocator.facts()
    return {
        "tarn_version": tarn_version(),
        "commit": commit(),
        **facts,
        "cpu_model": cpu_model(),
        "cores": os.cpu_count() or 1,
        "kernel": f"{platform.system()} {platform.release()}",
        "c_library": " ".join(platform.libc_ver()).strip(),
        "compiler": ", ".join(filter(None, (f"Python {platform.python_version()}", libraries))),
        "build_type": "Python",
        "clock_cost_ns": clock_cost_ns(),
    }


# --- the report -------------------------------------------------------------------------------------


class Report:
    """Grows workload by workload, so that what was measured can be written at any time."""

    def __init__(self, options):
        self.options = options
        self.machine = None
        self.results = []
        self.not_found = []

    def add_not_found(self, name, reason):
        self.not_found.append({"allocator": name, "reason": reason})

    def begin(self, allocators):
        self.machine = look_at_machine(allocators)
        print(f"replay_python.py, {self.machine['backend']} backend, device {self.machine['device_name']}")
        print(f"{self.machine['cpu_model']}, {self.machine['kernel']}, {self.machine['compiler']}")
        print(f"seed {self.options.seed}, {self.options.repetitions} repetitions; a reading of the clock costs "
              f"{self.machine['clock_cost_ns']} ns")
        for missing in self.not_found:
            print(f"{missing['allocator']}: not found: {missing['reason']}")
        print("\nTimes are in ns. Python's own share is inside ns/pair; it is what functions that do nothing cost.")
        print(ROW.format("", "", "ns/", "", "Python's", "alloc", "", "free", "", "held/", "vendor"))
        print(ROW.format("allocator", "pairs", "pair", "min-max", "share", "p50", "p99", "p50", "p99", "live", "calls"))

    def add(self, workload, results):
        """False: one of them failed."""
        print(f"\n{workload.bench} {workload.name}: at most {workload.live_bytes_max / 1e6:.3g} MB live, at most "
              f"{workload.live_count_max} blocks")
        for row in results:
            self.results.append(row)
            self._print(row)
        sys.stdout.flush()
        return all(row["verified"] for row in results)

    @staticmethod
    def _print(row):
        if not row["verified"]:
            print(f"  {row['allocator']:<14} FAILED: {row['error']}")
            print(f"replay_python.py: {row['error']}", file=sys.stderr)
            return
        held = row["peak_footprint_bytes"] / row["peak_live_bytes"] if row["peak_live_bytes"] else 0
        print(ROW.format(row["allocator"], row["pairs"], f"{row['ns_per_pair']:.0f}",
                         f"{row['ns_per_pair_min']:.0f}-{row['ns_per_pair_max']:.0f}",
                         f"{row['harness_ns_per_pair']:.0f}", row["alloc_ns"]["p50"], row["alloc_ns"]["p99"],
                         row["free_ns"]["p50"], row["free_ns"]["p99"], f"{held:.2f}" if held else "-",
                         row["vendor_calls"] or "-"))

    def write(self, path):
        root = {
            "tarn_bench": FORMAT_VERSION,
            "machine": self.machine or look_at_machine([]),
            "options": {"seed": self.options.seed, "repetitions": self.options.repetitions,
                        "time_seconds": self.options.time, "device": self.options.device, "initial_bytes": 0,
                        "growth_bytes_max": 0},
            "results": self.results,
            "skipped": [],
            "not_found": self.not_found,
        }
        with open(path, "w") as file:
            json.dump(root, file, indent=2)
            file.write("\n")
