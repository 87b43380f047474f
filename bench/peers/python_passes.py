# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What an allocator costs when one thread plays a workload over and over: the steps of measure_passes.h.

A repetition is timed as a whole, with the time that the system gave to other programs.
"""

from python_figures import median, named_spread, percentiles
from python_memory_log import MemoryFollow
from python_run import REPETITION_NS_MIN, Run, timed
from python_verifier import Verifier

PASSES_MAX = 1_000_000


class Passes:
    """Plays the body over and over, with the calls of an allocator or with those that do nothing."""

    def __init__(self, calls, body, blocks, options):
        self.calls = calls
        self.body = body
        self.blocks = blocks
        self.options = options
        self.repetitions_ns = []  # of a pass

    def play(self, count):
        for _ in range(count):
            self.calls.play(self.body, self.blocks)

    def plan(self, pass_ns):
        """Chooses passes and repetitions so that they fill the time, and no more."""
        budget_ns = self.options.time * 1e9
        wanted_ns = min(budget_ns / self.options.repetitions, REPETITION_NS_MIN)
        pass_ns = max(pass_ns, 1.0)
        self.pass_count = int(min(max(wanted_ns / pass_ns, 1), PASSES_MAX))
        most = budget_ns / (self.pass_count * pass_ns)
        self.repetition_count = int(min(max(most, 1), self.options.repetitions))

    def repeat(self):
        if len(self.repetitions_ns) < self.repetition_count:
            self.repetitions_ns.append(timed(lambda: self.play(self.pass_count)) / self.pass_count)

    def run_all(self):
        """The steps that take no turns with others."""
        self.plan(timed(lambda: self.play(1)))
        for _ in range(self.repetition_count):
            self.repeat()


class PassesRun(Run):
    STEPS_BEFORE = ("first_pass", "warm_up")
    STEPS_AFTER = ("single_calls", "last_pass", "close", "memory_over_time")

    memory_points = None

    def first_pass(self):
        """Also decides how much of the body is played from then on: all, unless that takes too long and it may be cut."""
        self.open()
        self.play_setup_verified()
        unit = self.workload.unit_count
        duration_ns = done = 0
        while done < len(self.workload.body) and duration_ns <= self.budget_ns:
            duration_ns += timed(lambda first=done: self.play_body_verified(first, unit))
            done += unit
        self.body_count = done
        self.usage = self.allocator.usage()

    @property
    def body(self):
        return self.workload.body[:self.body_count]

    def warm_up(self):
        """A pass without verifying takes a fraction of the time of one with it."""
        self.passes = Passes(self.calls, self.body, self.blocks, self.options)
        self.passes.plan(timed(lambda: self.passes.play(1)))

    def repeat(self):
        self.passes.repeat()

    def single_calls(self):
        alloc_ns, free_ns = self.calls.play_timed(self.body, self.blocks)
        self.alloc_ns = percentiles(alloc_ns)
        self.free_ns = percentiles(free_ns)

    def last_pass(self):
        """The live blocks now lie elsewhere than after the first pass."""
        live = {slot: size for slot, (_, size) in self.verifier.by_slot.items()}
        self.verifier = Verifier()
        for slot, size in live.items():
            self.verifier.add(slot, self.calls.address_of(self.blocks[slot]), size)
        self.play_body_verified(0, self.body_count)

    def memory_over_time(self):
        """Uses a new instance, as the first pass did."""
        if not self.workload.shows_memory:
            return
        self.open()
        follow = MemoryFollow(self.allocator, len(self.workload.setup) + self.body_count)
        self.play_setup_verified(follow.add)
        self.play_body_verified(0, self.body_count, follow.add)
        self.memory_points = follow.finish()
        self.close()

    def harness_ns(self):
        """Python's own share of a pass, in the loop that this allocator needs."""
        harness = Passes(self.harness_calls, self.body, [None] * self.workload.slot_count, self.options)
        harness.run_all()
        return median(harness.repetitions_ns)

    def figures(self, pair_count):
        memory = {"memory_over_time": self.memory_points} if self.memory_points else {}
        return {
            "pairs": pair_count,
            "alloc_ns": self.alloc_ns,
            "free_ns": self.free_ns,
            **named_spread("ns_per_pair", [each / pair_count for each in self.passes.repetitions_ns]),
            "harness_ns_per_pair": self.harness_ns() / pair_count,
            "repetitions": len(self.passes.repetitions_ns),
            "passes_per_repetition": self.passes.pass_count,
            **memory,
        }
