# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
coverage: missing measurements, and why.

If an allocator has a figure on one workload of a run and none on another, that one is a gap. The reason is in its
file: it failed, was skipped, or was not found. If the file has none, the measurement was not requested.
"""

from .workload_name import kind_of

NOT_ASKED = "was not asked for there"


class Coverage:
    """For one run. `gaps`: {allocator: {kind: (workloads without a figure and without a reason, all of them)}}."""

    def __init__(self, run):
        self._reasons = _reasons_of(run)
        self._not_found = dict(pair for file in run.files for pair in file.not_found)
        names = dict.fromkeys(name for row in run.by_workload.values() for name in row)
        kinds = {}
        for key in run.by_workload:
            kinds.setdefault(kind_of(key), []).append(key)
        self.gaps = {}
        for name in names:
            for kind, keys in kinds.items():
                missed = [key for key in keys if name not in run.by_workload[key] and
                          self.reason(key, name) == NOT_ASKED]
                if missed:
                    self.gaps.setdefault(name, {})[kind] = (missed, keys)

    def reason(self, key, allocator):
        """Returns why it has no figure on a workload."""
        return self._reasons.get((key[0], key[1], allocator)) or self._not_found.get(allocator) or NOT_ASKED


def _reasons_of(run):
    """{(bench, workload, allocator): why}"""
    reasons = {(bench, workload, allocator): f"skipped: {reason}" for file in run.files
               for bench, workload, allocator, reason in file.skipped}
    reasons.update({(result.bench, result.workload, result.allocator): f"{result.outcome}: {result.reason}"
                    for result in run.failed() + run.cut_short()})
    reasons.update({(result.bench, result.workload, result.allocator): "has no time in the file"
                    for result in run.without_time()})
    return reasons
