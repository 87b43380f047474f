/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * calls_memory: allocations and frees of device memory, and what is told about them.
 *
 *     allocation  ── a pool serves it ─────────────────────────────► its address
 *                 └─ it cannot, or may not ── the driver ── no memory ── pools give back ── the driver again
 *     free        ── a pool has the address ───────────────────────► freed there
 *                 └─ no pool has it ── the driver
 *
 * So a program gets "out of memory" only from the driver, when pools hold nothing that they could give back.
 *
 * Cost: over that of the pool the driver's query for the current context and some loads.
 */
#include <stdio.h>
#include <stdlib.h>

#include "captures.h"
#include "context_pools.h"
#include "vendor.h"
#include "give_way.h"
#include "notes.h"
#include "own_pools.h"
#include "pass.h"
#include "peers.h"

/* --- allocations ------------------------------------------------------------------------------------- */

/* An allocation by cuMemAlloc or cuMemAllocAsync. */
struct alloc_call {
    enum tn_call call;
    tn_cuda_address *address;
    size_t size_bytes;
    void *stream; /* as the pools take it */
    bool has_stream;
};

/* Serves the call from a pool. Returns why it did not, or TN_REASON_COUNT. */
static enum tn_reason serve(const struct tn_driver *driver, const struct alloc_call *call)
{
    tarn_pool *pool;
    void *address;
    enum tn_reason reason = tn_pass_reason();
    if (reason != TN_REASON_COUNT) return reason;
    if (call->size_bytes == 0 || !call->address) return TN_REASON_ZERO;
    if (call->has_stream && tn_own_pools_are_seen()) return TN_REASON_OWN_POOLS;
    reason = tn_context_pools_find(driver, &pool);
    if (reason != TN_REASON_COUNT) return reason;
    tn_pass_enter_pool();
    tarn_status status = call->has_stream
                             ? tarn_pool_alloc_on(pool, call->size_bytes, call->stream, &address)
                             : tarn_pool_alloc(pool, call->size_bytes, &address);
    tn_pass_leave_pool();
    if (status != TARN_STATUS_OK) return TN_REASON_NO_MEMORY;
    *call->address = (tn_cuda_address)address;
    return TN_REASON_COUNT;
}

static tn_cuda_error note_passed_alloc(const struct alloc_call *call, enum tn_reason reason,
                                       tn_cuda_error error)
{
    tn_notes_passed(call->call, reason);
    if (error == TN_CUDA_SUCCESS && call->address)
        tn_notes_vendor_alloc(*call->address, call->size_bytes);
    return error;
}

tn_cuda_error tn_call_cuMemAlloc_v2(tn_cuda_address *address, size_t size_bytes)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuMemAlloc_v2)) return TN_CUDA_NOT_INITIALIZED;
    struct alloc_call call = { .call = TN_CALL_cuMemAlloc_v2,
                               .address = address,
                               .size_bytes = size_bytes };
    enum tn_reason reason = serve(driver, &call);
    if (reason == TN_REASON_COUNT) return TN_CUDA_SUCCESS;
    return note_passed_alloc(
        &call, reason, TN_GIVE_WAY(TN_DRIVER_CALL(driver, cuMemAlloc_v2)(address, size_bytes)));
}

tn_cuda_error tn_call_cuMemAllocAsync(tn_cuda_address *address, size_t size_bytes, void *stream)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuMemAllocAsync)) return TN_CUDA_NOT_INITIALIZED;
    struct alloc_call call = { TN_CALL_cuMemAllocAsync, address, size_bytes, stream, true };
    enum tn_reason reason = serve(driver, &call);
    if (reason == TN_REASON_COUNT) return TN_CUDA_SUCCESS;
    return note_passed_alloc(
        &call, reason,
        TN_GIVE_WAY(TN_DRIVER_CALL(driver, cuMemAllocAsync)(address, size_bytes, stream)));
}

/* The default stream of a function whose name ends in _ptsz is the calling thread's own. */
static void *stream_of_thread(void *stream)
{
    return stream ? stream : TN_CUDA_STREAM_PER_THREAD;
}

tn_cuda_error tn_call_cuMemAllocAsync_ptsz(tn_cuda_address *address, size_t size_bytes,
                                           void *stream)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuMemAllocAsync_ptsz)) return TN_CUDA_NOT_INITIALIZED;
    struct alloc_call call = { TN_CALL_cuMemAllocAsync_ptsz, address, size_bytes,
                               stream_of_thread(stream), true };
    enum tn_reason reason = serve(driver, &call);
    if (reason == TN_REASON_COUNT) return TN_CUDA_SUCCESS;
    return note_passed_alloc(
        &call, reason,
        TN_GIVE_WAY(TN_DRIVER_CALL(driver, cuMemAllocAsync_ptsz)(address, size_bytes, stream)));
}

/* --- frees ------------------------------------------------------------------------------------------- */

/* The driver's answer for a free that a pool has refused, so that a program sees what it would see without. */
static tn_cuda_error error_of(tarn_status status)
{
    tarn_error error;
    switch (status) {
    case TARN_STATUS_OK:
        return TN_CUDA_SUCCESS;
    case TARN_STATUS_NOT_LIVE:
    case TARN_STATUS_INTERIOR_ADDRESS:
        return TN_CUDA_INVALID_VALUE;
    case TARN_STATUS_CORRUPT: /* debug mode, which the user has asked for, has found damage; the memory is freed */
        fprintf(stderr, "tarn: %s\n", tarn_last_error().message);
        return TN_CUDA_SUCCESS;
    case TARN_STATUS_OUT_OF_HOST_MEMORY:
        return TN_CUDA_OUT_OF_MEMORY;
    default:
        error = tarn_last_error();
        return error.vendor_code != 0 ? error.vendor_code : TN_CUDA_UNKNOWN;
    }
}

/* While a stream is captured, a pool's memory is kept until that has ended. */
static tarn_status hold(tn_cuda_address address)
{
    void *base;
    size_t size_bytes;
    tarn_status status = tn_context_pools_find_allocation((void *)address, &base, &size_bytes);
    if (status != TARN_STATUS_OK) return status;
    if (base != (void *)address) return TARN_STATUS_INTERIOR_ADDRESS;
    return tn_captures_hold_free(base) ? TARN_STATUS_OK : TARN_STATUS_OUT_OF_HOST_MEMORY;
}

/* FOREIGN_ADDRESS: the free is the driver's. */
static tarn_status take_back(const struct tn_driver *driver, tn_cuda_address address, void *stream,
                             bool has_stream)
{
    enum tn_reason reason = tn_pass_reason();
    if (address == 0) return TARN_STATUS_FOREIGN_ADDRESS;
    if (reason == TN_REASON_CAPTURE) return hold(address);
    if (reason != TN_REASON_COUNT) return TARN_STATUS_FOREIGN_ADDRESS;
    tn_pass_enter_pool();
    if (!has_stream) tn_peers_wait(driver);
    tarn_status status = has_stream ? tn_context_pools_free_on(driver, (void *)address, stream)
                                    : tn_context_pools_free(driver, (void *)address);
    tn_pass_leave_pool();
    return status;
}

static tn_cuda_error note_passed_free(enum tn_call call, tn_cuda_address address,
                                      tn_cuda_error error)
{
    tn_notes_vendor_call();
    tn_notes_passed(call, tn_pass_is_asked() ? TN_REASON_ASKED : TN_REASON_NOT_OURS);
    if (error == TN_CUDA_SUCCESS && address != 0) tn_notes_vendor_free(address);
    return error;
}

tn_cuda_error tn_call_cuMemFree_v2(tn_cuda_address address)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuMemFree_v2)) return TN_CUDA_NOT_INITIALIZED;
    tarn_status status = take_back(driver, address, NULL, false);
    if (status != TARN_STATUS_FOREIGN_ADDRESS) return error_of(status);
    return note_passed_free(TN_CALL_cuMemFree_v2, address,
                            TN_DRIVER_CALL(driver, cuMemFree_v2)(address));
}

tn_cuda_error tn_call_cuMemFreeAsync(tn_cuda_address address, void *stream)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuMemFreeAsync)) return TN_CUDA_NOT_INITIALIZED;
    tarn_status status = take_back(driver, address, stream, true);
    if (status != TARN_STATUS_FOREIGN_ADDRESS) return error_of(status);
    return note_passed_free(TN_CALL_cuMemFreeAsync, address,
                            TN_DRIVER_CALL(driver, cuMemFreeAsync)(address, stream));
}

tn_cuda_error tn_call_cuMemFreeAsync_ptsz(tn_cuda_address address, void *stream)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuMemFreeAsync_ptsz)) return TN_CUDA_NOT_INITIALIZED;
    tarn_status status = take_back(driver, address, stream_of_thread(stream), true);
    if (status != TARN_STATUS_FOREIGN_ADDRESS) return error_of(status);
    return note_passed_free(TN_CALL_cuMemFreeAsync_ptsz, address,
                            TN_DRIVER_CALL(driver, cuMemFreeAsync_ptsz)(address, stream));
}

/* A free that the driver makes fail is held again, until the next capture has ended. */
void tn_calls_free_held(const struct tn_driver *driver)
{
    void *address;
    tarn_status status = TARN_STATUS_OK;
    while (status == TARN_STATUS_OK && !tn_captures_any() && (address = tn_captures_take_free())) {
        tn_pass_enter_pool();
        status = tn_context_pools_free(driver, address);
        tn_pass_leave_pool();
        if (status == TARN_STATUS_VENDOR_ERROR) (void)tn_captures_hold_free(address);
    }
}

/* --- questions --------------------------------------------------------------------------------------- */

/* The program can have the free memory of the pools as well as that of the device. */
tn_cuda_error tn_call_cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuMemGetInfo_v2)) return TN_CUDA_NOT_INITIALIZED;
    tn_cuda_error error = TN_DRIVER_CALL(driver, cuMemGetInfo_v2)(free_bytes, total_bytes);
    if (error != TN_CUDA_SUCCESS || !free_bytes || tn_pass_is_asked()) return error;
    int device = tn_context_pools_current_device(driver);
    if (device >= 0) *free_bytes += tn_context_pools_free_bytes(device);
    return error;
}

/* The range is that of the static pool, which MPI libraries need. */
tn_cuda_error tn_call_cuMemGetAddressRange_v2(tn_cuda_address *base, size_t *size_bytes,
                                              tn_cuda_address address)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuMemGetAddressRange_v2)) return TN_CUDA_NOT_INITIALIZED;
    return TN_DRIVER_CALL(driver, cuMemGetAddressRange_v2)(base, size_bytes, address);
}

tn_cuda_error tn_call_address_range_of_allocation(tn_cuda_address *base, size_t *size_bytes,
                                                  tn_cuda_address address)
{
    void *start;
    size_t bytes;
    if (tn_context_pools_find_allocation((void *)address, &start, &bytes) != TARN_STATUS_OK)
        return tn_call_cuMemGetAddressRange_v2(base, size_bytes, address);
    if (base) *base = (tn_cuda_address)start;
    if (size_bytes) *size_bytes = bytes;
    return TN_CUDA_SUCCESS;
}

/* The handle stands for the whole static pool, and opens at its start. Libraries that ask for the range first know that. */
tn_cuda_error tn_call_cuIpcGetMemHandle(void *handle, tn_cuda_address address)
{
    void *start;
    size_t bytes;
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuIpcGetMemHandle)) return TN_CUDA_NOT_INITIALIZED;
    if (tn_context_pools_find_allocation((void *)address, &start, &bytes) == TARN_STATUS_OK)
        tn_notes_passed(TN_CALL_cuIpcGetMemHandle, TN_REASON_HANDLE);
    return TN_DRIVER_CALL(driver, cuIpcGetMemHandle)(handle, address);
}
