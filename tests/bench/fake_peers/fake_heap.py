# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A caching allocator for the fakes of PyTorch and CuPy: what was freed for a stream serves the same size of that stream.

Its memory is there when it is touched, and not before. A fault is planted by its name: overlap (every tenth block lies
on the one before), full (the tenth request fails), early (a block that was freed serves any stream at once).
"""

import mmap
import ctypes
import threading

RESERVED_BYTES = 1 << 41
MARGIN_BYTES = 1 << 20  # so that also bad blocks lie in what is reserved
MAP_NORESERVE = 0x4000

_reserved = mmap.mmap(-1, RESERVED_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
_first_address = ctypes.addressof(ctypes.c_char.from_buffer(_reserved))


class Heap:
    """Each of the fakes has half of the memory. `held_bytes` is what is live or kept."""

    def __init__(self, half, fault):
        self.first_address = self.next_address = _first_address + half * RESERVED_BYTES // 2 + MARGIN_BYTES
        self.fault = fault
        self.lock = threading.Lock()
        self.live = {}  # address: (size, stream)
        self.kept = {}  # (size, stream): addresses
        self.count = 0
        self.held_bytes = self.held_bytes_max = 0

    def alloc(self, size, stream):
        with self.lock:
            return self._alloc(-(-size // 512) * 512, stream)

    def _alloc(self, size, stream):
        self.count += 1
        if size == 0:
            return 0
        if self.fault == "full" and self.count == 10:
            raise RuntimeError("out of memory (planted)\nmore about it")
        kind = (size, None if self.fault == "early" else stream)
        address = self.kept[kind].pop(0) if self.kept.get(kind) else self._take(size)
        if self.fault == "overlap" and self.count % 10 == 0:
            address -= 1024 # 512 bytes are between any two
        self.live[address] = kind
        return address

    def _take(self, size):
        address = self.next_address
        self.next_address += size + 512
        self.held_bytes += size
        self.held_bytes_max = max(self.held_bytes_max, self.held_bytes)
        return address

    def free(self, address):
        if address == 0:
            return
        with self.lock:
            if address not in self.live:
                raise RuntimeError(f"{address:#x} is no block (planted)")
            self.kept.setdefault(self.live.pop(address), []).append(address)

    def give_back(self):
        """What is kept."""
        self.kept.clear()
        self.held_bytes = sum(size for size, _ in self.live.values())
        if not self.live:
            self.next_address = self.first_address
        assert self.fault or not self.live, f"{len(self.live)} blocks are live"
