/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * slices: chunks cut into slices of one size, for requests smaller than half a chunk.
 *
 * A cut chunk is a slab. In the region index it is a live region; this module knows which of its slices are
 * live. Classes are powers of two, from the pool's alignment of 16 bytes or more, or a 64th of a chunk, to half a chunk:
 *
 *     slab of 64-byte slices   │ live │      │ live │ live │ past │      │ ...           1024 bytes
 *     free                     0      1      0      0      0      1        its stream may have them
 *     pending                  0      0      0      0      1      0        freed, but not usable yet
 *     notes                    40     -      64     33     -      -        requested bytes, and a label above them
 *
 * A slab belongs to one stream. A slice freed on that stream, or without a dependency, is free for it at
 * once. A slice freed on other streams is pending until their work is done, or the slab's stream has waited
 * for it. `foreign` is the dependency on that work, `own_time` the time of the last free on the slab's
 * stream. When no slice is live any more and the chunk is freed, it waits for both. They are kept only while
 * a slice is free or pending: the free of a live slice brings its own dependency.
 *
 *     ready      something is free      in the list of its class and stream, from which slices are taken
 *     waiting    pending alone          in another such list, the one that waits longest first
 *     full       all is live            in no list
 *     withheld   changes hands          in no list; see tn_slices_withhold
 *
 * A slab without live slices is removed, or kept ready for its stream's next requests. When a stream ends,
 * its slabs have no stream (STREAM_NOBODY), until another stream needs such slices.
 *
 * Cost: O(1), but O(slabs) for changes of dependencies. Memory: 48 bytes a slab, 4 a slice, and the chunk's
 * record in the region index. Room is reserved before a slab is added, so a free allocates nothing.
 * Threads: no locking; the pool locks.
 * Always true: no slice is both free and pending; a slab without live slices is kept, at most one for each
 * class and stream; pending slices wait for something.
 */
#ifndef TN_SLICES_H
#define TN_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/arith.h"
#include "../../base/compiler.h"

#include "../index/dependency.h"

#define TN_SLICE_BYTES_MIN 16

/* A slab's masks have a bit for each slice. */
#define TN_SLICES_PER_SLAB_LOG2_MAX 6

#define TN_SLICE_CLASS_COUNT_MAX 6
#define TN_SLICE_CLASS_NONE      TN_SLICE_CLASS_COUNT_MAX

/* Larger chunks are not cut: the requested size of a slice has 16 bits of its note. */
#define TN_SLICES_CHUNK_LOG2_MAX 16
#define TN_SLICE_LABEL_SHIFT     16

/* A slab's number: its class, and below that its index in the array of the class. It fits beside a live
 * region's owner. */
#define TN_SLAB_INDEX_BITS      22
#define TN_SLAB_COUNT_MAX       (((uint32_t)1 << TN_SLAB_INDEX_BITS) - 1) /* of one class */
#define TN_SLAB_INDEX_NONE      TN_SLAB_COUNT_MAX
#define TN_SLAB_NONE            UINT32_MAX
#define TN_SLAB_STREAM_NOBODY   TN_STREAM_COUNT_MAX
#define TN_SLAB_LISTS_PER_CLASS (TN_STREAM_COUNT_MAX + 1)

enum tn_slab_state {
    TN_SLAB_STATE_UNUSED = 0,
    TN_SLAB_STATE_READY,
    TN_SLAB_STATE_WAITING,
    TN_SLAB_STATE_FULL,
    TN_SLAB_STATE_WITHHELD
};

struct tn_slab {
    uint64_t free;                /* slices that its stream may take, a bit each */
    uint64_t pending;             /* slices that wait for `foreign` */
    struct tn_dependency foreign; /* on other streams */
    uintptr_t address;            /* of its chunk, set by the pool */
    uint32_t own_time;            /* time of the last free on its stream, if has_own */
    /* In its list: ready slabs end with INDEX_NONE, and the first has no valid `previous`; waiting slabs form
     * a ring. Unused: next unused, or INDEX_NONE. */
    uint32_t previous;
    uint32_t next;
    uint8_t state;
    uint8_t stream;
    bool has_own; /* free slices wait for its stream */
};

_Static_assert(sizeof(struct tn_slab) == 48, "a slab's record is 48 bytes");

struct tn_slice_class {
    struct tn_slab *slabs;
    uint32_t *notes; /* of the slices, slab after slab: requested sizes, and labels above them */
    uint64_t all;    /* the mask of all slices of a slab */
    unsigned slice_log2;
    unsigned per_slab_log2;
    uint32_t slab_capacity;
    uint32_t notes_capacity; /* in slabs */
    uint32_t reserved_count; /* there is room for this many records */
    uint32_t promised_count; /* of these, kept for tn_slices_adopt */
    uint32_t fresh;          /* records from this one on have never been used */
    uint32_t unused;         /* first in the list of released records, or INDEX_NONE */
    uint32_t ready[TN_SLAB_LISTS_PER_CLASS]; /* first of each list, or INDEX_NONE */
    uint32_t waiting[TN_SLAB_LISTS_PER_CLASS];
    uint32_t kept[TN_STREAM_COUNT_MAX]; /* the slab kept for each stream, or INDEX_NONE */
};

struct tn_slices {
    size_t size_max; /* of a request, exclusive; 0: nothing is cut */
    unsigned chunk_log2;
    unsigned least_log2; /* slice size of class 0 */
    size_t least_mask;   /* that size less 1 */
    unsigned class_count;
    uint32_t slab_count;
    uint32_t slab_count_max; /* for one class; below COUNT_MAX in tests */
    uint32_t kept_count;
    uint64_t live_counts[TN_SLICE_CLASS_COUNT_MAX]; /* slices, by class */
    uint32_t streams; /* all that slabs wait for, a bit each, and perhaps some more */
    struct tn_slice_class classes[TN_SLICE_CLASS_COUNT_MAX];
};

/* No slice is smaller than least_bytes, a power of two of at least TN_SLICE_BYTES_MIN. Cuts nothing if that is more than
 * half a chunk, or if chunks are larger than TN_SLICES_CHUNK_LOG2_MAX. */
void tn_slices_init(struct tn_slices *slices, unsigned chunk_log2, size_t least_bytes);
/* Cuts nothing at all. */
void tn_slices_init_without(struct tn_slices *slices);
void tn_slices_fini(struct tn_slices *slices);

/* --- numbers --- */

static inline unsigned tn_slab_class(uint32_t slab)
{
    return slab >> TN_SLAB_INDEX_BITS;
}

static inline uint32_t tn_slab_index(uint32_t slab)
{
    return slab & TN_SLAB_COUNT_MAX;
}

static inline struct tn_slice_class *tn_slices_class_of(struct tn_slices *slices, uint32_t slab)
{
    TN_ASSERT(tn_slab_class(slab) < slices->class_count);
    return &slices->classes[tn_slab_class(slab)];
}

static inline struct tn_slab *tn_slices_slab(const struct tn_slices *slices, uint32_t slab)
{
    TN_ASSERT(tn_slab_class(slab) < slices->class_count);
    TN_ASSERT(tn_slab_index(slab) < slices->classes[tn_slab_class(slab)].fresh);
    return &slices->classes[tn_slab_class(slab)].slabs[tn_slab_index(slab)];
}

static inline unsigned tn_slices_slice_log2(const struct tn_slices *slices, unsigned slice_class)
{
    return slices->classes[slice_class].slice_log2;
}

static inline unsigned tn_slices_per_slab_log2(const struct tn_slices *slices, unsigned slice_class)
{
    return slices->classes[slice_class].per_slab_log2;
}

/* Returns the bytes of each slice of the slab. */
static inline size_t tn_slices_slice_bytes(const struct tn_slices *slices, uint32_t slab)
{
    return (size_t)1 << tn_slices_slice_log2(slices, tn_slab_class(slab));
}

static inline uintptr_t tn_slices_address_of(const struct tn_slices *slices, uint32_t slab,
                                             unsigned slice)
{
    return tn_slices_slab(slices, slab)->address +
           ((uintptr_t)slice << tn_slices_slice_log2(slices, tn_slab_class(slab)));
}

/* Returns the number of the slice in which an address of the slab lies. */
static inline unsigned tn_slices_slice_at(const struct tn_slices *slices, uint32_t slab,
                                          uintptr_t address)
{
    uintptr_t offset = address - tn_slices_slab(slices, slab)->address;
    return (unsigned)(offset >> tn_slices_slice_log2(slices, tn_slab_class(slab)));
}

/* Returns the class of the smallest slices for a size of at least 1 byte and an alignment; or NONE. */
static inline unsigned tn_slices_class_for(const struct tn_slices *slices, size_t size_bytes,
                                           size_t alignment_bytes)
{
    size_t last = (size_bytes - 1) | (alignment_bytes - 1);
    if (TN_LIKELY(last >= slices->size_max)) return TN_SLICE_CLASS_NONE;
    return tn_highest_bit(last | slices->least_mask) + 1 - slices->least_log2;
}

/* Returns the requested size of a live slice. */
size_t tn_slices_size_of(const struct tn_slices *slices, uint32_t slab, unsigned slice);

/* Changes the requested size of a live slice, and keeps its label. Requires: it fits. */
void tn_slices_set_size(struct tn_slices *slices, uint32_t slab, unsigned slice, size_t size_bytes);

/* Returns the label of a live slice, or 0. */
uint32_t tn_slices_label_of(const struct tn_slices *slices, uint32_t slab, unsigned slice);

/* Labels a live slice. Requires: it has no label. */
void tn_slices_set_label(struct tn_slices *slices, uint32_t slab, unsigned slice, uint32_t label);

/* A note: the parts of it. */
static inline size_t tn_slice_note_size(uint32_t note)
{
    return note & (((uint32_t)1 << TN_SLICE_LABEL_SHIFT) - 1);
}

static inline uint32_t tn_slice_note_label(uint32_t note)
{
    return note >> TN_SLICE_LABEL_SHIFT;
}

static inline bool tn_slices_is_live(const struct tn_slices *slices, uint32_t slab, unsigned slice)
{
    const struct tn_slab *s = tn_slices_slab(slices, slab);
    return ((s->free | s->pending) >> slice & 1) == 0;
}

/* Returns whether no slice is live. If the last free has caused that, the slab must be removed or kept. */
static inline bool tn_slices_is_empty(const struct tn_slices *slices, uint32_t slab)
{
    const struct tn_slab *s = tn_slices_slab(slices, slab);
    return (s->free | s->pending) == slices->classes[tn_slab_class(slab)].all;
}

/* Returns what the chunk would wait for. */
struct tn_dependency tn_slices_dependency(const struct tn_slices *slices, uint32_t slab);

/* --- slabs --- */

/* Returns whether the class has a number for one more slab. */
bool tn_slices_can_add(const struct tn_slices *slices, unsigned slice_class);

/* Returns whether there is room and a number for one more. */
static inline bool tn_slices_has_room(const struct tn_slices *slices, unsigned slice_class)
{
    const struct tn_slice_class *c = &slices->classes[slice_class];
    return c->unused != TN_SLAB_INDEX_NONE || c->fresh + c->promised_count < c->reserved_count;
}

/* Reserves that room. Requires: there is a number. False: no host memory. */
bool tn_slices_reserve(struct tn_slices *slices, unsigned slice_class);

/* Adds a withheld slab with all slices free and the chunk's dependency. Returns its number. Requires:
 * reserved room. */
uint32_t tn_slices_add(struct tn_slices *slices, unsigned slice_class, uintptr_t address,
                       struct tn_dependency dependency);

/* Keeps an empty slab. False: its stream has another slab with free slices, or may not take all slices of
 * this one. While a slab is kept, do not withhold slabs or forget streams. */
bool tn_slices_keep(struct tn_slices *slices, uint32_t slab);

/* Returns a kept slab. Requires: there is one. Cost: O(streams). */
uint32_t tn_slices_find_kept(const struct tn_slices *slices);

/* Ends the keeping of the slab, if it is kept. */
void tn_slices_use_kept(struct tn_slices *slices, uint32_t slab);

/* Removes an empty slab. */
void tn_slices_remove(struct tn_slices *slices, uint32_t slab);

/* Makes a slab with free or pending slices unavailable, so that its next stream can wait for
 * tn_slices_dependency before it takes slices. Slices freed meanwhile are pending, and not part of that
 * dependency. */
void tn_slices_withhold(struct tn_slices *slices, uint32_t slab);

/* Gives a withheld slab to a stream, or to NOBODY. is_ordered: the stream comes after the slab's dependency
 * at its withholding or adding. Otherwise it waits for that as all streams do. */
void tn_slices_give(struct tn_slices *slices, uint32_t slab, uint32_t stream, bool is_ordered);

/* Frees the pending slices: the slab's stream has waited for them. */
void tn_slices_accept(struct tn_slices *slices, uint32_t slab);

/* --- slices: `stream` is TN_STREAM_NONE in a pool that knows one stream --- */

/* Returns whether tn_slices_find_ready would find a slab. */
static inline bool tn_slices_has_ready(const struct tn_slices *slices, unsigned slice_class,
                                       uint32_t stream);

/* Returns a slab with a free slice for the stream, perhaps one that had no stream until now; or NONE. */
uint32_t tn_slices_find_ready(struct tn_slices *slices, unsigned slice_class, uint32_t stream);

/* Returns the stream's slab that has waited longest with only pending slices, or NONE. */
uint32_t tn_slices_find_waiting(const struct tn_slices *slices, unsigned slice_class,
                                uint32_t stream);

/* Returns the first slab of any stream after `slab` with free or pending slices. NONE is before the first and
 * after the last. */
uint32_t tn_slices_find_next(const struct tn_slices *slices, unsigned slice_class, uint32_t slab);

/* Returns the first slab after `slab` in any state. NONE is before the first and after the last. */
uint32_t tn_slices_find_used(const struct tn_slices *slices, unsigned slice_class, uint32_t slab);

/* Makes the first free slice live, without a label, and returns its index. Requires: there is one. */
static inline unsigned tn_slices_take(struct tn_slices *slices, uint32_t slab, size_t size_bytes);

/* Frees a live slice. Returns its note. */
static inline uint32_t tn_slices_free(struct tn_slices *slices, uint32_t slab, unsigned slice,
                                      struct tn_dependency dependency);

/* --- lending: slabs whose chunks are in another index for a while, that of a loan --- */

/* Reserves room for slab_count more slabs, for tn_slices_adopt alone. False: no host memory, or no numbers. */
bool tn_slices_promise(struct tn_slices *slices, unsigned slice_class, uint32_t slab_count);

/* Releases the room for slab_count promised slabs. */
void tn_slices_take_promise_back(struct tn_slices *slices, unsigned slice_class,
                                 uint32_t slab_count);

/* Takes over a borrower's slab unchanged. Returns its number here. The borrower knows it until
 * tn_slices_forget_all. Waiting slabs are appended in any order. Requires: promised room. */
uint32_t tn_slices_adopt(struct tn_slices *slices, const struct tn_slices *borrower, uint32_t slab);

/* Forgets all slabs, and all reserved room. */
void tn_slices_forget_all(struct tn_slices *slices);

/* --- dependencies, as in region_index --- */

/* Numbers the only stream 0. Earlier frees wait for the dependency. */
void tn_slices_divide(struct tn_slices *slices, struct tn_dependency dependency);

/* Returns whether free or pending slices wait for the stream. */
bool tn_slices_depend_on(struct tn_slices *slices, uint32_t stream);

/* Returns whether any dependency has changed. */
bool tn_slices_complete(struct tn_slices *slices, uint32_t streams, uint32_t time);

void tn_slices_replace(struct tn_slices *slices, uint32_t stream, struct tn_dependency dependency);
void tn_slices_begin_anew(struct tn_slices *slices);

/* Forgets the stream's number. Requires: the work before its frees is complete. */
void tn_slices_forget(struct tn_slices *slices, uint32_t stream);

/* --- queries --- */

/* Returns the number of live slices. */
uint64_t tn_slices_live_count(const struct tn_slices *slices);

/* Returns the bytes of free and pending slices, without those of kept slabs. */
size_t tn_slices_free_bytes(const struct tn_slices *slices);

size_t tn_slices_metadata_bytes(const struct tn_slices *slices);

/* Returns the bytes of all reserved room. */
size_t tn_slices_reserved_bytes(const struct tn_slices *slices);

/* Returns NULL, or the fault. Walks everything. */
const char *tn_slices_check(const struct tn_slices *slices);

/* --- fast path ------------------------------------------------------------------------------- */

/* A pool with one stream gives it no number; it will be 0. */
static inline uint32_t tn_slab_list_of(uint32_t stream)
{
    return stream <= TN_SLAB_STREAM_NOBODY ? stream : 0;
}

static inline bool tn_slices_has_ready(const struct tn_slices *slices, unsigned slice_class,
                                       uint32_t stream)
{
    const struct tn_slice_class *c = &slices->classes[slice_class];
    return c->ready[tn_slab_list_of(stream)] != TN_SLAB_INDEX_NONE ||
           c->ready[TN_SLAB_STREAM_NOBODY] != TN_SLAB_INDEX_NONE;
}

/* Moves the slab to the right list, after a change of its masks. */
void tn_slices_relist(struct tn_slices *slices, uint32_t slab);

/* Does tn_slices_free for a slice with a dependency, except for the result. */
void tn_slices_free_after(struct tn_slices *slices, uint32_t slab, unsigned slice,
                          struct tn_dependency dependency);

/* All slices are live, and live slices come after everything that the slab waited for. */
static inline void tn_slab_mark_full(struct tn_slab *s)
{
    s->state = TN_SLAB_STATE_FULL;
    s->foreign = TN_DEPENDENCY_NONE;
    s->has_own = false;
}

/* Requires: the slab is in no list. */
static inline void tn_slab_mark_ready(struct tn_slice_class *c, uint32_t index)
{
    struct tn_slab *s = &c->slabs[index];
    uint32_t *first = &c->ready[s->stream];
    s->state = TN_SLAB_STATE_READY;
    s->next = *first;
    if (*first != TN_SLAB_INDEX_NONE) c->slabs[*first].previous = index;
    *first = index;
}

static inline uint32_t *tn_slices_place_of_note(const struct tn_slice_class *c, uint32_t index,
                                                unsigned slice)
{
    return &c->notes[((size_t)index << c->per_slab_log2) + slice];
}

/* Does tn_slices_take by class and index. Requires: the slab is not kept. */
static inline unsigned tn_slices_take_at(struct tn_slices *slices, unsigned slice_class,
                                         uint32_t index, size_t size_bytes)
{
    struct tn_slice_class *c = &slices->classes[slice_class];
    struct tn_slab *s = &c->slabs[index];
    unsigned slice = tn_lowest_bit(s->free);
    *tn_slices_place_of_note(c, index, slice) = (uint32_t)size_bytes;
    slices->live_counts[slice_class]++;
    s->free &= s->free - 1;
    if (s->free != 0) return slice;
    uint32_t *first = &c->ready[s->stream];
    if (TN_LIKELY(s->pending == 0 && *first == index)) {
        *first = s->next;
        tn_slab_mark_full(s);
    } else {
        tn_slices_relist(slices, slice_class << TN_SLAB_INDEX_BITS | index);
    }
    return slice;
}

static inline unsigned tn_slices_take(struct tn_slices *slices, uint32_t slab, size_t size_bytes)
{
    tn_slices_use_kept(slices, slab);
    return tn_slices_take_at(slices, tn_slab_class(slab), tn_slab_index(slab), size_bytes);
}

static inline uint32_t tn_slices_free(struct tn_slices *slices, uint32_t slab, unsigned slice,
                                      struct tn_dependency dependency)
{
    struct tn_slice_class *c = tn_slices_class_of(slices, slab);
    uint32_t index = tn_slab_index(slab);
    struct tn_slab *s = &c->slabs[index];
    TN_ASSERT(tn_slices_is_live(slices, slab, slice));
    slices->live_counts[tn_slab_class(slab)]--;
    if (TN_UNLIKELY(dependency.streams != 0)) {
        tn_slices_free_after(slices, slab, slice, dependency);
    } else {
        s->free |= (uint64_t)1 << slice;
        if (s->state == TN_SLAB_STATE_FULL) {
            tn_slab_mark_ready(c, index);
        } else if (TN_UNLIKELY(s->state != TN_SLAB_STATE_READY)) {
            tn_slices_relist(slices, slab);
        }
    }
    return *tn_slices_place_of_note(c, index, slice);
}

#endif
