# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
verdicts: who wins where.

An allocator is faster than another if its pairs take less time by at least NEAR. Below that the two are level, since
two runs on one machine agree no better. With several threads pairs a second count. A verdict is about tarn with its
default options; its other modes are named where they are faster. Allocators of the host that write into the memory
they hand out are a floor: shown, and neither peers nor rivals. Python's share is subtracted for peers that were called
through it.
"""

import statistics

from .allocators import NO_ALLOCATORS, is_floor, is_peer, is_tarn
from .workload_name import kind_of

NEAR = 1.05


class Verdict:
    """One workload of one run. Ratios are speeds: 2 is twice as fast. None: was not measured."""

    def __init__(self, key, by_allocator):
        self.key = key
        self.results = {name: result for name, result in by_allocator.items() if name not in NO_ALLOCATORS}
        self.tarn = self.results.get("tarn")
        self.raw = self.results.get("raw")
        floor = [result for name, result in self.results.items() if is_floor(name)]
        self.floor = max(floor, key=_speed, default=None)
        rivals = [result for result in self.results.values() if result not in floor]
        self.fastest = max(rivals, key=_speed, default=None)
        peers = [result for name, result in self.results.items() if is_peer(name)]
        self.best_peer = max(peers, key=_speed, default=None)
        self.leanest_peer = min((peer for peer in peers if peer.held_by_live), key=_held, default=None)

    @property
    def to_raw(self):
        return ratio_of(self.tarn, self.raw)

    @property
    def to_floor(self):
        return ratio_of(self.tarn, self.floor)

    @property
    def to_best_peer(self):
        return ratio_of(self.tarn, self.best_peer)

    @property
    def memory_to_leanest_peer(self):
        """tarn's peak bytes held, divided by those of the peer that holds least."""
        return self.memory_to_leanest_peer_of("tarn")

    def memory_to_leanest_peer_of(self, name):
        """The same of a mode of tarn."""
        result = self.results.get(name)
        if not result or not result.held_by_live or not self.leanest_peer:
            return None
        return _held(result) / _held(self.leanest_peer)

    def faster_than_tarn(self):
        """All other faster allocators, no mode of tarn and no floor: (result, how many times), worst first."""
        return self._faster(lambda name: not is_tarn(name) and not is_floor(name))

    def faster_modes(self):
        return self._faster(lambda name: is_tarn(name) and name != "tarn")

    def _faster(self, is_wanted):
        if not self.tarn:
            return []
        found = [(result, ratio_of(result, self.tarn)) for name, result in self.results.items() if is_wanted(name)]
        return sorted((pair for pair in found if pair[1] >= NEAR), key=lambda pair: -pair[1])

    @property
    def word(self):
        """
        loses: another one is faster, a peer or not. Otherwise, against the best peer, wins or level; alone: no peer;
        absent: no tarn.
        """
        if not self.tarn:
            return "absent"
        if self.faster_than_tarn():
            return "loses"
        if not self.best_peer:
            return "alone"
        return "wins" if self.to_best_peer >= NEAR else "level"

    @property
    def holds_more(self):
        return (self.memory_to_leanest_peer or 0) >= NEAR

    def times_tarn(self, name):
        """How many times tarn's time another one takes; None if one of them was not measured."""
        return ratio_of(self.tarn, self.results.get(name))


class Kind:
    """The verdicts of all workloads of one kind."""

    def __init__(self, name, bench):
        self.name, self.bench = name, bench
        self.verdicts = []

    def measured(self, name):
        return [verdict.results[name] for verdict in self.verdicts if name in verdict.results]

    def times_tarn(self, name):
        """(least, median, most) over the workloads; None if no workload has both."""
        ratios = [verdict.times_tarn(name) for verdict in self.verdicts]
        return spread_of([ratio for ratio in ratios if ratio is not None])


class Balance:
    """The verdicts of a run, counted."""

    def __init__(self, verdicts):
        self.judged = [verdict for verdict in verdicts if verdict.tarn]
        self.against_peers = [verdict for verdict in self.judged if verdict.best_peer]
        self.wins = [verdict for verdict in self.judged if verdict.word == "wins"]
        self.level = [verdict for verdict in self.judged if verdict.word == "level"]
        self.losses = [verdict for verdict in self.judged if verdict.word == "loses"]
        self.with_peer_memory = [verdict for verdict in self.judged if verdict.memory_to_leanest_peer]
        self.holds_more = [verdict for verdict in self.judged if verdict.holds_more]
        self.to_best_peer = spread_of([verdict.to_best_peer for verdict in self.against_peers])
        self.to_raw = spread_of([verdict.to_raw for verdict in self.judged if verdict.raw])
        self.to_floor = spread_of([verdict.to_floor for verdict in self.judged if verdict.floor])


def verdicts_of(run):
    return [Verdict(key, by_allocator) for key, by_allocator in run.by_workload.items()]


def kinds_of(verdicts):
    kinds = {}
    for verdict in verdicts:
        name = kind_of(verdict.key)
        kinds.setdefault(name, Kind(name, verdict.key[0])).verdicts.append(verdict)
    return list(kinds.values())


def ratio_of(result, other):
    """How many times as fast as another one is."""
    if not result or not other:
        return None
    return result.pairs_per_second / other.pairs_per_second


def standing(times_tarn):
    """Returns what it means for tarn that another one takes times_tarn of its time."""
    if times_tarn <= 1 / NEAR:
        return "loses"
    return "wins" if times_tarn >= NEAR else "level"


def _speed(result):
    return result.pairs_per_second


def _held(result):
    return result["peak_footprint_bytes"]


def spread_of(values):
    """(least, median, most), or None."""
    return (min(values), statistics.median(values), max(values)) if values else None
