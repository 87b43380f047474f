/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * backends: which backend tarn was built for. The only file above the backends that knows; the
 * build defines one TARN_HAVE_<VENDOR>_BACKEND for it, and for no other file.
 */
#include "tarn/backend.h"

#include "backend_common/opening.h"
#include "backend_host/host_device.h"
#include "base/error.h"

#if defined(TARN_HAVE_CUDA_BACKEND)

#include "tarn/cuda.h"

#define BACKEND_NAME "cuda"
#define OPEN_BACKEND tarn_cuda_backend_open

#elif defined(TARN_HAVE_HIP_BACKEND)

#include "tarn/hip.h"

#define BACKEND_NAME "hip"
#define OPEN_BACKEND tarn_hip_backend_open

#elif defined(TARN_HAVE_ZE_BACKEND)

#include "tarn/ze.h"

#define BACKEND_NAME "ze"
#define OPEN_BACKEND open_ze

static tarn_status open_ze(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    return tarn_ze_backend_open(device, kind, NULL, backend_out);
}

#else

#define BACKEND_NAME "host"
#define OPEN_BACKEND open_host

tarn_status tn_vendor_device_count(int *count_out)
{
    *count_out = 1;
    return TARN_STATUS_OK;
}

tarn_status tn_vendor_current_device(int *device_out)
{
    *device_out = 0;
    return TARN_STATUS_OK;
}

static tarn_status open_host(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    tarn_status status = tn_backend_check_number(BACKEND_NAME, device, 1);
    return status == TARN_STATUS_OK ? tn_host_open_kind(kind, backend_out) : status;
}

#endif

tarn_status tarn_backend_open(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    tarn_status status = tn_backend_check_open("tarn_backend_open", kind, backend_out);
    if (status == TARN_STATUS_OK && kind == TARN_MEMORY_KIND_HOST)
        return tn_host_open_kind(kind, backend_out);
    if (status == TARN_STATUS_OK && device == TARN_DEVICE_CURRENT)
        status = tn_vendor_current_device(&device);
    return status == TARN_STATUS_OK ? OPEN_BACKEND(device, kind, backend_out) : status;
}

tarn_status tarn_backend_device_count(int *count_out)
{
    if (!count_out) return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "count_out is NULL");
    return tn_vendor_device_count(count_out);
}

tarn_status tarn_backend_current_device(int *device_out)
{
    if (!device_out) return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "device_out is NULL");
    return tn_vendor_current_device(device_out);
}

const char *tarn_backend_name(void)
{
    return BACKEND_NAME;
}

void tarn_backend_close(tarn_backend *backend)
{
    if (!backend) return;
    if (backend->operations && backend->operations->close)
        backend->operations->close(backend->state);
    *backend = (tarn_backend){ NULL, NULL };
}
