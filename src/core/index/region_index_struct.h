/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* region_index_struct: what a region index consists of; region_index.h says what it is. */
#ifndef TN_REGION_INDEX_STRUCT_H
#define TN_REGION_INDEX_STRUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/bit_tree.h"
#include "../../base/key_tree.h"

#include "dependency.h"
#include "free_set.h"
#include "live_map.h"
#include "region.h"

#define TN_START_GROUP_CHUNKS 64

struct tn_region_index {
    struct tn_region *regions;
    uint32_t region_capacity;
    uint32_t fresh;          /* records from here on have never been used */
    uint32_t unused;         /* first of the list of records that were used once, or NONE */
    uint32_t region_count;   /* records in use, the heads of spans among them */
    uint32_t reserved_count; /* room is reserved for so many in use, */
    uint32_t promised_count; /* and for so many more, which are kept for what is adopted */
    uint32_t span_count;
    uint32_t chunk_count; /* of all spans */
    uint32_t void_count;  /* regions that are voids; heads are not counted */
    uint32_t first_void;  /* of the list of those at rest, by address, or NONE */
    struct tn_live_map live;
    struct tn_bit_tree starts;    /* the groups of TN_START_GROUP_CHUNKS in which a region starts */
    uint32_t pending_chunk_count; /* of free regions that wait for something */
    bool is_divided;              /* there are more sets than that of what waits for nothing */
    tarn_fit fit;                 /* the policy of all free sets */
    struct tn_key_tree_store trees;
    struct tn_free_nodes free_nodes;
    struct tn_free_set by_size[TN_FREE_SET_COUNT];
};

/* What a freed region was. */
struct tn_freed {
    uint32_t chunk_count;
    uint32_t slack_bytes;
};

#endif
