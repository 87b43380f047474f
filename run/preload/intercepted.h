/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * intercepted: the table of the vendor's functions that the library catches. Each has three names: one that is the same
 * for both vendors, that of the vendor's symbol, and that by which the vendor's own look-up (cuGetProcAddress,
 * hipGetProcAddress) knows it. CUDA's look-up knows it from a version on.
 *
 *     program ── linked symbol ─────────► the exported function  ──┐
 *             ── dlsym, dlvsym ─────────► lookup.c ────────────────┼─► tn_call_<name> ──► a pool, or the vendor
 *             ── the vendor's look-up ──► lookup.c ────────────────┘    calls_*.c
 *
 * The table is in cuda_table.h or hip_table.h. Its declarations match the vendor's: an error (CUresult,
 * hipError_t) is an int, a device address (CUdeviceptr, hipDeviceptr_t) a number of a pointer's size, every handle a
 * pointer. No header of the vendor's is needed.
 */
#ifndef TN_INTERCEPTED_H
#define TN_INTERCEPTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend_cuda_hip/gpu_table.h"

#if TN_RUN_HIP
#include "../hip/hip_table.h"
#else
#include "../cuda/cuda_table.h"
#endif

typedef tn_gpu_error tn_vendor_error;
typedef tn_gpu_address tn_vendor_address;

/* The default stream of a function: its handle NULL means the device's, or the calling thread's own. */
enum tn_default_stream {
    TN_STREAMS_ALL, /* the function takes no stream: one form is for both */
    TN_STREAMS_LEGACY,
    TN_STREAMS_OF_THREADS
};

enum tn_call {
#define TN_CALL_ENUMERATOR(function, symbol, name, since, streams, parameters, arguments) \
    TN_CALL_##function,
    TN_INTERCEPTED(TN_CALL_ENUMERATOR)
#undef TN_CALL_ENUMERATOR
    TN_CALL_COUNT
};

/* The functions that callers get in place of the vendor's. */
#define TN_CALL_DECLARATION(function, symbol, name, since, streams, parameters, arguments) \
    tn_vendor_error tn_call_##function parameters;
TN_INTERCEPTED(TN_CALL_DECLARATION)
#undef TN_CALL_DECLARATION

typedef void (*tn_any_function)(void);

struct tn_intercepted {
    const char *symbol;
    const char *name;
    int since_version;
    enum tn_default_stream streams;
    tn_any_function replacement;
};

extern const struct tn_intercepted tn_intercepted[TN_CALL_COUNT];

/* The function with this symbol. TN_CALL_COUNT: none is caught. Cost: a comparison for each function. */
enum tn_call tn_intercepted_find(const char *symbol);

/* The function that the vendor's look-up finds by a name and a version; the one that is nearest below the version.
 * TN_CALL_COUNT: none is caught. */
enum tn_call tn_intercepted_find_version(const char *name, int version, bool is_of_threads);

#endif
