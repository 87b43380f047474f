/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * faulty_backend: a backend whose n-th call fails, over one that works; for tests of what reads and writes memory.
 *
 *     tarn_backend backend = faulty_backend_open(&host);
 *     for (unsigned n = 1;; n++) {
 *         faulty_backend_begin(n, 1);
 *         ... the scenario ...
 *         if (faulty_backend_end() == 0) break;       the n-th was never reached: all have failed once
 *     }
 *
 * Calls that give back what was acquired are not among them: what they refuse is lost, and nobody is to blame.
 * Threads: one at a time, and one such backend.
 */
#ifndef FAULTY_BACKEND_H
#define FAULTY_BACKEND_H

#include <stdbool.h>

#include "tarn/backend.h"

enum faulty_call {
    FAULTY_CALL_ACQUIRE,
    FAULTY_CALL_STREAM_CHECK,
    FAULTY_CALL_STREAM_ID,
    FAULTY_CALL_STREAM_SYNCHRONIZE,
    FAULTY_CALL_EVENT_CREATE,
    FAULTY_CALL_EVENT_RECORD,
    FAULTY_CALL_EVENT_SYNCHRONIZE,
    FAULTY_CALL_FILL,
    FAULTY_CALL_COPY,
    FAULTY_CALL_COUNT
};

#define FAULTY_VENDOR_CODE (-13)
#define FAULTY_VENDOR_NAME "faultyError"

/* Has the state of the one that works, and is closed with it. Its table may be changed. */
tarn_backend faulty_backend_open(const tarn_backend *backend);
tarn_backend_operations *faulty_backend_operations(void);

/* Calls number fail_at to fail_at + count - 1 from now on fail, with VENDOR_ERROR; 0: none does. */
void faulty_backend_begin(unsigned fail_at, unsigned count);

/* Only calls of that kind count. */
void faulty_backend_begin_call(enum faulty_call call, unsigned fail_at, unsigned count);

/* None fails from now on. How many have. */
unsigned faulty_backend_end(void);

/* How many have failed by now, and which was the last. */
unsigned faulty_backend_failed_count(void);
enum faulty_call faulty_backend_failed_call(void);

/* Calls since the last time that this was asked. */
unsigned faulty_backend_take_calls(enum faulty_call call);

/* Events that are there; and their end, where nobody else can bring it about. */
unsigned faulty_backend_event_count(void);
void faulty_backend_destroy_events(void *state);

#endif
