/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* calls_kinds: memory that stays the vendor's. The pools give way to it, and the calls are counted. */
#include <stdatomic.h>

#include "call_forms.h"
#include "context_pools.h"
#include "give_way.h"
#include "own_pools.h"
#include "pass.h"

/* While a stream is captured, nothing goes back: that would make the capture invalid. */
bool tn_give_way(tn_vendor_error error)
{
    if (error != TN_ERROR_OUT_OF_MEMORY || tn_pass_reason() != TN_REASON_COUNT) return false;
    tn_pass_enter_pool();
    bool has_released = tn_context_pools_trim();
    tn_pass_leave_pool();
    return has_released;
}

/* --- kinds that both vendors have -------------------------------------------------------------------- */

TN_PASS_ALLOC(alloc_rows,
              (tn_vendor_address * address, size_t *pitch, size_t width, size_t height,
               unsigned element),
              (address, pitch, width, height, element), *pitch *height, NULL)
TN_PASS_ALLOC(alloc_managed, (tn_vendor_address * address, size_t size_bytes, unsigned flags),
              (address, size_bytes, flags), size_bytes, NULL)
TN_PASS_ALLOC(alloc_from_pool,
              (tn_vendor_address * address, size_t size_bytes, void *pool, void *stream),
              (address, size_bytes, pool, stream), size_bytes, stream)
TN_PASS(create_memory, KIND,
        (uint64_t * handle, size_t size_bytes, const void *properties, uint64_t flags),
        (handle, size_bytes, properties, flags))
TN_PASS(create_array, KIND, (void **array, const void *description), (array, description))
TN_PASS(create_array_3d, KIND, (void **array, const void *description), (array, description))
TN_PASS(create_mipmapped_array, KIND, (void **array, const void *description, unsigned level_count),
        (array, description, level_count))

TN_PASS_HOST_ALLOC(alloc_host, (void **address, size_t size_bytes), (address, size_bytes))
TN_PASS_HOST_ALLOC(alloc_host_with_flags, (void **address, size_t size_bytes, unsigned flags),
                   (address, size_bytes, flags))
TN_PASS_HOST_FREE(free_host)

/* --- pools of the vendor's --------------------------------------------------------------------------- */

static atomic_bool are_seen;

bool tn_own_pools_are_seen(void)
{
    return atomic_load_explicit(&are_seen, memory_order_relaxed);
}

void tn_own_pools_note(void)
{
    atomic_store(&are_seen, true);
}

TN_SET_POOL(set_pool, (int device, void *pool), (device, pool))
TN_SET_POOL(set_pool_access, (void *pool, const void *descriptions, size_t count),
            (pool, descriptions, count))
