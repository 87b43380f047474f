// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tarn/pool.hpp: pools in C++17. Pools end with their scope, failures are exceptions, and device memory has an owner.
//
//     #include <tarn/pool.hpp>
//
//     tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
//     options.limit_bytes = std::size_t{8} << 30;
//     tarn::pool pool(options);
//     auto field = tarn::make_device<double>(pool, 1000, stream);   // field.get() for a kernel on that stream
//                                                                   // freed on that stream at the end of the scope
//
// This header needs the C++ library alone, no vendor's header. It is the base of all other C++ bindings.
//
// Exceptions. tarn::bad_alloc, a std::bad_alloc, if memory is short; else tarn::error, a std::runtime_error. what() is the
// sentence of tarn_last_error. A free throws nothing: if it is refused, checked builds print the sentence and abort, and
// others go on, since the pool has changed nothing. Checked builds are those without NDEBUG; to choose, define
// TARN_CHECK_FREES as 1 or 0, alike in the whole program.
//
// Threads and streams are those of the calls in tarn/tarn.h. A tarn_stream is a cudaStream_t or hipStream_t.
#ifndef TARN_POOL_HPP
#define TARN_POOL_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "tarn/tarn.h"

#ifndef TARN_CHECK_FREES
#ifdef NDEBUG
#define TARN_CHECK_FREES 0
#else
#define TARN_CHECK_FREES 1
#endif
#endif

namespace tarn
{

// ------------------------------------------------------------------------------------- exceptions

class error : public std::runtime_error
{
  public:
    explicit error(const tarn_error &failure)
        : std::runtime_error(failure.message), status_(failure.status),
          vendor_code_(failure.vendor_code)
    {
    }

    tarn_status status() const noexcept
    {
        return status_;
    }

    // The vendor's error number; 0: no call of the vendor was the cause.
    int vendor_code() const noexcept
    {
        return vendor_code_;
    }

  private:
    tarn_status status_;
    int vendor_code_;
};

// Memory is short: of the device, below the pool's limit, or of the host.
class bad_alloc : public std::bad_alloc
{
  public:
    explicit bad_alloc(const tarn_error &failure) : report_(failure)
    {
    }

    const char *what() const noexcept override
    {
        return report_.what();
    }

    tarn_status status() const noexcept
    {
        return report_.status();
    }

  private:
    error report_; // copies of it share their text, so that copying throws nothing
};

inline bool is_shortage(tarn_status status) noexcept
{
    return status == TARN_STATUS_OUT_OF_MEMORY || status == TARN_STATUS_OVER_LIMIT ||
           status == TARN_STATUS_SIZE_TOO_LARGE || status == TARN_STATUS_OUT_OF_HOST_MEMORY;
}

// Throws the calling thread's last failure if the status is one.
inline void check(tarn_status status)
{
    if (status == TARN_STATUS_OK) return;
    if (is_shortage(status)) throw bad_alloc(tarn_last_error());
    throw error(tarn_last_error());
}

// For the status of a free in a destructor or another place that must not throw.
inline void check_free(tarn_status status) noexcept
{
    if (!TARN_CHECK_FREES || status == TARN_STATUS_OK) return;
    std::fprintf(stderr, "tarn: a free was refused: %s\n", tarn_last_error().message);
    std::abort();
}

// ------------------------------------------------------------------------------------------ pools

// Names a pool, and does not own it. A copy names the same pool. Made of nothing, it stands for the process-wide pool of
// whichever device is current in the calling thread, as tarn_malloc does.
class pool_ref
{
  public:
    pool_ref() noexcept = default;

    pool_ref(tarn_pool *handle) noexcept : handle_(handle)
    {
    }

    // Null: the process-wide pools.
    tarn_pool *handle() const noexcept
    {
        return handle_;
    }

    // Memory for use on `stream`, at a multiple of the pool's alignment_bytes, 256 by default, and of alignment_bytes.
    // Zero bytes have an address of their own.
    void *allocate(std::size_t size_bytes, tarn_stream stream = nullptr,
                   std::size_t alignment_bytes = 1) const
    {
        void *address = nullptr;
        if (size_bytes == 0) size_bytes = 1;
        if (alignment_bytes > TARN_ALIGNMENT_BYTES_MIN) {
            check(tarn_pool_alloc_aligned_on(resolve(), size_bytes, alignment_bytes, stream,
                                             &address));
        } else if (handle_) {
            check(tarn_pool_alloc_on(handle_, size_bytes, stream, &address));
        } else {
            check(tarn_malloc_on(size_bytes, stream, &address));
        }
        return address;
    }

    // Frees memory that was used last on `stream`. Null is allowed.
    void deallocate(void *address, tarn_stream stream = nullptr) const noexcept
    {
        check_free(handle_ ? tarn_pool_free_on(handle_, address, stream)
                           : tarn_free_on(address, stream));
    }

    // The pool, for the calls of tarn/tarn.h.
    tarn_pool *resolve() const
    {
        if (handle_) return handle_;
        tarn_pool *pool = nullptr;
        check(tarn_default_pool(&pool));
        return pool;
    }

    friend bool operator==(pool_ref left, pool_ref right) noexcept
    {
        return left.handle_ == right.handle_;
    }

    friend bool operator!=(pool_ref left, pool_ref right) noexcept
    {
        return !(left == right);
    }

  private:
    tarn_pool *handle_ = nullptr;
};

// Writes the properties of the pool's memory: its kind, and whether the host may use it. False, and nothing is written, for a
// pool over memory of the caller's.
inline bool get_properties(pool_ref pool, tarn_device_properties &properties)
{
    tarn_backend backend;
    const tarn_status status = tarn_pool_get_backend(pool.resolve(), &backend);
    if (status == TARN_STATUS_NOT_SUPPORTED) return false;
    check(status);
    const tarn_backend_result result =
        backend.operations->get_properties(backend.state, &properties);
    if (result.status == TARN_STATUS_OK) return true;
    throw error({ result.status, result.vendor_code, result.vendor_name,
                  "the backend does not tell what memory the pool has" });
}

// Owns a pool. While allocations of it are live its end is refused, as a free is: see "Exceptions". The pool then stays.
class pool
{
  public:
    pool() : pool(tarn_pool_options(TARN_POOL_OPTIONS_INIT))
    {
    }

    explicit pool(const tarn_pool_options &options)
    {
        check(tarn_pool_create(&options, &handle_));
    }

    pool(pool &&other) noexcept : handle_(std::exchange(other.handle_, nullptr))
    {
    }

    pool &operator=(pool &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }

    ~pool()
    {
        check_free(tarn_pool_destroy(handle_));
    }

    tarn_pool *handle() const noexcept
    {
        return handle_;
    }

    operator pool_ref() const noexcept
    {
        return pool_ref(handle_);
    }

  private:
    tarn_pool *handle_ = nullptr;
};

// --------------------------------------------------------------------------- owned device memory

// Frees on the stream that it was made with.
class device_delete
{
  public:
    device_delete() noexcept = default;

    device_delete(pool_ref pool, tarn_stream stream) noexcept : pool_(pool), stream_(stream)
    {
    }

    void operator()(void *address) const noexcept
    {
        pool_.deallocate(address, stream_);
    }

    tarn_stream stream() const noexcept
    {
        return stream_;
    }

    // The memory is freed on another stream than it was allocated on: the one that uses it last.
    void set_stream(tarn_stream stream) noexcept
    {
        stream_ = stream;
    }

  private:
    pool_ref pool_;
    tarn_stream stream_ = nullptr;
};

// An array in device memory. Host code must not read or write its elements.
template <class T> using unique_device_ptr = std::unique_ptr<T[], device_delete>;

// An array of `count` elements, for use on `stream`. No constructor runs: nothing is written to the memory.
template <class T>
unique_device_ptr<T> make_device(pool_ref pool, std::size_t count, tarn_stream stream = nullptr)
{
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                  "nothing constructs or destroys elements in device memory");
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
    void *address = pool.allocate(count * sizeof(T), stream, alignof(T));
    return unique_device_ptr<T>(static_cast<T *>(address), device_delete(pool, stream));
}

} // namespace tarn

#endif
