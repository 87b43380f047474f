/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* log: the messages of each thread, and the function that takes them. */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "call_site.h"
#include "error.h"
#include "process.h"
#include "sync.h"
#include "text/escape.h"

_Atomic int tn_log_level_now = TARN_LOG_LEVEL_OFF;

/* --- the taker -------------------------------------------------------------------------------------- */

struct taker {
    tarn_log_function function; /* NULL: standard error */
    void *user;
};

static struct tn_mutex lock = TN_MUTEX_INIT; /* guards the next two */
static struct taker taker;
static bool is_set_by_program;

static struct tn_once forks_once = TN_ONCE_INIT;
static bool watches_forks;

/* Function and user belong together in the child, because no thread changes them during the fork. */
static void before_fork(void)
{
    tn_mutex_lock(&lock);
}

static void after_fork(void)
{
    tn_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    watches_forks = tn_process_call_around_forks(before_fork, after_fork, after_fork);
}

/* Forks are watched before the lock is ever held. False: no host memory for that; the lock is not held. */
static bool lock_taker(void)
{
    tn_once_call(&forks_once, watch_forks);
    if (watches_forks) tn_mutex_lock(&lock);
    return watches_forks;
}

static struct taker current_taker(void)
{
    struct taker current = { NULL, NULL };
    if (!lock_taker()) return current;
    current = taker;
    tn_mutex_unlock(&lock);
    return current;
}

tarn_status tarn_set_log(tarn_log_level level, tarn_log_function function, void *user)
{
    if ((int)level < TARN_LOG_LEVEL_OFF || level > TARN_LOG_LEVEL_INFO)
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "level is %d, which is no level of the log",
                       (int)level);
    if (!lock_taker())
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory to watch for forks");
    taker = (struct taker){ function, user };
    is_set_by_program = true;
    atomic_store_explicit(&tn_log_level_now, (int)level, memory_order_relaxed);
    tn_mutex_unlock(&lock);
    return TARN_STATUS_OK;
}

bool tn_log_set_by_environment(tarn_log_level level)
{
    if (!lock_taker()) return false;
    if (!is_set_by_program)
        atomic_store_explicit(&tn_log_level_now, (int)level, memory_order_relaxed);
    tn_mutex_unlock(&lock);
    return true;
}

/* --- the messages of a thread ----------------------------------------------------------------------- */

/* Each message is a byte for its level, and a string. */
static _Thread_local struct {
    unsigned hold_count;
    bool is_delivering;
    size_t dropped_count;
    size_t used_bytes;
    char bytes[TN_LOG_QUEUE_BYTES];
} queue;

static void append(tarn_log_level level, const char *message)
{
    size_t length = strlen(message);
    if (queue.used_bytes + length + 2 > sizeof queue.bytes) {
        queue.dropped_count++;
        return;
    }
    queue.bytes[queue.used_bytes] = (char)level;
    memcpy(queue.bytes + queue.used_bytes + 1, message, length + 1);
    queue.used_bytes += length + 2;
}

/* A thread that is cancelled while it prints would lose the memory that its call has allocated. */
static void print(tarn_log_level level, const char *message)
{
    int cancel_state = tn_thread_begin_uncancelled();
    fprintf(stderr, "tarn: %s%s\n", level == TARN_LOG_LEVEL_WARNING ? "warning: " : "", message);
    tn_thread_end_uncancelled(cancel_state);
}

static void hand_over(const struct taker *to, tarn_log_level level, const char *message)
{
    if (!tn_log_is_on(level)) return;
    if (to->function)
        to->function(to->user, level, message);
    else
        print(level, message);
}

static void hand_all_over(const struct taker *to)
{
    char text[64];
    for (size_t at = 0; at < queue.used_bytes; at += strlen(queue.bytes + at + 1) + 2)
        hand_over(to, (tarn_log_level)queue.bytes[at], queue.bytes + at + 1);
    if (queue.dropped_count == 0) return;
    snprintf(text, sizeof text, "%zu more messages of this call were dropped", queue.dropped_count);
    hand_over(to, TARN_LOG_LEVEL_WARNING, text);
}

/* While a function takes messages nothing is appended, so they may stay where they are. */
static TN_COLD void deliver(void)
{
    int caller_errno = errno;
    struct tn_saved_error saved = tn_error_save();
    struct tn_call_site caller = *tn_call_site_noted();
    const struct taker to = current_taker();
    queue.is_delivering = true;
    hand_all_over(&to);
    queue.is_delivering = false;
    queue.used_bytes = queue.dropped_count = 0;
    *tn_call_site_noted() = caller;
    tn_error_restore(&saved);
    errno = caller_errno;
}

static void deliver_if_due(void)
{
    bool has_any = queue.used_bytes > 0 || queue.dropped_count > 0;
    if (has_any && queue.hold_count == 0 && !queue.is_delivering) deliver();
}

void tn_log(tarn_log_level level, const char *format, ...)
{
    char message[TN_LOG_MESSAGE_BYTES], escaped[TN_LOG_MESSAGE_BYTES];
    if (queue.is_delivering) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    tn_escape_text(escaped, sizeof escaped, message);
    append(level, escaped);
    deliver_if_due();
}

void tn_log_hold(void)
{
    queue.hold_count++;
}

void tn_log_release(void)
{
    TN_ASSERT(queue.hold_count > 0);
    queue.hold_count--;
    deliver_if_due();
}

/* --- values ------------------------------------------------------------------------------------------ */

uint64_t tn_log_clock_ns(tarn_log_level level)
{
    struct timespec now;
    if (!tn_log_is_on(level)) return 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Not by printf's %f, which uses the decimal point of the program's locale. */
struct tn_bytes_text tn_bytes_text(size_t bytes)
{
    enum {
        PLAIN_BYTES_MAX = 10 << 10
    };
    static const char units[] = "KMGTPE";
    struct tn_bytes_text result;
    unsigned power = 0;
    size_t unit = 1;
    while (power < sizeof units - 1 && bytes / unit >= 1024) {
        unit <<= 10;
        power++;
    }
    size_t tenths = bytes / unit * 10 + (bytes % unit * 10 + unit / 2) / unit;
    if (bytes < PLAIN_BYTES_MAX)
        snprintf(result.text, sizeof result.text, "%zu byte%s", bytes, bytes == 1 ? "" : "s");
    else if (bytes % unit == 0)
        snprintf(result.text, sizeof result.text, "%zu %ciB", bytes / unit, units[power - 1]);
    else
        snprintf(result.text, sizeof result.text, "%zu.%zu %ciB", tenths / 10, tenths % 10,
                 units[power - 1]);
    return result;
}
