/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/backend.h: where a pool's memory comes from.
 *
 * A backend is a table of operations and the state that they work on: one kind of memory on one device.
 * tarn has a host backend (tarn/host.h) and the backends of the vendors that it was built for
 * (tarn/cuda.h, for example). If your memory comes from elsewhere, from MPI or a framework, fill in a table
 * of your own. Only `acquire`, `release` and `get_properties` must be there:
 *
 *     static tarn_backend_result my_acquire(void *state, size_t size_bytes, void **address_out);
 *     ...
 *     static const tarn_backend_operations operations = {
 *         .struct_bytes = sizeof(tarn_backend_operations),
 *         .name = "mine", .acquire = my_acquire, .release = my_release,
 *         .get_properties = my_get_properties,
 *     };
 *     tarn_backend backend = { &operations, &my_state };
 *     tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
 *     options.backend = &backend;
 *
 * Rules for every operation.
 *  - Any thread may call it, several threads at once. The pool holds no lock of its hot path meanwhile.
 *  - It leaves the thread's current device as it found it, and no error in the vendor's "last error".
 *  - It does not call back into the pool.
 *  - It writes its outputs only when it succeeds.
 *  - An operation that the backend lacks is NULL. docs/writing_a_backend.md says what a pool loses then.
 */
#ifndef TARN_BACKEND_H
#define TARN_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/export.h"
#include "tarn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The answer of an operation: a status, and the vendor's own code and name of the error. */
typedef struct tarn_backend_result {
    tarn_status status;
    int vendor_code;         /* 0: no call of the vendor was the cause */
    const char *vendor_name; /* static text, or NULL */
} tarn_backend_result;

/* All zero. */
#ifdef __cplusplus
#define TARN_BACKEND_RESULT_OK (tarn_backend_result())
#else
#define TARN_BACKEND_RESULT_OK ((tarn_backend_result){ .status = TARN_STATUS_OK })
#endif

/* The kinds of memory. A backend answers NOT_SUPPORTED for a kind that its vendor lacks. */
typedef enum tarn_memory_kind {
    TARN_MEMORY_KIND_DEVICE = 0, /* on the device; the host cannot read it */
    TARN_MEMORY_KIND_PINNED = 1, /* on the host, page-locked; the device can read and write it */
    TARN_MEMORY_KIND_SHARED = 2, /* moves between host and device by itself ("managed") */
    TARN_MEMORY_KIND_HOST = 3    /* plain host memory */
} tarn_memory_kind;

/* The vendor's own handles, converted: a cudaStream_t, a cudaEvent_t. NULL is the device's default
 * stream. */
typedef void *tarn_stream;
typedef void *tarn_event;

#define TARN_MEMORY_ID_HOST UINT64_MAX /* a memory_id: the machine's own memory */

/* Facts about an open backend. They do not change. */
typedef struct tarn_device_properties {
    const char *device_name;  /* the vendor's name; valid until the backend is closed */
    tarn_memory_kind kind;    /* of the memory that `acquire` gives */
    bool is_host_accessible;  /* the host may read and write the memory */
    size_t alignment_bytes;   /* every acquired address is a multiple of this power of two */
    size_t granularity_bytes; /* the vendor rounds sizes up to a multiple of this power of two */
    size_t
        allocation_bytes_max; /* the largest size of one `acquire` or `range_map`; of SHARED memory it may
                                  * be more than the device has */
    /* Ranges, and memory that is mapped into them, start at and measure multiples of this power of two.
     * 0: there are no ranges. */
    size_t range_granularity_bytes;
    /* Two backends with the same name and the same memory_id take from the same memory. 0: unknown. */
    uint64_t memory_id;
    int driver_version;        /* the vendor's number; 0: there is none */
    int runtime_version;       /* the vendor's number; 0: there is none */
    bool has_shareable_ranges; /* range_map_shareable and range_export work */
    /* The handle of each thread's own stream, such as cudaStreamPerThread. It needs no creating and ends
     * with the thread. NULL: there is none. */
    tarn_stream thread_stream;
    /* Another name of the default stream, such as cudaStreamLegacy. NULL: there is none. */
    tarn_stream default_stream_alias;
} tarn_device_properties;

/* How much memory there is of the backend's kind, and how much of it is free at this moment: the device's; of
 * PINNED and HOST the host's; of SHARED, where the device fetches single pages, the device's and the host's
 * together. */
typedef struct tarn_memory_info {
    size_t total_bytes;
    size_t free_bytes;
} tarn_memory_info;

/* Memory that is mapped into a range: a CUmemGenericAllocationHandle, converted, or the like. NULL may be
 * a valid mapping. */
typedef void *tarn_mapping;

/* A piece of memory that a tool watches. */
typedef void *tarn_watch;

typedef struct tarn_backend_operations {
    size_t struct_bytes; /* sizeof(tarn_backend_operations), so that the table can grow */
    const char *name;    /* "host", "cuda", ...: lower case, static text */

    /* Gives up what opening the backend took. None of its memory, streams and events is left by then. */
    void (*close)(void *state);

    /* --- memory ------------------------------------------------------------------------------ */

    /* Gives a new piece of memory of size_bytes, which is never 0. OUT_OF_MEMORY must mean a real lack of
     * memory, since the pool then tries less. */
    tarn_backend_result (*acquire)(void *state, size_t size_bytes, void **address_out);

    /* Takes back a whole piece. All work on it has been submitted. The operation waits for that work if
     * the vendor does not. After a failure the piece is as it was: the pool uses it again, or releases it later. */
    tarn_backend_result (*release)(void *state, void *address, size_t size_bytes);

    /* --- ranges: addresses without memory, into which memory is mapped piece by piece -------- */

    /*
     *     range     |<------------ reserved ------------->|
     *     memory    |    A    |         |    B    |    C  |     one range_map each
     *
     * The device may use only the addresses where memory is mapped. Neighbours such as B and C are filled
     * and copied like one piece.
     *
     * Every address and every size is a multiple of range_granularity_bytes, and no size is 0; otherwise
     * the answer is INVALID_ARGUMENT. If range_granularity_bytes is 0, all four answer NOT_SUPPORTED.
     */

    /* Reserves addresses, and no memory. A range may be larger than the device's memory. OUT_OF_MEMORY:
     * there are not so many addresses in a row. */
    tarn_backend_result (*range_reserve)(void *state, size_t size_bytes, void **address_out);

    /* Gives the addresses of a whole range back. Nothing is mapped into it any more. */
    tarn_backend_result (*range_release)(void *state, void *address, size_t size_bytes);

    /* Maps new memory, one physical object, where nothing is mapped in one reserved range, and lets the
     * device read and write it. OUT_OF_MEMORY means the same as for `acquire`. After a failure nothing is
     * mapped and no memory is held. */
    tarn_backend_result (*range_map)(void *state, void *address, size_t size_bytes,
                                     tarn_mapping *mapping_out);

    /* Undoes one range_map as a whole: with its address, size and mapping. The memory goes back to the
     * device, and the addresses stay reserved. Waits for work on the memory like `release`. After a
     * failure everything is as it was. range_unmap_idle does not wait. */
    tarn_backend_result (*range_unmap)(void *state, void *address, size_t size_bytes,
                                       tarn_mapping mapping);

    /* --- device ------------------------------------------------------------------------------ */

    tarn_backend_result (*get_properties)(void *state, tarn_device_properties *properties_out);
    /* NOT_SUPPORTED, or a total of 0: the vendor does not tell. */
    tarn_backend_result (*query_memory)(void *state, tarn_memory_info *info_out);
    /* Waits until the device has done all work that was submitted to it, on any stream. NOT_SUPPORTED: the
     * vendor has no such call. */
    tarn_backend_result (*synchronize)(void *state);

    /* --- streams: work on one runs in order, work on two runs in any order ------------------- */

    /*
     * Operations on a stream or an event trust their caller that it is of this device. With those of
     * another device they do what the vendor does. stream_check is for streams that come from outside.
     */

    tarn_backend_result (*stream_create)(void *state, tarn_stream *stream_out);
    tarn_backend_result (*stream_destroy)(void *state, tarn_stream stream); /* finishes its work */
    /* INVALID_ARGUMENT: the stream is of another device. NULL is of this one. */
    tarn_backend_result (*stream_check)(void *state, tarn_stream stream);
    /* A number that no other stream of the process has or had. It tells a stream from an earlier one with
     * the same handle. NULL if the vendor has no such number. */
    tarn_backend_result (*stream_id)(void *state, tarn_stream stream, uint64_t *id_out);
    tarn_backend_result (*stream_synchronize)(void *state, tarn_stream stream);
    /* Work that is submitted to `stream` from now on waits until `event` has completed. */
    tarn_backend_result (*stream_wait_event)(void *state, tarn_stream stream, tarn_event event);

    /* --- events: a place in a stream's order ------------------------------------------------- */

    tarn_backend_result (*event_create)(void *state, tarn_event *event_out);
    tarn_backend_result (*event_destroy)(void *state, tarn_event event);
    /* The event completes when all work is done that was submitted to `stream` before. It may be recorded
     * again. */
    tarn_backend_result (*event_record)(void *state, tarn_event event, tarn_stream stream);
    /* Never waits. OK: the event has completed, or was never recorded. NOT_READY: not yet. Any other
     * answer says nothing about completion. */
    tarn_backend_result (*event_query)(void *state, tarn_event event);
    tarn_backend_result (*event_synchronize)(void *state, tarn_event event);

    /* --- data, in stream order; the pool itself never touches the memory --------------------- */

    tarn_backend_result (*fill)(void *state, void *address, unsigned char value, size_t size_bytes,
                                tarn_stream stream);
    /* Between any two of: memory of this backend, host memory. */
    tarn_backend_result (*copy)(void *state, void *destination, const void *source,
                                size_t size_bytes, tarn_stream stream);

    /* --- a tool that watches what kernels touch, such as compute-sanitizer ------------------- */

    /*
     * Used by pools in debug mode. All four or none; none may wait for the device.
     */

    /* Tells the tool, if the program runs under one, that a piece from `acquire` is shared out: nothing of it
     * may be touched but the parts that watch_allow names. NULL: no tool watches. */
    tarn_watch (*watch_begin)(void *state, void *address, size_t size_bytes);
    /* Comes before the piece's `release`. */
    void (*watch_end)(void *state, tarn_watch watch);
    /* Allows a part of the piece. It overlaps no other allowed part. */
    void (*watch_allow)(void *state, tarn_watch watch, void *address, size_t size_bytes);
    /* Undoes the watch_allow of that address. NULL: of all. */
    void (*watch_forbid)(void *state, tarn_watch watch, void *address);

    /* --- ranges whose memory other processes map, too; a table may end here or later ------------ */

    /*
     * Both answer NOT_SUPPORTED if has_shareable_ranges is false.
     */

    /* Does what range_map does, with memory that range_export takes. */
    tarn_backend_result (*range_map_shareable)(void *state, void *address, size_t size_bytes,
                                               tarn_mapping *mapping_out);

    /* Gives a new file descriptor for the memory of one range_map_shareable, as a whole: with its address,
     * size and mapping. The caller closes it. The memory stays as long as a descriptor or a mapping of any
     * process refers to it. */
    tarn_backend_result (*range_export)(void *state, void *address, size_t size_bytes,
                                        tarn_mapping mapping, int *file_descriptor_out);

    /* --- an event for all streams ---------------------------------------------------------------- */

    /* The event completes when all work is done that was submitted to the device before, on any stream. Never called
     * while a stream is captured that a pool was told of. NOT_SUPPORTED or NULL: the vendor has no such call; a pool with
     * free_waits then waits for the device at each free that names no stream. */
    tarn_backend_result (*event_record_device)(void *state, tarn_event event);

    /* --- ranges: memory whose work is done --------------------------------------------------------- */

    /* Does what range_unmap does, but waits for no work: the device has done all work on the memory. Never called while a
     * stream is captured that a pool was told of. NULL: the vendor's call may wait, and the pool calls range_unmap. */
    tarn_backend_result (*range_unmap_idle)(void *state, void *address, size_t size_bytes,
                                            tarn_mapping mapping);
} tarn_backend_operations;

/* An open backend. Two words, copied freely. The opener owns `state`. */
typedef struct tarn_backend {
    const tarn_backend_operations *operations;
    void *state;
} tarn_backend;

/* As the number of a device: the one that is current in the calling thread, see tarn_backend_current_device. */
#define TARN_DEVICE_CURRENT (-1)

/*
 * Opens the backend that tarn was built for (TARN_BACKEND: "cuda", "hip", "ze" or "host"), for memory of
 * `kind` on device number `device`, as the vendor counts, or TARN_DEVICE_CURRENT. Memory of kind HOST is there in each
 * build, and on no device: any number does. Built for "host", tarn has one device, 0, and serves all kinds as host
 * memory, so that a program for a GPU runs without one: see tarn/host.h. Built for several vendors (TARN_BACKEND=ALL),
 * the process uses the first of cuda, hip and ze that shows a device, or the one, or "host", that the variable TARN_VENDOR
 * names; this is settled by the first call of the functions below. Close the backend with tarn_backend_close after
 * the last pool on it is destroyed.
 * Status:
 *  - INVALID_ARGUMENT: backend_out is NULL, or the kind is unknown.
 *  - NO_DEVICE: there is no device, or no driver for one. INVALID_DEVICE: no device has this number.
 *  - INVALID_ENVIRONMENT: TARN_VENDOR names no backend of this tarn.
 *  - NOT_SUPPORTED: the device lacks that kind of memory.
 *  - OUT_OF_MEMORY: there is no room for the vendor's own context. OUT_OF_HOST_MEMORY.
 *  - FORKED: the vendor was in use before the fork. Never of host memory.
 *  - VENDOR_ERROR: any other failure of the vendor.
 */
TARN_API tarn_status tarn_backend_open(int device, tarn_memory_kind kind,
                                       tarn_backend *backend_out);

/*
 * Writes how many devices the vendor shows to this process. Creates no context.
 * Status: INVALID_ARGUMENT: count_out is NULL. NO_DEVICE, INVALID_ENVIRONMENT, FORKED, VENDOR_ERROR: as of tarn_backend_open.
 */
TARN_API tarn_status tarn_backend_device_count(int *count_out);

/*
 * Writes the calling thread's current device: the one that cudaSetDevice or hipSetDevice has set, 0 at first; with CUDA
 * that of the current context. Level Zero has no current device; there, and with host memory, it is 0. Creates no context.
 * Status: INVALID_ARGUMENT: device_out is NULL. NO_DEVICE, INVALID_ENVIRONMENT, FORKED, VENDOR_ERROR: as of tarn_backend_open.
 * Cost: that of the vendor's cheapest query: 12 to 36 ns with CUDA, where a context is current.
 */
TARN_API tarn_status tarn_backend_current_device(int *device_out);

/* The name of the backend that tarn_backend_open opens. "none": built for several vendors, and none shows a device. Static
 * text. */
TARN_API const char *tarn_backend_name(void);

/* Closes a backend and clears `backend`. NULL and an empty backend are allowed. The vendor is not called at
 * the end of the process, nor in a forked child. */
TARN_API void tarn_backend_close(tarn_backend *backend);

#ifdef __cplusplus
}
#endif

#endif
