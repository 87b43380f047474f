/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * create: creates a pool that opens its backend or is given one, with options that the environment may change.
 *
 *     options ── variables ── checks ── backend ── share of the rank ── pool
 *
 * Threads: any. Cost: that of opening the backend.
 */
#ifndef TN_CREATE_H
#define TN_CREATE_H

#include "environment.h"

/* Creates a pool from complete options, as tarn_pool_create does. location: of the memory, whatever the environment
 * says; NULL: TARN_DEVICE and TARN_KIND if the options read the environment, else the current device's own memory.
 * Errors: those of tarn_pool_create. */
tarn_status tn_create_pool(const tarn_pool_options *options, const struct tn_location *location,
                           tarn_pool **pool_out);

#endif
