/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* use_table: chains in buckets, which double when there are as many uses as buckets. */
#include "use_table.h"

#include "../../base/assert.h"
#include "../../base/host_memory.h"

#define BUCKETS_AT_FIRST 64

/* --- life ----------------------------------------------------------------------------------------- */

void tn_use_table_init(struct tn_use_table *table)
{
    *table = (struct tn_use_table){ .buckets = NULL };
}

void tn_use_table_fini(struct tn_use_table *table)
{
    for (size_t i = 0; i < table->bucket_count; i++) {
        while (table->buckets[i]) {
            struct tn_use *use = table->buckets[i];
            table->buckets[i] = use->next;
            tn_use_destroy(use);
        }
    }
    tn_host_memory_free(table->buckets);
}

bool tn_use_table_prepare(struct tn_use_table *table)
{
    if (table->buckets) return true;
    table->buckets = tn_host_memory_alloc_zeroed(BUCKETS_AT_FIRST * sizeof *table->buckets);
    if (table->buckets) table->bucket_count = BUCKETS_AT_FIRST;
    return table->buckets != NULL;
}

struct tn_use *tn_use_create(uintptr_t address, struct tn_stream_name name)
{
    struct tn_use *use = tn_host_memory_alloc(sizeof *use);
    if (use) *use = (struct tn_use){ .address = address, .name = name };
    return use;
}

void tn_use_destroy(struct tn_use *use)
{
    tn_host_memory_free(use);
}

/* --- by address ----------------------------------------------------------------------------------- */

/* Addresses differ in their middle bits; the product brings them to the top. */
static size_t bucket_of(uintptr_t address, size_t bucket_count)
{
    uint64_t mixed = (uint64_t)address * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> 32) & (bucket_count - 1);
}

static void link_use(struct tn_use **buckets, size_t bucket_count, struct tn_use *use)
{
    struct tn_use **bucket = &buckets[bucket_of(use->address, bucket_count)];
    use->next = *bucket;
    *bucket = use;
}

static void double_buckets(struct tn_use_table *table)
{
    size_t count = table->bucket_count * 2;
    struct tn_use **buckets = tn_host_memory_alloc_zeroed(count * sizeof *buckets);
    if (!buckets) return;
    for (size_t i = 0; i < table->bucket_count; i++) {
        while (table->buckets[i]) {
            struct tn_use *use = table->buckets[i];
            table->buckets[i] = use->next;
            link_use(buckets, count, use);
        }
    }
    tn_host_memory_free(table->buckets);
    table->buckets = buckets;
    table->bucket_count = count;
}

void tn_use_table_insert(struct tn_use_table *table, struct tn_use *use)
{
    TN_ASSERT(table->buckets && !use->has_ended);
    if (table->use_count >= table->bucket_count) double_buckets(table);
    link_use(table->buckets, table->bucket_count, use);
    table->use_count++;
}

static const struct tn_use *find_from(const struct tn_use *use, uintptr_t address)
{
    while (use && use->address != address)
        use = use->next;
    return use;
}

const struct tn_use *tn_use_table_find(const struct tn_use_table *table, uintptr_t address)
{
    if (table->use_count == 0) return NULL;
    return find_from(table->buckets[bucket_of(address, table->bucket_count)], address);
}

const struct tn_use *tn_use_table_find_next(const struct tn_use *use)
{
    return find_from(use->next, use->address);
}

static bool is_of_name(const struct tn_use *use, struct tn_stream_name name)
{
    return !use->has_ended && use->name.handle == name.handle && use->name.thread == name.thread;
}

bool tn_use_table_has(const struct tn_use_table *table, uintptr_t address,
                      struct tn_stream_name name)
{
    const struct tn_use *use = tn_use_table_find(table, address);
    while (use && !is_of_name(use, name))
        use = tn_use_table_find_next(use);
    return use != NULL;
}

/* Takes the use out of its bucket, and destroys it. */
static void remove_at(struct tn_use_table *table, struct tn_use **link)
{
    struct tn_use *removed = *link;
    *link = removed->next;
    table->use_count--;
    table->ended_count -= removed->has_ended;
    tn_use_destroy(removed);
}

void tn_use_table_remove(struct tn_use_table *table, uintptr_t address)
{
    if (table->use_count == 0) return;
    struct tn_use **link = &table->buckets[bucket_of(address, table->bucket_count)];
    while (*link) {
        if ((*link)->address == address) {
            remove_at(table, link);
        } else {
            link = &(*link)->next;
        }
    }
}

bool tn_use_table_walk(const struct tn_use_table *table,
                       bool (*visit)(void *context, const struct tn_use *use), void *context)
{
    for (size_t i = 0; i < table->bucket_count; i++) {
        for (const struct tn_use *use = table->buckets[i]; use; use = use->next) {
            if (!visit(context, use)) return false;
        }
    }
    return true;
}

/* --- streams -------------------------------------------------------------------------------------- */

static bool is_of_other_name(void *context, const struct tn_use *use)
{
    return !is_of_name(use, *(const struct tn_stream_name *)context);
}

bool tn_use_table_names(const struct tn_use_table *table, struct tn_stream_name name)
{
    return table->use_count > 0 && !tn_use_table_walk(table, is_of_other_name, &name);
}

void tn_use_table_end_stream(struct tn_use_table *table, struct tn_stream_name name,
                             struct tn_dependency dependency)
{
    for (size_t i = 0; table->use_count > 0 && i < table->bucket_count; i++) {
        for (struct tn_use *use = table->buckets[i]; use; use = use->next) {
            if (!is_of_name(use, name)) continue;
            use->has_ended = true;
            use->dependency = dependency;
            table->ended_count++;
        }
    }
}

void tn_use_table_remove_stream(struct tn_use_table *table, struct tn_stream_name name)
{
    for (size_t i = 0; table->use_count > 0 && i < table->bucket_count; i++) {
        struct tn_use **link = &table->buckets[i];
        while (*link) {
            if (is_of_name(*link, name)) {
                remove_at(table, link);
            } else {
                link = &(*link)->next;
            }
        }
    }
}

/* The dependency of the next use that has ended, from *bucket and *use on. NULL: there are no more. */
static struct tn_dependency *find_ended(struct tn_use_table *table, size_t *bucket,
                                        struct tn_use **use)
{
    while (table->ended_count > 0 && *bucket < table->bucket_count) {
        *use = *use ? (*use)->next : table->buckets[*bucket];
        if (!*use) {
            ++*bucket;
        } else if ((*use)->has_ended) {
            return &(*use)->dependency;
        }
    }
    return NULL;
}

static bool add_streams(void *context, const struct tn_use *use)
{
    if (use->has_ended) *(uint32_t *)context |= use->dependency.streams;
    return true;
}

uint32_t tn_use_table_streams(const struct tn_use_table *table)
{
    uint32_t streams = 0;
    if (table->ended_count > 0) (void)tn_use_table_walk(table, add_streams, &streams);
    return streams;
}

void tn_use_table_complete(struct tn_use_table *table, uint32_t streams, uint32_t time)
{
    size_t bucket = 0;
    struct tn_use *use = NULL;
    struct tn_dependency *dependency;
    while ((dependency = find_ended(table, &bucket, &use)) != NULL)
        *dependency = tn_dependency_complete(*dependency, streams, time);
}

void tn_use_table_replace(struct tn_use_table *table, uint32_t stream_bit,
                          struct tn_dependency in_place)
{
    size_t bucket = 0;
    struct tn_use *use = NULL;
    struct tn_dependency *dependency;
    while ((dependency = find_ended(table, &bucket, &use)) != NULL)
        *dependency = tn_dependency_replace(*dependency, stream_bit, in_place);
}

void tn_use_table_begin_anew(struct tn_use_table *table)
{
    size_t bucket = 0;
    struct tn_use *use = NULL;
    struct tn_dependency *dependency;
    while ((dependency = find_ended(table, &bucket, &use)) != NULL)
        dependency->time = 0;
}
