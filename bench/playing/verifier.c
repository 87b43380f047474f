/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * verifier: checks what an allocator hands out.
 *
 * The live ranges are kept in the C library's search tree, where two ranges that overlap count as
 * equal: so inserting a range finds the one that it overlaps, if there is one.
 */
#include "verifier.h"

#include <search.h>
#include <stdint.h>
#include <stdlib.h>

struct range {
    uintptr_t first;
    size_t size_bytes; /* 0: there is no block in this slot, or one of zero bytes */
    size_t place;
};

struct tn_verifier {
    const struct tn_workload *workload;
    size_t alignment_bytes_min; /* of a block of one byte */
    size_t alignment_bytes_max;
    void *tree;            /* of the ranges with at least one byte */
    struct range ranges[]; /* one for each slot */
};

struct tn_verifier *tn_verifier_create(const struct tn_workload *workload,
                                       size_t alignment_bytes_max)
{
    struct tn_verifier *verifier =
        calloc(1, sizeof *verifier + workload->slot_count * sizeof verifier->ranges[0]);
    if (!verifier) return NULL;
    verifier->workload = workload;
    bool is_limited = alignment_bytes_max != 0;
    verifier->alignment_bytes_min =
        is_limited ? TN_VERIFIER_LIMITED_BYTES_MIN : TN_VERIFIER_ALIGNMENT_BYTES_MIN;
    verifier->alignment_bytes_max = is_limited ? alignment_bytes_max : TN_VERIFIER_ALIGNMENT_BYTES;
    return verifier;
}

static void forget_range(void *range)
{
    (void)range; /* the verifier owns it */
}

void tn_verifier_destroy(struct tn_verifier *verifier)
{
    if (!verifier) return;
    tdestroy(verifier->tree, forget_range);
    free(verifier);
}

static int compare_ranges(const void *left, const void *right)
{
    const struct range *a = left;
    const struct range *b = right;
    /* Differences, since first + size_bytes of a bad range may overflow. */
    if (a->first < b->first && b->first - a->first >= a->size_bytes) return -1;
    if (b->first < a->first && a->first - b->first >= b->size_bytes) return 1;
    return 0;
}

static void report_overlap(const struct tn_verifier *verifier, const struct range *added,
                           const struct range *live, struct tn_reason *reason_out)
{
    struct tn_reason origin;
    tn_reason_set(&origin, "before this pass");
    if (live->place != TN_VERIFIER_NO_PLACE)
        tn_workload_describe_place(verifier->workload, live->place, &origin);
    tn_reason_set(reason_out,
                  "the new block of %zu bytes at 0x%zx overlaps the live block of %zu bytes at "
                  "0x%zx, allocated here: %.200s",
                  added->size_bytes, (size_t)added->first, live->size_bytes, (size_t)live->first,
                  origin.text);
}

static bool check_address(const struct tn_verifier *verifier, const struct range *range,
                          struct tn_reason *reason_out)
{
    if (range->first == 0) {
        tn_reason_set(reason_out, "the new block of %zu bytes has no address", range->size_bytes);
        return false;
    }
    size_t alignment_bytes = verifier->alignment_bytes_min;
    while (alignment_bytes < range->size_bytes && alignment_bytes < verifier->alignment_bytes_max)
        alignment_bytes *= 2;
    if (range->first % alignment_bytes != 0) {
        tn_reason_set(reason_out, "the new block of %zu bytes at 0x%zx is not aligned to %zu bytes",
                      range->size_bytes, (size_t)range->first, alignment_bytes);
        return false;
    }
    if (range->size_bytes > UINTPTR_MAX - range->first) {
        tn_reason_set(reason_out, "the new block of %zu bytes at 0x%zx ends past all addresses",
                      range->size_bytes, (size_t)range->first);
        return false;
    }
    return true;
}

bool tn_verifier_add(struct tn_verifier *verifier, size_t slot, const void *address,
                     size_t size_bytes, size_t place, struct tn_reason *reason_out)
{
    struct range *range = &verifier->ranges[slot];
    *range = (struct range){ (uintptr_t)address, size_bytes, place };
    if (size_bytes == 0) return true;

    struct range **found = NULL;
    bool is_good = check_address(verifier, range, reason_out);
    if (is_good) {
        found = tsearch(range, &verifier->tree, compare_ranges);
        if (!found)
            tn_reason_set(reason_out, "there is no host memory to verify it");
        else if (*found != range)
            report_overlap(verifier, range, *found, reason_out);
    }
    is_good = found && *found == range;
    if (!is_good) range->size_bytes = 0;
    return is_good;
}

void tn_verifier_remove(struct tn_verifier *verifier, size_t slot)
{
    struct range *range = &verifier->ranges[slot];
    if (range->size_bytes > 0) tdelete(range, &verifier->tree, compare_ranges);
    range->size_bytes = 0;
}
