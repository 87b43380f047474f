/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fit_good: segregated_fit and tlsf, good fit by size classes. The regions of a class stand in one list, last
 * freed first, in no order of size.
 *
 *     octave       1   2-3   4-7   8-15   ...                 which octaves have a class that is not empty
 *     classes      segregated_fit: one an octave
 *                  tlsf: 32 an octave, of equal width; one for each count below 32
 *     class        freed last ◄──► freed before ◄──► ...
 *
 * All regions in the classes above a request's own class are large enough. So the first of these classes that
 * is not empty serves the request, after two lookups in bits. The own class may hold smaller regions. The
 * search looks there twice:
 *
 *     first   at the region freed last, since programs often request the size that they have just freed
 *     last    at all others, if no class above has a region: so a region that fits is always found
 *
 * tlsf, apart from the search in the own class, is after M. Masmano, I. Ripoll, A. Crespo, J. Real, "TLSF: a
 * new dynamic memory allocator for real-time systems", ECRTS 2004. Keeping it all outside the managed memory
 * is after O. Bell, A. Kumar, C. Gill, "Host-based allocators for device memory", arXiv 2405.07079.
 *
 * Cost: O(1). O(regions of the class) for the largest region, and for a request that no class above serves.
 * Memory: 4 KB a set for tlsf, 400 bytes for segregated_fit.
 * Not promised: best fit. A region may be split although a smaller one fits: up to a 16th larger than the
 * request in tlsf, up to four times as large in segregated_fit, larger still if no such region is free. Hence
 * more fragmentation. Nor do the live regions alone decide where a request is placed.
 * Always true: a class's bit is set if and only if its list is not empty, an octave's if and only if one of
 * its classes has its bit. A list has later frees before earlier ones; a size change within the class does
 * not move a region.
 */
#include "free_set.h"

#include "../../base/arith.h"
#include "../../base/host_memory.h"

#define NONE         TN_REGION_NONE
#define OCTAVE_COUNT 32
#define TLSF_LOG2    5

struct tn_size_classes {
    unsigned octave_log2; /* log2 of the classes per octave */
    uint32_t octaves;     /* bit set: the octave has a class that is not empty */
    uint32_t classes[OCTAVE_COUNT];
    uint32_t lists[]; /* by class: the region freed last, or NONE */
};

/* --- lists: doubly linked, last freed first --------------------------------------------------- */

/* Inserts a region that is freed now. */
static void push(struct tn_free_nodes *nodes, uint32_t *head, uint32_t region)
{
    TN_ASSERT(region < nodes->capacity);
    union tn_free_node *node = &nodes->nodes[region];
    node->next = *head;
    node->previous = NONE;
    node->freed_at = nodes->now++;
    if (*head != NONE) nodes->nodes[*head].previous = region;
    *head = region;
}

static void unlink_region(struct tn_free_nodes *nodes, uint32_t *head, uint32_t region)
{
    const union tn_free_node *node = &nodes->nodes[region];
    if (node->next != NONE) nodes->nodes[node->next].previous = node->previous;
    if (node->previous != NONE) {
        nodes->nodes[node->previous].next = node->next;
    } else {
        TN_ASSERT(*head == region);
        *head = node->next;
    }
}

/* Returns whether `region` can follow `previous` in a list: its links are right and it was freed before. */
static bool can_follow(const struct tn_free_nodes *nodes, uint32_t previous, uint32_t region)
{
    if (region >= nodes->capacity || nodes->nodes[region].previous != previous) return false;
    return previous == NONE || nodes->nodes[region].freed_at < nodes->nodes[previous].freed_at;
}

/* --- classes --------------------------------------------------------------------------------- */

/* Counts smaller than the number of classes per octave have a class each, in octave 0. Each later octave has
 * twice the width of the one before. */
static uint32_t class_of(const struct tn_size_classes *own, uint32_t chunk_count)
{
    unsigned log2 = own->octave_log2;
    if (chunk_count >> log2 == 0) return chunk_count;
    unsigned shift = tn_highest_bit(chunk_count) - log2;
    return ((shift + 1) << log2) + ((chunk_count >> shift) & (((uint32_t)1 << log2) - 1));
}

/* Returns the first class in which every region has chunk_count chunks. */
static uint32_t sure_class_of(const struct tn_size_classes *own, uint32_t chunk_count)
{
    return class_of(own, chunk_count - 1) + 1;
}

/* Finds the first class from `from` on that is not empty. False: there is none. */
static bool find_filled(const struct tn_size_classes *own, uint32_t from, uint32_t *class_out)
{
    unsigned log2 = own->octave_log2;
    uint32_t octave = from >> log2;
    if (octave >= OCTAVE_COUNT) return false;
    uint32_t classes = own->classes[octave] >> (from & (((uint32_t)1 << log2) - 1));
    if (classes != 0) {
        *class_out = from + tn_lowest_bit(classes);
        return true;
    }
    uint32_t octaves = (uint32_t)((uint64_t)own->octaves >> (octave + 1));
    if (octaves == 0) return false;
    octave += 1 + tn_lowest_bit(octaves);
    *class_out = (octave << log2) + tn_lowest_bit(own->classes[octave]);
    return true;
}

/* --- life ------------------------------------------------------------------------------------ */

static bool init(struct tn_free_set *set, unsigned octave_log2)
{
    size_t class_count = (size_t)OCTAVE_COUNT << octave_log2;
    struct tn_size_classes *own =
        tn_host_memory_alloc(sizeof *own + class_count * sizeof own->lists[0]);
    if (!own) return false;
    *own = (struct tn_size_classes){ .octave_log2 = octave_log2 };
    for (size_t i = 0; i < class_count; i++)
        own->lists[i] = NONE;
    set->classes = own;
    return true;
}

static bool init_segregated(struct tn_free_set *set)
{
    return init(set, 0);
}

static bool init_tlsf(struct tn_free_set *set)
{
    return init(set, TLSF_LOG2);
}

static void fini(struct tn_free_set *set)
{
    tn_host_memory_free(set->classes);
}

static bool reserve(struct tn_free_set *set, uint32_t region_count, uint32_t chunk_count)
{
    (void)set;
    (void)region_count;
    (void)chunk_count;
    return true;
}

/* --- insert and remove ----------------------------------------------------------------------- */

static void insert(struct tn_free_set *set, const struct tn_region *regions, uint32_t region)
{
    struct tn_size_classes *own = set->classes;
    uint32_t class = class_of(own, regions[region].chunk_count);
    uint32_t octave = class >> own->octave_log2;
    push(set->nodes, &own->lists[class], region);
    own->classes[octave] |= (uint32_t)1 << (class - (octave << own->octave_log2));
    own->octaves |= (uint32_t)1 << octave;
}

static void remove_region(struct tn_free_set *set, const struct tn_region *regions, uint32_t region,
                          uint32_t chunk_count)
{
    (void)regions;
    struct tn_size_classes *own = set->classes;
    uint32_t class = class_of(own, chunk_count);
    unlink_region(set->nodes, &own->lists[class], region);
    if (own->lists[class] != NONE) return;
    uint32_t octave = class >> own->octave_log2;
    own->classes[octave] &= ~((uint32_t)1 << (class - (octave << own->octave_log2)));
    if (own->classes[octave] == 0) own->octaves &= ~((uint32_t)1 << octave);
}

static void change(struct tn_free_set *set, const struct tn_region *regions, uint32_t region,
                   uint32_t old_chunk_count)
{
    uint32_t old_class = class_of(set->classes, old_chunk_count);
    if (class_of(set->classes, regions[region].chunk_count) == old_class) return;
    remove_region(set, regions, region, old_chunk_count);
    insert(set, regions, region);
}

/* --- queries --------------------------------------------------------------------------------- */

/* Returns the first region in the list, from `region` on, that is large enough. */
static uint32_t find_in_list(const struct tn_free_set *set, const struct tn_region *regions,
                             uint32_t region, uint32_t chunk_count)
{
    while (region != NONE && regions[region].chunk_count < chunk_count)
        region = set->nodes->nodes[region].next;
    return region;
}

/* Continues a search after the head of the request's own class and the sure classes before `from`. */
static uint32_t find_from(const struct tn_free_set *set, const struct tn_region *regions,
                          uint32_t from, uint32_t chunk_count)
{
    const struct tn_size_classes *own = set->classes;
    uint32_t class = class_of(own, chunk_count);
    if (find_filled(own, from, &from)) return own->lists[from];
    if (class == sure_class_of(own, chunk_count) || own->lists[class] == NONE) return NONE;
    uint32_t second = set->nodes->nodes[own->lists[class]].next;
    return find_in_list(set, regions, second, chunk_count);
}

static uint32_t find(const struct tn_free_set *set, const struct tn_region *regions,
                     uint32_t chunk_count)
{
    uint32_t last_freed = set->classes->lists[class_of(set->classes, chunk_count)];
    if (last_freed != NONE && regions[last_freed].chunk_count >= chunk_count) return last_freed;
    return find_from(set, regions, sure_class_of(set->classes, chunk_count), chunk_count);
}

static uint32_t find_after(const struct tn_free_set *set, const struct tn_region *regions,
                           uint32_t region, uint32_t chunk_count)
{
    const struct tn_size_classes *own = set->classes;
    uint32_t class = class_of(own, regions[region].chunk_count);
    uint32_t sure_class = sure_class_of(own, chunk_count);
    const union tn_free_node *node = &set->nodes->nodes[region];
    if (class >= sure_class)
        return node->next != NONE ? node->next : find_from(set, regions, class + 1, chunk_count);
    if (own->lists[class] == region) return find_from(set, regions, sure_class, chunk_count);
    return find_in_list(set, regions, node->next, chunk_count);
}

static uint32_t find_largest(const struct tn_free_set *set, const struct tn_region *regions)
{
    const struct tn_size_classes *own = set->classes;
    if (own->octaves == 0) return NONE;
    uint32_t octave = tn_highest_bit(own->octaves);
    uint32_t class = (octave << own->octave_log2) + tn_highest_bit(own->classes[octave]);
    uint32_t largest = own->lists[class];
    for (uint32_t region = largest; region != NONE; region = set->nodes->nodes[region].next)
        if (regions[region].chunk_count > regions[largest].chunk_count) largest = region;
    return largest;
}

/* The smaller one is better, regardless of classes. */
static bool is_better(const struct tn_free_set *set, const struct tn_region *regions, uint32_t a,
                      uint32_t b)
{
    uint32_t x = regions[a].chunk_count, y = regions[b].chunk_count;
    const union tn_free_node *nodes = set->nodes->nodes;
    return x != y ? x < y : nodes[a].freed_at > nodes[b].freed_at;
}

static size_t metadata_bytes(const struct tn_free_set *set)
{
    return sizeof *set->classes +
           ((size_t)OCTAVE_COUNT << set->classes->octave_log2) * sizeof set->classes->lists[0];
}

/* --- check ----------------------------------------------------------------------------------- */

/* Checks a class and counts its regions. */
static const char *check_class(const struct tn_free_set *set, const struct tn_region *regions,
                               uint32_t class, uint32_t *count)
{
    uint32_t previous = NONE;
    for (uint32_t region = set->classes->lists[class]; region != NONE;
         region = set->nodes->nodes[region].next) {
        if (!can_follow(set->nodes, previous, region)) return "a list of the free set is damaged";
        if (regions[region].state != TN_REGION_STATE_FREE)
            return "a region in the free set is not free";
        if (class_of(set->classes, regions[region].chunk_count) != class)
            return "a region is in the wrong class";
        ++*count;
        previous = region;
    }
    return NULL;
}

static const char *check(const struct tn_free_set *set, const struct tn_region *regions)
{
    const struct tn_size_classes *own = set->classes;
    uint32_t count = 0;
    for (uint32_t octave = 0; octave < OCTAVE_COUNT; octave++) {
        for (uint32_t i = 0; i >> own->octave_log2 == 0; i++) {
            uint32_t class = (octave << own->octave_log2) + i;
            bool is_filled = own->classes[octave] >> i & 1;
            if (is_filled != (own->lists[class] != NONE)) return "a class's bit is wrong";
            const char *fault = check_class(set, regions, class, &count);
            if (fault) return fault;
        }
        if ((own->octaves >> octave & 1) != (own->classes[octave] != 0))
            return "an octave's bit is wrong";
    }
    return count == set->region_count ? NULL : "the count of the free set is wrong";
}

/* The two policies differ in their classes alone. */
#define GOOD_FIT(init_function)                                                                 \
    {                                                                                           \
        .init = (init_function), .fini = fini, .reserve = reserve, .insert = insert,            \
        .remove = remove_region, .change = change, .find = find, .find_after = find_after,      \
        .find_largest = find_largest, .is_better = is_better, .metadata_bytes = metadata_bytes, \
        .check = check,                                                                         \
    }

const struct tn_fit_operations tn_fit_segregated = GOOD_FIT(init_segregated);
const struct tn_fit_operations tn_fit_tlsf = GOOD_FIT(init_tlsf);
