/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* host_memory: malloc and free behind two hooks, and the growing array. */
#include "host_memory.h"

#include <stdlib.h>
#include <string.h>

#include "arith.h"

static const struct tn_host_memory_hooks c_library = { malloc, free };

static struct tn_host_memory_hooks current = { malloc, free };

void tn_host_memory_set_hooks(const struct tn_host_memory_hooks *hooks)
{
    current = hooks ? *hooks : c_library;
}

void *tn_host_memory_alloc(size_t size_bytes)
{
    return current.alloc(size_bytes);
}

void *tn_host_memory_alloc_zeroed(size_t size_bytes)
{
    /* calloc does not touch the pages of a large block, and large blocks are common here. */
    if (current.alloc == malloc) return calloc(1, size_bytes);
    void *address = current.alloc(size_bytes);
    if (address) memset(address, 0, size_bytes);
    return address;
}

void tn_host_memory_free(void *address)
{
    if (address) current.free(address);
}

bool tn_host_memory_grow_array(void **items, uint32_t *capacity, uint32_t used_count,
                               uint32_t needed, size_t item_bytes)
{
    enum {
        CAPACITY_MIN = 16
    };
    if (needed <= *capacity) return true;

    size_t target = tn_max((size_t)*capacity + *capacity / 8, tn_max(needed, CAPACITY_MIN));
    if (target > UINT32_MAX) target = needed;
    size_t target_bytes;
    if (!tn_multiply_fits(target, item_bytes, &target_bytes)) return false;
    void *larger = tn_host_memory_alloc(target_bytes);
    if (!larger) return false;

    if (*items) memcpy(larger, *items, used_count * item_bytes);
    tn_host_memory_free(*items);
    *items = larger;
    *capacity = (uint32_t)target;
    return true;
}
