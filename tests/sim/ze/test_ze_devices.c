/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_ze_devices: machines with several drivers, devices that are no GPUs, parts of parts; and what
 * drivers answer about memory that the usual ones do not.
 *
 * The simulated driver reads what it is like from the environment, and again after each change.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <level_zero/ze_api.h>

#include "harness/claims.h"
#include "../sim_control.h"
#include "tarn/ze.h"

#define EXPECT_SUCCESS(call) assert_int_equal(call, ZE_RESULT_SUCCESS)
#define EXPECT_OK(call)      assert_int_equal((call).status, TARN_STATUS_OK)

/* --- a machine --------------------------------------------------------------------------------- */

static const char *const settings[] = { "TARN_SIM_ZE_DRIVERS", "TARN_SIM_ZE_OTHERS",
                                        "TARN_SIM_ZE_USABLE_MEMORY", "TARN_SIM_ZE_ALLOCATION_MAX" };

static int begin(void **state)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        unsetenv(settings[i]);
    sim_reset();
    EXPECT_SUCCESS(zeInit(0));
    return 0;
}

static int end(void **state)
{
    sim_forget_faults();
    if (sim_misuse_count() > 0) fail_msg("misuse: %s", sim_first_misuse());
    if (sim_alive_total() > 0) fail_msg("alive: %s", sim_describe_alive());
    return begin(state);
}

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

/* The device with that number, of whichever driver. */
static ze_device_handle_t device_handle(uint32_t number)
{
    ze_driver_handle_t drivers[8];
    uint32_t driver_count = 8, before = 0;
    EXPECT_SUCCESS(zeDriverGet(&driver_count, drivers));
    for (uint32_t i = 0; i < driver_count; i++) {
        ze_device_handle_t devices[8];
        uint32_t count = 8;
        EXPECT_SUCCESS(zeDeviceGet(drivers[i], &count, devices));
        if (number - before < count) return devices[number - before];
        before += count;
    }
    fail_msg("there is no device %u", number);
    return NULL;
}

/* --- opening ----------------------------------------------------------------------------------- */

static tarn_status open_device(int number, ze_device_handle_t handle, tarn_backend *backend_out)
{
    tarn_ze_options options = TARN_ZE_OPTIONS_INIT;
    options.device = handle;
    return tarn_ze_backend_open(number, TARN_MEMORY_KIND_DEVICE, &options, backend_out);
}

static void expect_name(tarn_backend *backend, const char *name)
{
    tarn_device_properties properties;
    expect_done(*backend, get_properties, &properties);
    assert_string_equal(properties.device_name, name);
    tarn_backend_close(backend);
}

static void expect_opens(int number, ze_device_handle_t handle, const char *name)
{
    tarn_backend backend;
    if (open_device(number, handle, &backend) != TARN_STATUS_OK)
        fail_msg("%s", tarn_last_error().message);
    expect_name(&backend, name);
}

static void expect_fails(int number, ze_device_handle_t handle, tarn_status status, int vendor_code)
{
    tarn_backend backend = { NULL, NULL };
    assert_int_equal(open_device(number, handle, &backend), status);
    assert_int_equal(tarn_last_error().vendor_code, vendor_code);
    assert_null(backend.state);
}

/* --- opening that fails ------------------------------------------------------------------------ */

/* The backend's calls come here before they go on to the system: a lock that nobody gave back is seen
 * nowhere else. */
static int destroyed_lock_count;

int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    int (*go_on)(pthread_mutex_t *);
    void *entry = dlsym(RTLD_NEXT, "pthread_mutex_destroy");
    memcpy(&go_on, &entry, sizeof entry);
    destroyed_lock_count++;
    return go_on(mutex);
}

static void a_backend_that_does_not_open_leaves_nothing(void **state)
{
    tarn_backend backend;
    destroyed_lock_count = 0;
    assert_int_equal(open_device(0, NULL, &backend), TARN_STATUS_OK);
    tarn_backend_close(&backend);
    int lock_count = destroyed_lock_count;
    assert_true(lock_count > 0);

    destroyed_lock_count = 0;
    sim_fail_calls("zeCommandListCreateImmediate", 1, 1, SIM_STATUS_UNKNOWN);
    expect_fails(0, NULL, TARN_STATUS_VENDOR_ERROR, ZE_RESULT_ERROR_UNKNOWN);
    assert_int_equal(destroyed_lock_count, lock_count);
}

/* --- several drivers --------------------------------------------------------------------------- */

static void devices_are_counted_over_all_drivers(void **state)
{
    for (int driver_count = 1; driver_count <= 2; driver_count++) {
        set("TARN_SIM_ZE_DRIVERS", driver_count == 1 ? "1" : "2");
        expect_opens(0, NULL, "Simulated GPU 0");
        expect_opens(1, NULL, "Simulated GPU 1");
        expect_opens(-1, device_handle(0), "Simulated GPU 0");
        expect_opens(-1, device_handle(1), "Simulated GPU 1");
        expect_fails(2, NULL, TARN_STATUS_INVALID_DEVICE, 0);
    }
}

static void a_driver_that_fails_hides_no_other(void **state)
{
    set("TARN_SIM_ZE_DRIVERS", "2");
    ze_device_handle_t first = device_handle(0), second = device_handle(1);
    sim_fail_calls("zeDeviceGet", 1, 1, SIM_STATUS_UNKNOWN);
    expect_opens(0, NULL, "Simulated GPU 1");
    sim_fail_calls("zeDeviceGet", 1, 1, SIM_STATUS_UNKNOWN);
    expect_opens(-1, second, "Simulated GPU 1");
    sim_fail_calls("zeDeviceGetSubDevices", 1, 1, SIM_STATUS_UNKNOWN);
    expect_opens(-1, second, "Simulated GPU 1");

    sim_fail_calls("zeDeviceGet", 1, 1, SIM_STATUS_UNKNOWN);
    expect_fails(1, NULL, TARN_STATUS_INVALID_DEVICE, 0);
    /* It may be a device of the first all the same. */
    sim_fail_calls("zeDeviceGet", 1, 1, SIM_STATUS_UNKNOWN);
    expect_fails(-1, first, TARN_STATUS_VENDOR_ERROR, ZE_RESULT_ERROR_UNKNOWN);
}

static void the_first_error_is_told_when_no_driver_works(void **state)
{
    set("TARN_SIM_ZE_DRIVERS", "2");
    ze_device_handle_t devices[] = { NULL, device_handle(0), device_handle(1) };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        sim_fail_calls("zeDeviceGet", 1, 1, SIM_STATUS_UNKNOWN);
        sim_fail_calls("zeDeviceGet", 2, 1, SIM_STATUS_OUT_OF_MEMORY);
        expect_fails(0, devices[i], TARN_STATUS_VENDOR_ERROR, ZE_RESULT_ERROR_UNKNOWN);
    }
}

/* Nobody could say which is the second then. */
static void a_device_that_does_not_tell_what_it_is_is_not_passed_over(void **state)
{
    for (int number = 0; number < 2; number++) {
        set("TARN_SIM_ZE_DRIVERS", "2");
        sim_fail_calls("zeDeviceGetProperties", 1, 1, SIM_STATUS_UNKNOWN);
        expect_fails(number, NULL, TARN_STATUS_VENDOR_ERROR, ZE_RESULT_ERROR_UNKNOWN);
    }
}

/* --- devices that are no GPUs ------------------------------------------------------------------ */

static void devices_that_are_no_gpus_are_not_counted(void **state)
{
    set("TARN_SIM_ZE_OTHERS", "1");
    expect_opens(0, NULL, "Simulated GPU 1");
    expect_fails(1, NULL, TARN_STATUS_INVALID_DEVICE, 0);
    set("TARN_SIM_ZE_OTHERS", "2");
    expect_fails(0, NULL, TARN_STATUS_NO_DEVICE, (int)ZE_RESULT_ERROR_UNINITIALIZED);
}

/* --- parts ------------------------------------------------------------------------------------- */

enum {
    PARTS_MAX = 4
};

static uint32_t find_parts(ze_device_handle_t device, ze_device_handle_t parts[PARTS_MAX])
{
    uint32_t count = PARTS_MAX;
    EXPECT_SUCCESS(zeDeviceGetSubDevices(device, &count, parts));
    return count;
}

static void parts_of_parts_are_devices(void **state)
{
    ze_device_handle_t parts[PARTS_MAX], parts_of_part[PARTS_MAX];
    uint32_t count = find_parts(device_handle(1), parts);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < count; i++) {
        expect_opens(-1, parts[i], "Simulated GPU 1");
        uint32_t count_of_part = find_parts(parts[i], parts_of_part);
        assert_int_equal(count_of_part, 2);
        for (uint32_t k = 0; k < count_of_part; k++)
            expect_opens(-1, parts_of_part[k], "Simulated GPU 1");
    }
}

static ze_command_list_handle_t make_list(ze_context_handle_t context, ze_device_handle_t device)
{
    const ze_command_queue_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        .ordinal = 1,
        .flags = 1 << 1, /* in order, which is newer than the oldest headers */
        .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
    };
    ze_command_list_handle_t list = NULL;
    EXPECT_SUCCESS(zeCommandListCreateImmediate(context, device, &desc, &list));
    return list;
}

static void expect_list(const tarn_backend *backend, ze_context_handle_t context,
                        ze_device_handle_t device, tarn_status status)
{
    tarn_event event;
    ze_command_list_handle_t list = make_list(context, device);
    expect_done(*backend, event_create, &event);
    assert_int_equal(backend->operations->event_record(backend->state, event, list).status, status);
    expect_done(*backend, event_synchronize, event);
    expect_done(*backend, event_destroy, event);
    EXPECT_SUCCESS(zeCommandListDestroy(list));
}

static bool tells_whose_lists_are(void)
{
    return dlsym(RTLD_DEFAULT, "zeCommandListGetDeviceHandle") != NULL;
}

/* The device and all its parts take each other's lists, and nobody else's. */
static void parts_of_one_device_share_lists(void **state)
{
    ze_device_handle_t devices[6] = { device_handle(0) };
    ze_driver_handle_t driver;
    ze_context_handle_t context;
    uint32_t driver_count = 1;
    const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
    EXPECT_SUCCESS(zeDriverGet(&driver_count, &driver));
    EXPECT_SUCCESS(zeContextCreate(driver, &desc, &context));
    uint32_t count = 1 + find_parts(devices[0], &devices[1]);
    count += find_parts(devices[1], &devices[count]);
    assert_int_equal(count, 5);
    for (uint32_t i = 0; i < count; i++) {
        tarn_backend backend;
        tarn_ze_options options = TARN_ZE_OPTIONS_INIT;
        options.context = context;
        options.device = devices[i];
        assert_int_equal(tarn_ze_backend_open(0, TARN_MEMORY_KIND_DEVICE, &options, &backend),
                         TARN_STATUS_OK);
        for (uint32_t k = 0; k < count; k++)
            expect_list(&backend, context, devices[k], TARN_STATUS_OK);
        if (tells_whose_lists_are())
            expect_list(&backend, context, device_handle(1), TARN_STATUS_INVALID_ARGUMENT);
        tarn_backend_close(&backend);
    }
    EXPECT_SUCCESS(zeContextDestroy(context));
}

/* --- memory ------------------------------------------------------------------------------------ */

static const tarn_memory_kind kinds[] = { TARN_MEMORY_KIND_DEVICE, TARN_MEMORY_KIND_PINNED,
                                          TARN_MEMORY_KIND_SHARED };

static tarn_backend open_kind(tarn_memory_kind kind, bool has_relaxed_limits)
{
    tarn_backend backend;
    tarn_ze_options options = TARN_ZE_OPTIONS_INIT;
    options.has_relaxed_limits = has_relaxed_limits;
    assert_int_equal(tarn_ze_backend_open(0, kind, &options, &backend), TARN_STATUS_OK);
    return backend;
}

/* A driver may count memory that it has not got yet. */
static void no_more_is_left_than_there_is(void **state)
{
    const struct {
        const char *usable_bytes;
        size_t free_bytes;
    } rows[] = { { "0", 0 },
                 { "8589934591", 8589934591 },
                 { "8589934592", 8589934592 },
                 { "8589934593", 8589934592 },
                 { "18446744073709551615", 8589934592 } };
    assert_int_equal(sim_get_settings().memory_bytes, 8589934592);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tarn_memory_info info;
        set("TARN_SIM_ZE_USABLE_MEMORY", rows[i].usable_bytes);
        tarn_backend backend = open_kind(TARN_MEMORY_KIND_DEVICE, false);
        expect_done(backend, query_memory, &info);
        assert_int_equal(info.total_bytes, 8589934592);
        assert_int_equal(info.free_bytes, rows[i].free_bytes);
        tarn_backend_close(&backend);
    }
}

static void relaxed_limits_are_for_all_kinds(void **state)
{
    const size_t size_bytes = (size_t)64 << 20;
    set("TARN_SIM_ZE_ALLOCATION_MAX", "67108863");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        void *address = NULL;
        tarn_backend strict = open_kind(kinds[i], false), relaxed = open_kind(kinds[i], true);
        expect_operation(TARN_STATUS_OUT_OF_MEMORY, strict, acquire, size_bytes, &address);
        expect_done(relaxed, acquire, size_bytes, &address);
        expect_done(relaxed, release, address, size_bytes);
        tarn_backend_close(&strict);
        tarn_backend_close(&relaxed);
    }
}

/* The arguments were checked, so what the driver says of them is about itself. */
static void a_refusal_of_memory_is_not_the_callers_mistake(void **state)
{
    const char *const calls[] = { "zeMemAllocDevice", "zeMemAllocHost", "zeMemAllocShared" };
    const struct {
        sim_status cause;
        ze_result_t code;
        tarn_status of_device, of_host;
    } rows[] = {
        { SIM_STATUS_INVALID_SIZE, ZE_RESULT_ERROR_UNSUPPORTED_SIZE, TARN_STATUS_OUT_OF_MEMORY,
          TARN_STATUS_OUT_OF_MEMORY },
        { SIM_STATUS_OUT_OF_MEMORY, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, TARN_STATUS_OUT_OF_MEMORY,
          TARN_STATUS_OUT_OF_MEMORY },
        { SIM_STATUS_OUT_OF_HOST_MEMORY, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
          TARN_STATUS_OUT_OF_HOST_MEMORY, TARN_STATUS_OUT_OF_MEMORY },
        { SIM_STATUS_INVALID_VALUE, ZE_RESULT_ERROR_INVALID_ARGUMENT, TARN_STATUS_VENDOR_ERROR,
          TARN_STATUS_VENDOR_ERROR },
        { SIM_STATUS_INVALID_ALIGNMENT, ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
          TARN_STATUS_VENDOR_ERROR, TARN_STATUS_VENDOR_ERROR },
    };
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        tarn_backend backend = open_kind(kinds[kind], false);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            void *address = NULL;
            sim_fail_calls(calls[kind], 1, 1, rows[i].cause);
            tarn_backend_result result = backend.operations->acquire(backend.state, 4096, &address);
            assert_int_equal(result.status, kind == 0 ? rows[i].of_device : rows[i].of_host);
            assert_int_equal(result.vendor_code, (int)rows[i].code);
            assert_null(address);
        }
        tarn_backend_close(&backend);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_backend_that_does_not_open_leaves_nothing),
        TEST(devices_are_counted_over_all_drivers),
        TEST(a_driver_that_fails_hides_no_other),
        TEST(the_first_error_is_told_when_no_driver_works),
        TEST(a_device_that_does_not_tell_what_it_is_is_not_passed_over),
        TEST(devices_that_are_no_gpus_are_not_counted),
        TEST(parts_of_parts_are_devices),
        TEST(parts_of_one_device_share_lists),
        TEST(no_more_is_left_than_there_is),
        TEST(relaxed_limits_are_for_all_kinds),
        TEST(a_refusal_of_memory_is_not_the_callers_mistake),
    };
    return cmocka_run_group_tests_name("Level Zero's devices", tests, NULL, NULL);
}
