# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
heap_verdicts: who wins where in device_heap_bench's results.

As in verdicts.py, two are level when they are within NEAR. A bump pointer is a bound, not a rival. Results with
errors do not count.
"""

import functools

from .allocators import is_tarn
from .heap_units import unit_of
from .heap_words import BOUNDS, in_order
from .verdicts import NEAR, spread_of, standing


class HeapVerdict:
    """
    One figure of one workload of one run. Ratios are how many times as good: half of the time, or twice as many a
    second, is 2. None: not known.
    """

    def __init__(self, key):
        self.test, self.workload, self.figure, unit = key
        self.unit = unit_of(unit)
        self.results = {}

    @property
    def tarn(self):
        return self.results.get("tarn")

    def multiple_of(self, name):
        """tarn's figure divided by that heap's."""
        tarn, other = self.tarn, self.results.get(name)
        return tarn.median / other.median if tarn and other and tarn.median and other.median else None

    def times_tarn(self, name):
        """How many times as good as that heap tarn is."""
        multiple = self.multiple_of(name)
        if self.unit.is_less_better is None or not multiple:
            return None
        return 1 / multiple if self.unit.is_less_better else multiple

    @functools.cached_property
    def rivals(self):
        """[(result, how many times as good as tarn it is)], the best first."""
        found = [(result, self.times_tarn(name)) for name, result in self.results.items()
                 if not is_tarn(name) and name not in BOUNDS and not result.faults]
        return sorted(((result, 1 / times) for result, times in found if times), key=lambda pair: -pair[1])

    @property
    def better_than_tarn(self):
        return [(result, times) for result, times in self.rivals if times >= NEAR] if self.word == "loses" else []

    @functools.cached_property
    def word(self):
        """wins, level, loses; alone: no comparable rival; absent: no tarn; wrong: tarn's memory had errors."""
        if not self.tarn:
            return "absent"
        if self.tarn.faults:
            return "wrong"
        return standing(1 / self.rivals[0][1]) if self.rivals else "alone"


class HeapBalance:
    """Verdicts, counted."""

    def __init__(self, verdicts):
        self.wins, self.level, self.losses, self.wrong = (
            [verdict for verdict in verdicts if verdict.word == word] for word in ("wins", "level", "loses", "wrong"))
        self.compared = self.wins + self.level + self.losses + self.wrong


def times_tarn_of(verdicts, name):
    """(least, median, most); None if no verdict has both. Results with errors do not count."""
    return _spread(HeapVerdict.times_tarn, verdicts, name)


def multiples_of(verdicts, name):
    return _spread(HeapVerdict.multiple_of, verdicts, name)


def _spread(ratio_of, verdicts, name):
    ratios = [ratio_of(verdict, name) for verdict in verdicts
              if verdict.word != "wrong" and name in verdict.results and not verdict.results[name].faults]
    return spread_of([ratio for ratio in ratios if ratio])


def heap_verdicts_of(run):
    """In the order of the tests, of their figures, and of the files."""
    verdicts = {}
    for result in run.heap_results:
        verdict = verdicts.setdefault(result.key, HeapVerdict(result.key))
        verdict.results[result.heap] = result
    tests = in_order(dict.fromkeys(verdict.test for verdict in verdicts.values()))
    groups = groups_of(verdicts.values())
    return [verdict for test in tests for group, of_group in groups.items() if group[0] == test
            for verdict in of_group]


def groups_of(verdicts):
    """{(test, figure, Unit): verdicts}"""
    groups = {}
    for verdict in verdicts:
        groups.setdefault((verdict.test, verdict.figure, verdict.unit), []).append(verdict)
    return groups
