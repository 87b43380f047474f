/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/cudss.h: a memory handler of cuDSS over pools of tarn. */
#include <doctest/doctest.h>

#include <string>

#include "bindings/support.hpp"
#include "tarn/cudss.h"

namespace
{

/* What cuDSS does with a handler. */
struct solver {
    explicit solver(tarn_pool *pool = nullptr) : memory(tarn_cudss_device_memory(pool))
    {
    }

    void *alloc(size_t size_bytes, cudaStream_t stream = nullptr) const
    {
        void *address = nullptr;
        REQUIRE(memory.device_alloc(memory.ctx, &address, size_bytes, stream) == 0);
        return address;
    }

    void free(void *address, size_t size_bytes, cudaStream_t stream = nullptr) const
    {
        CHECK(memory.device_free(memory.ctx, address, size_bytes, stream) == 0);
    }

    cudssDeviceMemHandler_t memory;
};

using stream = basic_stream<cudaStream_t>;

TEST_CASE("without a pool the process-wide one serves")
{
    const solver solver;
    CHECK(std::string(solver.memory.name) == "tarn");
    void *address = solver.alloc(1000);
    CHECK(found_at(address).pool == tarn::pool_ref().resolve());
    solver.free(address, 1000);
    CHECK(live_count({}) == 0);
}

TEST_CASE("a pool of one's own serves, in the order of the streams")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.initial_bytes = options.limit_bytes = 64 << 10;
    tarn::pool pool(options);
    const solver solver(pool.handle());
    stream first, second;
    void *keeps_the_piece = solver.alloc(1000, second);
    unsigned char *bytes = static_cast<unsigned char *>(solver.alloc(50000, first));
    bytes[0] = 0;
    tarn::check(tarn_host_fill(bytes, 7, 50000, first));
    solver.free(bytes, 50000, first);
    CHECK(solver.alloc(50000, first) == bytes); /* at once */
    solver.free(bytes, 50000, first);
    CHECK(solver.alloc(50000, second) == bytes); /* after a wait on the device */
    CHECK(bytes[0] == 0);
    tarn::check(tarn_host_stream_synchronize(static_cast<cudaStream_t>(second)));
    CHECK(bytes[0] == 7);
    solver.free(bytes, 50000, second);
    solver.free(keeps_the_piece, 1000, second);
    CHECK(live_count(pool) == 0);
}

TEST_CASE("failures are returned, and the sentence says why")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = 1 << 20;
    tarn::pool pool(options);
    const solver solver(pool.handle());
    void *address = nullptr;
    CHECK(solver.memory.device_alloc(pool.handle(), &address, 2 << 20, nullptr) != 0);
    CHECK(address == nullptr);
    CHECK(std::string(tarn_last_error().message).find("limit") != std::string::npos);
    address = solver.alloc(1000);
    solver.free(address, 1000);
    CHECK(solver.memory.device_free(pool.handle(), address, 1000, nullptr) != 0);
}

} // namespace
