/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * random_program: a program of no family, with 4 MB to 2 GB live. Half of them fill memory and replace blocks: drawn are the
 * sizes (any, a few, or creeping), how many blocks are small, the order in which blocks are freed, and phases that hold more or
 * less. The others have 1 to 8 arrays, each of which grows, shrinks or walks at a rate of its own, the new one made first or
 * the old one freed first, with temporary arrays and now and then a block that lasts. One in three has several streams.
 */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include <stdint.h>

#include "workloads/workload.h"

/* Begins and ends with nothing live. Ends the process if the host has no memory for it. */
void random_program_make(struct tn_workload_list *list, uint64_t seed);

#endif
