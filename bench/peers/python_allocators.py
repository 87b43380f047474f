# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The allocators of PyTorch and CuPy, as one calls them from Python.

Each has `alloc` and `free`, which are called in the loop that is timed and so are the library's own functions
where it has some; `frees_by_dropping` says that a block is an object, which is freed when nobody refers to it.
"""

NAMES = ("torch-python", "cupy-python")


class NotFound(Exception):
    """Why an allocator is not there."""


class TorchPython:
    """PyTorch's caching allocator: its raw allocation and free, on the current stream."""

    name = "torch-python"
    frees_by_dropping = False
    errors = (RuntimeError, MemoryError)

    def __init__(self, device):
        try:
            import torch
        except ImportError as error:
            raise NotFound(f"{error}; pip install torch") from error
        if not torch.cuda.is_available():
            raise NotFound(f"PyTorch {torch.__version__} finds no device of CUDA or ROCm")
        if device >= torch.cuda.device_count():
            raise NotFound(f"PyTorch {torch.__version__} finds {torch.cuda.device_count()} devices, and not number {device}")
        self.torch = torch
        self.device = device
        self.version = f"PyTorch {torch.__version__}"
        torch.cuda.init()
        torch.cuda.set_device(device)
        # What torch.cuda.caching_allocator_alloc and _delete call, without what these look up each time.
        self.alloc = torch._C._cuda_cudaCachingAllocator_raw_alloc
        self.free = torch._C._cuda_cudaCachingAllocator_raw_delete
        self.stream = torch.cuda.current_stream(device).cuda_stream

    def address_of(self, block):
        return block or 0

    def open(self):
        """There is one in a process: what it keeps from before is given back."""
        self.torch.cuda.synchronize(self.device)
        self.torch.cuda.empty_cache()
        self.torch.cuda.reset_peak_memory_stats(self.device)
        self.calls_before = self._vendor_calls()

    def _vendor_calls(self):
        """0 where this version does not count them."""
        stats = self.torch.cuda.memory_stats(self.device)
        return stats.get("num_device_alloc", 0) + stats.get("num_device_free", 0)

    def usage(self):
        stats = self.torch.cuda.memory_stats(self.device)
        return {
            "peak_footprint_bytes": stats.get("reserved_bytes.all.peak", 0),
            "vendor_calls": self._vendor_calls() - self.calls_before,
        }

    def close(self):
        self.torch.cuda.synchronize(self.device)
        self.torch.cuda.empty_cache()

    def facts(self):
        properties = self.torch.cuda.get_device_properties(self.device)
        runtime = getattr(self.torch._C, "_cuda_getCompiledVersion", lambda: 0)()
        driver = getattr(self.torch._C, "_cuda_getDriverVersion", lambda: 0)()
        return {
            "backend": "hip" if getattr(self.torch.version, "hip", None) else "cuda",
            "device_name": properties.name,
            "device_bytes": properties.total_memory,
            "driver_version": driver,
            "runtime_version": runtime,
        }


class CupyPython:
    """CuPy's memory pool, one of its own for each opening. A block is an object, freed when it is dropped."""

    name = "cupy-python"
    frees_by_dropping = True
    free = None
    stream = None

    def __init__(self, device):
        try:
            import cupy
        except ImportError as error:
            raise NotFound(f"{error}; pip install cupy-cuda13x") from error
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except RuntimeError as error:
            raise NotFound(f"CuPy {cupy.__version__} finds no device: {error}") from error
        if device >= count:
            raise NotFound(f"CuPy {cupy.__version__} finds {count} devices, and not number {device}")
        self.cupy = cupy
        self.device = device
        self.version = f"CuPy {cupy.__version__}"
        self.errors = (RuntimeError, MemoryError)
        cupy.cuda.Device(device).use()
        self.pool = None

    def address_of(self, block):
        return block.ptr

    def open(self):
        self.cupy.cuda.Device(self.device).use()
        self.pool = self.cupy.cuda.MemoryPool()
        self.alloc = self.pool.malloc

    def usage(self):
        """It gives nothing back by itself, so what it holds now is the most that it has held; the vendor's calls
        it does not count."""
        return {"peak_footprint_bytes": self.pool.total_bytes(), "vendor_calls": 0}

    def close(self):
        self.alloc = None
        self.pool.free_all_blocks()
        self.pool = None

    def facts(self):
        runtime = self.cupy.cuda.runtime
        properties = runtime.getDeviceProperties(self.device)
        name = properties["name"]
        return {
            "backend": "hip" if getattr(runtime, "is_hip", False) else "cuda",
            "device_name": name.decode() if isinstance(name, bytes) else name,
            "device_bytes": properties["totalGlobalMem"],
            "driver_version": runtime.driverGetVersion(),
            "runtime_version": runtime.runtimeGetVersion(),
        }


class Nothing:
    """Does nothing, and is called as another one is: what it costs is Python's."""

    name = "nothing"
    errors = ()

    def __init__(self, other):
        self.frees_by_dropping = other.frees_by_dropping
        self.stream = other.stream
        self.alloc = (lambda size: None) if self.frees_by_dropping else (lambda size, stream: 0)
        self.free = lambda block: None

    def open(self):
        pass


KINDS = {kind.name: kind for kind in (TorchPython, CupyPython)}


def find(name, device):
    """NotFound says why it is not there."""
    return KINDS[name](device)
