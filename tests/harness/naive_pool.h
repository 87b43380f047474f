/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * naive_pool: what a pool should do, written so plainly that it can be believed: one byte a chunk
 * that says free or live, and best fit or first fit by looking at every free run. Does not know addresses: a static
 * pool is a number and an offset into it.
 *
 * Cost: O(chunks) a call.
 */
#ifndef NAIVE_POOL_H
#define NAIVE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/tarn.h"

enum {
    NAIVE_STATIC_POOLS_MAX = 64
};

struct naive_place {
    unsigned static_pool; /* counted from 0, in the order they were added */
    size_t first_chunk;
};

struct naive_pool {
    struct naive_static_pool {
        size_t chunk_count;
        uint64_t phase; /* of chunk 0: its address divided by the chunk size */
        unsigned char *is_live;
    } static_pools[NAIVE_STATIC_POOLS_MAX];
    unsigned static_pool_count;
    tarn_fit fit; /* best fit unless changed; of good fit only what fits at all is known */
};

void naive_pool_init(struct naive_pool *pool);
void naive_pool_fini(struct naive_pool *pool);
void naive_pool_add(struct naive_pool *pool, size_t chunk_count, uint64_t phase);

/* Best fit: the shortest free run that holds chunk_count chunks at a multiple of alignment_chunks;
 * of equally short ones the first. First fit: the first one. Whether there is one. */
bool naive_pool_find(const struct naive_pool *pool, size_t chunk_count, uint64_t alignment_chunks,
                     struct naive_place *place_out);

/* Whether all these chunks are there and free. */
bool naive_pool_is_free(const struct naive_pool *pool, struct naive_place place,
                        size_t chunk_count);

/* Makes free chunks live. */
void naive_pool_take(struct naive_pool *pool, struct naive_place place, size_t chunk_count);

/* Finds and takes. */
bool naive_pool_alloc(struct naive_pool *pool, size_t chunk_count, uint64_t alignment_chunks,
                      struct naive_place *place_out);

void naive_pool_free(struct naive_pool *pool, struct naive_place place, size_t chunk_count);

/* In place, into what is free right behind. Whether it can be. */
bool naive_pool_resize(struct naive_pool *pool, struct naive_place place, size_t chunk_count,
                       size_t new_chunk_count);

/* Chunks of the longest free run, and how many runs there are. */
size_t naive_pool_largest_free(const struct naive_pool *pool, size_t *run_count_out);

#endif
