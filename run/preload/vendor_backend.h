/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * vendor_backend: the device memory of one context, by the vendor's own functions: a backend that links nothing.
 *
 *     vendor_backend.c   memory, properties, opening
 *     vendor_range.c     ranges of addresses, into which memory is mapped
 *     vendor_stream.c    streams, events, data
 *     vendor_visit.c     making a call in the backend's context; what answers mean
 *
 * It follows src/backend_cuda and src/backend_cuda_hip, whose heads tell why a call is made as it is.
 *
 * Threads: the state does not change while the backend is open.
 */
#ifndef TN_VENDOR_BACKEND_H
#define TN_VENDOR_BACKEND_H

#include <stdbool.h>

#include "tarn/backend.h"

#include "backend_common/lifetime.h"

#include "notes.h"
#include "vendor.h"

struct tn_vendor_device {
    const struct tn_vendor *vendor;
    void *context;
    int number;
    struct tn_lifetime lifetime;
    char name[256];
    tarn_device_properties properties;
    size_t texture_alignment_bytes; /* the runtime promises it of each address */
};

/* Opens a backend for a context that is current in the calling thread. The vendor must be complete. */
tarn_backend_result tn_vendor_backend_open(const struct tn_vendor *vendor, void *context,
                                           tarn_backend *backend_out);

/* --- vendor_visit.c ---------------------------------------------------------------------------------- */

/* Calls of the vendor with a context current. */
struct tn_visit {
    tn_vendor_error error; /* the context could not be made current */
    bool is_entered;       /* another one was current: */
    void *previous;
};

struct tn_visit tn_visit_begin(const struct tn_vendor *vendor, void *context);
/* Restores the thread's context. */
void tn_visit_end(const struct tn_vendor *vendor, struct tn_visit visit);

/* Waits for the work of a context. If it is not known any more, it has none. */
void tn_visit_wait(const struct tn_vendor *vendor, void *context);

tarn_backend_result tn_vendor_result(const struct tn_vendor *vendor, tn_vendor_error error);

/* Makes a call in the backend's context, for MEMORY or ORDER: its answer, as a tarn_backend_result. */
#define TN_VISIT(device, purpose, call)                                                    \
    __extension__({                                                                        \
        tn_notes_vendor_call(TN_PURPOSE_##purpose);                                        \
        struct tn_visit visit_ = tn_visit_begin((device)->vendor, (device)->context);      \
        tn_vendor_error error_ = visit_.error == TN_ERROR_SUCCESS ? (call) : visit_.error; \
        tarn_backend_result result_ = tn_vendor_result((device)->vendor, error_);          \
        tn_visit_end((device)->vendor, visit_);                                            \
        result_;                                                                           \
    })

/* The answers when the process ends or is a fork: of an operation that takes, and of one that gives back. */
#define TN_REFUSE_LATE_TAKE(device)                 \
    if (tn_lifetime_is_over(&(device)->lifetime))   \
    return tn_lifetime_refusal(&(device)->lifetime, \
                               tn_vendor_result((device)->vendor, TN_ERROR_DEINITIALIZED))
#define TN_SKIP_LATE_RETURN(device) \
    if (tn_lifetime_is_over(&(device)->lifetime)) return TARN_BACKEND_RESULT_OK

/* --- operations, in the order of the table; `state` is a tn_vendor_device ------------------------------ */

tarn_backend_result tn_vendor_range_reserve(void *state, size_t size_bytes, void **address_out);
tarn_backend_result tn_vendor_range_release(void *state, void *address, size_t size_bytes);
tarn_backend_result tn_vendor_range_map(void *state, void *address, size_t size_bytes,
                                        tarn_mapping *mapping_out);
tarn_backend_result tn_vendor_range_unmap(void *state, void *address, size_t size_bytes,
                                          tarn_mapping mapping);
/* 0: there are no ranges. */
size_t tn_vendor_range_granularity(const struct tn_vendor_device *device);

tarn_backend_result tn_vendor_stream_create(void *state, tarn_stream *stream_out);
tarn_backend_result tn_vendor_stream_destroy(void *state, tarn_stream stream);
tarn_backend_result tn_vendor_stream_check(void *state, tarn_stream stream);
tarn_backend_result tn_vendor_stream_id(void *state, tarn_stream stream, uint64_t *id_out);
tarn_backend_result tn_vendor_stream_synchronize(void *state, tarn_stream stream);
tarn_backend_result tn_vendor_stream_wait_event(void *state, tarn_stream stream, tarn_event event);
tarn_backend_result tn_vendor_event_create(void *state, tarn_event *event_out);
tarn_backend_result tn_vendor_event_destroy(void *state, tarn_event event);
tarn_backend_result tn_vendor_event_record(void *state, tarn_event event, tarn_stream stream);
tarn_backend_result tn_vendor_event_query(void *state, tarn_event event);
tarn_backend_result tn_vendor_event_synchronize(void *state, tarn_event event);
tarn_backend_result tn_vendor_fill(void *state, void *address, unsigned char value,
                                   size_t size_bytes, tarn_stream stream);
tarn_backend_result tn_vendor_copy(void *state, void *destination, const void *source,
                                   size_t size_bytes, tarn_stream stream);

/* If the vendor has it: in cuda_context.c. */
tarn_backend_result tn_vendor_event_record_device(void *state, tarn_event event);

#endif
