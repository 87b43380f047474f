/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * debug_table: the records of debug mode, by the start of their blocks: a hash table. Each record is a piece
 * of host memory by itself.
 *
 * Cost: O(1) expected, except for an insert that doubles the buckets. Without host memory for more buckets
 * the chains grow longer, and nothing fails.
 * Threads: no locks here; the owner locks.
 */
#ifndef TN_DEBUG_TABLE_H
#define TN_DEBUG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/call_site.h"

#include "../parts/label.h"

/* A block is an allocation of the pool. The program's memory lies in it, between the zones. */
struct tn_debug_range {
    uintptr_t block;
    size_t block_bytes;
    uintptr_t address; /* the program's; without zones, that of the block */
    size_t size_bytes; /* requested */
};

enum tn_debug_state {
    TN_DEBUG_STATE_LIVE = 0,
    TN_DEBUG_STATE_QUARANTINED, /* freed, and not handed out yet */
    TN_DEBUG_STATE_DAMAGED      /* freed, and never handed out again */
};

/* Where the program allocated or freed. */
struct tn_debug_origin {
    struct tn_call_site site;
    char label[TN_LABEL_BYTES];
};

struct tn_debug_record {
    struct tn_debug_record *next;  /* in its bucket */
    struct tn_debug_record *newer; /* in the quarantine */
    struct tn_debug_range range;
    uint64_t serial; /* from when it became live; never used twice in a pool */
    enum tn_debug_state state;
    bool is_filled;        /* the patterns are in the memory, so it can be inspected */
    bool is_used_late;     /* if damaged: after the free, not beyond its ends */
    ptrdiff_t first_wrong; /* if damaged: the offset of the first wrong byte from the address */
    uint32_t label;        /* under which it is counted, or TN_LABEL_NONE */
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

/* Frees the records too. */
void tn_debug_table_fini(struct tn_debug_table *table);

/* Requires that the table has no record of this block. */
void tn_debug_table_insert(struct tn_debug_table *table, struct tn_debug_record *record);

/* The record of the block, or NULL. */
struct tn_debug_record *tn_debug_table_find(const struct tn_debug_table *table, uintptr_t block);

/* Takes the record of the block out of the table; the caller owns it then. NULL: there is none. */
struct tn_debug_record *tn_debug_table_take(struct tn_debug_table *table, uintptr_t block);

#endif
