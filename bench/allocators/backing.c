/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* backing: memory from the vendor, counted. */
#include "backing.h"

#include <string.h>

#include "plain_host_backend.h"

static tarn_status open_backend(const struct tn_allocator_settings *settings,
                                tarn_backend *backend_out)
{
    if (settings->backend)
        *backend_out = *settings->backend;
    else if (strcmp(tarn_backend_name(), "host") == 0)
        *backend_out = tn_plain_host_backend();
    else
        return tarn_backend_open(settings->device, TARN_MEMORY_KIND_DEVICE, backend_out);
    return TARN_STATUS_OK;
}

tarn_status tn_backing_init(struct tn_backing *backing,
                            const struct tn_allocator_settings *settings,
                            struct tn_reason *reason_out)
{
    *backing = (struct tn_backing){ .granularity_bytes = 1, .is_borrowed = settings->backend };
    tarn_status status = open_backend(settings, &backing->backend);
    if (status != TARN_STATUS_OK) {
        tn_reason_set(reason_out, "%s", tarn_last_error().message);
        return status;
    }

    tarn_device_properties properties;
    tarn_backend_result result =
        backing->backend.operations->get_properties(backing->backend.state, &properties);
    if (result.status != TARN_STATUS_OK) {
        backing->last_failure = result;
        tn_backing_explain(backing, reason_out);
        tn_backing_fini(backing);
        return result.status;
    }
    backing->granularity_bytes = properties.granularity_bytes;
    return TARN_STATUS_OK;
}

void tn_backing_fini(struct tn_backing *backing)
{
    if (!backing->is_borrowed) tarn_backend_close(&backing->backend);
}

static size_t round_up(const struct tn_backing *backing, size_t size_bytes)
{
    return (size_bytes + backing->granularity_bytes - 1) & ~(backing->granularity_bytes - 1);
}

tarn_status tn_backing_acquire(struct tn_backing *backing, size_t size_bytes, void **address_out)
{
    backing->vendor_calls++;
    tarn_backend_result result =
        backing->backend.operations->acquire(backing->backend.state, size_bytes, address_out);
    if (result.status != TARN_STATUS_OK) {
        backing->last_failure = result;
        return result.status;
    }
    backing->footprint_bytes += round_up(backing, size_bytes);
    if (backing->footprint_bytes > backing->footprint_bytes_max)
        backing->footprint_bytes_max = backing->footprint_bytes;
    return TARN_STATUS_OK;
}

tarn_status tn_backing_release(struct tn_backing *backing, void *address, size_t size_bytes)
{
    backing->vendor_calls++;
    tarn_backend_result result =
        backing->backend.operations->release(backing->backend.state, address, size_bytes);
    if (result.status != TARN_STATUS_OK) {
        backing->last_failure = result;
        return result.status;
    }
    backing->footprint_bytes -= round_up(backing, size_bytes);
    return TARN_STATUS_OK;
}

void tn_backing_explain(const struct tn_backing *backing, struct tn_reason *reason_out)
{
    tn_backend_result_explain(backing->last_failure, reason_out);
}

void tn_backend_result_explain(tarn_backend_result result, struct tn_reason *reason_out)
{
    if (result.vendor_name)
        tn_reason_set(reason_out, "%s (%s, %d)", tarn_status_sentence(result.status),
                      result.vendor_name, result.vendor_code);
    else
        tn_reason_set(reason_out, "%s", tarn_status_sentence(result.status));
}
