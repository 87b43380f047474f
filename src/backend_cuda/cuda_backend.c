/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_backend: the library of CUDA's driver, and opening its devices. */
#include "tarn/cuda.h"

#include "cuda_device.h"

static const char *const names[] = { "libcuda.so.1", NULL };

static struct tn_gpu_library library = {
    .vendor = &tn_cuda_vendor,
    .names = names,
    .open_watch = tn_cuda_watch_open,
    .lock = TN_MUTEX_INIT,
};

tarn_status tarn_cuda_backend_open(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    return tn_gpu_open(&library, "tarn_cuda_backend_open", device, kind, backend_out);
}

tarn_status tn_cuda_device_count(int *count_out)
{
    return tn_gpu_device_count(&library, count_out);
}

tarn_status tn_cuda_current_device(int *device_out)
{
    return tn_gpu_current_device(&library, device_out);
}
