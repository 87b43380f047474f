/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program that was compiled for another layout of device heaps than the library's. This file is compiled with another
 * TN_HEAP_LAYOUT_VERSION: the host is told at creation. Where a heap reaches such kernels all the same, they get null,
 * and change and read nothing.
 */
#include "heap_world.h"

#include <stdlib.h>
#include <string.h>

namespace
{

constexpr size_t MIB = (size_t)1 << 20;
constexpr uint32_t LIBRARY_VERSION = 1;

static_assert(TN_HEAP_LAYOUT_VERSION != LIBRARY_VERSION, "this program is of another version");

/* --- the host's side -------------------------------------------------------------------------------- */

struct host_world {
    tarn_backend backend;
    tarn_pool *pool;
    host_world()
    {
        tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
        expect_ok(tarn_host_backend_open(NULL, &backend));
        options.backend = &backend;
        expect_ok(tarn_pool_create(&options, &pool));
    }
    ~host_world()
    {
        expect_ok(tarn_pool_destroy(pool));
        tarn_backend_close(&backend);
    }
    host_world(const host_world &) = delete;
};

void expect_refused(tarn_status status)
{
    assert_int_equal(status, TARN_STATUS_NOT_SUPPORTED);
    assert_string_equal(
        tarn_last_error().message,
        "the program was compiled for layout 2 of device heaps, and this library makes "
        "layout 1: compile it, and its kernels, with the headers of this library");
}

void creation_is_refused(void **)
{
    host_world world;
    tarn_device_heap *const none = (tarn_device_heap *)&world;
    tarn_device_heap *heap = none;
    void *memory = aligned_alloc(TARN_DEVICE_HEAP_ALIGNMENT_BYTES, 4 * MIB);
    expect_refused(tarn_device_heap_create(world.pool, 4 * MIB, NULL, NULL, &heap));
    expect_refused(
        tarn_device_heap_create_over(&world.backend, memory, 4 * MIB, NULL, NULL, &heap));
    assert_ptr_equal(heap, none);
    free(memory);
}

void older_programs_and_the_right_version_are_served(void **)
{
    host_world world;
    tarn_device_heap *heap;
    expect_ok((tarn_device_heap_create)(world.pool, 4 * MIB, NULL, NULL, &heap));
    assert_int_equal(tarn_device_heap_get_handle(heap).layout.version, LIBRARY_VERSION);
    expect_ok(tarn_device_heap_destroy(heap, NULL));
    expect_ok(tarn_device_heap_create_for_layout(LIBRARY_VERSION, world.pool, 4 * MIB, NULL, NULL,
                                                 &heap));
    expect_ok(tarn_device_heap_destroy(heap, NULL));
}

/* --- kernels' side ---------------------------------------------------------------------------------- */

void expect_nothing(const tarn_device_heap_handle &handle, void *object)
{
    emulation::run_wave(0, 4, 0, [&](uint32_t) {
        for (size_t size : { (size_t)1, (size_t)1000, MIB }) {
            assert_null(tarn_dmalloc(handle, size));
            assert_null(tarn_dmalloc_wave(handle, size));
            assert_null(tarn_dmalloc_coop(handle, size));
        }
        assert_int_equal(tarn_dsize(handle, object), 0);
        assert_false(tarn_downs(handle, object));
        tarn_dfree(handle, object);
        tarn_dfree(handle, NULL);
    });
}

/* Neither the metadata nor an object changes. */
void a_heap_of_another_version_is_not_touched(void **)
{
    host_world world;
    char *memory = (char *)aligned_alloc(TARN_DEVICE_HEAP_ALIGNMENT_BYTES, 4 * MIB);
    char *before = (char *)malloc(4 * MIB);
    tarn_device_heap *heap;
    expect_ok((tarn_device_heap_create_over)(&world.backend, memory, 4 * MIB, NULL, NULL, &heap));
    expect_ok(world.backend.operations->stream_synchronize(world.backend.state, NULL).status);
    tarn_device_heap_handle handle = tarn_device_heap_get_handle(heap);
    memcpy(before, memory, 4 * MIB);
    expect_nothing(handle, (void *)(uintptr_t)handle.layout.first_region.address);
    assert_memory_equal(memory, before, 4 * MIB);
    expect_ok(tarn_device_heap_check(heap, NULL));
    expect_ok(tarn_device_heap_destroy(heap, NULL));
    free(memory);
    free(before);
}

/* In another layout each word may be anything. Only the place of the version stays. */
void only_the_version_is_read(void **)
{
    tarn_device_heap_handle handle;
    memset(&handle, 0xA5, sizeof handle);
    handle.layout.version = TN_HEAP_LAYOUT_VERSION + 1;
    expect_nothing(handle, &handle);
    handle.layout.version = LIBRARY_VERSION;
    expect_nothing(handle, &handle);
}

void no_heap_gives_nothing(void **)
{
    int object;
    expect_nothing(tarn_device_heap_get_handle(NULL), &object);
}

} // namespace

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation_is_refused),
        cmocka_unit_test(older_programs_and_the_right_version_are_served),
        cmocka_unit_test(a_heap_of_another_version_is_not_touched),
        cmocka_unit_test(only_the_version_is_read),
        cmocka_unit_test(no_heap_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
