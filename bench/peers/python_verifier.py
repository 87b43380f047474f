# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the addresses that an allocator hands out, by the rules of tarn-bench."""

import bisect

from python_failures import BadBlock

PART_MAX = 1000


class RangeSet:
    """Ranges that do not overlap, in order of address: short lists, one after the other, of which none is empty."""

    def __init__(self):
        self.parts = [[]]
        self.firsts = [0]  # where the parts begin, or before
        self.sizes = {}

    def _part_of(self, start):
        return bisect.bisect_right(self.firsts, start) - 1

    def _neighbours(self, number, place):
        """The ranges before and after a place."""
        part = self.parts[number]
        if place > 0:
            yield part[place - 1]
        elif number > 0:
            yield self.parts[number - 1][-1]
        if place < len(part):
            yield part[place]
        elif number + 1 < len(self.parts):
            yield self.parts[number + 1][0]

    def add(self, start, size):
        """Adds a range. Returns the range (start, size) that it overlaps, or None if it was added."""
        number = self._part_of(start)
        place = bisect.bisect_left(self.parts[number], start)
        for neighbour in self._neighbours(number, place):
            if neighbour < start + size and start < neighbour + self.sizes[neighbour]:
                return neighbour, self.sizes[neighbour]
        self.parts[number].insert(place, start)
        self.sizes[start] = size
        if len(self.parts[number]) > PART_MAX:
            self._cut(number)
        return None

    def _cut(self, number):
        part = self.parts[number]
        self.parts[number:number + 1] = [part[:PART_MAX // 2], part[PART_MAX // 2:]]
        self.firsts.insert(number + 1, part[PART_MAX // 2])

    def remove(self, start):
        number = self._part_of(start)
        part = self.parts[number]
        del part[bisect.bisect_left(part, start)]
        del self.sizes[start]
        if not part and len(self.parts) > 1:
            del self.parts[number]
            del self.firsts[number]
            self.firsts[0] = 0


def alignment_of(size):
    """The size rounded up to a power of two, from 16 to 256."""
    return min(max(1 << (size - 1).bit_length(), 16), 256)


class Verifier:
    """Knows the live blocks, and rejects one that overlaps another or is misaligned."""

    def __init__(self):
        self.by_slot = {}
        self.ranges = RangeSet()

    def add(self, slot, address, size):
        if size > 0:
            self._add_range(address, size)
        self.by_slot[slot] = (address, size)

    def _add_range(self, address, size):
        if address == 0:
            raise BadBlock(f"the new block of {size} bytes has no address")
        if address % alignment_of(size) != 0:
            raise BadBlock(f"the new block of {size} bytes at {address:#x} is not aligned")
        other = self.ranges.add(address, size)
        if other:
            raise BadBlock(f"the new block of {size} bytes at {address:#x} overlaps the live block of "
                           f"{other[1]} bytes at {other[0]:#x}")

    def remove(self, slot):
        address, size = self.by_slot.pop(slot)
        if size > 0:
            self.ranges.remove(address)
