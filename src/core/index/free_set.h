/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * free_set: free regions of a pool, in the order in which a placement policy offers them to a request.
 *
 *     policy                order of the regions that are large enough             find         kept in
 *     best_fit              by size, then by first chunk                           O(log n)     size_set.h
 *     first_fit             by first chunk                                         O(log n)     fit_first.c
 *     segregated_fit        by size class, one an octave                           see there    fit_good.c
 *     tlsf                  by size class, 32 an octave                            see there    fit_good.c
 *
 * With every policy, find and find_after together offer each region that is large enough once. So a region
 * that fits is always found.
 *
 * The default is inlined, at the cost of one branch; the others are called through a table. They keep 16
 * bytes for each record outside the records, in an array that a pool's sets share, since a region is in one
 * set only.
 *
 * Only init and reserve allocate. The other calls require reserved room and cannot fail.
 * Threads: no locking; the pool locks.
 */
#ifndef TN_FREE_SET_H
#define TN_FREE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/tarn.h"

#include "../../base/sets/bit_tree.h"
#include "../../base/compiler.h"
#include "../../base/sets/key_tree.h"

#include "region.h"
#include "size_set.h"

/* The data of policies other than best fit for a free region. Undefined for other regions. */
union tn_free_node {
    struct {
        uint32_t next; /* in the list of its class, or TN_REGION_NONE */
        uint32_t previous;
        uint64_t freed_at; /* time of the free, by tn_free_nodes.now */
    };
    struct {
        uint32_t parent; /* in the tree by first chunk, or TN_REGION_NONE */
        uint32_t left;
        uint32_t right;
        uint32_t chunk_count_max; /* the largest of the region and all below it */
    };
};

_Static_assert(sizeof(union tn_free_node) == 16, "a node is 16 bytes");

/* The nodes of all records of a pool, by record number. */
struct tn_free_nodes {
    union tn_free_node *nodes;
    uint32_t capacity;
    uint64_t now; /* regions freed so far */
};

struct tn_fit_operations;

struct tn_size_classes;

struct tn_free_set {
    const struct tn_fit_operations *operations; /* NULL: best fit */
    bool is_there;
    uint32_t region_count;       /* unused in best fit, which has its own count */
    struct tn_free_nodes *nodes; /* shared with the pool's other sets; unused in best fit */
    union {
        struct tn_size_set best;
        uint32_t root; /* first fit: root of the tree, or TN_REGION_NONE */
        struct tn_size_classes *classes;
    };
};

/* The functions tn_free_set_... below. `chunk_count` of remove and `old_chunk_count` are the region's count
 * in the set. */
struct tn_fit_operations {
    bool (*init)(struct tn_free_set *set);
    void (*fini)(struct tn_free_set *set);
    bool (*reserve)(struct tn_free_set *set, uint32_t region_count, uint32_t chunk_count);
    void (*insert)(struct tn_free_set *set, const struct tn_region *regions, uint32_t region);
    void (*remove)(struct tn_free_set *set, const struct tn_region *regions, uint32_t region,
                   uint32_t chunk_count);
    void (*change)(struct tn_free_set *set, const struct tn_region *regions, uint32_t region,
                   uint32_t old_chunk_count);
    uint32_t (*find)(const struct tn_free_set *set, const struct tn_region *regions,
                     uint32_t chunk_count);
    uint32_t (*find_after)(const struct tn_free_set *set, const struct tn_region *regions,
                           uint32_t region, uint32_t chunk_count);
    uint32_t (*find_largest)(const struct tn_free_set *set, const struct tn_region *regions);
    bool (*is_better)(const struct tn_free_set *set, const struct tn_region *regions, uint32_t a,
                      uint32_t b);
    size_t (*metadata_bytes)(const struct tn_free_set *set);
    const char *(*check)(const struct tn_free_set *set, const struct tn_region *regions);
};

extern const struct tn_fit_operations tn_fit_first;
extern const struct tn_fit_operations tn_fit_segregated;
extern const struct tn_fit_operations tn_fit_tlsf;

/* Returns the name for TARN_FIT, for example best_fit. NULL: there is no such policy. */
const char *tn_fit_name(tarn_fit fit);

/* --- what the sets of a pool share ----------------------------------------------------------- */

void tn_free_nodes_init(struct tn_free_nodes *nodes);
void tn_free_nodes_fini(struct tn_free_nodes *nodes);

/* --- a set ----------------------------------------------------------------------------------- */

/* Makes an empty set, which uses `trees` and `nodes` as its policy needs. False: no host memory, nothing is
 * left behind. */
bool tn_free_set_init(struct tn_free_set *set, tarn_fit fit, struct tn_key_tree_store *trees,
                      struct tn_free_nodes *nodes);
void tn_free_set_fini(struct tn_free_set *set);

/* Reserves room for region_count regions of any sizes in set_count sets together, with chunk_count chunks in
 * total and records below record_count. Call it for each of the sets. False: no host memory. */
bool tn_free_set_reserve(struct tn_free_set *set, uint32_t set_count, uint32_t region_count,
                         uint32_t chunk_count, uint32_t record_count);

/* Returns bytes of host memory in use, without the structure itself, memory shared by sets, and reserved
 * memory not touched yet. */
size_t tn_free_set_metadata_bytes(const struct tn_free_set *set);

/* Returns NULL, or the fault. Walks everything. */
const char *tn_free_set_check(const struct tn_free_set *set, const struct tn_region *regions);

static inline uint32_t tn_free_set_region_count(const struct tn_free_set *set)
{
    return TN_LIKELY(!set->operations) ? set->best.region_count : set->region_count;
}

/* Adds a free region. Here and below, record numbers are indices of `regions`. */
static inline void tn_free_set_insert(struct tn_free_set *set, const struct tn_region *regions,
                                      uint32_t region)
{
    if (TN_LIKELY(!set->operations)) {
        tn_size_set_insert(&set->best, regions, region);
        return;
    }
    set->region_count++;
    set->operations->insert(set, regions, region);
}

/* Removes a region. It is in the set with the given count and first chunk; its record may have changed. */
static inline void tn_free_set_remove(struct tn_free_set *set, const struct tn_region *regions,
                                      uint32_t region, uint32_t chunk_count, uint32_t first_chunk)
{
    if (TN_LIKELY(!set->operations)) {
        tn_size_set_remove(&set->best, chunk_count, first_chunk);
        return;
    }
    set->region_count--;
    set->operations->remove(set, regions, region, chunk_count);
}

/* Updates a region whose record has changed from the given chunks. Requires: it has not moved past another
 * region. */
static inline void tn_free_set_change(struct tn_free_set *set, const struct tn_region *regions,
                                      uint32_t region, uint32_t old_chunk_count,
                                      uint32_t old_first_chunk)
{
    if (TN_LIKELY(!set->operations)) {
        tn_size_set_change(&set->best, regions, region, old_chunk_count, old_first_chunk);
        return;
    }
    set->operations->change(set, regions, region, old_chunk_count);
}

/* Returns the first offer for a request of at least 1 chunk, or TN_REGION_NONE: no region is large enough. */
static inline uint32_t tn_free_set_find(const struct tn_free_set *set,
                                        const struct tn_region *regions, uint32_t chunk_count)
{
    if (TN_LIKELY(!set->operations)) return tn_size_set_find(&set->best, chunk_count);
    return set->operations->find(set, regions, chunk_count);
}

/* Returns the next offer after `region`, or TN_REGION_NONE. Requires: `region` was offered before for the same
 * count, and is still in the set. */
static inline uint32_t tn_free_set_find_after(const struct tn_free_set *set,
                                              const struct tn_region *regions, uint32_t region,
                                              uint32_t chunk_count)
{
    if (TN_LIKELY(!set->operations)) {
        const struct tn_region *r = &regions[region];
        return tn_size_set_find_after(&set->best, regions, r->chunk_count, r->first_chunk);
    }
    return set->operations->find_after(set, regions, region, chunk_count);
}

/* Returns one of the largest regions, or TN_REGION_NONE. */
static inline uint32_t tn_free_set_find_largest(const struct tn_free_set *set,
                                                const struct tn_region *regions)
{
    if (TN_LIKELY(!set->operations)) return tn_size_set_find_largest(&set->best);
    return set->operations->find_largest(set, regions);
}

/* Returns whether region a is the better offer than b. Requires: they are the first offers of two sets, one
 * of which is this. */
static inline bool tn_free_set_is_better(const struct tn_free_set *set,
                                         const struct tn_region *regions, uint32_t a, uint32_t b)
{
    const struct tn_region *x = &regions[a], *y = &regions[b];
    if (TN_LIKELY(!set->operations)) {
        return x->chunk_count != y->chunk_count ? x->chunk_count < y->chunk_count
                                                : x->first_chunk < y->first_chunk;
    }
    return set->operations->is_better(set, regions, a, b);
}

#endif
