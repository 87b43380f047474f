/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * contents: checks whether blocks still have the bytes that were written into them.
 *
 * Always true: the copies that are set aside lie in device_bytes, block after block, piece after piece; and
 * `streams` are those on which some of these copies may still be under way.
 */
#include "contents.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../common/random.h"

enum {
    PIECES_MAX = 6,
    END_BYTES = 4 << 10,
    INNER_BYTES = 2 << 10
};

_Static_assert(2 * END_BYTES + 4 * INNER_BYTES == TN_CONTENTS_SAMPLE_BYTES, "both halves of it");

/* Some bytes of a block. */
struct piece {
    size_t offset; /* in the block */
    size_t size_bytes;
};

/* The pieces of a block that are compared. */
struct sample {
    struct tn_contents_block block;
    struct piece pieces[PIECES_MAX];
    size_t piece_count;
};

struct tn_contents {
    const struct tn_touch *touch;
    pthread_mutex_t lock;    /* of all that follows, which is for devices */
    struct tn_random random; /* where the inner pieces are */
    void *device_bytes;
    unsigned char *host_bytes;
    struct sample samples[TN_CONTENTS_BLOCKS_MAX];
    size_t sample_count;
    size_t aside_bytes; /* of all samples */
    tarn_stream streams[TN_CONTENTS_BLOCKS_MAX];
    size_t stream_count;
};

static const size_t device_bytes_max = TN_CONTENTS_BLOCKS_MAX * TN_CONTENTS_SAMPLE_BYTES;

/* --- comparing ----------------------------------------------------------------------------------- */

/* The index of the first byte that differs, or `count`. If each byte equals the one before it, all are equal.
 * */
static size_t find_other(const unsigned char *bytes, size_t count, unsigned char pattern)
{
    if (count == 0 || (bytes[0] == pattern && memcmp(bytes, bytes + 1, count - 1) == 0))
        return count;
    size_t i = 0;
    while (i < count && bytes[i] == pattern)
        i++;
    return i;
}

/* `bytes` are those of the piece, in the block or in a copy. */
static bool compare_piece(const struct tn_contents_block *block, const struct piece *piece,
                          const unsigned char *bytes, struct tn_contents_finding *finding_out)
{
    size_t other = find_other(bytes, piece->size_bytes, block->pattern);
    if (other == piece->size_bytes) return true;
    finding_out->block = *block;
    finding_out->has_changed = true;
    tn_reason_set(&finding_out->reason,
                  "the contents of the block of %zu bytes at 0x%zx did not survive: byte %zu is "
                  "0x%02x, and 0x%02x was written",
                  block->size_bytes, (size_t)block->address, piece->offset + other, bytes[other],
                  block->pattern);
    return false;
}

static bool compare_where_it_is(const struct tn_touch *touch, const struct tn_contents_block *block,
                                struct tn_contents_finding *finding_out)
{
    struct tn_touch_ends ends = tn_touch_ends_of(touch, block->size_bytes);
    struct piece head = { 0, ends.head_bytes };
    struct piece tail = { ends.tail_offset, block->size_bytes - ends.tail_offset };
    const unsigned char *bytes = block->address;
    return compare_piece(block, &head, bytes, finding_out) &&
           compare_piece(block, &tail, bytes + tail.offset, finding_out);
}

/* --- what is looked at of a block ---------------------------------------------------------------- */

static void add_piece(struct sample *sample, size_t offset, size_t size_bytes)
{
    if (size_bytes > 0)
        sample->pieces[sample->piece_count++] = (struct piece){ offset, size_bytes };
}

/* Adds a piece at a random place in each half of [first, first + size_bytes). */
static void add_inner_pieces(struct tn_contents *contents, struct sample *sample, size_t first,
                             size_t size_bytes)
{
    size_t half_bytes = size_bytes / 2;
    for (size_t i = 0; i < 2; i++) {
        size_t room_bytes = half_bytes - INNER_BYTES + 1;
        add_piece(sample, first + i * half_bytes + tn_random_below(&contents->random, room_bytes),
                  INNER_BYTES);
    }
}

static void plan_sample(struct tn_contents *contents, struct sample *sample)
{
    size_t size_bytes = sample->block.size_bytes;
    struct tn_touch_ends ends = tn_touch_ends_of(contents->touch, size_bytes);
    size_t tail_bytes = size_bytes - ends.tail_offset;
    sample->piece_count = 0;
    if (ends.head_bytes + tail_bytes <= TN_CONTENTS_SAMPLE_BYTES) {
        add_piece(sample, 0, ends.head_bytes);
        add_piece(sample, ends.tail_offset, tail_bytes);
        return;
    }
    if (tail_bytes == 0) { /* it was written as a whole */
        tail_bytes = size_bytes / 2;
        ends = (struct tn_touch_ends){ size_bytes - tail_bytes, size_bytes - tail_bytes };
    }
    add_piece(sample, 0, END_BYTES);
    add_inner_pieces(contents, sample, END_BYTES, ends.head_bytes - END_BYTES);
    add_inner_pieces(contents, sample, ends.tail_offset, tail_bytes - END_BYTES);
    add_piece(sample, size_bytes - END_BYTES, END_BYTES);
}

/* --- aside --------------------------------------------------------------------------------------- */

static void note_stream(struct tn_contents *contents, tarn_stream stream)
{
    for (size_t i = 0; i < contents->stream_count; i++)
        if (contents->streams[i] == stream) return;
    contents->streams[contents->stream_count++] = stream;
}

static bool take_result(tarn_backend_result result, const char *what,
                        const struct tn_contents_block *block,
                        struct tn_contents_finding *finding_out)
{
    if (tn_device_work_is_ok(result, what, &finding_out->reason)) return true;
    finding_out->block = *block;
    finding_out->has_changed = false;
    return false;
}

static bool set_aside(struct tn_contents *contents, const struct tn_contents_block *block,
                      struct tn_contents_finding *finding_out)
{
    struct sample *sample = &contents->samples[contents->sample_count++];
    sample->block = *block;
    plan_sample(contents, sample);
    note_stream(contents, block->stream);
    for (size_t i = 0; i < sample->piece_count; i++) {
        const struct piece *piece = &sample->pieces[i];
        tarn_backend_result result =
            tn_device_work_copy(contents->touch->work, block->stream,
                                (char *)contents->device_bytes + contents->aside_bytes,
                                (const char *)block->address + piece->offset, piece->size_bytes);
        if (!take_result(result, "the memory cannot be copied", block, finding_out)) return false;
        contents->aside_bytes += piece->size_bytes;
    }
    return true;
}

static bool fetch(struct tn_contents *contents, struct tn_contents_finding *finding_out)
{
    struct tn_device_work *work = contents->touch->work;
    const struct tn_contents_block *first = &contents->samples[0].block;
    for (size_t i = 0; i < contents->stream_count; i++) {
        tarn_backend_result result = tn_device_work_wait(work, contents->streams[i]);
        if (!take_result(result, "the stream cannot be waited for", first, finding_out))
            return false;
    }
    tarn_backend_result result =
        tn_device_work_read(work, contents->streams[0], contents->device_bytes,
                            contents->aside_bytes, contents->host_bytes);
    return take_result(result, "what was copied cannot be read", first, finding_out);
}

static bool compare_all(const struct tn_contents *contents, struct tn_contents_finding *finding_out)
{
    const unsigned char *bytes = contents->host_bytes;
    for (size_t i = 0; i < contents->sample_count; i++) {
        const struct sample *sample = &contents->samples[i];
        for (size_t k = 0; k < sample->piece_count; k++) {
            if (!compare_piece(&sample->block, &sample->pieces[k], bytes, finding_out))
                return false;
            bytes += sample->pieces[k].size_bytes;
        }
    }
    return true;
}

static bool finish_locked(struct tn_contents *contents, struct tn_contents_finding *finding_out)
{
    if (contents->sample_count == 0) return true;
    bool is_ok = fetch(contents, finding_out) && compare_all(contents, finding_out);
    contents->sample_count = contents->stream_count = contents->aside_bytes = 0;
    return is_ok;
}

static bool look_locked(struct tn_contents *contents, const struct tn_contents_block *block,
                        struct tn_contents_finding *finding_out)
{
    return set_aside(contents, block, finding_out) &&
           (contents->sample_count < TN_CONTENTS_BLOCKS_MAX ||
            finish_locked(contents, finding_out));
}

/* --- for all ------------------------------------------------------------------------------------- */

bool tn_contents_look(struct tn_contents *contents, const struct tn_contents_block *block,
                      struct tn_contents_finding *finding_out)
{
    if (!contents->touch->work) return compare_where_it_is(contents->touch, block, finding_out);
    pthread_mutex_lock(&contents->lock);
    bool is_ok = look_locked(contents, block, finding_out);
    pthread_mutex_unlock(&contents->lock);
    return is_ok;
}

bool tn_contents_finish(struct tn_contents *contents, struct tn_contents_finding *finding_out)
{
    pthread_mutex_lock(&contents->lock);
    bool is_ok = finish_locked(contents, finding_out);
    pthread_mutex_unlock(&contents->lock);
    return is_ok;
}

static bool acquire_bytes(struct tn_contents *contents, struct tn_reason *reason_out)
{
    if (!contents->touch->work) return true;
    const tarn_backend *backend = &contents->touch->work->backend;
    contents->host_bytes = malloc(device_bytes_max);
    if (!contents->host_bytes) {
        tn_reason_set(reason_out, "there is not enough host memory to compare blocks in");
        return false;
    }
    tarn_backend_result result =
        backend->operations->acquire(backend->state, device_bytes_max, &contents->device_bytes);
    return tn_device_work_is_ok(result, "memory to copy blocks to", reason_out);
}

struct tn_contents *tn_contents_create(const struct tn_touch *touch, struct tn_reason *reason_out)
{
    struct tn_contents *contents = calloc(1, sizeof *contents);
    if (!contents) {
        tn_reason_set(reason_out, "there is not enough host memory to look at contents");
        return NULL;
    }
    contents->touch = touch;
    pthread_mutex_init(&contents->lock, NULL);
    tn_random_init(&contents->random, 1);
    if (acquire_bytes(contents, reason_out)) return contents;
    tn_contents_destroy(contents);
    return NULL;
}

void tn_contents_destroy(struct tn_contents *contents)
{
    if (!contents) return;
    for (size_t i = 0; i < contents->stream_count; i++)
        tn_device_work_wait(contents->touch->work, contents->streams[i]);
    if (contents->device_bytes) {
        const tarn_backend *backend = &contents->touch->work->backend;
        backend->operations->release(backend->state, contents->device_bytes, device_bytes_max);
    }
    pthread_mutex_destroy(&contents->lock);
    free(contents->host_bytes);
    free(contents);
}
