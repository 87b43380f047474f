# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
program_kinds: which allocator for which kind of program.

Each kind of program has workloads that stand for it. An allocator's merit for a kind is the geometric mean of its
speed over these workloads or, where memory is tight, the bytes live of all by the bytes held of all. Only pools that
were measured on every one of them are compared: tarn, its other modes, and the peers. The best mode of tarn then
meets the best peer. Within NEAR the two are level, and tarn's default is preferred to its other modes.
"""

import statistics

from .allocators import is_peer, is_tarn
from .verdicts import NEAR, spread_of, standing
from .workload_name import largest_size_of, parts_of

SMALL_BYTES_MAX = 4096
CONTIGUOUS = "tarn:contiguous"

# How the names of recorded traces begin, by kind of program.
MESH_CODES = ("omegah", "omega_h", "mesh", "pumi", "mfem", "moab")
NETWORKS = ("torch", "jax", "tensorflow", "llm")


def _is_small(key):
    size = largest_size_of(key[1]) if key[0] in ("hot", "sweep", "live", "churn") else None
    return size is not None and size <= SMALL_BYTES_MAX


def _is_replay_of(beginnings):
    return lambda key: key[0] == "replay" and key[1].lower().startswith(beginnings)


def _speed(result):
    return result.pairs_per_second


def _leanness(result):
    return 1 / result.held_by_live if result.held_by_live else None


def _mean_speed(results):
    return statistics.geometric_mean(map(_speed, results))


def _whole_leanness(results):
    return sum(result["peak_live_bytes"] for result in results) / \
        sum(result["peak_footprint_bytes"] for result in results)


class ProgramKind:
    """`stands_for(key)`: whether a workload stands for it; `merit(result)`: the higher the better, None if unknown."""

    def __init__(self, name, title, about, stands_for, merit=_speed, overall=_mean_speed):
        self.name, self.title, self.about, self.stands_for = name, title, about, stands_for
        self.merit, self.overall = merit, overall

    @property
    def is_about_memory(self):
        return self.merit is _leanness


KINDS = (
    ProgramKind("small", "Small blocks", "blocks of at most 4 KiB", _is_small),
    ProgramKind("meshes", "Meshes", "recorded mesh codes", _is_replay_of(MESH_CODES)),
    ProgramKind("networks", "Networks", "recorded training and inference", _is_replay_of(NETWORKS)),
    ProgramKind("others", "Other recorded programs", "all other traces",
                lambda key: key[0] == "replay" and not key[1].lower().startswith(MESH_CODES + NETWORKS)),
    ProgramKind("several-threads", "Several threads", "two threads or more at once",
                lambda key: key[0] == "threads" and key[2] > 1),
    ProgramKind("handing-over", "Streams that hand over", "memory freed on one stream and used on the next",
                lambda key: key[0] == "streams" and "handed on" in parts_of(key[1])[1]),
    ProgramKind("tight-memory", "Tight memory", "what is held from the vendor for what is live, in all recorded "
                "programs together", lambda key: key[0] == "replay", _leanness, _whole_leanness))


class Choice:
    """One kind of program on one run: what to take, and why."""

    def __init__(self, kind, verdicts):
        self.kind = kind
        self._rows = {verdict.key: verdict.results for verdict in _compared(kind, verdicts)}
        names = dict.fromkeys(name for row in self._rows.values() for name in row if _is_candidate(name))
        known = {name: sum(self._merit(row, name) is not None for row in self._rows.values()) for name in names}
        self.measured = [name for name in names if known[name] == len(self._rows)]
        self.incomplete = [name for name in names if 0 < known[name] < len(self._rows)]
        self._overall = {name: kind.overall([row[name] for row in self._rows.values()]) for name in self.measured}
        self.tarn = self._best_tarn()
        self.peer = max((name for name in self.measured if not is_tarn(name)), key=self._overall.get, default=None)

    @property
    def workloads(self):
        return list(self._rows)

    @property
    def names(self):
        """Of all that was measured, candidates or not."""
        return {name for row in self._rows.values() for name in row}

    @property
    def word(self):
        """Of tarn: wins, level, loses; alone: no peer on all workloads; absent: no tarn; nothing: neither."""
        if not self.measured:
            return "nothing"
        if not self.tarn or not self.peer:
            return "alone" if self.tarn else "absent"
        return standing(self.times_peer)

    @property
    def times_peer(self):
        """How many times as good as the best peer tarn is, over all workloads."""
        return self._overall[self.tarn] / self._overall[self.peer]

    def overall(self, name):
        return self._overall[name]

    def spread_of_times(self, name, other):
        """(least, median, most) of how many times as good as the other one is, by workload."""
        return spread_of([self._merit(row, name) / self._merit(row, other) for row in self._rows.values()])

    def lost(self):
        """Workloads on which a peer is better than tarn: [(key, its name, how many times as good)], worst first."""
        found = []
        for key, row in self._rows.items():
            merits = {name: self._merit(row, name) for name in row if is_peer(name)}
            best = max((name for name in merits if merits[name]), key=merits.get, default=None)
            if best and merits[best] >= NEAR * self._merit(row, self.tarn):
                found.append((key, best, merits[best] / self._merit(row, self.tarn)))
        return sorted(found, key=lambda lost: -lost[2])

    def memory_beside(self, name, other):
        """How many times the other's memory one holds, in all workloads together; None if one does not tell."""
        pairs = [(row[name], row[other]) for row in self._rows.values()]
        if not all(result.held_by_live for pair in pairs for result in pair):
            return None
        held, others = (sum(result["peak_footprint_bytes"] for result in results) for results in zip(*pairs))
        return held / others

    def _best_tarn(self):
        tarns = sorted((name for name in self.measured if is_tarn(name)), key=lambda name: (name != "tarn", name))
        best = max((self._overall[name] for name in tarns), default=None)
        return next((name for name in tarns if self._overall[name] * NEAR > best), None)

    def _merit(self, row, name):
        return self.kind.merit(row[name]) if name in row else None


def _is_candidate(name):
    return is_tarn(name) or is_peer(name)


def _compared(kind, verdicts):
    """
    The workloads of a kind on which a peer was measured, or all if there are none. One without tarn stays: there it has
    no figure to win by. Traces that were also played in other ways count once, as they are.
    """
    found = [verdict for verdict in verdicts if kind.stands_for(verdict.key) and
             any(_is_candidate(name) and kind.merit(result) for name, result in verdict.results.items())]
    found = [verdict for verdict in found if _is_plain(verdict.key)] or found
    return [verdict for verdict in found if any(map(is_peer, verdict.results))] or found


def _is_plain(key):
    return key[0] != "replay" or not parts_of(key[1])[1]


def choices_of(verdicts):
    """For each kind that has workloads among them."""
    choices = [Choice(kind, verdicts) for kind in KINDS]
    return [choice for choice in choices if choice.workloads]
