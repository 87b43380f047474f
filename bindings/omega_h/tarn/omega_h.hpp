// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tarn/omega_h.hpp: arrays of Omega_h in tarn's memory. It defines the functions of Omega_h::KokkosPool, in place of those
// in Omega_h_pool_kokkos.cpp. Omega_h's own sources stay as they are:
//
//     #include <tarn/omega_h.hpp>          in exactly one source file of the program, or of a library to preload
//
//     ./mesh --osh-pool                    Omega_h asks its pool, now tarn
//
// If the program links libomega_h.a, or a shared libomega_h, its own definitions come first. A second file that includes
// this header is refused by the linker: "multiple definition". Omega_h must use Kokkos, 4.0 or newer, on Cuda, HIP or the
// host. Compile the file as Omega_h's are, with nvcc_wrapper for example.
//
// Memory. It comes from the process-wide pool for the device that Kokkos runs on, and for the kind of memory that Omega_h
// was built for. So Omega_h shares its pool with all else that calls tarn_malloc there. Options: the variables of the
// environment, or tarn_default_pool_configure before the first array. Arrays of zero elements have an address of their own,
// since Omega_h takes null as "does not exist".
//
// Streams. Each call names the stream of Kokkos' default instance, on which Omega_h runs all its work. A free does not wait
// for the device. Memory that the host can access, managed or pinned, is handed out again when the stream is done with it.
// A kernel of yours on another stream must have ended before the host lets its array go.
//
// Threads. Any thread may allocate and free; Omega_h's own counts of references are for one thread.
//
// Life. The pool is there from the first array until the process ends. Arrays may be freed after Kokkos::finalize.
// destroyGlobalPool, which Omega_h's Library calls at its end, gives unused memory back to the vendor.
//
// Errors. An allocation throws tarn::bad_alloc or tarn::error. A free of a wrong address throws tarn::error, as Omega_h's
// pool throws: in the destructor of an array that ends the program, with tarn's sentence.
//
// Cost: that of tarn_pool_alloc_on and tarn_pool_free_on, and a few nanoseconds. The counts (getNumChunks and others) are
// those of the whole pool, and take its lock.
#ifndef TARN_OMEGA_H_HPP
#define TARN_OMEGA_H_HPP

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <Omega_h_pool_kokkos.hpp>

#include "tarn/pool.hpp"

namespace tarn
{
namespace omega_h
{
namespace
{

constexpr bool is_on_host = std::is_same_v<Omega_h::Space, Kokkos::HostSpace>;

#if defined(OMEGA_H_MEM_SPACE_SHARED)
constexpr tarn_memory_kind kind_on_device = TARN_MEMORY_KIND_SHARED;
#elif defined(OMEGA_H_MEM_SPACE_HOSTPINNED)
constexpr tarn_memory_kind kind_on_device = TARN_MEMORY_KIND_PINNED;
#else
constexpr tarn_memory_kind kind_on_device = TARN_MEMORY_KIND_DEVICE;
#endif
constexpr tarn_memory_kind kind = is_on_host ? TARN_MEMORY_KIND_HOST : kind_on_device;

// Where an instance of Kokkos' works.
struct place {
    const char *backend; // as tarn_backend_name tells it
    int device;
    tarn_stream stream;
};

#ifdef KOKKOS_ENABLE_CUDA
inline place place_of(const Kokkos::Cuda &instance)
{
    return { "cuda", instance.cuda_device(), instance.cuda_stream() };
}
#endif

#ifdef KOKKOS_ENABLE_HIP
inline place place_of(const Kokkos::HIP &instance)
{
    return { "hip", instance.hip_device(), instance.hip_stream() };
}
#endif

template <class Instance> place place_of(const Instance &)
{
    static_assert(std::is_same_v<typename Instance::memory_space, Kokkos::HostSpace>,
                  "tarn serves Omega_h on Cuda, on HIP and on the host");
    return { tarn_backend_name(), TARN_DEVICE_CURRENT, nullptr };
}

tarn_pool *shared_pool = nullptr;                  // null until the first array
std::atomic<tarn_stream> kokkos_stream{ nullptr }; // null after Kokkos::finalize, and on the host

bool open_pool()
{
    if (!Kokkos::is_initialized()) {
        throw std::logic_error("tarn: an array of Omega_h's before Kokkos::initialize");
    }
    const place here = place_of(Omega_h::ExecSpace());
    if (std::strcmp(here.backend, tarn_backend_name()) != 0) {
        throw std::logic_error(std::string("tarn: Kokkos runs on ") + here.backend +
                               ", but this tarn was built for " + tarn_backend_name() +
                               " (TARN_BACKEND)");
    }
    tarn_pool *pool = nullptr;
    check(tarn_device_pool(here.device, kind, &pool));
    if (here.stream) {
        kokkos_stream = here.stream;
        Kokkos::push_finalize_hook([] { tarn_stream_retire(kokkos_stream.exchange(nullptr)); });
    }
    shared_pool = pool;
    return true;
}

inline tarn_pool *pool()
{
    static const bool is_open = open_pool();
    (void)is_open;
    return shared_pool;
}

inline tarn_stats stats()
{
    tarn_stats now = TARN_STATS_INIT;
    check(tarn_pool_stats(pool(), &now));
    return now;
}

} // namespace
} // namespace omega_h
} // namespace tarn

namespace Omega_h
{

KokkosPool::KokkosPool(std::size_t bytesPerChunks) : chunkSize(bytesPerChunks)
{
}

// The object has no members of use, and is never destroyed: its list's destructor is in Omega_h's file.
auto KokkosPool::getGlobalPool() -> KokkosPool &
{
    static KokkosPool &pool = *new KokkosPool(TARN_CHUNK_BYTES_DEFAULT);
    return pool;
}

auto KokkosPool::destroyGlobalPool() -> void
{
    if (tarn::omega_h::shared_pool) tarn_pool_trim(tarn::omega_h::shared_pool, 0, nullptr);
}

auto KokkosPool::allocate(std::size_t n) -> void *
{
    // The host may write at once to memory that it can access: no stream may still use it.
    constexpr bool is_for_host_too = tarn::omega_h::kind == TARN_MEMORY_KIND_SHARED ||
                                     tarn::omega_h::kind == TARN_MEMORY_KIND_PINNED;
    const tarn::pool_ref pool = tarn::omega_h::pool();
    return pool.allocate(n,
                         is_for_host_too ? TARN_STREAM_ANY : tarn::omega_h::kokkos_stream.load());
}

void KokkosPool::deallocate(void *data)
{
    tarn::check(tarn_pool_free_on(tarn::omega_h::pool(), data, tarn::omega_h::kokkos_stream));
}

auto KokkosPool::getNumAllocations() const -> unsigned
{
    return unsigned(tarn::omega_h::stats().live_count);
}

auto KokkosPool::getNumAllocatedChunks() const -> unsigned
{
    return unsigned(tarn::omega_h::stats().used_bytes / chunkSize);
}

auto KokkosPool::getNumFreeChunks() const -> unsigned
{
    return unsigned(tarn::omega_h::stats().free_bytes / chunkSize);
}

auto KokkosPool::getNumChunks() const -> unsigned
{
    return unsigned(tarn::omega_h::stats().footprint_bytes / chunkSize);
}

auto KokkosPool::getNumFreeFragments() const -> unsigned
{
    return unsigned(tarn::omega_h::stats().free_region_count);
}

auto KokkosPool::getChunkSize() const -> std::size_t
{
    return chunkSize;
}

} // namespace Omega_h

#endif
