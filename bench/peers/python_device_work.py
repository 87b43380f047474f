# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Work for streams, like device_work.h in C: fills and copies in the order of a stream, by CUDA's
driver, whichever library made the stream. So streams do the same work for all allocators.
"""

import ctypes

from python_failures import CannotPlay, Failed

LIBRARY = "libcuda.so.1"

_ADDRESS, _STREAM, _SIZE = ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t
_SIGNATURES = {
    "cuInit": (ctypes.c_uint,),
    "cuDeviceGet": (ctypes.c_void_p, ctypes.c_int),
    "cuDevicePrimaryCtxRetain": (ctypes.c_void_p, ctypes.c_int),
    "cuCtxSetCurrent": (ctypes.c_void_p,),
    "cuMemAlloc_v2": (ctypes.c_void_p, _SIZE),
    "cuMemFree_v2": (_ADDRESS,),
    "cuMemsetD8Async": (_ADDRESS, ctypes.c_ubyte, _SIZE, _STREAM),
    "cuMemcpyDtoDAsync_v2": (_ADDRESS, _ADDRESS, _SIZE, _STREAM),
    "cuMemcpyDtoH_v2": (ctypes.c_void_p, _ADDRESS, _SIZE),
    "cuStreamSynchronize": (_STREAM,),
    "cuGetErrorName": (ctypes.c_int, ctypes.c_void_p),
}


def _load():
    try:
        library = ctypes.CDLL(LIBRARY)
        functions = {name: getattr(library, name) for name in _SIGNATURES}
    except (OSError, AttributeError) as error:
        raise CannotPlay(f"streams are filled by CUDA's driver, which is not there: {error}") from None
    for name, function in functions.items():
        function.argtypes = _SIGNATURES[name]
    return functions


class DeviceWork:
    """For the calling thread, on one device, in the primary context, which the libraries use too."""

    def __init__(self, backend, device):
        if backend != "cuda":
            raise CannotPlay(f"streams are filled by CUDA's driver, and this is {backend}")
        self.driver = _load()
        self.fill = self.driver["cuMemsetD8Async"]  # (address, pattern, size, stream); not 0: it has failed
        number, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("beginning", "cuInit", 0)
        self._call("the device", "cuDeviceGet", ctypes.byref(number), device)
        self._call("the device's context", "cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
        self._call("the device's context", "cuCtxSetCurrent", context)

    def _call(self, what, name, *arguments):
        code = self.driver[name](*arguments)
        if code:
            raise self.failure(what, code)

    def failure(self, what, code):
        name = ctypes.c_char_p()
        is_known = self.driver["cuGetErrorName"](code, ctypes.byref(name)) == 0 and name.value
        return Failed(f"{what}: {name.value.decode() if is_known else 'an unknown error'} ({code})")

    def alloc(self, size):
        address = ctypes.c_uint64()
        self._call(f"{size} bytes of the device", "cuMemAlloc_v2", ctypes.byref(address), size)
        return address.value

    def free(self, address):
        self._call("giving memory back", "cuMemFree_v2", address)

    def copy(self, target, source, size, stream):
        """Copies within the device. Does not wait."""
        self._call("copying a block", "cuMemcpyDtoDAsync_v2", target, source, size, stream)

    def read(self, address, size):
        """The bytes that are there now. The caller has waited for the streams that write there."""
        target = ctypes.create_string_buffer(size)
        self._call("reading what was copied", "cuMemcpyDtoH_v2", target, address, size)
        return target.raw

    def wait(self, stream):
        self._call("waiting for a stream", "cuStreamSynchronize", stream)
