/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/cuda_resource.hpp: a pool as a resource of cuda::mr.
 *
 * Over the host backend its streams are the host's; with TEST_OVER_CUDA they are those of the CUDA runtime that runs, the
 * simulated one.
 */
#include <doctest/doctest.h>

#include <thread>
#include <type_traits>

#include "bindings/death.hpp"
#include "bindings/support.hpp"
#include "tarn/cuda_resource.hpp"

using resource = tarn::cuda_resource;
using host_resource = tarn::cuda_host_resource;

/* --- what the types promise ------------------------------------------------------------------- */

static_assert(cuda::mr::resource_with<resource, cuda::mr::device_accessible>);
static_assert(!cuda::mr::synchronous_resource_with<resource, cuda::mr::host_accessible>);
static_assert(
    cuda::mr::resource_with<host_resource, cuda::mr::device_accessible, cuda::mr::host_accessible>);
static_assert(cuda::mr::resource<const resource>);
static_assert(cuda::std::copyable<resource>);
static_assert(std::is_nothrow_copy_constructible_v<resource>);
static_assert(noexcept(std::declval<resource &>().deallocate_sync(nullptr, 0)));
static_assert(noexcept(
    std::declval<resource &>().deallocate(cuda::stream_ref(cudaStream_t(nullptr)), nullptr, 0)));
static_assert(!std::is_convertible_v<tarn::pool_ref, resource>);
static_assert(std::is_same_v<resource::default_queries,
                             cuda::mr::properties_list<cuda::mr::device_accessible>>);

namespace
{

/* --- streams and work on them ----------------------------------------------------------------- */

#ifdef TEST_OVER_CUDA

void expect(cudaError_t error)
{
    REQUIRE(error == cudaSuccess);
}

class stream
{
  public:
    stream()
    {
        expect(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking));
    }

    ~stream()
    {
        tarn_stream_retire(handle_);
        cudaStreamDestroy(handle_);
    }

    void fill(void *address, unsigned char value, size_t size_bytes) const
    {
        expect(cudaMemsetAsync(address, value, size_bytes, handle_));
    }

    void copy(void *destination, const void *source, size_t size_bytes) const
    {
        expect(cudaMemcpyAsync(destination, source, size_bytes, cudaMemcpyDefault, handle_));
    }

    void synchronize() const
    {
        expect(cudaStreamSynchronize(handle_));
    }

#else

class stream
{
  public:
    stream()
    {
        tarn_stream handle = nullptr;
        tarn::check(tarn_host_stream_create(&handle));
        handle_ = static_cast<cudaStream_t>(handle);
    }

    ~stream()
    {
        tarn_stream_retire(handle_);
        tarn_host_stream_destroy(handle_);
    }

    void fill(void *address, unsigned char value, size_t size_bytes) const
    {
        tarn::check(tarn_host_fill(address, value, size_bytes, handle_));
    }

    void copy(void *destination, const void *source, size_t size_bytes) const
    {
        tarn::check(tarn_host_copy(destination, source, size_bytes, handle_));
    }

    void synchronize() const
    {
        tarn::check(tarn_host_stream_synchronize(handle_));
    }

#endif

    stream(const stream &) = delete;

    operator cuda::stream_ref() const
    {
        return cuda::stream_ref(handle_);
    }

    /* The first byte of a device's memory, when the stream has come there. */
    unsigned char first_byte(const void *address) const
    {
        unsigned char byte = 0;
        copy(&byte, address, 1);
        synchronize();
        return byte;
    }

  private:
    cudaStream_t handle_ = nullptr;
};

/* The simulated device draws the order of work: a wait that is missing shows in some orders alone. */
const int orders = 100;

/* Room for one allocation of so many bytes, and no second one. */
const size_t most_bytes = 600000;

tarn_pool_options small_pool()
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = 1 << 20;
    return options;
}

/* --- tests ------------------------------------------------------------------------------------ */

void free_on_streams()
{
    tarn::pool pool(small_pool());
    resource memory(pool);
    stream a, b;
    void *first = memory.allocate(a, most_bytes);
    a.fill(first, 1, most_bytes);
    memory.deallocate(a, first, most_bytes);
    void *second = memory.allocate(a, most_bytes);
    CHECK(second == first);
    a.fill(second, 2, most_bytes);
    memory.deallocate(a, second, most_bytes);

    void *third = memory.allocate(b, most_bytes);
    CHECK(third == first);
    b.fill(third, 3, most_bytes);
    CHECK(b.first_byte(third) == 3);
    a.synchronize();
    CHECK(b.first_byte(third) == 3);
    memory.deallocate(b, third, most_bytes);
    CHECK(live_count(pool) == 0);
}

TEST_CASE("memory that is freed on a stream serves that stream, and another one after its work")
{
    for (int i = 0; i < orders; i++)
        free_on_streams();
}

void free_without_stream()
{
    tarn::pool pool(small_pool());
    resource memory(pool);
    stream a, b, c;
    void *first = memory.allocate_sync(most_bytes);
    a.fill(first, 1, most_bytes);
    memory.deallocate_sync(first, most_bytes);

    void *second = memory.allocate(b, most_bytes); /* in the order of b */
    CHECK(second == first);
    b.fill(second, 2, most_bytes);
    CHECK(b.first_byte(second) == 2);
    a.synchronize();
    CHECK(b.first_byte(second) == 2);
    b.fill(second, 3, most_bytes);
    memory.deallocate(b, second, most_bytes); /* was not waited for */

    void *third = memory.allocate_sync(most_bytes); /* for any stream at once */
    CHECK(third == first);
    c.fill(third, 4, most_bytes);
    CHECK(c.first_byte(third) == 4);
    b.synchronize();
    CHECK(c.first_byte(third) == 4);
    memory.deallocate_sync(third, most_bytes);
    CHECK(live_count(pool) == 0);
}

TEST_CASE("memory that is freed without a stream waits for the work of all streams")
{
    for (int i = 0; i < orders; i++)
        free_without_stream();
}

TEST_CASE("addresses are multiples of 256, and of more if asked")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.alignment_bytes = 16;
    tarn::pool pool, fine(options);
    stream a;
    for (tarn::pool_ref each : { tarn::pool_ref(pool), tarn::pool_ref(fine) }) {
        resource memory(each);
        void *filler = each.allocate(1);
        void *ordered = memory.allocate(a, 1), *synchronous = memory.allocate_sync(1);
        CHECK(reinterpret_cast<uintptr_t>(ordered) % 256 == 0);
        CHECK(reinterpret_cast<uintptr_t>(synchronous) % 256 == 0);
        void *page = memory.allocate(a, 1, 4096);
        CHECK(reinterpret_cast<uintptr_t>(page) % 4096 == 0);
        memory.deallocate(a, page, 1, 4096);
        memory.deallocate(a, ordered, 1);
        memory.deallocate_sync(synchronous, 1);
        each.deallocate(filler);
        CHECK_THROWS_AS(memory.allocate(a, 1, 24), tarn::error);
        CHECK_THROWS_AS(memory.allocate_sync(1, 0), tarn::error);
    }
}

TEST_CASE("zero bytes have an address, and too many throw")
{
    tarn::pool pool(small_pool());
    resource memory(pool);
    stream a;
    void *nothing = memory.allocate(a, 0);
    CHECK(nothing != nullptr);
    memory.deallocate(a, nothing, 0);
    CHECK_THROWS_AS(memory.allocate(a, 2 << 20), tarn::bad_alloc);
    CHECK_THROWS_AS(memory.allocate_sync(2 << 20), std::bad_alloc);
    memory.deallocate_sync(nullptr, 0);
}

TEST_CASE("copies are equal and free each other's memory")
{
    tarn::pool pool, other;
    resource first(pool), second(other);
    const resource copy = first;
    CHECK(copy == first);
    CHECK(second != first);
    stream a;
    copy.deallocate(a, first.allocate(a, 100), 100);
    second = first;
    second.deallocate_sync(copy.allocate(a, 100), 100);
    CHECK(live_count(pool) == 0);
}

TEST_CASE("type-erased resources have it inside")
{
    tarn::pool pool;
    stream a;
    {
        cuda::mr::any_resource<cuda::mr::device_accessible> any{ resource(pool) };
        cuda::mr::resource_ref<cuda::mr::device_accessible> ref = any;
        void *address = ref.allocate(a, 100, 256);
        CHECK(live_count(pool) == 1);
        any.deallocate(a, address, 100, 256);
        cuda::mr::any_synchronous_resource<cuda::mr::host_accessible> on_host{ host_resource(
            tarn::device_pool(TARN_MEMORY_KIND_PINNED)) };
        auto *byte = static_cast<unsigned char *>(on_host.allocate_sync(1, 1));
        *byte = 7;
        CHECK(*byte == 7);
        on_host.deallocate_sync(byte, 1, 1);
    }
    CHECK(live_count(pool) == 0);
    CHECK(tarn_default_pool_destroy() == TARN_STATUS_OK);
}

TEST_CASE("an environment has it, and an algorithm asks for it")
{
    tarn::pool pool;
    resource memory(pool);
    auto environment = cuda::std::execution::env{ cuda::std::execution::prop{
        cuda::mr::get_memory_resource, memory } };
    CHECK(cuda::mr::get_memory_resource(environment) == memory);
}

TEST_CASE("a pool whose memory is not what the type promises is refused")
{
    CHECK_THROWS_WITH_AS(resource{ tarn::device_pool(TARN_MEMORY_KIND_HOST) },
                         doctest::Contains("the device cannot use"), tarn::error);
    CHECK_THROWS_AS(host_resource{ tarn::device_pool(TARN_MEMORY_KIND_HOST) }, tarn::error);
    resource pinned(tarn::device_pool(TARN_MEMORY_KIND_PINNED));
    host_resource managed(tarn::device_pool(TARN_MEMORY_KIND_SHARED));
#ifdef TEST_OVER_CUDA
    CHECK_THROWS_WITH_AS(host_resource{ tarn::pool_ref() },
                         doctest::Contains("the host cannot read"), tarn::error);
#endif
    static char memory[1 << 16];
    tarn_pool *handle = nullptr;
    tarn::check(tarn_pool_create_over(memory, sizeof memory, nullptr, &handle));
    tarn::pool over = tarn::pool::adopt(handle);
    CHECK_THROWS_WITH_AS(resource{ over }, doctest::Contains("no backend with events"),
                         tarn::error);
    CHECK(tarn_default_pool_destroy() == TARN_STATUS_OK);
}

TEST_CASE("two threads use copies of one resource")
{
    tarn::pool pool;
    resource memory(pool);
    const auto work = [memory] {
        stream own;
        for (size_t i = 1; i < 100; i++) {
            void *first = memory.allocate(own, i * 100), *second = memory.allocate_sync(i * 100);
            own.fill(first, 1, i * 100);
            memory.deallocate(own, first, i * 100);
            memory.deallocate_sync(second, i * 100);
        }
        own.synchronize();
    };
    std::thread other(work);
    work();
    other.join();
    CHECK(live_count(pool) == 0);
}

#ifndef TEST_OVER_CUDA /* which does not work in a forked child */
TEST_CASE("a resource that outlives its pool is told of")
{
    const std::string words = last_words_of([] {
        tarn::pool pool;
        resource memory(pool);
        void *address = memory.allocate_sync(100);
        tarn_pool_destroy_forced(pool.release(), nullptr);
        memory.deallocate_sync(address, 100);
    });
    CHECK(words.find("a free was refused") != std::string::npos);

    tarn::pool pool;
    resource memory(pool);
    pool = tarn::pool();
    CHECK_THROWS_AS(memory.allocate_sync(100), tarn::error);
}
#endif

} // namespace
