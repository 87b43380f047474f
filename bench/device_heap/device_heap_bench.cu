/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap_bench: malloc and free in kernels, tarn's beside CUDA's and beside a bump pointer, in one run.
 *
 * Exit status: 0 no fault was found, 1 there were faults, 77 there is no device.
 */
#include "stage.cuh"
#include "tests.h"

namespace
{

enum {
    EXIT_NO_DEVICE = 77
};

/* The registers and the stack that the compiler gave a thread of the kernel that allocates. */
template <class Heap> std::string kernel_of()
{
    cudaFuncAttributes kernel;
    CUDA(cudaFuncGetAttributes(&kernel, get_alike<typename Heap::device_part>));
    return std::string(Heap::name) + ": " + std::to_string(kernel.numRegs) + " registers and " +
           std::to_string(kernel.localSizeBytes) + " bytes of stack a thread";
}

bool has_device()
{
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

} // namespace

int main(int argument_count, char **arguments)
{
    options options;
    int exit_status;
    if (!options_parse(argument_count, arguments, &options, &exit_status)) return exit_status;
    if (!has_device()) {
        std::fprintf(stderr, "device_heap_bench: there is no CUDA device\n");
        return EXIT_NO_DEVICE;
    }
    if (options.has_heap(cuda_heap::name)) cuda_heap::set_size(options.heap_bytes);
    const std::vector<std::string> kernels = { kernel_of<bump_heap>(), kernel_of<tarn_heap>(),
                                               kernel_of<cuda_heap>() };
    for (const std::string &kernel : kernels)
        std::printf("%s\n", kernel.c_str());

    report report;
    for (const test &test : all_tests)
        if (options.has_test(test.name)) test.run(options, report);
    if (!options.json_path.empty() && !report.write(options, kernels)) return EXIT_FAILURE;
    return report.has_faults() ? EXIT_FAILURE : EXIT_SUCCESS;
}
