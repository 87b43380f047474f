# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""log_histogram: percentiles of any number of values in little memory, each at most 1/256 too low."""

EXACT_BITS = 9 # smaller values are exact; of larger ones this many leading bits are kept


def percentile_of(counts, per_mille):
    """Of {value: count}, returns the value that per_mille thousandths of all do not exceed. None: there is none."""
    wanted = max(1, -(-sum(counts.values()) * per_mille // 1000))
    seen = 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= wanted:
            return value
    return None


class LogHistogram:
    def __init__(self):
        self._counts = {}
        self._max = None

    def add(self, value):
        shift = value.bit_length() - EXACT_BITS
        floor = value >> shift << shift if shift > 0 else value
        self._counts[floor] = self._counts.get(floor, 0) + 1
        if self._max is None or value > self._max:
            self._max = value

    def percentile(self, per_mille):
        """As percentile_of; the largest value is exact."""
        return self._max if per_mille >= 1000 else percentile_of(self._counts, per_mille)
