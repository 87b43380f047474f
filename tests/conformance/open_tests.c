/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* open_tests: opening and closing, and what they refuse. */
#include "conformance.h"

#include <string.h>

#include "tarn/host.h"
#include "tarn/tarn.h"

static bool is_built_for_host(void)
{
    return strcmp(tarn_backend_name(), "host") == 0;
}

/* Opening fails with one of two statuses, says so, and writes nothing. The second is for machines
 * that lack a device, where the vendor's backend finds that out first. */
static void expect_no_open(int device, int kind, tarn_status expected, tarn_status without_device)
{
    tarn_backend backend = { NULL, &backend };
    tarn_status status = tarn_backend_open(device, (tarn_memory_kind)kind, &backend);
    if (status != expected && status != without_device) {
        fail_msg("device %d, kind %d: %s, not %s or %s", device, kind, tarn_status_name(status),
                 tarn_status_name(expected), tarn_status_name(without_device));
    }
    assert_int_equal(tarn_last_error().status, status);
    assert_true(strlen(tarn_last_error().message) > 0);
    assert_null(backend.operations);
    assert_ptr_equal(backend.state, &backend);
    assert_null(vendor.take_last_error());
}

/* With several vendors' backends there is none to name before one shows a device. */
static void the_name_is_the_vendors(void **state)
{
    int count;
    if (tarn_backend_device_count(&count) != TARN_STATUS_OK &&
        strcmp(tarn_backend_name(), "none") == 0)
        skip();
    assert_string_equal(tarn_backend_name(), vendor.name);
}

static void device_memory_opens_or_says_why(void **state)
{
    tarn_backend backend = { NULL, NULL };
    tarn_status status = tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend);
    if (status == TARN_STATUS_OK) {
        assert_string_equal(backend.operations->name, tarn_backend_name());
        tarn_backend_close(&backend);
        assert_null(backend.operations);
        assert_null(backend.state);
        return;
    }
    assert_false(is_built_for_host());
    assert_int_equal(status, TARN_STATUS_NO_DEVICE);
    /* The vendor has no code for a library that is not there. */
    assert_int_equal(tarn_last_error().vendor_code != 0, strlen(tarn_last_error().vendor_name) > 0);
    print_message("%s\n", tarn_last_error().message);
}

static void an_unknown_kind_is_refused(void **state)
{
    const int kinds[] = { -1, TARN_MEMORY_KIND_HOST + 1, 99, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        expect_no_open(0, kinds[i], TARN_STATUS_INVALID_ARGUMENT, TARN_STATUS_INVALID_ARGUMENT);
}

static void an_unknown_device_is_refused(void **state)
{
    tarn_status without = is_built_for_host() ? TARN_STATUS_INVALID_DEVICE : TARN_STATUS_NO_DEVICE;
    const int devices[] = { -2, 9999, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        expect_no_open(devices[i], TARN_MEMORY_KIND_DEVICE, TARN_STATUS_INVALID_DEVICE, without);
}

/* It is on no device, so that no number is wrong. */
static void host_memory_is_there_in_each_build(void **state)
{
    const int devices[] = { 0, 1, TARN_DEVICE_CURRENT, 9999 };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        tarn_backend backend;
        tarn_device_properties properties;
        assert_int_equal(tarn_backend_open(devices[i], TARN_MEMORY_KIND_HOST, &backend),
                         TARN_STATUS_OK);
        assert_string_equal(backend.operations->name, "host");
        EXPECT_OK(backend.operations->get_properties(backend.state, &properties));
        assert_int_equal(properties.kind, TARN_MEMORY_KIND_HOST);
        assert_string_equal(properties.device_name, "host memory");
        tarn_backend_close(&backend);
    }
}

/* Without a vendor, the names tell which kind was asked for. */
static void the_host_tells_the_kind_by_name(void **state)
{
    static const char *const names[] = { "host memory as device memory",
                                         "host memory as pinned memory",
                                         "host memory as shared memory" };
    if (!is_built_for_host()) skip();
    for (int kind = TARN_MEMORY_KIND_DEVICE; kind <= TARN_MEMORY_KIND_SHARED; kind++) {
        tarn_backend backend;
        tarn_device_properties properties;
        assert_int_equal(tarn_backend_open(0, (tarn_memory_kind)kind, &backend), TARN_STATUS_OK);
        EXPECT_OK(backend.operations->get_properties(backend.state, &properties));
        assert_int_equal(properties.kind, kind);
        assert_string_equal(properties.device_name, names[kind]);
        tarn_backend_close(&backend);
        expect_no_open(1, kind, TARN_STATUS_INVALID_DEVICE, TARN_STATUS_INVALID_DEVICE);
    }
}

static void set(void *argument)
{
    **(int **)argument = 1;
}

/* The host's streams, by their public calls. */
static void host_streams_serve_host_memory_in_each_build(void **state)
{
    tarn_pool *pool;
    tarn_stream stream;
    void *number;
    int found = 0;
    assert_int_equal(tarn_device_pool(0, TARN_MEMORY_KIND_HOST, &pool), TARN_STATUS_OK);
    assert_int_equal(tarn_host_stream_create(&stream), TARN_STATUS_OK);
    assert_int_equal(tarn_pool_alloc_on(pool, sizeof(int), stream, &number), TARN_STATUS_OK);
    assert_int_equal(tarn_host_launch(set, &number, sizeof number, stream), TARN_STATUS_OK);
    assert_int_equal(tarn_host_copy(&found, number, sizeof(int), stream), TARN_STATUS_OK);
    assert_int_equal(tarn_free_on(number, stream), TARN_STATUS_OK);
    assert_int_equal(found, 0);
    assert_int_equal(tarn_host_stream_synchronize(stream), TARN_STATUS_OK);
    assert_int_equal(found, 1);
    assert_int_equal(tarn_stream_retire(stream), TARN_STATUS_OK);
    assert_int_equal(tarn_host_stream_destroy(stream), TARN_STATUS_OK);
    assert_int_equal(tarn_default_pool_destroy(), TARN_STATUS_OK);
}

static void no_place_for_the_backend_is_refused(void **state)
{
    assert_int_equal(tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, NULL),
                     TARN_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(tarn_last_error().message, "backend_out"));
    assert_int_equal(tarn_host_backend_open(NULL, NULL), TARN_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(tarn_last_error().message, "backend_out"));
}

static void host_options_of_another_size_are_refused(void **state)
{
    const size_t sizes[] = { 0, sizeof(tarn_host_options) - 1, sizeof(tarn_host_options) + 1,
                             SIZE_MAX };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tarn_host_options options = TARN_HOST_OPTIONS_INIT;
        options.struct_bytes = sizes[i];
        tarn_backend backend = { NULL, &backend };
        assert_int_equal(tarn_host_backend_open(&options, &backend), TARN_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(tarn_last_error().message, "struct_bytes"));
        assert_null(backend.operations);
    }
}

/* One piece may be no larger than the options say, however much memory there is. */
static void host_options_limit_one_piece(void **state)
{
    tarn_host_options options = TARN_HOST_OPTIONS_INIT;
    options.memory_bytes = (size_t)1 << 30;
    options.allocation_bytes_max = (size_t)1 << 20;
    tarn_backend backend;
    assert_int_equal(tarn_host_backend_open(&options, &backend), TARN_STATUS_OK);
    const tarn_backend_operations *operations = backend.operations;
    tarn_device_properties properties;
    assert_int_equal(operations->get_properties(backend.state, &properties).status, TARN_STATUS_OK);
    assert_int_equal(properties.allocation_bytes_max, options.allocation_bytes_max);

    void *first = NULL, *second = NULL, *none = NULL;
    size_t most_bytes = options.allocation_bytes_max;
    assert_int_equal(operations->acquire(backend.state, most_bytes, &first).status, TARN_STATUS_OK);
    assert_int_equal(operations->acquire(backend.state, most_bytes, &second).status,
                     TARN_STATUS_OK);
    assert_int_equal(operations->acquire(backend.state, most_bytes + 1, &none).status,
                     TARN_STATUS_OUT_OF_MEMORY);
    assert_int_equal(operations->release(backend.state, first, most_bytes).status, TARN_STATUS_OK);
    assert_int_equal(operations->release(backend.state, second, most_bytes).status, TARN_STATUS_OK);
    tarn_backend_close(&backend);
}

static size_t machine_bytes(void)
{
    tarn_backend backend;
    tarn_memory_info info = { 0, 0 };
    assert_int_equal(tarn_host_backend_open(NULL, &backend), TARN_STATUS_OK);
    assert_int_equal(backend.operations->query_memory(backend.state, &info).status, TARN_STATUS_OK);
    tarn_backend_close(&backend);
    return info.total_bytes;
}

/* A piece larger than the machine costs nothing until it is touched, and then only there. */
static void host_memory_may_be_larger_than_the_machine(void **state)
{
    tarn_host_options options = TARN_HOST_OPTIONS_INIT;
    size_t size_bytes = machine_bytes() + 4096;
    options.memory_bytes = 2 * size_bytes;
    tarn_backend backend;
    assert_int_equal(tarn_host_backend_open(&options, &backend), TARN_STATUS_OK);
    void *address = NULL;
    assert_int_equal(backend.operations->acquire(backend.state, size_bytes, &address).status,
                     TARN_STATUS_OK);
    unsigned char *bytes = address;
    bytes[0] = 1;
    bytes[size_bytes - 1] = 2;
    assert_int_equal(backend.operations->release(backend.state, address, size_bytes).status,
                     TARN_STATUS_OK);
    tarn_backend_close(&backend);
}

/* A device smaller than a page has room for nothing, and a pool may still ask. */
static void host_memory_may_be_tiny(void **state)
{
    tarn_host_options options = TARN_HOST_OPTIONS_INIT;
    options.memory_bytes = 1;
    tarn_backend backend;
    assert_int_equal(tarn_host_backend_open(&options, &backend), TARN_STATUS_OK);
    tarn_device_properties properties;
    assert_int_equal(backend.operations->get_properties(backend.state, &properties).status,
                     TARN_STATUS_OK);
    assert_true(properties.allocation_bytes_max > 0);
    void *none = NULL;
    assert_int_equal(backend.operations->acquire(backend.state, 1, &none).status,
                     TARN_STATUS_OUT_OF_MEMORY);
    tarn_backend_close(&backend);
}

static void two_host_backends_share_nothing(void **state)
{
    tarn_host_options options = TARN_HOST_OPTIONS_INIT;
    options.memory_bytes = (size_t)1 << 20;
    tarn_backend one, other;
    assert_int_equal(tarn_host_backend_open(&options, &one), TARN_STATUS_OK);
    assert_int_equal(tarn_host_backend_open(&options, &other), TARN_STATUS_OK);
    void *all = NULL, *all_again = NULL;
    size_t size_bytes = options.memory_bytes;
    assert_int_equal(one.operations->acquire(one.state, size_bytes, &all).status, TARN_STATUS_OK);
    assert_int_equal(other.operations->acquire(other.state, size_bytes, &all_again).status,
                     TARN_STATUS_OK);
    assert_int_equal(other.operations->release(other.state, all, size_bytes).status,
                     TARN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(one.operations->release(one.state, all, size_bytes).status, TARN_STATUS_OK);
    assert_int_equal(other.operations->release(other.state, all_again, size_bytes).status,
                     TARN_STATUS_OK);
    tarn_backend_close(&one);
    tarn_backend_close(&other);
}

/* A table of the caller's own need not have all operations, nor a close. */
static void closing_takes_what_there_is(void **state)
{
    static const tarn_backend_operations own = { .struct_bytes = sizeof own, .name = "own" };
    tarn_backend backend = { &own, &backend };
    tarn_backend_close(NULL);
    tarn_backend_close(&backend);
    assert_null(backend.operations);
    assert_null(backend.state);
    tarn_backend_close(&backend);
}

int run_open_tests(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_is_the_vendors),
        cmocka_unit_test(device_memory_opens_or_says_why),
        cmocka_unit_test(an_unknown_kind_is_refused),
        cmocka_unit_test(an_unknown_device_is_refused),
        cmocka_unit_test(host_memory_is_there_in_each_build),
        cmocka_unit_test(the_host_tells_the_kind_by_name),
        cmocka_unit_test(host_streams_serve_host_memory_in_each_build),
        cmocka_unit_test(no_place_for_the_backend_is_refused),
        cmocka_unit_test(host_options_of_another_size_are_refused),
        cmocka_unit_test(host_options_limit_one_piece),
        cmocka_unit_test(host_memory_may_be_larger_than_the_machine),
        cmocka_unit_test(host_memory_may_be_tiny),
        cmocka_unit_test(two_host_backends_share_nothing),
        cmocka_unit_test(closing_takes_what_there_is),
    };
    return cmocka_run_group_tests_name("open and close", tests, NULL, NULL);
}
