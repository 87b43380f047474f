# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
results: the JSON files of `tarn-bench --json`, plain or compressed by gzip, read and checked.

The format is in bench/README.md. Files may have more fields than are known here. What is used is checked
first: a field of the wrong kind, a number that is none, a result without a name make the whole file bad, and
the message says which and where.
"""

import gzip
import json
import math
import os
import zlib

from .failure import BadInput, reason_of

FORMAT_VERSION = 1
GZIP_MAGIC = b"\x1f\x8b"

# Figures of a result that are numbers, and in the objects alloc_ns and free_ns those of single calls.
FIGURES = (
    "pairs", "ns_per_pair", "ns_per_pair_min", "ns_per_pair_max", "harness_ns_per_pair",
    "pairs_per_second", "pairs_per_second_min", "pairs_per_second_max", "pairs_per_second_per_thread",
    "ratio_to_one_thread", "repetitions", "passes_per_repetition", "peak_live_bytes", "peak_live_count",
    "peak_footprint_bytes", "vendor_calls", "metadata_bytes",
    "total_ns_per_pair", "total_ns_per_pair_min", "total_ns_per_pair_max", "work_total_ns_per_pair", # streams
    "first_alloc_ns", "first_alloc_ns_min", "first_alloc_ns_max", "ns_per_alloc", "ns_per_free", # growth
    "held_after_free_bytes", "held_after_trim_bytes")
CALLS = ("alloc_ns", "free_ns")
CALL_FIGURES = ("p50", "p99", "p999", "mean", "max")

MEASURED = "measured"
FAILED = "failed"
CUT_SHORT = "cut short"

NUMBER_MAX = 2.0 ** 80


class Result:
    """What one allocator did on one workload. `figures` has the numbers that are there, by name."""

    def __init__(self, row, where):
        self.bench = _text(row, "bench", where)
        self.workload = _text(row, "workload", where)
        self.allocator = _text(row, "allocator", where)
        if row.get("touched") is True and "touched" not in self.workload:
            self.workload += ", touched" # the same trace without is another workload
        self.threads = int(_number(row, "threads", where) or 1)
        self.streams = int(_number(row, "streams", where) or 1)
        self.is_shared = bool(row.get("shared", False))
        self.is_verified = row.get("verified") is not False
        self.is_interleaved = row.get("interleaved") is not False
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
    def pair_ns(self):
        """(median, least, most) of the time of a pair, or None. Of streams it is until their work is done."""
        name = "total_ns_per_pair" if self["total_ns_per_pair"] else "ns_per_pair"
        return (self[name], self[f"{name}_min"], self[f"{name}_max"]) if self[name] else None

    @property
    def pairs_per_second(self):
        """How fast, whichever way it was measured; None: not known."""
        if self.outcome == FAILED:
            return None
        if self.is_rated:
            return self["pairs_per_second"] or None
        return 1e9 / self.pair_ns[0] if self.pair_ns else None

    @property
    def held_by_live(self):
        """Most bytes held by most bytes live; None: not known."""
        held, live = self["peak_footprint_bytes"], self["peak_live_bytes"]
        return held / live if held and live and self.outcome != FAILED else None


class ResultFile:
    """One file. `shown_name` is its name with the folder it lies in, and no more of its path."""

    def __init__(self, path, content):
        if not isinstance(content, dict) or "tarn_bench" not in content:
            raise BadInput(f"{path}: is JSON, but not of tarn-bench: it has no \"tarn_bench\"")
        if content["tarn_bench"] != FORMAT_VERSION:
            raise BadInput(f"{path}: has format {json.dumps(content['tarn_bench'])[:40]} of tarn-bench's results, "
                           f"and this program knows format {FORMAT_VERSION}")
        self.path = path
        self.folder = os.path.dirname(os.path.abspath(path))
        self.shown_name = "/".join(os.path.abspath(path).split(os.sep)[-2:])
        self.machine = _facts(content, "machine", path)
        self.options = _facts(content, "options", path)
        self.command = _command(content, path)
        self.is_interrupted = content.get("interrupted") is True
        self.results = [Result(row, f"{path}: result {number}")
                        for number, row in _rows(content, "results", path)]
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
            result.workload += f" ({seen[subject]})"


def read_results(path):
    """The ResultFile of a path; BadInput names what is wrong with it."""
    try:
        with open(path, "rb") as file:
            text = file.read()
        if text.startswith(GZIP_MAGIC):
            text = gzip.decompress(text)
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
    return text


def _number(row, key, where):
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadInput(f"{where}: \"{key}\" is not a number")
    if not 0 <= value <= NUMBER_MAX or not math.isfinite(value):
        raise BadInput(f"{where}: \"{key}\" is no number that can be: {str(value)[:40]}")
    return value


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
    points = row.get("memory_over_time") or []
    are_good = isinstance(points, list) and all(
        isinstance(point, list) and len(point) == 3 and
        all(isinstance(value, (int, float)) and 0 <= value <= NUMBER_MAX for value in point)
        for point in points)
    if not are_good:
        raise BadInput(f"{where}: \"memory_over_time\" is no list of triples of numbers")
    return points


def _outcome(row, where):
    error = row.get("error")
    reason = error if isinstance(error, str) else ""
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
            raise BadInput(f"{path}: \"{name}\" in \"{key}\" is neither a text nor a number")
    return facts


def _command(content, path):
    command = content.get("command", "")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        command = " ".join(command)
    if not isinstance(command, str):
        raise BadInput(f"{path}: \"command\" is no text")
    return command
