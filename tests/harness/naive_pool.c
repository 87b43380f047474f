/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* naive_pool: looks at everything, every time. */
#include "harness/naive_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_PARTS 256

void naive_pool_init(struct naive_pool *pool)
{
    *pool = (struct naive_pool){
        .fit = TARN_FIT_BEST,
        .newer_from = SIZE_MAX,
        .small_chunk_count_max = SIZE_MAX,
    };
}

void naive_pool_fini(struct naive_pool *pool)
{
    for (unsigned i = 0; i < NAIVE_STATIC_POOLS_MAX; i++)
        free(pool->static_pools[i].is_live);
}

static size_t end_number(const struct naive_static_pool *static_pool)
{
    return static_pool->first_number + static_pool->chunk_count;
}

/* The place of the static pool with the lowest numbers from `number` on. */
static unsigned next_from(const struct naive_pool *pool, size_t number)
{
    unsigned next = NAIVE_STATIC_POOLS_MAX;
    for (unsigned i = 0; i < NAIVE_STATIC_POOLS_MAX; i++) {
        const struct naive_static_pool *static_pool = &pool->static_pools[i];
        if (static_pool->chunk_count == 0 || static_pool->first_number < number) continue;
        if (next == NAIVE_STATIC_POOLS_MAX ||
            static_pool->first_number < pool->static_pools[next].first_number)
            next = i;
    }
    return next;
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

/* Whether nothing has one of these numbers. */
static bool are_unused(const struct naive_pool *pool, size_t first_number, size_t chunk_count)
{
    for (unsigned i = 0; i < NAIVE_STATIC_POOLS_MAX; i++) {
        const struct naive_static_pool *other = &pool->static_pools[i];
        if (other->chunk_count > 0 && first_number < end_number(other) &&
            other->first_number < first_number + chunk_count)
            return false;
    }
    return true;
}

/* Before one more comes. */
static void make_others_newer(struct naive_pool *pool, size_t request_chunk_count)
{
    unsigned first = next_from(pool, 0);
    if (first == NAIVE_STATIC_POOLS_MAX) return;
    pool->small_chunk_count_max = (pool->used_chunk_count_max + request_chunk_count) / SMALL_PARTS;
    size_t first_end = end_number(&pool->static_pools[first]);
    unsigned second = next_from(pool, first_end);
    size_t border =
        second < NAIVE_STATIC_POOLS_MAX ? pool->static_pools[second].first_number : SIZE_MAX;
    if (border < pool->newer_from) pool->newer_from = border;
    if (pool->newer_from == SIZE_MAX) pool->newer_from = first_end;
}

unsigned naive_pool_add(struct naive_pool *pool, size_t chunk_count, uint64_t phase,
                        size_t request_chunk_count)
{
    make_others_newer(pool, request_chunk_count);
    size_t first_number = 0;
    while (!are_unused(pool, first_number, chunk_count))
        first_number += 64;
    size_t end = first_number + chunk_count;
    /* The border lies between static pools. */
    if (first_number < pool->newer_from && pool->newer_from < end) pool->newer_from = end;
    unsigned place = 0;
    while (place < NAIVE_STATIC_POOLS_MAX && pool->static_pools[place].chunk_count > 0)
        place++;
    assert(place < NAIVE_STATIC_POOLS_MAX);
    pool->static_pools[place] = (struct naive_static_pool){
        .chunk_count = chunk_count,
        .first_number = first_number,
        .phase = phase,
        .is_live = calloc(chunk_count, 1),
    };
    assert(pool->static_pools[place].is_live);
    return place;
}

void naive_pool_remove(struct naive_pool *pool, unsigned static_pool)
{
    struct naive_static_pool *removed = &pool->static_pools[static_pool];
    assert(run_length(removed, 0) == removed->chunk_count);
    free(removed->is_live);
    *removed = (struct naive_static_pool){ .chunk_count = 0 };
}

void naive_pool_remove_free(struct naive_pool *pool)
{
    for (unsigned i = 0; i < NAIVE_STATIC_POOLS_MAX; i++) {
        const struct naive_static_pool *static_pool = &pool->static_pools[i];
        if (static_pool->chunk_count > 0 && run_length(static_pool, 0) == static_pool->chunk_count)
            naive_pool_remove(pool, i);
    }
}

/* In the static pools with numbers below this one. */
static bool find_below(const struct naive_pool *pool, size_t end_of_numbers, size_t chunk_count,
                       uint64_t alignment_chunks, struct naive_place *place_out)
{
    bool is_found = false;
    size_t best_length = 0;
    unsigned i = next_from(pool, 0);
    while (i < NAIVE_STATIC_POOLS_MAX && pool->static_pools[i].first_number < end_of_numbers) {
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
        i = next_from(pool, end_number(static_pool));
    }
    return is_found;
}

bool naive_pool_find(struct naive_pool *pool, size_t chunk_count, uint64_t alignment_chunks,
                     struct naive_place *place_out)
{
    if (chunk_count > pool->small_chunk_count_max)
        return find_below(pool, SIZE_MAX, chunk_count, alignment_chunks, place_out);
    while (!find_below(pool, pool->newer_from, chunk_count, alignment_chunks, place_out)) {
        unsigned next = next_from(pool, pool->newer_from);
        if (next == NAIVE_STATIC_POOLS_MAX) return false;
        pool->newer_from = end_number(&pool->static_pools[next]);
    }
    return true;
}

bool naive_pool_may_use(const struct naive_pool *pool, unsigned static_pool, size_t chunk_count)
{
    return chunk_count > pool->small_chunk_count_max ||
           pool->static_pools[static_pool].first_number < pool->newer_from;
}

static void count_used(struct naive_pool *pool, size_t chunk_count)
{
    pool->used_chunk_count += chunk_count;
    if (pool->used_chunk_count > pool->used_chunk_count_max)
        pool->used_chunk_count_max = pool->used_chunk_count;
}

bool naive_pool_is_free(const struct naive_pool *pool, struct naive_place place, size_t chunk_count)
{
    if (place.static_pool >= NAIVE_STATIC_POOLS_MAX) return false;
    const struct naive_static_pool *static_pool = &pool->static_pools[place.static_pool];
    return place.first_chunk < static_pool->chunk_count &&
           run_length(static_pool, place.first_chunk) >= chunk_count;
}

void naive_pool_take(struct naive_pool *pool, struct naive_place place, size_t chunk_count)
{
    struct naive_static_pool *static_pool = &pool->static_pools[place.static_pool];
    assert(naive_pool_is_free(pool, place, chunk_count));
    memset(static_pool->is_live + place.first_chunk, 1, chunk_count);
    count_used(pool, chunk_count);
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
    pool->used_chunk_count -= chunk_count;
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
    pool->used_chunk_count -= chunk_count;
    count_used(pool, new_chunk_count);
    return true;
}

size_t naive_pool_largest_free(const struct naive_pool *pool, size_t *run_count_out)
{
    size_t largest = 0;
    *run_count_out = 0;
    for (unsigned i = 0; i < NAIVE_STATIC_POOLS_MAX; i++) {
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
