/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * debug_table: what debug mode remembers of each allocation, by where its block starts: a hash table of records,
 * each a piece of host memory by itself.
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

#include "../../base/call_site.h"

#include "debug_label.h"

/* What the program may use lies in a region of the pool's, the block, with the zones around it. */
struct tn_debug_range {
    uintptr_t block;
    size_t block_bytes;
    uintptr_t address; /* the block's own where there are no zones */
    size_t size_bytes; /* what was asked for */
};

enum tn_debug_state {
    TN_DEBUG_STATE_LIVE = 0,
    TN_DEBUG_STATE_QUARANTINED, /* freed, and not handed out yet */
    TN_DEBUG_STATE_DAMAGED      /* freed, and never handed out again */
};

/* Who allocated or freed. */
struct tn_debug_origin {
    struct tn_call_site site;
    char label[TN_LABEL_BYTES];
};

struct tn_debug_record {
    struct tn_debug_record *next;  /* in its bucket */
    struct tn_debug_record *newer; /* in the quarantine */
    struct tn_debug_range range;
    uint64_t serial; /* no two records of a pool have the same */
    enum tn_debug_state state;
    bool is_filled;        /* when it was handed out, so that it can be looked at */
    bool is_used_late;     /* damaged: after the free, and not beyond its ends */
    ptrdiff_t first_wrong; /* damaged: the offset from the address */
    struct tn_debug_origin allocated;
    struct tn_debug_origin freed; /* unless it is live */
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

/* There must be none of the same block. */
void tn_debug_table_insert(struct tn_debug_table *table, struct tn_debug_record *record);

/* NULL: there is none. */
struct tn_debug_record *tn_debug_table_find(const struct tn_debug_table *table, uintptr_t block);

/* The same, taking it out of the table. */
struct tn_debug_record *tn_debug_table_take(struct tn_debug_table *table, uintptr_t block);

#endif
