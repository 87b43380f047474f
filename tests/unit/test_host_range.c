/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_host_range: what the host backend's ranges do with the system's pages, and what becomes of
 * them when the host or the system refuses. What any backend promises about ranges is tested by the
 * conformance suite.
 */
#include "harness/claims.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tarn/host.h"

#include "base/host_memory.h"
#include "harness/host_memory_faults.h"

enum {
    UNIT_COUNT = 8
};

#define MEMORY_BYTES ((size_t)1 << 20)

struct device {
    tarn_backend backend;
    const tarn_backend_operations *operations;
    void *state;
    size_t unit_bytes;
    unsigned char *range; /* of UNIT_COUNT units */
    int pipe[2];
};

#define CALL(device, operation, ...) (device)->operations->operation((device)->state, __VA_ARGS__)
#define ASSERT_OK(result)            assert_int_equal((result).status, TARN_STATUS_OK)

static int setup(void **state)
{
    static struct device device;
    tarn_host_options options = TARN_HOST_OPTIONS_INIT;
    options.memory_bytes = MEMORY_BYTES;
    memset(&device, 0, sizeof device);
    assert_int_equal(tarn_host_backend_open(&options, &device.backend), TARN_STATUS_OK);
    device.operations = device.backend.operations;
    device.state = device.backend.state;
    tarn_device_properties properties;
    ASSERT_OK(CALL(&device, get_properties, &properties));
    device.unit_bytes = properties.range_granularity_bytes;
    void *range;
    ASSERT_OK(CALL(&device, range_reserve, UNIT_COUNT * device.unit_bytes, &range));
    device.range = range;
    assert_int_equal(pipe(device.pipe), 0);
    *state = &device;
    return 0;
}

static size_t free_bytes(const struct device *device)
{
    tarn_memory_info info;
    ASSERT_OK(CALL(device, query_memory, &info));
    return info.free_bytes;
}

static int teardown(void **state)
{
    struct device *device = *state;
    assert_int_equal(free_bytes(device), MEMORY_BYTES);
    ASSERT_OK(CALL(device, range_release, device->range, UNIT_COUNT * device->unit_bytes));
    tarn_backend_close(&device->backend);
    close(device->pipe[0]);
    close(device->pipe[1]);
    return 0;
}

static unsigned char *unit(const struct device *device, size_t number)
{
    return device->range + number * device->unit_bytes;
}

static tarn_mapping map(struct device *device, size_t number, size_t count)
{
    tarn_mapping mapping = NULL;
    ASSERT_OK(CALL(device, range_map, unit(device, number), count * device->unit_bytes, &mapping));
    assert_non_null(mapping);
    return mapping;
}

static void unmap(struct device *device, size_t number, size_t count, tarn_mapping mapping)
{
    ASSERT_OK(CALL(device, range_unmap, unit(device, number), count * device->unit_bytes, mapping));
}

/* --- pages ------------------------------------------------------------------------------------- */

/* Whether the page may be read: the system looks, so that nobody dies. */
static bool is_usable(struct device *device, size_t number)
{
    unsigned char byte;
    if (write(device->pipe[1], unit(device, number), 1) != 1) {
        assert_int_equal(errno, EFAULT);
        return false;
    }
    assert_int_equal(read(device->pipe[0], &byte, 1), 1);
    return true;
}

/* One letter a unit: 'x' may be used, '.' may not. */
static void expect_usable(struct device *device, const char *picture)
{
    char found[UNIT_COUNT + 1] = "";
    for (size_t i = 0; i < UNIT_COUNT; i++)
        found[i] = is_usable(device, i) ? 'x' : '.';
    assert_string_equal(found, picture);
}

static void only_what_is_mapped_may_be_touched(void **state)
{
    struct device *device = *state;
    expect_usable(device, "........");
    tarn_mapping a = map(device, 1, 2);
    expect_usable(device, ".xx.....");
    tarn_mapping b = map(device, 5, 3);
    tarn_mapping c = map(device, 3, 1);
    expect_usable(device, ".xxx.xxx");
    unmap(device, 1, 2, a);
    expect_usable(device, "...x.xxx");
    unmap(device, 5, 3, b);
    unmap(device, 3, 1, c);
    expect_usable(device, "........");
}

static void what_is_mapped_again_is_new(void **state)
{
    struct device *device = *state;
    for (int round = 0; round < 3; round++) {
        tarn_mapping mapping = map(device, 0, UNIT_COUNT);
        for (size_t i = 0; i < UNIT_COUNT * device->unit_bytes; i++) {
            if (device->range[i] != 0) fail_msg("byte %zu is %d, not 0", i, device->range[i]);
        }
        memset(device->range, 0xAB, UNIT_COUNT * device->unit_bytes);
        unmap(device, 0, UNIT_COUNT, mapping);
    }
}

/* --- when work runs ---------------------------------------------------------------------------- */

static void unmapping_runs_everything(void **state)
{
    struct device *device = *state;
    tarn_stream stream;
    unsigned char bytes[2] = { 0, 0 };
    ASSERT_OK(CALL(device, stream_create, &stream));
    tarn_mapping mapping = map(device, 0, 1);
    ASSERT_OK(CALL(device, fill, device->range, 7, device->unit_bytes, stream));
    ASSERT_OK(CALL(device, copy, &bytes[0], device->range, 1, stream));
    ASSERT_OK(CALL(device, fill, &bytes[1], 8, 1, NULL));
    assert_int_equal(CALL(device, range_unmap, device->range, device->unit_bytes, NULL).status,
                     TARN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(bytes[0], 0); /* what is refused runs nothing */
    unmap(device, 0, 1, mapping);
    assert_int_equal(bytes[0], 7);
    assert_int_equal(bytes[1], 8);
    ASSERT_OK(CALL(device, stream_destroy, stream));
}

/* --- refusals ---------------------------------------------------------------------------------- */

static void no_host_memory_is_reported_and_changes_nothing(void **state)
{
    struct device *device = *state;
    void *range = NULL;
    tarn_mapping mapping = NULL;
    host_memory_faults_begin(1);
    assert_int_equal(CALL(device, range_reserve, device->unit_bytes, &range).status,
                     TARN_STATUS_OUT_OF_HOST_MEMORY);
    assert_true(host_memory_faults_end());
    assert_null(range);

    host_memory_faults_begin(1);
    assert_int_equal(CALL(device, range_map, device->range, device->unit_bytes, &mapping).status,
                     TARN_STATUS_OUT_OF_HOST_MEMORY);
    assert_true(host_memory_faults_end());
    assert_null(mapping);
    expect_usable(device, "........");
}

static void what_is_taken_of_the_host_is_given_back(void **state)
{
    struct device *device = *state;
    void *range;
    tarn_mapping mapping;
    host_memory_faults_begin(0);
    ASSERT_OK(CALL(device, range_reserve, device->unit_bytes, &range));
    ASSERT_OK(CALL(device, range_map, range, device->unit_bytes, &mapping));
    assert_int_equal(host_memory_faults_outstanding(), 2);
    assert_int_equal(
        CALL(device, range_reserve, SIZE_MAX / device->unit_bytes * device->unit_bytes, &range)
            .status,
        TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(CALL(device, range_map, device->range, 2 * MEMORY_BYTES, &mapping).status,
                     TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(host_memory_faults_outstanding(), 2);
    ASSERT_OK(CALL(device, range_unmap, range, device->unit_bytes, mapping));
    assert_int_equal(host_memory_faults_outstanding(), 1);
    ASSERT_OK(CALL(device, range_release, range, device->unit_bytes));
    assert_int_equal(host_memory_faults_outstanding(), 0);
    host_memory_faults_end();
}

/* Lowers a limit of the process to one page, so that the system grants nothing more. */
static struct rlimit limit_begin(int resource)
{
    struct rlimit old;
    assert_int_equal(getrlimit(resource, &old), 0);
    struct rlimit low = { .rlim_cur = 4096, .rlim_max = old.rlim_max };
    assert_int_equal(setrlimit(resource, &low), 0);
    return old;
}

static void limit_end(int resource, struct rlimit old)
{
    assert_int_equal(setrlimit(resource, &old), 0);
}

/* Meanwhile the C library may get nothing either. */
static void *static_alloc(size_t size_bytes)
{
    static max_align_t place[64];
    return size_bytes <= sizeof place ? place : NULL;
}

static void static_free(void *address)
{
}

static const struct tn_host_memory_hooks static_memory = { static_alloc, static_free };

static void addresses_that_the_system_refuses_are_out_of_memory(void **state)
{
    struct device *device = *state;
    void *range = NULL;
    tn_host_memory_set_hooks(&static_memory);
    struct rlimit old = limit_begin(RLIMIT_AS);
    tarn_backend_result result = CALL(device, range_reserve, device->unit_bytes, &range);
    limit_end(RLIMIT_AS, old);
    tn_host_memory_set_hooks(NULL);
    assert_int_equal(result.status, TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(result.vendor_code, ENOMEM);
    assert_string_equal(result.vendor_name, "ENOMEM");
    assert_null(range);
}

/* The system has no memory to promise: what lies around keeps its content, and what was asked for
 * is as it was. */
static void memory_that_the_system_refuses_is_out_of_memory(void **state)
{
    struct device *device = *state;
    tarn_mapping before = map(device, 0, 1);
    tarn_mapping after = map(device, 5, 1);
    memset(unit(device, 0), 1, device->unit_bytes);
    memset(unit(device, 5), 2, device->unit_bytes);

    tarn_mapping mapping = NULL;
    tn_host_memory_set_hooks(&static_memory);
    struct rlimit old = limit_begin(RLIMIT_DATA);
    tarn_backend_result result =
        CALL(device, range_map, unit(device, 1), 4 * device->unit_bytes, &mapping);
    limit_end(RLIMIT_DATA, old);
    tn_host_memory_set_hooks(NULL);
    assert_int_equal(result.status, TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(result.vendor_code, ENOMEM);
    assert_null(mapping);
    assert_int_equal(free_bytes(device), MEMORY_BYTES - 2 * device->unit_bytes);
    expect_usable(device, "x....x..");
    assert_int_equal(unit(device, 0)[0], 1);
    assert_int_equal(unit(device, 5)[0], 2);

    mapping = map(device, 1, 4);
    unmap(device, 1, 4, mapping);
    unmap(device, 0, 1, before);
    unmap(device, 5, 1, after);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(only_what_is_mapped_may_be_touched),
        TEST(what_is_mapped_again_is_new),
        TEST(unmapping_runs_everything),
        TEST(no_host_memory_is_reported_and_changes_nothing),
        TEST(what_is_taken_of_the_host_is_given_back),
        TEST(addresses_that_the_system_refuses_are_out_of_memory),
        TEST(memory_that_the_system_refuses_is_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
