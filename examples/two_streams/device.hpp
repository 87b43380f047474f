/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device: streams, kernels and copies, on a GPU with CUDA's compiler, and on the host with any other.
 *
 * The only file of the program that differs. All functions end the program if a call fails.
 */
#ifndef DEVICE_HPP
#define DEVICE_HPP

#include <stdio.h>
#include <stdlib.h>

#include <tarn/tarn.h>

inline void expect_ok(tarn_status status)
{
    if (status == TARN_STATUS_OK) return;
    fprintf(stderr, "%s: %s\n", tarn_status_name(status), tarn_last_error().message);
    exit(EXIT_FAILURE);
}

#ifdef __CUDACC__

#include <cuda_runtime.h>

#define ON_DEVICE __device__

inline void expect_ok(cudaError_t error)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

inline tarn_stream create_stream()
{
    cudaStream_t stream;
    expect_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

inline void destroy_stream(tarn_stream stream)
{
    expect_ok(tarn_stream_retire(stream));
    expect_ok(cudaStreamDestroy((cudaStream_t)stream));
}

inline void synchronize(tarn_stream stream)
{
    expect_ok(cudaStreamSynchronize((cudaStream_t)stream));
}

/* Work submitted to `stream` from now on runs after the work submitted to `other` so far. */
inline void wait_for(tarn_stream stream, tarn_stream other)
{
    cudaEvent_t event;
    expect_ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    expect_ok(cudaEventRecord(event, (cudaStream_t)other));
    expect_ok(cudaStreamWaitEvent((cudaStream_t)stream, event, 0));
    expect_ok(cudaEventDestroy(event));
}

inline void copy(void *to, const void *from, size_t size_bytes, tarn_stream stream)
{
    expect_ok(cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDefault, (cudaStream_t)stream));
}

template <typename Body> __global__ void run_body(Body body, size_t count)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) body(i);
}

/* Submits body(i) for each i below count. */
template <typename Body> void for_each(size_t count, const Body &body, tarn_stream stream)
{
    run_body<<<(unsigned)((count + 255) / 256), 256, 0, (cudaStream_t)stream>>>(body, count);
    expect_ok(cudaGetLastError());
}

#else

#include <tarn/host.h>

#define ON_DEVICE

inline tarn_stream create_stream()
{
    tarn_stream stream;
    expect_ok(tarn_host_stream_create(&stream));
    return stream;
}

inline void destroy_stream(tarn_stream stream)
{
    expect_ok(tarn_stream_retire(stream));
    expect_ok(tarn_host_stream_destroy(stream));
}

inline void synchronize(tarn_stream stream)
{
    expect_ok(tarn_host_stream_synchronize(stream));
}

/* Work submitted to `stream` from now on runs after the work submitted to `other` so far. */
inline void wait_for(tarn_stream stream, tarn_stream other)
{
    tarn_event event;
    expect_ok(tarn_host_event_create(&event));
    expect_ok(tarn_host_event_record(event, other));
    expect_ok(tarn_host_stream_wait_event(stream, event));
    expect_ok(tarn_host_event_destroy(event));
}

inline void copy(void *to, const void *from, size_t size_bytes, tarn_stream stream)
{
    expect_ok(tarn_host_copy(to, from, size_bytes, stream));
}

template <typename Body> struct loop {
    Body body;
    size_t count;
};

template <typename Body> void run_loop(void *argument)
{
    const loop<Body> *it = static_cast<loop<Body> *>(argument);
    for (size_t i = 0; i < it->count; i++)
        it->body(i);
}

/* Submits body(i) for each i below count. */
template <typename Body> void for_each(size_t count, const Body &body, tarn_stream stream)
{
    const loop<Body> argument = { body, count };
    expect_ok(tarn_host_launch(run_loop<Body>, &argument, sizeof argument, stream));
}

#endif

#endif
