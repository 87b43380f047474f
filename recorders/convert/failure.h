/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * failure: why events cannot be read, or a trace cannot be written. Not base/error.h: tarn-bench links this beside
 * libtarn, which has a last error of its own.
 */
#ifndef TN_FAILURE_H
#define TN_FAILURE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "../../src/base/compiler.h"
#include "../../src/base/text/escape.h"

/* Longer texts are cut. */
#define TN_FAILURE_BYTES 1024

struct tn_failure {
    char text[TN_FAILURE_BYTES];
};

/* Stores one line, its unprintable bytes escaped. Returns false, for `return tn_failure_set(...)`. */
TN_PRINTF(2, 3)
static inline bool tn_failure_set(struct tn_failure *failure, const char *format, ...)
{
    char text[TN_FAILURE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tn_escape_text(failure->text, sizeof failure->text, text);
    return false;
}

#endif
