/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator_jemalloc: jemalloc's malloc and free, under names of its own.
 *
 * Its libraries export malloc itself: a program linked with one uses it for all memory, also for the other
 * allocators' metadata. So the build takes jemalloc out of its static library and renames the functions
 * called here (private_jemalloc in peers.cmake). Its shared library cannot be loaded at run time, since it
 * needs thread-local memory that is given out when a program starts.
 *
 * It holds the pages of its blocks and the dirty and muzzy pages, which it has not yet given back. Its
 * metadata are counted apart: some 2.7 MB from the start.
 */
#include "malloc_peer.h"

/* The names that the build gave them. */
void *tn_jemalloc_malloc(size_t size_bytes);
void tn_jemalloc_free(void *address);
int tn_jemalloc_mallctl(const char *name, void *old, size_t *old_bytes, void *new,
                        size_t new_bytes);

/* In a name, "4096" means all arenas. 0: jemalloc does not know the name. */
static size_t read_size(const char *name)
{
    size_t value = 0;
    size_t value_bytes = sizeof value;
    return tn_jemalloc_mallctl(name, &value, &value_bytes, NULL, 0) == 0 ? value : 0;
}

static void look_at_jemalloc(const struct tn_malloc_calls *calls, size_t *held_bytes_out,
                             size_t *metadata_bytes_out)
{
    (void)calls;
    uint64_t epoch = 1; /* any: setting it brings the statistics up to date */
    tn_jemalloc_mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    size_t page_count = read_size("stats.arenas.4096.pactive") +
                        read_size("stats.arenas.4096.pdirty") +
                        read_size("stats.arenas.4096.pmuzzy");
    *held_bytes_out = page_count * read_size("arenas.page");
    *metadata_bytes_out = read_size("stats.metadata");
}

static void trim_jemalloc(const struct tn_malloc_calls *calls)
{
    (void)calls;
    tn_jemalloc_mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    tn_jemalloc_mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
}

static tarn_status open_jemalloc(const struct tn_allocator_settings *settings, void **state_out,
                                 struct tn_reason *reason_out)
{
    static const struct tn_malloc_calls calls = { .alloc = tn_jemalloc_malloc,
                                                  .free = tn_jemalloc_free,
                                                  .look = look_at_jemalloc,
                                                  .trim = trim_jemalloc };
    (void)settings;
    *state_out = tn_malloc_peer_create(&calls, reason_out);
    return *state_out ? TARN_STATUS_OK : TARN_STATUS_OUT_OF_HOST_MEMORY;
}

const struct tn_allocator tn_allocator_jemalloc = TN_MALLOC_PEER("jemalloc", open_jemalloc);
