/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* options: what the command line says. */
#ifndef TN_HEAP_BENCH_OPTIONS_H
#define TN_HEAP_BENCH_OPTIONS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct options {
    std::vector<std::string> tests; /* empty: all */
    std::vector<std::string> heaps; /* empty: all */
    std::string json_path;          /* empty: no file */
    unsigned rounds = 9;
    uint32_t threads = 1U << 20; /* a power of two */
    size_t heap_bytes = (size_t)8 << 30;
    double patience_s = 1.0; /* a heap skips the rest of a test after a longer workload */

    bool has_test(const std::string &name) const;
    bool has_heap(const std::string &name) const;
};

/* True: go on. False: the exit status is written; the usage or a fault of the command line was printed. */
bool options_parse(int argument_count, char **arguments, options *options_out,
                   int *exit_status_out);

#endif
