/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_device: simulated devices, as the faces see them.
 *
 * A face is a library with a vendor's name and symbols. Each of its functions is thin: it checks what
 * its vendor checks, calls one function below, and translates the status:
 *
 *     cudaError_t cudaMalloc(void **address, size_t size_bytes)
 *     {
 *         sim_status status = sim_enter("cudaMalloc");          counts, and fails when scripted
 *         if (status == SIM_STATUS_OK) status = ...             the thread's device, its context
 *         if (status == SIM_STATUS_OK)
 *             status = sim_alloc(device, SIM_MEMORY_KIND_DEVICE, size_bytes, 0, address);
 *         return answer(status);                                table, last error
 *     }
 *
 * Here is what all vendors share. Where they differ the weakest promise is kept, so that code that
 * relies on more fails here; the face adds what its vendor promises besides. In short:
 *
 *   - Work runs only when somebody waits for it or asks after it, never at submission. Who waits runs
 *     tasks of any streams of any devices, in an order drawn from the seed, until what is awaited is
 *     done: so streams run out of step, and no task before one that it depends on.
 *   - Memory of kind DEVICE is an address range that the host cannot touch. Fills and copies find
 *     the content by the address, as a device does by its page table.
 *   - Addresses are multiples of what was promised and not of the next power of two.
 *   - Handles are numbers that are never used again, so a stale one is always found out. NULL is none.
 *   - Nothing waits on its own: sim_free, sim_unmap and the destroys leave pending work as it is, and
 *     memory that goes under work is misuse (sim_misuse_count), and an ACCESS_FAULT when it runs. A
 *     face whose vendor waits calls sim_device_synchronize first.
 *
 * Outputs are written only on success. Devices count from 0.
 *
 * Threads: any. One lock guards everything, and tasks run under it.
 */
#ifndef SIM_DEVICE_H
#define SIM_DEVICE_H

#include "sim_control.h"

/* --- calls ------------------------------------------------------------------------------------- */

/* First in every function of a face that can fail. Answers the scripted fault if there is one, else
 * UNLOADING, NO_DRIVER or DRIVER_TOO_OLD when it is so, else OK. `name` must be static. */
SIM_API sim_status sim_enter(const char *name);

/* The same for calls that work without a driver (cudaDriverGetVersion): faults and UNLOADING alone. */
SIM_API sim_status sim_enter_without_driver(const char *name);

/* First in every function that cannot fail (cudaGetLastError): counts it by name, and that is all. */
SIM_API void sim_note(const char *name);

/* A face's own finding of what a vendor would not notice; see sim_misuse_count. */
SIM_API void sim_misuse(const char *text);

/* Grows with each sim_reset. What a face keeps itself (a thread's current device, last error, its
 * own objects) is void when the number has changed since it was written. */
SIM_API unsigned sim_generation(void);

/* Counts a face's own objects among what is alive: SIM_THING_CONTEXT, SIM_THING_EVENT_POOL. */
SIM_API void sim_alive_change(sim_thing thing, int change);

/* Why a call may not be made during a capture. */
typedef enum sim_capture_rule {
    SIM_CAPTURE_RULE_UNSAFE, /* it is not repeated with the graph; a thread may say that it knows */
    SIM_CAPTURE_RULE_CONFLICTS /* it waits for the captured stream, too, which does not run */
} sim_capture_rule;

/* For the calls that have such a rule, after sim_enter. CAPTURING: it is prohibited, and the capture is
 * spoilt. */
SIM_API sim_status sim_capture_check(sim_capture_rule rule);

/* --- devices ----------------------------------------------------------------------------------- */

SIM_API int sim_device_count(void);

/* OK, INVALID_DEVICE, DEVICE_LOST, CONTEXT_DESTROYED or ACCESS_FAULT. Every function below that
 * knows its device asks this first, so a face asks only where it calls none. */
SIM_API sim_status sim_device_check(int device);

/* Primary contexts of the vendors that have them. A face activates one in each call that would
 * create it. Activating again does nothing. */
SIM_API sim_status sim_context_activate(int device);
SIM_API void sim_context_deactivate(int device);
SIM_API bool sim_context_is_active(int device);

SIM_API sim_status sim_memory_info(int device, size_t *total_bytes_out, size_t *free_bytes_out);

/* Runs all that was submitted to any stream of the device. */
SIM_API sim_status sim_device_synchronize(int device);

/* --- memory ------------------------------------------------------------------------------------ */

/*
 * New memory of undefined content. alignment_bytes 0: that of the settings. Pinned and shared memory
 * takes a device too, as its owner, and counts against the host's.
 * INVALID_SIZE for zero and for more than allocation_bytes_max, INVALID_ALIGNMENT, NOT_SUPPORTED,
 * OUT_OF_MEMORY, OUT_OF_HOST_MEMORY; and sim_device_check.
 */
SIM_API sim_status sim_alloc(int device, sim_memory_kind kind, size_t size_bytes,
                             size_t alignment_bytes, void **address_out);

/* INVALID_ADDRESS unless sim_alloc gave exactly this address; interior and mapped ones are not. */
SIM_API sim_status sim_free(void *address);

/* What is at an address. */
typedef struct sim_memory {
    sim_memory_kind kind;
    int device;
    void *address;     /* where the allocation, or the mapping, starts */
    size_t size_bytes; /* as it was asked for */
    uint64_t id;       /* no two allocations of a process have the same */
    bool is_mapping;   /* mapped into a range, not allocated */
    const void *owner; /* what sim_memory_set_owner said, else NULL */
} sim_memory;

/* By any address inside. False: there is nothing (plain host memory, a range with nothing mapped). */
SIM_API bool sim_memory_find(const void *address, sim_memory *memory_out);

/* A word of the face's own for an allocation: the context that it belongs to. */
SIM_API sim_status sim_memory_set_owner(void *address, const void *owner);

/* --- virtual memory ---------------------------------------------------------------------------- */

/* Physical memory without an address. */
typedef struct sim_physical sim_physical;

/* Addresses without memory. `hint` may be NULL, and is only a hint. Size and alignment as the range
 * granularity tells (INVALID_SIZE, INVALID_ALIGNMENT); alignment_bytes 0: the granularity. */
SIM_API sim_status sim_range_reserve(const void *hint, size_t size_bytes, size_t alignment_bytes,
                                     void **address_out);

/* Whole ranges alone (INVALID_ADDRESS, INVALID_SIZE), with nothing mapped (STILL_MAPPED). */
SIM_API sim_status sim_range_free(void *address, size_t size_bytes);

/* Finds the range that an address lies in. */
SIM_API bool sim_range_find(const void *address, void **start_out, size_t *size_bytes_out);

SIM_API sim_status sim_physical_create(int device, size_t size_bytes, sim_physical **physical_out);

/* The same, for export if it is shareable: NOT_SUPPORTED where the settings lack that. */
SIM_API sim_status sim_physical_create_shareable(int device, size_t size_bytes, bool is_shareable,
                                                 sim_physical **physical_out);

/* A file descriptor of a shareable object, a new one each time; INVALID_VALUE: it is none. It names the object and
 * does not keep its memory. */
SIM_API sim_status sim_physical_export(const sim_physical *physical, int *file_descriptor_out);

/* The object that a descriptor names, with a reference more, which is to be released. INVALID_HANDLE. */
SIM_API sim_status sim_physical_import(int file_descriptor, sim_physical **physical_out);

/* Gives the handle back. The memory goes when nothing of it is mapped any more; a vendor that
 * refuses to release what is mapped asks for sim_physical_mapping_count first. */
SIM_API sim_status sim_physical_release(sim_physical *physical);

/* How often it is mapped now; a vendor that lets an object be mapped once asks before it maps. 0 also
 * for what is no handle. */
SIM_API size_t sim_physical_mapping_count(const sim_physical *physical);

/* The handle's device and size; INVALID_HANDLE. */
SIM_API sim_status sim_physical_find(const sim_physical *physical, int *device_out,
                                     size_t *size_bytes_out);

typedef enum sim_access {
    SIM_ACCESS_NONE,
    SIM_ACCESS_READ,
    SIM_ACCESS_READ_WRITE
} sim_access;

/* Maps a part of the object into a reserved range. No device may touch it yet: that is
 * sim_set_access. Everything is a multiple of the range granularity, or INVALID_SIZE (the size, the
 * offset) or INVALID_ALIGNMENT (the address). INVALID_ADDRESS: not inside one range. INVALID_VALUE:
 * beyond the object's end. ALREADY_MAPPED: where something is mapped. */
SIM_API sim_status sim_map(void *address, size_t size_bytes, sim_physical *physical,
                           size_t offset_bytes);

/* What is mapped at an address inside; NULL outputs are left out. False: nothing. */
SIM_API bool sim_mapping_find(const void *address, void **start_out, size_t *size_bytes_out,
                              sim_physical **physical_out);

/* May the device touch these mappings? They are whole and without gaps, or NOT_MAPPED. */
SIM_API sim_status sim_set_access(void *address, size_t size_bytes, int device, sim_access access);
SIM_API sim_status sim_get_access(const void *address, int device, sim_access *access_out);

/* One or more whole mappings without gaps, or NOT_MAPPED. Their access is forgotten. */
SIM_API sim_status sim_unmap(void *address, size_t size_bytes);

/* --- streams ----------------------------------------------------------------------------------- */

typedef struct sim_stream sim_stream;
typedef struct sim_event sim_event;

SIM_API sim_status sim_stream_create(int device, sim_stream **stream_out);

/* What is pending on it still runs, later. A vendor with another rule asks sim_stream_query first. */
SIM_API sim_status sim_stream_destroy(sim_stream *stream);

/* The device's own, which is always there and is not counted. It orders nothing but itself. */
SIM_API sim_stream *sim_stream_default(int device);

/* The same for one that the calling thread has for itself on the device. It stays when the thread ends. */
SIM_API sim_stream *sim_stream_of_thread(int device);

/* A number that no other stream ever has. INVALID_HANDLE. */
SIM_API sim_status sim_stream_get_id(const sim_stream *stream, unsigned long long *id_out);

/* INVALID_HANDLE, or the stream's device. */
SIM_API sim_status sim_stream_find(const sim_stream *stream, int *device_out);

/* A word of the face's own, 0 at first: how the stream was asked for. */
SIM_API sim_status sim_stream_set_flags(sim_stream *stream, unsigned flags);
SIM_API sim_status sim_stream_get_flags(const sim_stream *stream, unsigned *flags_out);

/* Whether other streams have yet to come to a wait for a place in this one's order, be it done or not.
 * FLAG events have none. */
SIM_API bool sim_stream_is_awaited(const sim_stream *stream);

SIM_API sim_status sim_stream_synchronize(sim_stream *stream);
SIM_API sim_status sim_stream_query(sim_stream *stream); /* runs a task at most; NOT_READY */

/* What is submitted from now on waits. A RECORDS event means its latest record, and one that was
 * never recorded is no wait; a FLAG event means the flag, when the task comes up. The event may be
 * of another device. */
SIM_API sim_status sim_stream_wait_event(sim_stream *stream, sim_event *event);

/* Any simulated memory, or host memory that the process may write; the pattern of 1 to 128 bytes is
 * taken at submission and repeated, size_bytes being a multiple of it. Zero bytes do nothing. */
SIM_API sim_status sim_fill(sim_stream *stream, void *address, const void *pattern,
                            size_t pattern_bytes, size_t size_bytes);

/* Between any two of simulated and host memory. Both are read and written when the task runs, and
 * an area that leaves its allocation is an ACCESS_FAULT then. Zero bytes do nothing. */
SIM_API sim_status sim_copy(sim_stream *stream, void *destination, const void *source,
                            size_t size_bytes);

/* --- events ------------------------------------------------------------------------------------ */

typedef enum sim_event_form {
    /* CUDA, HIP, Level Zero's counter-based events: refers to its latest record. Complete before the
     * first. A wait keeps the record that was the latest when it was submitted. */
    SIM_EVENT_FORM_RECORDS,
    /* Level Zero: a flag that starts out clear, is set by a task or the host and cleared by the host.
     * A wait that has not come up yet sees a reset and a second signal. */
    SIM_EVENT_FORM_FLAG
} sim_event_form;

SIM_API sim_status sim_event_create(int device, sim_event_form form, sim_event **event_out);

/* What is pending on a RECORDS event goes on without it; a FLAG event with tasks pending on it is
 * misuse. */
SIM_API sim_status sim_event_destroy(sim_event *event);

SIM_API sim_status sim_event_find(const sim_event *event, int *device_out);

/* As of streams. */
SIM_API sim_status sim_event_set_flags(sim_event *event, unsigned flags);
SIM_API sim_status sim_event_get_flags(const sim_event *event, unsigned *flags_out);

/* In stream order: a new record, or a task that sets the flag. WRONG_DEVICE when stream and event
 * are of two devices. */
SIM_API sim_status sim_event_record(sim_event *event, sim_stream *stream);
/* A new record, done when all work is done that was submitted to the event's device before. */
SIM_API sim_status sim_event_record_device(sim_event *event);

/* NOT_READY at least event_delay_polls times for each record that was not waited for, then what is
 * true. Runs a few tasks each time, so asking again comes to an end. */
SIM_API sim_status sim_event_query(sim_event *event);

/* HANG: a flag that no submitted task will set. */
SIM_API sim_status sim_event_synchronize(sim_event *event);

/* FLAG events alone, else INVALID_VALUE. A reset while a signal is pending is misuse. */
SIM_API sim_status sim_event_host_reset(sim_event *event);
SIM_API sim_status sim_event_host_signal(sim_event *event);

/* --- the vendor's own pools --------------------------------------------------------------------- */

typedef struct sim_pool sim_pool;

typedef struct sim_pool_info {
    uint64_t threshold_bytes;
    uint64_t used_bytes; /* all that it holds, since it keeps nothing */
    uint64_t used_bytes_max;
} sim_pool_info;

/* NOT_SUPPORTED when the settings say so. Memory of a pool that is destroyed stays until it is freed. */
SIM_API sim_status sim_pool_create(int device, sim_pool **pool_out);
SIM_API sim_status sim_pool_destroy(sim_pool *pool);

/* A device has a pool of its own, which is always there, is current at first and is not counted.
 * INVALID_HANDLE, WRONG_DEVICE. */
SIM_API sim_status sim_pool_get_current(int device, sim_pool **pool_out);
SIM_API sim_status sim_pool_set_current(int device, sim_pool *pool);

SIM_API sim_status sim_pool_set_threshold(sim_pool *pool, uint64_t threshold_bytes);
SIM_API sim_status sim_pool_get_info(sim_pool *pool, sim_pool_info *info_out);

/* From the current pool of the stream's device; answers as sim_alloc does. */
SIM_API sim_status sim_pool_alloc(sim_stream *stream, size_t size_bytes, void **address_out);

/* From this pool, on a stream of its device; else WRONG_DEVICE. */
SIM_API sim_status sim_pool_alloc_from(sim_pool *pool, sim_stream *stream, size_t size_bytes,
                                       void **address_out);

/* Waits for the stream. INVALID_ADDRESS: no pool gave it. */
SIM_API sim_status sim_pool_free(sim_stream *stream, void *address);

#endif
