/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor_ze: Level Zero's kinds of memory, and what only its own calls can tell. */
#include "conformance.h"

#include <dlfcn.h>
#include <string.h>

#include <level_zero/ze_api.h>

#include "tarn/ze.h"

/* Newer than the oldest headers. */
#define FLAG_IN_ORDER      ((ze_command_queue_flags_t)1 << 1)
#define VERSION_WITH_ORDER ZE_MAKE_VERSION(1, 7)

/* --- targets ----------------------------------------------------------------------------------- */

static tarn_status open_device(tarn_backend *backend_out)
{
    return tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, backend_out);
}

static tarn_status open_pinned(tarn_backend *backend_out)
{
    return tarn_ze_backend_open(0, TARN_MEMORY_KIND_PINNED, NULL, backend_out);
}

static tarn_status open_shared(tarn_backend *backend_out)
{
    return tarn_ze_backend_open(0, TARN_MEMORY_KIND_SHARED, NULL, backend_out);
}

static const struct target targets[] = {
    { .name = "ze, device memory", .kind = TARN_MEMORY_KIND_DEVICE, .open = open_device },
    { .name = "ze, pinned memory", .kind = TARN_MEMORY_KIND_PINNED, .open = open_pinned },
    { .name = "ze, shared memory", .kind = TARN_MEMORY_KIND_SHARED, .open = open_shared },
};

/* --- what a thread has: nothing ---------------------------------------------------------------- */

static int current_device(void)
{
    return -1;
}

static const char *take_last_error(void)
{
    return NULL;
}

/* --- what the application has of its own ------------------------------------------------------- */

enum {
    DEVICE_COUNT_MAX = 64
};

/* A program with a context of its own, in which it computes. */
struct application {
    ze_driver_handle_t driver;
    ze_device_handle_t devices[DEVICE_COUNT_MAX];
    uint32_t device_count;
    ze_context_handle_t context;
};

#define EXPECT_SUCCESS(call) assert_int_equal(call, ZE_RESULT_SUCCESS)

/* Skips the test when there is no device. */
static struct application application_begin(void)
{
    struct application application = { .device_count = DEVICE_COUNT_MAX };
    uint32_t driver_count = 1;
    if (zeInit(ZE_INIT_FLAG_GPU_ONLY) != ZE_RESULT_SUCCESS ||
        zeDriverGet(&driver_count, &application.driver) != ZE_RESULT_SUCCESS || driver_count == 0)
        skip();
    EXPECT_SUCCESS(zeDeviceGet(application.driver, &application.device_count, application.devices));
    if (application.device_count == 0) skip();
    const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
    EXPECT_SUCCESS(zeContextCreate(application.driver, &desc, &application.context));
    return application;
}

static void application_end(const struct application *application)
{
    EXPECT_SUCCESS(zeContextDestroy(application->context));
}

/* Engines that compute and copy. */
static uint32_t queue_group(ze_device_handle_t device)
{
    ze_command_queue_group_properties_t groups[16];
    uint32_t count = 16;
    for (uint32_t i = 0; i < count; i++) {
        groups[i] = (ze_command_queue_group_properties_t){
            .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES,
        };
    }
    EXPECT_SUCCESS(zeDeviceGetCommandQueueGroupProperties(device, &count, groups));
    uint32_t i = 0;
    while (i < count && (groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) == 0)
        i++;
    assert_true(i < count);
    return i;
}

/* NULL when lists in order are newer than the driver, or than the layer that checks its flags. */
static ze_command_list_handle_t make_list(const struct application *application,
                                          ze_device_handle_t device)
{
    ze_api_version_t version;
    EXPECT_SUCCESS(zeDriverGetApiVersion(application->driver, &version));
    const ze_command_queue_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        .ordinal = queue_group(device),
        .flags = FLAG_IN_ORDER,
        .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
    };
    ze_command_list_handle_t list = NULL;
    if ((int)version < VERSION_WITH_ORDER ||
        zeCommandListCreateImmediate(application->context, device, &desc, &list) !=
            ZE_RESULT_SUCCESS)
        return NULL;
    return list;
}

/* --- one backend in it ------------------------------------------------------------------------- */

/* Its teardown is closing the backend. */
static struct fixture open_in(const struct application *application, int number,
                              ze_device_handle_t device, tarn_memory_kind kind)
{
    static struct target target = { .name = "ze, in the application's context" };
    tarn_ze_options options = TARN_ZE_OPTIONS_INIT;
    options.context = application->context;
    options.device = device;
    struct fixture fixture = { .target = &target };
    tarn_status status = tarn_ze_backend_open(number, kind, &options, &fixture.backend);
    if (status != TARN_STATUS_OK) fail_msg("%s", tarn_last_error().message);
    fixture_set_target(&target);
    fixture.operations = fixture.backend.operations;
    fixture.state = fixture.backend.state;
    return fixture;
}

static void expect_owner(const struct application *application, const void *address,
                         ze_memory_type_t type, ze_device_handle_t device)
{
    ze_memory_allocation_properties_t properties = {
        .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
    };
    ze_device_handle_t owner = NULL;
    EXPECT_SUCCESS(zeMemGetAllocProperties(application->context, address, &properties, &owner));
    assert_int_equal(properties.type, type);
    if (type != ZE_MEMORY_TYPE_HOST) assert_ptr_equal(owner, device);
}

static void memory_belongs_to_the_context_that_was_given(void **state)
{
    static const ze_memory_type_t types[] = { ZE_MEMORY_TYPE_DEVICE, ZE_MEMORY_TYPE_HOST,
                                              ZE_MEMORY_TYPE_SHARED };
    struct application application = application_begin();
    for (int kind = TARN_MEMORY_KIND_DEVICE; kind <= TARN_MEMORY_KIND_SHARED; kind++) {
        struct fixture fixture =
            open_in(&application, 0, application.devices[0], (tarn_memory_kind)kind);
        void *address = acquire(&fixture, 4096);
        expect_owner(&application, address, types[kind], application.devices[0]);
        release(&fixture, address, 4096);
        expect_owner(&application, address, ZE_MEMORY_TYPE_UNKNOWN, NULL);
        tarn_backend_close(&fixture.backend);
    }
    application_end(&application);
}

/* The number counts when there is no handle, and a handle makes the number meaningless. */
static void each_device_is_found_by_number_and_by_handle(void **state)
{
    struct application application = application_begin();
    for (uint32_t i = 0; i < application.device_count; i++) {
        struct fixture by_number = open_in(&application, (int)i, NULL, TARN_MEMORY_KIND_DEVICE);
        struct fixture by_handle =
            open_in(&application, -1, application.devices[i], TARN_MEMORY_KIND_DEVICE);
        void *one = acquire(&by_number, 1), *other = acquire(&by_handle, 1);
        expect_owner(&application, one, ZE_MEMORY_TYPE_DEVICE, application.devices[i]);
        expect_owner(&application, other, ZE_MEMORY_TYPE_DEVICE, application.devices[i]);
        release(&by_number, one, 1);
        release(&by_handle, other, 1);
        tarn_backend_close(&by_number.backend);
        tarn_backend_close(&by_handle.backend);
    }
    application_end(&application);
}

static void a_part_of_a_device_is_a_device(void **state)
{
    struct application application = application_begin();
    ze_device_handle_t parts[16];
    uint32_t count = 16;
    EXPECT_SUCCESS(zeDeviceGetSubDevices(application.devices[0], &count, parts));
    for (uint32_t i = 0; i < count; i++) {
        struct fixture fixture = open_in(&application, 0, parts[i], TARN_MEMORY_KIND_DEVICE);
        void *address = acquire(&fixture, 4096);
        fill(&fixture, address, (unsigned char)(i + 1), 4096, NULL);
        expect_bytes(&fixture, address, 4096, (unsigned char)(i + 1));
        release(&fixture, address, 4096);
        tarn_backend_close(&fixture.backend);
    }
    application_end(&application);
    if (count == 0) {
        print_message("ze: the first device has no parts\n");
        skip();
    }
}

static void what_is_no_device_is_refused(void **state)
{
    struct application application = application_begin();
    application_end(&application);
    tarn_backend backend = { NULL, &backend };
    tarn_ze_options options = TARN_ZE_OPTIONS_INIT;
    options.device = &backend;
    assert_int_equal(tarn_ze_backend_open(0, TARN_MEMORY_KIND_DEVICE, &options, &backend),
                     TARN_STATUS_INVALID_DEVICE);
    assert_non_null(strstr(tarn_last_error().message, "no device of any Level Zero driver"));
    assert_null(backend.operations);
}

static void options_of_another_size_are_refused(void **state)
{
    const size_t sizes[] = { 0, sizeof(tarn_ze_options) - 1, sizeof(tarn_ze_options) + 1,
                             SIZE_MAX };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tarn_ze_options options = TARN_ZE_OPTIONS_INIT;
        options.struct_bytes = sizes[i];
        tarn_backend backend = { NULL, &backend };
        assert_int_equal(tarn_ze_backend_open(0, TARN_MEMORY_KIND_DEVICE, &options, &backend),
                         TARN_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(tarn_last_error().message, "struct_bytes"));
        assert_null(backend.operations);
    }
}

/* --- relaxed limits ---------------------------------------------------------------------------- */

static size_t allocation_bytes_max(const struct fixture *fixture)
{
    tarn_device_properties properties;
    EXPECT_OK(fixture->operations->get_properties(fixture->state, &properties));
    return properties.allocation_bytes_max;
}

static void relaxed_limits_allow_larger_pieces(void **state)
{
    struct application application = application_begin();
    struct fixture fixture = open_in(&application, 0, NULL, TARN_MEMORY_KIND_DEVICE);
    size_t strict_bytes = allocation_bytes_max(&fixture);
    void *address = NULL;
    EXPECT_STATUS(fixture.operations->acquire(fixture.state, strict_bytes + 1, &address),
                  TARN_STATUS_OUT_OF_MEMORY);
    tarn_backend_close(&fixture.backend);

    tarn_ze_options options = TARN_ZE_OPTIONS_INIT;
    options.has_relaxed_limits = true;
    tarn_status status =
        tarn_ze_backend_open(0, TARN_MEMORY_KIND_DEVICE, &options, &fixture.backend);
    application_end(&application);
    if (status == TARN_STATUS_NOT_SUPPORTED) {
        print_message("%s\n", tarn_last_error().message);
        skip();
    }
    assert_int_equal(status, TARN_STATUS_OK);
    fixture.operations = fixture.backend.operations;
    fixture.state = fixture.backend.state;
    if (allocation_bytes_max(&fixture) > strict_bytes) {
        address = acquire(&fixture, strict_bytes + 1);
        release(&fixture, address, strict_bytes + 1);
    }
    tarn_backend_close(&fixture.backend);
}

/* --- lists of the application ------------------------------------------------------------------ */

/* The application's list fills, the backend's streams go on from there and back. */
static void a_list_of_the_application_is_a_stream(void **state)
{
    struct application application = application_begin();
    ze_command_list_handle_t list = make_list(&application, application.devices[0]);
    if (!list) {
        application_end(&application);
        print_message("ze: there are no lists that run in order\n");
        skip();
    }
    struct fixture fixture =
        open_in(&application, 0, application.devices[0], TARN_MEMORY_KIND_DEVICE);
    unsigned char *area = acquire(&fixture, 8192);
    tarn_stream stream = create_stream(&fixture);
    tarn_event event = create_event(&fixture);
    for (unsigned char round = 1; round <= 20; round++) {
        unsigned char value = round;
        EXPECT_SUCCESS(zeCommandListAppendMemoryFill(list, area, &value, 1, 4096, NULL, 0, NULL));
        record_event(&fixture, event, list);
        make_wait(&fixture, stream, event);
        copy(&fixture, area + 4096, area, 4096, stream);
        record_event(&fixture, event, stream);
        make_wait(&fixture, list, event);
        fill(&fixture, area, (unsigned char)~round, 4096, list);
        synchronize_stream(&fixture, list);
        expect_bytes(&fixture, area, 4096, (unsigned char)~round);
        expect_bytes(&fixture, area + 4096, 4096, round);
    }
    EXPECT_STATUS(fixture.operations->stream_destroy(fixture.state, list),
                  TARN_STATUS_INVALID_ARGUMENT);
    EXPECT_SUCCESS(zeCommandListDestroy(list));
    destroy_event(&fixture, event);
    destroy_stream(&fixture, stream);
    release(&fixture, area, 8192);
    tarn_backend_close(&fixture.backend);
    application_end(&application);
}

/* Only newer loaders and drivers tell. */
static bool tells_whose_it_is(ze_command_list_handle_t list)
{
    ze_result_t (*get_device)(ze_command_list_handle_t, ze_device_handle_t *);
    ze_device_handle_t device;
    void *entry = dlsym(RTLD_DEFAULT, "zeCommandListGetDeviceHandle");
    memcpy(&get_device, &entry, sizeof entry);
    return get_device && get_device(list, &device) == ZE_RESULT_SUCCESS;
}

/* NULL when there is none of which it is told. */
static ze_command_list_handle_t make_list_of_last_device(const struct application *application)
{
    if (application->device_count < 2) return NULL;
    ze_command_list_handle_t list =
        make_list(application, application->devices[application->device_count - 1]);
    if (!list || tells_whose_it_is(list)) return list;
    EXPECT_SUCCESS(zeCommandListDestroy(list));
    return NULL;
}

static void a_list_of_another_device_is_refused(void **state)
{
    struct application application = application_begin();
    ze_command_list_handle_t list = make_list_of_last_device(&application);
    if (!list) {
        application_end(&application);
        print_message("ze: there is no list of another device, or nobody would tell\n");
        skip();
    }
    struct fixture fixture =
        open_in(&application, 0, application.devices[0], TARN_MEMORY_KIND_DEVICE);
    EXPECT_STATUS(fixture.operations->stream_check(fixture.state, list),
                  TARN_STATUS_INVALID_ARGUMENT);
    tarn_backend_close(&fixture.backend);
    EXPECT_SUCCESS(zeCommandListDestroy(list));
    application_end(&application);
}

/* --- the group --------------------------------------------------------------------------------- */

static int run_vendor_tests(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_belongs_to_the_context_that_was_given),
        cmocka_unit_test(each_device_is_found_by_number_and_by_handle),
        cmocka_unit_test(a_part_of_a_device_is_a_device),
        cmocka_unit_test(what_is_no_device_is_refused),
        cmocka_unit_test(options_of_another_size_are_refused),
        cmocka_unit_test(relaxed_limits_allow_larger_pieces),
        cmocka_unit_test(a_list_of_the_application_is_a_stream),
        cmocka_unit_test(a_list_of_another_device_is_refused),
    };
    return cmocka_run_group_tests_name("ze, the application's own handles", tests, NULL, NULL);
}

const struct vendor vendor = {
    .name = "ze",
    .targets = targets,
    .target_count = sizeof targets / sizeof *targets,
    .current_device = current_device,
    .take_last_error = take_last_error,
    .run_own_tests = run_vendor_tests,
};
