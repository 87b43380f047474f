# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rate of several threads on one allocator at once: the steps of measure_threads.h."""

from python_figures import median, named_spread, spread
from python_run import Run
from python_team import Team
from python_verifier import Verifier

PLAY_SECONDS_MAX = 0.1  # so long that starting together weighs little


class ThreadsRun(Run):
    STEPS_BEFORE = ("setup", "warm_up")
    STEPS_AFTER = ("verify", "finish")

    team = None

    def __init__(self, allocator, workload, options):
        super().__init__(allocator, workload, options)
        self.thread_count = workload.part_count
        self.rates = []  # pairs a second, in each repetition

    def setup(self):
        self.open()
        has_own = not self.workload.has_one_stream
        streams = self.allocator.create_streams(self.thread_count) if has_own else [None] * self.thread_count
        self.team = Team(self.workload, streams, self._enter)
        self.team.play_setup()
        self.verify()

    def _enter(self, stream):
        self.allocator.enter_thread(stream)
        return self.allocator.calls(stream)

    def verify(self):
        """Verifies every live block."""
        verifier = Verifier()
        for slot, (block, size) in enumerate(self.team.live_blocks()):
            verifier.add(slot, self.calls.address_of(block), size)

    def _play(self, team):
        return team.play(min(self.options.time / self.options.repetitions, PLAY_SECONDS_MAX))

    def warm_up(self):
        self._play(self.team)

    def repeat(self):
        self.rates.append(self._play(self.team))

    def finish(self):
        self.team.free_all()
        self.usage = self.allocator.usage()
        self.team.end()
        self.close()

    def abandon(self):
        """Frees the threads' blocks as far as possible."""
        if self.team:
            self._try(self.team.free_all)
            self.team.end()
            self.team = None
        super().abandon()

    def harness_rate(self):
        """Python's own share: as many threads that call functions that do nothing."""
        team = Team(self.workload, [None] * self.thread_count, lambda stream: self.harness_calls)
        team.play_setup()
        rates = [self._play(team) for _ in self.rates]
        team.end()
        return median(rates)

    def place(self):
        return {"threads": self.thread_count, "streams": 1 if self.workload.has_one_stream else self.thread_count}

    def figures(self, pair_count):
        """The time of a pair is its thread's, while the other threads work too."""
        thread_ns = self.thread_count * 1e9
        least, middle, most = spread(self.rates)
        return {
            "shared": self.workload.is_shared,
            **named_spread("pairs_per_second", self.rates),
            "pairs_per_second_per_thread": middle / self.thread_count,
            "ns_per_pair": thread_ns / middle,
            "ns_per_pair_min": thread_ns / most,
            "ns_per_pair_max": thread_ns / least,
            "harness_ns_per_pair": thread_ns / self.harness_rate(),
            "repetitions": len(self.rates),
        }
