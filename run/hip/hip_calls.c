/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hip_calls: functions that CUDA's driver does not have. */
#include "base/compiler.h"

#include "../preload/call_forms.h"
#include "../preload/lookup.h"
#include "../preload/peers.h"

/* --- memory that stays the runtime's ----------------------------------------------------------------- */

TN_PASS_ALLOC(alloc_with_flags, (tn_vendor_address * address, size_t size_bytes, unsigned flags),
              (address, size_bytes, flags), size_bytes, NULL)
TN_PASS_ALLOC(alloc_pitch,
              (tn_vendor_address * address, size_t *pitch, size_t width, size_t height),
              (address, pitch, width, height), *pitch *height, NULL)

tn_vendor_error tn_call_alloc_3d(struct tn_hip_pitched *pitched, struct tn_hip_extent extent)
{
    TN_BEGIN_CALL(alloc_3d);
    struct tn_vendor_call call = tn_recording_begin();
    tn_notes_passed(TN_CALL_alloc_3d, TN_REASON_KIND);
    tn_vendor_error error = TN_GIVE_WAY(next(pitched, extent));
    if (error != TN_ERROR_SUCCESS) return tn_calls_end_failed_alloc(call, error);
    return tn_calls_end_alloc(call, (tn_vendor_address)pitched->address,
                              pitched->pitch * extent.height * extent.depth, NULL);
}

TN_PASS(alloc_array, KIND,
        (void **array, const void *format, size_t width, size_t height, unsigned flags),
        (array, format, width, height, flags))
TN_PASS(alloc_array_3d, KIND,
        (void **array, const void *format, struct tn_hip_extent extent, unsigned flags),
        (array, format, extent, flags))
TN_PASS(alloc_mipmapped_array, KIND,
        (void **array, const void *format, struct tn_hip_extent extent, unsigned level_count,
         unsigned flags),
        (array, format, extent, level_count, flags))
TN_SET_POOL(set_pool_of_location, (void *location, int type, void *pool), (location, type, pool))

TN_PASS_HOST_ALLOC(alloc_host_2, (void **address, size_t size_bytes, unsigned flags),
                   (address, size_bytes, flags))
TN_PASS_HOST_FREE(free_host_2)

/* --- questions --------------------------------------------------------------------------------------- */

/* The runtime would tell the size of the static pool. */
tn_vendor_error tn_call_get_size(tn_vendor_address address, size_t *size_bytes)
{
    void *start;
    size_t bytes;
    TN_BEGIN_CALL(get_size);
    if (tn_context_pools_find_allocation((void *)address, &start, &bytes) != TARN_STATUS_OK ||
        !size_bytes)
        return next(address, size_bytes);
    *size_bytes = bytes;
    return TN_ERROR_SUCCESS;
}

/* --- devices ----------------------------------------------------------------------------------------- */

TN_ENABLE_PEER(enable_peer, (int other, unsigned flags), (other, flags))
TN_ENABLE_PEER(enable_peer_of_context, (void *other, unsigned flags), (other, flags))

/* All memory on the current device ends. */
tn_vendor_error tn_call_reset_device(void)
{
    TN_BEGIN_CALL(reset_device);
    int device = tn_context_pools_current_device(vendor);
    tn_context_pools_trim_primary(device);
    struct tn_ending_pool ending = tn_context_pools_take_primary(device);
    return tn_context_pools_end(ending, next());
}

/* --- look-ups ---------------------------------------------------------------------------------------- */

/* The answer is a symbol's address: neither version nor flags decide which function it is. */
#define GET_ADDRESS(function, parameters, arguments)                                          \
    tn_vendor_error tn_call_##function parameters                                             \
    {                                                                                         \
        TN_BEGIN_CALL(function);                                                              \
        struct tn_lookup_query query = { .name = name };                                      \
        tn_vendor_error error = next arguments;                                               \
        if (error == TN_ERROR_SUCCESS) tn_lookup_replace(vendor, &query, address, TN_CALLER); \
        return error;                                                                         \
    }
GET_ADDRESS(get_address,
            (const char *name, void **address, int version, uint64_t flags, int *found),
            (name, address, version, flags, found))
GET_ADDRESS(get_address_of_thread,
            (const char *name, void **address, int version, uint64_t flags, int *found),
            (name, address, version, flags, found))
GET_ADDRESS(get_entry_point, (const char *name, void **address, uint64_t flags, int *found),
            (name, address, flags, found))
GET_ADDRESS(get_entry_point_of_thread,
            (const char *name, void **address, uint64_t flags, int *found),
            (name, address, flags, found))
