#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Measures the allocators of PyTorch and CuPy from Python, as their users reach them, on the workloads of tarn-bench.

  python_bench.py [options] hot | sweep | live | churn | threads | streams | growth | replay TRACE... | all [TRACE...]

The figures have the form of tarn-bench's JSON file, so that both belong to one run. Python's own share of a
pair is measured with functions that do nothing and stated as harness_ns_per_pair.

Exit status: 0 all was measured; 1 something failed, or no allocator was found; 2 the command line is wrong; 130 the
run was interrupted, and its results so far are written.
"""

import sys

import python_allocators
import python_interrupt
import python_options
from python_commands import make_workloads
from python_failures import BadTrace, NotFound, escaped
from python_measure import measure
from python_report import Report

EXIT_INTERRUPTED = 130


def show_progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def complain(text):
    show_progress("")
    print(f"python_bench.py: {escaped(str(text))}", file=sys.stderr)


def find_allocators(options, report):
    """The allocators that are there, in the order of the options."""
    allocators = []
    for name in options.allocator:
        try:
            allocators.append(python_allocators.find(name, options.device))
        except NotFound as error:
            report.add_not_found(name, str(error))
    return allocators


def measure_all(options, report):
    """The exit status."""
    allocators = find_allocators(options, report)
    free_bytes = min((allocator.free_bytes() for allocator in allocators), default=0)
    workloads = make_workloads(options, free_bytes)
    report.begin(allocators)
    if not allocators:
        complain("no allocator is there")
        return 1
    is_ok = True
    for workload in workloads:
        measured = measure(workload, allocators, options, free_bytes, show_progress)
        show_progress("")
        is_ok = report.add(workload, measured) and is_ok
    return 0 if is_ok else 1


def try_to(write, path):
    """False: it cannot be written."""
    try:
        write(path)
        return True
    except OSError as error:
        complain(f"{path}: cannot be written: {error.strerror}")
        return False


def touch(path):
    """Checks that the file can be written before anything is measured. Keeps an older file's content."""
    with open(path, "ab"):
        pass


def main(arguments):
    python_interrupt.listen()
    options = python_options.parse(arguments, tuple(python_allocators.KINDS))
    report = Report(options)
    if options.json and not try_to(touch, options.json):
        return 1
    try:
        status = measure_all(options, report)
    except BadTrace as error:
        complain(error)
        return 1
    except OSError as error:
        complain(f"{error.filename}: {error.strerror}" if error.filename else error)
        return 1
    except KeyboardInterrupt:
        complain("interrupted")
        report.is_interrupted = True
        status = EXIT_INTERRUPTED
    if options.json and not try_to(report.write, options.json):
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
