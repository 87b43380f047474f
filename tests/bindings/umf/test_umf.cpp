/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/umf.h: a pool of UMF that tarn manages. The provider is a stand-in's, so that a test can make it fail. */
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tarn/umf.h"

namespace
{

class umf_pool
{
  public:
    explicit umf_pool(umf_memory_provider_t &provider, const tarn_pool_options *options = nullptr)
    {
        const umf_memory_pool_ops_t operations = tarn_umf_pool_ops();
        REQUIRE(umfPoolCreate(&operations, &provider, options, 0, &handle_) == UMF_RESULT_SUCCESS);
    }

    umf_pool(const umf_pool &) = delete;

    ~umf_pool()
    {
        if (handle_ && umfPoolDestroy(handle_) != UMF_RESULT_SUCCESS) std::abort();
    }

    umf_memory_pool_handle_t release()
    {
        const umf_memory_pool_handle_t handle = handle_;
        handle_ = nullptr;
        return handle;
    }

    operator umf_memory_pool_handle_t() const
    {
        return handle_;
    }

  private:
    umf_memory_pool_handle_t handle_;
};

umf_memory_provider_t provider_with_pages(size_t page_bytes)
{
    return { page_bytes, UMF_RESULT_SUCCESS, 0 };
}

TEST_CASE("memory comes from the provider and goes back")
{
    umf_memory_provider_t provider = provider_with_pages(4096);
    {
        umf_pool pool(provider);
        void *address = umfPoolMalloc(pool, 1000);
        REQUIRE(address);
        CHECK(reinterpret_cast<std::uintptr_t>(address) % 256 == 0);
        CHECK(provider.live_bytes == TARN_INITIAL_BYTES_DEFAULT);
        CHECK(umfPoolFree(pool, address) == UMF_RESULT_SUCCESS);
        CHECK(umfPoolFree(pool, nullptr) == UMF_RESULT_SUCCESS);
    }
    CHECK(provider.live_bytes == 0);
}

TEST_CASE("alignments, also larger ones than the provider's pages, and small pages")
{
    for (size_t page_bytes : { size_t{ 1 }, size_t{ 64 }, size_t{ 4096 }, size_t{ 2 } << 20 }) {
        umf_memory_provider_t provider = provider_with_pages(page_bytes);
        umf_pool pool(provider);
        for (size_t alignment = 1; alignment <= 65536; alignment *= 2) {
            void *address = umfPoolAlignedMalloc(pool, 100, alignment);
            REQUIRE(address);
            CHECK(reinterpret_cast<std::uintptr_t>(address) % alignment == 0);
            CHECK(umfPoolFree(pool, address) == UMF_RESULT_SUCCESS);
        }
        CHECK(umfPoolAlignedMalloc(pool, 100, 3) == nullptr);
        CHECK(umfPoolGetLastAllocationError(pool) == UMF_RESULT_ERROR_INVALID_ALIGNMENT);
    }
}

TEST_CASE("zero bytes have an address of their own")
{
    umf_memory_provider_t provider = provider_with_pages(4096);
    umf_pool pool(provider);
    void *first = umfPoolMalloc(pool, 0), *second = umfPoolMalloc(pool, 0);
    CHECK(first);
    CHECK(first != second);
    CHECK(umfPoolFree(pool, first) == UMF_RESULT_SUCCESS);
    CHECK(umfPoolFree(pool, second) == UMF_RESULT_SUCCESS);
}

TEST_CASE("the usable size is what may be used")
{
    umf_memory_provider_t provider = provider_with_pages(4096);
    umf_pool pool(provider);
    void *address = umfPoolMalloc(pool, 5000);
    size_t usable_bytes = 0;
    CHECK(umfPoolMallocUsableSize(pool, address, &usable_bytes) == UMF_RESULT_SUCCESS);
    CHECK(usable_bytes >= 5000);
    CHECK(umfPoolFree(pool, address) == UMF_RESULT_SUCCESS);
}

TEST_CASE("what would touch the memory is not supported")
{
    umf_memory_provider_t provider = provider_with_pages(4096);
    umf_pool pool(provider);
    CHECK(umfPoolCalloc(pool, 1, 100) == nullptr);
    CHECK(umfPoolGetLastAllocationError(pool) == UMF_RESULT_ERROR_NOT_SUPPORTED);
    void *address = umfPoolMalloc(pool, 100);
    CHECK(umfPoolRealloc(pool, address, 200) == nullptr);
    CHECK(umfPoolGetLastAllocationError(pool) == UMF_RESULT_ERROR_NOT_SUPPORTED);
    CHECK(umfPoolFree(pool, address) == UMF_RESULT_SUCCESS);
}

TEST_CASE("a limit holds, and a shortage has UMF's result")
{
    umf_memory_provider_t provider = provider_with_pages(4096);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = 1 << 20;
    umf_pool pool(provider, &options);
    CHECK(umfPoolMalloc(pool, 2 << 20) == nullptr);
    CHECK(umfPoolGetLastAllocationError(pool) == UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    CHECK(umfPoolMalloc(pool, SIZE_MAX) == nullptr);
    CHECK(umfPoolGetLastAllocationError(pool) == UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY);
}

TEST_CASE("failures of the provider reach the caller with their code")
{
    umf_memory_provider_t provider = provider_with_pages(4096);
    umf_pool pool(provider);
    provider.alloc_result = UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    CHECK(umfPoolMalloc(pool, 100) == nullptr);
    CHECK(umfPoolGetLastAllocationError(pool) == UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    provider.alloc_result = UMF_RESULT_ERROR_MEMORY_PROVIDER_SPECIFIC;
    CHECK(umfPoolMalloc(pool, 100) == nullptr);
    CHECK(umfPoolGetLastAllocationError(pool) == UMF_RESULT_ERROR_MEMORY_PROVIDER_SPECIFIC);
    CHECK(tarn_last_error().vendor_code == 1234);
}

TEST_CASE("wrong frees and wrong options are refused")
{
    umf_memory_provider_t provider = provider_with_pages(4096);
    umf_pool pool(provider);
    void *address = umfPoolMalloc(pool, 1000);
    CHECK(umfPoolFree(pool, static_cast<char *>(address) + 8) == UMF_RESULT_ERROR_INVALID_ARGUMENT);
    CHECK(umfPoolFree(pool, address) == UMF_RESULT_SUCCESS);
    CHECK(umfPoolFree(pool, address) == UMF_RESULT_ERROR_INVALID_ARGUMENT);

    const umf_memory_pool_ops_t operations = tarn_umf_pool_ops();
    umf_memory_pool_handle_t refused;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.chunk_bytes = 1000;
    CHECK(umfPoolCreate(&operations, &provider, &options, 0, &refused) ==
          UMF_RESULT_ERROR_INVALID_ARGUMENT);
    options = TARN_POOL_OPTIONS_INIT;
    options.contiguous = true;
    CHECK(umfPoolCreate(&operations, &provider, &options, 0, &refused) ==
          UMF_RESULT_ERROR_NOT_SUPPORTED);
    tarn_backend backend = {};
    options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    CHECK(umfPoolCreate(&operations, &provider, &options, 0, &refused) ==
          UMF_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a trim gives unused memory back")
{
    umf_memory_provider_t provider = provider_with_pages(4096);
    umf_pool pool(provider);
    CHECK(umfPoolFree(pool, umfPoolMalloc(pool, 1000)) == UMF_RESULT_SUCCESS);
    CHECK(provider.live_bytes > 0);
    CHECK(umfPoolTrimMemory(pool, 0) == UMF_RESULT_SUCCESS);
    CHECK(provider.live_bytes == 0);
}

TEST_CASE("the end of a pool with live allocations is told, and gives all back")
{
    umf_memory_provider_t provider = provider_with_pages(4096);
    umf_pool pool(provider);
    CHECK(umfPoolMalloc(pool, 1000));
    CHECK(umfPoolDestroy(pool.release()) == UMF_RESULT_ERROR_USER_SPECIFIC);
    CHECK(provider.live_bytes == 0);
}

TEST_CASE("the pool has a name, also before there is one")
{
    const umf_memory_pool_ops_t operations = tarn_umf_pool_ops();
    const char *name = nullptr;
    CHECK(operations.get_name(nullptr, &name) == UMF_RESULT_SUCCESS);
    CHECK(std::string(name) == "tarn");
}

} // namespace
