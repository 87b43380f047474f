# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What replay_python.py calls of PyTorch, over addresses that are made up. FAKE_TORCH plants a fault: no_device,
overlap (every tenth block lies on the one before), full (the tenth request fails).
"""

import os

__version__ = "0.fake"
fault = os.environ.get("FAKE_TORCH", "")


class _Heap:
    """Hands out addresses that are never used again."""

    def __init__(self):
        self.next_address = 1 << 40
        self.live = {}
        self.count = 0
        self.held_bytes = self.held_bytes_max = 0

    def alloc(self, size, stream):
        assert isinstance(size, int) and size >= 0 and stream == 7
        self.count += 1
        if size == 0:
            return 0
        if fault == "full" and self.count == 10:
            raise RuntimeError("CUDA out of memory (planted)")
        address = self.next_address
        if fault == "overlap" and self.count % 10 == 0:
            address -= 1024
        rounded = -(-size // 512) * 512
        self.next_address = max(self.next_address, address + rounded + 512)
        self.live[address] = size
        self.held_bytes += rounded
        self.held_bytes_max = max(self.held_bytes_max, self.held_bytes)
        return address

    def free(self, address):
        if address:
            self.held_bytes -= -(-self.live.pop(address) // 512) * 512


_heap = _Heap()


class _C:
    _cuda_cudaCachingAllocator_raw_alloc = staticmethod(_heap.alloc)
    _cuda_cudaCachingAllocator_raw_delete = staticmethod(_heap.free)
    _cuda_getCompiledVersion = staticmethod(lambda: 13000)
    _cuda_getDriverVersion = staticmethod(lambda: 13010)


class version:
    hip = None


class _Properties:
    name = "Fake device"
    total_memory = 1 << 34


class _Stream:
    cuda_stream = 7


class cuda:
    is_available = staticmethod(lambda: fault != "no_device")
    device_count = staticmethod(lambda: 1)
    init = staticmethod(lambda: None)
    set_device = staticmethod(lambda device: None)
    synchronize = staticmethod(lambda device: None)
    current_stream = staticmethod(lambda device: _Stream)
    get_device_properties = staticmethod(lambda device: _Properties)

    @staticmethod
    def empty_cache():
        if not fault:
            assert not _heap.live, f"{len(_heap.live)} blocks are live"

    @staticmethod
    def reset_peak_memory_stats(device):
        _heap.held_bytes_max = _heap.held_bytes

    @staticmethod
    def memory_stats(device):
        return {"reserved_bytes.all.peak": _heap.held_bytes_max, "num_device_alloc": _heap.count,
                "num_device_free": 0}
