/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_dlclose: the shared library is closed while its pools are in use. It stays in the process, because
 * what runs at a fork and at the exit is in it; so all goes on, and opened again it is the same.
 */
#include <dlfcn.h>
#include <string.h>

#include "harness/child.h"

#include "tarn/host.h"
#include "tarn/tarn.h"

struct library {
    void *handle;
    tarn_status (*host_backend_open)(const tarn_host_options *options, tarn_backend *backend_out);
    tarn_status (*pool_create)(const tarn_pool_options *options, tarn_pool **pool_out);
    tarn_status (*pool_alloc)(tarn_pool *pool, size_t size_bytes, void **address_out);
    tarn_status (*pool_free)(tarn_pool *pool, void *address);
    tarn_status (*pool_destroy)(tarn_pool *pool);
    void (*backend_close)(tarn_backend *backend);
};

/* A function as an object, which C has no conversion for. */
static void find(const struct library *library, const char *name, void *function_out)
{
    void *entry = dlsym(library->handle, name);
    if (!entry) fail_msg("%s is not there: %s", name, dlerror());
    memcpy(function_out, &entry, sizeof entry);
}

static struct library open_library(void)
{
    struct library library = { .handle = dlopen(TARN_LIBRARY, RTLD_NOW | RTLD_LOCAL) };
    if (!library.handle) fail_msg("%s", dlerror());
    find(&library, "tarn_host_backend_open", &library.host_backend_open);
    find(&library, "tarn_pool_create", &library.pool_create);
    find(&library, "tarn_pool_alloc", &library.pool_alloc);
    find(&library, "tarn_pool_free", &library.pool_free);
    find(&library, "tarn_pool_destroy", &library.pool_destroy);
    find(&library, "tarn_backend_close", &library.backend_close);
    return library;
}

struct use {
    struct library tarn;
    tarn_backend backend;
    tarn_pool *pool;
    void *address;
};

static struct use begin_use(void)
{
    struct use use = { .tarn = open_library() };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    assert_int_equal(use.tarn.host_backend_open(NULL, &use.backend), TARN_STATUS_OK);
    options.backend = &use.backend;
    assert_int_equal(use.tarn.pool_create(&options, &use.pool), TARN_STATUS_OK);
    assert_int_equal(use.tarn.pool_alloc(use.pool, 1000, &use.address), TARN_STATUS_OK);
    return use;
}

static void end_use(struct use *use)
{
    assert_int_equal(use->tarn.pool_free(use->pool, use->address), TARN_STATUS_OK);
    assert_int_equal(use->tarn.pool_destroy(use->pool), TARN_STATUS_OK);
    use->tarn.backend_close(&use->backend);
}

static void pools_live_on(void **state)
{
    struct use use = begin_use();
    assert_int_equal(dlclose(use.tarn.handle), 0);
    void *still_there = dlopen(TARN_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(still_there);
    dlclose(still_there);
    memset(use.address, 1, 1000);
    end_use(&use);
}

static void opened_again_it_knows_its_pools(void **state)
{
    struct use use = begin_use();
    dlclose(use.tarn.handle);
    struct use again = { .tarn = open_library(), .backend = use.backend };
    again.pool = use.pool;
    again.address = use.address;
    end_use(&again);
    dlclose(again.tarn.handle);
}

/* The child's exit, with functions of the exit, is the program's below. */
static void fork_and_use(void *argument)
{
    struct use *use = argument;
    void *address;
    CHILD_EXPECT(use->tarn.pool_alloc(use->pool, 1, &address) == TARN_STATUS_FORKED);
    CHILD_EXPECT(use->tarn.pool_free(use->pool, use->address) == TARN_STATUS_OK);
}

static void a_fork_after_it_was_closed_finds_its_handlers(void **state)
{
    struct use use = begin_use();
    dlclose(use.tarn.handle);
    expect_in_child(fork_and_use, &use);
    end_use(&use);
}

static struct use left;

static void an_exit_after_it_was_closed_is_a_good_end(void **state)
{
    expect_program_to_end_well("leave");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "leave") == 0) {
        left = begin_use();
        return dlclose(left.tarn.handle);
    }
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_live_on),
        cmocka_unit_test(opened_again_it_knows_its_pools),
        cmocka_unit_test(a_fork_after_it_was_closed_finds_its_handlers),
        cmocka_unit_test(an_exit_after_it_was_closed_is_a_good_end),
    };
    return cmocka_run_group_tests_name("dlclose", tests, NULL, NULL);
}
