/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * growth: how large the next static pool is. Pure functions of numbers, in bytes; the pool makes
 * the calls.
 *
 * The wish is the growth factor times the largest static pool held, or the initial size when none
 * is, as a multiple of the vendor's granularity where the caps leave room for that. It is cut down to
 * what the caps allow and never below what the request needs. When the vendor refuses, the wish
 * halves until only the need is left. A wish that was refused is remembered and not repeated until
 * memory was returned, or a few pieces have come. Where all there is was wished for, it is what the device
 * has free, and a refusal takes a 64th of that off, so that little is missed. The need itself is always tried: somebody else may
 * have given memory back meanwhile, and refusing without asking would be a false out-of-memory.
 */
#ifndef TN_GROWTH_H
#define TN_GROWTH_H

#include <stdbool.h>
#include <stddef.h>

struct tn_growth_policy {
    size_t initial_bytes;
    bool takes_all;          /* the first is all that the device has free, whatever initial_bytes */
    double factor;           /* 1 or more */
    size_t growth_bytes_max; /* the user's cap on a further static pool; SIZE_MAX: none */
    size_t limit_bytes;      /* the user's limit on all; SIZE_MAX: none */
    size_t allocation_bytes_max; /* the vendor's cap on one allocation */
    size_t granularity_bytes;    /* the vendor's rounding, a power of two */
};

struct tn_growth_state {
    size_t footprint_bytes;    /* held now */
    size_t largest_bytes;      /* of one static pool held now; 0: none is held */
    size_t refused_bytes;      /* smallest wish that was refused; SIZE_MAX: none was */
    size_t numbered_bytes_max; /* of one more static pool, by the chunk numbers that are left */
    size_t device_free_bytes;  /* as the vendor tells it; asked for only where it is wished for */
};

/* Whether the wish is all that the device has free. */
bool tn_growth_wishes_all(const struct tn_growth_policy *policy,
                          const struct tn_growth_state *state);

/* The size to ask for first. 0 when not even needed_bytes, which is not 0, is allowed. */
size_t tn_growth_first_bytes(const struct tn_growth_policy *policy,
                             const struct tn_growth_state *state, size_t needed_bytes);

/* The size to ask for after asked_bytes was refused; 0 when there is none left to try. */
size_t tn_growth_next_bytes(const struct tn_growth_policy *policy,
                            const struct tn_growth_state *state, size_t asked_bytes,
                            size_t needed_bytes);

#endif
