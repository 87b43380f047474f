/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_ze_table: the loader is found at run time, or is not.
 *
 * This program does not link the loader. It decides which file tarn gets for the loader's name. A loader stays in the
 * process, so the one that lacks functions has a process of its own: the argument is then "empty".
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "backend_ze/ze_table.h"
#include "harness/claims.h"
#include "tarn/ze.h"

/* --- the loader's file ---------------------------------------------------------------------------- */

/* What is opened in place of the loader. NULL: the loader. */
static const char *loader;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
    bool is_loader = name && strcmp(name, "libze_loader.so.1") == 0;
    return __real_dlopen(is_loader && loader ? loader : name, flags);
}

/* --- claims --------------------------------------------------------------------------------------- */

static void expect_no_device(const char *text)
{
    tarn_backend backend = { NULL, NULL };
    int count = -1;
    assert_int_equal(tarn_ze_backend_open(0, TARN_MEMORY_KIND_DEVICE, NULL, &backend),
                     TARN_STATUS_NO_DEVICE);
    if (!strstr(tarn_last_error().message, text))
        fail_msg("'%s' does not say '%s'", tarn_last_error().message, text);
    assert_null(backend.operations);
    assert_int_equal(tarn_backend_device_count(&count), TARN_STATUS_NO_DEVICE);
    if (!strstr(tarn_last_error().message, text))
        fail_msg("'%s' does not say '%s'", tarn_last_error().message, text);
    assert_int_equal(count, -1);
}

static void a_missing_loader_is_no_device(void **state)
{
    loader = "/nonexistent/libze_loader.so.1";
    expect_no_device("libze_loader.so.1: cannot open shared object file");
    int device = -1;
    assert_int_equal(tarn_backend_current_device(&device), TARN_STATUS_OK);
    assert_int_equal(device, 0);
    tarn_backend backend;
    assert_int_equal(tarn_backend_open(0, TARN_MEMORY_KIND_HOST, &backend), TARN_STATUS_OK);
    tarn_backend_close(&backend);
}

static void a_loader_without_a_required_function_is_no_device(void **state)
{
    loader = EMPTY_LOADER;
    expect_no_device("libze_loader.so.1 is older than Level Zero 1.4: it has no zeDriverGet");
}

/* --- many threads --------------------------------------------------------------------------------- */

enum {
    THREAD_COUNT = 16
};

static pthread_barrier_t start;

static void *open_and_close(void *argument)
{
    tarn_status *status = argument;
    tarn_backend backend;
    pthread_barrier_wait(&start);
    *status = tarn_ze_backend_open(0, TARN_MEMORY_KIND_DEVICE, NULL, &backend);
    if (*status == TARN_STATUS_OK) tarn_backend_close(&backend);
    return NULL;
}

/* After a failure: it is not remembered. */
static void threads_open_at_the_same_time(void **state)
{
    loader = NULL;
    pthread_t threads[THREAD_COUNT];
    tarn_status statuses[THREAD_COUNT];
    assert_int_equal(pthread_barrier_init(&start, NULL, THREAD_COUNT), 0);
    for (int i = 0; i < THREAD_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, &statuses[i]), 0);
    for (int i = 0; i < THREAD_COUNT; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(statuses[i], TARN_STATUS_OK);
    }
    pthread_barrier_destroy(&start);
}

/* --- all functions -------------------------------------------------------------------------------- */

/* The library in the loader's place is as new as the table. */
static void the_simulated_loader_has_all_functions(void **state)
{
    void *library = __real_dlopen(FULL_LOADER, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
#define EXPECT_FUNCTION(need, name, parameters) \
    if (!dlsym(library, "ze" #name)) fail_msg("there is no ze" #name);
    TN_ZE_FUNCTIONS(EXPECT_FUNCTION)
    dlclose(library);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest empty_tests[] = {
        cmocka_unit_test(a_loader_without_a_required_function_is_no_device),
    };
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_loader_is_no_device),
        cmocka_unit_test(threads_open_at_the_same_time),
        cmocka_unit_test(the_simulated_loader_has_all_functions),
    };
    if (argc > 1 && strcmp(argv[1], "empty") == 0)
        return cmocka_run_group_tests_name("a loader without functions", empty_tests, NULL, NULL);
    return cmocka_run_group_tests_name("Level Zero's loader", tests, NULL, NULL);
}
