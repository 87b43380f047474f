/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_device: the state of an open Level Zero backend, shared by its files.
 *
 *     ze_table.h     what the backend uses of Level Zero
 *     ze_backend.c   memory, device information, opening and closing
 *     ze_range.c     ranges of addresses, into which memory is mapped
 *     ze_stream.c    streams, events, data
 *     ze_status.c    status codes for the vendor's errors
 *     ze_record.c    recycles the vendor's events
 *     ze_driver.c    drivers and devices
 *     ze_device.c    the locks of lists of commands
 *
 * Threads: two locks guard the fields that change while the backend is open. A list of commands has a
 * lock of its own (tn_ze_list_lock). `lock` is held only for short times. `streams_lock` is taken
 * before the other two, never after.
 */
#ifndef TN_ZE_DEVICE_H
#define TN_ZE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/backend.h"

#include "../backend_common/lifetime.h"
#include "../base/sync.h"
#include "ze_table.h"

/* A device, the driver that has it, and the functions to call. */
struct tn_ze_place {
    struct tn_ze_table ze;
    tn_ze_driver_handle_t driver;
    tn_ze_device_handle_t device;
};

/* Extensions of the driver. */
struct tn_ze_extensions {
    bool memory_free_policies;
    bool usable_memory;
    bool relaxed_limits_exp;
    bool relaxed_limits_ext;
};

/*
 * A place in a list's order. It uses one of the vendor's events. The record is recycled when it has no
 * reference left and the device has finished with the event.
 */
struct tn_ze_record {
    struct tn_ze_record *next; /* in the device's list of free or of retired records */
    tn_ze_event_handle_t event;
    struct tn_ze_record *awaited; /* the record that a wait waits for, referenced; NULL: no wait */
    unsigned reference_count;
    bool is_submitted; /* to a list */
    bool is_done;      /* the device is known to have reached it */
    bool is_used;      /* submitted before it was last recycled */
};

/* Records that were created together. */
struct tn_ze_record_pool {
    struct tn_ze_record_pool *next;
    tn_ze_event_pool_handle_t pool; /* NULL with counter-based events, which need none */
    unsigned capacity;
    unsigned count; /* of records that have an event */
    struct tn_ze_record records[];
};

struct tn_ze_records {
    struct tn_ze_record_pool *pools; /* the newest first */
    struct tn_ze_record *free;
    struct tn_ze_record *retired; /* without references, but the device may still use them */
    unsigned retired_count;
    unsigned total_count;
    unsigned pending_count; /* of retired records that were not done when last queried */
};

/* Memory that is mapped into a range. */
struct tn_ze_mapping {
    uintptr_t start;
    size_t size_bytes;
    tn_ze_physical_mem_handle_t physical; /* NULL while a thread maps or unmaps it */
};

struct tn_ze_mappings {
    struct tn_ze_mapping *items; /* by address; none overlap */
    uint32_t count;
    uint32_t capacity;
};

/* A list that the backend created. */
struct tn_ze_stream {
    struct tn_ze_stream *next;
    tn_ze_command_list_handle_t list;
    struct tn_ze_record *end; /* kept to wait for the list, so that waiting needs no memory */
};

struct tn_ze_device {
    /* These do not change while the backend is open. */
    struct tn_lifetime lifetime;
    struct tn_ze_table ze;
    tn_ze_driver_handle_t driver;
    tn_ze_device_handle_t handle;
    tn_ze_device_handle_t root; /* of a sub-device; else the device itself; NULL: unknown */
    tn_ze_context_handle_t context;
    bool owns_context;
    char name[TN_ZE_MAX_DEVICE_NAME];
    tarn_device_properties properties;
    size_t memory_bytes;
    bool
        spills_to_host; /* SHARED memory that the device has no room for lies in the host's memory */
    struct tn_ze_extensions extensions;
    const void *allocation_extension; /* of each allocation; NULL: none */
    uint32_t queue_group;
    bool lists_are_in_order; /* else a barrier follows each command */

    struct tn_mutex streams_lock;       /* guards the streams; also held while waiting for them */
    struct tn_ze_stream default_stream; /* stands for NULL; first in the list of all streams */
    struct tn_ze_stream *idle_streams;  /* destroyed streams; new streams reuse their lists */

    struct tn_mutex lock; /* guards the fields below, and the records of events */
    struct tn_ze_records records;
    struct tn_ze_mappings mappings;
};

/* Whether the loader's functions may no longer be called. */
static inline bool tn_ze_is_over(const void *state)
{
    const struct tn_ze_device *device = state;
    return tn_lifetime_is_over(&device->lifetime);
}

/* --- ze_device.c ------------------------------------------------------------------------------- */

/* The lock of a list of commands, for all backends of the process. */
struct tn_mutex *tn_ze_list_lock(tn_ze_command_list_handle_t list);

/* --- ze_status.c ------------------------------------------------------------------------------- */

tarn_backend_result tn_ze_result(tn_ze_result_t error);

/* Whether a newer function answers that the driver does not have it. A loader that wraps handles then
 * answers UNINITIALIZED, which otherwise means that the driver is unloaded. */
bool tn_ze_is_lacking(tn_ze_result_t error);

/* The loader's answer after it is unloaded. */
tarn_backend_result tn_ze_unloading(void);

/* The answer of an operation that takes something when the backend's lifetime is over. */
tarn_backend_result tn_ze_refusal(const void *state);

/* The answer of an operation that gives something back. If the driver is unloaded, at the end of the
 * process, nothing is left to give back: that counts as success. */
tarn_backend_result tn_ze_return(tarn_backend_result result);

/* The answer of an operation that takes memory or addresses, after its arguments were checked. Too large
 * a size is OUT_OF_MEMORY. Any other fault that the vendor finds is not the caller's: VENDOR_ERROR. */
tarn_backend_result tn_ze_result_of_acquire(tn_ze_result_t error, tarn_memory_kind kind);

/* --- ze_driver.c ------------------------------------------------------------------------------- */

/* Finds the device by its handle, or by its number if the handle is NULL. */
tarn_status tn_ze_find_device(int number, tn_ze_device_handle_t handle,
                              struct tn_ze_place *place_out);

/* Asks the driver which extensions it has. For opening. */
tarn_backend_result tn_ze_find_extensions(struct tn_ze_device *device);

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

/* Sets the device's properties of ranges. Tries a range out. */
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

/* Creates the default stream's list. */
tarn_backend_result tn_ze_streams_init(struct tn_ze_device *device);
/* False: waiting for some work failed, so it may still run. Then no object of the vendor is destroyed. The
 * context must stay too, since the device may still use it. */
bool tn_ze_streams_fini(struct tn_ze_device *device);

/* Waits for all work on the device. If the vendor has no such call, waits for all lists that the backend
 * created. */
tarn_backend_result tn_ze_streams_finish(struct tn_ze_device *device);

/* --- ze_record.c ------------------------------------------------------------------------------- */

/* Gives a record with one reference that is not submitted yet. */
tarn_backend_result tn_ze_record_take(struct tn_ze_device *device,
                                      struct tn_ze_record **record_out);
/* NULL is allowed. */
void tn_ze_record_unref(struct tn_ze_device *device, struct tn_ze_record *record);

/* Makes the record like one that was just taken. The caller must have the only reference. Waits until
 * the device has reached the record. */
tarn_backend_result tn_ze_record_renew(struct tn_ze_device *device, struct tn_ze_record *record);

/* Puts the record at the end of the list. The device reaches it when all commands before are done. */
tarn_backend_result tn_ze_record_submit(const struct tn_ze_device *device,
                                        struct tn_ze_record *record,
                                        tn_ze_command_list_handle_t list);

/* Makes the list wait for a record. The caller may drop its reference when the call returns. */
tarn_backend_result tn_ze_record_await(struct tn_ze_device *device,
                                       tn_ze_command_list_handle_t list,
                                       struct tn_ze_record *awaited);

/* The first answers NOT_READY until the device has reached the record. The second waits until then. */
tarn_backend_result tn_ze_record_query(struct tn_ze_device *device, struct tn_ze_record *record);
tarn_backend_result tn_ze_record_synchronize(struct tn_ze_device *device,
                                             struct tn_ze_record *record);

/* Finds out whether the driver has counter-based events. */
tarn_backend_result tn_ze_records_init(struct tn_ze_device *device);

/* Whether a finished list must be kept, because other lists may wait for events that it has set. */
bool tn_ze_records_need_lists(const struct tn_ze_device *device);

/* Requires that no record has a reference. `gives_events_back` destroys the vendor's events: requires that
 * all lists have finished. */
void tn_ze_records_fini(struct tn_ze_device *device, bool gives_events_back);

#endif
