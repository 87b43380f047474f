# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What the allocators cost on one workload. They take turns in each step, so that a slower machine is slower for
all of them. If the device has no room for all at once, they run one after the other.
"""

import gc

from python_growth import GrowthRun
from python_interrupt import end_if_wished
from python_passes import PassesRun
from python_streams import StreamsRun
from python_threads import ThreadsRun
from python_workloads import GROWTH, PASSES, STREAMS, THREADS

RUNS = {PASSES: PassesRun, THREADS: ThreadsRun, GROWTH: GrowthRun, STREAMS: StreamsRun}

HELD_BY_LIVE_MAX = 2.5  # the most that an allocator is expected to hold


def reason_to_skip(workload, free_bytes):
    """A made-up workload that is larger than the device is skipped, as in tarn-bench; a recorded one is played and may
    fail."""
    live_bytes = workload.extent.live_bytes_max
    if workload.is_recorded or live_bytes <= free_bytes:
        return None
    return f"it has {live_bytes / 1e9:.1f} GB live, and the device has {free_bytes / 1e9:.1f} GB free"


def can_interleave(workload, allocator_count, free_bytes):
    """In growth, one is open at a time."""
    expected = HELD_BY_LIVE_MAX * workload.extent.live_bytes_max
    return workload.method == GROWTH or expected * allocator_count < free_bytes


def take_turns(runs, repetitions, progress):
    kind = type(runs[0])
    for name in (*kind.STEPS_BEFORE, *["repeat"] * repetitions, *kind.STEPS_AFTER):
        for run in runs:
            end_if_wished()
            progress(f"{run.workload.bench} {run.workload.name}: {run.allocator.name}: {name.replace('_', ' ')}")
            run.step(name)


class Measured:
    """`rows` are results, and `skipped` entries, of the JSON file."""

    def __init__(self, rows, skipped):
        self.rows = rows
        self.skipped = skipped


def _measure_runs(runs, options, is_interleaved, progress):
    for group in [runs] if is_interleaved else [[run] for run in runs]:
        take_turns(group, options.repetitions, progress)
    return Measured([run.row(is_interleaved) for run in runs if not run.skipped_because],
                    [run.subject() | {"reason": run.skipped_because} for run in runs if run.skipped_because])


def measure(workload, allocators, options, free_bytes, progress):
    """A result of each allocator, in their order."""
    runs = [RUNS[workload.method](allocator, workload, options) for allocator in allocators]
    reason = reason_to_skip(workload, free_bytes)
    if reason:
        return Measured([], [run.subject() | {"reason": reason} for run in runs])
    gc.collect()
    gc.disable()
    try:
        return _measure_runs(runs, options, can_interleave(workload, len(allocators), free_bytes), progress)
    finally:
        gc.enable()
