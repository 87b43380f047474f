/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_device: the state of an open Level Zero backend, shared by its files.
 *
 *     ze_backend.c   memory, device information, opening and closing
 *     ze_range.c     ranges of addresses, into which memory is mapped
 *     ze_stream.c    streams, events, data
 *     ze_status.c    what a call's answer means
 *     ze_record.c    the vendor's events, recycled
 *     ze_driver.c    drivers and devices; functions that the loader may not have
 *
 * Threads: what changes while the backend is open stands under one of two locks; a list of commands
 * has one of its own (tn_ze_list_lock). `lock` is held for moments. `streams_lock` is taken before
 * both others, never after.
 */
#ifndef TN_ZE_DEVICE_H
#define TN_ZE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <level_zero/ze_api.h>

#include "tarn/backend.h"

#include "../backend_common/lifetime.h"
#include "../base/sync.h"
#include "ze_newer.h"

/* Where a device was found. */
struct tn_ze_place {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    struct tn_ze_newer newer;
};

/* Extensions of the driver. */
struct tn_ze_extensions {
    bool memory_free_policies;
    bool usable_memory;
    bool relaxed_limits_exp;
    bool relaxed_limits_ext;
};

/*
 * A place in a list's order: one of the vendor's events, which such a place uses up. It is recycled
 * when nobody refers to it any more and the device is through with it.
 */
struct tn_ze_record {
    struct tn_ze_record *next; /* in the device's list of free or of retired ones */
    ze_event_handle_t event;
    struct tn_ze_record *awaited; /* what a wait waits for, which is a reference; NULL: no wait */
    unsigned reference_count;
    bool is_submitted; /* to a list; before that the device does not know it */
    bool is_done;      /* the device has come to it, for certain */
    bool is_used;      /* it was submitted in an earlier life */
};

/* Records that were made together. */
struct tn_ze_record_pool {
    struct tn_ze_record_pool *next;
    ze_event_pool_handle_t pool; /* NULL with counter-based events, which need none */
    unsigned capacity;
    unsigned count; /* of records that have an event; the others were never needed */
    struct tn_ze_record records[];
};

struct tn_ze_records {
    struct tn_ze_record_pool *pools; /* the newest first */
    struct tn_ze_record *free;
    struct tn_ze_record *retired; /* nobody refers to them, but the device is not through yet */
    unsigned retired_count;
    unsigned total_count;
    unsigned pending_count; /* of the retired ones, when they were last asked after */
};

/* What is mapped into ranges. */
struct tn_ze_mapping {
    uintptr_t start;
    size_t size_bytes;
    ze_physical_mem_handle_t physical; /* NULL while somebody maps or unmaps it */
};

struct tn_ze_mappings {
    struct tn_ze_mapping *items; /* by address; none overlap */
    uint32_t count;
    uint32_t capacity;
};

/* A list that the backend made. */
struct tn_ze_stream {
    struct tn_ze_stream *next;
    ze_command_list_handle_t list;
    struct tn_ze_record *end; /* kept to wait for the list, so that waiting needs no memory */
};

struct tn_ze_device {
    /* The same for as long as the backend is open. */
    struct tn_lifetime lifetime;
    ze_driver_handle_t driver;
    ze_device_handle_t handle;
    ze_device_handle_t
        root; /* that the device is a part of, itself when it is whole; NULL: not told */
    ze_context_handle_t context;
    bool owns_context;
    char name[ZE_MAX_DEVICE_NAME];
    tarn_device_properties properties;
    size_t memory_bytes;
    struct tn_ze_extensions extensions;
    const void *allocation_extension; /* goes with each allocation; NULL: none */
    struct tn_ze_newer newer;
    uint32_t queue_group;
    bool lists_are_in_order; /* else a barrier follows each command */

    struct tn_mutex streams_lock;       /* guards the streams; held while they are waited for */
    struct tn_ze_stream default_stream; /* stands for NULL; first in the list of all streams */
    struct tn_ze_stream *idle_streams;  /* destroyed ones, whose lists are used again */

    struct tn_mutex lock; /* guards what follows, and the records of events */
    struct tn_ze_records records;
    struct tn_ze_mappings mappings;
};

/* No function of the loader may be called any more. */
static inline bool tn_ze_is_over(const void *state)
{
    const struct tn_ze_device *device = state;
    return tn_lifetime_is_over(&device->lifetime);
}

/* --- ze_status.c ------------------------------------------------------------------------------- */

tarn_backend_result tn_ze_result(ze_result_t error);

/* Whether a newer function answers that the driver does not have it. A loader that wraps handles says
 * so in the words for a driver that is gone. */
bool tn_ze_is_lacking(ze_result_t error);

/* What the loader says when it is gone. */
tarn_backend_result tn_ze_unloading(void);

/* What taking something answers when the backend's lifetime is over. */
tarn_backend_result tn_ze_refusal(const void *state);

/* What giving something back answers: when the driver is gone, at the end of the process, there is
 * nothing left to give back, and that is no failure. */
tarn_backend_result tn_ze_return(tarn_backend_result result);

/* The same for what takes memory or addresses with arguments that were checked: too large a size is
 * OUT_OF_MEMORY, and what else is wrong is not the caller's doing. */
tarn_backend_result tn_ze_result_of_acquire(ze_result_t error, tarn_memory_kind kind);

/* --- ze_driver.c ------------------------------------------------------------------------------- */

/* Finds the device with that handle or, when it is NULL, that number. */
tarn_status tn_ze_find_device(int number, ze_device_handle_t handle, struct tn_ze_place *place_out);

/* What the driver lists. Asked while the backend is opened. */
tarn_backend_result tn_ze_find_extensions(ze_driver_handle_t driver,
                                          struct tn_ze_extensions *extensions_out);

/* --- ze_range.c, in the order of the operations table; `state` is a tn_ze_device --------------- */

tarn_backend_result tn_ze_range_reserve(void *state, size_t size_bytes, void **address_out);
tarn_backend_result tn_ze_range_release(void *state, void *address, size_t size_bytes);
tarn_backend_result tn_ze_range_map(void *state, void *address, size_t size_bytes,
                                    tarn_mapping *mapping_out);
tarn_backend_result tn_ze_range_unmap(void *state, void *address, size_t size_bytes,
                                      tarn_mapping mapping);
tarn_backend_result tn_ze_range_map_shareable(void *state, void *address, size_t size_bytes,
                                              tarn_mapping *mapping_out);
tarn_backend_result tn_ze_range_export(void *state, void *address, size_t size_bytes,
                                       tarn_mapping mapping, int *file_descriptor_out);

/* Finds out what the properties say of ranges. Tries one. */
void tn_ze_find_ranges(struct tn_ze_device *device);

/* --- ze_stream.c, in the order of the operations table; `state` is a tn_ze_device -------------- */

tarn_backend_result tn_ze_stream_create(void *state, tarn_stream *stream_out);
tarn_backend_result tn_ze_stream_destroy(void *state, tarn_stream stream);
tarn_backend_result tn_ze_stream_check(void *state, tarn_stream stream);
tarn_backend_result tn_ze_stream_synchronize(void *state, tarn_stream stream);
tarn_backend_result tn_ze_stream_wait_event(void *state, tarn_stream stream, tarn_event event);

tarn_backend_result tn_ze_event_create(void *state, tarn_event *event_out);
tarn_backend_result tn_ze_event_destroy(void *state, tarn_event event);
tarn_backend_result tn_ze_event_record(void *state, tarn_event event, tarn_stream stream);
tarn_backend_result tn_ze_event_query(void *state, tarn_event event);
tarn_backend_result tn_ze_event_synchronize(void *state, tarn_event event);

tarn_backend_result tn_ze_fill(void *state, void *address, unsigned char value, size_t size_bytes,
                               tarn_stream stream);
tarn_backend_result tn_ze_copy(void *state, void *destination, const void *source,
                               size_t size_bytes, tarn_stream stream);

/* The default stream's list. */
tarn_backend_result tn_ze_streams_init(struct tn_ze_device *device);
/* False: work may be pending that could not be waited for. Then all that is the vendor's stays, and so
 * must the context, since the device may come back to it at any time. */
bool tn_ze_streams_fini(struct tn_ze_device *device);

/* Waits for all work on the device, or where the vendor has no such call, on all lists that the
 * backend made. */
tarn_backend_result tn_ze_streams_finish(struct tn_ze_device *device);

/* What guards a list of commands, of any backend of the process. */
struct tn_mutex *tn_ze_list_lock(ze_command_list_handle_t list);

/* --- ze_record.c ------------------------------------------------------------------------------- */

/* One that is not submitted yet, with one reference. */
tarn_backend_result tn_ze_record_take(struct tn_ze_device *device,
                                      struct tn_ze_record **record_out);
/* NULL is allowed. */
void tn_ze_record_unref(struct tn_ze_device *device, struct tn_ze_record *record);

/* Makes it as if it had just been taken. The caller has the only reference; waits until the device has
 * come to it. */
tarn_backend_result tn_ze_record_renew(struct tn_ze_device *device, struct tn_ze_record *record);

/* Puts the record at the end of the list: the device comes to it when all before is done. */
tarn_backend_result tn_ze_record_submit(struct tn_ze_record *record, ze_command_list_handle_t list);

/* Makes the list wait for a record, which may be unreferenced as soon as this returns. */
tarn_backend_result tn_ze_record_await(struct tn_ze_device *device, ze_command_list_handle_t list,
                                       struct tn_ze_record *awaited);

/* NOT_READY while the device has not come to it; and waiting until it has. */
tarn_backend_result tn_ze_record_query(struct tn_ze_device *device, struct tn_ze_record *record);
tarn_backend_result tn_ze_record_synchronize(struct tn_ze_device *device,
                                             struct tn_ze_record *record);

/* Finds out which kind of events the driver has. */
tarn_backend_result tn_ze_records_init(struct tn_ze_device *device);

/* Whether a list must stay, when it has finished, as long as others may wait for what it has set. */
bool tn_ze_records_need_lists(const struct tn_ze_device *device);

/* Nobody refers to a record any more. All lists have finished, or the vendor's events stay. */
void tn_ze_records_fini(struct tn_ze_device *device, bool gives_events_back);

#endif
