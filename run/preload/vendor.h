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

struct tn_vendor {
    tn_any_function intercepted[TN_CALL_COUNT]; /* NULL: the vendor does not have it */
    struct tn_gpu_table table;                  /* what the pools call */
    bool is_complete;                           /* all that is required is there */
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

/* --- contexts ------------------------------------------------------------------------------------------ */

/* HIP's programs have no contexts. There a context stands for a device, and is never NULL. */

/* The context that is current in the calling thread, or NULL. */
static inline tn_vendor_error tn_vendor_get_context(const struct tn_vendor *vendor,
                                                    void **context_out)
{
    return vendor->table.vendor->get_context(&vendor->table, context_out);
}

/* Opens a backend for a context that is current in the calling thread. The vendor must be complete. */
tarn_backend_result tn_vendor_open(const struct tn_vendor *vendor, void *context,
                                   tarn_backend *backend_out);

/* Waits for the work of a context. If it is not known any more, it has none. */
void tn_vendor_wait(const struct tn_vendor *vendor, void *context);

/* --- where vendors differ: cuda_context.c, hip_context.c ----------------------------------------------- */

/* Whether a context is the device's primary one. */
tn_vendor_error tn_vendor_find_whether_primary(const struct tn_vendor *vendor, const void *context,
                                               int device, bool *is_primary_out);

/* The function that a caller gets in place of one of the table. */
tn_any_function tn_vendor_replacement_for(enum tn_call call, const void *caller);

#endif
