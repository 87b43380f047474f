/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* opening: the checks and the messages. */
#include "opening.h"

#include <stdbool.h>

#include "../base/error.h"
#include "../base/process.h"

/* NULL for a number that is not a kind. */
static const char *kind_name(tarn_memory_kind kind)
{
    switch (kind) {
    case TARN_MEMORY_KIND_DEVICE:
        return "device";
    case TARN_MEMORY_KIND_PINNED:
        return "pinned";
    case TARN_MEMORY_KIND_SHARED:
        return "shared";
    case TARN_MEMORY_KIND_HOST:
        return "plain host";
    }
    return NULL;
}

tarn_status tn_backend_check_open(const char *function, tarn_memory_kind kind,
                                  const tarn_backend *backend_out)
{
    if (!backend_out)
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "%s: backend_out is NULL", function);
    if (!kind_name(kind)) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "%s: %d is no kind of memory: see tarn_memory_kind", function, (int)kind);
    }
    if (!tn_process_watch_forks()) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "%s: no host memory to watch for forks",
                       function);
    }
    return TARN_STATUS_OK;
}

tarn_status tn_backend_check_number(const char *vendor, int number, int count)
{
    if (number >= 0 && number < count) return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_INVALID_DEVICE,
                   "there is no %s device %d; the number of devices is %d", vendor, number, count);
}

tarn_status tn_backend_fail_kind(const char *vendor, int number, tarn_memory_kind kind)
{
    return tn_fail(TARN_STATUS_NOT_SUPPORTED, "%s device %d has no %s memory", vendor, number,
                   kind_name(kind));
}

tarn_status tn_backend_fail_host_memory(const char *vendor, size_t size_bytes)
{
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                   "no host memory for the %zu bytes that describe an open %s backend", size_bytes,
                   vendor);
}

tarn_status tn_backend_fail_open(const char *vendor, int number, tarn_backend_result result,
                                 const char *sentence)
{
    if (!sentence) sentence = result.vendor_name ? result.vendor_name : "no name";
    return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                          "cannot open %s device %d: %s (%s: %s)", vendor, number,
                          tarn_status_sentence(result.status), vendor, sentence);
}
