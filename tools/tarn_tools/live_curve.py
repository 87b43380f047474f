# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
live_curve: how much is live over time, in a bounded number of points for a trace of any length.

Each point stands for the same number of events, and is the one with the most bytes live, so no peak is lost. When
there are twice as many points as wanted, each two become one.
"""


class LiveCurve:
    def __init__(self, points_max):
        self._points_max = points_max
        self._events_per_point = 1
        self._points = []
        self._events = 0
        self._highest = None

    def add(self, time_ns, live_bytes, live_count):
        if self._highest is None or live_bytes > self._highest[1]:
            self._highest = (time_ns, live_bytes, live_count)
        self._events += 1
        if self._events == self._events_per_point:
            self._end_point()

    def _end_point(self):
        self._points.append(self._highest)
        self._events, self._highest = 0, None
        if len(self._points) == 2 * self._points_max:
            pairs = zip(self._points[::2], self._points[1::2])
            self._points = [max(one, other, key=lambda point: point[1]) for one, other in pairs]
            self._events_per_point *= 2

    def points(self):
        """(time, bytes, blocks), at most twice points_max of them, in order."""
        return self._points + ([self._highest] if self._highest else [])
