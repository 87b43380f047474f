/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lifetime: in which process the vendor was used first. */
#include "lifetime.h"

#include <stdatomic.h>

#include "../base/error.h"

#include "opening.h"

/* The generation of the process that opened the first backend of a vendor, plus 1. 0: no process has.
 * A library has one vendor. */
static atomic_uint_least32_t vendor_since;

tarn_status tn_lifetime_check_open(const char *vendor, int number, tarn_backend_result ending)
{
    uint32_t since = atomic_load_explicit(&vendor_since, memory_order_relaxed);
    if (since == 0) return TARN_STATUS_OK;
    if (since != tn_process_generation() + 1) {
        return tn_fail(
            TARN_STATUS_FORKED,
            "cannot open %s device %d: %s was in use before the fork, so it cannot be used in the "
            "child",
            vendor, number, vendor);
    }
    if (tn_process_is_ending())
        return tn_backend_fail_open(vendor, number, ending, "the process is ending");
    return TARN_STATUS_OK;
}

void tn_lifetime_note_vendor(void)
{
    uint32_t none = 0;
    atomic_compare_exchange_strong(&vendor_since, &none, tn_process_generation() + 1);
    tn_process_watch_end();
}
