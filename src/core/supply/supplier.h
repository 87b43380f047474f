/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * supplier: where the pieces of a pool come from. A pool has one supplier from its init on. Its functions do what differs
 * between kinds of pieces; piece.h moves each piece through its life with them.
 *
 *     plain     a static pool for each piece, by the backend's acquire and release
 *     mapped    steps in the range of a contiguous pool, by the backend's range_map and range_unmap
 *
 * A pool that passes through and a pool over the caller's memory have the plain one. How they serve requests is special, and not
 * the life of their pieces.
 *
 * Requires: growth_lock. A function that says so also requires the pool's lock; the others take it themselves, for a look
 * at the pool's state, and call the vendor without it.
 */
#ifndef TN_SUPPLIER_H
#define TN_SUPPLIER_H

#include "../serve/request.h"

/* Pieces that are on their way into the pool by the same call. */
struct tn_arrival {
    struct tn_piece *first; /* the others follow by `next`; NULL: there are none */
    bool is_taken_back;     /* the vendor had refused them before */
    struct tn_step_plan
        plan; /* of a contiguous pool: the place for the request, if chunk_count is not 0 */
};

/* What memory is for. */
enum tn_purpose {
    TN_PURPOSE_REQUEST, /* as much as the growth policy wishes for, at least the need of the request */
    TN_PURPOSE_SLACK,  /* within the slack for streams, see growth.h */
    TN_PURPOSE_INITIAL /* the bytes of the request, wherever they lie; the pool holds nothing yet */
};

/* A walk over the pieces that are wholly free and not held, in the order in which they leave. All zero: its beginning. */
struct tn_free_walk {
    bool is_of_idle;                  /* only over those that no work may still use */
    const struct tn_step_plan *place; /* only steps outside it; NULL: all */
    bool has_begun;
    struct tn_piece *next;
    struct tn_free_step_walk steps;
};

struct tn_supplier {
    const char *piece_name;   /* for messages */
    bool can_be_watched;      /* by a tool, see pool_watch.h */
    size_t description_bytes; /* of host memory, for each piece */

    /* Takes memory for the request from the vendor, and tells the log. Its pieces arrive by tn_piece_arrive. gathers: a
     * place for the request may hold what arenas have free.
     * Returns OK, OUT_OF_MEMORY, OUT_OF_HOST_MEMORY, FORKED or VENDOR_ERROR; or OVER_LIMIT: a cap forbids even the least
     * size, and the backend was not asked. Without OK no piece has arrived; the plan's missing_count tells how many units
     * a contiguous pool misses, 0: unknown, or the range has no place for the request. */
    tarn_backend_result (*acquire)(struct tarn_pool *pool, const struct tn_request *request,
                                   enum tn_purpose purpose, bool gathers,
                                   struct tn_arrival *arrival_out);

    /* Whether a refused piece is of use for the request beside those that arrive already. If so, it is made ready for that.
     * NULL: all are, because free memory beside them may complete a place. */
    bool (*can_reuse)(struct tarn_pool *pool, struct tn_piece *refused,
                      const struct tn_request *request, const struct tn_arrival *arrival);

    /* Makes free chunks of all pieces of the arrival. Requires the pool's lock, and the arenas gathered or frozen. False:
     * no host memory, or no numbers are left for the chunks; nothing has changed. */
    bool (*insert)(struct tarn_pool *pool, const struct tn_request *request,
                   const struct tn_arrival *arrival);

    /* Returns the next piece of the walk, or NULL. The pieces are as they were at the last call, but for a detach. Requires
     * the pool's lock, and the arenas gathered. */
    struct tn_piece *(*find_free)(const struct tarn_pool *pool, struct tn_free_walk *walk);

    /* Takes the chunks of the piece that the walk has just returned out of the index, and notes what they wait for.
     * Requires the pool's lock, and the arenas gathered. False: no host memory. */
    bool (*detach)(struct tarn_pool *pool, struct tn_free_walk *walk, struct tn_piece *piece);

    /* Gives the memory back to the vendor. Returns the vendor's answer. */
    tarn_backend_result (*release)(struct tarn_pool *pool, struct tn_piece *leaving);

    /* Forgets a piece without memory, before it is freed. NULL: nothing is to be done. Requires the pool's lock, and the
     * arenas gathered. */
    void (*forget)(struct tarn_pool *pool, struct tn_piece *released);

    /* At the end of the pool, after the release of all pieces. NULL: nothing is to be done. */
    void (*end)(struct tarn_pool *pool);

    /* See tn_pool_missing_bytes. The result is OUT_OF_MEMORY or OVER_LIMIT. */
    size_t (*count_missing)(struct tarn_pool *pool, const struct tn_request *request,
                            tarn_backend_result result, const struct tn_arrival *arrival);
};

extern const struct tn_supplier tn_plain_supplier, tn_mapped_supplier;

#endif
