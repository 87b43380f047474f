/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * backends: which backends tarn was built with, and which of them a process uses. The only file above the backends that
 * knows; the build defines TARN_HAVE_<VENDOR>_BACKEND for it, and for no other file.
 *
 * Among several vendors it is the first that shows a device. The variable TARN_VENDOR names one, or the host's memory, which is
 * never taken otherwise. It is settled once in a process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "tarn/backend.h"

#include "backend_common/opening.h"
#include "backend_host/host_device.h"
#include "base/arith.h"
#include "base/error.h"
#include "base/sync.h"

#ifdef TARN_HAVE_CUDA_BACKEND
#include "backend_cuda/cuda_device.h"
#include "tarn/cuda.h"
#endif
#ifdef TARN_HAVE_HIP_BACKEND
#include "backend_hip/hip_device.h"
#include "tarn/hip.h"
#endif
#ifdef TARN_HAVE_ZE_BACKEND
#include "tarn/ze.h"
#endif

/* --- the backends ------------------------------------------------------------------------------ */

struct vendor {
    const char *name;
    tarn_status (*open)(int device, tarn_memory_kind kind, tarn_backend *backend_out);
    tarn_status (*count)(int *count_out);
    tarn_status (*current)(int *device_out);
};

#ifdef TARN_HAVE_ZE_BACKEND
static tarn_status open_ze(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    return tarn_ze_backend_open(device, kind, NULL, backend_out);
}
#endif

static tarn_status open_host(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    tarn_status status = tn_backend_check_number("host", device, 1);
    return status == TARN_STATUS_OK ? tn_host_open_kind(kind, backend_out) : status;
}

static tarn_status count_host(int *count_out)
{
    *count_out = 1;
    return TARN_STATUS_OK;
}

static tarn_status current_host(int *device_out)
{
    *device_out = 0;
    return TARN_STATUS_OK;
}

/* The host's is the last. */
static const struct vendor vendors[] = {
#ifdef TARN_HAVE_CUDA_BACKEND
    { "cuda", tarn_cuda_backend_open, tn_cuda_device_count, tn_cuda_current_device },
#endif
#ifdef TARN_HAVE_HIP_BACKEND
    { "hip", tarn_hip_backend_open, tn_hip_device_count, tn_hip_current_device },
#endif
#ifdef TARN_HAVE_ZE_BACKEND
    { "ze", open_ze, tn_vendor_device_count, tn_vendor_current_device },
#endif
    { "host", open_host, count_host, current_host },
};

enum {
    VENDOR_COUNT = sizeof vendors / sizeof *vendors
};

/* --- which one --------------------------------------------------------------------------------- */

struct choice {
    const struct vendor *vendor; /* NULL: none, for the reason that follows */
    tarn_status status;
    char message[TN_ERROR_MESSAGE_BYTES];
};

/* Settled once, a failure too: vendors' libraries must not be asked again and again, since a thread may fork meanwhile. Threads
 * that ask at the same time ask each for itself: a lock would be held while the system loads a library, whose own functions
 * may come here. */
static struct choice settled;
static _Atomic int settled_state; /* 0: not yet, 1: it is being written, 2: it is */

static void settle_named(struct choice *choice, const char *name)
{
    for (size_t i = 0; i < VENDOR_COUNT; i++) {
        if (strcasecmp(vendors[i].name, name) == 0) choice->vendor = &vendors[i];
    }
    choice->status = TARN_STATUS_INVALID_ENVIRONMENT;
    snprintf(choice->message, sizeof choice->message,
             "TARN_VENDOR=%s names no backend of this tarn, as %s would", name, vendors[0].name);
}

/* The first that shows a device. */
static void settle_present(struct choice *choice)
{
    size_t length = 0;
    choice->status = TARN_STATUS_NO_DEVICE;
    for (size_t i = 0; i + 1 < VENDOR_COUNT; i++) {
        int count = 0;
        tarn_status status = vendors[i].count(&count);
        if (status == TARN_STATUS_OK) {
            choice->vendor = &vendors[i];
            return;
        }
        if (choice->status == TARN_STATUS_NO_DEVICE) choice->status = status;
        int added = snprintf(choice->message + length, sizeof choice->message - length, "%s; ",
                             tarn_last_error().message);
        length = tn_min(length + (size_t)added, sizeof choice->message - 1);
    }
    snprintf(choice->message + length, sizeof choice->message - length,
             "TARN_VENDOR=host takes the host's memory instead");
}

static void settle(struct choice *choice)
{
    const char *name = getenv("TARN_VENDOR");
    if (name && name[0] != '\0')
        settle_named(choice, name);
    else if (VENDOR_COUNT > 2)
        settle_present(choice);
    else
        choice->vendor = &vendors[0];
}

static tarn_status choose(const struct vendor **vendor_out)
{
    struct choice mine = { .vendor = NULL };
    const struct choice *choice = &settled;
    int none = 0;
    if (atomic_load_explicit(&settled_state, memory_order_acquire) != 2) {
        settle(&mine);
        choice = &mine;
        if (atomic_compare_exchange_strong(&settled_state, &none, 1)) {
            settled = mine;
            atomic_store_explicit(&settled_state, 2, memory_order_release);
        }
    }
    *vendor_out = choice->vendor;
    return choice->vendor ? TARN_STATUS_OK : tn_fail(choice->status, "%s", choice->message);
}

/* --- the public functions ---------------------------------------------------------------------- */

tarn_status tarn_backend_open(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    const struct vendor *vendor;
    tarn_status status = tn_backend_check_open("tarn_backend_open", kind, backend_out);
    if (status == TARN_STATUS_OK && kind == TARN_MEMORY_KIND_HOST)
        return tn_host_open_kind(kind, backend_out);
    if (status == TARN_STATUS_OK) status = choose(&vendor);
    if (status == TARN_STATUS_OK && device == TARN_DEVICE_CURRENT)
        status = vendor->current(&device);
    return status == TARN_STATUS_OK ? vendor->open(device, kind, backend_out) : status;
}

tarn_status tarn_backend_device_count(int *count_out)
{
    const struct vendor *vendor;
    if (!count_out) return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "count_out is NULL");
    tarn_status status = choose(&vendor);
    return status == TARN_STATUS_OK ? vendor->count(count_out) : status;
}

tarn_status tarn_backend_current_device(int *device_out)
{
    const struct vendor *vendor;
    if (!device_out) return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "device_out is NULL");
    tarn_status status = choose(&vendor);
    return status == TARN_STATUS_OK ? vendor->current(device_out) : status;
}

const char *tarn_backend_name(void)
{
    const struct vendor *vendor;
    return choose(&vendor) == TARN_STATUS_OK ? vendor->name : "none";
}

void tarn_backend_close(tarn_backend *backend)
{
    if (!backend) return;
    if (backend->operations && backend->operations->close)
        backend->operations->close(backend->state);
    *backend = (tarn_backend){ NULL, NULL };
}
