/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report: figures as they come, on the terminal at once and at the end in a JSON file, whose form is in README.md. */
#ifndef TN_HEAP_BENCH_REPORT_H
#define TN_HEAP_BENCH_REPORT_H

#include <cstddef>
#include <string>
#include <vector>

#include "options.h"

/* What a figure is of. */
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
    /* Values are those of the rounds; none: nothing is added. */
    void add(const subject &of, const std::string &name, const std::string &unit,
             std::vector<double> values);

    /* A workload that a heap was not given, and why. */
    void skip(const subject &of, const std::string &why);

    /* What must not be: memory that is not the heap's, objects that overlap, requests refused that fit. */
    void fault(const subject &of, const std::string &what);

    bool has_faults() const
    {
        return !faults_.empty();
    }

    /* Whether the file could be written; says why not. */
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
