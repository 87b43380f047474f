// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An array of Ginkgo's in memory of tarn, without a GPU.
#include <cstdio>
#include <memory>

#include <ginkgo/ginkgo.hpp>

#include <tarn/ginkgo.hpp>

int main()
{
    auto executor = gko::ReferenceExecutor::create(std::make_shared<tarn::ginkgo_cpu_allocator>());
    gko::array<double> field(executor, 1000);
    field.get_data()[0] = 1;
    std::printf("the array is at %p\n", static_cast<void *>(field.get_data()));
}
