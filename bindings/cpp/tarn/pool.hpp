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
// sentence of tarn_last_error. A free throws nothing, and neither does the end of a pool. If one of these is refused,
// checked builds print the sentence and abort; the end of a pool, while an exception passes, prints alone. Other builds go
// on, since the pool has changed nothing. Checked builds are those without
// NDEBUG; to choose, define TARN_CHECK_FREES as 1 or 0. Files of one program must agree, in this or in NDEBUG: otherwise
// one of the two holds for all, and the linker chooses.
//
// So checked builds find a pool that ends before its memory, a second free, and memory that is freed to the wrong pool.
//
// Threads and streams are those of the calls in tarn/tarn.h. A tarn_stream is a cudaStream_t or hipStream_t.
#ifndef TARN_POOL_HPP
#define TARN_POOL_HPP

#if __cplusplus < 201703L
#error "tarn/pool.hpp needs C++17: compile with -std=c++17 or newer"
#endif

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <optional>
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

    // For what an adapter itself refuses.
    error(tarn_status status, const char *message)
        : std::runtime_error(message), status_(status), vendor_code_(0)
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

// For the status of a free where nothing may be thrown: prints the failure and aborts in checked builds, see "Exceptions".
inline void check_free(tarn_status status) noexcept
{
    if (!TARN_CHECK_FREES || status == TARN_STATUS_OK) return;
    std::fflush(nullptr);
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

    // Memory for use on `stream`, at a multiple of the pool's alignment_bytes, 256 by default, and of alignment_bytes, a
    // power of two. Without a stream it means what tarn_malloc means, also with free_waits; nullptr names the default stream.
    // Zero bytes have an address of their own. Throws bad_alloc, or error: the alignment is no power of two, or the stream
    // is of another device. An exception that the pool's on_out_of_memory throws passes through.
    void *allocate(std::size_t size_bytes, std::optional<tarn_stream> stream = std::nullopt,
                   std::size_t alignment_bytes = 1) const
    {
        void *address = nullptr;
        if (size_bytes == 0) size_bytes = 1;
        if (is_alignment_of_every_pool(alignment_bytes)) {
            check(stream ? allocate_on(size_bytes, *stream, &address)
                         : allocate_unnamed(size_bytes, &address));
        } else {
            tarn_pool *pool = resolve();
            check(stream ? tarn_pool_alloc_aligned_on(pool, size_bytes, alignment_bytes, *stream,
                                                      &address)
                         : tarn_pool_alloc_aligned(pool, size_bytes, alignment_bytes, &address));
        }
        return address;
    }

    // Frees memory that was used last on `stream`; TARN_STREAM_ANY: on any. Without a stream it means what tarn_free means.
    // Null is allowed. A free that is refused: see "Exceptions".
    void deallocate(void *address, std::optional<tarn_stream> stream = std::nullopt) const noexcept
    {
        check_free(stream ? free_on(address, *stream) : free_unnamed(address));
    }

    // The pool, for the calls of tarn/tarn.h. Throws what the first tarn_malloc of a process can answer.
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
    tarn_status allocate_on(std::size_t size_bytes, tarn_stream stream, void **address) const
    {
        return handle_ ? tarn_pool_alloc_on(handle_, size_bytes, stream, address)
                       : tarn_malloc_on(size_bytes, stream, address);
    }

    tarn_status allocate_unnamed(std::size_t size_bytes, void **address) const
    {
        return handle_ ? tarn_pool_alloc(handle_, size_bytes, address)
                       : tarn_malloc(size_bytes, address);
    }

    tarn_status free_on(void *address, tarn_stream stream) const noexcept
    {
        return handle_ ? tarn_pool_free_on(handle_, address, stream)
                       : tarn_free_on(address, stream);
    }

    tarn_status free_unnamed(void *address) const noexcept
    {
        return handle_ ? tarn_pool_free(handle_, address) : tarn_free(address);
    }

    static bool is_alignment_of_every_pool(std::size_t alignment_bytes) noexcept
    {
        bool is_power_of_two = alignment_bytes && !(alignment_bytes & (alignment_bytes - 1));
        return is_power_of_two && alignment_bytes <= TARN_ALIGNMENT_BYTES_MIN;
    }

    tarn_pool *handle_ = nullptr;
};

// The process-wide pool for memory of a kind, of the current device unless `device` is a number. Throws error if the device
// lacks the kind, and what the creation of the pool can answer.
inline pool_ref device_pool(tarn_memory_kind kind, int device = TARN_DEVICE_CURRENT)
{
    tarn_pool *pool = nullptr;
    check(tarn_device_pool(device, kind, &pool));
    return pool;
}

// Owns a pool. While allocations of it are live its end is refused, and the pool stays. Checked builds print what is live,
// with its labels, and abort; while an exception passes they print alone, so that it reaches its handler.
// A pool that was moved from owns nothing. It can be assigned to and destroyed.
class pool
{
  public:
    // Throws error: an option is refused, and what() names it; or there is no device.
    explicit pool(const tarn_pool_options &options)
    {
        check(tarn_pool_create(&options, &handle_));
    }

    pool() : pool(tarn_pool_options(TARN_POOL_OPTIONS_INIT))
    {
    }

    // Takes a pool of tarn_pool_create or tarn_pool_create_over, which ends with the result.
    static pool adopt(tarn_pool *handle) noexcept
    {
        return pool(handle);
    }

    pool(pool &&other) noexcept : handle_(other.release())
    {
    }

    // Ends the pool that was owned before.
    pool &operator=(pool &&other) noexcept
    {
        pool ends(std::exchange(handle_, other.release()));
        return *this;
    }

    ~pool()
    {
        if (tarn_pool_destroy(handle_) == TARN_STATUS_OK || !TARN_CHECK_FREES) return;
        std::fflush(nullptr);
        std::fprintf(stderr, "tarn: the end of a pool was refused: %s\n",
                     tarn_last_error().message);
        (void)tarn_pool_report_leaks(handle_, stderr);
        if (std::uncaught_exceptions() == exception_count_) std::abort();
    }

    // Null: it was moved from.
    tarn_pool *handle() const noexcept
    {
        return handle_;
    }

    // Gives the pool to the caller, for tarn_pool_destroy_forced or tarn_pool_abandon for example.
    tarn_pool *release() noexcept
    {
        return std::exchange(handle_, nullptr);
    }

    // Throws std::logic_error if it was moved from: pool_ref(nullptr) would name another pool.
    operator pool_ref() const
    {
        if (!handle_) throw std::logic_error("tarn::pool: it was moved from, and owns no pool");
        return pool_ref(handle_);
    }

  private:
    explicit pool(tarn_pool *handle) noexcept : handle_(handle)
    {
    }

    tarn_pool *handle_ = nullptr;
    int exception_count_ = std::uncaught_exceptions();
};

// -------------------------------------------------- facts about a pool's memory, for adapters ----

// The backend that the pool has its memory from. Both words are null if that is memory of the caller's. Throws error: the
// pool has ended.
inline tarn_backend backend_of(pool_ref pool)
{
    tarn_backend backend = {};
    const tarn_status status = tarn_pool_get_backend(pool.resolve(), &backend);
    if (status != TARN_STATUS_NOT_SUPPORTED) check(status);
    return backend;
}

// The properties of a backend that is there. Throws error: the vendor fails to tell.
inline tarn_device_properties properties_of(const tarn_backend &backend)
{
    tarn_device_properties properties = {};
    const tarn_backend_result result =
        backend.operations->get_properties(backend.state, &properties);
    if (result.status != TARN_STATUS_OK) {
        throw error(result.status, "the backend's get_properties failed");
    }
    return properties;
}

// Whether calls on a pool over the backend may name TARN_STREAM_ANY.
inline bool has_any_stream(const tarn_backend &backend) noexcept
{
    const tarn_backend_operations *operations = backend.operations;
    return operations && operations->event_create && operations->event_destroy &&
           operations->event_record && operations->event_query && operations->stream_wait_event &&
           operations->synchronize;
}

// ----------------------------------------------------------------------------------------- labels

// Names what the calling thread allocates in a scope, in every pool: tarn_label_push and tarn_label_pop. An empty name
// leaves the label that is there.
class label
{
  public:
    explicit label(const char *name) : is_pushed_(name[0] != '\0')
    {
        if (is_pushed_) tarn_label_push(name);
    }

    label(const label &) = delete;
    label &operator=(const label &) = delete;

    ~label()
    {
        if (is_pushed_) tarn_label_pop();
    }

  private:
    bool is_pushed_;
};

// --------------------------------------------------------------------------- owned device memory

// Frees on the stream that it was made with.
class device_delete
{
  public:
    device_delete() noexcept = default;

    device_delete(pool_ref pool, std::optional<tarn_stream> stream) noexcept
        : pool_(pool), stream_(stream)
    {
    }

    void operator()(void *address) const noexcept
    {
        pool_.deallocate(address, stream_);
    }

    std::optional<tarn_stream> stream() const noexcept
    {
        return stream_;
    }

    // The memory is freed on another stream than it was allocated on: the one that uses it last.
    void set_stream(std::optional<tarn_stream> stream) noexcept
    {
        stream_ = stream;
    }

  private:
    pool_ref pool_;
    std::optional<tarn_stream> stream_;
};

// An array in device memory. Host code must not read or write its elements.
template <class T> using unique_device_ptr = std::unique_ptr<T[], device_delete>;

// An array of `count` elements, for use on `stream`. No constructor runs: nothing is written to the memory. Throws what
// pool_ref::allocate does, and std::bad_array_new_length: the bytes are more than a size_t counts.
template <class T>
unique_device_ptr<T> make_device(pool_ref pool, std::size_t count,
                                 std::optional<tarn_stream> stream = std::nullopt)
{
    static_assert(!std::is_const_v<T>, "memory of constant elements would stay undefined");
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                  "nothing constructs or destroys elements in device memory");
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
    void *address = pool.allocate(count * sizeof(T), stream, alignof(T));
    return unique_device_ptr<T>(static_cast<T *>(address), device_delete(pool, stream));
}

} // namespace tarn

#endif
