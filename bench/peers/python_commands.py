# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads of each command. Lists that were not given have tarn-bench's defaults."""

import pathlib

import python_made_up
from python_traces import read_trace

SHIPPED = pathlib.Path(__file__).resolve().parents[1] / "traces"
SHIPPED_NAMES = ("examinimd-lj.trace.gz", "omegah-warp-3d-small-cut.trace.gz", "torch_resnet-cut.trace.gz")

K, M, G = 1 << 10, 1 << 20, 1 << 30
RANGE = (K, 16 * M)
DEFAULTS = {
    "counts": (10, 100, 1000, 10000, 100000),
    "churn live": (10, 100, 1000, 10000, 100000),
    "threads": (1, 2, 4, 8, 16),
    "streams": (1, 2, 4, 8),
    "until": (64 * M, 256 * M, G, 4 * G),
}
DEFAULTS_OF_ALL = {
    "counts": (10, 1000, 100000),
    "churn live": (100, 10000),
    "threads": (1, 2, 4),
    "streams": (1, 4),
    "until": (256 * M, G),
}


class Maker:
    """Makes the workloads of a command, each by the method of its name."""

    def __init__(self, options, free_bytes):
        self.options = options
        self.free_bytes = free_bytes
        self.defaults = DEFAULTS_OF_ALL if options.command == "all" else DEFAULTS

    def hot(self):
        return python_made_up.make_hot()

    def sweep(self):
        return python_made_up.make_sweep(self.options.sizes or python_made_up.choose_sizes(self.free_bytes))

    def live(self):
        given = self.options.size_range
        return python_made_up.make_live(self.options.counts or self.defaults["counts"],
                                        [given] if given else [(1, 10), (1, 64 * K)], self.options.seed)

    def churn(self):
        return python_made_up.make_churn(self.options.live or self.defaults["churn live"],
                                         self.options.size_range or RANGE, self.options.seed)

    def threads(self):
        return python_made_up.make_threads(self.options.threads or self.defaults["threads"],
                                           self.options.live or (100,), self.options.size_range or RANGE,
                                           self.options.seed, self.options.shared, self.options.one_stream)

    def streams(self):
        return python_made_up.make_streams(self.options.streams or self.defaults["streams"], self.options.live or (16,),
                                           self.options.size_range or (4 * K, M), self.options.seed)

    def growth(self):
        return python_made_up.make_growth(self.options.until or self.defaults["until"],
                                          self.options.size_range or RANGE, self.options.seed)

    def replay(self):
        paths = self.options.traces or [str(SHIPPED / name) for name in SHIPPED_NAMES]
        return [read_trace(path) for path in paths]

    def all(self):
        """All workloads: by size, by number, over time, with threads, with streams, from nothing, and real programs."""
        recorded = self.replay()  # first, so that a bad trace is reported at once
        made_up = [workload for make in (self.hot, self.sweep, self.live, self.churn, self.threads, self.streams,
                                         self.growth) for workload in make()]
        return made_up + recorded


def make_workloads(options, free_bytes):
    """Reads all traces before anything is played, so that a bad one stops everything."""
    return getattr(Maker(options, free_bytes), options.command)()
