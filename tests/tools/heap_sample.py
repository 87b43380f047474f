# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
heap_sample: a file as device_heap_bench writes it, with every test, workload and figure that it has.

Nothing in it was measured: all figures come out of one formula, so that tests know them. To look at a page of it:
    python3 tests/tools/heap_sample.py sample.json && tools/tarn-report sample.json -o sample.html
"""

import json
import sys

from support import heap_file, heap_remark, heap_result

HEAPS = {"bump": 1.0, "tarn": 2.0, "cuda": 40.0} # how slow each is made out to be
SIZES = [16 << power for power in range(9)]
THREADS = [4 ** power for power in range(11)]
MIXED = ("uniform 16 to 128 B", "log 16 to 4096 B", "uniform 16 to 4096 B")
STEADY = ("64 B", "log 16 to 4096 B", "log 16 to 4096 B, a quarter of the heap")
LARGE = ("64 KiB x 1024", "1 MiB x 256", "16 MiB x 64", "32 MiB x 64", "128 MiB x 16")
STEPS = ("make", "insert", "remove", "expand", "drop")
FREEING = ("tarn", "cuda")


def in_us(heap, test, workload, figure, base, **more):
    return heap_result(heap, base * HEAPS[heap], test, workload, figure, "us", **more)


def one_workload(test, workload, base, **more):
    """What allocate.cu adds. CUDA's heap cannot be made as new, and a bump pointer frees nothing."""
    for heap in HEAPS:
        if heap != "cuda":
            yield in_us(heap, test, workload, "allocate, fresh", base * 1.25, **more)
            yield heap_result(heap, 1.0 + HEAPS[heap] / 16, test, workload, "range over asked, fresh", "times", **more)
        yield in_us(heap, test, workload, "allocate, warm", base, **more)
        if heap in FREEING:
            yield in_us(heap, test, workload, "free", base / 2, **more)
            yield in_us(heap, test, workload, "free, shuffled", base * 2, **more)


def scaling():
    for size_bytes in (64, 1024):
        for threads in THREADS:
            name = f"{size_bytes} B, {threads} threads"
            for heap in HEAPS:
                yield in_us(heap, "scaling", name, "allocate", 3 + threads / 5e4, x=threads)
                if heap in FREEING:
                    yield in_us(heap, "scaling", name, "free", 2 + threads / 6e4, x=threads)


def of_those_that_free(heap):
    for workload in ("64 B", "log 16 to 4096 B"):
        yield heap_result(heap, 8000 / HEAPS[heap], "churn", workload, "pairs", "M/s")
    for workload in STEADY if heap == "tarn" else STEADY[:2]:
        yield heap_result(heap, 4000 / HEAPS[heap], "steady", workload, "replacements", "M/s")
        yield heap_result(heap, 1.5, "steady", workload, "range over live", "times")
    for figure in ("allocate", "free"):
        for workload in LARGE if heap == "tarn" else LARGE[:1]:
            yield in_us(heap, "large", workload, figure, 20)
        for workload in ("64 B, one lane", "64 B, 32 lanes"):
            yield heap_result(heap, 500 * HEAPS[heap], "latency", workload, figure, "cycles")
    for number, step in enumerate(STEPS, 1):
        # The last step is one on which tarn loses.
        yield heap_result(heap, 100.0 * number * (HEAPS[heap] if step != "drop" else 80 / HEAPS[heap]), "graph", step,
                          "time", "us")


def of_tarn_alone():
    for workload, x in (("1024 B, 512 MiB", 1024), ("64 B, 512 MiB", 64), ("64 B, 2 GiB", 64)):
        for figure in ("share handed out", "share after freeing all"):
            yield heap_result("tarn", 96.0, "oom", workload, figure, "%", x=x)
        for figure in ("allocate until there is none", "free"):
            yield in_us("tarn", "oom", workload, figure, 300, x=x)
    for gib in (1, 8, 64):
        for figure in ("the call", "until the device is done", "reset, on the device"):
            yield in_us("tarn", "create", f"{gib} GiB", figure, 4 * gib, x=gib << 30)


def sample():
    results = [row for size in SIZES for row in one_workload("one-size", f"{size} B", 10 + size / 16, x=size)]
    results += [row for name in MIXED for row in one_workload("mixed", name, 50)]
    results += [*scaling(), *(row for heap in FREEING for row in of_those_that_free(heap)), *of_tarn_alone()]
    return heap_file(
        *results, machine={"device_name": "Device A (made up)"},
        kernels=[f"{heap}: {30 + len(heap)} registers and 0 bytes of stack a thread" for heap in HEAPS],
        skipped=[heap_remark("cuda", "one before took 1.4 s", "large", workload) for workload in LARGE[1:]] +
                [heap_remark(heap, "the heap is too small for it", "large", "1 GiB x 4") for heap in FREEING],
        faults=[heap_remark("cuda", "3 words were written over", "mixed", MIXED[0])])


if __name__ == "__main__":
    with open(sys.argv[1], "w") as file:
        json.dump(sample(), file, indent=1)
