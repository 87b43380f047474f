# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
results: the JSON files of `tarn-bench --json`, plain or compressed by gzip, read and checked.

The format is in bench/README.md. Files may have more fields than are known here. What is used is checked
first: a field of the wrong kind, a number that is none, a result without a name make the whole file bad, and
the message says which and where.
"""

import gzip
import io
import json
import os
import zlib

from . import workload_name
from .failure import BadInput, reason_of
from .shown import printable

FORMAT_VERSION = 1
GZIP_MAGIC = b"\x1f\x8b"
FILE_BYTES_MAX = 1 << 28 # a thousand times the largest that was seen

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

# Of what is not zero. Beyond these, ratios of ratios would leave what floating-point numbers can hold.
NUMBER_MIN, NUMBER_MAX = 2.0 ** -80, 2.0 ** 80


class Result:
    """What one allocator did on one workload. `figures` has the numbers that are there, by name."""

    def __init__(self, row, where, is_through_python=False):
        self.bench = _text(row, "bench", where)
        self.workload = _workload(row, where)
        self.allocator = _text(row, "allocator", where)
        self.threads = int(_number(row, "threads", where) or 1)
        self.streams = int(_number(row, "streams", where) or 1)
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


class ResultFile:
    """One file. `shown_name` is its name with the folder it lies in, and no more of its path."""

    def __init__(self, path, content):
        if not isinstance(content, dict) or "tarn_bench" not in content:
            raise BadInput(f"{path}: is JSON, but not of tarn-bench: it has no \"tarn_bench\"")
        if content["tarn_bench"] != FORMAT_VERSION:
            raise BadInput(f"{path}: has format {json.dumps(content['tarn_bench'])[:40]} of tarn-bench's results, "
                           f"and this program knows format {FORMAT_VERSION}")
        self.folder = os.path.dirname(os.path.abspath(path))
        self.shown_name = printable("/".join(os.path.abspath(path).split(os.sep)[-2:]))
        self.machine = _facts(content, "machine", path)
        self.is_python = self.machine.get("build_type") == "Python" # of peers that stand beside tarn-bench
        self.options = _facts(content, "options", path)
        self.command = _command(content, path)
        self.is_interrupted = content.get("interrupted") is True
        self.results = [Result(row, f"{path}: result {number}", self.is_python)
                        for number, row in _rows(content, "results", path)]
        for result in self.results:
            result.first_piece_bytes = self.options.get("initial_bytes")
        _number_repeated(self.results)
        self.skipped = [(_text(row, "bench", where), _text(row, "workload", where),
                         _text(row, "allocator", where), _text(row, "reason", where))
                        for row, where in _placed(content, "skipped", path)]
        self.not_found = [(_text(row, "allocator", where), _text(row, "reason", where))
                          for row, where in _placed(content, "not_found", path)]
        if not (self.results or self.skipped or self.not_found):
            raise BadInput(f"{path}: has no results")


def _number_repeated(results):
    """Two traces may have one name: the second one's results get a number, so that both are told."""
    seen = {}
    for result in results:
        subject = (result.key, result.allocator)
        seen[subject] = seen.get(subject, 0) + 1
        if seen[subject] > 1:
            name, qualifiers = workload_name.parts_of(result.workload)
            result.workload = workload_name.joined(f"{name} ({seen[subject]})", qualifiers)


def read_results(path):
    """The ResultFile of a path; BadInput names what is wrong with it."""
    try:
        with open(path, "rb") as file:
            text = file.read(FILE_BYTES_MAX + 1)
        if text.startswith(GZIP_MAGIC):
            text = gzip.GzipFile(fileobj=io.BytesIO(text)).read(FILE_BYTES_MAX + 1)
        if len(text) > FILE_BYTES_MAX:
            raise BadInput(f"{path}: has more than {FILE_BYTES_MAX >> 20} MiB, and is no file of tarn-bench's")
        content = json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadInput(f"{path}: is damaged: {error}") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {reason_of(error)}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: is not JSON: {error}") from None
    return ResultFile(path, content)


def _refuse_constant(text):
    raise ValueError(f"{text} is no number")


# --- fields ------------------------------------------------------------------------------------------

def _rows(content, key, path):
    rows = content.get(key, [])
    if not isinstance(rows, list):
        raise BadInput(f"{path}: \"{key}\" is no list")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise BadInput(f"{path}: \"{key}\" has an entry, number {number}, that is no object")
        yield number, row


def _placed(content, key, path):
    for number, row in _rows(content, key, path):
        yield row, f"{path}: entry {number} of \"{key}\""


def _text(row, key, where):
    text = row.get(key)
    if not isinstance(text, str) or not text:
        raise BadInput(f"{where}: has no text \"{key}\"")
    return printable(text)


def _workload(row, where):
    """A trace whose memory is touched is another workload than the same trace without."""
    name, qualifiers = workload_name.parts_of(_text(row, "workload", where))
    if row.get("touched") is True and "touched" not in qualifiers:
        qualifiers += ("touched",)
    return workload_name.joined(name, qualifiers)


def _is_number(value):
    """Whether it is one that can be: nothing is negative, and no machine is as large as the largest."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and (
        value == 0 or NUMBER_MIN <= value <= NUMBER_MAX)


def _number(row, key, where):
    value = row.get(key)
    if value is None or _is_number(value):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise BadInput(f"{where}: \"{key}\" is no number that can be: {str(value)[:40]}")
    raise BadInput(f"{where}: \"{key}\" is not a number")


def _figures(row, where):
    figures = {name: _number(row, name, where) for name in FIGURES}
    for call in CALLS:
        times = row.get(call)
        if times is not None and not isinstance(times, dict):
            raise BadInput(f"{where}: \"{call}\" is no object")
        for name in CALL_FIGURES:
            figures[f"{call}.{name}"] = _number(times or {}, name, where)
    return {name: value for name, value in figures.items() if value is not None}


def _memory_over_time(row, where):
    points = row.get("memory_over_time")
    if points is None:
        return []
    are_good = isinstance(points, list) and all(
        isinstance(point, list) and len(point) == 3 and all(map(_is_number, point)) for point in points)
    if not are_good:
        raise BadInput(f"{where}: \"memory_over_time\" is no list of triples of numbers")
    return points


def _outcome(row, where):
    error = row.get("error")
    reason = printable(error) if isinstance(error, str) else ""
    if row.get("interrupted") is True:
        return CUT_SHORT, reason or "interrupted"
    if error or _number(row, "failures", where):
        return FAILED, reason or "it failed, and no reason is given"
    return MEASURED, ""


def _facts(content, key, path):
    facts = content.get(key, {})
    if not isinstance(facts, dict):
        raise BadInput(f"{path}: \"{key}\" is no object")
    for name, value in facts.items():
        if isinstance(value, (dict, list)):
            raise BadInput(f"{path}: {json.dumps(name)} in \"{key}\" is neither a text nor a number")
    return {printable(name): printable(value) if isinstance(value, str) else value for name, value in facts.items()}


def _command(content, path):
    command = content.get("command", "")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        command = " ".join(command)
    if not isinstance(command, str):
        raise BadInput(f"{path}: \"command\" is no text")
    return printable(command)
