/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A pool, an array on a stream, and host memory that the device can copy from. Runs over host memory too. */
#include <cstdio>
#include <exception>
#include <vector>

#include <tarn/memory_resource.hpp>
#include <tarn/pool.hpp>

int main()
try {
    tarn_stream stream = nullptr;
    tarn::pool pool;
    tarn::memory_resource pinned(tarn::device_pool(TARN_MEMORY_KIND_PINNED));

    auto field = tarn::make_device<double>(pool, 1000, stream); /* field.get() for a kernel */
    std::pmr::vector<double> staging(1000, 1.5, &pinned);       /* staging.data() for a copy */
    std::printf("%s, %s\n", field ? "device" : "none", staging[999] == 1.5 ? "host" : "none");
} catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
