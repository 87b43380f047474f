# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What replay_python.py calls of CuPy, over addresses that are made up. FAKE_CUPY=no_device: there is none."""

import os

__version__ = "0.fake"


class _Pointer:
    def __init__(self, pool, ptr, size):
        self.pool, self.ptr, self.size = pool, ptr, size

    def __del__(self):
        self.pool.live_bytes -= self.size


class MemoryPool:
    """An address is used again only when nothing is live."""

    def __init__(self):
        self.live_bytes = self.held_bytes = 0
        self.next_address = 1 << 41

    def malloc(self, size):
        rounded = -(-size // 512) * 512
        self.live_bytes += rounded
        self.held_bytes = max(self.held_bytes, self.live_bytes)
        address = self.next_address if size else 0
        self.next_address += rounded
        return _Pointer(self, address, rounded)

    def total_bytes(self):
        return self.held_bytes

    def free_all_blocks(self):
        assert self.live_bytes == 0, f"{self.live_bytes} bytes are live"


class runtime:
    is_hip = False
    driverGetVersion = staticmethod(lambda: 13010)
    runtimeGetVersion = staticmethod(lambda: 13000)

    @staticmethod
    def getDeviceCount():
        if os.environ.get("FAKE_CUPY") == "no_device":
            raise RuntimeError("cudaErrorNoDevice (planted)")
        return 1

    @staticmethod
    def getDeviceProperties(device):
        return {"name": b"Fake device", "totalGlobalMem": 1 << 34}


class _Device:
    def __init__(self, number):
        self.number = number

    def use(self):
        pass


class cuda:
    runtime = runtime
    MemoryPool = MemoryPool
    Device = _Device
