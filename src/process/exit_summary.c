/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exit_summary: figures of pools that are open and that have ended, and of their labels, as lines of a table. */
#include "exit_summary.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/arith.h"
#include "../base/sync.h"
#include "../base/text/escape.h"
#include "../core/arenas/gather.h"
#include "../core/care/debug_pool.h"
#include "../core/care/pool_registry.h"
#include "../core/serve/pool_log.h"

#include "footprint_share.h"

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
    struct tn_footprint_share share;
};

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
TN_UNSYNCHRONIZED static struct line look_at(const struct tarn_pool *pool, const char *state)
{
    struct line line = { .number = 0 };
    const struct tn_stats *own = &pool->own.stats;
    const struct tn_debug *debug = pool->debug;
    set_title(&line, pool, state);
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
    line.share = tn_footprint_share_of(pool, line.live_bytes_max);
    add_labels(&line, pool);
    return line;
}

/* --- pools that have ended --------------------------------------------------------------------------- */

static struct tn_mutex lock = TN_MUTEX_INIT; /* for the threads that end pools */

/* Read without the lock: lines do not change once they are counted. */
static struct line kept[TN_EXIT_SUMMARY_KEPT_MAX];
static atomic_size_t ended_count; /* also of pools without a line */

/* The sum of the pools without a line; the sizes at their peaks are those of the largest. Read as it is. */
static struct line rest;

static void add_to_rest(const struct line *line)
{
    rest.alloc_count += line->alloc_count;
    rest.vendor_call_count += line->vendor_call_count;
    rest.failed_count += line->failed_count;
    rest.live_bytes += line->live_bytes;
    rest.live_bytes_max = tn_max(rest.live_bytes_max, line->live_bytes_max);
    rest.held_bytes_max = tn_max(rest.held_bytes_max, line->held_bytes_max);
}

TN_UNSYNCHRONIZED static struct line look_at_rest(size_t pool_count)
{
    struct line line = {
        .backend = "-",
        .alloc_count = rest.alloc_count,
        .vendor_call_count = rest.vendor_call_count,
        .failed_count = rest.failed_count,
        .live_bytes = rest.live_bytes,
        .live_bytes_max = rest.live_bytes_max,
        .held_bytes_max = rest.held_bytes_max,
    };
    snprintf(line.title, sizeof line.title, "%zu more (ended)", pool_count);
    return line;
}

void tn_exit_summary_keep(struct tarn_pool *pool)
{
    tn_pool_lock_and_gather(pool);
    struct line line = look_at(pool, " (ended)");
    tn_pool_unlock(pool);
    tn_mutex_lock(&lock);
    size_t count = atomic_load(&ended_count);
    if (count < TN_EXIT_SUMMARY_KEPT_MAX)
        kept[count] = line;
    else
        add_to_rest(&line);
    atomic_store_explicit(&ended_count, count + 1, memory_order_release);
    tn_mutex_unlock(&lock);
}

void tn_exit_summary_forget(void)
{
    tn_mutex_init(&lock);
    atomic_store(&ended_count, 0);
    rest = (struct line){ .number = 0 };
}

/* --- pools that are open ----------------------------------------------------------------------------- */

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
        if (is_between && tn_pool_is_open(pool)) next = look_at(pool, "");
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
    if (line->share.rest_bytes > 0)
        print(output, "    %s\n", tn_footprint_sentence(&line->share).text);
    for (unsigned i = 0; i < line->label_count; i++)
        print_label(output, title_width, &line->labels[i]);
}

struct table {
    struct output output;
    bool is_measured; /* else lines are counted and their titles measured */
    size_t line_count;
    int title_width;
};

static void widen(struct table *table, const struct line *line)
{
    table->line_count++;
    table->title_width = (int)tn_max((size_t)table->title_width, strlen(line->title));
    for (unsigned i = 0; i < line->label_count; i++) {
        size_t width = strlen(tn_label_text(line->labels[i].label)) + 2;
        table->title_width = (int)tn_max((size_t)table->title_width, width);
    }
}

static void visit(struct table *table, const struct line *line)
{
    if (table->is_measured)
        print_line(&table->output, table->title_width, line);
    else
        widen(table, line);
}

/* Visits the lines of pools that have ended, in the order of their ends, and of those that are open, in that of their
 * creation. False: not of all that are open. */
static bool visit_all(struct table *table)
{
    size_t count = atomic_load_explicit(&ended_count, memory_order_acquire);
    for (size_t i = 0; i < tn_min(count, TN_EXIT_SUMMARY_KEPT_MAX); i++)
        visit(table, &kept[i]);
    if (count > TN_EXIT_SUMMARY_KEPT_MAX) {
        struct line sum = look_at_rest(count - TN_EXIT_SUMMARY_KEPT_MAX);
        visit(table, &sum);
    }
    struct line line = { .number = 0 };
    enum found found;
    while ((found = find_next_open(&line)) == FOUND)
        visit(table, &line);
    return found != BUSY;
}

int tn_exit_summary_write(int file_descriptor)
{
    struct table table = { .output = { .file_descriptor = file_descriptor }, .title_width = 4 };
    bool has_all = visit_all(&table);
    if (table.line_count == 0 && has_all) return 0;
    print_head(&table.output, table.title_width);
    table.is_measured = true;
    if (!visit_all(&table))
        print(&table.output, "  not all open pools: a thread holds the lock of their list\n");
    flush(&table.output);
    return table.output.error;
}
