/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* error: status names and sentences, and the last error of each thread. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

#include "text/escape.h"

static _Thread_local struct tn_saved_error last = { .error = { TARN_STATUS_OK, 0, "", "" } };

static void remember(tarn_status status, int vendor_code, const char *vendor_name,
                     const char *format, va_list arguments)
{
    char message[TN_ERROR_MESSAGE_BYTES];
    vsnprintf(message, sizeof message, format, arguments);
    tn_escape_text(last.message, sizeof last.message, message);
    last.error = (tarn_error){ status, vendor_code, vendor_name ? vendor_name : "", last.message };
}

tarn_status tn_fail(tarn_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    remember(status, 0, NULL, format, arguments);
    va_end(arguments);
    return status;
}

tarn_status tn_fail_vendor(tarn_status status, int vendor_code, const char *vendor_name,
                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    remember(status, vendor_code, vendor_name, format, arguments);
    va_end(arguments);
    return status;
}

struct tn_saved_error tn_error_save(void)
{
    return last;
}

void tn_error_restore(const struct tn_saved_error *saved)
{
    last = *saved;
}

tarn_error tarn_last_error(void)
{
    return last.error;
}

const char *tarn_status_name(tarn_status status)
{
    switch (status) {
#define NAME_CASE(name, number, sentence) \
    case TARN_STATUS_##name:              \
        return "TARN_STATUS_" #name;
        TARN_STATUS_TABLE(NAME_CASE)
#undef NAME_CASE
    }
    return "TARN_STATUS_UNKNOWN";
}

const char *tarn_status_sentence(tarn_status status)
{
    switch (status) {
#define SENTENCE_CASE(name, number, sentence) \
    case TARN_STATUS_##name:                  \
        return sentence;
        TARN_STATUS_TABLE(SENTENCE_CASE)
#undef SENTENCE_CASE
    }
    return "this number is not a tarn_status";
}
