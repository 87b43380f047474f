/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* reason: one line of text that says why something did not work. */
#include "reason.h"

#include <stdarg.h>
#include <stdio.h>

#include "progress.h"

void tn_reason_set(struct tn_reason *reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason->text, sizeof reason->text, format, arguments);
    va_end(arguments);
}

void tn_reason_print(const struct tn_reason *reason)
{
    tn_progress_clear();
    fprintf(stderr, "tarn-bench: %s\n", reason->text);
}
