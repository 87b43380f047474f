/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* support: what tests of bindings ask of pools, and a stream of the host. */
#ifndef TEST_SUPPORT_HPP
#define TEST_SUPPORT_HPP

#include <cstddef>

#include "tarn/host.h"
#include "tarn/pool.hpp"

inline tarn_allocation found_at(const void *address)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    tarn::check(tarn_pool_find(address, &found));
    return found;
}

inline std::size_t live_count(tarn::pool_ref pool)
{
    tarn_stats stats = TARN_STATS_INIT;
    tarn::check(tarn_pool_stats(pool.resolve(), &stats));
    return stats.live_count;
}

/* A stream of the host, or its handle as a vendor's type. Work on it runs only when a thread waits. */
template <class Handle> class basic_stream
{
  public:
    basic_stream()
    {
        tarn::check(tarn_host_stream_create(&handle));
    }

    basic_stream(const basic_stream &) = delete;

    ~basic_stream()
    {
        tarn::check_free(tarn_stream_retire(handle));
        tarn::check_free(tarn_host_stream_destroy(handle));
    }

    operator Handle() const
    {
        return static_cast<Handle>(handle);
    }

    tarn_stream handle = nullptr;
};

#endif
