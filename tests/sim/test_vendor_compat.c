/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_vendor_compat: calls that look like the vendor's. A program of two streams that names none has the contents that
 * the vendor's own calls give; errors are the vendor's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef VENDOR_IS_HIP
#include "tarn/hip_compat.h"
#define VENDOR(name)                      hip##name
#define TARN(name)                        tarn_hip##name
#define OUT_OF_MEMORY                     hipErrorOutOfMemory
#define VENDOR_HOST_MALLOC(address, size) hipHostMalloc((address), (size), 0)
#else
#include "tarn/cuda_compat.h"
#define VENDOR(name)                      cuda##name
#define TARN(name)                        tarn_cuda##name
#define OUT_OF_MEMORY                     cudaErrorMemoryAllocation
#define VENDOR_HOST_MALLOC(address, size) cudaHostAlloc((address), (size), 0)
#endif

#include "sim_control.h"

#define MIB ((size_t)1 << 20)

/* The macro that programs have. */
#define CHECK(call)                                                                             \
    do {                                                                                        \
        tarn_vendor_error error = (call);                                                       \
        if (error != VENDOR(Success)) fail_msg("%s: %s", #call, VENDOR(GetErrorString)(error)); \
    } while (0)

int allocate_in_cpp(void); /* vendor_compat_in_cpp.cpp */

static void *malloc_of(size_t size_bytes)
{
    void *address = NULL;
    CHECK(TARN(Malloc)(&address, size_bytes));
    assert_non_null(address);
    return address;
}

static void two_streams_need_no_name(void **state)
{
    tarn_vendor_stream s, t;
    static unsigned char seen[MIB];
    (void)state;
    CHECK(VENDOR(StreamCreateWithFlags)(&s, VENDOR(StreamNonBlocking)));
    CHECK(VENDOR(StreamCreateWithFlags)(&t, VENDOR(StreamNonBlocking)));
    for (unsigned char round = 1; round <= 20; round++) {
        void *first = malloc_of(MIB);
        CHECK(VENDOR(MemsetAsync)(first, round, MIB, s));
        CHECK(VENDOR(MemcpyAsync)(seen, first, MIB, VENDOR(MemcpyDeviceToHost), s));
        CHECK(TARN(Free)(first));
        void *second = malloc_of(MIB);
        CHECK(VENDOR(MemsetAsync)(second, 255, MIB, t));
        CHECK(VENDOR(StreamSynchronize)(t));
        CHECK(VENDOR(StreamSynchronize)(s));
        assert_int_equal(seen[0], round);
        assert_int_equal(seen[MIB - 1], round);
        CHECK(TARN(Free)(second));
    }
    CHECK(VENDOR(StreamDestroy)(s));
    CHECK(VENDOR(StreamDestroy)(t));
}

static void a_stream_has_its_own_memory_at_once(void **state)
{
    tarn_vendor_stream s;
    void *first, *second;
    (void)state;
    CHECK(VENDOR(StreamCreateWithFlags)(&s, VENDOR(StreamNonBlocking)));
    CHECK(TARN(MallocAsync)(&first, MIB, s));
    CHECK(VENDOR(MemsetAsync)(first, 1, MIB, s));
    CHECK(TARN(FreeAsync)(first, s));
    CHECK(TARN(MallocAsync)(&second, MIB, s));
    assert_ptr_equal(first, second);
    CHECK(TARN(FreeAsync)(second, s));
    CHECK(VENDOR(StreamSynchronize)(s));
    tarn_stream_retire((tarn_stream)s);
    CHECK(VENDOR(StreamDestroy)(s));
}

static void other_kinds_of_memory(void **state)
{
    void *pinned, *managed;
    (void)state;
    CHECK(TARN(HostMalloc)(&pinned, 1000));
    memset(pinned, 1, 1000);
    CHECK(TARN(HostFree)(pinned));
    CHECK(TARN(MallocManaged)(&managed, 1000));
    memset(managed, 1, 1000);
    CHECK(TARN(Free)(managed));
}

/* A program moves part by part. */
static void the_vendors_own_memory_goes_back_to_the_vendor(void **state)
{
    void *address, *pinned;
    (void)state;
    CHECK(VENDOR(Malloc)(&address, 1000));
    CHECK(TARN(Free)(address));
    CHECK(VENDOR_HOST_MALLOC(&pinned, 1000));
    CHECK(TARN(HostFree)(pinned));
}

static void zero_bytes_and_null_are_as_with_the_vendor(void **state)
{
    void *address = &address;
    (void)state;
    CHECK(TARN(Malloc)(&address, 0));
    assert_null(address);
    CHECK(TARN(Free)(NULL));
    CHECK(TARN(HostFree)(NULL));
    CHECK(TARN(FreeAsync)(NULL, NULL));
}

static void errors_are_the_vendors(void **state)
{
    void *address = NULL;
    (void)state;
    assert_int_equal(TARN(Malloc)(&address, (size_t)1 << 50), OUT_OF_MEMORY);
    assert_null(address);
    address = malloc_of(1000);
    CHECK(TARN(Free)(address));
    assert_int_equal(TARN(Free)(address), VENDOR(ErrorInvalidValue));
    assert_int_equal(tarn_last_error().status, TARN_STATUS_NOT_LIVE);
    assert_int_equal(TARN(Malloc)(NULL, 1000), VENDOR(ErrorInvalidValue));
    assert_int_equal(TARN(Error)(TARN_STATUS_NO_DEVICE), VENDOR(ErrorNoDevice));
    assert_int_equal(TARN(Error)(TARN_STATUS_NOT_SUPPORTED), VENDOR(ErrorNotSupported));
    assert_int_equal(VENDOR(GetLastError)(), VENDOR(Success));
}

static void pointers_of_any_type_in_cpp(void **state)
{
    (void)state;
    assert_int_equal(allocate_in_cpp(), VENDOR(Success));
}

static int end(void **state)
{
    (void)state;
    return tarn_default_pool_destroy() == TARN_STATUS_OK ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(two_streams_need_no_name, end),
        cmocka_unit_test_teardown(a_stream_has_its_own_memory_at_once, end),
        cmocka_unit_test_teardown(other_kinds_of_memory, end),
        cmocka_unit_test_teardown(the_vendors_own_memory_goes_back_to_the_vendor, end),
        cmocka_unit_test_teardown(zero_bytes_and_null_are_as_with_the_vendor, end),
        cmocka_unit_test_teardown(errors_are_the_vendors, end),
        cmocka_unit_test_teardown(pointers_of_any_type_in_cpp, end),
    };
    return cmocka_run_group_tests_name("vendor_compat", tests, NULL, NULL);
}
