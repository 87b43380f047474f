/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* leak_report: copies the records, sorts them so that a group stands together, sums up each group, and sorts
 * the groups. */
#include "leak_report.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/error.h"
#include "../../base/escape.h"
#include "../../base/host_memory.h"

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

static void write_group(const struct group *group, FILE *file)
{
    char text[256];
    const struct tn_debug_origin *origin = &group->example->allocated;
    fprintf(file, "  ");
    write_sums(group->allocation_count, group->requested_bytes, file);
    tn_escape_text(text, sizeof text, origin->label);
    if (text[0] != '\0') fprintf(file, ", \"%s\"", text);
    fprintf(file, "\n");
    for (unsigned i = 0; i < origin->site.frame_count; i++) {
        tn_call_site_describe(origin->site.frames[i], text, sizeof text);
        fprintf(file, "      %s\n", text);
    }
}

static void write_groups(const struct group *groups, size_t group_count, FILE *file)
{
    size_t allocation_count = 0, requested_bytes = 0;
    for (size_t i = 0; i < group_count; i++) {
        allocation_count += groups[i].allocation_count;
        requested_bytes += groups[i].requested_bytes;
    }
    fprintf(file, "tarn: ");
    write_sums(allocation_count, requested_bytes, file);
    fprintf(file, "\n");
    for (size_t i = 0; i < group_count; i++)
        write_group(&groups[i], file);
}

static void write_without_records(struct tarn_pool *pool, FILE *file)
{
    tarn_leaks leaks = tn_pool_leaks(pool);
    fprintf(file, "tarn: ");
    write_sums(leaks.allocation_count, leaks.requested_bytes, file);
    fprintf(file, "%s\n", leaks.allocation_count > 0 ? "; debug mode lists them" : "");
}

static tarn_status write_with_records(struct tarn_pool *pool, FILE *file)
{
    size_t record_count;
    struct tn_debug_record *records = tn_debug_copy_records(pool, true, &record_count);
    if (!records) return TARN_STATUS_OUT_OF_HOST_MEMORY;
    struct group *groups = tn_host_memory_alloc((record_count + 1) * sizeof *groups);
    if (groups) write_groups(groups, group_records(records, record_count, groups), file);
    tn_host_memory_free(records);
    if (!groups) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "no host memory for the groups of a report of leaks");
    }
    tn_host_memory_free(groups);
    return TARN_STATUS_OK;
}

tarn_status tn_leak_report_write(struct tarn_pool *pool, FILE *file)
{
    tarn_status status = TARN_STATUS_OK;
    if (pool->debug) {
        status = write_with_records(pool, file);
    } else {
        write_without_records(pool, file);
    }
    if (status != TARN_STATUS_OK) return status;
    if (fflush(file) == 0 && !ferror(file)) return status;
    return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "the report could not be written to the file");
}
