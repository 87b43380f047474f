/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * trace_lines: a trace as a test looks at it, and the claims that every trace must stand: times never decrease, a free
 * comes after its allocation, an id names one block at a time, and the key `events` counts.
 */
#ifndef TEST_TRACE_LINES_H
#define TEST_TRACE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_line {
    char kind; /* 'a' or 'f' */
    uint64_t id;
    uint64_t bytes; /* of a free, those of its allocation */
    uint64_t stream;
    uint64_t thread;
    uint64_t time_ns;
    char label[600]; /* "" or that of the allocation */
};

struct trace_lines {
    struct trace_line *lines;
    size_t count;
    size_t live_count;      /* at the end */
    uint64_t lost_count;    /* as the trace says */
    uint64_t unknown_count; /* likewise, by frees_of_earlier */
};

/* Reads a plain or compressed trace, or a file of events, and fails the test when a claim does not hold. */
struct trace_lines read_trace_lines(const char *path);
void free_trace_lines(struct trace_lines *trace);

/* Claims what the lines are, each as `<kind> <id> <bytes> <stream>`, and its label if it has one. */
void expect_trace_lines(const char *path, const char *expected);

/* How many lines are allocations, or frees. */
size_t count_lines(const struct trace_lines *trace, char kind);

#endif
