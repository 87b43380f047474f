/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* latency: the time of each call of a workload, over time, by size, and the worst. */
#include "latency.h"

#include <stdlib.h>

struct call {
    uint64_t ns; /* the shortest so far */
    size_t size_bytes;
    bool is_alloc;
};

struct recording {
    struct call *calls;
    size_t count;
    struct tn_samples samples; /* of one pass; later, of one part */
    size_t *sizes;             /* of the block in each slot */
};

/* --- the calls ------------------------------------------------------------------------------------ */

static bool recording_init(struct recording *recording, const struct tn_latency_list *list)
{
    size_t count = list->setup_count + list->body_count;
    *recording = (struct recording){
        .calls = malloc(count * sizeof recording->calls[0]),
        .count = count,
        .samples = { .alloc_ns = malloc(count * sizeof(uint64_t)),
                     .free_ns = malloc(count * sizeof(uint64_t)) },
        .sizes = calloc(list->slot_count, sizeof recording->sizes[0]),
    };
    return recording->calls && recording->samples.alloc_ns && recording->samples.free_ns &&
           recording->sizes;
}

static void recording_fini(struct recording *recording)
{
    free(recording->calls);
    free(recording->samples.alloc_ns);
    free(recording->samples.free_ns);
    free(recording->sizes);
}

static void note_calls(struct recording *recording, const struct tn_operation *operations,
                       size_t count, struct call *calls)
{
    for (size_t i = 0; i < count; i++) {
        const struct tn_operation *operation = &operations[i];
        if (operation->is_alloc) recording->sizes[operation->slot] = operation->size_bytes;
        calls[i] =
            (struct call){ UINT64_MAX, recording->sizes[operation->slot], operation->is_alloc };
    }
}

static uint64_t greater(uint64_t left, uint64_t right)
{
    return left > right ? left : right;
}

/* Takes over the times of a pass. */
static void note_times(const struct recording *recording, struct tn_latency *latency)
{
    const uint64_t *alloc_ns = recording->samples.alloc_ns;
    const uint64_t *free_ns = recording->samples.free_ns;
    for (size_t i = 0; i < recording->count; i++) {
        struct call *call = &recording->calls[i];
        uint64_t ns = call->is_alloc ? *alloc_ns++ : *free_ns++;
        uint64_t *worst =
            call->is_alloc ? &latency->alloc_worst_once_ns : &latency->free_worst_once_ns;
        *worst = greater(*worst, ns);
        if (ns < call->ns) call->ns = ns;
    }
}

static bool play(struct tn_player *player, const struct tn_latency_list *list,
                 struct tn_samples *samples, struct tn_stop *stop_out)
{
    samples->alloc_count = samples->free_count = 0;
    if (!tn_player_play_timed(player, list->setup, list->setup_count, samples, stop_out))
        return false;
    if (tn_player_play_timed(player, list->body, list->body_count, samples, stop_out)) return true;
    stop_out->index += list->setup_count;
    return false;
}

static bool play_pass(const struct tn_latency_list *list, const struct tn_allocator *allocator,
                      const struct tn_allocator_settings *settings, struct recording *recording,
                      tarn_status *status_out, struct tn_stop *stop_out)
{
    struct tn_player player;
    *status_out = tn_player_init(&player, allocator, settings, list->slot_count, &stop_out->reason);
    if (*status_out != TARN_STATUS_OK) return false;
    bool is_played = play(&player, list, &recording->samples, stop_out);
    struct tn_stop after = { .index = 0 };
    bool is_freed = tn_player_free_all(&player, &after.reason);
    if (is_played && !is_freed) {
        after.index = recording->count - 1;
        *stop_out = after;
    }
    tn_player_fini(&player);
    return is_played && is_freed;
}

/* --- the summary ---------------------------------------------------------------------------------- */

static struct tn_latency_calls summarise(uint64_t *samples, size_t count)
{
    struct tn_percentiles percentiles = tn_percentiles_compute(samples, count);
    return (struct tn_latency_calls){ count, percentiles.p50, percentiles.max };
}

static void add_sample(struct tn_samples *samples, const struct call *call)
{
    if (call->is_alloc)
        samples->alloc_ns[samples->alloc_count++] = call->ns;
    else
        samples->free_ns[samples->free_count++] = call->ns;
}

static struct tn_latency_part make_part(uint64_t first, const struct tn_samples *samples)
{
    return (struct tn_latency_part){ first, summarise(samples->alloc_ns, samples->alloc_count),
                                     summarise(samples->free_ns, samples->free_count) };
}

static void summarise_over_time(struct recording *recording, struct tn_latency *latency)
{
    size_t length = (recording->count + TN_LATENCY_PARTS_MAX - 1) / TN_LATENCY_PARTS_MAX;
    for (size_t first = 0; first < recording->count; first += length) {
        size_t left = recording->count - first;
        recording->samples.alloc_count = recording->samples.free_count = 0;
        for (size_t i = 0; i < length && i < left; i++)
            add_sample(&recording->samples, &recording->calls[first + i]);
        latency->over_time[latency->over_time_count++] = make_part(first, &recording->samples);
    }
}

/* The exponent of the largest power of 4 that is not larger; 0 for zero bytes. */
static size_t size_part(size_t size_bytes)
{
    size_t part = 0;
    for (; size_bytes >= 4; size_bytes /= 4)
        part++;
    return part;
}

static void summarise_by_size(struct recording *recording, struct tn_latency *latency)
{
    bool has_calls[TN_LATENCY_SIZES_MAX] = { false };
    for (size_t i = 0; i < recording->count; i++)
        has_calls[size_part(recording->calls[i].size_bytes)] = true;
    for (size_t part = 0; part < TN_LATENCY_SIZES_MAX; part++) {
        if (!has_calls[part]) continue;
        recording->samples.alloc_count = recording->samples.free_count = 0;
        for (size_t i = 0; i < recording->count; i++)
            if (size_part(recording->calls[i].size_bytes) == part)
                add_sample(&recording->samples, &recording->calls[i]);
        latency->by_size[latency->by_size_count++] =
            make_part((uint64_t)1 << (2 * part), &recording->samples);
    }
}

static void summarise_all(struct recording *recording, struct tn_latency *latency)
{
    recording->samples.alloc_count = recording->samples.free_count = 0;
    for (size_t i = 0; i < recording->count; i++)
        add_sample(&recording->samples, &recording->calls[i]);
    struct tn_latency_part all = make_part(0, &recording->samples);
    latency->alloc = all.alloc;
    latency->free = all.free;
    summarise_over_time(recording, latency);
    summarise_by_size(recording, latency);
}

/* --- both ----------------------------------------------------------------------------------------- */

struct tn_latency *tn_latency_measure(const struct tn_latency_list *list,
                                      const struct tn_allocator *allocator,
                                      const struct tn_allocator_settings *settings,
                                      tarn_status *status_out, struct tn_stop *stop_out)
{
    struct tn_latency *latency = calloc(1, sizeof *latency);
    struct recording recording;
    bool is_good = recording_init(&recording, list) && latency;
    *status_out = TARN_STATUS_OK;
    *stop_out = (struct tn_stop){ .index = 0 };
    if (is_good) {
        note_calls(&recording, list->setup, list->setup_count, recording.calls);
        note_calls(&recording, list->body, list->body_count, recording.calls + list->setup_count);
    } else {
        tn_reason_set(&stop_out->reason,
                      "there is not enough host memory for the times of its calls");
    }
    while (is_good && latency->pass_count < TN_LATENCY_PASSES) {
        is_good = play_pass(list, allocator, settings, &recording, status_out, stop_out);
        if (is_good) note_times(&recording, latency);
        latency->pass_count++;
    }
    if (is_good) summarise_all(&recording, latency);
    recording_fini(&recording);
    if (is_good) return latency;
    free(latency);
    return NULL;
}
