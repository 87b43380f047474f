# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""csv_table: all results as one table for other programs: one row a result, one column a figure."""

import csv
import io

from .results import CALL_FIGURES, CALLS, FIGURES

FACTS = ("backend", "device_name", "device_bytes", "driver_version", "runtime_version", "cpu_model", "cores",
         "kernel", "c_library", "compiler", "build_type", "tarn_version", "commit")
FIELDS = ("bench", "workload", "allocator", "threads", "streams")


def csv_text(runs):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    calls = [f"{call}.{name}" for call in CALLS for name in CALL_FIGURES]
    writer.writerow(["machine", "file", *FIELDS, "shared", "verified", "outcome", "reason", *FIGURES,
                     "python_ns_per_pair", *[name.replace("_ns.", "_ns_") for name in calls], *FACTS])
    for run in runs:
        facts = [run.facts.get(name, "") for name in FACTS]
        for file in run.files:
            for result in file.results:
                figures = [*[result[name] for name in FIGURES], result.python_ns or None,
                           *[result[name] for name in calls]]
                writer.writerow([run.label, file.shown_name, *[getattr(result, name) for name in FIELDS],
                                 int(result.is_shared), int(result.is_verified), result.outcome, result.reason,
                                 *["" if value is None else value for value in figures], *facts])
    return text.getvalue()
