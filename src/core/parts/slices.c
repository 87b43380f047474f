/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* slices: masks, lists, and dependencies of slabs. */
#include "slices.h"

#include <string.h>

#include "../../base/host_memory.h"

#define NO_INDEX TN_SLAB_INDEX_NONE

/* --- life and room --------------------------------------------------------------------------- */

static void forget_lists(struct tn_slice_class *c)
{
    for (unsigned list = 0; list < TN_SLAB_LISTS_PER_CLASS; list++)
        c->ready[list] = c->waiting[list] = NO_INDEX;
    for (unsigned stream = 0; stream < TN_STREAM_COUNT_MAX; stream++)
        c->kept[stream] = NO_INDEX;
}

void tn_slices_init_without(struct tn_slices *slices)
{
    *slices = (struct tn_slices){ .slab_count_max = TN_SLAB_COUNT_MAX };
    for (unsigned i = 0; i < TN_SLICE_CLASS_COUNT_MAX; i++) {
        slices->classes[i].unused = NO_INDEX;
        forget_lists(&slices->classes[i]);
    }
}

void tn_slices_init(struct tn_slices *slices, unsigned chunk_log2, size_t least_bytes)
{
    TN_ASSERT(tn_is_power_of_two(least_bytes) && least_bytes >= TN_SLICE_BYTES_MIN);
    tn_slices_init_without(slices);
    unsigned least_log2 = tn_lowest_bit(least_bytes);
    if (chunk_log2 > TN_SLICES_CHUNK_LOG2_MAX || chunk_log2 <= least_log2) return;
    if (chunk_log2 > least_log2 + TN_SLICES_PER_SLAB_LOG2_MAX)
        least_log2 = chunk_log2 - TN_SLICES_PER_SLAB_LOG2_MAX;
    slices->chunk_log2 = chunk_log2;
    slices->least_log2 = least_log2;
    slices->least_mask = ((size_t)1 << least_log2) - 1;
    slices->class_count = chunk_log2 - least_log2;
    slices->size_max = (size_t)1 << (chunk_log2 - 1);
    for (unsigned i = 0; i < slices->class_count; i++) {
        struct tn_slice_class *c = &slices->classes[i];
        c->slice_log2 = least_log2 + i;
        c->per_slab_log2 = chunk_log2 - c->slice_log2;
        c->all = ~(uint64_t)0 >> (64 - (1U << c->per_slab_log2));
    }
}

void tn_slices_fini(struct tn_slices *slices)
{
    for (unsigned i = 0; i < TN_SLICE_CLASS_COUNT_MAX; i++) {
        tn_host_memory_free(slices->classes[i].slabs);
        tn_host_memory_free(slices->classes[i].notes);
    }
    tn_slices_init_without(slices);
}

static uint32_t next_index(const struct tn_slice_class *c)
{
    return c->unused != NO_INDEX ? c->unused : c->fresh;
}

bool tn_slices_can_add(const struct tn_slices *slices, unsigned slice_class)
{
    const struct tn_slice_class *c = &slices->classes[slice_class];
    return c->unused != NO_INDEX || c->fresh + c->promised_count < slices->slab_count_max;
}

/* Makes room for record_count records. Requires: the class may have that many. */
static bool grow(const struct tn_slices *slices, struct tn_slice_class *c, uint32_t record_count)
{
    void *slabs = c->slabs, *notes = c->notes;
    bool has_slabs = tn_host_memory_grow_array(&slabs, &c->slab_capacity, c->fresh, record_count,
                                               sizeof *c->slabs);
    bool has_notes = tn_host_memory_grow_array(&notes, &c->notes_capacity, c->fresh, record_count,
                                               sizeof *c->notes << c->per_slab_log2);
    c->slabs = slabs;
    c->notes = notes;
    if (!has_slabs || !has_notes) return false;
    size_t capacity = tn_min(c->slab_capacity, c->notes_capacity);
    c->reserved_count = (uint32_t)tn_min(capacity, slices->slab_count_max);
    return true;
}

bool tn_slices_reserve(struct tn_slices *slices, unsigned slice_class)
{
    struct tn_slice_class *c = &slices->classes[slice_class];
    return TN_LIKELY(tn_slices_has_room(slices, slice_class)) ||
           grow(slices, c, c->fresh + c->promised_count + 1);
}

bool tn_slices_promise(struct tn_slices *slices, unsigned slice_class, uint32_t slab_count)
{
    struct tn_slice_class *c = &slices->classes[slice_class];
    uint32_t needed = c->fresh + c->promised_count + slab_count;
    if (needed > slices->slab_count_max) return false;
    if (needed > c->reserved_count && !grow(slices, c, needed)) return false;
    c->promised_count += slab_count;
    return true;
}

void tn_slices_take_promise_back(struct tn_slices *slices, unsigned slice_class,
                                 uint32_t slab_count)
{
    struct tn_slice_class *c = &slices->classes[slice_class];
    TN_ASSERT(slab_count <= c->promised_count);
    c->promised_count -= slab_count;
}

static unsigned count_bits(uint64_t mask)
{
    unsigned count = 0;
    for (; mask != 0; mask &= mask - 1)
        count++;
    return count;
}

/* --- lists ----------------------------------------------------------------------------------- */

static uint32_t number_of(unsigned slice_class, uint32_t index)
{
    return index == NO_INDEX ? TN_SLAB_NONE : slice_class << TN_SLAB_INDEX_BITS | index;
}

static void remove_from_ready(struct tn_slice_class *c, uint32_t index)
{
    const struct tn_slab *s = &c->slabs[index];
    uint32_t *first = &c->ready[s->stream];
    if (s->next != NO_INDEX) c->slabs[s->next].previous = s->previous;
    *(*first == index ? first : &c->slabs[s->previous].next) = s->next;
}

static void append_to_waiting(struct tn_slice_class *c, uint32_t index)
{
    struct tn_slab *s = &c->slabs[index];
    uint32_t *first = &c->waiting[s->stream];
    s->state = TN_SLAB_STATE_WAITING;
    if (*first == NO_INDEX) {
        s->previous = s->next = index;
        *first = index;
        return;
    }
    s->next = *first;
    s->previous = c->slabs[*first].previous;
    c->slabs[s->previous].next = index;
    c->slabs[*first].previous = index;
}

static void remove_from_waiting(struct tn_slice_class *c, uint32_t index)
{
    const struct tn_slab *s = &c->slabs[index];
    uint32_t *first = &c->waiting[s->stream];
    c->slabs[s->previous].next = s->next;
    c->slabs[s->next].previous = s->previous;
    if (*first == index) *first = s->next == index ? NO_INDEX : s->next;
}

/* Removes the slab from its list, if it is in one. */
static void unlist(struct tn_slices *slices, uint32_t slab)
{
    struct tn_slice_class *c = tn_slices_class_of(slices, slab);
    uint32_t index = tn_slab_index(slab);
    if (c->slabs[index].state == TN_SLAB_STATE_READY) remove_from_ready(c, index);
    if (c->slabs[index].state == TN_SLAB_STATE_WAITING) remove_from_waiting(c, index);
}

static enum tn_slab_state state_by_masks(const struct tn_slab *s)
{
    if (s->free != 0) return TN_SLAB_STATE_READY;
    return s->pending != 0 ? TN_SLAB_STATE_WAITING : TN_SLAB_STATE_FULL;
}

/* Inserts a slab that is in no list into the right one. */
static void list(struct tn_slices *slices, uint32_t slab)
{
    struct tn_slice_class *c = tn_slices_class_of(slices, slab);
    uint32_t index = tn_slab_index(slab);
    switch (state_by_masks(&c->slabs[index])) {
    case TN_SLAB_STATE_READY:
        tn_slab_mark_ready(c, index);
        break;
    case TN_SLAB_STATE_WAITING:
        append_to_waiting(c, index);
        break;
    default:
        tn_slab_mark_full(&c->slabs[index]);
        break;
    }
}

void tn_slices_relist(struct tn_slices *slices, uint32_t slab)
{
    struct tn_slab *s = tn_slices_slab(slices, slab);
    if (s->state == TN_SLAB_STATE_WITHHELD || state_by_masks(s) == s->state) return;
    unlist(slices, slab);
    list(slices, slab);
}

/* --- what a slab waits for ------------------------------------------------------------------- */

static uint32_t own_bit(const struct tn_slab *s)
{
    return s->stream == TN_SLAB_STREAM_NOBODY ? 0 : (uint32_t)1 << s->stream;
}

static struct tn_dependency dependency_of(const struct tn_slab *s)
{
    if (!s->has_own) return s->foreign;
    return tn_dependency_unite(s->foreign, (struct tn_dependency){ own_bit(s), s->own_time });
}

struct tn_dependency tn_slices_dependency(const struct tn_slices *slices, uint32_t slab)
{
    return dependency_of(tn_slices_slab(slices, slab));
}

static void add_dependency(struct tn_slices *slices, struct tn_slab *s,
                           struct tn_dependency dependency)
{
    uint32_t own = dependency.streams & own_bit(s);
    slices->streams |= dependency.streams;
    if (own != 0) {
        s->own_time = s->has_own && s->own_time > dependency.time ? s->own_time : dependency.time;
        s->has_own = true;
    }
    dependency.streams &= ~own;
    if (dependency.streams != 0) s->foreign = tn_dependency_unite(s->foreign, dependency);
}

/* Frees pending slices that wait for nothing. */
static void settle(struct tn_slab *s)
{
    if (s->foreign.streams != 0) return;
    s->foreign = TN_DEPENDENCY_NONE;
    s->free |= s->pending;
    s->pending = 0;
}

/* --- slabs ----------------------------------------------------------------------------------- */

static uint32_t take_record(struct tn_slice_class *c)
{
    uint32_t index = next_index(c);
    TN_ASSERT(index < c->reserved_count);
    if (c->unused != NO_INDEX) {
        c->unused = c->slabs[index].next;
    } else {
        c->fresh++;
    }
    return index;
}

uint32_t tn_slices_add(struct tn_slices *slices, unsigned slice_class, uintptr_t address,
                       struct tn_dependency dependency)
{
    struct tn_slice_class *c = &slices->classes[slice_class];
    uint32_t index = take_record(c);
    c->slabs[index] = (struct tn_slab){
        .free = c->all,
        .foreign = dependency,
        .address = address,
        .state = TN_SLAB_STATE_WITHHELD,
        .stream = TN_SLAB_STREAM_NOBODY,
    };
    slices->streams |= dependency.streams;
    slices->slab_count++;
    return number_of(slice_class, index);
}

static bool is_kept(const struct tn_slices *slices, uint32_t slab)
{
    const struct tn_slice_class *c = &slices->classes[tn_slab_class(slab)];
    uint8_t stream = tn_slices_slab(slices, slab)->stream;
    return stream < TN_STREAM_COUNT_MAX && c->kept[stream] == tn_slab_index(slab);
}

bool tn_slices_keep(struct tn_slices *slices, uint32_t slab)
{
    struct tn_slice_class *c = tn_slices_class_of(slices, slab);
    uint32_t index = tn_slab_index(slab);
    const struct tn_slab *s = &c->slabs[index];
    TN_ASSERT(tn_slices_is_empty(slices, slab));
    if (s->stream == TN_SLAB_STREAM_NOBODY || s->free != c->all) return false;
    if (c->ready[s->stream] != index || s->next != NO_INDEX) return false;
    c->kept[s->stream] = index;
    slices->kept_count++;
    return true;
}

void tn_slices_use_kept(struct tn_slices *slices, uint32_t slab)
{
    if (!is_kept(slices, slab)) return;
    tn_slices_class_of(slices, slab)->kept[tn_slices_slab(slices, slab)->stream] = NO_INDEX;
    slices->kept_count--;
}

uint32_t tn_slices_find_kept(const struct tn_slices *slices)
{
    for (unsigned i = 0; i < slices->class_count; i++) {
        for (unsigned stream = 0; stream < TN_STREAM_COUNT_MAX; stream++) {
            uint32_t index = slices->classes[i].kept[stream];
            if (index != NO_INDEX) return number_of(i, index);
        }
    }
    return TN_SLAB_NONE;
}

void tn_slices_remove(struct tn_slices *slices, uint32_t slab)
{
    struct tn_slice_class *c = tn_slices_class_of(slices, slab);
    uint32_t index = tn_slab_index(slab);
    TN_ASSERT(tn_slices_is_empty(slices, slab));
    tn_slices_use_kept(slices, slab);
    unlist(slices, slab);
    c->slabs[index].state = TN_SLAB_STATE_UNUSED;
    c->slabs[index].next = c->unused;
    c->unused = index;
    slices->slab_count--;
}

void tn_slices_withhold(struct tn_slices *slices, uint32_t slab)
{
    struct tn_slab *s = tn_slices_slab(slices, slab);
    TN_ASSERT(slices->kept_count == 0);
    unlist(slices, slab);
    s->foreign = dependency_of(s);
    s->has_own = false;
    s->stream = TN_SLAB_STREAM_NOBODY;
    s->free |= s->pending;
    s->pending = 0;
    s->state = TN_SLAB_STATE_WITHHELD;
}

void tn_slices_give(struct tn_slices *slices, uint32_t slab, uint32_t stream, bool is_ordered)
{
    struct tn_slab *s = tn_slices_slab(slices, slab);
    TN_ASSERT(s->state == TN_SLAB_STATE_WITHHELD);
    const struct tn_dependency dependency = s->foreign;
    if (!is_ordered) {
        s->pending |= s->free;
        s->free = 0;
    }
    s->stream = (uint8_t)tn_slab_list_of(stream);
    s->foreign = TN_DEPENDENCY_NONE;
    add_dependency(slices, s, dependency);
    settle(s);
    list(slices, slab);
}

void tn_slices_accept(struct tn_slices *slices, uint32_t slab)
{
    struct tn_slab *s = tn_slices_slab(slices, slab);
    s->free |= s->pending;
    s->pending = 0;
    tn_slices_relist(slices, slab);
}

/* --- lending --------------------------------------------------------------------------------- */

uint32_t tn_slices_adopt(struct tn_slices *slices, const struct tn_slices *borrower, uint32_t slab)
{
    unsigned slice_class = tn_slab_class(slab);
    struct tn_slice_class *c = &slices->classes[slice_class];
    const struct tn_slice_class *from = &borrower->classes[slice_class];
    uint32_t index = take_record(c), old_index = tn_slab_index(slab);
    struct tn_slab *s = &c->slabs[index];
    *s = from->slabs[old_index];
    TN_ASSERT(s->state != TN_SLAB_STATE_UNUSED && s->state != TN_SLAB_STATE_WITHHELD);
    memcpy(tn_slices_place_of_note(c, index, 0), tn_slices_place_of_note(from, old_index, 0),
           sizeof *c->notes << c->per_slab_log2);
    slices->slab_count++;
    slices->live_counts[slice_class] += count_bits(c->all & ~(s->free | s->pending));
    slices->streams |= dependency_of(s).streams;
    list(slices, number_of(slice_class, index));
    return number_of(slice_class, index);
}

void tn_slices_forget_all(struct tn_slices *slices)
{
    for (unsigned i = 0; i < slices->class_count; i++) {
        struct tn_slice_class *c = &slices->classes[i];
        c->fresh = c->reserved_count = 0;
        c->unused = NO_INDEX;
        slices->live_counts[i] = 0;
        forget_lists(c);
    }
    slices->slab_count = slices->kept_count = 0;
    slices->streams = 0;
}

/* --- slices ---------------------------------------------------------------------------------- */

static uint32_t *note_of(const struct tn_slices *slices, uint32_t slab, unsigned slice)
{
    TN_ASSERT(tn_slices_is_live(slices, slab, slice));
    return tn_slices_place_of_note(&slices->classes[tn_slab_class(slab)], tn_slab_index(slab),
                                   slice);
}

size_t tn_slices_size_of(const struct tn_slices *slices, uint32_t slab, unsigned slice)
{
    return tn_slice_note_size(*note_of(slices, slab, slice));
}

void tn_slices_set_size(struct tn_slices *slices, uint32_t slab, unsigned slice, size_t size_bytes)
{
    TN_ASSERT(size_bytes <= (size_t)1 << tn_slices_slice_log2(slices, tn_slab_class(slab)));
    uint32_t *note = note_of(slices, slab, slice);
    *note = (uint32_t)size_bytes | tn_slice_note_label(*note) << TN_SLICE_LABEL_SHIFT;
}

uint32_t tn_slices_label_of(const struct tn_slices *slices, uint32_t slab, unsigned slice)
{
    return tn_slice_note_label(*note_of(slices, slab, slice));
}

void tn_slices_set_label(struct tn_slices *slices, uint32_t slab, unsigned slice, uint32_t label)
{
    TN_ASSERT(tn_slices_label_of(slices, slab, slice) == 0);
    *note_of(slices, slab, slice) |= label << TN_SLICE_LABEL_SHIFT;
}

/* Takes over a slab without a stream. Its free slices wait for nothing, so the stream may have them. */
static TN_COLD uint32_t find_nobodys(struct tn_slices *slices, unsigned slice_class,
                                     uint32_t stream)
{
    uint32_t slab =
        number_of(slice_class, slices->classes[slice_class].ready[TN_SLAB_STREAM_NOBODY]);
    if (slab == TN_SLAB_NONE) return slab;
    struct tn_slab *s = tn_slices_slab(slices, slab);
    const struct tn_dependency dependency = s->foreign;
    unlist(slices, slab);
    s->stream = (uint8_t)tn_slab_list_of(stream);
    s->foreign = TN_DEPENDENCY_NONE;
    add_dependency(slices, s, dependency);
    settle(s);
    list(slices, slab);
    return slab;
}

uint32_t tn_slices_find_ready(struct tn_slices *slices, unsigned slice_class, uint32_t stream)
{
    uint32_t index = slices->classes[slice_class].ready[tn_slab_list_of(stream)];
    if (TN_LIKELY(index != NO_INDEX)) return number_of(slice_class, index);
    return find_nobodys(slices, slice_class, stream);
}

uint32_t tn_slices_find_waiting(const struct tn_slices *slices, unsigned slice_class,
                                uint32_t stream)
{
    return number_of(slice_class, slices->classes[slice_class].waiting[tn_slab_list_of(stream)]);
}

/* Returns the first slab after `slab` in one of the states, a bit each. */
static uint32_t find_in_states(const struct tn_slices *slices, unsigned slice_class, uint32_t slab,
                               unsigned states)
{
    const struct tn_slice_class *c = &slices->classes[slice_class];
    uint32_t index = slab == TN_SLAB_NONE ? 0 : tn_slab_index(slab) + 1;
    while (index < c->fresh && (states >> c->slabs[index].state & 1) == 0)
        index++;
    return index < c->fresh ? number_of(slice_class, index) : TN_SLAB_NONE;
}

uint32_t tn_slices_find_next(const struct tn_slices *slices, unsigned slice_class, uint32_t slab)
{
    return find_in_states(slices, slice_class, slab,
                          1U << TN_SLAB_STATE_READY | 1U << TN_SLAB_STATE_WAITING);
}

uint32_t tn_slices_find_used(const struct tn_slices *slices, unsigned slice_class, uint32_t slab)
{
    return find_in_states(slices, slice_class, slab, ~(1U << TN_SLAB_STATE_UNUSED));
}

void tn_slices_free_after(struct tn_slices *slices, uint32_t slab, unsigned slice,
                          struct tn_dependency dependency)
{
    struct tn_slab *s = tn_slices_slab(slices, slab);
    bool waits_for_others = (dependency.streams & ~own_bit(s)) != 0;
    add_dependency(slices, s, dependency);
    *(waits_for_others ? &s->pending : &s->free) |= (uint64_t)1 << slice;
    tn_slices_relist(slices, slab);
}

/* --- dependencies ---------------------------------------------------------------------------- */

static bool can_depend(const struct tn_slab *s)
{
    return s->state != TN_SLAB_STATE_UNUSED && s->state != TN_SLAB_STATE_FULL;
}

/* Replaces the streams in the slab's dependency, up to the time, by in_place. Returns whether it has changed.
 */
static bool change(struct tn_slices *slices, struct tn_slab *s, uint32_t streams, uint32_t time,
                   struct tn_dependency in_place)
{
    bool has_changed = false;
    if ((s->foreign.streams & streams) != 0 && s->foreign.time <= time) {
        s->foreign.streams &= ~streams;
        /* Otherwise a later union would get a time that is too late. */
        if (s->foreign.streams == 0) s->foreign = TN_DEPENDENCY_NONE;
        add_dependency(slices, s, in_place);
        has_changed = true;
    }
    if (s->has_own && (own_bit(s) & streams) != 0 && s->own_time <= time) {
        s->has_own = false;
        add_dependency(slices, s, in_place);
        has_changed = true;
    }
    return has_changed;
}

static bool change_all(struct tn_slices *slices, uint32_t streams, uint32_t time,
                       struct tn_dependency in_place)
{
    bool has_changed = false;
    if ((slices->streams & streams) == 0) return false;
    uint32_t still_awaited = 0;
    for (unsigned i = 0; i < slices->class_count; i++) {
        struct tn_slice_class *c = &slices->classes[i];
        for (uint32_t index = 0; index < c->fresh; index++) {
            struct tn_slab *s = &c->slabs[index];
            if (!can_depend(s)) continue;
            if (change(slices, s, streams, time, in_place)) {
                has_changed = true;
                settle(s);
                tn_slices_relist(slices, number_of(i, index));
            }
            still_awaited |= dependency_of(s).streams;
        }
    }
    slices->streams = still_awaited;
    return has_changed;
}

bool tn_slices_complete(struct tn_slices *slices, uint32_t streams, uint32_t time)
{
    return change_all(slices, streams, time, TN_DEPENDENCY_NONE);
}

void tn_slices_replace(struct tn_slices *slices, uint32_t stream, struct tn_dependency dependency)
{
    change_all(slices, (uint32_t)1 << stream, UINT32_MAX, dependency);
}

bool tn_slices_depend_on(struct tn_slices *slices, uint32_t stream)
{
    uint32_t bit = (uint32_t)1 << stream, awaited = 0;
    if ((slices->streams & bit) == 0) return false;
    for (unsigned i = 0; i < slices->class_count; i++) {
        const struct tn_slice_class *c = &slices->classes[i];
        for (uint32_t index = 0; index < c->fresh; index++) {
            if (can_depend(&c->slabs[index])) awaited |= dependency_of(&c->slabs[index]).streams;
        }
    }
    slices->streams = awaited;
    return (awaited & bit) != 0;
}

void tn_slices_divide(struct tn_slices *slices, struct tn_dependency dependency)
{
    for (unsigned i = 0; i < slices->class_count; i++) {
        struct tn_slice_class *c = &slices->classes[i];
        for (uint32_t index = 0; index < c->fresh; index++) {
            if (can_depend(&c->slabs[index])) add_dependency(slices, &c->slabs[index], dependency);
        }
    }
}

void tn_slices_begin_anew(struct tn_slices *slices)
{
    for (unsigned i = 0; i < slices->class_count; i++) {
        struct tn_slice_class *c = &slices->classes[i];
        for (uint32_t index = 0; index < c->fresh; index++)
            c->slabs[index].own_time = c->slabs[index].foreign.time = 0;
    }
}

void tn_slices_forget(struct tn_slices *slices, uint32_t stream)
{
    TN_ASSERT(slices->kept_count == 0);
    tn_slices_complete(slices, (uint32_t)1 << stream, UINT32_MAX);
    for (unsigned i = 0; i < slices->class_count; i++) {
        struct tn_slice_class *c = &slices->classes[i];
        for (uint32_t index = 0; index < c->fresh; index++) {
            struct tn_slab *s = &c->slabs[index];
            if (s->state == TN_SLAB_STATE_UNUSED || s->stream != stream) continue;
            unlist(slices, number_of(i, index));
            s->stream = TN_SLAB_STREAM_NOBODY;
            /* This stream had waited for the others; a new one has not. */
            if (s->foreign.streams != 0) {
                s->pending |= s->free;
                s->free = 0;
            }
            list(slices, number_of(i, index));
        }
    }
}

/* --- queries --------------------------------------------------------------------------------- */

uint64_t tn_slices_live_count(const struct tn_slices *slices)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < slices->class_count; i++)
        count += slices->live_counts[i];
    return count;
}

size_t tn_slices_free_bytes(const struct tn_slices *slices)
{
    size_t bytes = (size_t)(slices->slab_count - slices->kept_count) << slices->chunk_log2;
    for (unsigned i = 0; i < slices->class_count; i++)
        bytes -= (size_t)slices->live_counts[i] << tn_slices_slice_log2(slices, i);
    return bytes;
}

size_t tn_slices_metadata_bytes(const struct tn_slices *slices)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < slices->class_count; i++) {
        size_t slab_bytes =
            sizeof(struct tn_slab) + (sizeof(uint32_t) << tn_slices_per_slab_log2(slices, i));
        bytes += slices->classes[i].fresh * slab_bytes;
    }
    return bytes;
}

size_t tn_slices_reserved_bytes(const struct tn_slices *slices)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < slices->class_count; i++) {
        const struct tn_slice_class *c = &slices->classes[i];
        bytes += c->slab_capacity * sizeof *c->slabs +
                 ((size_t)c->notes_capacity * sizeof *c->notes << c->per_slab_log2);
    }
    return bytes;
}

/* --- check ----------------------------------------------------------------------------------- */

static const char *check_sizes(const struct tn_slices *slices, uint32_t slab, uint64_t live)
{
    size_t slice_bytes = (size_t)1 << tn_slices_slice_log2(slices, tn_slab_class(slab));
    for (; live != 0; live &= live - 1) {
        size_t size_bytes = tn_slices_size_of(slices, slab, tn_lowest_bit(live));
        if (size_bytes == 0 || size_bytes > slice_bytes)
            return "a slice is smaller than its requested size";
    }
    return NULL;
}

static const char *check_slab(const struct tn_slices *slices, uint32_t slab)
{
    const struct tn_slab *s = tn_slices_slab(slices, slab);
    uint64_t all = slices->classes[tn_slab_class(slab)].all;
    if (((s->free | s->pending) & ~all) != 0) return "a slab has more slices than fit into a chunk";
    if ((s->free & s->pending) != 0) return "a slice is free and pending";
    if (s->state == TN_SLAB_STATE_WITHHELD) return NULL;
    if ((s->free | s->pending) == all && !is_kept(slices, slab)) return "a slab has no live slices";
    if (s->state != state_by_masks(s)) return "a slab is in the wrong state";
    if (s->stream > TN_SLAB_STREAM_NOBODY) return "a slab has an invalid stream";
    if (s->pending != 0 && s->foreign.streams == 0) return "a pending slice waits for nothing";
    if ((s->foreign.streams & own_bit(s)) != 0)
        return "a slab's foreign dependency has its own stream";
    if (s->has_own && own_bit(s) == 0) return "a slab without a stream waits for its own stream";
    if (s->state == TN_SLAB_STATE_FULL && dependency_of(s).streams != 0)
        return "a slab has a dependency though all its slices are live";
    if ((dependency_of(s).streams & ~slices->streams) != 0)
        return "a slab waits for a stream that the mask of streams lacks";
    return check_sizes(slices, slab, all & ~(s->free | s->pending));
}

/* Checks one list of a class and counts its slabs. */
static const char *check_list(const struct tn_slice_class *c, uint32_t first, uint32_t stream,
                              enum tn_slab_state state, uint32_t *listed_count)
{
    uint32_t index = first, end = state == TN_SLAB_STATE_READY ? NO_INDEX : first;
    while (index != NO_INDEX) {
        if (index >= c->fresh) return "a list of slabs links to a record that does not exist";
        const struct tn_slab *s = &c->slabs[index];
        if (s->state != state || s->stream != stream) return "a slab is in the wrong list";
        if (++*listed_count > c->fresh) return "the lists hold more slabs than there are";
        bool is_last = s->next == end;
        if (!(is_last && end == NO_INDEX) &&
            (s->next >= c->fresh || c->slabs[s->next].previous != index))
            return "a slab's link to the one before it is wrong";
        index = is_last ? NO_INDEX : s->next;
    }
    return NULL;
}

static const char *check_lists(const struct tn_slice_class *c)
{
    uint32_t listed_count = 0, count = 0;
    const char *fault = NULL;
    for (uint32_t stream = 0; !fault && stream < TN_SLAB_LISTS_PER_CLASS; stream++) {
        fault = check_list(c, c->ready[stream], stream, TN_SLAB_STATE_READY, &listed_count);
        if (!fault)
            fault = check_list(c, c->waiting[stream], stream, TN_SLAB_STATE_WAITING, &listed_count);
    }
    for (uint32_t index = 0; index < c->fresh; index++) {
        count += c->slabs[index].state == TN_SLAB_STATE_READY ||
                 c->slabs[index].state == TN_SLAB_STATE_WAITING;
    }
    if (fault) return fault;
    return count == listed_count ? NULL : "a slab is in no list";
}

static const char *check_unused(const struct tn_slice_class *c, uint32_t unused_count)
{
    for (uint32_t index = c->unused; index != NO_INDEX; index = c->slabs[index].next) {
        if (index >= c->fresh || c->slabs[index].state != TN_SLAB_STATE_UNUSED)
            return "the list of unused slabs holds a used one";
        if (unused_count-- == 0) return "the list of unused slabs holds too many";
    }
    return unused_count == 0 ? NULL : "an unused slab is not in its list";
}

static const char *check_kept(const struct tn_slice_class *c, uint32_t *kept_count)
{
    for (uint32_t stream = 0; stream < TN_STREAM_COUNT_MAX; stream++) {
        if (c->kept[stream] == NO_INDEX) continue;
        const struct tn_slab *s = &c->slabs[c->kept[stream]];
        if (c->kept[stream] >= c->fresh || s->state != TN_SLAB_STATE_READY || s->stream != stream ||
            s->free != c->all)
            return "a kept slab is not free for its stream";
        ++*kept_count;
    }
    return NULL;
}

static const char *check_class(const struct tn_slices *slices, unsigned slice_class,
                               uint32_t *slab_count)
{
    const struct tn_slice_class *c = &slices->classes[slice_class];
    uint32_t unused_count = 0;
    uint64_t live_count = 0;
    for (uint32_t index = 0; index < c->fresh; index++) {
        const struct tn_slab *s = &c->slabs[index];
        if (s->state == TN_SLAB_STATE_UNUSED) {
            unused_count++;
            continue;
        }
        const char *fault = check_slab(slices, number_of(slice_class, index));
        if (fault) return fault;
        live_count += count_bits(c->all & ~(s->free | s->pending));
    }
    if (live_count != slices->live_counts[slice_class]) return "the count of live slices is wrong";
    if (c->fresh + c->promised_count > c->reserved_count)
        return "there is no room for the slabs that are promised";
    *slab_count += c->fresh - unused_count;
    const char *fault = check_lists(c);
    return fault ? fault : check_unused(c, unused_count);
}

const char *tn_slices_check(const struct tn_slices *slices)
{
    uint32_t slab_count = 0, kept_count = 0;
    for (unsigned i = 0; i < slices->class_count; i++) {
        const char *fault = check_class(slices, i, &slab_count);
        if (!fault) fault = check_kept(&slices->classes[i], &kept_count);
        if (fault) return fault;
    }
    if (slab_count != slices->slab_count || kept_count != slices->kept_count)
        return "the counts of slabs are wrong";
    return NULL;
}
