# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
results: the JSON files of `tarn-bench --json`, checked.

The format is in bench/README.md. Files may have more fields than are known here. What is used is checked
first: a field of the wrong kind, a number that is none, a result without a name make the whole file bad, and
the message says which and where.
"""

from . import workload_name
from .failure import BadInput
from .result_fields import (NUMBER_MIN, FileOfResults, check_format, is_number, number_of, occurrences, placed_rows_of,
                            rows_of, text_of)
from .shown import printable

KEY = "tarn_bench"
PROGRAM = "tarn-bench"
FORMAT_VERSION = 1

# Figures of a result that are numbers, and in the objects alloc_ns and free_ns those of single calls.
FIGURES = (
    "pairs", "ns_per_pair", "ns_per_pair_min", "ns_per_pair_max", "harness_ns_per_pair",
    "pairs_per_second", "pairs_per_second_min", "pairs_per_second_max", "pairs_per_second_per_thread",
    "ratio_to_one_thread", "repetitions", "instances", "passes_per_repetition", "peak_live_bytes", "peak_live_count",
    "peak_footprint_bytes", "vendor_calls", "metadata_bytes",
    "total_ns_per_pair", "total_ns_per_pair_min", "total_ns_per_pair_max", "work_total_ns_per_pair", # streams
    "first_alloc_ns", "first_alloc_ns_min", "first_alloc_ns_max", "ns_per_alloc", "ns_per_free", # growth
    "held_after_free_bytes", "held_after_trim_bytes")
CALLS = ("alloc_ns", "free_ns")
CALL_FIGURES = ("p50", "p99", "p999", "mean", "max")

MEASURED = "measured"
FAILED = "failed"
CUT_SHORT = "cut short"


class Result:
    """What one allocator did on one workload. `figures` has the numbers that are there, by name."""

    def __init__(self, row, where, is_through_python=False):
        self.bench = text_of(row, "bench", where)
        self.workload = _workload(row, where)
        self.allocator = text_of(row, "allocator", where)
        self.threads = int(number_of(row, "threads", where) or 1)
        self.streams = int(number_of(row, "streams", where) or 1)
        self.is_shared = bool(row.get("shared", False))
        self.is_verified = row.get("verified") is not False
        self.is_interleaved = row.get("interleaved") is not False
        self.is_through_python = is_through_python
        self.python_ns = 0.0 # what is taken off the time of a pair: see take_off_python
        self.first_piece_bytes = None # what a pool was told to begin with
        self.figures = _figures(row, where)
        self.memory_over_time = _memory_over_time(row, where)
        self.outcome, self.reason = _outcome(row, where)

    @property
    def key(self):
        """What it is a result of: the same for all allocators."""
        return (self.bench, self.workload, self.threads)

    def __getitem__(self, name):
        return self.figures.get(name)

    @property
    def is_rated(self):
        """Whether it counts pairs a second, of several threads together."""
        return "pairs_per_second" in self.figures

    @property
    def harness_ns(self):
        """What a pair takes with an allocator that does nothing; of streams, until their work is done."""
        return self["work_total_ns_per_pair" if self["total_ns_per_pair"] else "harness_ns_per_pair"] or 0

    def take_off_python(self, native):
        """
        An interpreter takes several times what C takes for what is around the calls. What it takes more than
        `native`, a result of the same workload that was measured in C, or None, does not count.
        """
        self.python_ns = max(0.0, self.harness_ns - (native.harness_ns if native else 0))

    def less_python(self, name):
        """(median, least, most) of a time of pairs that was repeated, without what is Python's; or None."""
        if not self[name] or self[name] <= self.python_ns:
            return None
        return tuple(ns and max(ns - self.python_ns, NUMBER_MIN)
                     for ns in (self[name], self[f"{name}_min"], self[f"{name}_max"]))

    @property
    def pair_ns(self):
        """(median, least, most) of the time of a pair, or None. Of streams it is until their work is done."""
        return self.less_python("total_ns_per_pair" if self["total_ns_per_pair"] else "ns_per_pair")

    @property
    def rates(self):
        """(median, least, most) of the pairs a second of all threads; None where they were not counted."""
        names = ("pairs_per_second", "pairs_per_second_min", "pairs_per_second_max")
        rates = [self[name] and self._rate_less_python(self[name]) for name in names]
        return tuple(rates) if rates[0] else None

    def _rate_less_python(self, rate):
        """A pair takes its thread so long; None where all of that is Python's."""
        ns = self.threads * 1e9 / rate - self.python_ns
        return self.threads * 1e9 / ns if ns > 0 else None

    @property
    def pairs_per_second(self):
        """How fast, whichever way it was measured; None: not known."""
        if self.outcome == FAILED:
            return None
        if self.is_rated:
            return self.rates[0] if self.rates else None
        return 1e9 / self.pair_ns[0] if self.pair_ns else None

    @property
    def held_by_live(self):
        """Most bytes held by most bytes live; None: not known."""
        held, live = self["peak_footprint_bytes"], self["peak_live_bytes"]
        return held / live if held and live and self.outcome != FAILED else None

    @property
    def holds_first_piece(self):
        """Whether all that it ever held is what it was told to begin with."""
        return self["peak_footprint_bytes"] == self.first_piece_bytes


class ResultFile(FileOfResults):
    def __init__(self, path, content):
        check_format(content, KEY, FORMAT_VERSION, PROGRAM, path)
        super().__init__(path, content)
        self.is_python = self.machine.get("build_type") == "Python"
        self.command = _command(content, path)
        self.is_interrupted = content.get("interrupted") is True
        self.results = [Result(row, f"{path}: result {number}", self.is_python)
                        for number, row in rows_of(content, "results", path)]
        for result in self.results:
            result.first_piece_bytes = self.options.get("initial_bytes")
        _number_repeated(self.results)
        self.skipped = [(text_of(row, "bench", where), text_of(row, "workload", where),
                         text_of(row, "allocator", where), text_of(row, "reason", where))
                        for row, where in placed_rows_of(content, "skipped", path)]
        self.not_found = [(text_of(row, "allocator", where), text_of(row, "reason", where))
                          for row, where in placed_rows_of(content, "not_found", path)]
        if not (self.results or self.skipped or self.not_found):
            raise BadInput(f"{path}: has no results")

    @property
    def parts(self):
        return list(dict.fromkeys(result.bench for result in self.results))

    @property
    def subjects(self):
        return {(result.key, result.allocator) for result in self.results}


def _number_repeated(results):
    """Two traces may have one name: the second one's results get a number, so that both are told."""
    for result, number in occurrences(results, lambda result: (result.key, result.allocator)):
        if number > 1:
            name, qualifiers = workload_name.parts_of(result.workload)
            result.workload = workload_name.joined(f"{name} ({number})", qualifiers)


# --- fields ------------------------------------------------------------------------------------------

def _workload(row, where):
    """A trace whose memory is touched is another workload than the same trace without."""
    name, qualifiers = workload_name.parts_of(text_of(row, "workload", where))
    if row.get("touched") is True and "touched" not in qualifiers:
        qualifiers += ("touched",)
    return workload_name.joined(name, qualifiers)


def _figures(row, where):
    figures = {name: number_of(row, name, where) for name in FIGURES}
    for call in CALLS:
        times = row.get(call)
        if times is not None and not isinstance(times, dict):
            raise BadInput(f"{where}: \"{call}\" is no object")
        for name in CALL_FIGURES:
            figures[f"{call}.{name}"] = number_of(times or {}, name, where)
    return {name: value for name, value in figures.items() if value is not None}


def _memory_over_time(row, where):
    points = row.get("memory_over_time")
    if points is None:
        return []
    are_good = isinstance(points, list) and all(
        isinstance(point, list) and len(point) == 3 and all(map(is_number, point)) for point in points)
    if not are_good:
        raise BadInput(f"{where}: \"memory_over_time\" is no list of triples of numbers")
    return points


def _outcome(row, where):
    error = row.get("error")
    reason = printable(error) if isinstance(error, str) else ""
    if row.get("interrupted") is True:
        return CUT_SHORT, reason or "interrupted"
    if error or number_of(row, "failures", where):
        return FAILED, reason or "it failed, and no reason is given"
    return MEASURED, ""


def _command(content, path):
    command = content.get("command", "")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        command = " ".join(command)
    if not isinstance(command, str):
        raise BadInput(f"{path}: \"command\" is no text")
    return printable(command)
