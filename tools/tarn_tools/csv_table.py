# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
csv_table: all results as one table for other programs, one row a result.

A result of tarn-bench has a column for each figure. For device_heap_bench each figure is a result, with its name and
unit in columns; skipped and wrong results are rows, too.
"""

import csv
import io

from .results import CALL_FIGURES, CALLS, FIGURES, MEASURED

FACTS = ("backend", "device_name", "device_bytes", "driver_version", "runtime_version", "cpu_model", "cores",
         "kernel", "c_library", "compiler", "build_type", "tarn_version", "commit")
FIELDS = ("bench", "workload", "allocator", "threads", "streams")
CALL_COLUMNS = {f"{call}.{name}": f"{call}_{name}" for call in CALLS for name in CALL_FIGURES}
HEAP_COLUMNS = ("figure", "unit", "x", "median", "min", "max", "rounds")
COLUMNS = ("machine", "file", *FIELDS, "shared", "verified", "outcome", "reason", *FIGURES, "python_ns_per_pair",
           *CALL_COLUMNS.values(), *HEAP_COLUMNS, *FACTS)


def csv_text(runs):
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for run in runs:
        facts = {"machine": run.label, **{name: run.facts.get(name) for name in FACTS}}
        for file in run.files:
            writer.writerows({**facts, "file": file.shown_name, **_row(result)} for result in file.results)
        for file in run.heap_files:
            writer.writerows({**facts, "file": file.shown_name, **row} for row in _heap_rows(file))
    return text.getvalue()


def _row(result):
    return {**{name: getattr(result, name) for name in FIELDS}, "shared": int(result.is_shared),
            "verified": int(result.is_verified), "outcome": result.outcome, "reason": result.reason,
            **{name: result[name] for name in FIGURES}, "python_ns_per_pair": result.python_ns or None,
            **{column: result[name] for name, column in CALL_COLUMNS.items()}}


def _heap_rows(file):
    for result in file.results:
        yield {**_subject(result), "outcome": MEASURED, "verified": int(not result.faults),
               "reason": "; ".join(result.faults), "figure": result.figure, "unit": result.unit,
               "median": result.median, "min": result.low, "max": result.high, "rounds": result.rounds}
    for outcome, remarks in (("skipped", file.skipped), ("fault", file.faults)):
        for remark in remarks:
            yield {**_subject(remark), "outcome": outcome, "reason": remark.text}


def _subject(of):
    return {"bench": f"device-heap {of.test}", "workload": of.workload, "allocator": of.heap, "x": of.x}
