/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * backing: memory from the vendor, counted. The benchmark's own allocators take their memory from it, so that
 * all use the same vendor calls as tarn: those of the backend that tarn was built for, or plain mmap and
 * munmap on the host.
 *
 * Threads: one at a time.
 */
#ifndef TN_BACKING_H
#define TN_BACKING_H

#include <stddef.h>
#include <stdint.h>

#include "allocator.h"
#include "tarn/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_backing {
    tarn_backend backend;
    bool is_borrowed;         /* the backend's owner closes it */
    size_t granularity_bytes; /* the vendor's; footprint is counted in it */
    size_t footprint_bytes;
    size_t footprint_bytes_max;
    uint64_t vendor_calls;
    tarn_backend_result last_failure;
};

/* Uses the settings' backend, or opens one. On failure writes the reason and leaves nothing open. */
tarn_status tn_backing_init(struct tn_backing *backing,
                            const struct tn_allocator_settings *settings,
                            struct tn_reason *reason_out);
void tn_backing_fini(struct tn_backing *backing);

/* size_bytes is not zero. */
tarn_status tn_backing_acquire(struct tn_backing *backing, size_t size_bytes, void **address_out);
tarn_status tn_backing_release(struct tn_backing *backing, void *address, size_t size_bytes);

/* The last failure of acquire or release, in the vendor's words if it has any. */
void tn_backing_explain(const struct tn_backing *backing, struct tn_reason *reason_out);

/* The reason that a backend's result, which is not OK, gives. */
void tn_backend_result_explain(tarn_backend_result result, struct tn_reason *reason_out);

#ifdef __cplusplus
}
#endif

#endif
