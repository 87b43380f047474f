/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * lifetime: how long an open backend may call its vendor.
 *
 *     opened ─────────────────────────────► closed
 *               │               │
 *               │               └─ exit: the vendor's library may be unloaded at any time, and calling
 *               │                  it may crash
 *               └─ fork: the child has an incomplete copy of the vendor's library and of the locks
 *
 * After either of them an operation that takes something fails without asking the vendor. An operation
 * that gives something back does nothing and succeeds. In the child it takes no lock of the backend.
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

/* Whether a vendor's backend may be opened: not if the vendor was in use before the fork, and not when
 * the process is ending. Reports the reason. `ending` is the answer that the vendor itself would give at
 * the end of the process. */
tarn_status tn_lifetime_check_open(const char *vendor, int number, tarn_backend_result ending);

/* Call it when the vendor has been opened: the end of the process is watched from then on. */
void tn_lifetime_note_vendor(void);

/* A lifetime that begins now. tn_backend_check_open must have been called, so that forks are watched. */
static inline struct tn_lifetime tn_lifetime_begin(void)
{
    return (struct tn_lifetime){ tn_process_generation() };
}

/* Whether the backend was opened in the parent process. */
static inline bool tn_lifetime_is_forked(const struct tn_lifetime *lifetime)
{
    return lifetime->generation != tn_process_generation();
}

static inline bool tn_lifetime_is_over(const struct tn_lifetime *lifetime)
{
    return tn_lifetime_is_forked(lifetime) || tn_process_is_ending();
}

/* The answer of an operation that takes something when the lifetime is over. */
static inline tarn_backend_result tn_lifetime_refusal(const struct tn_lifetime *lifetime,
                                                      tarn_backend_result ending)
{
    if (!tn_lifetime_is_forked(lifetime)) return ending;
    return (tarn_backend_result){ TARN_STATUS_FORKED, 0, NULL };
}

#endif
