/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * debug_table: what debug mode remembers of each allocation, by its address: a hash table of records, each a
 * piece of host memory by itself.
 *
 * Cost: O(1) expected, but for the insert that doubles the buckets. When there is no host memory for more
 * buckets the chains grow longer, and nothing fails.
 * Threads: none of it locks; the owner does.
 */
#ifndef TN_DEBUG_TABLE_H
#define TN_DEBUG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/call_site.h"

#include "debug_label.h"

struct tn_debug_record {
    struct tn_debug_record *next; /* in its bucket */
    uintptr_t address;
    size_t size_bytes; /* what was asked for */
    struct tn_call_site site;
    char label[TN_LABEL_BYTES];
};

struct tn_debug_table {
    struct tn_debug_record **buckets;
    size_t bucket_count; /* a power of two */
    size_t record_count;
};

/* False: no host memory. */
bool tn_debug_table_init(struct tn_debug_table *table);

/* The records go too. */
void tn_debug_table_fini(struct tn_debug_table *table);

/* There must be none of the same address. */
void tn_debug_table_insert(struct tn_debug_table *table, struct tn_debug_record *record);

/* NULL: there is none. */
struct tn_debug_record *tn_debug_table_find(const struct tn_debug_table *table, uintptr_t address);

/* The same, taking it out of the table. */
struct tn_debug_record *tn_debug_table_take(struct tn_debug_table *table, uintptr_t address);

#endif
