/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * lifetime: until when an open backend may call its vendor.
 *
 *     opened ─────────────────────────────► closed
 *               │               │
 *               │               └─ exit: the vendor's library may go at any time, and calling it
 *               │                  may crash
 *               └─ fork: in the child the vendor's library is half a copy, and so are the locks
 *
 * From either on, what takes something fails without asking the vendor, and what gives something back
 * does nothing and is no failure. In the child not even a lock of the backend's is taken.
 *
 * Threads: any. Cost: two loads.
 */
#ifndef TN_LIFETIME_H
#define TN_LIFETIME_H

#include <stdbool.h>
#include <stdint.h>

#include "tarn/backend.h"

#include "../base/process.h"

struct tn_lifetime {
    uint32_t generation; /* of the process in which the backend was opened */
};

/* Whether a vendor's backend may be opened: not when its vendor was in use before the fork, nor at the
 * end of the process, when `ending` is what the vendor itself would say. Reports why not. */
tarn_status tn_lifetime_check_open(const char *vendor, int number, tarn_backend_result ending);

/* The vendor has been opened: from now on the end of the process counts. */
void tn_lifetime_note_vendor(void);

/* Beginning now. Forks are watched: tn_backend_check_open saw to it. */
static inline struct tn_lifetime tn_lifetime_begin(void)
{
    return (struct tn_lifetime){ tn_process_generation() };
}

/* The backend is the parent's. */
static inline bool tn_lifetime_is_forked(const struct tn_lifetime *lifetime)
{
    return lifetime->generation != tn_process_generation();
}

static inline bool tn_lifetime_is_over(const struct tn_lifetime *lifetime)
{
    return tn_lifetime_is_forked(lifetime) || tn_process_is_ending();
}

/* What an operation that takes something answers when it is over. */
static inline tarn_backend_result tn_lifetime_refusal(const struct tn_lifetime *lifetime,
                                                      tarn_backend_result ending)
{
    if (!tn_lifetime_is_forked(lifetime)) return ending;
    return (tarn_backend_result){ TARN_STATUS_FORKED, 0, NULL };
}

#endif
