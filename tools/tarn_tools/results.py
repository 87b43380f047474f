# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
results: the JSON files of `tarn-bench --json`, checked.

docs/file_formats.md describes the format. Files may have more fields than are known here. All used fields are checked
first: a field of the wrong kind, an impossible number or a result without a name makes the whole file bad, and the
message says which and where.
"""

from . import workload_name
from .failure import BadInput
from .latency_results import latency_of
from .result_fields import (NUMBER_MIN, FileOfResults, check_format, is_number, number_of, occurrences, placed_rows_of,
                            rows_of, text_of)
from .shown import printable

KEY = "tarn_bench"
PROGRAM = "tarn-bench"
FORMAT_VERSION = 1

# Numeric figures of a result; the objects alloc_ns and free_ns have those of single calls.
FIGURES = (
    "pairs", "ns_per_pair", "ns_per_pair_min", "ns_per_pair_max", "harness_ns_per_pair",
    "pairs_per_second", "pairs_per_second_min", "pairs_per_second_max", "pairs_per_second_per_thread",
    "ratio_to_one_thread", "repetitions", "instances", "passes_per_repetition", "peak_live_bytes", "peak_live_count",
    "peak_footprint_bytes", "vendor_calls", "metadata_bytes",
    "total_ns_per_pair", "total_ns_per_pair_min", "total_ns_per_pair_max", "work_total_ns_per_pair", # streams
    "first_alloc_ns", "first_alloc_ns_min", "first_alloc_ns_max", "ns_per_alloc", "ns_per_free", # growth
    "held_after_free_bytes", "held_after_trim_bytes",
    "program_ns") # of a whole program: examples/mesh_adapt
NOT_TOLD_IF_ZERO = ("peak_footprint_bytes", "vendor_calls", "metadata_bytes") # by an allocator that cannot tell
CALLS = ("alloc_ns", "free_ns")
CALL_FIGURES = ("p50", "p99", "p999", "mean", "max")

MEASURED = "measured"
FAILED = "failed"
CUT_SHORT = "cut short"


class Result:
    """The result of one allocator on one workload. `figures` has its numbers by name."""

    def __init__(self, row, where, is_through_python=False):
        self.bench = text_of(row, "bench", where)
        self.workload = _workload(row, where)
        self.family = text_of(row, "family", where) if "family" in row else None # of a draw: patterns
        self.allocator = text_of(row, "allocator", where)
        self.threads = int(number_of(row, "threads", where) or 1)
        self.streams = int(number_of(row, "streams", where) or 1)
        self.is_shared = bool(row.get("shared", False))
        self.is_verified = row.get("verified") is not False
        self.is_interleaved = row.get("interleaved") is not False
        self.is_through_python = is_through_python
        self.python_ns = 0.0 # subtracted from the time of a pair: see take_off_python
        self.first_piece_bytes = None # the initial size of a pool
        self.figures = _figures(row, where)
        self.memory_over_time = _memory_over_time(row, where)
        self.latency = latency_of(row, where) # None: it was not asked for
        self.outcome, self.reason = _outcome(row, where)

    @property
    def key(self):
        """Identifies the workload; equal for all allocators."""
        return (self.bench, self.workload, self.threads)

    def __getitem__(self, name):
        return self.figures.get(name)

    @property
    def is_rated(self):
        """Whether its figure is pairs a second, of several threads together."""
        return "pairs_per_second" in self.figures

    @property
    def harness_ns(self):
        """The time of a pair with an allocator that does nothing; for streams, until their work is done."""
        return self["work_total_ns_per_pair" if self["total_ns_per_pair"] else "harness_ns_per_pair"] or 0

    def take_off_python(self, native):
        """
        An interpreter takes several times as long as C for the work around the calls. Subtracts the excess over
        `native`, a result of the same workload measured in C, or None.
        """
        self.python_ns = max(0.0, self.harness_ns - (native.harness_ns if native else 0))

    def less_python(self, name):
        """(median, least, most) of a repeated time of pairs, without Python's share; or None."""
        if not self[name] or self[name] <= self.python_ns:
            return None
        return tuple(ns and max(ns - self.python_ns, NUMBER_MIN)
                     for ns in (self[name], self[f"{name}_min"], self[f"{name}_max"]))

    @property
    def pair_ns(self):
        """(median, least, most) of the time of a pair, or None. For streams it is until their work is done."""
        return self.less_python("total_ns_per_pair" if self["total_ns_per_pair"] else "ns_per_pair")

    @property
    def rates(self):
        """(median, least, most) of the pairs a second of all threads; None if they were not counted."""
        names = ("pairs_per_second", "pairs_per_second_min", "pairs_per_second_max")
        rates = [self[name] and self._rate_less_python(self[name]) for name in names]
        return tuple(rates) if rates[0] else None

    def _rate_less_python(self, rate):
        """Converts a rate by the time of a pair in its thread; None if Python takes all of that."""
        ns = self.threads * 1e9 / rate - self.python_ns
        return self.threads * 1e9 / ns if ns > 0 else None

    @property
    def pairs_per_second(self):
        """The speed, however it was measured; None: unknown."""
        if self.outcome == FAILED:
            return None
        if self.is_rated:
            return self.rates[0] if self.rates else None
        return 1e9 / self.pair_ns[0] if self.pair_ns else None

    @property
    def held_by_live(self):
        """Peak bytes held by peak bytes live; None: unknown."""
        held, live = self["peak_footprint_bytes"], self["peak_live_bytes"]
        return held / live if held and live and self.outcome != FAILED else None

    @property
    def holds_first_piece(self):
        """Whether it never held more than its initial size."""
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
    """Numbers the results of traces that have the same name, so that they can be told apart."""
    for result, number in occurrences(results, lambda result: (result.key, result.allocator)):
        if number > 1:
            name, qualifiers = workload_name.parts_of(result.workload)
            result.workload = workload_name.joined(f"{name} ({number})", qualifiers)


# --- fields ------------------------------------------------------------------------------------------

def _workload(row, where):
    """A trace with touched memory is another workload than the same trace without."""
    name, qualifiers = workload_name.parts_of(text_of(row, "workload", where))
    if row.get("touched") is True and "touched" not in qualifiers:
        qualifiers += ("touched",)
    return workload_name.joined(name, qualifiers)


def _figures(row, where):
    figures = {name: number_of(row, name, where) for name in FIGURES}
    for call in CALLS:
        times = row.get(call)
        if times is not None and not isinstance(times, dict):
            raise BadInput(f"{where}: \"{call}\" is not an object")
        for name in CALL_FIGURES:
            figures[f"{call}.{name}"] = number_of(times or {}, name, where)
    return {name: value for name, value in figures.items()
            if value is not None and not (value == 0 and name in NOT_TOLD_IF_ZERO)}


def _memory_over_time(row, where):
    points = row.get("memory_over_time")
    if points is None:
        return []
    are_good = isinstance(points, list) and all(
        isinstance(point, list) and len(point) == 3 and all(map(is_number, point)) for point in points)
    if not are_good:
        raise BadInput(f"{where}: \"memory_over_time\" is not a list of triples of numbers")
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
        raise BadInput(f"{path}: \"command\" is not a text")
    return printable(command)
