/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * host_memory: host memory for metadata. Nothing else in the library calls malloc, so that tests
 * can make the n-th call fail and count what is not given back.
 *
 * Threads: any. The hooks are for tests and are set while no other thread is in the library.
 */
#ifndef TN_HOST_MEMORY_H
#define TN_HOST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tn_host_memory_hooks {
    void *(*alloc)(size_t size_bytes); /* NULL: there is no memory */
    void (*free)(void *address);       /* of one that alloc gave, never NULL */
};

/* NULL sets the C library's malloc and free again. */
void tn_host_memory_set_hooks(const struct tn_host_memory_hooks *hooks);

/* size_bytes of undefined content, or NULL. */
void *tn_host_memory_alloc(size_t size_bytes);

/* The same, all zero. */
void *tn_host_memory_alloc_zeroed(size_t size_bytes);

/* NULL is allowed. */
void tn_host_memory_free(void *address);

/*
 * Makes room for at least `needed` items in an array that grows: moves its first used_count items to
 * a larger place when *capacity is too small, and changes nothing when there is none. Grows by an
 * eighth, since metadata is to be small rather than seldom moved. False: no memory.
 */
bool tn_host_memory_grow_array(void **items, uint32_t *capacity, uint32_t used_count,
                               uint32_t needed, size_t item_bytes);

#endif
