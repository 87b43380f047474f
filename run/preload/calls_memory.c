/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * calls_memory: allocations and frees of device memory, and what is told about them.
 *
 *     allocation  ── a pool serves it ─────────────────────────────► its address
 *                 └─ it cannot, or may not ── the vendor ── no memory ── pools give back ── the vendor again
 *     free        ── a pool has the address ───────────────────────► freed there
 *                 └─ no pool has it ── the vendor
 *
 * So a program gets "out of memory" only from the vendor, when pools hold nothing that they could give back.
 *
 * Cost: over that of the pool the vendor's query for the current context and some loads.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

#include "call_forms.h"
#include "captures.h"
#include "context_pools.h"
#include "give_way.h"
#include "notes.h"
#include "own_pools.h"
#include "pass.h"
#include "peers.h"
#include "vendor.h"

/* --- allocations ------------------------------------------------------------------------------------- */

/* An allocation, stream-ordered or not. */
struct alloc_call {
    enum tn_call call;
    tn_vendor_address *address;
    size_t size_bytes;
    void *stream; /* as the pools take it */
    bool has_stream;
};

/* Serves the call from a pool. Returns why it did not, or TN_REASON_COUNT. */
static enum tn_reason serve(const struct tn_vendor *vendor, const struct alloc_call *call)
{
    tarn_pool *pool;
    void *address;
    enum tn_reason reason = tn_pass_reason();
    if (reason != TN_REASON_COUNT) return reason;
    if (call->size_bytes == 0 || !call->address) return TN_REASON_ZERO;
    if (tn_pass_is_too_large(call->size_bytes)) return TN_REASON_LARGE;
    if (call->has_stream && tn_own_pools_are_seen()) return TN_REASON_OWN_POOLS;
    reason = tn_context_pools_find(vendor, &pool);
    if (reason != TN_REASON_COUNT) return reason;
    tn_pass_enter_pool();
    tarn_status status = call->has_stream
                             ? tarn_pool_alloc_on(pool, call->size_bytes, call->stream, &address)
                             : tarn_pool_alloc(pool, call->size_bytes, &address);
    tn_pass_leave_pool();
    if (status != TARN_STATUS_OK) return TN_REASON_NO_MEMORY;
    *call->address = (tn_vendor_address)address;
    return TN_REASON_COUNT;
}

tn_vendor_error tn_calls_end_alloc(struct tn_vendor_call call, tn_vendor_address address,
                                   size_t size_bytes, const void *stream)
{
    tn_notes_vendor_alloc(address, size_bytes);
    tn_recording_end_alloc(call, (const void *)address, size_bytes, stream);
    return TN_ERROR_SUCCESS;
}

tn_vendor_error tn_calls_end_failed_alloc(struct tn_vendor_call call, tn_vendor_error error)
{
    tn_recording_end_alloc(call, NULL, 0, NULL);
    return error;
}

static tn_vendor_error end_passed_alloc(const struct alloc_call *call, enum tn_reason reason,
                                        struct tn_vendor_call recorded, tn_vendor_error error)
{
    tn_notes_passed(call->call, reason);
    return error == TN_ERROR_SUCCESS && call->address
               ? tn_calls_end_alloc(recorded, *call->address, call->size_bytes, call->stream)
               : tn_calls_end_failed_alloc(recorded, error);
}

tn_vendor_error tn_call_alloc(tn_vendor_address *address, size_t size_bytes)
{
    const struct tn_vendor *vendor = tn_vendor_find();
    if (!TN_VENDOR_HAS(vendor, alloc)) return TN_ERROR_NOT_INITIALIZED;
    struct alloc_call call = { .call = TN_CALL_alloc,
                               .address = address,
                               .size_bytes = size_bytes };
    enum tn_reason reason = serve(vendor, &call);
    if (reason == TN_REASON_COUNT) return TN_ERROR_SUCCESS;
    struct tn_vendor_call recorded = tn_recording_begin();
    tn_vendor_error error = TN_GIVE_WAY(TN_VENDOR_CALL(vendor, alloc)(address, size_bytes));
    return end_passed_alloc(&call, reason, recorded, error);
}

typedef tn_vendor_error (*alloc_async_function)(tn_vendor_address *, size_t, void *);
typedef tn_vendor_error (*free_async_function)(tn_vendor_address, void *);

tn_vendor_error tn_calls_alloc_async(enum tn_call function, tn_vendor_address *address,
                                     size_t size_bytes, void *stream, void *pool_stream)
{
    const struct tn_vendor *vendor = tn_vendor_find();
    if (!vendor || !vendor->intercepted[function]) return TN_ERROR_NOT_INITIALIZED;
    alloc_async_function next = (alloc_async_function)vendor->intercepted[function];
    struct alloc_call call = { function, address, size_bytes, pool_stream, true };
    enum tn_reason reason = serve(vendor, &call);
    if (reason == TN_REASON_COUNT) return TN_ERROR_SUCCESS;
    struct tn_vendor_call recorded = tn_recording_begin();
    tn_vendor_error error = TN_GIVE_WAY(next(address, size_bytes, stream));
    return end_passed_alloc(&call, reason, recorded, error);
}

tn_vendor_error tn_call_alloc_async(tn_vendor_address *address, size_t size_bytes, void *stream)
{
    return tn_calls_alloc_async(TN_CALL_alloc_async, address, size_bytes, stream, stream);
}

/* --- frees ------------------------------------------------------------------------------------------- */

/* The vendor's answer for a free that a pool has refused, so that a program sees what it would see without. */
static tn_vendor_error error_of(tarn_status status)
{
    tarn_error error;
    switch (status) {
    case TARN_STATUS_OK:
        return TN_ERROR_SUCCESS;
    case TARN_STATUS_NOT_LIVE:
    case TARN_STATUS_INTERIOR_ADDRESS:
        return TN_ERROR_INVALID_VALUE;
    case TARN_STATUS_CORRUPT: /* debug mode, which the user has asked for, has found damage; the memory is freed */
        fprintf(stderr, "tarn: %s\n", tarn_last_error().message);
        return TN_ERROR_SUCCESS;
    case TARN_STATUS_OUT_OF_HOST_MEMORY:
        return TN_ERROR_OUT_OF_MEMORY;
    default:
        error = tarn_last_error();
        return error.vendor_code != 0 ? error.vendor_code : TN_ERROR_UNKNOWN;
    }
}

/* While a stream is captured, a pool's memory is kept until that has ended. */
static tarn_status hold(tn_vendor_address address)
{
    void *base;
    size_t size_bytes;
    tarn_status status = tn_context_pools_find_allocation((void *)address, &base, &size_bytes);
    if (status != TARN_STATUS_OK) return status;
    if (base != (void *)address) return TARN_STATUS_INTERIOR_ADDRESS;
    return tn_captures_hold_free(base) ? TARN_STATUS_OK : TARN_STATUS_OUT_OF_HOST_MEMORY;
}

/* FOREIGN_ADDRESS: the free is the vendor's. */
static tarn_status take_back(const struct tn_vendor *vendor, tn_vendor_address address,
                             void *stream, bool has_stream)
{
    enum tn_reason reason = tn_pass_reason();
    if (address == 0) return TARN_STATUS_FOREIGN_ADDRESS;
    if (reason == TN_REASON_CAPTURE) return hold(address);
    if (reason != TN_REASON_COUNT) return TARN_STATUS_FOREIGN_ADDRESS;
    tn_pass_enter_pool();
    if (!has_stream) tn_peers_wait(vendor);
    if (!has_stream && tn_pass_syncs_frees())
        tn_context_pools_wait_for(vendor, (const void *)address);
    tarn_status status = has_stream ? tn_context_pools_free_on(vendor, (void *)address, stream)
                                    : tn_context_pools_free(vendor, (void *)address);
    tn_pass_leave_pool();
    return status;
}

static void note_passed_free(enum tn_call call, tn_vendor_address address, tn_vendor_error error)
{
    tn_notes_vendor_call(TN_PURPOSE_MEMORY);
    tn_notes_passed(call, tn_pass_is_asked() ? TN_REASON_ASKED : TN_REASON_NOT_OURS);
    if (error == TN_ERROR_SUCCESS && address != 0) tn_notes_vendor_free(address);
}

tn_vendor_error tn_call_free(tn_vendor_address address)
{
    const struct tn_vendor *vendor = tn_vendor_find();
    if (!TN_VENDOR_HAS(vendor, free)) return TN_ERROR_NOT_INITIALIZED;
    tarn_status status = take_back(vendor, address, NULL, false);
    if (status != TARN_STATUS_FOREIGN_ADDRESS) return error_of(status);
    struct tn_vendor_call recorded = tn_recording_begin();
    tn_vendor_error error = TN_VENDOR_CALL(vendor, free)(address);
    note_passed_free(TN_CALL_free, address, error);
    tn_recording_end_free(recorded, error, (const void *)address, NULL);
    return error;
}

tn_vendor_error tn_calls_free_async(enum tn_call function, tn_vendor_address address, void *stream,
                                    void *pool_stream)
{
    const struct tn_vendor *vendor = tn_vendor_find();
    if (!vendor || !vendor->intercepted[function]) return TN_ERROR_NOT_INITIALIZED;
    free_async_function next = (free_async_function)vendor->intercepted[function];
    tarn_status status = take_back(vendor, address, pool_stream, true);
    if (status != TARN_STATUS_FOREIGN_ADDRESS) return error_of(status);
    struct tn_vendor_call recorded = tn_recording_begin();
    tn_vendor_error error = next(address, stream);
    note_passed_free(function, address, error);
    tn_recording_end_free(recorded, error, (const void *)address, pool_stream);
    return error;
}

tn_vendor_error tn_call_free_async(tn_vendor_address address, void *stream)
{
    return tn_calls_free_async(TN_CALL_free_async, address, stream, stream);
}

/* A free that the vendor makes fail is held again, until the next capture has ended. */
void tn_calls_free_held(const struct tn_vendor *vendor)
{
    void *address;
    tarn_status status = TARN_STATUS_OK;
    while (status == TARN_STATUS_OK && !tn_captures_any() && (address = tn_captures_take_free())) {
        tn_pass_enter_pool();
        status = tn_context_pools_free(vendor, address);
        tn_pass_leave_pool();
        if (status == TARN_STATUS_VENDOR_ERROR) (void)tn_captures_hold_free(address);
    }
}

/* --- questions --------------------------------------------------------------------------------------- */

/* The program can have the free memory of the pools as well as that of the device. */
tn_vendor_error tn_call_get_info(size_t *free_bytes, size_t *total_bytes)
{
    const struct tn_vendor *vendor = tn_vendor_find();
    if (!TN_VENDOR_HAS(vendor, get_info)) return TN_ERROR_NOT_INITIALIZED;
    tn_vendor_error error = TN_VENDOR_CALL(vendor, get_info)(free_bytes, total_bytes);
    if (error != TN_ERROR_SUCCESS || !free_bytes || tn_pass_is_asked()) return error;
    int device = tn_context_pools_current_device(vendor);
    if (device >= 0) *free_bytes += tn_context_pools_free_bytes(device);
    return error;
}

/* The range is that of the static pool, which MPI libraries need. */
tn_vendor_error tn_call_get_range(tn_vendor_address *base, size_t *size_bytes,
                                  tn_vendor_address address)
{
    const struct tn_vendor *vendor = tn_vendor_find();
    if (!TN_VENDOR_HAS(vendor, get_range)) return TN_ERROR_NOT_INITIALIZED;
    return TN_VENDOR_CALL(vendor, get_range)(base, size_bytes, address);
}

static void note_handle(tn_vendor_address address)
{
    static atomic_flag has_warned = ATOMIC_FLAG_INIT;
    tn_notes_passed(TN_CALL_get_ipc_handle, TN_REASON_HANDLE);
    if (!tn_log_is_on(TARN_LOG_LEVEL_WARNING) || atomic_flag_test_and_set(&has_warned)) return;
    tn_log(
        TARN_LOG_LEVEL_WARNING,
        "a handle for other processes of %#zx stands for the whole static pool around it, and may open at its start; with "
        "TARN_RUN_UP_TO larger requests stay out of pools",
        (size_t)address);
}

/* The handle stands for the whole static pool, and opens at its start. Libraries that ask for the range first know that. */
tn_vendor_error tn_call_get_ipc_handle(void *handle, tn_vendor_address address)
{
    void *start;
    size_t bytes;
    const struct tn_vendor *vendor = tn_vendor_find();
    if (!TN_VENDOR_HAS(vendor, get_ipc_handle)) return TN_ERROR_NOT_INITIALIZED;
    if (tn_context_pools_find_allocation((void *)address, &start, &bytes) == TARN_STATUS_OK)
        note_handle(address);
    return TN_VENDOR_CALL(vendor, get_ipc_handle)(handle, address);
}
