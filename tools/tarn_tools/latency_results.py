# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""latency_results: the times of single calls that `tarn-bench --latency` noted, checked."""

from .failure import BadInput
from .result_fields import is_number, number_of

KINDS = ("alloc", "free")


class Calls:
    """Allocations or frees of one part: their number, their median and the worst, in ns."""

    def __init__(self, count, median, worst):
        self.count, self.median, self.worst = count, median, worst


class Part:
    """`first` is the number of calls before it, or its smallest size."""

    def __init__(self, numbers):
        self.first = numbers[0]
        self.calls = {"alloc": Calls(*numbers[1:4]), "free": Calls(*numbers[4:7])}


class Latency:
    """`worst` has two times in ns for each kind: the call that was slowest in all passes, and the slowest in any."""

    def __init__(self, row, where):
        self.over_time = _parts(row, "over_time", where)
        self.by_size = _parts(row, "by_size", where)
        self.worst = {kind: (number_of(row, f"{kind}_worst_ns", where), number_of(row, f"{kind}_worst_once_ns", where))
                      for kind in KINDS}


def latency_of(row, where):
    """The latency of a result; None if it has none."""
    latency = row.get("latency")
    if latency is None:
        return None
    if not isinstance(latency, dict):
        raise BadInput(f"{where}: \"latency\" is not an object")
    return Latency(latency, f"{where}: \"latency\"")


def _parts(row, name, where):
    parts = row.get(name, [])
    are_good = isinstance(parts, list) and all(
        isinstance(part, list) and len(part) == 7 and all(map(is_number, part)) for part in parts)
    if not are_good:
        raise BadInput(f"{where}: \"{name}\" is not a list of seven numbers each")
    return [Part(part) for part in parts]
