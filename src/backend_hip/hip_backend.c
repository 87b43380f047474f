/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hip_backend: the library of HIP's runtime, and opening its devices. */
#include "tarn/hip.h"

#include "hip_device.h"

/* A name for each binary interface. Of all, that is taken which the program has; else the newest. */
static const char *const names[] = { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                     NULL };

static struct tn_gpu_library library = {
    .vendor = &tn_hip_vendor,
    .names = names,
    .lock = TN_MUTEX_INIT,
};

tarn_status tarn_hip_backend_open(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    return tn_gpu_open(&library, "tarn_hip_backend_open", device, kind, backend_out);
}

tarn_status tn_hip_device_count(int *count_out)
{
    return tn_gpu_device_count(&library, count_out);
}

tarn_status tn_hip_current_device(int *device_out)
{
    return tn_gpu_current_device(&library, device_out);
}
