/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * footprint_share: what most of the memory was for that a pool held beyond its live bytes, and the option that changes
 * it, in one sentence. The parts are those of the largest footprint, when the pool came to hold it; see footprint.h.
 *
 * Memory that came then and that live bytes did not fill later counts as growth.
 *
 * Threads: any. A pool is looked at without locks: exact for one that no thread is using. Cost: O(1).
 */
#ifndef TN_FOOTPRINT_SHARE_H
#define TN_FOOTPRINT_SHARE_H

#include "../core/serve/pool_struct.h"

struct tn_footprint_share {
    tarn_footprint_part part; /* TRANSIT: growth */
    size_t bytes;             /* of the part */
    size_t rest_bytes;        /* held beyond the live bytes; 0: there is nothing to say */
    bool is_contiguous, has_slack, free_waits, reads_environment; /* the pool's */
};

struct tn_footprint_sentence {
    char text[256];
};

/* The largest share of what the pool held at most beyond so many live bytes. There is nothing to say if that is no more
 * than an eighth of them, nor of pools in debug mode, pools that pass through, and pools over the caller's memory. */
struct tn_footprint_share tn_footprint_share_of(const struct tarn_pool *pool,
                                                size_t live_bytes_max);

/* "Of 1.1 GiB beyond the live bytes, 812 MiB were free in pieces that live blocks keep: ..." */
struct tn_footprint_sentence tn_footprint_sentence(const struct tn_footprint_share *share);

#endif
