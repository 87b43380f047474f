# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The printed report, and the JSON file, in the form of tarn-bench's."""

import json
import sys

import python_table
from python_machine import look_at_machine
from python_workloads import THREADS

FORMAT_VERSION = 1


class OneThread:
    """The rates with one thread, for later results of several threads with as many blocks each."""

    def __init__(self):
        self.rates = {}  # by allocator and blocks of a thread

    def compare(self, workload, rows):
        for row in rows:
            if not row["verified"]:
                continue
            subject = (row["allocator"], workload.slot_count // workload.part_count)
            if row["threads"] == 1:
                self.rates[subject] = row["pairs_per_second"]
            if subject in self.rates:
                row["ratio_to_one_thread"] = row["pairs_per_second"] / self.rates[subject]


class Report:
    """Grows workload by workload, so that the results so far can be written at any time."""

    def __init__(self, options):
        self.options = options
        self.machine = None
        self.results = []
        self.skipped = []
        self.not_found = []
        self.is_interrupted = False
        self.one_thread = OneThread()
        self.method = None  # of the last workload

    def add_not_found(self, name, reason):
        self.not_found.append({"allocator": name, "reason": reason})

    def begin(self, allocators):
        self.machine = look_at_machine(allocators)
        print(f"python_bench.py, {self.machine['backend']} backend, device {self.machine['device_name']}")
        print(f"{self.machine['cpu_model']}, {self.machine['kernel']}, {self.machine['compiler']}")
        print(f"seed {self.options.seed}, {self.options.repetitions} repetitions; a reading of the clock costs "
              f"{self.machine['clock_cost_ns']} ns")
        for missing in self.not_found:
            print(f"{missing['allocator']}: not found: {missing['reason']}")
        print("\nTimes are in ns. Python's own share is inside ns/pair; it is what functions that do nothing cost.")

    def add(self, workload, measured):
        """False: one of them failed."""
        if workload.method == THREADS:
            self.one_thread.compare(workload, measured.rows)
        self.results += measured.rows
        self.skipped += measured.skipped
        self._print(workload, measured)
        return all(row["verified"] for row in measured.rows)

    def _print(self, workload, measured):
        if workload.method != self.method:
            print(python_table.head(workload.method))
        self.method = workload.method
        print(python_table.title(workload))
        for row in measured.rows:
            print(python_table.row_line(workload.method, row))
        for entry in measured.skipped:
            print(python_table.skipped_line(entry))
        sys.stdout.flush()
        for row in measured.rows:
            if not row["verified"]:
                print(f"python_bench.py: {row['error']}", file=sys.stderr)

    def write(self, path):
        root = {
            "tarn_bench": FORMAT_VERSION,
            "machine": self.machine or look_at_machine([]),
            "options": {"seed": self.options.seed, "repetitions": self.options.repetitions,
                        "time_seconds": self.options.time, "device": self.options.device, "initial_bytes": 0,
                        "growth_bytes_max": 0, "alignment_bytes": 0, "stream_slack": 0.0,
                        "touch_bytes": 0},
            "results": self.results,
            "skipped": self.skipped,
            "not_found": self.not_found,
        }
        if self.is_interrupted:
            root["interrupted"] = True
        with open(path, "w") as file:
            json.dump(root, file, indent=2)
            file.write("\n")
