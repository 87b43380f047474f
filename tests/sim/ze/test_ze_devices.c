/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_ze_devices: machines with several drivers, devices that are no GPUs, parts of parts.
 *
 * The simulated driver reads what it is like from the environment, and again after each change.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <level_zero/ze_api.h>

#include "../sim_control.h"
#include "tarn/ze.h"

#define EXPECT_SUCCESS(call) assert_int_equal(call, ZE_RESULT_SUCCESS)
#define EXPECT_OK(call)      assert_int_equal((call).status, TARN_STATUS_OK)

/* --- a machine --------------------------------------------------------------------------------- */

static const char *const settings[] = { "TARN_SIM_ZE_DRIVERS" };

static int begin(void **state)
{
    (void)state;
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
    EXPECT_OK(backend->operations->get_properties(backend->state, &properties));
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
    (void)state;
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
    (void)state;
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
    (void)state;
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
    (void)state;
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
    (void)state;
    for (int number = 0; number < 2; number++) {
        set("TARN_SIM_ZE_DRIVERS", "2");
        sim_fail_calls("zeDeviceGetProperties", 1, 1, SIM_STATUS_UNKNOWN);
        expect_fails(number, NULL, TARN_STATUS_VENDOR_ERROR, ZE_RESULT_ERROR_UNKNOWN);
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
    };
    return cmocka_run_group_tests_name("Level Zero's devices", tests, NULL, NULL);
}
