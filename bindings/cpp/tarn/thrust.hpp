// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tarn/thrust.hpp: a pool under Thrust's vectors, and under the memory that its algorithms need meanwhile.
//
//     #include <tarn/thrust.hpp>
//
//     thrust::device_vector<double, tarn::thrust_allocator<double>> field(n, tarn::thrust_allocator<double>(pool));
//
//     tarn::thrust_allocator<char> scratch(pool, stream);
//     thrust::sort(thrust::cuda::par_nosync(scratch).on(stream), field.begin(), field.end());
//
// An allocator names a pool, and does not own it. The pool must outlive its memory; see tarn/pool.hpp for what finds it if it
// does not. Made of nothing, it stands for the process-wide pool of the calling thread's current device.
//
// Streams. For scratch memory name the algorithm's stream. For a vector name none: Thrust fills and copies vectors on the
// default stream, and algorithms use them on any. Its memory may be used on any stream at once, and its free waits for all
// work that was submitted to the device before, as cudaFree does (TARN_STREAM_ANY). A pool without events refuses that: see
// tarn/pool.hpp. There name nullptr, the default stream.
//
// Threads. Any thread may use an allocator at any time.
// Cost: that of tarn_pool_alloc_on and tarn_pool_free_on. Without a stream a pair takes a lock and calls the vendor.
#ifndef TARN_THRUST_HPP
#define TARN_THRUST_HPP

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <thrust/device_ptr.h>
#include <thrust/device_reference.h>

#include "tarn/pool.hpp"

namespace tarn
{

template <class T> class thrust_allocator
{
  public:
    using value_type = T;
    using pointer = thrust::device_ptr<T>;
    using const_pointer = thrust::device_ptr<const T>;
    using reference = thrust::device_reference<T>;
    using const_reference = thrust::device_reference<const T>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using is_always_equal = std::false_type;
    // Memory goes with its pool: a vector that is moved or swapped takes its allocator along.
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    template <class U> struct rebind {
        using other = thrust_allocator<U>;
    };

    thrust_allocator() noexcept = default;

    explicit thrust_allocator(pool_ref pool, tarn_stream stream = TARN_STREAM_ANY) noexcept
        : pool_(pool), stream_(stream)
    {
    }

    template <class U>
    thrust_allocator(const thrust_allocator<U> &other) noexcept
        : pool_(other.pool()), stream_(other.stream())
    {
    }

    pool_ref pool() const noexcept
    {
        return pool_;
    }

    tarn_stream stream() const noexcept
    {
        return stream_;
    }

    // Throws what pool_ref::allocate does, and std::bad_array_new_length: the bytes are more than a size_t counts.
    pointer allocate(size_type count) const
    {
        if (count > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
        return pointer(static_cast<T *>(pool_.allocate(count * sizeof(T), stream_, alignof(T))));
    }

    // A free that is refused: see "Exceptions" of tarn/pool.hpp.
    void deallocate(pointer address, size_type) const noexcept
    {
        pool_.deallocate(address.get(), stream_);
    }

    // Equal allocators free each other's memory, on the stream of the one that frees.
    friend bool operator==(const thrust_allocator &left, const thrust_allocator &right) noexcept
    {
        return left.pool_ == right.pool_ && left.stream_ == right.stream_;
    }

    friend bool operator!=(const thrust_allocator &left, const thrust_allocator &right) noexcept
    {
        return !(left == right);
    }

  private:
    pool_ref pool_;
    tarn_stream stream_ = TARN_STREAM_ANY;
};

} // namespace tarn

#endif
