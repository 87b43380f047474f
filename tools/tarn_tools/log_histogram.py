# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""log_histogram: percentiles of any number of values in little memory, each at most 1/256 too low."""

EXACT_BITS = 8 # values of so many bits are kept as they are, of larger ones the leading bits


class LogHistogram:
    def __init__(self):
        self._counts = {}
        self.count = 0
        self.max = 0

    def add(self, value):
        shift = value.bit_length() - EXACT_BITS
        floor = value >> shift << shift if shift > 0 else value
        self._counts[floor] = self._counts.get(floor, 0) + 1
        self.count += 1
        if value > self.max:
            self.max = value

    def percentile(self, percent):
        """The value that so many percent of all are not above; None when there is none."""
        if self.count == 0:
            return None
        if percent >= 100:
            return self.max
        wanted = max(1, -(-self.count * percent // 100))
        seen = 0
        for value in sorted(self._counts):
            seen += self._counts[value]
            if seen >= wanted:
                return value
        return self.max
