/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * error: the calling thread's last error. The code that first detects a failure reports it here, with the
 * values involved; its callers pass the status on. Messages quote text from outside: paths, labels,
 * names. This file escapes unprintable bytes for all of them.
 *
 * Threads: each thread has its own error. Cost: formats one line, on failing paths only.
 */
#ifndef TN_ERROR_H
#define TN_ERROR_H

#include "tarn/status.h"

#include "compiler.h"

/* Longer messages are cut. */
#define TN_ERROR_MESSAGE_BYTES 384

/* Stores the error and returns `status`, for `return tn_fail(...)`. */
TN_COLD TN_PRINTF(2, 3) tarn_status tn_fail(tarn_status status, const char *format, ...);

/* Stores the error of a failed vendor call, with the vendor's code and its name, and returns `status`.
 * vendor_name: static text or NULL. */
TN_COLD TN_PRINTF(4, 5) tarn_status
    tn_fail_vendor(tarn_status status, int vendor_code, const char *vendor_name, const char *format,
                   ...);

/* A copy of the last error, to keep it while user code runs. */
struct tn_saved_error {
    tarn_error error;
    char message[TN_ERROR_MESSAGE_BYTES];
};

struct tn_saved_error tn_error_save(void);
void tn_error_restore(const struct tn_saved_error *saved);

#endif
