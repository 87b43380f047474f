/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* calls: calls to CUDA and tarn that must succeed. A failure ends the program with the place and the reason.
 * */
#ifndef TN_HEAP_BENCH_CALLS_H
#define TN_HEAP_BENCH_CALLS_H

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#include "tarn/tarn.h"

inline void check_cuda(cudaError_t error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorName(error),
                 cudaGetErrorString(error));
    std::exit(EXIT_FAILURE);
}

#define CUDA(call) check_cuda((call), #call, __FILE__, __LINE__)

inline void check_tarn(tarn_status status, const char *call, const char *file, int line)
{
    if (status == TARN_STATUS_OK) return;
    std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, tarn_last_error().message);
    std::exit(EXIT_FAILURE);
}

#define TARN(call) check_tarn((call), #call, __FILE__, __LINE__)

#endif
