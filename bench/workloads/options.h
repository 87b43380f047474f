/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* options: what the user asked for on the command line. */
#ifndef TN_OPTIONS_H
#define TN_OPTIONS_H

#include "../allocators/allocator.h"
#include "../common/numbers.h"
#include "faithful_plan.h"

#define TN_ALLOCATORS_MAX 64

/* The most live blocks in made-up workloads of one thread. */
#define TN_LIVE_COUNT_MAX 10000000U

struct tn_command;

struct tn_options {
    const struct tn_command *command;

    const struct tn_allocator *allocators[TN_ALLOCATORS_MAX]; /* in the order of the reports */
    size_t allocator_count;
    const char *json_path; /* NULL: none */
    const char *csv_path;  /* NULL: none */
    uint64_t seed;
    size_t repetitions;
    double time_seconds; /* what the repetitions of one allocator on one workload may take */
    struct tn_allocator_settings settings;

    /* An empty list was not given: the command then has its own default. */
    struct tn_number_list sizes;         /* sweep */
    struct tn_number_list counts;        /* live: numbers of live blocks */
    struct tn_number_list live_counts;   /* churn; of each thread or stream: threads, streams */
    struct tn_number_list thread_counts; /* threads */
    bool is_shared;                      /* threads: any thread frees any block */
    struct tn_number_list stream_counts; /* streams */
    struct tn_number_list growth_sizes;  /* growth: bytes live at the end */
    bool is_until_full;                  /* growth: until the device is full */
    struct tn_number_list size_range;    /* smallest and largest block, where sizes are random */
    uint32_t
        families; /* patterns: a bit for each that was named, by its place in patterns.h; 0: all */
    uint32_t variants;         /* the same of variants */
    size_t draw_count;         /* patterns: of each family and variant; 0: not given */
    const char *const *traces; /* replay */
    size_t trace_count;
    bool is_faithful;    /* replay: with the threads and streams of the trace */
    enum tn_order order; /* faithful */
    double speed;        /* faithful: times as fast as recorded; 0: as fast as possible */
    bool has_latency;    /* of one thread: the time of each call is noted */
    size_t touch_bytes;  /* of each block that are written and verified; 0: memory is not touched */
};

/*
 * Reads the command line. Ends the process itself with status 0 after `help`, --help and --version, and with
 * status 2 after a message to stderr if the command line is wrong. `options_out` refers to texts of argv.
 */
void tn_options_parse(int argc, char **argv, struct tn_options *options_out);

#endif
