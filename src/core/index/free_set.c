/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* free_set: the table of policies, and everything off the hot path. */
#include "free_set.h"

#include "../../base/host_memory.h"

static const struct {
    const char *name;
    const struct tn_fit_operations *operations;
} policies[] = {
    [TARN_FIT_BEST] = { "best_fit", NULL },
    [TARN_FIT_FIRST] = { "first_fit", &tn_fit_first },
    [TARN_FIT_SEGREGATED] = { "segregated_fit", &tn_fit_segregated },
    [TARN_FIT_TLSF] = { "tlsf", &tn_fit_tlsf },
};

const char *tn_fit_name(tarn_fit fit)
{
    return (size_t)fit < sizeof policies / sizeof policies[0] ? policies[fit].name : NULL;
}

/* --- what the sets of a pool share ----------------------------------------------------------- */

void tn_free_nodes_init(struct tn_free_nodes *nodes)
{
    *nodes = (struct tn_free_nodes){ 0 };
}

void tn_free_nodes_fini(struct tn_free_nodes *nodes)
{
    tn_host_memory_free(nodes->nodes);
}

/* All nodes may be in use, so all are moved. */
static bool reserve_nodes(struct tn_free_nodes *nodes, uint32_t record_count)
{
    void *items = nodes->nodes;
    if (!tn_host_memory_grow_array(&items, &nodes->capacity, nodes->capacity, record_count,
                                   sizeof *nodes->nodes)) {
        return false;
    }
    nodes->nodes = items;
    return true;
}

/* --- a set ----------------------------------------------------------------------------------- */

bool tn_free_set_init(struct tn_free_set *set, tarn_fit fit, struct tn_key_tree_store *trees,
                      struct tn_free_nodes *nodes)
{
    TN_ASSERT(tn_fit_name(fit));
    *set = (struct tn_free_set){ .operations = policies[fit].operations, .nodes = nodes };
    set->is_there =
        set->operations ? set->operations->init(set) : tn_size_set_init(&set->best, trees);
    return set->is_there;
}

void tn_free_set_fini(struct tn_free_set *set)
{
    if (set->operations) {
        set->operations->fini(set);
    } else {
        tn_size_set_fini(&set->best);
    }
    *set = (struct tn_free_set){ 0 };
}

bool tn_free_set_reserve(struct tn_free_set *set, uint32_t set_count, uint32_t region_count,
                         uint32_t chunk_count, uint32_t record_count)
{
    if (set->operations) {
        return reserve_nodes(set->nodes, record_count) &&
               set->operations->reserve(set, region_count, chunk_count);
    }
    return tn_size_set_reserve_giants(&set->best, region_count, chunk_count) &&
           tn_size_set_reserve_trees(set->best.trees, set_count, region_count);
}

size_t tn_free_set_metadata_bytes(const struct tn_free_set *set)
{
    return set->operations ? set->operations->metadata_bytes(set)
                           : tn_size_set_metadata_bytes(&set->best);
}

const char *tn_free_set_check(const struct tn_free_set *set, const struct tn_region *regions)
{
    return set->operations ? set->operations->check(set, regions)
                           : tn_size_set_check(&set->best, regions);
}
