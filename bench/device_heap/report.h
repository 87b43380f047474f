/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report: prints figures at once, and writes them at the end to a JSON file, which README.md describes. */
#ifndef TN_HEAP_BENCH_REPORT_H
#define TN_HEAP_BENCH_REPORT_H

#include <cstddef>
#include <string>
#include <vector>

#include "options.h"

/* The subject of a figure. */
struct subject {
    std::string test;
    std::string workload; /* "64 B" */
    double
        x; /* where it stands among the test's workloads: bytes or threads; 0: by its name alone */
    std::string heap;
};

struct figure {
    subject of;
    std::string name;
    std::string unit;
    double median, min, max;
    size_t rounds;
};

class report
{
  public:
    /* The values are those of the rounds. Without any, nothing is added. */
    void add(const subject &of, const std::string &name, const std::string &unit,
             std::vector<double> values);

    /* A workload that a heap skipped, and why. */
    void skip(const subject &of, const std::string &why);

    /* A fault of a heap: memory that is not the heap's, objects that overlap, a refused request that fits. */
    void fault(const subject &of, const std::string &what);

    bool has_faults() const
    {
        return !faults_.empty();
    }

    /* Whether the file could be written; prints why not. */
    bool write(const options &options, const std::vector<std::string> &kernels) const;

  private:
    struct remark {
        subject of;
        std::string text;
    };
    std::vector<figure> figures_;
    std::vector<remark> skipped_;
    std::vector<remark> faults_;
};

#endif
