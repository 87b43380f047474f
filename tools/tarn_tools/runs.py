# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
runs: which files belong together.

A run is one build on one machine; its files hold parts of it. Files belong to one run if all facts about machine and
build that both state agree, and no result is in both. So the same benchmark measured twice makes two runs, side by
side, even if only the figures differ. A file that fits several runs goes to one with files of its own folder, else
to the first.
"""

import functools

from . import workload_name
from .heap_results import HeapFile
from .results import CUT_SHORT, FAILED, MEASURED

# Facts that do not identify machines: they are measured, and vary.
MEASURED_FACTS = {"clock_cost_ns"}

# Facts that peers measured from Python must share with tarn-bench; others describe Python and its libraries.
OF_THE_MACHINE = ("backend", "device_name", "cpu_model", "cores", "kernel")

# Facts that distinguish runs, the best first.
DISTINGUISHING = ("device_name", "backend", "commit", "cpu_model", "cores", "driver_version", "runtime_version",
                  "tarn_version", "compiler", "build_type", "c_library", "kernel", "device_bytes")


class Run:
    """
    Files of one machine and build; add all of them before any query. `label` is short and unique; `files` are those
    of tarn-bench, `heap_files` those of device_heap_bench.
    """

    def __init__(self):
        self.label = ""
        self.files = []
        self.heap_files = []
        self.facts = {}
        self._subjects = set()

    @property
    def is_host(self):
        return self.facts.get("backend") == "host"

    def takes(self, file):
        stated = _identity(file)
        if any(self.facts[key] != stated[key] for key in stated if key in self.facts):
            return False
        return self._subjects.isdisjoint(file.subjects)

    def add(self, file):
        (self.heap_files if isinstance(file, HeapFile) else self.files).append(file)
        self.facts.update(_identity(file))
        self._subjects.update(file.subjects)

    @property
    def all_files(self):
        return self.files + self.heap_files

    @functools.cached_property
    def results(self):
        """In the order of the files, those of tarn-bench first."""
        files = sorted(self.files, key=lambda file: file.is_python)
        return [result for file in files for result in file.results]

    @functools.cached_property
    def by_workload(self):
        """
        {key: {allocator: result}} of workloads with figures; a workload played as recorded comes first. The draws of
        families are in `families`: there are too many to stand beside others one by one.
        """
        table = {}
        for result in self.results:
            if result.pairs_per_second and not result.family:
                table.setdefault(result.key, {})[result.allocator] = result
        return dict(sorted(table.items(), key=lambda item: _manner(item[0])))

    @functools.cached_property
    def families(self):
        """{family: {allocator: the measured draws}}"""
        table = {}
        for result in self.results:
            if result.family and result.outcome == MEASURED:
                table.setdefault(result.family, {}).setdefault(result.allocator, []).append(result)
        return table

    @functools.cached_property
    def heap_results(self):
        return [result for file in self.heap_files for result in file.results]

    def failed(self):
        return [result for result in self.results if result.outcome == FAILED]

    def cut_short(self):
        return [result for result in self.results if result.outcome == CUT_SHORT]

    def without_time(self):
        return [result for result in self.results
                if not result.pairs_per_second and result.outcome not in (FAILED, CUT_SHORT)]

    def take_off_python(self):
        native = {result.key: result for result in self.results if not result.is_through_python}
        for result in self.results:
            if result.is_through_python:
                result.take_off_python(native.get(result.key))


def _manner(key):
    """Keeps streams together; other ways to play a workload follow each other."""
    _, qualifiers = workload_name.parts_of(key[1])
    return () if key[0] == "streams" else tuple(map(workload_name.QUALIFIERS.index, qualifiers))


def _identity(file):
    if file.is_python:
        return {key: file.machine[key] for key in OF_THE_MACHINE if file.machine.get(key) not in (None, "", "none")}
    return {key: value for key, value in file.machine.items()
            if key not in MEASURED_FACTS and value not in (None, "")}


def runs_of(files):
    runs = []
    for file in files:
        fitting = [run for run in runs if run.takes(file)]
        same_folder = [run for run in fitting if any(part.folder == file.folder for part in run.all_files)]
        if fitting:
            run = (same_folder or fitting)[0]
        else:
            run = Run()
            runs.append(run)
        run.add(file)
    for run in runs:
        run.take_off_python()
    _label(runs)
    return runs


# --- labels ------------------------------------------------------------------------------------------

def _name_of_device(run):
    device = str(run.facts.get("device_name", "unknown device"))
    if run.is_host and run.facts.get("cpu_model"):
        return f"host, {run.facts['cpu_model']}"
    return device


def _fact_shown(key, value):
    text = str(value)
    if key == "commit":
        return text[:9]
    return {"cores": f"{text} cores", "driver_version": f"driver {text}", "runtime_version": f"runtime {text}",
            "tarn_version": f"tarn {text}", "backend": f"{text} backend"}.get(key, text)


def _label(runs):
    """The device's name, and as many facts as distinguish runs of one name; last, folder or number."""
    for run in runs:
        run.label = _name_of_device(run)
    for key in DISTINGUISHING:
        for label in {run.label for run in runs}:
            same = [run for run in runs if run.label == label]
            if len({str(run.facts.get(key)) for run in same}) < 2:
                continue
            for run in same:
                if run.facts.get(key):
                    run.label += f", {_fact_shown(key, run.facts[key])}"
    _add_folders(runs)
    for label in {run.label for run in runs}:
        same = [run for run in runs if run.label == label]
        if len(same) > 1:
            for number, run in enumerate(same, 1):
                run.label += f", run {number}"


def _add_folders(runs):
    for label in {run.label for run in runs}:
        same = [run for run in runs if run.label == label]
        folders = [sorted({file.shown_name.split("/")[0] for file in run.all_files}) for run in same]
        if len(same) > 1 and all(len(names) == 1 for names in folders) and \
                len({names[0] for names in folders}) == len(same):
            for run, names in zip(same, folders):
                run.label += f", {names[0]}"
