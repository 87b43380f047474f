/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* free_list: doubly linked lists of free regions, last freed first. Every call is O(1). */
#ifndef TN_FREE_LIST_H
#define TN_FREE_LIST_H

#include "free_set.h"

/* Inserts a region that is freed now. */
static inline void tn_free_list_push(struct tn_free_nodes *nodes, uint32_t *head, uint32_t region)
{
    TN_ASSERT(region < nodes->capacity);
    union tn_free_node *node = &nodes->nodes[region];
    node->next = *head;
    node->previous = TN_REGION_NONE;
    node->freed_at = nodes->now++;
    if (*head != TN_REGION_NONE) nodes->nodes[*head].previous = region;
    *head = region;
}

static inline void tn_free_list_remove(struct tn_free_nodes *nodes, uint32_t *head, uint32_t region)
{
    const union tn_free_node *node = &nodes->nodes[region];
    if (node->next != TN_REGION_NONE) nodes->nodes[node->next].previous = node->previous;
    if (node->previous != TN_REGION_NONE) {
        nodes->nodes[node->previous].next = node->next;
    } else {
        TN_ASSERT(*head == region);
        *head = node->next;
    }
}

/* Returns whether `region` can follow `previous` in a list: its links are right and it was freed before. */
static inline bool tn_free_list_is_valid(const struct tn_free_nodes *nodes, uint32_t previous,
                                         uint32_t region)
{
    if (region >= nodes->capacity || nodes->nodes[region].previous != previous) return false;
    return previous == TN_REGION_NONE ||
           nodes->nodes[region].freed_at < nodes->nodes[previous].freed_at;
}

#endif
