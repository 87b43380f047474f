/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * use_table: the further streams that live allocations are used on, by address: a hash table. Each use, of one address
 * on one stream, is a piece of host memory by itself.
 *
 *     address ── stream a                       named: the free waits for what is submitted to a until then
 *             └─ ended, dependency {c}, 7       the handle has ended: the free waits for what was submitted before
 *
 * A use has the name of its stream, not the number: a stream may get another number before the free. When the handle
 * ends, the use has the number that it had then, and follows the number from then on as freed memory does.
 *
 * Cost: O(1) expected by address, and O(n) for the walks over all uses. An insert that doubles the buckets takes O(n);
 * without host memory for more buckets the chains grow longer, and nothing fails.
 * Threads: no locks here; the pool locks.
 */
#ifndef TN_USE_TABLE_H
#define TN_USE_TABLE_H

#include <stddef.h>

#include "stream_table.h"

struct tn_use {
    struct tn_use *next; /* in its bucket */
    uintptr_t address;
    bool has_ended;
    struct tn_stream_name name;      /* unless it has ended */
    struct tn_dependency dependency; /* if it has ended */
};

struct tn_use_table {
    struct tn_use **buckets; /* NULL before the first use */
    size_t bucket_count;     /* a power of two, or 0 */
    size_t use_count;
    size_t ended_count; /* of these */
};

void tn_use_table_init(struct tn_use_table *table);

/* Frees the uses, too. */
void tn_use_table_fini(struct tn_use_table *table);

/* Makes the first buckets if there are none. False: no host memory. */
bool tn_use_table_prepare(struct tn_use_table *table);

/* Makes a use that is in no table. NULL: no host memory. */
struct tn_use *tn_use_create(uintptr_t address, struct tn_stream_name name);
void tn_use_destroy(struct tn_use *use);

/* Requires that the table is prepared. */
void tn_use_table_insert(struct tn_use_table *table, struct tn_use *use);

/* Returns the first use of the address, and the one after another use of it. NULL: there are no more. */
const struct tn_use *tn_use_table_find(const struct tn_use_table *table, uintptr_t address);
const struct tn_use *tn_use_table_find_next(const struct tn_use *use);

/* Returns whether the address has a use of that name. */
bool tn_use_table_has(const struct tn_use_table *table, uintptr_t address,
                      struct tn_stream_name name);

/* Destroys all uses of the address. */
void tn_use_table_remove(struct tn_use_table *table, uintptr_t address);

/* Calls the function with each use until it returns false. Returns whether it never did. */
bool tn_use_table_walk(const struct tn_use_table *table,
                       bool (*visit)(void *context, const struct tn_use *use), void *context);

/* --- streams: walks over all uses ----------------------------------------------------------------- */

/* Returns whether a use has the name. */
bool tn_use_table_names(const struct tn_use_table *table, struct tn_stream_name name);

/* The handle ends: the uses of that name wait for the dependency from now on. */
void tn_use_table_end_stream(struct tn_use_table *table, struct tn_stream_name name,
                             struct tn_dependency dependency);

/* All work of that stream is done: destroys the uses of that name. */
void tn_use_table_remove_stream(struct tn_use_table *table, struct tn_stream_name name);

/* Returns the streams, a bit each, that uses wait for which have ended. */
uint32_t tn_use_table_streams(const struct tn_use_table *table);

/* Change what such uses wait for, as in dependency.h; and begin all times anew. */
void tn_use_table_complete(struct tn_use_table *table, uint32_t streams, uint32_t time);
void tn_use_table_replace(struct tn_use_table *table, uint32_t stream_bit,
                          struct tn_dependency in_place);
void tn_use_table_begin_anew(struct tn_use_table *table);

#endif
