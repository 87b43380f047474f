# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
An allocator at work for several streams, on which the device fills its blocks, as in stream_player.h.

Both libraries keep freed memory for the stream that it was allocated for, so no free has to wait.
"""

import itertools
import time

from python_failures import BadBlock

TURNS_MAX = 256  # submitted before the thread waits for the streams
PATTERN_COUNT = 251
SAMPLE_BYTES = 8192  # at either end of a larger block are checked

now = time.perf_counter_ns


class Lane:
    """A stream, and the one that its blocks go on to. `use` makes it current, if the allocator needs that."""

    def __init__(self, handle, use):
        self.handle = handle
        self.use = use
        self.next = self


def make_lanes(handles, uses, hands_on):
    lanes = [Lane(handle, use) for handle, use in zip(handles, uses)]
    if hands_on:
        for lane, following in zip(lanes, lanes[1:] + lanes[:1]):
            lane.next = following
    return lanes


def in_parts(items):
    return [items[first:first + TURNS_MAX] for first in range(0, len(items), TURNS_MAX)]


class StreamPlayer:
    def __init__(self, calls, lanes, work, workload):
        self.calls = calls
        self.lanes = lanes
        self.work = work
        self.workload = workload
        self.fill = work.fill
        self.blocks = [None] * workload.slot_count
        self.lane_of = [lane for _, lane in zip(workload.setup, itertools.cycle(lanes))]
        self.patterns = itertools.cycle(range(1, PATTERN_COUNT + 1))
        self.turns = list(zip((slot for slot, _ in workload.body[::2]), (size for _, size in workload.body[1::2])))
        self.parts = in_parts(self.turns)

    def failure_to_fill(self, code):
        return self.work.failure("filling a block", code)

    def play_setup(self):
        for slot, size in self.workload.setup:
            lane = self.lane_of[slot]
            self.blocks[slot] = self.calls.alloc_on(lane, size)
            code = self.fill(self.calls.address_of(self.blocks[slot]), next(self.patterns), size, lane.handle)
            if code:
                raise self.failure_to_fill(code)

    def wait(self):
        for lane in self.lanes:
            self.work.wait(lane.handle)

    def play(self):
        """The times of one pass: (of the thread, until all is submitted; until the streams have done it)."""
        host_ns = total_ns = 0
        for part in self.parts:
            start = now()
            self.calls.play_filled(part, self)
            submitted = now()
            self.wait()
            host_ns += submitted - start
            total_ns += now() - start
        return host_ns, total_ns


class WorkAlone:
    """The same fills, on the same streams, by the same loop, in blocks that stay. Their memory is the driver's."""

    def __init__(self, calls, lanes, work, workload):
        turned_count = 1 + max(slot for slot, _ in workload.body)
        self.work = work
        self.addresses = []
        for _, size in workload.setup[:turned_count]:
            self.addresses.append(work.alloc(size))
        blocks = [calls.block_at(address) for address in self.addresses]
        self.player = StreamPlayer(calls.handing_out(itertools.cycle(blocks)),
                                   make_lanes([lane.handle for lane in lanes], [lambda: None] * len(lanes),
                                              workload.hands_on), work, workload)

    def play(self):
        return self.player.play()

    def close(self):
        self.player.wait()
        for address in self.addresses:
            self.work.free(address)


class CheckedPlay:
    """
    Before each free the block, or both ends of a larger one, is copied aside on the device, in the order of its
    stream, without a wait. When all streams are done, every byte must be the one the block was filled with.
    """

    def __init__(self, player):
        self.player = player
        self.work = player.work
        self.sizes = [size for _, size in player.workload.setup]  # by slot
        self.fills = list(range(len(self.sizes)))  # by slot: how many fills came before that of its block
        self.aside = self.work.alloc(TURNS_MAX * 2 * SAMPLE_BYTES)

    def close(self):
        self.player.wait()
        self.work.free(self.aside)

    def _set_aside(self, slot, target):
        """(pattern, bytes there then)"""
        block, size = self.player.calls.address_of(self.player.blocks[slot]), self.sizes[slot]
        stream = self.player.lane_of[slot].handle
        if size <= 2 * SAMPLE_BYTES:
            self.work.copy(target, block, size, stream)
        else:
            self.work.copy(target, block, SAMPLE_BYTES, stream)
            self.work.copy(target + SAMPLE_BYTES, block + size - SAMPLE_BYTES, SAMPLE_BYTES, stream)
        return 1 + self.fills[slot] % PATTERN_COUNT, min(size, 2 * SAMPLE_BYTES)

    def play(self, fail_at):
        """Plays all turns. Calls fail_at(turn, error) for a wrong one."""
        for part_number, part in enumerate(self.player.parts):
            first = part_number * TURNS_MAX
            samples = []
            for turn in part:
                slot = turn[0]
                samples.append(self._set_aside(slot, self.aside + len(samples) * 2 * SAMPLE_BYTES))
                self.player.calls.play_filled([turn], self.player)
                self.fills[slot] = len(self.sizes) + first + len(samples) - 1
            self._compare(samples, lambda index, error, first=first: fail_at(first + index, error))

    def _compare(self, samples, fail_at):
        self.player.wait()
        there = self.work.read(self.aside, len(samples) * 2 * SAMPLE_BYTES)
        for index, (pattern, count) in enumerate(samples):
            sample = there[index * 2 * SAMPLE_BYTES:][:count]
            if sample.count(pattern) != count:
                other = next(byte for byte in sample if byte != pattern)
                fail_at(index, BadBlock(
                    f"the block that it frees was filled with {pattern} and has {other} in it: its memory was given to "
                    "another stream too early, or twice"))
