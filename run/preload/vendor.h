/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * vendor: the functions of the process's libcuda or libamdhip64, past everything that is interposed. That library is never
 * linked and never loaded by tarn: it is there when the program uses it.
 *
 * Threads: any. Cost: finding it again is a load.
 */
#ifndef TN_VENDOR_H
#define TN_VENDOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "intercepted.h"

/* Of CUresult and hipError_t, which have the same numbers. */
enum {
    TN_ERROR_SUCCESS = 0,
    TN_ERROR_INVALID_VALUE = 1,
    TN_ERROR_OUT_OF_MEMORY = 2,
    TN_ERROR_NOT_INITIALIZED = 3,
    TN_ERROR_DEINITIALIZED = 4,
    TN_ERROR_NO_DEVICE = 100,
    TN_ERROR_INVALID_DEVICE = 101,
    TN_ERROR_INVALID_HANDLE = 400,
    TN_ERROR_NOT_READY = 600,
    TN_ERROR_NOT_SUPPORTED = 801,
    TN_ERROR_CAPTURE_WRONG_THREAD = 908,
    TN_ERROR_UNKNOWN = 999
};

#define TN_GRANULARITY_MINIMUM     0
#define TN_GRANULARITY_RECOMMENDED 1

#define TN_STREAM_LEGACY     ((void *)1)
#define TN_STREAM_PER_THREAD ((void *)2)

/* CUmemLocation, CUmemAllocationProp and CUmemAccessDesc, and HIP's hipMemLocation, hipMemAllocationProp and
 * hipMemAccessDesc, which end earlier or are the same. */
struct tn_vendor_location {
    int type, number;
};

struct tn_vendor_memory {
    int type;
    int handle_types;
    struct tn_vendor_location location;
    void *unused;
    unsigned char flags[8];
};

struct tn_vendor_access {
    struct tn_vendor_location location;
    int flags;
};

struct tn_vendor {
    tn_any_function intercepted[TN_CALL_COUNT]; /* NULL: the vendor does not have it */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define TN_VENDOR_FIELD(result, field, symbol, is_required, parameters) result(*field) parameters;
    TN_VENDOR_FUNCTIONS(TN_VENDOR_FIELD)
#undef TN_VENDOR_FIELD
    bool is_complete; /* all that is required is there */
};

/* The vendor's own function. */
#define TN_VENDOR_HAS(vendor, function) ((vendor) && (vendor)->intercepted[TN_CALL_##function])
#define TN_VENDOR_CALL(vendor, function) \
    ((__typeof__(&tn_call_##function))(vendor)->intercepted[TN_CALL_##function])

/* NULL: the vendor's library is not in the process. */
const struct tn_vendor *tn_vendor_find(void);

/* Whether an address lies in a library of the vendor's. The first such address settles which one is the process's. */
bool tn_vendor_note_library(const void *address);

/* Whether an address lies in this library. */
bool tn_vendor_is_own(const void *address);

/* Whether an address lies in a library whose file name begins so. */
bool tn_vendor_is_in_library(const void *address, const char *begin);

/* --- where vendors differ: cuda_context.c, hip_context.c ----------------------------------------------- */

/* HIP's programs have no contexts. There a context stands for a device, and is never NULL. */

/* The context that is current in the calling thread, or NULL. */
tn_vendor_error tn_vendor_get_context(const struct tn_vendor *vendor, void **context_out);
/* The device of the current context. */
tn_vendor_error tn_vendor_get_device(const struct tn_vendor *vendor, int *device_out);

/* Makes a context current, and after that the one that was current before. */
tn_vendor_error tn_vendor_enter(const struct tn_vendor *vendor, void *context);
void tn_vendor_leave(const struct tn_vendor *vendor, void *previous);

/* Whether a context is the device's primary one. */
tn_vendor_error tn_vendor_find_whether_primary(const struct tn_vendor *vendor, const void *context,
                                               int device, bool *is_primary_out);

/* The context of a stream. Where the vendor does not tell, *context_out stays. */
tn_vendor_error tn_vendor_find_stream_context(const struct tn_vendor *vendor, void *stream,
                                              void **context_out);

tn_vendor_error tn_vendor_copy_async(const struct tn_vendor *vendor, tn_vendor_address destination,
                                     tn_vendor_address source, size_t size_bytes, void *stream);

/* The name of an error that a call of a pool's has answered. The program's next question does not find that error. */
const char *tn_vendor_take_error(const struct tn_vendor *vendor, tn_vendor_error error);

/* The function that a caller gets in place of one of the table. */
tn_any_function tn_vendor_replacement_for(enum tn_call call, const void *caller);

#endif
