# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What it costs an allocator to grow from nothing, and what it gives back: the steps of measure_growth.h.

Every pass opens the allocator, plays the allocations and then the frees, and closes it.
"""

import time

from python_figures import median, named_spread, percentiles
from python_memory_log import MemoryFollow
from python_run import Run

HARNESS_PASSES = 25  # are over in no time

now = time.perf_counter_ns


class GrowthPass:
    """The times of one pass: of all allocations and of all frees."""

    def __init__(self, calls, allocs, frees, blocks):
        start = now()
        calls.play(allocs[:1], blocks)
        first = now()
        calls.play(allocs[1:], blocks)
        grown = now()
        calls.play(frees, blocks)
        self.all_ns = now() - start
        self.first_ns, self.alloc_ns, self.free_ns = first - start, grown - start, self.all_ns - (grown - start)


class GrowthRun(Run):
    STEPS_BEFORE = ("verified_pass", "single_calls")

    def __init__(self, allocator, workload, options):
        super().__init__(allocator, workload, options)
        self.pair_count = len(workload.body) // 2
        self.allocs, self.frees = workload.body[:self.pair_count], workload.body[self.pair_count:]
        self.passes = []

    def verified_pass(self):
        self.open()
        follow = MemoryFollow(self.allocator, len(self.workload.body))
        self.play_body_verified(0, self.pair_count, follow.add)
        self.usage = self.allocator.usage()
        self.play_body_verified(self.pair_count, self.pair_count, follow.add)
        self.memory_points = follow.finish()
        self.held_after_free = self.allocator.held_bytes()
        self.allocator.trim()
        self.held_after_trim = self.allocator.held_bytes()
        self.close()

    def single_calls(self):
        self.open()
        alloc_ns, free_ns = self.calls.play_timed(self.workload.body, self.blocks)
        self.alloc_ns = percentiles(alloc_ns)
        self.free_ns = percentiles(free_ns)
        self.close()

    def has_time(self):
        """Plays at least once, and again while there is time."""
        spent_ns = sum(each.all_ns for each in self.passes)
        return not self.passes or spent_ns * (len(self.passes) + 1) / len(self.passes) <= self.budget_ns

    def repeat(self):
        if self.has_time():
            self.open()
            self.passes.append(GrowthPass(self.calls, self.allocs, self.frees, self.blocks))
            self.close()

    def harness_ns(self):
        """Python's own share of a pair."""
        passes = [GrowthPass(self.harness_calls, self.allocs, self.frees, list(self.blocks))
                  for _ in range(HARNESS_PASSES)]
        return median([each.all_ns for each in passes]) / self.pair_count

    def figures(self, pair_count):
        return {
            "pairs": pair_count,
            "alloc_ns": self.alloc_ns,
            "free_ns": self.free_ns,
            **named_spread("ns_per_pair", [each.all_ns / pair_count for each in self.passes]),
            "harness_ns_per_pair": self.harness_ns(),
            "repetitions": len(self.passes),
            "passes_per_repetition": 1,
            **named_spread("first_alloc_ns", [float(each.first_ns) for each in self.passes]),
            "ns_per_alloc": median([each.alloc_ns for each in self.passes]) / pair_count,
            "ns_per_free": median([each.free_ns for each in self.passes]) / pair_count,
            "held_after_free_bytes": self.held_after_free,
            "held_after_trim_bytes": self.held_after_trim,
            "memory_over_time": self.memory_points,
        }
