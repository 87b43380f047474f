/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exit_summary: figures of pools that are open and that have ended, and of their labels, as lines of a table. */
#include "exit_summary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "../base/arith.h"
#include "../base/error.h"
#include "../base/host_memory.h"
#include "../base/process.h"
#include "../base/sync.h"
#include "../base/text/escape.h"
#include "../core/care/debug_pool.h"
#include "../core/care/pool_registry.h"
#include "../core/serve/pool_log.h"
#include "../record/trace_path.h"

#define TITLE_BYTES 96

/* Labels with the largest peaks, for each pool. */
#define LABELS_MAX 8

struct label_line {
    uint32_t label;
    size_t live_bytes, live_bytes_max;
};

/* A line of the table, and the lines of labels below it. */
struct line {
    unsigned label_count;
    struct label_line labels[LABELS_MAX]; /* the largest peak first */
    uint64_t number;                      /* the pool's */
    char title[TITLE_BYTES];
    char backend[sizeof((struct tarn_pool *)0)->backend_name];
    uint64_t alloc_count, vendor_call_count, failed_count;
    size_t live_bytes, live_bytes_max, held_bytes_max;
};

/* --- pools that have ended --------------------------------------------------------------------------- */

/* A slot is written once, by one thread, and read when it is whole. */
static struct {
    atomic_bool is_whole;
    struct line line;
} kept[TN_EXIT_SUMMARY_KEPT_MAX];
static atomic_size_t kept_count; /* with those that found no slot */

/* Of the pools that found no slot. The sizes at their peaks are those of the largest. */
static struct {
    _Atomic uint64_t alloc_count, vendor_call_count, failed_count;
    atomic_size_t live_bytes, live_bytes_max, held_bytes_max;
} rest;

static void raise(atomic_size_t *mark, size_t bytes)
{
    size_t before = atomic_load(mark);
    while (before < bytes && !atomic_compare_exchange_weak(mark, &before, bytes))
        continue;
}

static void add_to_rest(const struct line *line)
{
    atomic_fetch_add(&rest.alloc_count, line->alloc_count);
    atomic_fetch_add(&rest.vendor_call_count, line->vendor_call_count);
    atomic_fetch_add(&rest.failed_count, line->failed_count);
    atomic_fetch_add(&rest.live_bytes, line->live_bytes);
    raise(&rest.live_bytes_max, line->live_bytes_max);
    raise(&rest.held_bytes_max, line->held_bytes_max);
}

static struct line sum_of_rest(void)
{
    struct line sum = {
        .backend = "-",
        .alloc_count = atomic_load(&rest.alloc_count),
        .vendor_call_count = atomic_load(&rest.vendor_call_count),
        .failed_count = atomic_load(&rest.failed_count),
        .live_bytes = atomic_load(&rest.live_bytes),
        .live_bytes_max = atomic_load(&rest.live_bytes_max),
        .held_bytes_max = atomic_load(&rest.held_bytes_max),
    };
    snprintf(sum.title, sizeof sum.title, "%zu more (ended)",
             atomic_load(&kept_count) - TN_EXIT_SUMMARY_KEPT_MAX);
    return sum;
}

static void forget_kept(void)
{
    for (size_t i = 0; i < TN_EXIT_SUMMARY_KEPT_MAX; i++)
        atomic_store(&kept[i].is_whole, false);
    atomic_store(&kept_count, 0);
    atomic_store(&rest.alloc_count, 0);
    atomic_store(&rest.vendor_call_count, 0);
    atomic_store(&rest.failed_count, 0);
    atomic_store(&rest.live_bytes, 0);
    atomic_store(&rest.live_bytes_max, 0);
    atomic_store(&rest.held_bytes_max, 0);
}

/* --- the line of a pool ------------------------------------------------------------------------------ */

static void set_title(struct line *line, const struct tarn_pool *pool, const char *state)
{
    char escaped[TITLE_BYTES - 16];
    tn_escape_text(escaped, sizeof escaped, pool->name);
    const struct tn_pool_title title = tn_pool_title(pool);
    snprintf(line->title, sizeof line->title, "%s%s", escaped[0] ? escaped : title.text, state);
    line->number = pool->number;
    memcpy(line->backend, pool->backend_name, sizeof line->backend);
}

static void insert_label(struct line *line, struct label_line label)
{
    unsigned i = line->label_count;
    if (i == LABELS_MAX && label.live_bytes_max <= line->labels[--i].live_bytes_max) return;
    if (line->label_count < LABELS_MAX) line->label_count++;
    for (; i > 0 && line->labels[i - 1].live_bytes_max < label.live_bytes_max; i--)
        line->labels[i] = line->labels[i - 1];
    line->labels[i] = label;
}

/* The bytes of a label that arenas have counted and the pool has not yet. */
TN_UNSYNCHRONIZED static size_t bytes_in_arenas(const struct tarn_pool *pool, uint32_t label)
{
    size_t bytes = 0;
    for (uint32_t i = 0; pool->arenas.all && i < TN_ARENA_COUNT; i++) {
        const struct tn_arena *arena = &pool->arenas.all[i];
        const struct tn_label_stats *stats = tn_label_stats_get(&arena->part.labels);
        if (arena->is_active && stats) bytes += stats->counts[label].live_bytes;
    }
    return bytes;
}

/* Without locks. Debug mode counts what the program asked for; it has no arenas. */
TN_UNSYNCHRONIZED static void add_labels(struct line *line, const struct tarn_pool *pool)
{
    const struct tn_label_stats *stats =
        tn_label_stats_get(pool->debug ? &pool->debug->labels : &pool->own.labels);
    for (uint32_t label = 1; stats && label < TN_LABEL_COUNT; label++) {
        size_t live_bytes = stats->counts[label].live_bytes;
        if (!pool->debug) live_bytes += bytes_in_arenas(pool, label);
        size_t live_bytes_max = tn_max(stats->counts[label].live_bytes_max, live_bytes);
        if (live_bytes_max == 0) continue;
        insert_label(line, (struct label_line){ label, live_bytes, live_bytes_max });
    }
}

TN_UNSYNCHRONIZED static void add_part(struct line *line, const struct tn_stats *stats)
{
    line->alloc_count += stats->alloc_count;
    line->live_bytes += stats->requested_bytes;
}

/* Without locks. In debug mode the pool's own counters have zones and quarantine in them. */
TN_UNSYNCHRONIZED static struct line look_at(const struct tarn_pool *pool)
{
    struct line line = { .number = 0 };
    const struct tn_stats *own = &pool->own.stats;
    const struct tn_debug *debug = pool->debug;
    set_title(&line, pool, "");
    add_part(&line, own);
    for (uint32_t i = 0; pool->arenas.all && i < TN_ARENA_COUNT; i++) {
        if (pool->arenas.all[i].is_active) add_part(&line, &pool->arenas.all[i].part.stats);
    }
    line.live_bytes_max = own->requested_bytes_max;
    if (debug) {
        line.alloc_count -= debug->undone_count;
        line.live_bytes = debug->stats.requested_bytes;
        line.live_bytes_max = debug->stats.requested_bytes_max;
    }
    line.live_bytes_max = tn_max(line.live_bytes_max, line.live_bytes);
    line.held_bytes_max = own->footprint_bytes_max;
    line.vendor_call_count = own->vendor_alloc_count + own->vendor_free_count;
    line.failed_count = own->failed_count;
    add_labels(&line, pool);
    return line;
}

void tn_exit_summary_keep(const struct tarn_pool *pool, const tarn_stats *stats)
{
    struct line line = {
        .alloc_count = stats->alloc_count,
        .vendor_call_count = stats->vendor_alloc_count + stats->vendor_free_count,
        .failed_count = stats->failed_count,
        .live_bytes = stats->requested_bytes,
        .live_bytes_max = stats->requested_bytes_max,
        .held_bytes_max = stats->footprint_bytes_max,
    };
    size_t slot = atomic_fetch_add(&kept_count, 1);
    set_title(&line, pool, " (ended)");
    add_labels(&line, pool);
    if (slot >= TN_EXIT_SUMMARY_KEPT_MAX) {
        add_to_rest(&line);
        return;
    }
    kept[slot].line = line;
    atomic_store_explicit(&kept[slot].is_whole, true, memory_order_release);
}

enum found {
    FOUND,
    FOUND_NONE,
    BUSY /* another thread has the registry's lock */
};

/* Replaces a line by that of the open pool with the next number. */
static enum found find_next_open(struct line *line)
{
    struct line next = { .number = UINT64_MAX };
    struct tarn_pool *pool = NULL;
    bool is_pinned;
    while ((is_pinned = tn_pool_registry_try_pin_next(&pool)) && pool) {
        bool is_between = pool->number > line->number && pool->number < next.number;
        if (is_between && tn_pool_is_open(pool)) next = look_at(pool);
    }
    if (!is_pinned) return BUSY;
    if (next.number == UINT64_MAX) return FOUND_NONE;
    *line = next;
    return FOUND;
}

/* --- writing ----------------------------------------------------------------------------------------- */

struct output {
    int file_descriptor;
    int error; /* the first errno */
    size_t used_bytes;
    char bytes[4096];
};

static void flush(struct output *output)
{
    size_t written_bytes = 0;
    while (written_bytes < output->used_bytes && output->error == 0) {
        ssize_t count = write(output->file_descriptor, output->bytes + written_bytes,
                              output->used_bytes - written_bytes);
        if (count > 0)
            written_bytes += (size_t)count;
        else if (count < 0 && errno != EINTR)
            output->error = errno;
    }
    output->used_bytes = 0;
}

static TN_PRINTF(2, 3) void print(struct output *output, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t bytes = length > 0 ? tn_min((size_t)length, sizeof text - 1) : 0;
    if (bytes > sizeof output->bytes - output->used_bytes) flush(output);
    memcpy(output->bytes + output->used_bytes, text, bytes);
    output->used_bytes += bytes;
}

/* "1.92", or "-" where nothing was live. */
struct ratio {
    char text[32];
};

static struct ratio ratio_of(size_t held_bytes, size_t live_bytes)
{
    struct ratio ratio = { "-" };
    if (live_bytes == 0) return ratio;
    size_t hundredths = (size_t)((double)held_bytes / (double)live_bytes * 100.0 + 0.5);
    snprintf(ratio.text, sizeof ratio.text, "%zu.%02zu", hundredths / 100, hundredths % 100);
    return ratio;
}

/* Bytes in the terminal's columns are those of ASCII: a title of other characters shifts its line. */
static void print_head(struct output *output, int title_width)
{
    print(output, "tarn: the pools of process %ld\n", (long)getpid());
    print(output, "  %-*s  %-8s %12s %12s %12s %9s %12s %8s %12s\n", title_width, "pool", "backend",
          "allocations", "peak live", "peak held", "held/live", "vendor calls", "failures",
          "still live");
}

static void print_label(struct output *output, int title_width, const struct label_line *label)
{
    char text[TN_LABEL_BYTES * 4];
    tn_escape_text(text, sizeof text, tn_label_text(label->label));
    print(output, "    %-*s  %-8s %12s %12s %12s %9s %12s %8s %12s\n", title_width - 2, text, "",
          "", tn_bytes_text(label->live_bytes_max).text, "", "", "", "",
          tn_bytes_text(label->live_bytes).text);
}

static void print_line(struct output *output, int title_width, const struct line *line)
{
    print(output, "  %-*s  %-8s %12llu %12s %12s %9s %12llu %8llu %12s\n", title_width, line->title,
          line->backend, (unsigned long long)line->alloc_count,
          tn_bytes_text(line->live_bytes_max).text, tn_bytes_text(line->held_bytes_max).text,
          ratio_of(line->held_bytes_max, line->live_bytes_max).text,
          (unsigned long long)line->vendor_call_count, (unsigned long long)line->failed_count,
          tn_bytes_text(line->live_bytes).text);
    for (unsigned i = 0; i < line->label_count; i++)
        print_label(output, title_width, &line->labels[i]);
}

/* Calls a function with the lines of pools that have ended, in the order of their ends, and of those that are open, in
 * that of their creation. False: not with all that are open. */
static bool visit_all(void (*function)(void *state, const struct line *line), void *state)
{
    size_t count = atomic_load(&kept_count);
    for (size_t i = 0; i < tn_min(count, TN_EXIT_SUMMARY_KEPT_MAX); i++) {
        if (atomic_load_explicit(&kept[i].is_whole, memory_order_acquire))
            function(state, &kept[i].line);
    }
    if (count > TN_EXIT_SUMMARY_KEPT_MAX) {
        struct line sum = sum_of_rest();
        function(state, &sum);
    }
    struct line open = { .number = 0 };
    enum found found;
    while ((found = find_next_open(&open)) == FOUND)
        function(state, &open);
    return found != BUSY;
}

struct widths {
    size_t line_count;
    int title_width;
};

static void widen(void *state, const struct line *line)
{
    struct widths *widths = state;
    widths->line_count++;
    widths->title_width = (int)tn_max((size_t)widths->title_width, strlen(line->title));
    for (unsigned i = 0; i < line->label_count; i++) {
        size_t width = strlen(tn_label_text(line->labels[i].label)) + 2;
        widths->title_width = (int)tn_max((size_t)widths->title_width, width);
    }
}

struct table {
    struct output output;
    struct widths widths;
};

static void print_one(void *state, const struct line *line)
{
    struct table *table = state;
    print_line(&table->output, table->widths.title_width, line);
}

int tn_exit_summary_write(int file_descriptor)
{
    struct table table = { .output = { .file_descriptor = file_descriptor },
                           .widths = { .title_width = 4 } };
    bool has_all = visit_all(widen, &table.widths);
    if (table.widths.line_count == 0 && has_all) return 0;
    print_head(&table.output, table.widths.title_width);
    if (!visit_all(print_one, &table))
        print(&table.output, "  not all open pools: a thread holds the lock of their list\n");
    flush(&table.output);
    return table.output.error;
}

/* --- the request ------------------------------------------------------------------------------------- */

atomic_bool tn_exit_summary_requested;

static struct tn_mutex lock = TN_MUTEX_INIT; /* guards the next two */
static bool is_settled;                      /* requested, or refused */
static char path[PATH_MAX]; /* absolute; "": standard error; in a child at first the parent's */

static struct tn_once forks_once = TN_ONCE_INIT;
static bool watches_forks;

static void after_fork_in_child(void)
{
    tn_mutex_init(&lock);
    is_settled = false;
    atomic_store(&tn_exit_summary_requested, false);
    forget_kept();
}

static void watch_forks(void)
{
    watches_forks = tn_process_call_around_forks(NULL, NULL, after_fork_in_child);
}

static void tell_that_there_is_none(const char *reason)
{
    fprintf(stderr, "tarn: TARN_STATS: no table of the pools of process %ld: %s\n", (long)getpid(),
            reason);
}

static tarn_status fail_for_memory(void)
{
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory");
}

/* A file is empty from the first pool on, so that nobody takes an older table for this one. The file of a parent has
 * the tables of its children too. Requires: the lock. */
static tarn_status begin_file(const char *absolute)
{
    size_t bytes = strlen(absolute) + 1;
    int keeps = strcmp(absolute, path) == 0 ? 0 : O_TRUNC, file = -1;
    errno = ENAMETOOLONG;
    if (bytes <= sizeof path) file = open(absolute, O_WRONLY | O_CREAT | O_CLOEXEC | keeps, 0666);
    if (file < 0)
        return tn_fail(TARN_STATUS_FILE_ERROR, "%s cannot be written: %s", absolute,
                       strerror(errno));
    close(file);
    memcpy(path, absolute, bytes);
    return TARN_STATUS_OK;
}

/* Requires: the lock. */
static tarn_status settle_path(const char *pattern)
{
    char *absolute, *expanded = tn_trace_path_expand(pattern);
    if (!expanded) return fail_for_memory();
    tarn_status status = tn_trace_path_absolute(expanded, &absolute);
    tn_host_memory_free(expanded);
    if (status != TARN_STATUS_OK) return status;
    status = begin_file(absolute);
    tn_host_memory_free(absolute);
    return status;
}

/* Requires: the lock. */
static void settle(const char *pattern)
{
    struct tn_saved_error saved = tn_error_save();
    tarn_status status = TARN_STATUS_OK;
    if (!watches_forks)
        status = fail_for_memory();
    else if (pattern)
        status = settle_path(pattern);
    else
        path[0] = '\0';
    if (status != TARN_STATUS_OK) tell_that_there_is_none(tarn_last_error().message);
    tn_error_restore(&saved);
    is_settled = true;
    atomic_store(&tn_exit_summary_requested, status == TARN_STATUS_OK);
}

void tn_exit_summary_request(const char *pattern)
{
    if (tn_exit_summary_is_requested() || getauxval(AT_SECURE) != 0) return;
    tn_once_call(&forks_once, watch_forks);
    int cancel_state = tn_thread_begin_uncancelled();
    tn_mutex_lock(&lock);
    if (!is_settled) settle(pattern);
    tn_mutex_unlock(&lock);
    tn_thread_end_uncancelled(cancel_state);
}

/* --- the end ------------------------------------------------------------------------------------------ */

/* The path does not change once a table was requested. */
static int write_to_path(void)
{
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return errno;
    int error = tn_exit_summary_write(file);
    bool is_closed = close(file) == 0;
    return error == 0 && !is_closed ? errno : error;
}

/* Where standard error takes nothing, nothing more can be said. */
TN_LAST_DESTRUCTOR static void write_at_exit(void)
{
    int error = 0;
    if (!tn_exit_summary_is_requested()) return;
    if (path[0] == '\0')
        (void)tn_exit_summary_write(STDERR_FILENO);
    else
        error = write_to_path();
    if (error != 0) tell_that_there_is_none(strerror(error));
}
