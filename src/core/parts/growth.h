/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * growth: the size of the next static pool. Pure functions of numbers, in bytes; the pool makes the backend
 * calls.
 *
 * The wish is the initial size if nothing is held. Later it is so much that the pool then holds growth_factor times
 * the bytes in use:
 *  - At least an eighth of what it would be if all were in use. Free memory may be scattered in parts that are too
 *    small, and the pieces are to be few.
 *  - At most a quarter of what the limit leaves and of what the device has free. Near their end the pool takes little
 *    more than the need.
 *  - At most so much that the pool then holds growth_factor times the most bytes in use, the need included: the bound.
 *  - A whole multiple of the need, so that requests of one size fill their pieces.
 *  - Rounded to a multiple of the granularity if the other caps leave room for that, cut to the caps, and never below
 *    the need of the request. The limit cuts it to the byte: the limit counts requested bytes, so rounding down there
 *    would only leave a rest that costs the vendor as much.
 * Before it grows, a pool gives all wholly free pieces back: each is too small for the request. So after it, what it holds
 * beyond the bound is the need, and what live blocks keep. If something went back, the wish is at least the need rounded up to
 * a quarter of a power of two, within the bound. So sizes that creep need a new piece only now and then. And in a program that
 * repeats itself the pool comes to rest: each piece that leaves is smaller than the one that comes, so the sizes of all, the
 * largest first, rise in lexical order, and they are multiples of a granule with a bounded sum.
 * While threads contend, a pool grows for their arenas, which keep what they have free. Then it gives nothing back and has no
 * bound, or each growth would wait for all threads: on an H100 16 threads made 12 million pairs a second in place of 80.
 *
 * The granularity is the vendor's. A pool that holds as much as the common granularity takes that if it is larger. So
 * sizes, and with them all placement, are the same on all vendors.
 *
 * If the vendor refuses, the wish halves until only the need is left; a further one in whole multiples of that. A refused wish is remembered. It is not
 * repeated until memory was returned, or a few backings have come. With takes_all the wish is the device's
 * free memory, and each refusal takes a 64th of that off, so that little is missed.
 *
 * With slack for streams, a pool also grows where it could serve the request by making a stream wait: within a bound, and
 * by little.
 *
 * The need itself is always tried: another process may have returned memory meanwhile, and a refusal without
 * asking would be a false out-of-memory.
 *
 * A contiguous pool has another wish: so much that it then holds 33/32 of the bytes in use.
 *  - At least a 64th of what it holds, because free memory may be scattered.
 *  - At most the user's cap, and a quarter of what the limit leaves.
 * It takes the need and the wish in steps, each at most a 32nd of what it then holds. So the number of steps follows the
 * logarithm of the size, up to the cap. A small live block keeps its step from going back: at most a 32nd of what the pool
 * held when the step came.
 *
 * Before a contiguous pool grows, wholly free steps go back, so that it holds in proportion to P, the most bytes that were
 * ever in use, the need included:
 *
 *     held then     |------------- P -------------|------- free ------|-- more --|
 *                                                                  1.25 P     1.35 P, and initial_bytes
 *     free steps stay <-----------------------------------------------|          |
 *     those go whose work is known to be done                         |--------->|
 *     the pool waits for the device, and then the others go, too                 |--->
 *
 * A program that needs a step again after each step that goes would never come to rest. So half of what has gone is added
 * to the first bound, up to the second. When P rises, the first bound is 1.25 P again. Memory that live blocks keep counts, but
 * cannot go: that may exceed both.
 */
#ifndef TN_GROWTH_H
#define TN_GROWTH_H

#include <stdbool.h>
#include <stddef.h>

/* The largest granularity of common vendors. */
#define TN_GROWTH_COMMON_GRANULARITY ((size_t)2 << 20)

struct tn_growth_policy {
    size_t initial_bytes;
    bool takes_all;          /* the first takes all free device memory, whatever initial_bytes */
    double factor;           /* 1 or more; see the head */
    double stream_slack;     /* 0 or more; see tn_growth_slack_bytes */
    size_t growth_bytes_max; /* the user's cap on a further static pool; SIZE_MAX: none */
    size_t limit_bytes;      /* the user's limit on requested bytes held; SIZE_MAX: none */
    size_t allocation_bytes_max;     /* the vendor's cap on one allocation */
    size_t granularity_bytes;        /* the vendor's rounding, a power of two */
    size_t common_granularity_bytes; /* a power of two; 1: none */
};

/* How the pool comes to grow. */
enum tn_growth_course {
    TN_GROWTH_COURSE_USUAL,
    TN_GROWTH_COURSE_MADE_WAY,  /* pieces have gone back for it */
    TN_GROWTH_COURSE_FOR_ARENAS /* which keep what they have free: without the bound */
};

struct tn_growth_state {
    size_t footprint_bytes; /* held now */
    size_t used_bytes;      /* of these, live or a capture's */
    size_t used_bytes_max;  /* the most that were ever live, or since the marks were reset */
    bool is_first;          /* no static pool is held */
    enum tn_growth_course course;
    size_t refused_bytes;      /* smallest refused wish; SIZE_MAX: none */
    size_t numbered_bytes_max; /* cap on the next static pool by the chunk numbers left */
    size_t device_free_bytes;  /* from the vendor; SIZE_MAX: unknown */
};

/* Returns whether the wish is all free memory of the device. */
bool tn_growth_wishes_all(const struct tn_growth_policy *policy,
                          const struct tn_growth_state *state);

/* Returns whether the wish depends on the device's free memory, and is so large that the vendor should be asked for
 * it. An answer takes 5 to 10 us on an NVIDIA H100, and a piece of 64 MiB some 45 to 90. */
bool tn_growth_asks_device(const struct tn_growth_policy *policy,
                           const struct tn_growth_state *state, size_t needed_bytes);

/* Returns the size to request first, or 0 if the caps forbid even needed_bytes. Requires: needed_bytes > 0. */
size_t tn_growth_first_bytes(const struct tn_growth_policy *policy,
                             const struct tn_growth_state *state, size_t needed_bytes);

/* Returns how many bytes beyond the bound the pool would hold if it grew by the need. */
size_t tn_growth_excess_bytes(const struct tn_growth_policy *policy,
                              const struct tn_growth_state *state, size_t needed_bytes);

/* Returns the size to request after asked_bytes was refused, or 0 if none is left to try. */
size_t tn_growth_next_bytes(const struct tn_growth_policy *policy,
                            const struct tn_growth_state *state, size_t asked_bytes,
                            size_t needed_bytes);

/* Returns the size of the largest step of a contiguous pool that holds so much with it. Less than the backend's units
 * means one of them. */
size_t tn_growth_step_bytes_max(const struct tn_growth_policy *policy, size_t held_bytes,
                                size_t refused_bytes);

/* Returns by how much a contiguous pool grows that holds something, unless the need is more. */
size_t tn_growth_steps_wish_bytes(const struct tn_growth_policy *policy,
                                  const struct tn_growth_state *state);

/* The need of a contiguous pool so far. All zero: nothing yet. */
struct tn_growth_need {
    size_t used_bytes_max; /* the most in use, with the request, when it grew */
    size_t extra_bytes;    /* on top of the first bound */
};

/* Notes growth: the bytes in use, with those of the request. */
void tn_growth_note_need(struct tn_growth_need *need, size_t used_bytes);

/* Notes that so many bytes of free steps have gone back before the pool grew. */
void tn_growth_note_moved(struct tn_growth_need *need, size_t moved_bytes);

/* The bytes that a contiguous pool may hold, see the head. */
struct tn_growth_bounds {
    size_t held_bytes;    /* beyond this, steps go whose work is done */
    size_t waiting_bytes; /* beyond this, the pool waits for the work on other free steps */
};

/* used_bytes: with those of the request. */
struct tn_growth_bounds tn_growth_steps_bounds(const struct tn_growth_policy *policy,
                                               size_t unit_bytes, const struct tn_growth_need *need,
                                               size_t used_bytes);

/* Returns the bytes by which a pool may grow so that no stream has to wait; 0: none. Afterwards it holds at most
 * 1 + stream_slack times the most bytes in use, rounded up to a granule. An eighth of the slack at least, so that it is
 * taken in few pieces, and less than a size that was refused. */
size_t tn_growth_slack_bytes_max(const struct tn_growth_policy *policy,
                                 const struct tn_growth_state *state);

/* Returns the size of a static pool for such a request: a quarter of the slack in whole multiples of the need,
 * which is above 0. 0: there must be none. */
size_t tn_growth_slack_bytes(const struct tn_growth_policy *policy,
                             const struct tn_growth_state *state, size_t needed_bytes);

#endif
