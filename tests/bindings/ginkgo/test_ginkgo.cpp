/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/ginkgo.hpp: allocators of Ginkgo's over pools of tarn. */
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>

#include <ginkgo/ginkgo.hpp>

#include "bindings/support.hpp"
#include "tarn/ginkgo.hpp"

namespace
{

TEST_CASE("arrays of the host lie in the process-wide pool of host memory")
{
    tarn_pool *pool;
    tarn::check(tarn_device_pool(TARN_DEVICE_CURRENT, TARN_MEMORY_KIND_HOST, &pool));
    auto executor = gko::ReferenceExecutor::create(std::make_shared<tarn::ginkgo_cpu_allocator>());
    {
        gko::array<double> field(executor, 100);
        CHECK(found_at(field.get_data()).pool == pool);
        CHECK(found_at(field.get_data()).size_bytes == 100 * sizeof(double));
        CHECK(reinterpret_cast<std::uintptr_t>(field.get_data()) % 256 == 0);
    }
    CHECK(live_count(pool) == 0);
}

TEST_CASE("a shortage is tarn::bad_alloc, with the pool's sentence")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = 1 << 20;
    tarn::pool pool(options);
    auto executor =
        gko::ReferenceExecutor::create(std::make_shared<tarn::ginkgo_cpu_allocator>(pool));
    CHECK_THROWS_WITH_AS(executor->alloc<char>(2 << 20), doctest::Contains("limit"),
                         tarn::bad_alloc);
}

/* The real executors ask for a device. Of these the stand-in makes use of the allocators alone. */
#ifdef TARN_STAND_IN

template <class Executor, class Allocator, class Handle> void expect_stream_order()
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.initial_bytes = options.limit_bytes = 64 << 10;
    tarn::pool pool(options);
    basic_stream<Handle *> first, second;
    auto on_first = Executor::create(0, nullptr, std::make_shared<Allocator>(first, pool), first);
    auto on_second =
        Executor::create(0, nullptr, std::make_shared<Allocator>(second, pool), second);
    void *keeps_the_piece = on_second->template alloc<char>(1000);

    unsigned char *bytes = on_first->template alloc<unsigned char>(50000);
    bytes[0] = 0;
    tarn::check(tarn_host_fill(bytes, 7, 50000, first));
    on_first->free(bytes);
    CHECK(on_first->template alloc<unsigned char>(50000) == bytes); /* at once */
    on_first->free(bytes);
    CHECK(on_second->template alloc<unsigned char>(50000) ==
          bytes); /* after a wait on the device */
    CHECK(bytes[0] == 0);
    tarn::check(tarn_host_stream_synchronize(second));
    CHECK(bytes[0] == 7);
    on_second->free(bytes);
    on_second->free(keeps_the_piece);
    CHECK(live_count(pool) == 0);
}

TEST_CASE("executors share a pool in the order of their streams, with CUDA")
{
    expect_stream_order<gko::CudaExecutor, tarn::ginkgo_cuda_allocator, CUstream_st>();
}

TEST_CASE("executors share a pool in the order of their streams, with HIP")
{
    expect_stream_order<gko::HipExecutor, tarn::ginkgo_hip_allocator, GKO_HIP_STREAM_STRUCT>();
}

TEST_CASE("an executor on another stream than the allocator's is refused")
{
    basic_stream<CUstream_st *> first, second;
    auto allocator = std::make_shared<tarn::ginkgo_cuda_allocator>(first);
    CHECK_THROWS_AS(gko::CudaExecutor::create(0, nullptr, allocator, second), std::runtime_error);
    CHECK_THROWS_AS(gko::CudaExecutor::create(0, nullptr, allocator, nullptr), std::runtime_error);
    CHECK_NOTHROW(gko::CudaExecutor::create(0, nullptr, allocator, first));
}

/* Memory of a device that is no other's. */
tarn_backend_result get_properties_of_another(void *, tarn_device_properties *properties_out)
{
    *properties_out = {};
    properties_out->device_name = "another device";
    properties_out->alignment_bytes = properties_out->granularity_bytes = 4096;
    properties_out->allocation_bytes_max = 1 << 20;
    properties_out->memory_id = 12345;
    return TARN_BACKEND_RESULT_OK;
}

tarn_backend_result acquire_nothing(void *, size_t, void **)
{
    return { TARN_STATUS_OUT_OF_MEMORY, 1, "none" };
}

tarn_backend_result release_nothing(void *, void *, size_t)
{
    return TARN_BACKEND_RESULT_OK;
}

TEST_CASE("an executor on another device than the pool's is refused")
{
    tarn_backend_operations operations = {};
    operations.struct_bytes = sizeof operations;
    operations.name = "other";
    operations.acquire = acquire_nothing;
    operations.release = release_nothing;
    operations.get_properties = get_properties_of_another;
    const tarn_backend backend = { &operations, nullptr };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    tarn::pool elsewhere(options), here;
    auto allocator = std::make_shared<tarn::ginkgo_cuda_allocator>(nullptr, elsewhere);
    CHECK_THROWS_AS(gko::CudaExecutor::create(0, nullptr, allocator, nullptr), std::runtime_error);
    CHECK_NOTHROW(gko::CudaExecutor::create(
        0, nullptr, std::make_shared<tarn::ginkgo_cuda_allocator>(nullptr, here), nullptr));
}

#endif

} // namespace
