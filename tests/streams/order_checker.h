/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * order_checker: a backend over another one, which knows what runs before what, and reports memory that
 * is handed out to a stream while somebody else may still use it.
 *
 * It goes by the order that was asked for and not by what happened to be done: each stream has a vector
 * clock (C. Fidge, "Timestamps in message-passing systems that preserve the partial ordering", 1988), a
 * record copies it, a wait takes the later of both, and the host's own clock is what it has waited for.
 * So it finds in one run what a race would show once in a thousand.
 *
 * A handle is given to the next stream at once when its stream is destroyed, and each thread has a stream of its
 * own under ORDER_CHECKER_PER_THREAD. Whoever names a stream that is not there ends the program.
 *
 *     order_checker_use(checker, a, x, bytes)      work on stream a uses x
 *     order_checker_take(checker, b, x, bytes)     the pool gave x for use on b: is that work before it?
 *
 * Threads: any.
 */
#ifndef ORDER_CHECKER_H
#define ORDER_CHECKER_H

#include <stdbool.h>
#include <stdint.h>

#include "tarn/backend.h"

struct order_checker;

struct order_checker_options {
    tarn_backend inner; /* which does the work; closed with the checker */
    uint64_t seed;      /* of what goes wrong */
    /* How many of a thousand queries answer NOT_READY whatever is the case, and how many records, waits
     * and queries fail. */
    unsigned late_permille;
    unsigned fail_permille;
    /* Lies of a backend, which the checker must find out. */
    bool drops_records;
    bool drops_waits;
    bool takes_errors_for_completion;
    bool has_synchronize;   /* the device can be waited for */
    bool has_device_events; /* an event can cover all streams */
    bool has_idle_unmaps;   /* memory that no work uses can be unmapped without a wait */
};

#define ORDER_CHECKER_PER_THREAD ((tarn_stream)2)

/* For order_checker_take and order_checker_extend: any stream may use the memory, so the host must have waited for all
 * others. */
#define ORDER_CHECKER_ANY ((tarn_stream)3)

/* A checker knows so many streams: the default stream, threads' own, and those that have ended before the host waited
 * for them are among them. */
#define ORDER_CHECKER_STREAMS_MAX 192

/* NULL: no memory. */
struct order_checker *order_checker_create(const struct order_checker_options *options);
tarn_backend order_checker_backend(struct order_checker *checker);

void order_checker_use(struct order_checker *checker, tarn_stream stream, const void *address,
                       size_t size_bytes);
void order_checker_take(struct order_checker *checker, tarn_stream stream, const void *address,
                        size_t size_bytes);
/* The user gives the memory back, and may not use it again. */
void order_checker_drop(struct order_checker *checker, const void *address);
/* The user gives the end of the memory back, and keeps size_bytes. */
void order_checker_shorten(struct order_checker *checker, const void *address, size_t size_bytes);
/* The pool gave more behind the first old_bytes for use on a stream: is other work on that before it? */
void order_checker_extend(struct order_checker *checker, tarn_stream stream, const void *address,
                          size_t old_bytes, size_t size_bytes);

/* The vendor has the memory back, past the checker's own operations, and has waited for all work. */
void order_checker_give_back(struct order_checker *checker, const void *address, size_t size_bytes);

/* How often memory was handed out too early, or twice; and what the first was. */
size_t order_checker_fault_count(const struct order_checker *checker);
const char *order_checker_first_fault(const struct order_checker *checker);

/* Calls made so far. */
struct order_checker_counts {
    uint64_t records, waits, queries, releases, idle_unmaps, faked_failures;
};
struct order_checker_counts order_checker_counts(const struct order_checker *checker);

#endif
