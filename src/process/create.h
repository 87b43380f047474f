/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * create: creates a pool that opens its backend or is given one, with options that the environment may change.
 *
 *     begin   options ── variables ── checks ── backend ── share of the rank ── open pool
 *     finish  memory, if the options want it at once ── functions of the program are told of it
 *
 * Threads: any. begin calls no function of the program. Cost: that of opening the backend, and of the memory.
 */
#ifndef TN_CREATE_H
#define TN_CREATE_H

#include "environment.h"

/* An open pool that lacks the memory which it is to have at once. */
struct tn_creation {
    tarn_pool *pool;
    tarn_pool_options options; /* with what the environment says */
};

/* Opens a pool by complete options. location: of the memory, whatever the environment says; NULL: TARN_DEVICE and
 * TARN_KIND if the options read the environment, else the current device's own memory. Errors: those of
 * tarn_pool_create. */
tarn_status tn_create_begin(const tarn_pool_options *options, const struct tn_location *location,
                            struct tn_creation *creation_out);

/* Takes the memory. Errors: those of tarn_pool_create; the pool is open all the same. */
tarn_status tn_create_finish(const struct tn_creation *creation);

#endif
