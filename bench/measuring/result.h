/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* result: what one allocator cost on one workload, or why that is not known. */
#ifndef TN_RESULT_H
#define TN_RESULT_H

#include "../allocators/counted_backend.h"
#include "../common/percentiles.h"
#include "../playing/player.h"
#include "../workloads/faithful_plan.h"
#include "../workloads/workload.h"
#include "latency.h"
#include "memory_log.h"

enum tn_outcome {
    TN_OUTCOME_MEASURED,
    TN_OUTCOME_SKIPPED,     /* the workload cannot be played here; the reason says why */
    TN_OUTCOME_NOT_FOUND,   /* the allocator is not there; the reason says why */
    TN_OUTCOME_INTERRUPTED, /* by the user; repetition_count and pair_ns are those that were done */
    TN_OUTCOME_FAILED       /* the reason says what failed and where */
};

/* Of TN_METHOD_GROWTH. Times are those of a repetition, which begins with a new instance. */
struct tn_growth_figures {
    struct tn_spread first_alloc_ns;
    struct tn_spread alloc_ns; /* all allocations by their number */
    struct tn_spread free_ns;
    size_t held_after_free_bytes;
    bool can_trim;
    size_t held_after_trim_bytes;
};

/* Of TN_METHOD_STREAMS. pair_ns is the time of the submitting thread, with its share of the work; for the
 * harness, that of the work alone. */
struct tn_stream_figures {
    struct tn_spread total_ns; /* of a pair, until the streams have done the work */
    double work_total_ns;      /* of the work alone */
    struct tn_stream_calls calls;
    size_t counted_pair_count; /* pairs that the calls were made for */
};

struct tn_result {
    const struct tn_workload *workload;
    const struct tn_allocator *allocator;
    enum tn_outcome outcome;
    struct tn_reason reason; /* when skipped, not found or failed */

    size_t pair_count; /* in one pass */
    size_t repetition_count;
    size_t instance_count; /* that the repetitions were done on */
    size_t pass_count;     /* in one repetition */
    double counted_share;  /* of their time, what was not disturbed. If nothing was, all counts */
    struct tn_spread pair_ns;
    struct tn_percentiles alloc_ns; /* of single calls; not of several threads, as the next two */
    struct tn_percentiles free_ns;
    double harness_pair_ns; /* of pair_ns, what the benchmark itself costs */

    size_t live_bytes_max; /* as asked for */
    size_t live_count_max;
    struct tn_allocator_usage usage; /* after the first pass */
    bool is_interleaved; /* the repetitions with those of others, unless there was but one */

    struct tn_percentiles
        late_ns; /* of a faithful replay in recorded time: by how much events began late */

    size_t thread_count;           /* that used the allocator */
    size_t stream_count;           /* that it was used on */
    size_t touch_bytes;            /* of each block that were written; 0: memory was not touched */
    enum tn_order order;           /* of a faithful replay, as the next */
    double speed;                  /* times as fast as recorded; 0: as fast as possible */
    struct tn_spread pairs_per_s;  /* of all threads together; measure_threads.h */
    double one_thread_pairs_per_s; /* with one thread and as many blocks a thread; 0: not known */

    struct tn_growth_figures growth;
    struct tn_stream_figures streams;
    double held_by_peak_max;      /* of all moments: bytes held by the most bytes live until then
                                     (memory_follow.h); 0: not known */
    struct tn_memory_log *memory; /* NULL: not asked for, or not measured; as the next */
    struct tn_latency *latency;
};

void tn_results_fini(struct tn_result *results, size_t count);

/* Lets all results that were to be measured fail. */
void tn_results_fail(struct tn_result *results, size_t count, const char *text);

/* The allocator did not open. It is not found if this machine does not support it; else it has failed. */
void tn_result_set_unopened(struct tn_result *result, tarn_status status,
                            const struct tn_reason *why);

/* The user wants to end: the result keeps its repetitions so far. */
void tn_result_set_interrupted(struct tn_result *result);

/* The allocator failed, or an address is bad, in operation first_place + stop->index of the workload; or the
 * user wants to end. If the vendor's own calls cannot play a made-up workload, it is skipped for them. */
void tn_result_set_stopped(struct tn_result *result, const struct tn_stop *stop,
                           size_t first_place);

#endif
