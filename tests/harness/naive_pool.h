/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * naive_pool: what a pool should do, written so plainly that it can be believed: one byte a chunk
 * that says free or live, and best fit or first fit by looking at every free run. Does not know addresses: a static
 * pool is a place in an array and an offset into it.
 *
 * The chunks of a static pool have numbers in a row: the lowest that no other has, from a multiple of 64 on. Static pools are
 * searched in the order of these numbers. A border divides them into older and newer ones, once there have been two. A small
 * request has the older ones alone. Where none of them has room, the border moves over the next newer one, and so on.
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
    unsigned static_pool; /* its place in the array */
    size_t first_chunk;
};

struct naive_pool {
    struct naive_static_pool {
        size_t chunk_count;  /* 0: none is in this place */
        size_t first_number; /* of its chunks */
        uint64_t phase;      /* of chunk 0: its address divided by the chunk size */
        unsigned char *is_live;
    } static_pools[NAIVE_STATIC_POOLS_MAX];
    tarn_fit fit; /* best fit unless changed; of good fit only what fits at all is known */
    size_t
        newer_from; /* static pools of these chunk numbers are newer; SIZE_MAX: there is no border */
    size_t small_chunk_count_max; /* so many chunks are a small request */
    size_t used_chunk_count, used_chunk_count_max;
};

void naive_pool_init(struct naive_pool *pool);
void naive_pool_fini(struct naive_pool *pool);

/* Adds a static pool for a request of so many chunks, and returns its place. If it is not the only one: of the others
 * all but the first become newer, and small is from now on a 256th of the most chunks in use, with the request. */
unsigned naive_pool_add(struct naive_pool *pool, size_t chunk_count, uint64_t phase,
                        size_t request_chunk_count);

/* The static pool in the place goes. It has to be wholly free. */
void naive_pool_remove(struct naive_pool *pool, unsigned static_pool);

/* All that are wholly free go. */
void naive_pool_remove_free(struct naive_pool *pool);

/* Best fit: the shortest free run that holds chunk_count chunks at a multiple of alignment_chunks;
 * of equally short ones the first. First fit: the first one. Whether there is one. May move the border. */
bool naive_pool_find(struct naive_pool *pool, size_t chunk_count, uint64_t alignment_chunks,
                     struct naive_place *place_out);

/* Whether a request of so many chunks may lie in this static pool, once it was looked for. */
bool naive_pool_may_use(const struct naive_pool *pool, unsigned static_pool, size_t chunk_count);

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
