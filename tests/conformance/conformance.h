/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * conformance: one suite for every backend. What tarn/backend.h promises is tested here, once, and
 * run over each target: the host backend always, the vendor's kinds of memory when tarn was built
 * for a vendor and there is a device.
 *
 *     test_conformance.c   which targets there are; runs the groups on each
 *     memory_tests.c       properties, acquire and release, what is left
 *     range_tests.c        reserved addresses, and memory that is mapped into them
 *     stream_tests.c       streams, events, data in their order
 *     thread_tests.c       all of it from several threads
 *     pool_tests.c         a pool over the backend: its data, and the same places on every backend
 *     pool_stream_tests.c  a pool hands memory over between streams, and data tells the order
 *     device_heap_tests.c  device heaps in its memory, as far as the host makes them
 *     open_tests.c         opening and closing, and what they refuse
 *     vendor_NAME.c        what only the vendor can tell; one of them is built
 *
 * Every test opens its target and closes it again. Afterwards the thread's current device must be
 * what it was, and the vendor's last error clear.
 */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tarn/backend.h"

/* --- targets ----------------------------------------------------------------------------------- */

struct target {
    const char *name;
    tarn_memory_kind kind; /* that it must say that it has */
    bool is_host;          /* the host backend: its queues run late, and it knows its pieces */
    size_t memory_bytes;   /* what it pretends to have and counts to the byte; 0: it does neither */
    tarn_status (*open)(tarn_backend *backend_out);
};

/* What the vendor that tarn was built for adds. */
struct vendor {
    const char *name;
    const struct target *targets;
    size_t target_count;
    int (*current_device)(void);          /* of this thread; -1 when there is none */
    const char *(*take_last_error)(void); /* the error that was left behind, or NULL */
    int (*run_own_tests)(void);           /* tests of its own, run before all others */
    /* Maps what a file descriptor stands for on device 0, as another process would, and undoes that. NULL: the suite
     * only looks whether there is a descriptor. */
    void *(*import_memory)(int file_descriptor, size_t size_bytes);
    void (*forget_memory)(void *address, size_t size_bytes);
};

extern const struct vendor vendor;

/* Runs the group's tests on the target and returns how many failed. */
int run_memory_tests(const struct target *target);
int run_range_tests(const struct target *target);
int run_stream_tests(const struct target *target);
int run_thread_tests(const struct target *target);
int run_pool_tests(const struct target *target);
int run_pool_stream_tests(const struct target *target);
int run_device_heap_tests(const struct target *target);

int run_open_tests(void);

/* --- one test on one target -------------------------------------------------------------------- */

struct fixture {
    const struct target *target;
    tarn_backend backend;
    const tarn_backend_operations *operations;
    void *state;
    tarn_device_properties properties;
    bool is_open;
    int device_before;
};

/* The target that the tests of a group are run on. */
void fixture_set_target(const struct target *target);
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* The test's fixture. Skips the test when there is no device. */
struct fixture *fixture_of(void **state);

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

/* Skips the test, and says so, when the backend lacks the operation. */
#define REQUIRE_OPERATION(fixture, operation) \
    fixture_require(fixture, (fixture)->operations->operation != NULL, #operation)

void fixture_require(const struct fixture *fixture, bool is_there, const char *operation);

/* Whether the backend tells how much memory is left. A vendor may not. */
bool tells_memory(const struct fixture *fixture);
void require_memory_info(const struct fixture *fixture);

/* Streams have numbers; all work of the device can be waited for. */
void require_stream_ids(const struct fixture *fixture);
void require_synchronize(const struct fixture *fixture);

/* Streams, events, fill and copy: what most tests need. */
void require_streams(const struct fixture *fixture);

/* --- claims; each prints what it got instead --------------------------------------------------- */

#define EXPECT_STATUS(result, status) expect_status(result, status, #result, __FILE__, __LINE__)
#define EXPECT_OK(result)             EXPECT_STATUS(result, TARN_STATUS_OK)

void expect_status(tarn_backend_result result, tarn_status expected, const char *text,
                   const char *file, int line);

/* All size_bytes at the address hold `value`. Copies them to the host and waits for that. */
void expect_bytes(const struct fixture *fixture, const void *address, size_t size_bytes,
                  unsigned char value);

/* --- operations that must succeed -------------------------------------------------------------- */

void *acquire(const struct fixture *fixture, size_t size_bytes);
void release(const struct fixture *fixture, void *address, size_t size_bytes);
tarn_memory_info memory_of(const struct fixture *fixture);
tarn_stream create_stream(const struct fixture *fixture);
void destroy_stream(const struct fixture *fixture, tarn_stream stream);
void synchronize_stream(const struct fixture *fixture, tarn_stream stream);
tarn_event create_event(const struct fixture *fixture);
void destroy_event(const struct fixture *fixture, tarn_event event);
void record_event(const struct fixture *fixture, tarn_event event, tarn_stream stream);
void make_wait(const struct fixture *fixture, tarn_stream stream, tarn_event event);
void fill(const struct fixture *fixture, void *address, unsigned char value, size_t size_bytes,
          tarn_stream stream);
void copy(const struct fixture *fixture, void *destination, const void *source, size_t size_bytes,
          tarn_stream stream);

#endif
