#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Runs three of CuPy's own example programs on the allocator that is named, and prints their seconds.

  cupy_run.py --examples FOLDER raw|cupy|async|tarn [cg|gmm|kmeans]...

FOLDER is `examples` of CuPy's sources. The examples are a conjugate gradient, a Gaussian mixture and a k-means, which make
and drop arrays in each iteration. `raw` is cudaMalloc, `cupy` is CuPy's own pool, `async` is cudaMallocAsync by CuPy. `tarn`
is the process-wide pool of the libtarn.so that TARN_LIBRARY names; the environment sets its options. CuPy calls it through
Python, some microseconds each time: tarn has no binding for CuPy yet.
"""

import argparse
import ctypes
import os
import sys
import time
import types

import cupy
import numpy


class TarnMemory:
    """A piece of tarn's memory, which lives as long as an array uses it, and goes back on its stream."""

    library = None

    def __init__(self, size):
        self.stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
        self.address = ctypes.c_void_p()
        status = self.library.tarn_malloc_on(ctypes.c_size_t(size), self.stream, ctypes.byref(self.address))
        if status != 0:
            raise MemoryError(f"tarn: status {status} for {size} bytes")

    def __del__(self):
        if self.address:
            self.library.tarn_free_on(self.address, self.stream)


def tarn_allocate(size):
    owner = TarnMemory(size)
    memory = cupy.cuda.UnownedMemory(owner.address.value or 0, size, owner, cupy.cuda.runtime.getDevice())
    return cupy.cuda.MemoryPointer(memory, 0)


def use_allocator(name):
    if name == "raw":
        cupy.cuda.set_allocator(None)
    elif name == "async":
        cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
    elif name == "tarn":
        TarnMemory.library = ctypes.CDLL(os.environ.get("TARN_LIBRARY", "libtarn.so"))
        cupy.cuda.set_allocator(tarn_allocate)


def run_cg(cg):
    random = numpy.random.RandomState(1)
    half = random.randint(-50, 50, size=(2000, 2000)).astype(numpy.float64)
    matrix = cupy.asarray(half @ half.T)
    answer = cupy.asarray(random.randint(-50, 50, size=2000).astype(numpy.float64))
    return cg.fit(matrix, matrix @ answer, 0.1, 5000).sum()


def run_gmm(gmm):
    random = numpy.random.RandomState(1)
    points = cupy.asarray(random.normal(0, 1, size=(1000000, 2)).astype(numpy.float32))
    points[:500000] += 2
    means, covariances = cupy.asarray([[1.0, 1.0], [-1.0, -1.0]]), cupy.asarray([[0.5, 0.5], [0.7, 0.7]])
    for _ in range(20):
        fitted = gmm.train_gmm(points, 30, 0, means, covariances)
    return fitted[1].sum()


def run_kmeans(kmeans):
    cupy.random.seed(1)
    points = cupy.random.standard_normal((2000000, 2))
    points[:1000000] += 2
    for _ in range(20):
        centers, _ = kmeans.fit_xp(points, 4, 10)
    return centers.sum()


def main():
    parser = argparse.ArgumentParser(description="Runs CuPy's own examples on the allocator that is named.")
    parser.add_argument("--examples", required=True, metavar="FOLDER", help="of CuPy's sources")
    parser.add_argument("allocator", choices=["raw", "cupy", "async", "tarn"])
    parser.add_argument("programs", nargs="*", metavar="cg|gmm|kmeans", help="all of them by default")
    options = parser.parse_args()
    for name in ("matplotlib", "matplotlib.pyplot", "scipy.stats"): # for pictures that are not drawn here
        try:
            __import__(name)
        except ImportError:
            sys.modules[name] = types.ModuleType(name)
    use_allocator(options.allocator)
    known = {"cg": run_cg, "gmm": run_gmm, "kmeans": run_kmeans}
    for name in options.programs or known:
        if name not in known:
            parser.error(f"there is no program {name}")
        run = known[name]
        sys.path.insert(0, os.path.join(options.examples, name))
        module = __import__(name)
        run(module) # compiles its kernels
        cupy.cuda.runtime.deviceSynchronize()
        start = time.perf_counter()
        result = float(run(module))
        print(f"{name}: {time.perf_counter() - start:.4f} s")
        print(f"check: {name} {result:.6g}")
    if options.allocator == "tarn":
        cupy.cuda.set_allocator(None)


if __name__ == "__main__":
    main()
