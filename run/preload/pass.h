/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pass: the variables of this library; calls that always go to the vendor; calls that a pool itself makes.
 *
 * Threads: any. Cost: some loads.
 */
#ifndef TN_PASS_H
#define TN_PASS_H

#include <stdbool.h>
#include <stddef.h>

#include "notes.h"

/* TARN_RUN_PASS=1: all calls are counted and passed on. */
bool tn_pass_is_asked(void);

/* TARN_RUN_UP_TO=SIZE: larger requests are passed on. */
bool tn_pass_is_too_large(size_t size_bytes);

/* TARN_RUN_SYNC_FREES=1: a free without a stream keeps the host until the work of its context is done. */
bool tn_pass_syncs_frees(void);

/* Tells the user, once, of variables of this library with a value that makes no sense. The first pool calls it, so that
 * shells and compilers stay silent. */
void tn_pass_tell_wrong_values(void);

/* Returns why the call is passed on, or TN_REASON_COUNT. */
enum tn_reason tn_pass_reason(void);

/* The calling thread is in a call of a pool from now on, until it leaves. */
void tn_pass_enter_pool(void);
void tn_pass_leave_pool(void);

#endif
