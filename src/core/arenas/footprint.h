/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * footprint: why a pool holds each byte, by tarn_footprint_part. This is the only place that decides it.
 *
 *     footprint ─┬─ joined pieces ─┬─ chunks ─┬─ used: requested, rounding, slices
 *                │                 │          └─ free: captured, pending, arenas
 *                │                 │                   what is left: shut_in, unless its piece can leave or is on hold
 *                │                 └─ edges
 *                └─ other pieces: unreleased, transit
 *
 * The pool sees the blocks of debug mode, and not what the program asked for: tn_debug_adjust_stats corrects that.
 *
 * Requires: the pool's lock. Active arenas are looked at one after the other, and keep what they have; arenas may also be
 * closed.
 * Cost: O(pieces), and in a contiguous pool O(free regions of a unit or more); while memory there waits for streams, O(free
 * regions). With captures also O(n) in free regions
 * that belong to them or wait for several streams.
 */
#ifndef TN_FOOTPRINT_H
#define TN_FOOTPRINT_H

#include "../serve/pool_struct.h"

/* Writes the bytes of each part. They are the footprint together. */
void tn_footprint_sum(const struct tarn_pool *pool, size_t part_bytes[TARN_FOOTPRINT_PARTS_MAX]);

/* The free bytes among them, without those of captures. */
size_t tn_footprint_free_bytes(const size_t part_bytes[TARN_FOOTPRINT_PARTS_MAX]);

/* The free bytes of a region of a pool that passes through, whose allocations end inside their last chunks. */
size_t tn_footprint_bytes_of(const struct tarn_pool *pool, const struct tn_static_pool *owner,
                             const struct tn_region *region);

/* Whether a piece that arrives is of initial_bytes, or the caller's memory. */
bool tn_footprint_is_initial(const struct tarn_pool *pool, const struct tn_piece *arriving);

/* Keeps the parts of the largest footprint, if a piece that has just arrived has made it. If a look takes long, and few
 * allocations have come since the last one, keeps the parts of that, and counts the new bytes as in transit. */
void tn_footprint_note_growth(struct tarn_pool *pool, const struct tn_piece *arrived);

/* Makes the present parts those of the largest footprint. */
void tn_footprint_reset_peak(struct tarn_pool *pool);

#endif
