/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pieces: the memory that a pool has from its backend. A piece is a static pool, or a step of a contiguous pool. Both
 * begin with a struct tn_piece, and have one life, which supply/piece.h moves on:
 *
 *     ARRIVING ── told, inserted ──► JOINED ── wholly free ──► LEAVING ── told, released ──► it is freed
 *        ▲                                                        │  ▲
 *        │                                           the backend  ▼  │ again
 *        └─────────────── no work uses it ────────────────────── REFUSED
 *
 * A chain has pieces in the order in which they were put in. Each piece that has memory is in one of three chains.
 *
 * Threads: no locking; struct tn_pieces says what guards its fields. Cost: O(1).
 */
#ifndef TN_PIECES_H
#define TN_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../index/dependency.h"

enum tn_piece_state {
    TN_PIECE_STATE_ARRIVING = 0, /* not in the pool yet */
    TN_PIECE_STATE_JOINED,
    TN_PIECE_STATE_LEAVING, /* in the pool no more */
    TN_PIECE_STATE_REFUSED /* it has left, but the backend did not release it, or was not to be asked */
};

struct tn_piece {
    void *base; /* address from the backend */
    size_t size_bytes;
    uint32_t chunk_count; /* whole chunks in it */
    enum tn_piece_state state;
    bool is_initial;     /* it is of initial_bytes, or the caller's memory */
    uint64_t id;         /* never reused in a process */
    uint64_t told;       /* the newest observer that was told that it has come; 0: none */
    void *watch;         /* a tarn_watch, or NULL */
    uint32_t hold_count; /* while it is held it does not leave */
    struct tn_dependency dependency; /* if it has left: work that may still use it */
    bool is_idle;                    /* if it has left: it is known that no work uses it */
    struct tn_piece *older, *newer;  /* neighbours in its chain */
    struct tn_piece *next;           /* the next that arrives, or leaves, by the same call */
};

struct tn_piece_chain {
    struct tn_piece *newest;
};

struct tn_pieces {
    struct tn_piece_chain arriving; /* under growth_lock */
    /* Changed under both locks of the pool and with the arenas gathered or frozen. Read under either lock. */
    struct tn_piece_chain joined;
    struct tn_piece_chain leaving; /* the refused pieces, too */
    /* Sums over the joined pieces. */
    size_t joined_bytes;
    uint32_t joined_chunk_count;
    uint32_t joined_count;
    uint32_t held_count; /* pieces that are held; those that arrive, too */
};

static inline void tn_piece_chain_push(struct tn_piece_chain *chain, struct tn_piece *added)
{
    added->newer = NULL;
    added->older = chain->newest;
    if (chain->newest) chain->newest->newer = added;
    chain->newest = added;
}

static inline void tn_piece_chain_remove(struct tn_piece_chain *chain,
                                         const struct tn_piece *removed)
{
    if (removed->older) removed->older->newer = removed->newer;
    if (removed->newer) {
        removed->newer->older = removed->older;
    } else {
        chain->newest = removed->older;
    }
}

/* Returns the piece of that id, or NULL. Cost: O(n). */
static inline struct tn_piece *tn_piece_chain_find(const struct tn_piece_chain *chain, uint64_t id)
{
    struct tn_piece *found = chain->newest;
    while (found && found->id != id)
        found = found->older;
    return found;
}

#endif
