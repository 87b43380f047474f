# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What an allocator costs a thread that submits work to several streams: the steps of measure_streams.h.

The work alone takes turns with the allocator, in the same loop with functions that do nothing. So it contains Python's
own share, too.
"""

from python_device_work import DeviceWork
from python_figures import median, named_spread
from python_run import REPETITION_NS_MIN, Run
from python_stream_player import CheckedPlay, StreamPlayer, WorkAlone, make_lanes


class Repetitions:
    """The times of a pair in each repetition, of an allocator or of the work alone."""

    def __init__(self, player, pair_count):
        self.player = player
        self.pair_count = pair_count
        self.host_ns = []
        self.total_ns = []

    def play(self, pass_count):
        """The time until all is done."""
        plays = [self.player.play() for _ in range(pass_count)]
        host_ns, total_ns = (sum(times) / pass_count for times in zip(*plays))
        self.host_ns.append(host_ns / self.pair_count)
        self.total_ns.append(total_ns / self.pair_count)
        return total_ns * pass_count


class StreamsRun(Run):
    STEPS_BEFORE = ("checked_pass", "warm_up")
    STEPS_AFTER = ("finish",)

    player = alone = None

    def open(self):
        super().open()
        self.player = StreamPlayer(self.calls, self.lanes, self.work, self.workload)
        self.blocks = self.player.blocks
        self.player.play_setup()

    def checked_pass(self):
        """Uses an instance of its own."""
        self.work = DeviceWork(self.allocator.facts()["backend"], self.options.device)
        self.streams = self.allocator.create_streams(self.workload.stream_count)
        self.lanes = make_lanes(map(self.allocator.number_of, self.streams),
                                map(self.allocator.use_of, self.streams), self.workload.hands_on)
        self.open()
        check = CheckedPlay(self.player)
        try:
            check.play(lambda turn, error: self.fail_at(len(self.workload.setup) + 2 * turn, error))
        finally:
            check.close()
        self.usage = self.allocator.usage()
        self.close()

    def warm_up(self):
        self.open()
        self.alone = WorkAlone(self.calls, self.lanes, self.work, self.workload)
        pair_count = len(self.player.turns)
        self.repetitions = Repetitions(self.player, pair_count)
        self.alone_repetitions = Repetitions(self.alone, pair_count)
        pass_ns = self.player.play()[1] + 1
        self.alone.play()
        wanted_ns = min(self.budget_ns / self.options.repetitions, REPETITION_NS_MIN)
        self.pass_count = max(int(wanted_ns / pass_ns), 1)
        self.left_ns = self.budget_ns

    def repeat(self):
        """Plays at least once, and again while there is time."""
        done = len(self.repetitions.total_ns)
        if done and self.left_ns < (self.budget_ns - self.left_ns) / done:
            return
        self.left_ns -= self.repetitions.play(self.pass_count)
        self.alone_repetitions.play(self.pass_count)

    def finish(self):
        self.alone.close()
        self.alone = None
        self.close()

    def live_slots(self):
        return [slot for slot, block in enumerate(self.blocks) if block is not None]

    def _close_empty(self):
        self.player = None
        self.allocator.leave_streams()
        super()._close_empty()

    def close(self):
        self.player.wait()
        super().close()

    def abandon(self):
        if self.alone:
            self._try(self.alone.close)
        super().abandon()

    def place(self):
        return {"threads": 1, "streams": self.workload.stream_count}

    def figures(self, pair_count):
        """Neither library makes calls for events here, or counts them."""
        work_ns = median(self.alone_repetitions.host_ns)
        return {
            "mode": "handed on" if self.workload.hands_on else "own",
            "free_order": "ordered",
            "pairs": pair_count,
            **named_spread("ns_per_pair", self.repetitions.host_ns),
            "harness_ns_per_pair": work_ns,
            "allocator_ns_per_pair": median(self.repetitions.host_ns) - work_ns,
            **named_spread("total_ns_per_pair", self.repetitions.total_ns),
            "work_total_ns_per_pair": median(self.alone_repetitions.total_ns),
            "calls_per_pair": {"records": 0.0, "queries": 0.0, "stream_waits": 0.0, "host_waits": 0.0},
            "repetitions": len(self.repetitions.host_ns),
            "passes_per_repetition": self.pass_count,
        }
