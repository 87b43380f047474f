/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * slices: chunks that are cut into slices of one size, for requests that are smaller than half a chunk.
 *
 * A chunk that is cut is a slab. To the region index it is a live region; which of its slices are live
 * is known here. Classes are powers of two, from 16 bytes, or a 64th of a chunk, to half a chunk:
 *
 *     slab of 64-byte slices   │ live │      │ live │ live │ past │      │ ...           1024 bytes
 *     free                     0      1      0      0      0      1        its stream may have them
 *     pending                  0      0      0      0      1      0        freed, and nobody may yet
 *     sizes                    40     -      64     33     -      -        what was asked for
 *
 * A slab is one stream's. What is freed on that stream, or waits for nothing, is free for it at once. What is
 * freed on others is pending, until their work is done, or the slab's stream has waited for it. `foreign` says
 * what that work is, `own_time` when the slab's stream freed last; both together say what the chunk waits
 * for when no slice is live any more and it is given up. They are kept only while something is free or
 * pending: of what is live, whoever frees it says what it waits for.
 *
 *     ready      something is free      in the list of its class and stream, from which slices are taken
 *     waiting    pending alone          in another such list, the one that waits longest first
 *     full       all is live            in no list
 *     withheld   changes hands          in no list; see tn_slices_withhold
 *
 * A slab of which nothing is live any more is removed; or kept, ready, for what its stream asks for next.
 *
 * When a stream ends its slabs are nobody's, and become the next one's that needs such slices.
 *
 * Cost: O(1), but for what changes dependencies, O(slabs). Memory: 48 bytes a slab, 2 a slice, and what the
 * region index takes for the chunk. Room is reserved before a slab is added, so no free needs any.
 * Threads: none of it locks; the pool does.
 * Always true: no slice is both free and pending; a slab without live slices is kept, and there is one of a class
 * and stream at most; what is pending waits for something.
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

/* Of larger chunks none are cut: what was asked for of a slice has 16 bits. */
#define TN_SLICES_CHUNK_LOG2_MAX 16

/* A slab's number: its class, and below that its place in the array of the class. It fits beside a live
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
    uint64_t free;                /* slices that its stream may have, a bit each */
    uint64_t pending;             /* slices that wait for `foreign` */
    struct tn_dependency foreign; /* of other streams */
    uintptr_t address;            /* of its chunk, which the pool gives it */
    uint32_t own_time;            /* when its stream freed last, if has_own */
    /* In its list: the ready ones end with INDEX_NONE, and of the first `previous` says nothing; the waiting ones
     * are a ring. Unused: next unused, or INDEX_NONE. */
    uint32_t previous;
    uint32_t next;
    uint8_t state;
    uint8_t stream;
    bool has_own; /* something that is free waits for its stream */
};

_Static_assert(sizeof(struct tn_slab) == 48, "a slab's record is 48 bytes");

struct tn_slice_class {
    struct tn_slab *slabs;
    uint16_t *sizes; /* of the slices of each slab, one slab after the other */
    uint64_t all;    /* the mask of a slab's slices */
    unsigned slice_log2;
    unsigned per_slab_log2;
    uint32_t slab_capacity;
    uint32_t sizes_capacity; /* in slabs */
    uint32_t reserved_count; /* there is room for so many records */
    uint32_t promised_count; /* of which so many are kept for what is adopted */
    uint32_t fresh;          /* records from here on have never been used */
    uint32_t unused;         /* first of the list of records that were used once, or INDEX_NONE */
    uint32_t ready[TN_SLAB_LISTS_PER_CLASS]; /* first of each list, or INDEX_NONE */
    uint32_t waiting[TN_SLAB_LISTS_PER_CLASS];
    uint32_t kept[TN_STREAM_COUNT_MAX]; /* the one that is kept for a stream, or INDEX_NONE */
};

struct tn_slices {
    size_t size_max; /* of a request; 0: nothing is cut */
    unsigned chunk_log2;
    unsigned least_log2; /* of the slices of class 0 */
    size_t least_mask;   /* their size less 1 */
    unsigned class_count;
    uint32_t slab_count;
    uint32_t slab_count_max; /* of a class; less than COUNT_MAX in tests */
    uint32_t kept_count;
    uint64_t live_count; /* slices */
    uint32_t
        streams; /* no slab waits for any other, a bit each; not all of them need be waited for */
    struct tn_slice_class classes[TN_SLICE_CLASS_COUNT_MAX];
};

/* Nothing is cut of chunks that are too large. */
void tn_slices_init(struct tn_slices *slices, unsigned chunk_log2);
/* Nothing is cut at all. */
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

/* Bytes of each slice of the slab. */
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

/* The number of the slice in which an address of the slab lies. */
static inline unsigned tn_slices_slice_at(const struct tn_slices *slices, uint32_t slab,
                                          uintptr_t address)
{
    uintptr_t offset = address - tn_slices_slab(slices, slab)->address;
    return (unsigned)(offset >> tn_slices_slice_log2(slices, tn_slab_class(slab)));
}

/* The class of the smallest slices that hold so many bytes, 1 or more, so aligned; or NONE. */
static inline unsigned tn_slices_class_for(const struct tn_slices *slices, size_t size_bytes,
                                           size_t alignment_bytes)
{
    size_t last = (size_bytes - 1) | (alignment_bytes - 1);
    if (TN_LIKELY(last >= slices->size_max)) return TN_SLICE_CLASS_NONE;
    return tn_highest_bit(last | slices->least_mask) + 1 - slices->least_log2;
}

/* What was asked for of a live slice. */
size_t tn_slices_size_of(const struct tn_slices *slices, uint32_t slab, unsigned slice);

/* Another size for a live slice that holds it. */
void tn_slices_set_size(struct tn_slices *slices, uint32_t slab, unsigned slice, size_t size_bytes);

static inline bool tn_slices_is_live(const struct tn_slices *slices, uint32_t slab, unsigned slice)
{
    const struct tn_slab *s = tn_slices_slab(slices, slab);
    return ((s->free | s->pending) >> slice & 1) == 0;
}

/* Whether none of its slices is live: if that is since the last free, it must be removed or kept. */
static inline bool tn_slices_is_empty(const struct tn_slices *slices, uint32_t slab)
{
    const struct tn_slab *s = tn_slices_slab(slices, slab);
    return (s->free | s->pending) == slices->classes[tn_slab_class(slab)].all;
}

/* What the chunk would wait for. */
struct tn_dependency tn_slices_dependency(const struct tn_slices *slices, uint32_t slab);

/* --- slabs --- */

/* Whether there is a number for one more slab of the class. */
bool tn_slices_can_add(const struct tn_slices *slices, unsigned slice_class);

/* Whether there is room for one more, and a number. */
static inline bool tn_slices_has_room(const struct tn_slices *slices, unsigned slice_class)
{
    const struct tn_slice_class *c = &slices->classes[slice_class];
    return c->unused != TN_SLAB_INDEX_NONE || c->fresh + c->promised_count < c->reserved_count;
}

/* Makes that room, and there must be a number. False: no host memory. */
bool tn_slices_reserve(struct tn_slices *slices, unsigned slice_class);

/* Adds a slab, withheld, all of whose slices are free, and wait for what the chunk waited for. Room must be
 * reserved. Returns its number. */
uint32_t tn_slices_add(struct tn_slices *slices, unsigned slice_class, uintptr_t address,
                       struct tn_dependency dependency);

/* Keeps a slab that is empty. False: its stream has another with something free, or may not have all of this one.
 * While one is kept none is withheld, and no stream forgotten. */
bool tn_slices_keep(struct tn_slices *slices, uint32_t slab);

/* A slab that is kept, and there must be one. Cost: O(streams). */
uint32_t tn_slices_find_kept(const struct tn_slices *slices);

/* The slab, if it is kept, is to be so no longer. */
void tn_slices_use_kept(struct tn_slices *slices, uint32_t slab);

/* Forgets a slab that is empty. */
void tn_slices_remove(struct tn_slices *slices, uint32_t slab);

/* Takes a slab that has something free or pending out of everybody's reach: to take a slice of it while its
 * next stream is made to wait for what tn_slices_dependency says. What is freed meanwhile is not part of
 * that, and is pending. */
void tn_slices_withhold(struct tn_slices *slices, uint32_t slab);

/* Gives a withheld slab to a stream, or to nobody. is_ordered: the stream comes after what the slab waited for when
 * it was withheld or added; else it waits for it as everybody. */
void tn_slices_give(struct tn_slices *slices, uint32_t slab, uint32_t stream, bool is_ordered);

/* The stream has waited for what is pending in its slab, so that it is free. */
void tn_slices_accept(struct tn_slices *slices, uint32_t slab);

/* --- slices: `stream` is TN_STREAM_NONE in a pool that knows one stream --- */

/* Whether there is a slab of which the stream may have a slice. */
static inline bool tn_slices_has_ready(const struct tn_slices *slices, unsigned slice_class,
                                       uint32_t stream);

/* A slab of which the stream may have a slice, which may have been nobody's; or NONE. */
uint32_t tn_slices_find_ready(struct tn_slices *slices, unsigned slice_class, uint32_t stream);

/* Of the stream's slabs with pending slices alone the one that is so longest, or NONE. */
uint32_t tn_slices_find_waiting(const struct tn_slices *slices, unsigned slice_class,
                                uint32_t stream);

/* Of any stream's the first after `slab` that has something free or pending; NONE is before the first and
 * after the last. */
uint32_t tn_slices_find_next(const struct tn_slices *slices, unsigned slice_class, uint32_t slab);

/* The first after `slab`, whatever its state; likewise. */
uint32_t tn_slices_find_used(const struct tn_slices *slices, unsigned slice_class, uint32_t slab);

/* Makes a slice live: the first that is free, and there must be one. */
static inline unsigned tn_slices_take(struct tn_slices *slices, uint32_t slab, size_t size_bytes);

/* Frees a live slice; what was asked for it says. */
static inline size_t tn_slices_free(struct tn_slices *slices, uint32_t slab, unsigned slice,
                                    struct tn_dependency dependency);

/* --- lending: slabs of chunks that are in another index for a while, as a loan's --- */

/* Makes room for so many slabs more, which only an adopt may use. False: no host memory, or no numbers. */
bool tn_slices_promise(struct tn_slices *slices, unsigned slice_class, uint32_t slab_count);

/* So many are not needed any more. */
void tn_slices_take_promise_back(struct tn_slices *slices, unsigned slice_class,
                                 uint32_t slab_count);

/* A borrower's slab becomes one of these, as it is. Room must be promised. Returns its number here; the borrower
 * knows it until it is told to forget all. Those that wait are put after those that are here, in any order. */
uint32_t tn_slices_adopt(struct tn_slices *slices, const struct tn_slices *borrower, uint32_t slab);

/* Knows no slabs any more, and has no room for one until it is reserved anew. */
void tn_slices_forget_all(struct tn_slices *slices);

/* --- dependencies: as the functions of region_index --- */

/* There was one stream, and it is number 0 now: what was freed before waits for the dependency. */
void tn_slices_divide(struct tn_slices *slices, struct tn_dependency dependency);

/* Whether something that is free or pending waits for the stream. */
bool tn_slices_depend_on(struct tn_slices *slices, uint32_t stream);

/* True: something waits for less than before. */
bool tn_slices_complete(struct tn_slices *slices, uint32_t streams, uint32_t time);

void tn_slices_replace(struct tn_slices *slices, uint32_t stream, struct tn_dependency dependency);
void tn_slices_begin_anew(struct tn_slices *slices);

/* The stream's number is nobody's any more, and nothing that was freed on it is under way. */
void tn_slices_forget(struct tn_slices *slices, uint32_t stream);

/* --- queries --- */

size_t tn_slices_metadata_bytes(const struct tn_slices *slices);

/* The same of all that there is room for. */
size_t tn_slices_reserved_bytes(const struct tn_slices *slices);

/* NULL, or what is wrong. Walks everything. */
const char *tn_slices_check(const struct tn_slices *slices);

/* --- the short way --------------------------------------------------------------------------- */

/* A pool that knows one stream gives it no number: it will be 0. */
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

/* After a change of the masks: puts the slab where it belongs now. */
void tn_slices_relist(struct tn_slices *slices, uint32_t slab);

/* tn_slices_free of what waits for something, but for what it returns. */
void tn_slices_free_after(struct tn_slices *slices, uint32_t slab, unsigned slice,
                          struct tn_dependency dependency);

/* What is live comes after all that the slab waited for. */
static inline void tn_slab_mark_full(struct tn_slab *s)
{
    s->state = TN_SLAB_STATE_FULL;
    s->foreign = TN_DEPENDENCY_NONE;
    s->has_own = false;
}

/* In no list yet. */
static inline void tn_slab_mark_ready(struct tn_slice_class *c, uint32_t index)
{
    struct tn_slab *s = &c->slabs[index];
    uint32_t *first = &c->ready[s->stream];
    s->state = TN_SLAB_STATE_READY;
    s->next = *first;
    if (*first != TN_SLAB_INDEX_NONE) c->slabs[*first].previous = index;
    *first = index;
}

static inline uint16_t *tn_slices_place_of_size(const struct tn_slice_class *c, uint32_t index,
                                                unsigned slice)
{
    return &c->sizes[((size_t)index << c->per_slab_log2) + slice];
}

/* tn_slices_take, by class and place, of what is not kept. */
static inline unsigned tn_slices_take_at(struct tn_slices *slices, unsigned slice_class,
                                         uint32_t index, size_t size_bytes)
{
    struct tn_slice_class *c = &slices->classes[slice_class];
    struct tn_slab *s = &c->slabs[index];
    unsigned slice = tn_lowest_bit(s->free);
    *tn_slices_place_of_size(c, index, slice) = (uint16_t)size_bytes;
    slices->live_count++;
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

static inline size_t tn_slices_free(struct tn_slices *slices, uint32_t slab, unsigned slice,
                                    struct tn_dependency dependency)
{
    struct tn_slice_class *c = tn_slices_class_of(slices, slab);
    uint32_t index = tn_slab_index(slab);
    struct tn_slab *s = &c->slabs[index];
    TN_ASSERT(tn_slices_is_live(slices, slab, slice));
    slices->live_count--;
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
    return *tn_slices_place_of_size(c, index, slice);
}

#endif
