/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * mapped: what contiguous pools have beyond a supplier: a range, at the beginning and at the end, and steps that are exported.
 *
 * Cost: that of the vendor's calls.
 */
#ifndef TN_MAPPED_H
#define TN_MAPPED_H

#include "piece.h"

/* Makes a pool contiguous before another thread knows it: reserves its addresses, and makes the supplier of steps its own.
 * Takes growth_lock itself. Errors, reported: NOT_SUPPORTED, INVALID_OPTIONS, OUT_OF_MEMORY (no addresses),
 * OUT_OF_HOST_MEMORY, VENDOR_ERROR. */
tarn_status tn_mapped_reserve_range(struct tarn_pool *pool, const tarn_pool_options *options);

/* Releases the addresses at the end of the pool, unless the vendor has refused a step: then they are lost. Requires:
 * growth_lock. */
void tn_mapped_release_range(struct tarn_pool *pool);

/* Exports the step of a shareable pool that an address lies in. Takes growth_lock itself. Errors: NOT_LIVE,
 * not reported: the program has no memory there; VENDOR_ERROR, OUT_OF_MEMORY and OUT_OF_HOST_MEMORY,
 * reported. */
tarn_status tn_mapped_export(struct tarn_pool *pool, const void *address,
                             tarn_exported_step *step_out);

#endif
