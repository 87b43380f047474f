/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* arena: creation, and the list of loans. */
#include "arena.h"

#include <string.h>

#include "../../base/arith.h"
#include "../../base/host_memory.h"
#include "../index/region_index.h"

void tn_arenas_init(struct tn_arenas *arenas)
{
    atomic_init(&arenas->are_wanted, false);
    atomic_init(&arenas->active_count, 0);
    arenas->all = NULL;
    arenas->loans = NULL;
    arenas->loan_count = 0;
    arenas->memory = NULL;
    tn_remote_frees_init(&arenas->remote);
}

void tn_arenas_fini(struct tn_arenas *arenas)
{
    for (uint32_t i = 0; arenas->all && i < TN_ARENA_COUNT; i++) {
        if (arenas->all[i].has_index) tn_region_index_fini(&arenas->all[i].part.index);
        if (arenas->all[i].has_slices) tn_slices_fini(&arenas->all[i].part.slices);
        tn_label_stats_free(&arenas->all[i].part.labels);
        tn_biased_mutex_fini(&arenas->all[i].lock);
    }
    tn_host_memory_free(arenas->loans);
    tn_host_memory_free(arenas->memory);
    tn_remote_frees_fini(&arenas->remote);
    tn_arenas_init(arenas);
}

bool tn_arenas_create(struct tn_arenas *arenas)
{
    if (arenas->all) return true;
    size_t alignment = alignof(struct tn_arena);
    void *memory =
        tn_host_memory_alloc_zeroed(TN_ARENA_COUNT * sizeof(struct tn_arena) + alignment);
    if (!memory) return false;
    arenas->loans =
        tn_host_memory_alloc(TN_ARENA_COUNT * TN_ARENA_LOANS_MAX * sizeof *arenas->loans);
    if (!arenas->loans) {
        tn_host_memory_free(memory);
        return false;
    }
    uintptr_t first = tn_round_down((uintptr_t)memory + alignment - 1, alignment);
    arenas->memory = memory;
    arenas->all = (struct tn_arena *)first;
    for (uint32_t i = 0; i < TN_ARENA_COUNT; i++)
        tn_biased_mutex_init(&arenas->all[i].lock);
    return true;
}

size_t tn_arenas_metadata_bytes(const struct tn_arenas *arenas)
{
    if (!arenas->all) return 0;
    size_t bytes = TN_ARENA_COUNT * sizeof *arenas->all +
                   (size_t)TN_ARENA_COUNT * TN_ARENA_LOANS_MAX * sizeof *arenas->loans +
                   tn_remote_frees_bytes(&arenas->remote);
    for (uint32_t i = 0; i < TN_ARENA_COUNT; i++) {
        if (arenas->all[i].has_index)
            bytes += tn_region_index_metadata_bytes(&arenas->all[i].part.index);
        if (arenas->all[i].has_slices)
            bytes += tn_slices_reserved_bytes(&arenas->all[i].part.slices);
        bytes += tn_label_stats_bytes(&arenas->all[i].part.labels);
    }
    return bytes;
}

void tn_arenas_freeze(struct tn_arenas *arenas)
{
    for (uint32_t i = 0; arenas->all && i < TN_ARENA_COUNT; i++)
        tn_biased_mutex_lock(&arenas->all[i].lock);
}

void tn_arenas_thaw(struct tn_arenas *arenas)
{
    for (uint32_t i = 0; arenas->all && i < TN_ARENA_COUNT; i++)
        tn_biased_mutex_unlock(&arenas->all[i].lock);
}

/* Returns how many loans begin at or before the chunk. */
static uint32_t count_loans_until(const struct tn_arenas *arenas, uint32_t chunk)
{
    uint32_t low = 0, high = arenas->loan_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (arenas->loans[middle].first_chunk <= chunk) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void tn_arenas_add_loan(struct tn_arenas *arenas, struct tn_loan loan)
{
    struct tn_loan *at = &arenas->loans[count_loans_until(arenas, loan.first_chunk)];
    memmove(at + 1, at, (size_t)(&arenas->loans[arenas->loan_count] - at) * sizeof *at);
    *at = loan;
    arenas->loan_count++;
}

struct tn_loan *tn_arenas_find_loan(const struct tn_arenas *arenas, uint32_t chunk)
{
    uint32_t place = count_loans_until(arenas, chunk);
    if (place == 0) return NULL;
    struct tn_loan *loan = &arenas->loans[place - 1];
    return chunk - loan->first_chunk < loan->chunk_count ? loan : NULL;
}

void tn_arenas_remove_loan(struct tn_arenas *arenas, struct tn_loan *loan)
{
    const struct tn_loan *end = &arenas->loans[arenas->loan_count--];
    memmove(loan, loan + 1, (size_t)(end - loan - 1) * sizeof *loan);
}
