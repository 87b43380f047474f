# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What python_bench.py calls of CuPy. FAKE_CUPY plants a fault: no_device, or one of the heap's."""

import itertools
import os
import threading

from fake_heap import Heap

__version__ = "0.fake"
fault = os.environ.get("FAKE_CUPY", "")
_thread = threading.local()


class _Pointer:
    def __init__(self, heap, ptr):
        self.heap, self.ptr = heap, ptr

    def __del__(self):
        self.heap.free(self.ptr)


class MemoryPool:
    """A block is one of the stream that is current when it is allocated."""

    def __init__(self):
        self.heap = Heap(1, fault)

    def malloc(self, size):
        return _Pointer(self.heap, self.heap.alloc(size, getattr(_thread, "stream", 0)))

    def total_bytes(self):
        return self.heap.held_bytes

    def free_all_blocks(self):
        self.heap.give_back()


class Stream:
    numbers = itertools.count(200)

    def __init__(self, non_blocking):
        assert non_blocking
        self.ptr = next(Stream.numbers)

    def use(self):
        _thread.stream = self.ptr


class _NullStream:
    @staticmethod
    def use():
        _thread.stream = 0


Stream.null = _NullStream


class runtime:
    is_hip = False
    driverGetVersion = staticmethod(lambda: 13010)
    runtimeGetVersion = staticmethod(lambda: 13000)
    memGetInfo = staticmethod(lambda: (14 << 30, 1 << 34))

    @staticmethod
    def getDeviceCount():
        if fault == "no_device":
            raise RuntimeError("cudaErrorNoDevice (planted)")
        return 1

    @staticmethod
    def getDeviceProperties(device):
        return {"name": b"Fake device", "totalGlobalMem": 1 << 34}


class _Device:
    def __init__(self, number):
        self.number = number

    def use(self):
        _thread.has_device = True


class cuda:
    runtime = runtime
    MemoryPool = MemoryPool
    Device = _Device
    Stream = Stream
