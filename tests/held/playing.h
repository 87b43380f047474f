/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * playing: a workload of tarn-bench on a pool, and what the pool holds meanwhile.
 *
 * Beside the pool stands a model: the pieces of the pool, of which the pool tells, and how many live blocks lie in each. So
 * the model knows which pieces live blocks keep. Nothing reads or writes the memory.
 */
#ifndef PLAYING_H
#define PLAYING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/tarn.h"
#include "workloads/workload.h"

/* A call of the vendor from this repetition on counts as one in steady state. */
#define STEADY_REPETITION 8

struct setting {
    bool is_over_vendor; /* the simulated device, not the host */
    bool is_lean;        /* the preset; else the default options */
    size_t initial_bytes;
    size_t first_bytes;  /* that do not count, initial_bytes or more */
    size_t memory_bytes; /* of the device */
    size_t limit_bytes;  /* of the pool; 0: none */
    size_t repetitions;
    double peak_factor; /* so many times the most bytes used may be held, whatever lives where */
};

struct played {
    tarn_status status; /* of a call that failed, but for lack of memory; OK: none did */

    /* The most of all growths. Held beyond the first bytes and beyond memory that waits for a late device, by the most used
     * until then. Held by what is allowed: the first bytes and peak_factor times the most used, or what live blocks and the
     * request keep; of several threads that is not known: 0. */
    double held_by_used;
    double held_by_allowed;

    /* The least that was refused for lack of memory: used and request together, by limit or memory. 0: nothing was. */
    double refused_part;

    uint64_t late_call_count; /* calls of the vendor in steady state */
    uint64_t operation_count;
};

struct played play(const struct tn_workload *workload, const struct setting *setting);

#endif
