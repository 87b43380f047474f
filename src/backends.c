/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * backends: which backend tarn was built for. The only file above the backends that knows; the
 * build defines TARN_HAVE_CUDA_BACKEND for it and for no other.
 */
#include "tarn/backend.h"

#include <stdbool.h>

#include "base/error.h"

static bool is_memory_kind(tarn_memory_kind kind)
{
    switch (kind) {
    case TARN_MEMORY_KIND_DEVICE:
    case TARN_MEMORY_KIND_PINNED:
    case TARN_MEMORY_KIND_SHARED:
    case TARN_MEMORY_KIND_HOST:
        return true;
    }
    return false;
}

#if defined(TARN_HAVE_CUDA_BACKEND)

#include "tarn/cuda.h"

#define BACKEND_NAME "cuda"

static tarn_status open_backend(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    return tarn_cuda_backend_open(device, kind, backend_out);
}

#else

#include "tarn/host.h"

#define BACKEND_NAME "host"

static tarn_status open_backend(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    if (device != 0) {
        return tn_fail(TARN_STATUS_INVALID_DEVICE,
                       "there is no device %d: the host backend has device 0 alone", device);
    }
    if (kind != TARN_MEMORY_KIND_DEVICE && kind != TARN_MEMORY_KIND_HOST) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       "the host backend has no %s memory, only plain host memory",
                       kind == TARN_MEMORY_KIND_PINNED ? "pinned" : "shared");
    }
    return tarn_host_backend_open(NULL, backend_out);
}

#endif

tarn_status tarn_backend_open(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    if (!backend_out)
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "tarn_backend_open: backend_out is NULL");
    if (!is_memory_kind(kind)) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "tarn_backend_open: %d is no kind of memory: see tarn_memory_kind",
                       (int)kind);
    }
    return open_backend(device, kind, backend_out);
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
