/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/sundials.h: a memory helper of SUNDIALS over pools of tarn, below it SUNDIALS' helper of the system's memory. */
#include <doctest/doctest.h>

#include <cstdint>

#include <sundials/sundials_context.h>
#include <sunmemory/sunmemory_system.h>

#include "bindings/support.hpp"
#include "tarn/sundials.h"

namespace
{

using stream = basic_stream<tarn_stream>;

class context
{
  public:
    context()
    {
#if SUNDIALS_VERSION_MAJOR >= 7
        REQUIRE(SUNContext_Create(SUN_COMM_NULL, &handle_) == 0);
#else
        REQUIRE(SUNContext_Create(nullptr, &handle_) == 0);
#endif
    }

    context(const context &) = delete;

    ~context()
    {
        SUNContext_Free(&handle_);
    }

    operator SUNContext() const
    {
        return handle_;
    }

  private:
    SUNContext handle_;
};

/* A helper over the system's. */
class helper
{
  public:
    explicit helper(tarn_pool *pool = nullptr)
        : handle_(tarn_sundials_helper(SUNMemoryHelper_Sys(context_), pool))
    {
        REQUIRE(handle_);
    }

    helper(const helper &) = delete;

    ~helper()
    {
        SUNMemoryHelper_Destroy(handle_);
    }

    SUNMemory alloc(size_t size_bytes, SUNMemoryType type = SUNMEMTYPE_DEVICE,
                    tarn_stream *queue = nullptr)
    {
        SUNMemory memory = nullptr;
        REQUIRE(SUNMemoryHelper_Alloc(handle_, &memory, size_bytes, type, queue) == 0);
        CHECK(memory->type == type);
        CHECK(memory->own);
        return memory;
    }

    void dealloc(SUNMemory memory, tarn_stream *queue = nullptr)
    {
        CHECK(SUNMemoryHelper_Dealloc(handle_, memory, queue) == 0);
    }

    operator SUNMemoryHelper() const
    {
        return handle_;
    }

  private:
    context context_;
    SUNMemoryHelper handle_;
};

tarn_pool *process_wide(tarn_memory_kind kind)
{
    tarn_pool *pool;
    tarn::check(tarn_device_pool(TARN_DEVICE_CURRENT, kind, &pool));
    return pool;
}

TEST_CASE("each type of memory has its pool")
{
    const struct {
        SUNMemoryType type;
        tarn_memory_kind kind;
    } types[] = { { SUNMEMTYPE_DEVICE, TARN_MEMORY_KIND_DEVICE },
                  { SUNMEMTYPE_PINNED, TARN_MEMORY_KIND_PINNED },
                  { SUNMEMTYPE_UVM, TARN_MEMORY_KIND_SHARED } };
    helper helper;
    for (const auto &wanted : types) {
        SUNMemory memory = helper.alloc(1000, wanted.type);
        CHECK(found_at(memory->ptr).pool == process_wide(wanted.kind));
        CHECK(found_at(memory->ptr).size_bytes == 1000);
        CHECK(reinterpret_cast<std::uintptr_t>(memory->ptr) % 256 == 0);
        helper.dealloc(memory);
        CHECK(live_count(process_wide(wanted.kind)) == 0);
    }
}

TEST_CASE("pageable memory is the other helper's")
{
    helper helper;
    SUNMemory memory = helper.alloc(1000, SUNMEMTYPE_HOST);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    CHECK(tarn_pool_find(memory->ptr, &found) == TARN_STATUS_FOREIGN_ADDRESS);
    helper.dealloc(memory);
}

TEST_CASE("a pool of one's own serves device memory")
{
    tarn::pool pool;
    helper helper(pool.handle());
    SUNMemory memory = helper.alloc(1000);
    CHECK(live_count(pool) == 1);
    SUNMemory pinned = helper.alloc(1000, SUNMEMTYPE_PINNED);
    CHECK(live_count(pool) == 1);
    helper.dealloc(memory);
    helper.dealloc(pinned);
    CHECK(live_count(pool) == 0);
}

TEST_CASE("memory of others is not freed with its SUNMemory")
{
    helper helper;
    SUNMemory memory = helper.alloc(1000);
#if SUNDIALS_VERSION_MAJOR >= 7
    SUNMemory alias = SUNMemoryHelper_Alias(helper, memory);
#else
    SUNMemory alias = SUNMemoryHelper_Alias(memory);
#endif
    helper.dealloc(alias);
    CHECK(live_count(process_wide(TARN_MEMORY_KIND_DEVICE)) == 1);
    helper.dealloc(memory);
    CHECK(live_count(process_wide(TARN_MEMORY_KIND_DEVICE)) == 0);
}

TEST_CASE("device memory is in the order of the stream that the queue points to")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.initial_bytes = options.limit_bytes = 64 << 10;
    tarn::pool pool(options);
    helper helper(pool.handle());
    stream first, second;
    SUNMemory keeps_the_piece = helper.alloc(1000, SUNMEMTYPE_DEVICE, &second.handle);
    SUNMemory memory = helper.alloc(50000, SUNMEMTYPE_DEVICE, &first.handle);
    unsigned char *bytes = static_cast<unsigned char *>(memory->ptr);
    bytes[0] = 0;
    tarn::check(tarn_host_fill(bytes, 7, 50000, first.handle));
    helper.dealloc(memory, &first.handle);
    memory = helper.alloc(50000, SUNMEMTYPE_DEVICE, &first.handle); /* at once */
    CHECK(memory->ptr == bytes);
    helper.dealloc(memory, &first.handle);
    memory =
        helper.alloc(50000, SUNMEMTYPE_DEVICE, &second.handle); /* after a wait on the device */
    CHECK(memory->ptr == bytes);
    CHECK(bytes[0] == 0);
    tarn::check(tarn_host_stream_synchronize(second.handle));
    CHECK(bytes[0] == 7);
    helper.dealloc(memory, &second.handle);
    helper.dealloc(keeps_the_piece, &second.handle);
    CHECK(live_count(pool) == 0);
}

/* As of matrices and solvers, which work on streams of their own. */
TEST_CASE("without a queue device memory is not handed out while any stream uses it")
{
    tarn::pool pool;
    helper helper(pool.handle());
    stream used;
    SUNMemory memory = helper.alloc(50000, SUNMEMTYPE_DEVICE);
    unsigned char *bytes = static_cast<unsigned char *>(memory->ptr);
    bytes[0] = 0;
    tarn::check(tarn_host_fill(bytes, 7, 1, used.handle));
    helper.dealloc(memory);
    memory = helper.alloc(50000, SUNMEMTYPE_DEVICE);
    CHECK((memory->ptr != bytes || bytes[0] == 7));
    tarn::check(tarn_host_stream_synchronize(used.handle));
    helper.dealloc(memory);
}

/* A vector is made on the default stream, and then told another one. */
TEST_CASE("memory from the default stream may be used on any")
{
    tarn::pool pool;
    helper helper(pool.handle());
    tarn_stream default_stream = nullptr;
    stream other;
    SUNMemory memory = helper.alloc(50000, SUNMEMTYPE_DEVICE, &default_stream);
    unsigned char *bytes = static_cast<unsigned char *>(memory->ptr);
    bytes[0] = 0;
    tarn::check(tarn_host_fill(bytes, 7, 1, nullptr));
    helper.dealloc(memory, &default_stream);
    memory = helper.alloc(50000, SUNMEMTYPE_DEVICE, &default_stream);
    CHECK((memory->ptr != bytes || bytes[0] == 7));
    helper.dealloc(memory, &other.handle);
}

TEST_CASE("memory that the host may use is not handed out while a stream uses it")
{
    helper helper;
    stream used;
    SUNMemory memory = helper.alloc(50000, SUNMEMTYPE_PINNED, &used.handle);
    unsigned char *bytes = static_cast<unsigned char *>(memory->ptr);
    bytes[0] = 0;
    tarn::check(tarn_host_fill(bytes, 7, 1, used.handle));
    helper.dealloc(memory, &used.handle);
    memory = helper.alloc(50000, SUNMEMTYPE_PINNED, &used.handle);
    CHECK((memory->ptr != bytes || bytes[0] == 7));
    tarn::check(tarn_host_stream_synchronize(used.handle));
    helper.dealloc(memory, &used.handle);
}

TEST_CASE("copies are the other helper's")
{
    helper helper;
    SUNMemory device = helper.alloc(sizeof(int)), host = helper.alloc(sizeof(int), SUNMEMTYPE_HOST);
    *static_cast<int *>(host->ptr) = 42;
    CHECK(SUNMemoryHelper_Copy(helper, device, host, sizeof(int), nullptr) == 0);
    CHECK(*static_cast<int *>(device->ptr) == 42);
    *static_cast<int *>(device->ptr) = 43;
    CHECK(SUNMemoryHelper_CopyAsync(helper, host, device, sizeof(int), nullptr) == 0);
    CHECK(*static_cast<int *>(host->ptr) == 43);
    helper.dealloc(device);
    helper.dealloc(host);
}

TEST_CASE("a clone serves from the same pool")
{
    tarn::pool pool;
    helper helper(pool.handle());
    SUNMemoryHelper clone = SUNMemoryHelper_Clone(helper);
    SUNMemory memory = helper.alloc(1000);
    REQUIRE(clone);
    CHECK(SUNMemoryHelper_Dealloc(clone, memory, nullptr) == 0);
    CHECK(live_count(pool) == 0);
    SUNMemoryHelper_Destroy(clone);
}

TEST_CASE("failures are returned, and change nothing")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = 1 << 20;
    tarn::pool pool(options);
    helper helper(pool.handle());
    SUNMemory memory = nullptr;
    CHECK(SUNMemoryHelper_Alloc(helper, &memory, 2 << 20, SUNMEMTYPE_DEVICE, nullptr) != 0);
    CHECK(memory == nullptr);

    memory = helper.alloc(1000);
    void *address = memory->ptr;
    memory->ptr = static_cast<char *>(address) + 8;
    CHECK(SUNMemoryHelper_Dealloc(helper, memory, nullptr) != 0);
    CHECK(live_count(pool) == 1);
    memory->ptr = address;
    helper.dealloc(memory);
    CHECK(SUNMemoryHelper_Dealloc(helper, nullptr, nullptr) == 0);
    CHECK(tarn_sundials_helper(nullptr, nullptr) == nullptr);
}

#if SUNDIALS_VERSION_MAJOR > 7 || (SUNDIALS_VERSION_MAJOR == 7 && SUNDIALS_VERSION_MINOR >= 3)
TEST_CASE("without a queue the default queue names the stream")
{
    tarn::pool pool;
    helper helper(pool.handle());
    stream used;
    REQUIRE(SUNMemoryHelper_SetDefaultQueue(helper, &used.handle) == 0);
    CHECK(tarn_sundials_stream(helper, nullptr) == used.handle);
    tarn_stream other = nullptr;
    CHECK(tarn_sundials_stream(helper, &other) == nullptr);
}
#endif

} // namespace
