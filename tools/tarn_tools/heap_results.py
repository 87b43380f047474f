# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
heap_results: the JSON files of `device_heap_bench --json`, checked like those of tarn-bench.

bench/device_heap/README.md describes the format. Unknown tests, workloads, heaps, figures and units are shown by
their names.
"""

from .failure import BadInput
from .result_fields import FileOfResults, check_format, number_of, occurrences, placed_rows_of, rows_of, text_of
from .shown import printable

KEY = "tarn_device_heap_bench"
PROGRAM = "device_heap_bench"
FORMAT_VERSION = 1


class HeapResult:
    """One figure of one heap: (median, least, most) of the rounds. `x`: bytes or threads, or None."""

    def __init__(self, row, where):
        self.test, self.workload, self.heap, self.x = _subject(row, where)
        self.figure = text_of(row, "figure", where)
        self.unit = text_of(row, "unit", where)
        self.median, self.low, self.high = (_needed(row, key, where) for key in ("median", "min", "max"))
        self.rounds = int(_needed(row, "rounds", where))
        self.faults = [] # errors found during the measurement
        if not self.low <= self.median <= self.high:
            raise BadInput(f"{where}: \"median\" does not lie between \"min\" and \"max\"")

    @property
    def key(self):
        """Identifies the figure; equal for all heaps."""
        return (self.test, self.workload, self.figure, self.unit)


class Remark:
    """A skipped measurement and its reason, or an error."""

    def __init__(self, row, where):
        self.test, self.workload, self.heap, self.x = _subject(row, where)
        self.text = text_of(row, "text", where)


class HeapFile(FileOfResults):
    def __init__(self, path, content):
        check_format(content, KEY, FORMAT_VERSION, PROGRAM, path)
        super().__init__(path, content)
        self.kernels = _kernels(content, path)
        self.results = [HeapResult(row, f"{path}: result {number}")
                        for number, row in rows_of(content, "results", path)]
        self.skipped = [Remark(row, where) for row, where in placed_rows_of(content, "skipped", path)]
        self.faults = [Remark(row, where) for row, where in placed_rows_of(content, "faults", path)]
        self._note_faults()
        for result, number in occurrences(self.results, lambda result: (result.key, result.heap)):
            if number > 1: # heaps of two sizes may have the same name
                result.workload += f" ({number})"
        if not (self.results or self.skipped or self.faults):
            raise BadInput(f"{path}: has no results")

    @property
    def parts(self):
        return list(dict.fromkeys(result.test for result in self.results))

    @property
    def subjects(self):
        return {(PROGRAM, result.key, result.heap) for result in self.results}

    def _note_faults(self):
        for fault in self.faults:
            for result in self.results:
                if (result.test, result.workload, result.heap) == (fault.test, fault.workload, fault.heap):
                    result.faults.append(fault.text)


def _subject(row, where):
    return (*(text_of(row, key, where) for key in ("test", "workload", "heap")), number_of(row, "x", where))


def _needed(row, key, where):
    value = number_of(row, key, where)
    if value is None:
        raise BadInput(f"{where}: has no number \"{key}\"")
    return value


def _kernels(content, path):
    texts = content.get("kernels", [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise BadInput(f"{path}: \"kernels\" is not a list of texts")
    return [printable(text) for text in texts]
