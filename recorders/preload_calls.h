/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * preload_calls: how a function is made that stands in for one of a vendor's. CUDA's and HIP's are alike: an error is an
 * int, 0 is success, and the first parameter of an allocation is void **address. The file that includes this has a
 * `source`, whose calls they are.
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

/* Finds the vendor's function, as a pointer `next`; or returns that there is none. */
#define FIND_NEXT(function, no_runtime)                                              \
    static struct tn_next_function next_##function = { .name = #function };          \
    __typeof__(&(function)) next =                                                   \
        (__typeof__(&(function)))tn_next_function_find(&next_##function, TN_CALLER); \
    if (!next) return no_runtime

/* An allocation. `arguments` begin with void **address; what was allocated are size_bytes, on `stream`. */
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

/* The same of page-locked memory of the host, where that is asked for. */
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
