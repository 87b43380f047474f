/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * piece: the life of all memory that a pool has from its backend, see pieces.h. The pool's supplier does what differs.
 *
 *     tn_piece_acquire         the vendor gives it, or has refused it before: it arrives, and the user is told
 *     tn_piece_arrive          it counts as footprint, and is in transit
 *     tn_piece_join            its chunks are free in the pool: no longer in transit
 *     ...                      it is wholly free
 *     tn_piece_release_free    it leaves the pool, the user is told, and the vendor has it back
 *
 * A piece counts as footprint before growth_lock is let go, and until the vendor has it back. So the limit holds at every
 * moment.
 *
 * Requires: growth_lock, which is let go while the user is told; exceptions are said below. The functions take the pool's
 * lock themselves, and call the vendor without it. Cost: that of the vendor's calls.
 */
#ifndef TN_PIECE_H
#define TN_PIECE_H

#include "pool_growth.h"

/* How much to give back. All zero: everything that is wholly free. */
struct tn_release_rule {
    size_t keep_bytes;      /* the pool goes on holding so much */
    size_t keep_free_bytes; /* stop when wholly free pieces have no more than this */
    bool keeps_spare;       /* stop when one wholly free piece is left */
    bool needs_empty;       /* only while nothing is live in the pool */
    bool is_of_idle;        /* only what no work may still use */
    size_t enough_bytes;    /* stop when so much has left the pool; 0: go on */
    bool asks_device;       /* in a pool with one stream: nothing, unless the device is idle */
    const struct tn_step_plan *place; /* only steps outside it; NULL: all */
};

/* --- coming ---------------------------------------------------------------------------------------- */

/* Begins the life of a piece, whose base and size are set: it counts as footprint and as in transit. */
void tn_piece_arrive(struct tarn_pool *pool, struct tn_piece *piece);

/* Takes memory for the request: what the vendor has refused to take back, if takes_back, without a vendor call; else by
 * the pool's supplier, see there. Tells the user. tn_piece_join must follow, before growth_lock is let go. */
tarn_backend_result tn_piece_acquire(struct tarn_pool *pool, const struct tn_request *request,
                                     enum tn_purpose purpose, bool gathers, bool takes_back,
                                     struct tn_arrival *arrival_out);

/* Makes the pieces part of the pool. Also requires the pool's lock, and the arenas gathered or frozen. False: no host
 * memory, or no numbers are left for the chunks; withdraw them. */
bool tn_piece_join(struct tarn_pool *pool, const struct tn_request *request,
                   const struct tn_arrival *arrival);

/* Ends pieces that the user was told of and that did not join. */
void tn_piece_withdraw_arrival(struct tarn_pool *pool, const struct tn_arrival *arrival);

/* Gives memory back that growth has brought and cannot use. All is as it was before. */
void tn_piece_undo(struct tarn_pool *pool, struct tn_piece *arrived);

/* --- the first --------------------------------------------------------------------------------------- */

/* Acquires initial_bytes, or with TARN_INITIAL_ALL as much as there is, at the beginning of the pool. On failure the pool
 * has none of it; what the vendor did not take back at once counts as refused. Any thread: others may use the pool
 * meanwhile. Takes growth_lock itself. Errors: SIZE_TOO_LARGE, and those of an allocation that needs growth. */
tarn_status tn_piece_take_initial(struct tarn_pool *pool, size_t initial_bytes);

/* Takes over the caller's memory, of a whole chunk or more, at the beginning of the pool. Before another thread knows the
 * pool. Takes growth_lock itself. Errors: OUT_OF_HOST_MEMORY. */
tarn_status tn_piece_take_over(struct tarn_pool *pool, void *address, size_t size_bytes);

/* --- holding ----------------------------------------------------------------------------------------- */

/* As tarn_static_pool_hold and tarn_static_pool_unhold. Take growth_lock and the pool's lock themselves. After unhold, the
 * caller must see to releases that the options ask for. */
tarn_status tn_piece_hold(struct tarn_pool *pool, uint64_t id);
tarn_status tn_piece_unhold(struct tarn_pool *pool, uint64_t id);

/* --- going ------------------------------------------------------------------------------------------- */

/* Whether memory may go back to the vendor now: no capture of the process is under way, or the pool ends. */
bool tn_piece_may_release(const struct tarn_pool *pool);

/* Bytes of pieces that can leave. Requires only the pool's lock, and the arenas gathered. */
size_t tn_piece_wholly_free_bytes(const struct tarn_pool *pool);

/* Gives back again what the vendor has refused, unless a capture of the process is under way. */
struct tn_giving_back tn_piece_release_refused(struct tarn_pool *pool);

/* Gives back what the vendor has refused before, and then wholly free pieces by the rule: static pools the newest first,
 * steps the highest first. None that is held, and none while an observer is told of those that are there. They leave the
 * pool together, before the user is told of the first. If the vendor refuses one, or must not be asked now (NOT_READY), the
 * pool goes on counting the memory, and tries again. */
struct tn_giving_back tn_piece_release_free(struct tarn_pool *pool,
                                            const struct tn_release_rule *rule);

/* --- the end of the pool ----------------------------------------------------------------------------- */

/* Tells the observers that all pieces go, and ends the observers. */
void tn_piece_tell_end(struct tarn_pool *pool);

/* Lets the program touch all memory of the pool again. Requires no lock. */
void tn_piece_allow_all(const struct tarn_pool *pool);

/* Gives everything back. A piece that the vendor refuses twice is lost. */
void tn_piece_release_all(struct tarn_pool *pool);

/* Frees the descriptions of all pieces. Requires no lock. */
void tn_piece_free_all(struct tarn_pool *pool);

#endif
