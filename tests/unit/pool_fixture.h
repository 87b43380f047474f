/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_fixture: a pool over a test_backend, with the steps and the claims that tests of pools repeat. There is one, and
 * each test has it anew: a test sets fields of the backend and of the options, creates the pool where its set-up does
 * not, and its tear-down destroys it.
 */
#ifndef POOL_FIXTURE_H
#define POOL_FIXTURE_H

#include "core/pool/pool_arenas.h"
#include "core/arenas/gather.h"
#include "harness/claims.h"
#include "harness/test_backend.h"

#define KIB ((size_t)1024)
#define MIB ((size_t)1024 * 1024)

/* Handles of streams are never followed. */
extern char stream_handles[80];
#define STREAM(number) ((tarn_stream)&stream_handles[number])
#define A              STREAM(0)
#define B              STREAM(1)
#define C              STREAM(2)

extern struct test_backend backend;
extern tarn_backend opened;       /* the same, as options name it */
extern tarn_pool_options options; /* of the next pool that is created */
extern tarn_pool *pool;           /* NULL: not created */
extern bool checks_every_step;    /* alloc, free_on and the like check the pool afterwards */

/* --- beginning and end --------------------------------------------------------------------------- */

/* All but the pool, for set-ups that want something else: default options, over a backend with streams or without. But
 * the alignment is the least, so that there are slices of all sizes. */
void begin_fixture(bool has_streams);

/* For cmocka. The first pool takes 64 KiB. */
int set_up_without_pool(void **state); /* without streams either */
int set_up_without_streams(void **state);
int set_up(void **state);
int set_up_that_cannot_grow(void **state); /* and every step is checked */
int set_up_with_default_options(void **state);
/* Of the default options, but with a first static pool of 64 MiB. */
int set_up_with_64_mib(void **state);
/* Sets options: each static pool has so many bytes, unless a request needs more or a limit is near. */
void grow_by_pieces_of(size_t size_bytes);

/* Destroys the pool, if there is one. Then nothing of the backend's may be left. */
int tear_down(void **state);
/* For tests that free all that they allocate. */
int tear_down_empty(void **state);

/* Of the backend: pieces, ranges and events. */
void expect_nothing_left(void);

/* Calls are counted from here on. */
void create(void);
/* Whatever is live in it. It has to be sound. */
void destroy(void);
/* Fails when something is live. */
void destroy_empty(void);
/* Once more, with other options or a backend that has something else. */
void create_anew(void);
/* Once more, over memory that can be written. */
void create_over_host_memory(void);

/* --- steps ----------------------------------------------------------------------------------------- */

void *alloc(size_t size_bytes);
void *alloc_on(size_t size_bytes, tarn_stream stream);
void free_one(void *address);
void free_on(void *address, tarn_stream stream);
void free_after(void *address, const tarn_stream *streams, size_t stream_count);
void retire(tarn_stream stream);
/* The bytes that went back. */
size_t trim(size_t keep_bytes);

/* --- claims --------------------------------------------------------------------------------------- */

/* Nothing is written where the address would go. */
void expect_refused(tarn_status status, size_t size_bytes);
void expect_refused_on(tarn_status status, size_t size_bytes, tarn_stream stream);

/* No pool is made of the options, the last error says why, and nothing is left behind. */
void expect_options_refused(tarn_status status, const char *part);

/* Check finds a fault and names it so. */
void expect_fault(const char *part);

tarn_allocation found_at(const void *address);

/* Of the backend, since the last time. */
void expect_no_calls(void);
/* Besides queries. */
void expect_records_and_waits(unsigned record_count, unsigned wait_count);

void expect_last_wait(tarn_stream stream, tarn_stream awaited);
void expect_pending(size_t pending_bytes);

/* --- arenas, which come by request, without a crowd of threads -------------------------------------- */

/* The next alloc of any thread takes an arena. */
void want_arenas(void);
/* The same of a pool that holds its first static pool. */
void warm_up(void);
void expect_active(uint32_t count);
struct tn_arena *own_arena(void);
void gather(void);

#endif
