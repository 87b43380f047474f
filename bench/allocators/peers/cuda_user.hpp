/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_user: the device and the stream of one thread that uses an allocator which calls CUDA's runtime
 * itself.
 *
 * An adapter derives its own user from tn_cuda_user, and defines a function start_user, which calls
 * tn_cuda_start and writes the reason of a failure. The adapter's state has a field `user`, for the calls of
 * one thread alone.
 */
#ifndef TN_CUDA_USER_HPP
#define TN_CUDA_USER_HPP

#include <cuda_runtime_api.h>
#include <new>
#include <type_traits>

#include "../allocator.h"

struct tn_cuda_user {
    int device = 0;
    bool has_one_stream = false; /* all threads share the adapter's */
    cudaStream_t stream = nullptr;
    bool owns_stream = true;
};

/* The runtime keeps a thread's last error, and other code in the program would take it for its own. */
inline void tn_forget_cuda_errors()
{
    (void)cudaGetLastError();
}

/* The calling thread uses the device from then on. */
inline cudaError_t tn_cuda_start(tn_cuda_user *user)
{
    tn_forget_cuda_errors();
    cudaError_t error = cudaSetDevice(user->device);
    if (error == cudaSuccess && user->owns_stream)
        error = cudaStreamCreateWithFlags(&user->stream, cudaStreamNonBlocking);
    return error;
}

inline void tn_cuda_end(tn_cuda_user *user)
{
    if (!user->owns_stream) return;
    cudaStreamSynchronize(user->stream);
    cudaStreamDestroy(user->stream);
    tn_forget_cuda_errors();
}

/* --- one of several threads, as tn_allocator has it ------------------------------------------------- */

template <typename Whole>
tarn_status tn_cuda_open_thread(void *state, tn_allocator_thread *thread_inout,
                                tn_reason *reason_out)
{
    const auto *whole = static_cast<const Whole *>(state);
    auto *user = new (std::nothrow) decltype(Whole::user)(whole->user);
    if (!user) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    user->owns_stream = !thread_inout->stream && !user->has_one_stream;
    if (thread_inout->stream) user->stream = static_cast<cudaStream_t>(thread_inout->stream);
    tarn_status status = start_user(user, reason_out);
    if (status != TARN_STATUS_OK) {
        delete user;
        return status;
    }
    thread_inout->state = user;
    thread_inout->has_stream = user->owns_stream;
    return TARN_STATUS_OK;
}

template <typename Whole> void tn_cuda_close_thread(void *state)
{
    auto *user = static_cast<decltype(Whole::user) *>(state);
    tn_cuda_end(user);
    delete user;
}

#endif
