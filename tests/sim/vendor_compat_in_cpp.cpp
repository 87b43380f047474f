// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// vendor_compat_in_cpp: the calls that look like the vendor's take a pointer to a pointer of any type in C++.
#ifdef VENDOR_IS_HIP
#include "tarn/hip_compat.h"
#define TARN(name) tarn_hip##name
#else
#include "tarn/cuda_compat.h"
#define TARN(name) tarn_cuda##name
#endif

extern "C" int allocate_in_cpp(void)
{
    double *device = nullptr, *pinned = nullptr, *managed = nullptr, *of_stream = nullptr;
    void *untyped = nullptr;
    int error = TARN(Malloc)(&device, 1000 * sizeof *device);
    if (error == 0) error = TARN(HostMalloc)(&pinned, 1000 * sizeof *pinned);
    if (error == 0) error = TARN(MallocManaged)(&managed, 1000 * sizeof *managed);
    if (error == 0) error = TARN(MallocAsync)(&of_stream, 1000 * sizeof *of_stream, nullptr);
    if (error == 0) error = TARN(Malloc)(&untyped, 1000);
    if (error == 0) error = TARN(Free)(device);
    if (error == 0) error = TARN(HostFree)(pinned);
    if (error == 0) error = TARN(Free)(managed);
    if (error == 0) error = TARN(FreeAsync)(of_stream, nullptr);
    if (error == 0) error = TARN(Free)(untyped);
    return error;
}
