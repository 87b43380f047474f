# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Several threads at work, each on its part of a workload, as in thread_team.h. They wait at a barrier, begin together,
and end together; between plays none runs. All share one interpreter, whose lock one of them holds at a time.
"""

import collections
import itertools
import threading
import time

from python_failures import Failed, first_line


class Member:
    """One thread's part. `turns` goes on from where the last play stopped, over and over."""

    def __init__(self, number, workload, stream):
        self.number = number
        self.stream = stream  # None: the one that all share
        self.setup = workload.part(workload.setup, number)
        body = workload.part(workload.body, number)
        self.turns = itertools.cycle(zip(_places(workload, number, [slot for slot, _ in body[::2]]),
                                         [size for _, size in body[1::2]]))
        self.calls = None
        self.error = None
        self.turn_count = self.start_ns = self.end_ns = 0


def _places(workload, number, slots):
    """The slots of the turns. Shared: in the part of each thread in turn."""
    if not workload.is_shared:
        return slots
    part_slots = workload.slot_count // workload.part_count
    firsts = itertools.cycle(range(0, workload.slot_count, part_slots))
    return [first + slot - number * part_slots for first, slot in zip(firsts, slots)]


class Team:
    """Its threads live as long as it does. Each calls `enter` first, with its stream, and gets its calls."""

    def __init__(self, workload, streams, enter):
        self.workload = workload
        self.members = [Member(number, workload, stream) for number, stream in enumerate(streams)]
        self.enter = enter
        self.blocks = [None] * workload.slot_count
        self.sizes = [0] * workload.slot_count
        self.places = None  # shared: of the blocks and their sizes, in the place of these lists
        self.over = []      # not empty when a play is over
        self.action = None
        self.barrier = threading.Barrier(len(self.members) + 1)
        self.threads = [threading.Thread(target=self._work, args=(member,), daemon=True) for member in self.members]
        for thread in self.threads:
            thread.start()

    def _work(self, member):
        try:
            while self._begins():
                try:
                    self.action(member)
                except Exception as error:  # any error: the others wait for this thread
                    member.error = error
                self.barrier.wait()
        except threading.BrokenBarrierError:
            pass  # the program is about to end

    def _begins(self):
        self.barrier.wait()
        return self.action is not None

    def _run(self, action, seconds=0.0):
        self.action = action
        self.over.clear()
        for member in self.members:
            member.error = None
        try:
            self.barrier.wait()
            time.sleep(seconds)
            self.over.append(True)
            self.barrier.wait()
        except BaseException:
            self.over.append(True)
            self.barrier.abort()
            raise
        for member in self.members:
            if member.error:
                raise Failed(f"thread {member.number}: {first_line(member.error)}") from member.error

    # --- what the threads do ---

    def _play_setup(self, member):
        member.calls = self.enter(member.stream)
        member.calls.play(member.setup, self.blocks)
        for slot, size in member.setup:
            self.sizes[slot] = size

    def _play_turns(self, member):
        member.start_ns = time.perf_counter_ns()
        if self.places:
            member.turn_count = member.calls.play_shared(member.turns, self.places, self.over)
        else:
            member.turn_count = member.calls.play_turns(member.turns, self.blocks, self.sizes, self.over)
        member.end_ns = time.perf_counter_ns()

    def _free_part(self, member):
        slots = self.workload.part(range(self.workload.slot_count), member.number)
        member.calls.play([(slot, -1) for slot in slots if self.blocks[slot] is not None], self.blocks)

    # --- what the caller does ---

    def play_setup(self):
        self._run(self._play_setup)
        if self.workload.is_shared:
            self.places = [collections.deque([place]) for place in zip(self.blocks, self.sizes)]
            self.blocks = self.sizes = None

    def play(self, seconds):
        """Pairs a second of all threads, from the start of the first to the end of the last."""
        self._run(self._play_turns, seconds)
        start_ns = min(member.start_ns for member in self.members)
        end_ns = max(member.end_ns for member in self.members)
        return sum(member.turn_count for member in self.members) * 1e9 / max(end_ns - start_ns, 1)

    def live_blocks(self):
        """Pairs of a block and its size, by slot."""
        return [place[0] for place in self.places] if self.places else list(zip(self.blocks, self.sizes))

    def free_all(self):
        """Each thread frees the blocks in its part."""
        self.blocks = [block for block, _ in self.live_blocks()]
        self.places = None
        self._run(self._free_part)

    def end(self):
        self.action = None
        self.barrier.wait()
        for thread in self.threads:
            thread.join()
