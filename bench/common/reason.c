/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* reason: one line of text that says why something did not work. */
#include "reason.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../src/base/text/escape.h"

#include "progress.h"

void tn_reason_set(struct tn_reason *reason, const char *format, ...)
{
    char text[sizeof reason->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text[strcspn(text, "\n")] = '\0';
    tn_escape_text(reason->text, sizeof reason->text, text);
}

struct tn_path_text tn_path_show(const char *path)
{
    static const char cut[] = "...";
    struct tn_path_text shown;
    size_t length = strlen(path);
    if (length < sizeof shown.text)
        snprintf(shown.text, sizeof shown.text, "%s", path);
    else
        snprintf(shown.text, sizeof shown.text, "%s%s", cut,
                 path + length - (sizeof shown.text - sizeof cut));
    return shown;
}

void tn_reason_print(const struct tn_reason *reason)
{
    tn_progress_clear();
    fprintf(stderr, "tarn-bench: %s\n", reason->text);
}
