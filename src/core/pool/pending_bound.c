/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pending_bound: a free waits for the oldest work. */
#include "pending_bound.h"

#include "../../base/arith.h"
#include "../supply/pool_growth.h"
#include "../supply/stream_reuse.h"

/* So much may wait, whatever is used: a device must have work while a free waits, and a thread may wake late. An H100 reads
 * and writes as many bytes in 50 us. */
#define PENDING_BYTES_FREE ((size_t)64 << 20)

/* And this part of what the pool holds: two records of unnamed frees, see UNRECORDED_PART. */
#define PENDING_PART_FREE 8

/* A pool that holds at most 1 and this part of the most that was used has nothing to spare by a wait. */
#define HELD_PART_FREE 4

static size_t pending_bytes(const struct tn_stream_entry *entry)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < entry->record_count; i++)
        bytes += entry->records[i].freed_bytes;
    return bytes;
}

/* Whether more memory of unnamed frees waits than may, and a wait for the oldest record may change that. */
static bool exceeds_bound(struct tarn_pool *pool)
{
    uint32_t number = tn_stream_reuse_find_unnamed(pool);
    if (number == TN_STREAM_NONE || tn_captures_are_under_way()) return false;
    const struct tn_stream_entry *entry = &pool->streams->streams[number];
    size_t bytes = pending_bytes(entry);
    if (bytes <= PENDING_BYTES_FREE || entry->is_given_up) return false;
    struct tn_growth_state state = tn_pool_growth_state(pool);
    size_t spared_bytes =
        state.footprint_bytes - tn_min(state.footprint_bytes, state.used_bytes_max);
    return spared_bytes > state.used_bytes_max / HELD_PART_FREE &&
           bytes > state.footprint_bytes / PENDING_PART_FREE &&
           (double)bytes > pool->pending_factor_max * (double)state.used_bytes;
}

void tn_pending_bound_keep(struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_growing(pool));
    unsigned look = 0;
    uint32_t number = tn_stream_reuse_find_unnamed(pool);
    if (pool->pending_factor_max < 0.0 || pool->passes_through || number == TN_STREAM_NONE) return;
    if (pool->streams->streams[number].unrecorded_bytes > 0) return; /* this free was put off */
    while (exceeds_bound(pool)) {
        if (look == TN_STREAM_LOOKS_MAX) {
            pool->streams->streams[tn_stream_reuse_find_unnamed(pool)].is_given_up = true;
            return;
        }
        bool is_under_way = tn_stream_reuse_pause(pool, look);
        bool has_completed = tn_stream_reuse_poll_unnamed(pool);
        if (!is_under_way && !has_completed) return; /* the vendor fails to tell */
        look = has_completed ? 0 : look + 1;
    }
}
