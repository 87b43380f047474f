/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * streams: blocks that go round between streams, and are filled there.
 *
 * Each stream has a fixed number of live blocks of fixed sizes. One thread replaces them one after the other,
 * for all streams: it frees a block on the stream that filled it last, and allocates and fills one of the
 * same size,
 *
 *     own          on the same stream, which has itself just freed a block of that size
 *     handed on    on the next stream, while the stream that has just freed such a block may still be filling it
 *
 * One more block stays live. It makes the sum a whole number of the pieces that device memory comes in, so
 * that a pool which begins with exactly that much has nothing else to give.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../common/random.h"
#include "commands.h"

enum {
    TURN_COUNT_MIN = 1024,
    CHUNK_BYTES = 1024, /* pools round sizes up to it */
    PIECE_BYTES = 2 << 20
};

static bool add_setup(struct tn_workload *workload, const size_t *sizes, size_t count)
{
    size_t bytes = 0;
    for (size_t slot = 0; slot < count; slot++) {
        if (!tn_operations_add_alloc(&workload->setup, slot, sizes[slot])) return false;
        bytes += (sizes[slot] + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
    }
    workload->slot_count = count;
    if (bytes % PIECE_BYTES == 0) return true;
    return tn_operations_add_alloc(&workload->setup, workload->slot_count++,
                                   PIECE_BYTES - bytes % PIECE_BYTES);
}

/* One pass replaces every block equally often. */
static bool add_turns(struct tn_workload *workload, const size_t *sizes, size_t count)
{
    size_t rounds = (TURN_COUNT_MIN + count - 1) / count;
    for (size_t i = 0; i < rounds; i++)
        for (size_t slot = 0; slot < count; slot++)
            if (!tn_operations_add_free(&workload->body, slot) ||
                !tn_operations_add_alloc(&workload->body, slot, sizes[slot]))
                return false;
    return true;
}

/* The blocks of all streams have the same sizes, in the same order. */
static bool fill_workload(struct tn_workload *workload, size_t live_count,
                          const struct tn_number_list *range, uint64_t seed)
{
    size_t count = live_count * workload->stream_count;
    workload->unit_count = 2;
    size_t *sizes = calloc(count, sizeof sizes[0]);
    if (!sizes) return false;
    struct tn_random random;
    tn_random_init(&random, seed);
    for (size_t i = 0; i < live_count; i++) {
        size_t size_bytes = tn_random_log_uniform(&random, range->values[0], range->values[1]);
        for (size_t stream = 0; stream < workload->stream_count; stream++)
            sizes[i * workload->stream_count + stream] = size_bytes;
    }
    bool is_filled = add_setup(workload, sizes, count) && add_turns(workload, sizes, count);
    free(sizes);
    return is_filled;
}

static bool add_workload(const struct tn_options *options, uint64_t live_count,
                         uint64_t stream_count, bool hands_on, struct tn_workload_list *list,
                         struct tn_reason *reason_out)
{
    static const struct tn_number_list default_range = { 2, { 4 << 10, 1 << 20 } };
    const struct tn_number_list *range = tn_number_list_or(&options->size_range, &default_range);
    struct tn_workload *workload = tn_workload_list_add(list);
    if (workload) {
        workload->bench = "streams";
        workload->method = TN_METHOD_STREAMS;
        workload->stream_count = (size_t)stream_count;
        workload->hands_on = hands_on;
        snprintf(workload->name, sizeof workload->name, "%zu x %zu of %s to %s, %s",
                 workload->stream_count, (size_t)live_count, tn_size_show(range->values[0]).text,
                 tn_size_show(range->values[1]).text, hands_on ? "handed on" : "own");
    }
    if (workload && fill_workload(workload, (size_t)live_count, range, options->seed)) return true;
    tn_reason_set(reason_out, "there is not enough host memory for the workload");
    return false;
}

/* With one stream there is no other to hand blocks on to. */
bool tn_streams_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                               struct tn_workload_list *list, struct tn_reason *reason_out)
{
    (void)machine;
    static const struct tn_number_list default_live = { 1, { 16 } };
    static const struct tn_number_list default_streams = { 4, { 1, 2, 4, 8 } };
    const struct tn_number_list *live = tn_number_list_or(&options->live_counts, &default_live);
    const struct tn_number_list *streams =
        tn_number_list_or(&options->stream_counts, &default_streams);
    for (size_t i = 0; i < live->count; i++)
        for (size_t k = 0; k < streams->count; k++)
            for (int hands_on = 0; hands_on < (streams->values[k] > 1 ? 2 : 1); hands_on++)
                if (!add_workload(options, live->values[i], streams->values[k], hands_on == 1, list,
                                  reason_out))
                    return false;
    return true;
}
