/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * error: the calling thread's last error. Whoever first decides that something has failed reports it
 * here, with the values involved; callers pass the status on.
 *
 * Threads: each has its own. Cost: formatting a line, on the failing path only.
 */
#ifndef TN_ERROR_H
#define TN_ERROR_H

#include "tarn/status.h"

#include "compiler.h"

/* Longer messages are cut. */
#define TN_ERROR_MESSAGE_BYTES 256

/* Remembers the failure and returns `status`, for `return tn_fail(...)`. */
TN_COLD TN_PRINTF(2, 3) tarn_status tn_fail(tarn_status status, const char *format, ...);

/* The same for a failed vendor call: its own code and name go along. vendor_name is static text or
 * NULL. */
TN_COLD TN_PRINTF(4, 5) tarn_status
    tn_fail_vendor(tarn_status status, int vendor_code, const char *vendor_name, const char *format,
                   ...);

/* The last error kept aside, for where the user's code runs in between. */
struct tn_saved_error {
    tarn_error error;
    char message[TN_ERROR_MESSAGE_BYTES];
};

struct tn_saved_error tn_error_save(void);
void tn_error_restore(const struct tn_saved_error *saved);

#endif
