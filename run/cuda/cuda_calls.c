/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_calls: functions that HIP does not have. */
#include "cuda_calls.h"

#include "base/compiler.h"

#include "../preload/call_forms.h"
#include "../preload/lookup.h"
#include "../preload/peers.h"

/* --- memory ------------------------------------------------------------------------------------------ */

tn_vendor_error tn_call_alloc_async_of_thread(tn_vendor_address *address, size_t size_bytes,
                                              void *stream)
{
    return tn_calls_alloc_async(TN_CALL_alloc_async_of_thread, address, size_bytes, stream,
                                tn_stream_of_thread(stream));
}

tn_vendor_error tn_call_free_async_of_thread(tn_vendor_address address, void *stream)
{
    return tn_calls_free_async(TN_CALL_free_async_of_thread, address, stream,
                               tn_stream_of_thread(stream));
}

TN_PASS(alloc_32, OLD, (unsigned *address, unsigned size_bytes), (address, size_bytes))
TN_PASS_ALLOC(alloc_from_pool_of_thread,
              (tn_vendor_address * address, size_t size_bytes, void *pool, void *stream),
              (address, size_bytes, pool, stream), size_bytes, tn_stream_of_thread(stream))
TN_SET_POOL(set_pool_of_location, (void *location, int type, void *pool), (location, type, pool))

tn_vendor_error tn_cuda_range_of_allocation(tn_vendor_address *base, size_t *size_bytes,
                                            tn_vendor_address address)
{
    void *start;
    size_t bytes;
    if (tn_context_pools_find_allocation((void *)address, &start, &bytes) != TARN_STATUS_OK)
        return tn_call_get_range(base, size_bytes, address);
    if (base) *base = (tn_vendor_address)start;
    if (size_bytes) *size_bytes = bytes;
    return TN_ERROR_SUCCESS;
}

/* --- contexts ---------------------------------------------------------------------------------------- */

/* A green context shares its memory with the device's primary context, whose work an event on it would not cover. */
tn_vendor_error tn_call_from_green(void **context, void *green_context)
{
    TN_BEGIN_CALL(from_green);
    tn_vendor_error error = next(context, green_context);
    if (error == TN_ERROR_SUCCESS && *context && !tn_context_pools_are_of_parent())
        tn_context_pools_refuse(*context);
    return error;
}

TN_ENABLE_PEER(enable_peer, (void *other, unsigned flags), (other, flags))

#define DESTROY_CONTEXT(function)                                      \
    tn_vendor_error tn_call_##function(void *context)                  \
    {                                                                  \
        TN_BEGIN_CALL(function);                                       \
        tn_context_pools_trim_of(context);                             \
        struct tn_ending_pool ending = tn_context_pools_take(context); \
        tn_peers_forget(context);                                      \
        return tn_context_pools_end(ending, next(context));            \
    }
DESTROY_CONTEXT(destroy_context_2)
DESTROY_CONTEXT(destroy_context)

#define RESET_PRIMARY(function)                                               \
    tn_vendor_error tn_call_##function(int device)                            \
    {                                                                         \
        TN_BEGIN_CALL(function);                                              \
        tn_context_pools_trim_primary(device);                                \
        struct tn_ending_pool ending = tn_context_pools_take_primary(device); \
        return tn_context_pools_end(ending, next(device));                    \
    }
RESET_PRIMARY(reset_primary_7)
RESET_PRIMARY(reset_primary)

/* The last release ends the context. The driver tells only afterwards which one that was. */
static void end_released(const struct tn_vendor *vendor, int device)
{
    unsigned flags;
    int is_active = 1;
    if (vendor->table.get_primary_state && !tn_context_pools_are_of_parent() &&
        vendor->table.get_primary_state(device, &flags, &is_active) == TN_ERROR_SUCCESS &&
        !is_active)
        tn_context_pools_abandon(tn_context_pools_take_primary(device));
}

#define RELEASE_PRIMARY(function)                                    \
    tn_vendor_error tn_call_##function(int device)                   \
    {                                                                \
        TN_BEGIN_CALL(function);                                     \
        tn_context_pools_trim_primary(device);                       \
        tn_vendor_error error = next(device);                        \
        if (error == TN_ERROR_SUCCESS) end_released(vendor, device); \
        return error;                                                \
    }
RELEASE_PRIMARY(release_primary_7)
RELEASE_PRIMARY(release_primary)

/* --- streams ----------------------------------------------------------------------------------------- */

TN_DESTROY_STREAM(destroy_stream_2)

TN_BEGIN_CAPTURE(begin_capture_10, , (void *stream), (stream))
TN_BEGIN_CAPTURE(begin_capture_10_of_thread, tn_stream_of_thread, (void *stream), (stream))
TN_BEGIN_CAPTURE(begin_capture_to_graph_of_thread, tn_stream_of_thread,
                 (void *stream, void *graph, const void *nodes, const void *edges, size_t count,
                  int mode),
                 (stream, graph, nodes, edges, count, mode))

/* --- look-ups ---------------------------------------------------------------------------------------- */

#define FLAG_STREAMS_OF_THREADS 2 /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */

tn_vendor_error tn_call_get_address_11(const char *name, void **function, int version,
                                       uint64_t flags)
{
    TN_BEGIN_CALL(get_address_11);
    struct tn_lookup_query query = { name, version, (flags & FLAG_STREAMS_OF_THREADS) != 0 };
    tn_vendor_error error = next(name, function, version, flags);
    if (error == TN_ERROR_SUCCESS) tn_lookup_replace(vendor, &query, function, TN_CALLER);
    return error;
}

tn_vendor_error tn_call_get_address(const char *name, void **function, int version, uint64_t flags,
                                    int *found)
{
    TN_BEGIN_CALL(get_address);
    struct tn_lookup_query query = { name, version, (flags & FLAG_STREAMS_OF_THREADS) != 0 };
    tn_vendor_error error = next(name, function, version, flags, found);
    if (error == TN_ERROR_SUCCESS) tn_lookup_replace(vendor, &query, function, TN_CALLER);
    return error;
}
