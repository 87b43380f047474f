/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tests: each runs on all heaps. README.md describes them, and names the papers that they are from. */
#ifndef TN_HEAP_BENCH_TESTS_H
#define TN_HEAP_BENCH_TESTS_H

#include "options.h"
#include "report.h"

void test_one_size(const options &options, report &report);
void test_mixed(const options &options, report &report);
void test_scaling(const options &options, report &report);
void test_churn(const options &options, report &report);
void test_steady(const options &options, report &report);
void test_large(const options &options, report &report);
void test_out_of_memory(const options &options, report &report);
void test_graph(const options &options, report &report);
void test_latency(const options &options, report &report);
void test_create(const options &options, report &report);

struct test {
    const char *name;
    void (*run)(const options &, report &);
};

const test all_tests[] = {
    { "one-size", test_one_size }, { "mixed", test_mixed },   { "scaling", test_scaling },
    { "churn", test_churn },       { "steady", test_steady }, { "large", test_large },
    { "oom", test_out_of_memory }, { "graph", test_graph },   { "latency", test_latency },
    { "create", test_create },
};

#endif
