/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure: what the allocators cost on one workload.
 *
 * For each allocator, on one instance that starts empty:
 *   1. setup and a first pass over the body, every address verified, nothing timed. Footprint,
 *      vendor calls and metadata are those of this pass.
 *   2. a pass to warm up.
 *   3. repetitions: passes between two readings of the clock, as many as make 50 ms. The time of
 *      a pair is that of all calls divided by the number of allocations.
 *   4. a pass with the clock read around every call, for the percentiles.
 *   5. a last pass, every address verified: the allocator is now as it was while it was timed.
 *   6. everything is freed.
 *
 * The allocators take turns within every step, so that a machine that slows down or speeds up does
 * so for all of them; where the device has no room for all at once, they run one after the other.
 * One more takes part that does nothing: what it costs is the harness.
 *
 * A workload of several threads is measured as measure_threads.h says, a faithful replay as
 * measure_faithful.h does. When the user wants to end, what is under way ends as INTERRUPTED, and so does
 * all that would come after it.
 */
#ifndef TN_MEASURE_H
#define TN_MEASURE_H

#include "machine.h"
#include "options.h"
#include "percentiles.h"
#include "workload.h"

enum tn_outcome {
    TN_OUTCOME_MEASURED,
    TN_OUTCOME_SKIPPED,     /* the workload cannot be run here; the reason says why */
    TN_OUTCOME_NOT_FOUND,   /* the allocator is not there; the reason says why */
    TN_OUTCOME_INTERRUPTED, /* by the user; repetition_count and pair_ns are those that were done */
    TN_OUTCOME_FAILED       /* the reason says what failed and where */
};

struct tn_result {
    const struct tn_workload *workload;
    const struct tn_allocator *allocator;
    enum tn_outcome outcome;
    struct tn_reason reason; /* when skipped, not found or failed */

    size_t pair_count; /* in one pass */
    size_t repetition_count;
    size_t pass_count; /* in one repetition */
    struct tn_spread pair_ns;
    struct tn_percentiles alloc_ns; /* not of threads, as the next two */
    struct tn_percentiles free_ns;
    double harness_pair_ns; /* of pair_ns, what the benchmark itself costs */

    size_t live_bytes_max; /* as asked for */
    size_t live_count_max;
    struct tn_allocator_usage usage; /* after the first pass */
    bool is_interleaved;

    struct tn_percentiles
        late_ns; /* of a faithful replay in recorded time: by how much events began late */

    size_t thread_count;           /* that used the allocator */
    size_t stream_count;           /* that it was used on */
    size_t touch_bytes;            /* of each block that were written; 0: memory was not touched */
    enum tn_order order;           /* of a faithful replay, as the next */
    double speed;                  /* times as fast as recorded; 0: as fast as possible */
    struct tn_spread pairs_per_s;  /* of all threads together; measure_threads.h */
    double one_thread_pairs_per_s; /* with one thread and as many blocks a thread; 0: not known */
};

/* The allocator did not open: it is not found where this machine cannot have it, and else has failed. */
void tn_result_set_unopened(struct tn_result *result, tarn_status status,
                            const struct tn_reason *why);

/* Fills in one result for each allocator of the options, in their order. */
void tn_measure(const struct tn_workload *workload, const struct tn_options *options,
                const struct tn_machine *machine, struct tn_result *results);

#endif
