# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The allocators of PyTorch and CuPy, as one calls them from Python.

`calls` gives the way in which one is called (python_calls.py): with the library's own functions where it has some,
since they are called in the loops that are timed. `errors` are what these raise. A stream is an object of the
library's; the vendor knows it by a number.
"""

from python_calls import ByCall, ByObject
from python_failures import CannotPlay, NotFound


class _Python:
    """Shared by both."""

    def create_streams(self, count):
        """`count` streams that do not wait for each other."""
        streams = [self.create_stream() for _ in range(count)]
        different = len(set(map(self.number_of, streams)))
        if different < count:
            raise CannotPlay(f"it wants {count} streams, and {self.version} has {different} of them at a time")
        return streams


class TorchPython(_Python):
    """PyTorch's caching allocator: its raw allocation and free."""

    name = "torch-python"
    errors = (RuntimeError, MemoryError)

    def __init__(self, device):
        try:
            import torch
        except ImportError as error:
            raise NotFound(f"{error}; pip install torch") from error
        self.torch = torch
        self.device = device
        self.version = f"PyTorch {torch.__version__}"
        if not torch.cuda.is_available():
            raise NotFound(f"{self.version} finds no device of CUDA or ROCm")
        if device >= torch.cuda.device_count():
            raise NotFound(f"{self.version} finds {torch.cuda.device_count()} devices, and not number {device}")
        torch.cuda.init()
        self.enter_thread()

    # --- calls ---

    def calls(self, stream=None):
        """For a stream, or the current one: the functions below torch.cuda.caching_allocator_alloc and _delete, without
        their look-ups in each call."""
        if stream is None:
            stream = self.torch.cuda.current_stream(self.device)
        return ByCall(self.torch._C._cuda_cudaCachingAllocator_raw_alloc,
                      self.torch._C._cuda_cudaCachingAllocator_raw_delete, self.number_of(stream))

    def enter_thread(self, _=None):
        """To be called in each thread before its first call. Calls name their stream themselves."""
        self.torch.cuda.set_device(self.device)

    def leave_streams(self):
        """Nothing to undo: no stream was made current."""

    def create_stream(self):
        return self.torch.cuda.Stream(device=self.device)

    @staticmethod
    def number_of(stream):
        return stream.cuda_stream

    @staticmethod
    def use_of(_):
        """Calls name their stream."""
        return None

    # --- life ---

    def open(self):
        """A process has one: memory that it still keeps is given back."""
        self.trim()
        self.torch.cuda.reset_peak_memory_stats(self.device)
        self.calls_before = self._vendor_calls()

    def trim(self):
        self.torch.cuda.synchronize(self.device)
        self.torch.cuda.empty_cache()

    close = trim

    # --- what it tells ---

    def _vendor_calls(self):
        """0: this version does not count them."""
        stats = self.torch.cuda.memory_stats(self.device)
        return stats.get("num_device_alloc", 0) + stats.get("num_device_free", 0)

    def usage(self):
        stats = self.torch.cuda.memory_stats(self.device)
        return {
            "peak_footprint_bytes": stats.get("reserved_bytes.all.peak", 0),
            "vendor_calls": self._vendor_calls() - self.calls_before,
        }

    def held_bytes(self):
        """The value of torch.cuda.memory_reserved, without sorting all other counters for it."""
        return self.torch.cuda.memory_stats_as_nested_dict(self.device)["reserved_bytes"]["all"]["current"]

    def free_bytes(self):
        """Of the device."""
        return self.torch.cuda.mem_get_info(self.device)[0]

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


class CupyPython(_Python):
    """CuPy's memory pool, one of its own for each opening."""

    name = "cupy-python"
    errors = (RuntimeError, MemoryError)

    def __init__(self, device):
        try:
            import cupy
        except ImportError as error:
            raise NotFound(f"{error}; pip install cupy-cuda13x") from error
        self.cupy = cupy
        self.device = device
        self.version = f"CuPy {cupy.__version__}"
        self.pool = None
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except RuntimeError as error:
            raise NotFound(f"{self.version} finds no device: {error}") from error
        if device >= count:
            raise NotFound(f"{self.version} finds {count} devices, and not number {device}")
        self.enter_thread()

    # --- calls ---

    def calls(self, _=None):
        """For the thread's current stream."""
        return ByObject(self.pool.malloc)

    def enter_thread(self, stream=None):
        """To be called in each thread before its first call."""
        self.cupy.cuda.Device(self.device).use()
        if stream is not None:
            stream.use()

    def leave_streams(self):
        """Makes the default stream current, as the others are about to go."""
        self.cupy.cuda.Stream.null.use()

    def create_stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    @staticmethod
    def number_of(stream):
        return stream.ptr

    @staticmethod
    def use_of(stream):
        """The function that makes the stream current."""
        return stream.use

    # --- life ---

    def open(self):
        self.enter_thread()
        self.pool = self.cupy.cuda.MemoryPool()

    def trim(self):
        self.pool.free_all_blocks()

    def close(self):
        if self.pool is not None:
            self.trim()
        self.pool = None

    # --- what it tells ---

    def usage(self):
        """It gives nothing back by itself while the device has room, so it now holds the most that it ever held. It does
        not count the vendor's calls."""
        return {"peak_footprint_bytes": self.held_bytes(), "vendor_calls": 0}

    def held_bytes(self):
        return self.pool.total_bytes()

    def free_bytes(self):
        return self.cupy.cuda.runtime.memGetInfo()[0]

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


KINDS = {kind.name: kind for kind in (TorchPython, CupyPython)}


def find(name, device):
    """Raises NotFound with the reason if the library is missing."""
    return KINDS[name](device)
