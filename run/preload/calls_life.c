/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* calls_life: the end of contexts and of streams, and captures. */
#include "captures.h"
#include "context_pools.h"
#include "give_way.h"
#include "pass.h"
#include "peers.h"

/* --- contexts ---------------------------------------------------------------------------------------- */

/* A green context shares its memory with the device's primary context, whose work an event on it would not cover. */
tn_cuda_error tn_call_cuCtxFromGreenCtx(void **context, void *green_context)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuCtxFromGreenCtx)) return TN_CUDA_NOT_INITIALIZED;
    tn_cuda_error error = TN_DRIVER_CALL(driver, cuCtxFromGreenCtx)(context, green_context);
    if (error == TN_CUDA_SUCCESS && *context && !tn_context_pools_are_of_parent())
        tn_context_pools_refuse(*context);
    return error;
}

/* The context has ended, or the driver has refused that. */
static tn_cuda_error end(struct tn_ending_pool ending, tn_cuda_error error)
{
    if (error == TN_CUDA_SUCCESS)
        tn_context_pools_abandon(ending);
    else
        tn_context_pools_put_back(ending);
    return error;
}

#define DESTROY_CONTEXT(symbol)                                             \
    tn_cuda_error tn_call_##symbol(void *context)                           \
    {                                                                       \
        const struct tn_driver *driver = tn_driver_find();                  \
        if (!TN_DRIVER_HAS(driver, symbol)) return TN_CUDA_NOT_INITIALIZED; \
        struct tn_ending_pool ending = tn_context_pools_take(context);      \
        tn_peers_forget(context);                                           \
        return end(ending, TN_DRIVER_CALL(driver, symbol)(context));        \
    }
DESTROY_CONTEXT(cuCtxDestroy)
DESTROY_CONTEXT(cuCtxDestroy_v2)

#define RESET_PRIMARY(symbol)                                                 \
    tn_cuda_error tn_call_##symbol(int device)                                \
    {                                                                         \
        const struct tn_driver *driver = tn_driver_find();                    \
        if (!TN_DRIVER_HAS(driver, symbol)) return TN_CUDA_NOT_INITIALIZED;   \
        struct tn_ending_pool ending = tn_context_pools_take_primary(device); \
        return end(ending, TN_DRIVER_CALL(driver, symbol)(device));           \
    }
RESET_PRIMARY(cuDevicePrimaryCtxReset)
RESET_PRIMARY(cuDevicePrimaryCtxReset_v2)

/* The last release ends the context. The driver tells only afterwards which one that was. */
static void end_released(const struct tn_driver *driver, int device)
{
    unsigned flags;
    int is_active = 1;
    if (driver->get_primary_state && !tn_context_pools_are_of_parent() &&
        driver->get_primary_state(device, &flags, &is_active) == TN_CUDA_SUCCESS && !is_active)
        tn_context_pools_abandon(tn_context_pools_take_primary(device));
}

#define RELEASE_PRIMARY(symbol)                                             \
    tn_cuda_error tn_call_##symbol(int device)                              \
    {                                                                       \
        const struct tn_driver *driver = tn_driver_find();                  \
        if (!TN_DRIVER_HAS(driver, symbol)) return TN_CUDA_NOT_INITIALIZED; \
        tn_cuda_error error = TN_DRIVER_CALL(driver, symbol)(device);       \
        if (error == TN_CUDA_SUCCESS) end_released(driver, device);         \
        return error;                                                       \
    }
RELEASE_PRIMARY(cuDevicePrimaryCtxRelease)
RELEASE_PRIMARY(cuDevicePrimaryCtxRelease_v2)

/* --- streams ----------------------------------------------------------------------------------------- */

/* The next stream may get the same handle. */
static void retire(void *stream)
{
    if (!stream || tn_pass_is_asked() || tn_context_pools_are_of_parent()) return;
    tn_pass_enter_pool();
    (void)tarn_stream_retire(stream);
    tn_pass_leave_pool();
}

/* A capture of the stream ends with it. */
#define DESTROY_STREAM(symbol)                                              \
    tn_cuda_error tn_call_##symbol(void *stream)                            \
    {                                                                       \
        const struct tn_driver *driver = tn_driver_find();                  \
        if (!TN_DRIVER_HAS(driver, symbol)) return TN_CUDA_NOT_INITIALIZED; \
        retire(stream);                                                     \
        tn_cuda_error error = TN_DRIVER_CALL(driver, symbol)(stream);       \
        if (stream && tn_captures_end(stream)) tn_calls_free_held(driver);  \
        return error;                                                       \
    }
DESTROY_STREAM(cuStreamDestroy)
DESTROY_STREAM(cuStreamDestroy_v2)

/* --- captures ---------------------------------------------------------------------------------------- */

static void *stream_of_thread(void *stream)
{
    return stream ? stream : TN_CUDA_STREAM_PER_THREAD;
}

/* Noted before the driver begins, so that no pool works on streams in between. */
#define BEGIN_CAPTURE(symbol, of_thread, parameters, arguments)                       \
    tn_cuda_error tn_call_##symbol parameters                                         \
    {                                                                                 \
        const struct tn_driver *driver = tn_driver_find();                            \
        if (!TN_DRIVER_HAS(driver, symbol)) return TN_CUDA_NOT_INITIALIZED;           \
        __typeof__(&tn_call_##symbol) next = TN_DRIVER_CALL(driver, symbol);          \
        bool is_new = tn_captures_begin(of_thread(stream));                           \
        tn_cuda_error error = next arguments;                                         \
        if (error != TN_CUDA_SUCCESS && is_new && tn_captures_end(of_thread(stream))) \
            tn_calls_free_held(driver);                                               \
        return error;                                                                 \
    }

BEGIN_CAPTURE(cuStreamBeginCapture, , (void *stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, stream_of_thread, (void *stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_v2, , (void *stream, int mode), (stream, mode))
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, stream_of_thread, (void *stream, int mode),
              (stream, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph, ,
              (void *stream, void *graph, const void *nodes, const void *edges, size_t count,
               int mode),
              (stream, graph, nodes, edges, count, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph_ptsz, stream_of_thread,
              (void *stream, void *graph, const void *nodes, const void *edges, size_t count,
               int mode),
              (stream, graph, nodes, edges, count, mode))

/* After any other answer the capture has ended, if there was one. */
static tn_cuda_error end_capture(const struct tn_driver *driver, void *stream, tn_cuda_error error)
{
    if (error != TN_CUDA_CAPTURE_WRONG_THREAD && tn_captures_end(stream))
        tn_calls_free_held(driver);
    return error;
}

tn_cuda_error tn_call_cuStreamEndCapture(void *stream, void **graph)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuStreamEndCapture)) return TN_CUDA_NOT_INITIALIZED;
    return end_capture(driver, stream, TN_DRIVER_CALL(driver, cuStreamEndCapture)(stream, graph));
}

tn_cuda_error tn_call_cuStreamEndCapture_ptsz(void *stream, void **graph)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuStreamEndCapture_ptsz)) return TN_CUDA_NOT_INITIALIZED;
    return end_capture(driver, stream_of_thread(stream),
                       TN_DRIVER_CALL(driver, cuStreamEndCapture_ptsz)(stream, graph));
}
