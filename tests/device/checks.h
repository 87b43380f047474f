/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* checks: calls that must succeed. One that does not ends the program, with the place and the reason. */
#ifndef TEST_CHECKS_H
#define TEST_CHECKS_H

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#include "tarn/tarn.h"

enum exit_code {
    EXIT_WRONG = 1,
    EXIT_USAGE = 2,
    EXIT_STUCK = 3,
    EXIT_NO_DEVICE = 77 /* CTest reports it as skipped */
};

[[noreturn]] inline void die(int code)
{
    std::fflush(nullptr);
    std::_Exit(code);
}

inline void check_cuda(cudaError_t error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorName(error),
                 cudaGetErrorString(error));
    die(EXIT_WRONG);
}

#define CUDA(call) check_cuda((call), #call, __FILE__, __LINE__)

/* A call of tarn also leaves no error behind in the runtime. */
inline void check_tarn(tarn_status status, const char *call, const char *file, int line)
{
    if (status != TARN_STATUS_OK) {
        std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, tarn_last_error().message);
        die(EXIT_WRONG);
    }
    check_cuda(cudaGetLastError(), call, file, line);
}

#define TARN(call) check_tarn((call), #call, __FILE__, __LINE__)

inline void check_claim(bool holds, const char *claim, const char *file, int line)
{
    if (holds) return;
    std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, claim);
    die(EXIT_WRONG);
}

/* Ends the program where there is no device: as skipped, unless one is expected. */
inline void expect_device()
{
    int device_count = 0;
    if (cudaGetDeviceCount(&device_count) == cudaSuccess && device_count > 0) return;
    std::fprintf(stderr, "there is no device\n");
    die(std::getenv("TARN_EXPECT_DEVICE") ? EXIT_WRONG : EXIT_NO_DEVICE);
}

#define EXPECT(claim) check_claim((claim), #claim, __FILE__, __LINE__)

#endif
