/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * label: a stack in the thread's own storage, and a hash table of texts that only grows.
 *
 * A thread that finds no number for a text takes an unused one, writes the text, and publishes the number in the
 * table. If another thread has published a number for this bucket meanwhile, the first one returns its own unused
 * number and looks again. So each text that is in the table is there once.
 */
#include "label.h"

#include <stdatomic.h>
#include <string.h>

#include "../../base/arith.h"

/* Twice the numbers, so that probing finds an empty bucket soon. */
#define BUCKET_LOG2 10

_Static_assert(TN_LABEL_COUNT <= 1 << (BUCKET_LOG2 - 1), "there is always an empty bucket");

atomic_bool tn_labels_used;

struct label_stack {
    uint32_t current; /* number of the innermost label, or TN_LABEL_NONE */
    uint16_t numbers[TN_LABEL_DEPTH_MAX];
    size_t depth; /* counts also labels beyond TN_LABEL_DEPTH_MAX, which are not kept */
    char other_texts[TN_LABEL_DEPTH_MAX]
                    [TN_LABEL_BYTES]; /* of those without a number of their own */
};

static _Thread_local struct label_stack own_stack;

/* By number, with zeros behind each. */
static char texts[TN_LABEL_COUNT][TN_LABEL_BYTES];

static _Atomic uint16_t buckets[1 << BUCKET_LOG2]; /* numbers; 0: empty */

/* A bit each. NONE and OTHER are no numbers of texts. */
static _Atomic uint64_t used_numbers[TN_LABEL_COUNT / 64] = {
    [0] = 1,
    [TN_LABEL_COUNT / 64 - 1] = (uint64_t)1 << 63,
};

/* --- numbers ---------------------------------------------------------------------------------- */

/* Takes the lowest unused number. OTHER: none is left. */
static uint32_t take_number(void)
{
    for (uint32_t i = 0; i < TN_LABEL_COUNT / 64; i++) {
        uint64_t used = atomic_load_explicit(&used_numbers[i], memory_order_relaxed);
        while (used != UINT64_MAX) {
            unsigned bit = tn_lowest_bit(~used);
            if (atomic_compare_exchange_weak_explicit(&used_numbers[i], &used,
                                                      used | (uint64_t)1 << bit,
                                                      memory_order_acquire, memory_order_relaxed))
                return i * 64 + bit;
        }
    }
    return TN_LABEL_OTHER;
}

/* Requires: no bucket has the number. */
static void give_number_back(uint32_t number)
{
    atomic_fetch_and_explicit(&used_numbers[number / 64], ~((uint64_t)1 << number % 64),
                              memory_order_release);
}

static void set_text(char text[TN_LABEL_BYTES], const char *label, size_t length)
{
    memset(text, 0, TN_LABEL_BYTES);
    memcpy(text, label, length);
}

/* Publishes a new number for the text in an empty bucket. 0: another thread has filled it. */
static TN_COLD uint32_t add(_Atomic uint16_t *bucket, const char *label, size_t length)
{
    uint16_t empty = 0;
    uint32_t number = take_number();
    if (number == TN_LABEL_OTHER) return number;
    set_text(texts[number], label, length);
    if (atomic_compare_exchange_strong_explicit(bucket, &empty, (uint16_t)number,
                                                memory_order_release, memory_order_relaxed))
        return number;
    give_number_back(number);
    return 0;
}

/* The first 1 to 7 bytes as a word. */
static uint64_t load_few(const char *bytes, size_t count)
{
    uint32_t first, last;
    if (count < 4) {
        uint64_t low = (unsigned char)bytes[0], middle = (unsigned char)bytes[count / 2];
        uint64_t high = (unsigned char)bytes[count - 1];
        return low | middle << 8 * (count / 2) | high << 8 * (count - 1);
    }
    memcpy(&first, bytes, 4);
    memcpy(&last, bytes + count - 4, 4);
    return first | (uint64_t)last << 8 * (count - 4);
}

static uint32_t hash_of(const char *label, size_t length)
{
    const uint64_t factor = 0x9E3779B97F4A7C15;
    uint64_t hash = length, word;
    for (; length >= 8; length -= 8, label += 8) {
        memcpy(&word, label, 8);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 32;
    }
    if (length > 0) hash = (hash ^ load_few(label, length)) * factor;
    return (uint32_t)(hash * factor >> (64 - BUCKET_LOG2));
}

static bool is_text(const char text[TN_LABEL_BYTES], const char *label, size_t length)
{
    return memcmp(text, label, length) == 0 && text[length] == '\0';
}

static uint32_t number_of(const char *label, size_t length)
{
    uint32_t place = hash_of(label, length);
    for (;;) {
        _Atomic uint16_t *bucket = &buckets[place % (1U << BUCKET_LOG2)];
        uint32_t number = atomic_load_explicit(bucket, memory_order_acquire);
        if (number == 0) {
            number = add(bucket, label, length);
            if (number != 0) return number;
        } else if (is_text(texts[number], label, length)) {
            return number;
        } else {
            place++;
        }
    }
}

const char *tn_label_text(uint32_t label)
{
    TN_ASSERT(label < TN_LABEL_COUNT);
    static const char other[TN_LABEL_BYTES] = "other labels";
    return label == TN_LABEL_OTHER ? other : texts[label];
}

/* --- the stack -------------------------------------------------------------------------------- */

uint32_t tn_label_current(void)
{
    return own_stack.current;
}

const char *tn_label_current_text(void)
{
    const struct label_stack *own = &own_stack;
    if (own->current != TN_LABEL_OTHER) return tn_label_text(own->current);
    return own->other_texts[tn_min(own->depth, TN_LABEL_DEPTH_MAX) - 1];
}

/* Other threads need not see that at once: they have no label. */
static void note_use(void)
{
    if (!tn_labels_are_used()) atomic_store_explicit(&tn_labels_used, true, memory_order_relaxed);
}

static uint32_t find_number(struct label_stack *own, const char *label, size_t place)
{
    size_t length = strnlen(label, TARN_LABEL_BYTES_MAX);
    if (length == 0) return TN_LABEL_NONE;
    uint32_t number = number_of(label, length);
    if (TN_UNLIKELY(number == TN_LABEL_OTHER)) set_text(own->other_texts[place], label, length);
    note_use();
    return number;
}

void tarn_label_push(const char *label)
{
    struct label_stack *own = &own_stack;
    size_t place = own->depth++;
    if (place >= TN_LABEL_DEPTH_MAX) return;
    own->current = label ? find_number(own, label, place) : TN_LABEL_NONE;
    own->numbers[place] = (uint16_t)own->current;
}

void tarn_label_pop(void)
{
    struct label_stack *own = &own_stack;
    if (own->depth == 0) return;
    size_t depth = --own->depth;
    if (depth < TN_LABEL_DEPTH_MAX)
        own->current = depth == 0 ? TN_LABEL_NONE : own->numbers[depth - 1];
}
