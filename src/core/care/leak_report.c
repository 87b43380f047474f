/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* leak_report: in debug mode it copies the records, sorts them so that a group stands together, sums up each group, and
 * sorts the groups. Otherwise it copies the counters of labels. */
#include "leak_report.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/error.h"
#include "../../base/host_memory.h"
#include "../../base/text/escape.h"

/* The allocations of one label and one call site. */
struct group {
    const struct tn_debug_record *example; /* any of them */
    size_t allocation_count;
    size_t requested_bytes;
};

static int compare_sites(const struct tn_debug_record *a, const struct tn_debug_record *b)
{
    const struct tn_debug_origin *left = &a->allocated, *right = &b->allocated;
    int order = strcmp(left->label, right->label);
    if (order != 0) return order;
    return memcmp(left->site.frames, right->site.frames, sizeof left->site.frames);
}

static int compare_records(const void *a, const void *b)
{
    return compare_sites(a, b);
}

/* The most bytes first; among equals, by label and call site. */
static int compare_groups(const void *a, const void *b)
{
    const struct group *left = a, *right = b;
    if (left->requested_bytes != right->requested_bytes)
        return left->requested_bytes > right->requested_bytes ? -1 : 1;
    return compare_sites(left->example, right->example);
}

static size_t group_records(struct tn_debug_record *records, size_t record_count,
                            struct group *groups)
{
    size_t group_count = 0;
    qsort(records, record_count, sizeof *records, compare_records);
    for (size_t i = 0; i < record_count; i++) {
        if (i == 0 || compare_sites(&records[i - 1], &records[i]) != 0)
            groups[group_count++] = (struct group){ &records[i], 0, 0 };
        groups[group_count - 1].allocation_count++;
        groups[group_count - 1].requested_bytes += records[i].range.size_bytes;
    }
    qsort(groups, group_count, sizeof *groups, compare_groups);
    return group_count;
}

static void write_sums(size_t allocation_count, size_t requested_bytes, FILE *file)
{
    fprintf(file, "%zu live %s, %zu bytes", allocation_count,
            allocation_count == 1 ? "allocation" : "allocations", requested_bytes);
}

static void write_total(const struct tarn_pool *pool, size_t allocation_count,
                        size_t requested_bytes, FILE *file)
{
    char text[256];
    tn_escape_text(text, sizeof text, pool->name);
    fprintf(file, "tarn: ");
    if (text[0] != '\0') fprintf(file, "pool \"%s\": ", text);
    write_sums(allocation_count, requested_bytes, file);
}

static void write_group_sums(size_t allocation_count, size_t requested_bytes, const char *label,
                             FILE *file)
{
    char text[256];
    fprintf(file, "  ");
    write_sums(allocation_count, requested_bytes, file);
    tn_escape_text(text, sizeof text, label);
    if (text[0] != '\0') fprintf(file, ", \"%s\"", text);
    fprintf(file, "\n");
}

/* --- in debug mode -------------------------------------------------------------------------------- */

static void write_group(const struct group *group, FILE *file)
{
    char text[256];
    const struct tn_debug_origin *origin = &group->example->allocated;
    write_group_sums(group->allocation_count, group->requested_bytes, origin->label, file);
    for (unsigned i = 0; i < origin->site.frame_count; i++) {
        tn_call_site_describe(origin->site.frames[i], text, sizeof text);
        fprintf(file, "      %s\n", text);
    }
}

static void write_groups(const struct tarn_pool *pool, const struct group *groups,
                         size_t group_count, FILE *file)
{
    size_t allocation_count = 0, requested_bytes = 0;
    for (size_t i = 0; i < group_count; i++) {
        allocation_count += groups[i].allocation_count;
        requested_bytes += groups[i].requested_bytes;
    }
    write_total(pool, allocation_count, requested_bytes, file);
    fprintf(file, "\n");
    for (size_t i = 0; i < group_count; i++)
        write_group(&groups[i], file);
}

static tarn_status write_with_records(struct tarn_pool *pool, FILE *file)
{
    size_t record_count;
    struct tn_debug_record *records = tn_debug_copy_records(pool, true, &record_count);
    if (!records) return TARN_STATUS_OUT_OF_HOST_MEMORY;
    struct group *groups = tn_host_memory_alloc((record_count + 1) * sizeof *groups);
    if (groups) write_groups(pool, groups, group_records(records, record_count, groups), file);
    tn_host_memory_free(records);
    if (!groups) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "no host memory for the groups of a report of leaks");
    }
    tn_host_memory_free(groups);
    return TARN_STATUS_OK;
}

/* --- by the counters of labels -------------------------------------------------------------------- */

static int compare_stats(const void *a, const void *b)
{
    const tarn_label_stats *left = a, *right = b;
    if (left->live_bytes != right->live_bytes) return left->live_bytes > right->live_bytes ? -1 : 1;
    return strcmp(left->label, right->label);
}

/* A copy of the counters, and a line for each label that has anything live, and one for all without. */
struct label_lines {
    struct tn_label_stats counters;
    tarn_label_stats lines[TN_LABEL_COUNT];
    size_t count;
};

/* Allocations without a label are those of the pool that no label has. */
static void find_lines(struct label_lines *lines, const tarn_leaks *leaks)
{
    tarn_label_stats line,
        rest = { .live_count = leaks->allocation_count, .live_bytes = leaks->requested_bytes };
    lines->count = 0;
    for (size_t i = 0; tn_label_stats_write(&lines->counters, i, &line); i++) {
        rest.live_count -= line.live_count;
        rest.live_bytes -= line.live_bytes;
        if (line.live_count > 0) lines->lines[lines->count++] = line;
    }
    if (lines->count > 0 && rest.live_count > 0) lines->lines[lines->count++] = rest;
    qsort(lines->lines, lines->count, sizeof lines->lines[0], compare_stats);
}

static tarn_status write_by_label(struct tarn_pool *pool, FILE *file)
{
    struct label_lines *lines = tn_host_memory_alloc(sizeof *lines);
    if (!lines) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "no host memory for the labels of a report of leaks");
    }
    tarn_leaks leaks = tn_pool_leaks_by_label(pool, &lines->counters);
    find_lines(lines, &leaks);
    write_total(pool, leaks.allocation_count, leaks.requested_bytes, file);
    fprintf(file, "%s\n",
            leaks.allocation_count > 0 ? "; debug mode tells where they were made" : "");
    for (size_t i = 0; i < lines->count; i++)
        write_group_sums(lines->lines[i].live_count, lines->lines[i].live_bytes,
                         lines->lines[i].label, file);
    tn_host_memory_free(lines);
    return TARN_STATUS_OK;
}

tarn_status tn_leak_report_write(struct tarn_pool *pool, FILE *file)
{
    tarn_status status = pool->debug ? write_with_records(pool, file) : write_by_label(pool, file);
    if (status != TARN_STATUS_OK) return status;
    if (fflush(file) == 0 && !ferror(file)) return status;
    return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "the report could not be written to the file");
}
