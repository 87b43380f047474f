/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_log: the title before the message. */
#include "pool_log.h"

#include <stdarg.h>
#include <stdio.h>

/* The pool that most programs have alone needs no more words. */
static void write_process_wide(struct tn_pool_title *title, const struct tn_location *location)
{
    static const char *const kinds[] = { "", ", pinned", ", shared", ", host" };
    char device[32] = "";
    if (location->device != 0) snprintf(device, sizeof device, " of device %d", location->device);
    snprintf(title->text, sizeof title->text, "process-wide pool%s%s", device,
             kinds[location->kind]);
}

struct tn_pool_title tn_pool_title(const struct tarn_pool *pool)
{
    struct tn_pool_title title;
    bool is_for_process = atomic_load_explicit(&pool->is_for_process, memory_order_relaxed);
    bool has_name = pool->name[0] != '\0';
    if (is_for_process && !has_name)
        write_process_wide(&title, &pool->location);
    else
        snprintf(title.text, sizeof title.text, "pool %llu%s%s%s", (unsigned long long)pool->number,
                 has_name ? " \"" : "", pool->name, has_name ? "\"" : "");
    return title;
}

void tn_pool_log(const struct tarn_pool *pool, tarn_log_level level, const char *format, ...)
{
    char message[TN_LOG_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    tn_log(level, "%s: %s", tn_pool_title(pool).text, message);
}
