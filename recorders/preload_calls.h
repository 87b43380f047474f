/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * preload_calls: macros that define an interposed function of a vendor. CUDA and HIP are alike: an error is
 * an int, 0 is success, and the first parameter of an allocation is void **address. The including file
 * defines `source`, the origin of its calls.
 */
#ifndef TN_PRELOAD_CALLS_H
#define TN_PRELOAD_CALLS_H

#include <stddef.h>

#include "base/compiler.h"

#include "next_function.h"
#include "process_recording.h"

#define EXPORT __attribute__((visibility("default")))

/* cudaErrorInitializationError, CUDA_ERROR_NOT_INITIALIZED, hipErrorNotInitialized */
#define NO_RUNTIME 3

/* Finds the vendor's function as a pointer `next`, or returns the error for a missing runtime. */
#define FIND_NEXT(function, no_runtime)                                              \
    static struct tn_next_function next_##function = { .name = #function };          \
    __typeof__(&(function)) next =                                                   \
        (__typeof__(&(function)))tn_next_function_find(&next_##function, TN_CALLER); \
    if (!next) return no_runtime

/* An allocation of size_bytes on `stream`. `arguments` begin with void **address. */
#define ALLOC(function, parameters, arguments, size_bytes, stream)               \
    EXPORT int function parameters;                                              \
    EXPORT int function parameters                                               \
    {                                                                            \
        FIND_NEXT(function, NO_RUNTIME);                                         \
        struct tn_vendor_call call = tn_vendor_call_begin(source);               \
        int error = next arguments;                                              \
        tn_vendor_call_end_alloc(call, error == 0, error == 0 ? *address : NULL, \
                                 error == 0 ? (size_bytes) : 0, stream);         \
        return error;                                                            \
    }

/* An allocation of page-locked host memory, recorded only on request. */
#define ALLOC_HOST(function, parameters, arguments)                                   \
    EXPORT int function parameters;                                                   \
    EXPORT int function parameters                                                    \
    {                                                                                 \
        FIND_NEXT(function, NO_RUNTIME);                                              \
        struct tn_vendor_call call = tn_vendor_call_begin(source);                    \
        int error = next arguments;                                                   \
        tn_vendor_call_end_alloc(call, error == 0 && tn_process_recording_has_host(), \
                                 error == 0 ? *address : NULL, size_bytes, NULL);     \
        return error;                                                                 \
    }

#define FREE(function, parameters, arguments, stream)               \
    EXPORT int function parameters;                                 \
    EXPORT int function parameters                                  \
    {                                                               \
        FIND_NEXT(function, NO_RUNTIME);                            \
        struct tn_vendor_call call = tn_vendor_call_begin(source);  \
        int error = next arguments;                                 \
        tn_vendor_call_end_free(call, error == 0, address, stream); \
        return error;                                               \
    }

#endif
