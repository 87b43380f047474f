# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The facts about the machine that a result depends on."""

import os
import pathlib
import platform
import re
import subprocess
import time

TREE = pathlib.Path(__file__).resolve().parents[2]  # of this file


def clock_cost_ns():
    """The time of one reading, the least of many."""
    now = time.perf_counter_ns
    least = 10**9
    for _ in range(1000):
        start = now()
        least = min(least, now() - start)
    return least


def commit():
    """The commit of the tree by git, as for tarn-bench."""
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
    """The facts that tarn-bench has, in its fields; `compiler` names the interpreter and the libraries."""
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
