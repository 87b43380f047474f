/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* debug_table: chains in buckets, which double when there are as many records as buckets. */
#include "debug_table.h"

#include "../../base/assert.h"
#include "../../base/host_memory.h"

#define BUCKETS_AT_FIRST 64

/* Blocks differ in their middle bits; the product brings them to the top. */
static size_t bucket_of(uintptr_t block, size_t bucket_count)
{
    uint64_t mixed = (uint64_t)block * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> 32) & (bucket_count - 1);
}

bool tn_debug_table_init(struct tn_debug_table *table)
{
    *table = (struct tn_debug_table){ .bucket_count = BUCKETS_AT_FIRST };
    table->buckets = tn_host_memory_alloc_zeroed(BUCKETS_AT_FIRST * sizeof *table->buckets);
    return table->buckets != NULL;
}

void tn_debug_table_fini(struct tn_debug_table *table)
{
    for (size_t i = 0; i < table->bucket_count; i++) {
        while (table->buckets[i]) {
            struct tn_debug_record *record = table->buckets[i];
            table->buckets[i] = record->next;
            tn_host_memory_free(record);
        }
    }
    tn_host_memory_free(table->buckets);
}

static void link_record(struct tn_debug_record **buckets, size_t bucket_count,
                        struct tn_debug_record *record)
{
    struct tn_debug_record **bucket = &buckets[bucket_of(record->range.block, bucket_count)];
    record->next = *bucket;
    *bucket = record;
}

static void double_buckets(struct tn_debug_table *table)
{
    size_t count = table->bucket_count * 2;
    struct tn_debug_record **buckets = tn_host_memory_alloc_zeroed(count * sizeof *buckets);
    if (!buckets) return;
    for (size_t i = 0; i < table->bucket_count; i++) {
        while (table->buckets[i]) {
            struct tn_debug_record *record = table->buckets[i];
            table->buckets[i] = record->next;
            link_record(buckets, count, record);
        }
    }
    tn_host_memory_free(table->buckets);
    table->buckets = buckets;
    table->bucket_count = count;
}

void tn_debug_table_insert(struct tn_debug_table *table, struct tn_debug_record *record)
{
    TN_ASSERT(!tn_debug_table_find(table, record->range.block));
    if (table->record_count >= table->bucket_count) double_buckets(table);
    link_record(table->buckets, table->bucket_count, record);
    table->record_count++;
}

static struct tn_debug_record **find_link(const struct tn_debug_table *table, uintptr_t block)
{
    struct tn_debug_record **link = &table->buckets[bucket_of(block, table->bucket_count)];
    while (*link && (*link)->range.block != block)
        link = &(*link)->next;
    return link;
}

struct tn_debug_record *tn_debug_table_find(const struct tn_debug_table *table, uintptr_t block)
{
    return *find_link(table, block);
}

struct tn_debug_record *tn_debug_table_take(struct tn_debug_table *table, uintptr_t block)
{
    struct tn_debug_record **link = find_link(table, block);
    struct tn_debug_record *record = *link;
    if (!record) return NULL;
    *link = record->next;
    table->record_count--;
    return record;
}
