#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Measures the allocators of PyTorch and CuPy from Python, as their users reach them, on the workloads of tarn-bench.

  replay_python.py [options] replay TRACE...
  replay_python.py [options] churn

The figures have the form of tarn-bench's JSON file, so that both belong to one run. Python's own share of a
pair is measured with functions that do nothing and stated as harness_ns_per_pair: it is a large one. As in
tarn-bench each allocator starts empty; a first pass is verified and not timed; the repetitions follow, and the
allocators take turns; then a pass with a clock around every call, and a last verified one. One thread, one stream.

Exit status: 0 what is there was measured; 1 something failed, or no allocator is there; 2 the command line is
wrong; 130 it was interrupted, and what was measured until then is written.
"""

import argparse
import gc
import sys
import time

import python_allocators
import python_report
import python_workloads

REPETITION_NS_MIN = 50e6  # so that the first, colder pass in it weighs little
PASSES_MAX = 1_000_000


class BadBlock(Exception):
    """The allocator has handed out what it may not."""


# --- the four ways to play --------------------------------------------------------------------------


def play(operations, blocks, allocator):
    """As fast as Python goes. An operation is (slot, bytes), with bytes below zero for a free."""
    alloc, free, stream = allocator.alloc, allocator.free, allocator.stream
    if allocator.frees_by_dropping:
        for slot, size in operations:
            if size >= 0:
                blocks[slot] = alloc(size)
            else:
                blocks[slot] = None
        return
    for slot, size in operations:
        if size >= 0:
            blocks[slot] = alloc(size, stream)
        else:
            free(blocks[slot])


def play_timed(operations, blocks, allocator):
    """The durations of all allocations and of all frees, with a reading of the clock inside each."""
    durations = ([], [])
    now = time.perf_counter_ns
    alloc, free, stream = allocator.alloc, allocator.free, allocator.stream
    drops = allocator.frees_by_dropping
    for slot, size in operations:
        if size >= 0:
            start = now()
            blocks[slot] = alloc(size) if drops else alloc(size, stream)
            durations[0].append(now() - start)
        elif drops:
            start = now()
            blocks[slot] = None
            durations[1].append(now() - start)
        else:
            block = blocks[slot]
            start = now()
            free(block)
            durations[1].append(now() - start)
    return durations


def free_all(blocks, live_slots, allocator):
    """Frees what is live."""
    for slot in live_slots:
        play([(slot, -1)], blocks, allocator)


class Verifier:
    """Knows the live blocks, and objects to one that overlaps another or lies wrong."""

    def __init__(self):
        self.by_slot = {}
        self.ranges = python_workloads.RangeSet()

    def add(self, slot, address, size):
        self.by_slot[slot] = (address, size)
        if size == 0:
            return
        if address == 0:
            raise BadBlock(f"the new block of {size} bytes has no address")
        if address % python_workloads.alignment_of(size) != 0:
            raise BadBlock(f"the new block of {size} bytes at {address:#x} is not aligned")
        other = self.ranges.add(address, size)
        if other:
            raise BadBlock(f"the new block of {size} bytes at {address:#x} overlaps the live block of "
                           f"{other[1]} bytes at {other[0]:#x}")

    def remove(self, slot):
        address, size = self.by_slot.pop(slot)
        if size > 0:
            self.ranges.remove(address)


def play_verified(operations, first_place, blocks, allocator, verifier, workload):
    """Raises BadBlock with the place of the operation that was wrong."""
    for index, (slot, size) in enumerate(operations):
        try:
            if size < 0:
                verifier.remove(slot)
            play([(slot, size)], blocks, allocator)
            if size >= 0:
                verifier.add(slot, allocator.address_of(blocks[slot]), size)
        except (BadBlock, *allocator.errors) as error:
            raise BadBlock(f"{workload.place(first_place + index)}: {allocator.name}: {error}") from error


# --- one allocator on one workload ------------------------------------------------------------------


class Run:
    """One allocator on one workload."""

    def __init__(self, allocator, workload, options):
        self.allocator = allocator
        self.workload = workload
        self.options = options
        self.blocks = [None] * workload.slot_count
        self.verifier = Verifier()
        self.repetitions_ns = []
        self.usage = None
        self.alloc_ns = self.free_ns = None
        self.error = None

    def step(self, action):
        """Does one step, unless an earlier one failed."""
        if self.error:
            return
        try:
            action()
        except (BadBlock, *self.allocator.errors) as error:
            text = str(error)
            self.error = text if isinstance(error, BadBlock) else (
                f"{self.workload.name}: {self.allocator.name}: {text}")
            self.abandon()

    def first_pass(self):
        self.allocator.open()
        play_verified(self.workload.setup, 0, self.blocks, self.allocator, self.verifier, self.workload)
        self.verified_body()
        self.usage = self.allocator.usage()

    def verified_body(self):
        play_verified(self.workload.body, len(self.workload.setup), self.blocks, self.allocator,
                      self.verifier, self.workload)

    def plain_first_pass(self):
        """Of the one that does nothing, which has no blocks to verify."""
        self.allocator.open()
        play(self.workload.setup, self.blocks, self.allocator)

    def warm_up(self):
        """Also decides how many passes a repetition has, and how many repetitions there are."""
        budget_ns = self.options.time * 1e9
        pass_ns = max(self.timed_passes(1), 1.0)
        wanted_ns = min(budget_ns / self.options.repetitions, REPETITION_NS_MIN)
        self.pass_count = int(min(max(wanted_ns / pass_ns, 1), PASSES_MAX))
        most = budget_ns / (self.pass_count * pass_ns)
        self.repetition_count = int(min(max(most, 1), self.options.repetitions))

    def timed_passes(self, count):
        start = time.perf_counter_ns()
        for _ in range(count):
            play(self.workload.body, self.blocks, self.allocator)
        return time.perf_counter_ns() - start

    def repeat(self):
        if len(self.repetitions_ns) < self.repetition_count:
            duration_ns = self.timed_passes(self.pass_count)
            self.repetitions_ns.append(duration_ns / (self.pass_count * self.workload.pair_count))

    def single_calls(self):
        alloc_ns, free_ns = play_timed(self.workload.body, self.blocks, self.allocator)
        self.alloc_ns = python_report.percentiles(alloc_ns)
        self.free_ns = python_report.percentiles(free_ns)

    def last_pass(self):
        """The blocks that are live now lie elsewhere than after the first pass."""
        live = {slot: size for slot, (_, size) in self.verifier.by_slot.items()}
        self.verifier = Verifier()
        for slot, size in live.items():
            self.verifier.add(slot, self.allocator.address_of(self.blocks[slot]), size)
        self.verified_body()

    def finish(self):
        free_all(self.blocks, list(self.verifier.by_slot), self.allocator)
        self.allocator.close()
        self.blocks = []

    def abandon(self):
        """After a failure nobody knows what is live: what does not go by itself stays."""
        self.blocks = []
        try:
            self.allocator.close()
        except self.allocator.errors:
            pass


def measure_harness(allocator, workload, options):
    """Python's own share of a pair, with the loop that this allocator is played by."""
    run = Run(python_allocators.Nothing(allocator), workload, options)
    run.plain_first_pass()
    run.warm_up()
    while len(run.repetitions_ns) < run.repetition_count:
        run.repeat()
    return python_report.spread(run.repetitions_ns)[1]


def measure(workload, allocators, options, progress):
    """One result for each allocator, in their order."""
    runs = [Run(allocator, workload, options) for allocator in allocators]
    gc.collect()
    gc.disable()
    try:
        for name in ("first_pass", "warm_up", *["repeat"] * options.repetitions, "single_calls", "last_pass",
                     "finish"):
            for run in runs:
                progress(f"{workload.bench} {workload.name}: {run.allocator.name}: {name.replace('_', ' ')}")
                run.step(getattr(run, name))
        return [python_report.result(run, measure_harness(run.allocator, workload, options)) for run in runs]
    finally:
        gc.enable()


# --- the program ------------------------------------------------------------------------------------


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        description="Measures the allocators of PyTorch and CuPy from Python, on the workloads of tarn-bench.",
        epilog="Exit status: 0 what is there was measured; 1 something failed, or no allocator is there; "
               "2 the command line is wrong; 130 interrupted.")
    parser.add_argument("--allocator", default=",".join(python_allocators.NAMES), metavar="LIST",
                        help="which to compare (default %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the results to FILE as well")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="1 to 1000 (default 5)")
    parser.add_argument("--time", type=float, default=10.0, metavar="SECONDS",
                        help="fewer repetitions where they would take longer than this for one allocator on one "
                             "workload (default 10)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of churn (default 1)")
    parser.add_argument("--device", type=int, default=0, metavar="N", help="number of the device (default 0)")
    commands = parser.add_subparsers(dest="command", required=True)
    replay = commands.add_parser("replay", help="the allocations of a real program, from a recorded trace")
    replay.add_argument("traces", nargs="+", metavar="TRACE")
    churn = commands.add_parser("churn", help="random replacement, the same as tarn-bench's for the same seed")
    churn.add_argument("--live", default="10,100,1000", metavar="LIST", help="live blocks (default %(default)s)")
    churn.add_argument("--size-range", default="1K,16M", metavar="MIN,MAX", help="(default %(default)s)")
    options = parser.parse_args(arguments)
    if not 1 <= options.repetitions <= 1000:
        parser.error(f"--repetitions {options.repetitions}: is not from 1 to 1000")
    if not 0 < options.time <= 3600:
        parser.error(f"--time {options.time}: must be above 0 and at most 3600 seconds")
    if not 0 <= options.seed < 2**64:
        parser.error(f"--seed {options.seed}: is not from 0 to {2**64 - 1}")
    options.allocator = options.allocator.split(",")
    for name in options.allocator:
        if name not in python_allocators.NAMES:
            parser.error(f"--allocator: there is no allocator '{name}'; there are {', '.join(python_allocators.NAMES)}")
        if options.allocator.count(name) > 1:
            parser.error(f"--allocator: '{name}' is named twice")
    try:
        if options.command == "churn":
            options.live = python_workloads.parse_sizes("--live", options.live, 1, 10_000_000)
            options.size_range = python_workloads.parse_sizes("--size-range", options.size_range, 1, 2**46)
            if len(options.size_range) != 2 or options.size_range[0] > options.size_range[1]:
                raise ValueError("--size-range: takes two sizes, the smaller first")
    except ValueError as error:
        parser.error(str(error))
    return options


def make_workloads(options):
    """All of them before anything is played, so that a bad trace stops everything."""
    if options.command == "replay":
        return [python_workloads.read_trace(path) for path in options.traces]
    return [python_workloads.make_churn(count, *options.size_range, options.seed) for count in options.live]


def show_progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def clear_progress():
    show_progress("")


def run(options, report):
    """The exit status."""
    workloads = make_workloads(options)
    allocators = []
    for name in options.allocator:
        try:
            allocators.append(python_allocators.find(name, options.device))
        except python_allocators.NotFound as error:
            report.add_not_found(name, str(error))
    report.begin(allocators)
    if not allocators:
        print("replay_python.py: no allocator is there", file=sys.stderr)
        return 1
    is_ok = True
    for workload in workloads:
        results = measure(workload, allocators, options, show_progress)
        clear_progress()
        is_ok = report.add(workload, results) and is_ok
    return 0 if is_ok else 1


def main(arguments):
    options = parse_arguments(arguments)
    report = python_report.Report(options)
    status = 130
    try:
        status = run(options, report)
    except (python_workloads.BadTrace, OSError) as error:
        clear_progress()
        print(f"replay_python.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        clear_progress()
        print("replay_python.py: interrupted", file=sys.stderr)
    if options.json:
        try:
            report.write(options.json)
        except OSError as error:
            print(f"replay_python.py: {options.json}: cannot be written: {error.strerror}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
