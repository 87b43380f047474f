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
    uint32_t fresh;          /* records from this one on have never been used */
    uint32_t unused;         /* first in the list of released records, or NONE */
    uint32_t region_count;   /* records in use, including the heads of spans */
    uint32_t reserved_count; /* room is reserved for this many records in use, */
    uint32_t promised_count; /* and for this many more, for tn_region_index_adopt */
    uint32_t span_count;
    uint32_t chunk_count; /* of all spans */
    uint32_t void_count;  /* regions that are voids, without heads */
    uint32_t first_void;  /* first in the list of voids at rest, by address, or NONE */
    struct tn_live_map live;
    struct tn_bit_tree starts;    /* by groups of TN_START_GROUP_CHUNKS: a region starts there */
    uint32_t pending_chunk_count; /* in free regions that depend on a stream */
    bool is_divided;              /* there are more sets than the idle one */
    tarn_fit fit;                 /* the policy of all free sets */
    struct tn_key_tree_store trees;
    struct tn_free_nodes free_nodes;
    struct tn_free_set by_size[TN_FREE_SET_COUNT];
};

/* The size of a freed region, and its slack. */
struct tn_freed {
    uint32_t chunk_count;
    uint32_t slack_bytes;
};

#endif
