/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * host_memory: host memory for metadata. Nothing else in the library calls malloc, so tests can make the
 * n-th call fail and count leaks.
 *
 * Threads: any. Tests set the hooks while no other thread is in the library.
 */
#ifndef TN_HOST_MEMORY_H
#define TN_HOST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tn_host_memory_hooks {
    void *(*alloc)(size_t size_bytes); /* NULL: no memory */
    void (*free)(void *address);       /* address: from alloc, never NULL */
};

/* Installs hooks. NULL restores the C library's malloc and free. */
void tn_host_memory_set_hooks(const struct tn_host_memory_hooks *hooks);

/* Returns size_bytes of undefined content, or NULL. */
void *tn_host_memory_alloc(size_t size_bytes);

/* Returns size_bytes of zeros, or NULL. */
void *tn_host_memory_alloc_zeroed(size_t size_bytes);

/* Frees memory of either function. NULL is allowed. */
void tn_host_memory_free(void *address);

/* Makes room for at least `needed` items in a growing array. If *capacity is too small, moves the first
 * used_count items to a larger place. Grows by an eighth only: metadata must be small, and may move often.
 * False: no memory, nothing has changed. */
bool tn_host_memory_grow_array(void **items, uint32_t *capacity, uint32_t used_count,
                               uint32_t needed, size_t item_bytes);

#endif
