/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* naive_pool: looks at everything, every time. */
#include "harness/naive_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void naive_pool_init(struct naive_pool *pool)
{
    pool->static_pool_count = 0;
    pool->fit = TARN_FIT_BEST;
}

void naive_pool_fini(struct naive_pool *pool)
{
    for (unsigned i = 0; i < pool->static_pool_count; i++)
        free(pool->static_pools[i].is_live);
}

/* The length of the free run that starts at first_chunk. */
static size_t run_length(const struct naive_static_pool *static_pool, size_t first_chunk)
{
    size_t end = first_chunk;
    while (end < static_pool->chunk_count && !static_pool->is_live[end])
        end++;
    return end - first_chunk;
}

static size_t lead_of(const struct naive_static_pool *static_pool, size_t first_chunk,
                      uint64_t alignment_chunks)
{
    size_t lead = 0;
    while ((static_pool->phase + first_chunk + lead) % alignment_chunks != 0)
        lead++;
    return lead;
}

void naive_pool_add(struct naive_pool *pool, size_t chunk_count, uint64_t phase)
{
    assert(pool->static_pool_count < NAIVE_STATIC_POOLS_MAX);
    struct naive_static_pool *added = &pool->static_pools[pool->static_pool_count++];
    added->chunk_count = chunk_count;
    added->phase = phase;
    added->is_live = calloc(chunk_count, 1);
    assert(added->is_live);
}

bool naive_pool_find(const struct naive_pool *pool, size_t chunk_count, uint64_t alignment_chunks,
                     struct naive_place *place_out)
{
    bool is_found = false;
    size_t best_length = 0;
    for (unsigned i = 0; i < pool->static_pool_count; i++) {
        const struct naive_static_pool *static_pool = &pool->static_pools[i];
        size_t chunk = 0;
        while (chunk < static_pool->chunk_count) {
            size_t length = run_length(static_pool, chunk);
            size_t lead = lead_of(static_pool, chunk, alignment_chunks);
            bool is_better = pool->fit != TARN_FIT_FIRST && length < best_length;
            if (length >= lead + chunk_count && (!is_found || is_better)) {
                is_found = true;
                best_length = length;
                *place_out = (struct naive_place){ i, chunk + lead };
            }
            chunk += length > 0 ? length : 1;
        }
    }
    return is_found;
}

bool naive_pool_is_free(const struct naive_pool *pool, struct naive_place place, size_t chunk_count)
{
    if (place.static_pool >= pool->static_pool_count) return false;
    const struct naive_static_pool *static_pool = &pool->static_pools[place.static_pool];
    return place.first_chunk < static_pool->chunk_count &&
           run_length(static_pool, place.first_chunk) >= chunk_count;
}

void naive_pool_take(struct naive_pool *pool, struct naive_place place, size_t chunk_count)
{
    struct naive_static_pool *static_pool = &pool->static_pools[place.static_pool];
    assert(naive_pool_is_free(pool, place, chunk_count));
    memset(static_pool->is_live + place.first_chunk, 1, chunk_count);
}

bool naive_pool_alloc(struct naive_pool *pool, size_t chunk_count, uint64_t alignment_chunks,
                      struct naive_place *place_out)
{
    if (!naive_pool_find(pool, chunk_count, alignment_chunks, place_out)) return false;
    naive_pool_take(pool, *place_out, chunk_count);
    return true;
}

void naive_pool_free(struct naive_pool *pool, struct naive_place place, size_t chunk_count)
{
    struct naive_static_pool *static_pool = &pool->static_pools[place.static_pool];
    for (size_t i = 0; i < chunk_count; i++) {
        assert(static_pool->is_live[place.first_chunk + i]);
        static_pool->is_live[place.first_chunk + i] = 0;
    }
}

bool naive_pool_resize(struct naive_pool *pool, struct naive_place place, size_t chunk_count,
                       size_t new_chunk_count)
{
    struct naive_static_pool *static_pool = &pool->static_pools[place.static_pool];
    if (new_chunk_count > chunk_count) {
        size_t first = place.first_chunk + chunk_count;
        if (first >= static_pool->chunk_count) return false;
        if (run_length(static_pool, first) < new_chunk_count - chunk_count) return false;
    }
    memset(static_pool->is_live + place.first_chunk, 0, chunk_count);
    memset(static_pool->is_live + place.first_chunk, 1, new_chunk_count);
    return true;
}

size_t naive_pool_largest_free(const struct naive_pool *pool, size_t *run_count_out)
{
    size_t largest = 0;
    *run_count_out = 0;
    for (unsigned i = 0; i < pool->static_pool_count; i++) {
        const struct naive_static_pool *static_pool = &pool->static_pools[i];
        for (size_t chunk = 0; chunk < static_pool->chunk_count; chunk++) {
            size_t length = run_length(static_pool, chunk);
            if (length == 0) continue;
            *run_count_out += 1;
            if (length > largest) largest = length;
            chunk += length;
        }
    }
    return largest;
}
