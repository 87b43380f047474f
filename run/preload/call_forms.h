/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * call_forms: functions that programs get in place of the vendor's, as far as several have one form. A macro defines the
 * function tn_call_<function>, whose declaration is in the vendor's table.
 *
 * A function that the vendor does not have answers NOT_INITIALIZED. No look-up finds it.
 */
#ifndef TN_CALL_FORMS_H
#define TN_CALL_FORMS_H

#include "captures.h"
#include "context_pools.h"
#include "give_way.h"
#include "notes.h"
#include "own_pools.h"
#include "recording.h"
#include "vendor.h"

/* Begins a function: `vendor`, and `next`, the vendor's own. */
#define TN_BEGIN_CALL(function)                                            \
    const struct tn_vendor *vendor = tn_vendor_find();                     \
    if (!TN_VENDOR_HAS(vendor, function)) return TN_ERROR_NOT_INITIALIZED; \
    __typeof__(&tn_call_##function) next = TN_VENDOR_CALL(vendor, function)

/* --- memory ------------------------------------------------------------------------------------------ */

/* Stream-ordered calls of any form. `pool_stream` is the stream as the pools take it. */
tn_vendor_error tn_calls_alloc_async(enum tn_call function, tn_vendor_address *address,
                                     size_t size_bytes, void *stream, void *pool_stream);
tn_vendor_error tn_calls_free_async(enum tn_call function, tn_vendor_address address, void *stream,
                                    void *pool_stream);

/* The vendor has served an allocation, or failed to. Return its answer. */
tn_vendor_error tn_calls_end_alloc(struct tn_vendor_call call, tn_vendor_address address,
                                   size_t size_bytes, const void *stream);
tn_vendor_error tn_calls_end_failed_alloc(struct tn_vendor_call call, tn_vendor_error error);

/* The default stream of a function for per-thread default streams is the calling thread's own. */
static inline void *tn_stream_of_thread(void *stream)
{
    return stream ? stream : TN_STREAM_PER_THREAD;
}

/* Memory that stays the vendor's. */
#define TN_PASS(function, reason, parameters, arguments)         \
    tn_vendor_error tn_call_##function parameters                \
    {                                                            \
        TN_BEGIN_CALL(function);                                 \
        tn_notes_passed(TN_CALL_##function, TN_REASON_##reason); \
        return TN_GIVE_WAY(next arguments);                      \
    }

/* Memory that the vendor's free takes, which counts it. */
#define TN_PASS_ALLOC(function, parameters, arguments, size_bytes, stream)                        \
    tn_vendor_error tn_call_##function parameters                                                 \
    {                                                                                             \
        TN_BEGIN_CALL(function);                                                                  \
        struct tn_vendor_call call = tn_recording_begin();                                        \
        tn_notes_passed(TN_CALL_##function, TN_REASON_KIND);                                      \
        tn_vendor_error error = TN_GIVE_WAY(next arguments);                                      \
        return error == TN_ERROR_SUCCESS ? tn_calls_end_alloc(call, *address, size_bytes, stream) \
                                         : tn_calls_end_failed_alloc(call, error);                \
    }

/* Page-locked memory of the host, which is of interest for a recording alone. */
#define TN_PASS_HOST_ALLOC(function, parameters, arguments)                            \
    tn_vendor_error tn_call_##function parameters                                      \
    {                                                                                  \
        TN_BEGIN_CALL(function);                                                       \
        struct tn_vendor_call call = tn_recording_begin();                             \
        tn_vendor_error error = next arguments;                                        \
        tn_recording_end_host_alloc(call, error == TN_ERROR_SUCCESS ? *address : NULL, \
                                    size_bytes);                                       \
        return error;                                                                  \
    }

#define TN_PASS_HOST_FREE(function)                        \
    tn_vendor_error tn_call_##function(void *address)      \
    {                                                      \
        TN_BEGIN_CALL(function);                           \
        struct tn_vendor_call call = tn_recording_begin(); \
        tn_vendor_error error = next(address);             \
        tn_recording_end_free(call, error, address, NULL); \
        return error;                                      \
    }

/* The program sets up a pool of the vendor's. */
#define TN_SET_POOL(function, parameters, arguments) \
    tn_vendor_error tn_call_##function parameters    \
    {                                                \
        TN_BEGIN_CALL(function);                     \
        tn_own_pools_note();                         \
        return next arguments;                       \
    }

/* --- contexts and streams ---------------------------------------------------------------------------- */

/* A stream that is about to end: the next one may get its handle. */
void tn_calls_retire(void *stream);

/* Frees that were held while a stream was captured. */
void tn_calls_free_held(const struct tn_vendor *vendor);

/* The current context becomes a peer. */
#define TN_ENABLE_PEER(function, parameters, arguments)               \
    tn_vendor_error tn_call_##function parameters                     \
    {                                                                 \
        TN_BEGIN_CALL(function);                                      \
        tn_vendor_error error = next arguments;                       \
        if (error == TN_ERROR_SUCCESS) tn_peers_note_current(vendor); \
        return error;                                                 \
    }

/* A capture of the stream ends with it. */
#define TN_DESTROY_STREAM(function)                                        \
    tn_vendor_error tn_call_##function(void *stream)                       \
    {                                                                      \
        TN_BEGIN_CALL(function);                                           \
        tn_calls_retire(stream);                                           \
        tn_vendor_error error = next(stream);                              \
        if (stream && tn_captures_end(stream)) tn_calls_free_held(vendor); \
        return error;                                                      \
    }

/* --- captures ---------------------------------------------------------------------------------------- */

/* Noted before the vendor begins, so that no pool works on streams in between. */
#define TN_BEGIN_CAPTURE(function, of_thread, parameters, arguments)                   \
    tn_vendor_error tn_call_##function parameters                                      \
    {                                                                                  \
        TN_BEGIN_CALL(function);                                                       \
        bool is_new = tn_captures_begin(of_thread(stream));                            \
        tn_vendor_error error = next arguments;                                        \
        if (error != TN_ERROR_SUCCESS && is_new && tn_captures_end(of_thread(stream))) \
            tn_calls_free_held(vendor);                                                \
        return error;                                                                  \
    }

/* If another thread has begun the capture, it goes on. After any other answer it has ended, if there was one. */
#define TN_END_CAPTURE(function, of_thread)                                               \
    tn_vendor_error tn_call_##function(void *stream, void **graph)                        \
    {                                                                                     \
        TN_BEGIN_CALL(function);                                                          \
        tn_vendor_error error = next(stream, graph);                                      \
        if (error != TN_ERROR_CAPTURE_WRONG_THREAD && tn_captures_end(of_thread(stream))) \
            tn_calls_free_held(vendor);                                                   \
        return error;                                                                     \
    }

#endif
