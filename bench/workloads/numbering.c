/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* numbering: numbers keys from 0 on, in the C library's search tree. */
#include "numbering.h"

#include <search.h>
#include <stdlib.h>

struct tn_numbering_key {
    uint64_t key;
    uint32_t number;
};

static int compare_keys(const void *left, const void *right)
{
    uint64_t a = ((const struct tn_numbering_key *)left)->key;
    uint64_t b = ((const struct tn_numbering_key *)right)->key;
    return (a > b) - (a < b);
}

static const struct tn_numbering_key *add(struct tn_numbering *numbering, uint64_t key)
{
    struct tn_numbering_key *added = malloc(sizeof *added);
    if (!added || numbering->count == UINT32_MAX) goto fail;
    *added = (struct tn_numbering_key){ key, (uint32_t)numbering->count };
    if (!tsearch(added, &numbering->tree, compare_keys)) goto fail;
    numbering->count++;
    return added;
fail:
    free(added);
    return NULL;
}

bool tn_numbering_find(struct tn_numbering *numbering, uint64_t key, uint32_t *number_out)
{
    if (!numbering->last || numbering->last->key != key) {
        struct tn_numbering_key wanted = { .key = key };
        struct tn_numbering_key **found = tfind(&wanted, &numbering->tree, compare_keys);
        const struct tn_numbering_key *known = found ? *found : add(numbering, key);
        if (!known) return false;
        numbering->last = known;
    }
    *number_out = numbering->last->number;
    return true;
}

void tn_numbering_fini(struct tn_numbering *numbering)
{
    tdestroy(numbering->tree, free);
    *numbering = (struct tn_numbering){ 0 };
}
