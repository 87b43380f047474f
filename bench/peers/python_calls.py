# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The loops that are timed, once for each of the two ways in which Python libraries offer an allocator.

A call inside a loop would cost as much as the measured call, so the two classes repeat each other. An operation is
(slot, bytes), with bytes below zero for a free; a turn is (slot, bytes), a free of the block in that slot and an
allocation in its place.
"""

import collections
import time

now = time.perf_counter_ns


class ByCall:
    """alloc(size, stream) gives an address, and free(address) takes it, whichever stream it was for."""

    def __init__(self, alloc, free, stream):
        self.alloc = alloc
        self.free = free
        self.stream = stream  # its number

    @staticmethod
    def address_of(block):
        return block or 0

    def alloc_on(self, lane, size):
        return self.alloc(size, lane.handle)

    def play(self, operations, blocks):
        """Plays as fast as Python can."""
        alloc, free, stream = self.alloc, self.free, self.stream
        for slot, size in operations:
            if size >= 0:
                blocks[slot] = alloc(size, stream)
            else:
                free(blocks[slot])

    def play_timed(self, operations, blocks):
        """The durations of all allocations and of all frees, with a reading of the clock inside each."""
        alloc, free, stream = self.alloc, self.free, self.stream
        alloc_ns, free_ns = [], []
        for slot, size in operations:
            if size >= 0:
                start = now()
                blocks[slot] = alloc(size, stream)
                alloc_ns.append(now() - start)
            else:
                block = blocks[slot]
                start = now()
                free(block)
                free_ns.append(now() - start)
        return alloc_ns, free_ns

    def play_turns(self, turns, blocks, sizes, over):
        """Plays at least one turn, and then more until `over` is not empty. Returns their number."""
        alloc, free, stream = self.alloc, self.free, self.stream
        count = 0
        for slot, size in turns:
            free(blocks[slot])
            blocks[slot] = alloc(size, stream)
            sizes[slot] = size
            count += 1
            if over:
                break
        return count

    def play_shared(self, turns, places, over):
        """The same if other threads share the places: queues of a block and its size, whose calls are atomic."""
        alloc, free, stream = self.alloc, self.free, self.stream
        count = 0
        for slot, size in turns:
            place = places[slot]
            place.append((alloc(size, stream), size))
            free(place.popleft()[0])
            count += 1
            if over:
                break
        return count

    def play_filled(self, turns, player):
        """Fills each new block on the lane after that of the block before it."""
        alloc, free, fill = self.alloc, self.free, player.fill
        blocks, lane_of, patterns = player.blocks, player.lane_of, player.patterns
        for slot, size in turns:
            free(blocks[slot])
            lane = lane_of[slot] = lane_of[slot].next
            handle = lane.handle
            blocks[slot] = alloc(size, handle)
            code = fill(blocks[slot], next(patterns), size, handle)
            if code:
                raise player.failure_to_fill(code)

    def doing_nothing(self):
        """Functions with the same calls that do nothing: their time is Python's own share."""
        return ByCall(lambda size, stream: 0, lambda block: None, self.stream)

    def handing_out(self, blocks):
        """The same, but the allocations return these blocks, one after the other."""
        return ByCall(lambda size, stream: next(blocks), lambda block: None, self.stream)

    @staticmethod
    def block_at(address):
        """For the one before."""
        return address


_At = collections.namedtuple("_At", "ptr")


class ByObject:
    """alloc(size) gives an object for the thread's current stream. It is freed with its last reference."""

    def __init__(self, alloc):
        self.alloc = alloc

    @staticmethod
    def address_of(block):
        return block.ptr

    def alloc_on(self, lane, size):
        lane.use()
        return self.alloc(size)

    def play(self, operations, blocks):
        alloc = self.alloc
        for slot, size in operations:
            if size >= 0:
                blocks[slot] = alloc(size)
            else:
                blocks[slot] = None

    def play_timed(self, operations, blocks):
        alloc = self.alloc
        alloc_ns, free_ns = [], []
        for slot, size in operations:
            if size >= 0:
                start = now()
                blocks[slot] = alloc(size)
                alloc_ns.append(now() - start)
            else:
                start = now()
                blocks[slot] = None
                free_ns.append(now() - start)
        return alloc_ns, free_ns

    def play_turns(self, turns, blocks, sizes, over):
        alloc = self.alloc
        count = 0
        for slot, size in turns:
            blocks[slot] = None
            blocks[slot] = alloc(size)
            sizes[slot] = size
            count += 1
            if over:
                break
        return count

    def play_shared(self, turns, places, over):
        alloc = self.alloc
        count = 0
        for slot, size in turns:
            place = places[slot]
            place.append((alloc(size), size))
            place.popleft()
            count += 1
            if over:
                break
        return count

    def play_filled(self, turns, player):
        alloc, fill = self.alloc, player.fill
        blocks, lane_of, patterns = player.blocks, player.lane_of, player.patterns
        for slot, size in turns:
            blocks[slot] = None
            lane = lane_of[slot] = lane_of[slot].next
            lane.use()
            blocks[slot] = alloc(size)
            code = fill(blocks[slot].ptr, next(patterns), size, lane.handle)
            if code:
                raise player.failure_to_fill(code)

    def doing_nothing(self):
        return ByObject(lambda size: None)

    def handing_out(self, blocks):
        return ByObject(lambda size: next(blocks))

    @staticmethod
    def block_at(address):
        return _At(address)
