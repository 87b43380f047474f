# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What python_bench.py calls of PyTorch. FAKE_TORCH plants a fault: no_device, few_streams (two), hip (no fault, but
another vendor), or one of the heap's.
"""

import itertools
import os

from fake_heap import Heap

__version__ = "0.fake"
fault = os.environ.get("FAKE_TORCH", "")
_heap = Heap(0, fault)
_stream_numbers = itertools.cycle(range(100, 102 if fault == "few_streams" else 132))


def _raw_alloc(size, stream):
    assert isinstance(size, int) and size >= 0 and isinstance(stream, int)
    return _heap.alloc(size, stream)


class _C:
    _cuda_cudaCachingAllocator_raw_alloc = staticmethod(_raw_alloc)
    _cuda_cudaCachingAllocator_raw_delete = staticmethod(_heap.free)
    _cuda_getCompiledVersion = staticmethod(lambda: 13000)
    _cuda_getDriverVersion = staticmethod(lambda: 13010)


class version:
    hip = "0.fake" if fault == "hip" else None


class _Properties:
    name = "Fake device"
    total_memory = 1 << 34


class _Stream:
    """Out of a few, one after the other, as PyTorch has them."""

    def __init__(self, device):
        self.cuda_stream = next(_stream_numbers)


class _CurrentStream:
    cuda_stream = 7


class cuda:
    Stream = _Stream
    is_available = staticmethod(lambda: fault != "no_device")
    device_count = staticmethod(lambda: 1)
    init = staticmethod(lambda: None)
    set_device = staticmethod(lambda device: None)
    synchronize = staticmethod(lambda device: None)
    current_stream = staticmethod(lambda device: _CurrentStream)
    get_device_properties = staticmethod(lambda device: _Properties)
    mem_get_info = staticmethod(lambda device: (15 << 30, 1 << 34))
    empty_cache = staticmethod(_heap.give_back)

    @staticmethod
    def reset_peak_memory_stats(device):
        _heap.held_bytes_max = _heap.held_bytes

    @staticmethod
    def memory_stats(device):
        return {"reserved_bytes.all.peak": _heap.held_bytes_max, "num_device_alloc": _heap.count,
                "num_device_free": 0}

    @staticmethod
    def memory_stats_as_nested_dict(device):
        return {"reserved_bytes": {"all": {"current": _heap.held_bytes}}}
