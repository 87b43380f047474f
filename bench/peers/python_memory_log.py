# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Bytes live and bytes held as a workload goes on, in a few hundred points out of millions.

As in memory_log.h: each window of equal length keeps the point with the most bytes live, the one with the most held,
and the last. The first point of all is kept too.
"""

POINTS_MAX = 500
WINDOWS_MAX = POINTS_MAX // 3 - 2
QUESTIONS_MAX = 2000  # asking a library how much it holds takes some 50 us in Python


class MemoryLog:
    """A point is (event, live bytes, held bytes)."""

    def __init__(self, event_count):
        self.window_events = event_count // WINDOWS_MAX + 1
        self.points = []
        self.window = []

    def add(self, point):
        if self.window and point[0] // self.window_events != self.window[-1][0] // self.window_events:
            self.finish()
        if not self.points:
            self.points.append(point)
        self.window.append(point)

    def finish(self):
        """Notes the points that stay of the window."""
        if not self.window:
            return
        stays = {max(self.window, key=lambda point: point[1]), max(self.window, key=lambda point: point[2]),
                 self.window[-1]}
        self.points += sorted(stays - {self.points[-1]})
        self.window = []


class MemoryFollow:
    """Gets every operation, and asks the allocator after every few of them how much it holds."""

    def __init__(self, allocator, event_count):
        self.allocator = allocator
        self.log = MemoryLog(event_count)
        self.stride = event_count // QUESTIONS_MAX + 1
        self.event_count = self.live_bytes = 0
        self.sizes = {}
        self._note()

    def _note(self):
        self.log.add((self.event_count, self.live_bytes, self.allocator.held_bytes()))

    def add(self, slot, size):
        self.live_bytes += size if size >= 0 else -self.sizes.pop(slot)
        if size >= 0:
            self.sizes[slot] = size
        self.event_count += 1
        if self.event_count % self.stride == 0:
            self._note()

    def finish(self):
        """The points, the last event's among them."""
        if self.event_count % self.stride != 0:
            self._note()
        self.log.finish()
        return [list(point) for point in self.log.points]
