# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
One allocator on one workload: what all methods share.

A run is a list of steps, which the allocators take in turns (python_measure.py). After a failure the steps that
follow do nothing, and the row has the failure.
"""

import time

from python_failures import CannotPlay, Failed, FailedAt, first_line
from python_verifier import Verifier

REPETITION_NS_MIN = 50e6  # so that the first, colder pass in it weighs little


class Run:
    """Steps are names of its methods. Between them are the repetitions, each of which calls `repeat`."""

    STEPS_BEFORE = STEPS_AFTER = ()

    def __init__(self, allocator, workload, options):
        self.allocator = allocator
        self.workload = workload
        self.options = options
        self.error = None
        self.skipped_because = None
        self.body_count = len(workload.body)  # operations of the body that are played
        self.blocks = [None] * workload.slot_count
        self.calls = None
        self.verifier = Verifier()
        self.usage = None

    # --- steps ---

    @property
    def is_running(self):
        return not self.error and not self.skipped_because

    def step(self, name):
        """Does one step, unless an earlier one failed."""
        if not self.is_running:
            return
        try:
            getattr(self, name)()
        except CannotPlay as reason:
            self.skipped_because = str(reason)
        except FailedAt as error:
            self.error = str(error)
        except (Failed, *self.allocator.errors) as error:
            self.error = f"{self.workload.name}: {self.allocator.name}: {first_line(error)}"
        if not self.is_running:
            self.abandon()

    @property
    def budget_ns(self):
        return self.options.time * 1e9

    # --- playing ---

    def open(self):
        """Starts with nothing live, like a program."""
        self.allocator.open()
        self.calls = self.allocator.calls()
        self.harness_calls = self.calls.doing_nothing()
        self.verifier = Verifier()

    def fail_at(self, index, error):
        """Adds the place of the operation to the failure; places count the setup first, then the body."""
        raise FailedAt(f"{self.workload.place(index)}: {self.allocator.name}: {first_line(error)}") from error

    def play_verified(self, operations, first_place, then=None):
        """Checks every address. Calls `then` after each operation."""
        for index, (slot, size) in enumerate(operations, first_place):
            try:
                self._play_one_verified(slot, size)
            except (Failed, *self.allocator.errors) as error:
                self.fail_at(index, error)
            if then:
                then(slot, size)

    def _play_one_verified(self, slot, size):
        if size < 0:
            self.verifier.remove(slot)
        self.calls.play([(slot, size)], self.blocks)
        if size >= 0:
            self.verifier.add(slot, self.calls.address_of(self.blocks[slot]), size)

    def play_setup_verified(self, then=None):
        self.play_verified(self.workload.setup, 0, then)

    def play_body_verified(self, first, count, then=None):
        self.play_verified(self.workload.body[first:first + count], len(self.workload.setup) + first, then)

    def live_slots(self):
        return list(self.verifier.by_slot)

    def close(self):
        self.calls.play([(slot, -1) for slot in self.live_slots()], self.blocks)
        self._close_empty()

    def _close_empty(self):
        self.calls = None
        self.blocks = [None] * self.workload.slot_count
        self.allocator.close()

    def abandon(self):
        """Frees after a failure that may have freed some blocks already. Errors of second frees are ignored."""
        if not self.calls:
            return
        for slot in self.live_slots():
            self._try(lambda: self.calls.play([(slot, -1)], self.blocks))
        self._try(self._close_empty)

    def _try(self, action):
        try:
            action()
        except (Failed, *self.allocator.errors):
            pass

    # --- the row ---

    def subject(self):
        return {"bench": self.workload.bench, "workload": self.workload.name, "allocator": self.allocator.name}

    def place(self):
        """The numbers of threads and streams that use it."""
        return {"threads": 1, "streams": 1}

    def row(self, is_interleaved):
        """A result of the JSON file."""
        row = self.subject() | self.place()
        if self.error:
            return row | {"failures": 1, "verified": False, "error": self.error}
        extent = self.workload.extent_of(self.body_count)
        return row | self.figures(extent.pair_count) | {
            "peak_live_bytes": extent.live_bytes_max,
            "peak_live_count": extent.live_count_max,
            **self.usage,
            "metadata_bytes": 0,
            "failures": 0,
            "verified": True,
            "interleaved": is_interleaved,
        }


def timed(action):
    """The duration in ns."""
    start = time.perf_counter_ns()
    action()
    return time.perf_counter_ns() - start
