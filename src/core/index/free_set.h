/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * free_set: free regions of a pool, and in which order a request is offered them: the placement policy.
 *
 *     policy                order in which what is large enough is offered         find         kept in
 *     best_fit              by size, then by first chunk                           O(log n)     size_set.h
 *     first_fit             by first chunk                                         O(log n)     fit_first.c
 *     segregated_fit        by class of sizes, a class an octave                   see there    fit_good.c
 *     tlsf                  by class of sizes, 32 classes an octave                see there    fit_good.c
 *
 * Whatever the policy: find and find_after together offer every region that is large enough, once. So
 * what is there is found.
 *
 * The default is inlined, at the price of one branch; the others are called through a table. They keep
 * 16 bytes a record beside the records, in an array that a pool's sets share: a region is in one set.
 *
 * Room must have been reserved, so no call but init and reserve allocates and none can fail.
 * Threads: none of it locks; the pool does.
 */
#ifndef TN_FREE_SET_H
#define TN_FREE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/tarn.h"

#include "../../base/bit_tree.h"
#include "../../base/compiler.h"
#include "../../base/key_tree.h"

#include "region.h"
#include "size_set.h"

/* What a policy other than best fit knows of a free region; of others it says nothing. */
union tn_free_node {
    struct {
        uint32_t next; /* in the list of its bin or class, or TN_REGION_NONE */
        uint32_t previous;
        uint64_t freed_at; /* later is more */
    };
    struct {
        uint32_t parent; /* in the tree by first chunk, or TN_REGION_NONE */
        uint32_t left;
        uint32_t right;
        uint32_t chunk_count_max; /* of the region and all below it */
    };
};

_Static_assert(sizeof(union tn_free_node) == 16, "a node is 16 bytes");

/* The nodes of all records of a pool, by the record's number. */
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
    uint32_t region_count;       /* not of best fit, which counts for itself */
    struct tn_free_nodes *nodes; /* shared with the pool's other sets; not of best fit */
    union {
        struct tn_size_set best;
        uint32_t root; /* first fit: of the tree, or TN_REGION_NONE */
        struct tn_size_classes *classes;
    };
};

/* As tn_free_set_... below. `chunk_count` of remove and `old_chunk_count` are those that the region had
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

/* As TARN_FIT has it, best_fit for example; NULL: there is no such policy. */
const char *tn_fit_name(tarn_fit fit);

/* --- what the sets of a pool share ----------------------------------------------------------- */

void tn_free_nodes_init(struct tn_free_nodes *nodes);
void tn_free_nodes_fini(struct tn_free_nodes *nodes);

/* --- a set ----------------------------------------------------------------------------------- */

/* An empty set, which takes what its policy needs of `trees` and `nodes`. False: no host memory; nothing
 * is left behind. */
bool tn_free_set_init(struct tn_free_set *set, tarn_fit fit, struct tn_key_tree_store *trees,
                      struct tn_free_nodes *nodes);
void tn_free_set_fini(struct tn_free_set *set);

/* Sees to it that set_count sets, of which this is one, can hold region_count regions together, however
 * their sizes fall, of chunk_count chunks in all, with records below record_count. To be called for each
 * of them. False: no host memory. */
bool tn_free_set_reserve(struct tn_free_set *set, uint32_t set_count, uint32_t region_count,
                         uint32_t chunk_count, uint32_t record_count);

/* Bytes of host memory taken, besides the structure itself and what sets share; not what is reserved and
 * untouched. */
size_t tn_free_set_metadata_bytes(const struct tn_free_set *set);

/* NULL, or what is wrong. Walks everything. */
const char *tn_free_set_check(const struct tn_free_set *set, const struct tn_region *regions);

static inline uint32_t tn_free_set_region_count(const struct tn_free_set *set)
{
    return TN_LIKELY(!set->operations) ? set->best.region_count : set->region_count;
}

/* Adds a free region. `regions` is the array that the numbers count in, here and below. */
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

/* Removes a region, which had this count and first chunk in the set; its record may say otherwise by now. */
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

/* A region of the set has changed from what is given to what stands in its record. It has not gone past
 * another. */
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

/* What a request for so many chunks, 1 or more, is offered first; or TN_REGION_NONE: nothing is so large. */
static inline uint32_t tn_free_set_find(const struct tn_free_set *set,
                                        const struct tn_region *regions, uint32_t chunk_count)
{
    if (TN_LIKELY(!set->operations)) return tn_size_set_find(&set->best, chunk_count);
    return set->operations->find(set, regions, chunk_count);
}

/* What it is offered when it does not take `region`, which it was offered before and which is still in the
 * set; or TN_REGION_NONE. */
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

/* One of the largest, or TN_REGION_NONE. */
static inline uint32_t tn_free_set_find_largest(const struct tn_free_set *set,
                                                const struct tn_region *regions)
{
    if (TN_LIKELY(!set->operations)) return tn_size_set_find_largest(&set->best);
    return set->operations->find_largest(set, regions);
}

/* Whether a request is to have region a rather than b. The two are of different sets, of which this is
 * one, and each was offered first by its own. */
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
