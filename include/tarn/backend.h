/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/backend.h: where a pool's memory comes from.
 *
 * A backend is a table of operations and a state that they work on: one kind of memory on one
 * device. tarn brings a host backend (tarn/host.h) and the vendor's that was chosen when it was
 * built (tarn/cuda.h). Whoever has another source of memory, an MPI library's or a framework's,
 * fills in a table of their own; only `acquire`, `release` and `get_properties` are needed:
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
 * Rules for every operation. It may be called from any thread, by several threads at once, and
 * never with a lock of the pool's hot path held. It leaves the thread's current device as it found
 * it, and no error behind in the vendor's "last error" slot. It does not call back into the pool.
 * It writes its outputs only when it succeeds. An operation that the backend lacks is NULL.
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

/* What an operation answers: a status, and the vendor's own code and name of the error. */
typedef struct tarn_backend_result {
    tarn_status status;
    int vendor_code;         /* 0 when the vendor has no say in it */
    const char *vendor_name; /* static text, or NULL */
} tarn_backend_result;

/* All zero. */
#ifdef __cplusplus
#define TARN_BACKEND_RESULT_OK (tarn_backend_result())
#else
#define TARN_BACKEND_RESULT_OK ((tarn_backend_result){ .status = TARN_STATUS_OK })
#endif

/* The kinds of memory. A backend offers those that its vendor has; the others are NOT_SUPPORTED. */
typedef enum tarn_memory_kind {
    TARN_MEMORY_KIND_DEVICE = 0, /* on the device; the host cannot read it */
    TARN_MEMORY_KIND_PINNED =
        1, /* on the host, page-locked, so that the device reads and writes it */
    TARN_MEMORY_KIND_SHARED = 2, /* moves between host and device by itself ("managed") */
    TARN_MEMORY_KIND_HOST = 3    /* plain host memory */
} tarn_memory_kind;

/* The vendor's own handles, converted: a cudaStream_t, a cudaEvent_t. A NULL stream is the
 * device's default stream. */
typedef void *tarn_stream;
typedef void *tarn_event;

/* What stays the same for as long as the backend is open. */
#define TARN_MEMORY_ID_HOST UINT64_MAX /* the machine's own memory */

typedef struct tarn_device_properties {
    const char *device_name;     /* as the vendor names it; valid until the backend is closed */
    tarn_memory_kind kind;       /* of the memory that `acquire` gives */
    bool is_host_accessible;     /* whether the host may read and write the memory */
    size_t alignment_bytes;      /* every acquired address is a multiple of this power of two */
    size_t granularity_bytes;    /* the vendor rounds sizes up to a multiple of this power of two */
    size_t allocation_bytes_max; /* the largest size that one `acquire` or `range_map` takes */
    /* Ranges, and what is mapped into them, start at and measure multiples of this power of two.
     * 0 when there are no ranges: the device lacks them, its driver does, or this kind of memory. */
    size_t range_granularity_bytes;
    /* Two backends of one name and one number take from the same memory. 0: nobody can tell. */
    uint64_t memory_id;
    int driver_version;  /* as the vendor numbers it; 0 when there is none */
    int runtime_version; /* likewise */
    /* What is mapped into ranges can be given to other processes: range_map_shareable, range_export. */
    bool has_shareable_ranges;
    /* A handle that stands for a stream of the calling thread's own, whichever thread that is, as
     * cudaStreamPerThread does. It needs no creating and ends with the thread. NULL: there is none. */
    tarn_stream thread_stream;
    /* Another name of the default stream, as cudaStreamLegacy is. NULL: it has no other. */
    tarn_stream default_stream_alias;
} tarn_device_properties;

/* How much memory the device has, and how much of it nobody holds at this moment. */
typedef struct tarn_memory_info {
    size_t total_bytes;
    size_t free_bytes;
} tarn_memory_info;

/* Memory that is mapped into a range: a CUmemGenericAllocationHandle, converted, or whatever the
 * vendor has in its place. It may be 0, so a NULL mapping says nothing. */
typedef void *tarn_mapping;

/* A piece of memory that a tool watches. */
typedef void *tarn_watch;

typedef struct tarn_backend_operations {
    size_t struct_bytes; /* sizeof(tarn_backend_operations), so that the table can grow */
    const char *name;    /* "host", "cuda", ...: lower case, static text */

    /* Gives up what opening the backend took. No memory, stream or event of it may be left. */
    void (*close)(void *state);

    /* --- memory ------------------------------------------------------------------------------ */

    /* A new piece of memory of size_bytes, never zero. OUT_OF_MEMORY means just that and nothing
     * else, since the pool then tries less. */
    tarn_backend_result (*acquire)(void *state, size_t size_bytes, void **address_out);

    /* Gives a piece back, whole. All work on it has been submitted; the operation waits for that
     * work when the vendor does not. */
    tarn_backend_result (*release)(void *state, void *address, size_t size_bytes);

    /* --- ranges: addresses without memory, into which memory is mapped piece by piece -------- */

    /*
     *     range     |<------------ reserved ------------->|
     *     memory    |    A    |         |    B    |    C  |     one range_map each
     *
     * The device may use the addresses where memory is mapped, and no others. B and C are filled and
     * copied as if they were one piece.
     *
     * Every address and every size is a multiple of range_granularity_bytes, and no size is zero:
     * all else is INVALID_ARGUMENT. Where that granularity is 0, all four are NOT_SUPPORTED.
     */

    /* Reserves addresses that nobody else gets, and no memory. A range may be larger than the
     * device's memory. OUT_OF_MEMORY: there are not so many addresses in a row. */
    tarn_backend_result (*range_reserve)(void *state, size_t size_bytes, void **address_out);

    /* Gives the addresses back, the whole range, when nothing is mapped into it any more. */
    tarn_backend_result (*range_release)(void *state, void *address, size_t size_bytes);

    /* Maps new memory, one physical object, where nothing is mapped in one reserved range, and lets
     * the device read and write it. OUT_OF_MEMORY as of `acquire`; allocation_bytes_max holds. On
     * failure nothing is mapped and no memory is held. */
    tarn_backend_result (*range_map)(void *state, void *address, size_t size_bytes,
                                     tarn_mapping *mapping_out);

    /* Undoes one range_map, whole: same address, size and mapping. The memory goes back to the
     * device, the addresses stay reserved. Work on the memory is waited for as in `release`. On
     * failure all stays as it was. */
    tarn_backend_result (*range_unmap)(void *state, void *address, size_t size_bytes,
                                       tarn_mapping mapping);

    /* --- device ------------------------------------------------------------------------------ */

    tarn_backend_result (*get_properties)(void *state, tarn_device_properties *properties_out);
    /* NOT_SUPPORTED where the vendor does not tell. */
    tarn_backend_result (*query_memory)(void *state, tarn_memory_info *info_out);
    /* Waits until the device has done all work that was submitted to it, on any stream. NOT_SUPPORTED
     * where the vendor has no such call. */
    tarn_backend_result (*synchronize)(void *state);

    /* --- streams: work on one runs in order, work on two runs in any order ------------------- */

    /*
     * What takes a stream, or an event, believes its caller that it is of this device: what comes of
     * another device's differs from vendor to vendor. stream_check is for whoever gets a stream from
     * outside.
     */

    tarn_backend_result (*stream_create)(void *state, tarn_stream *stream_out);
    tarn_backend_result (*stream_destroy)(void *state, tarn_stream stream); /* finishes its work */
    /* INVALID_ARGUMENT for a stream of another device; a NULL stream is none. */
    tarn_backend_result (*stream_check)(void *state, tarn_stream stream);
    /* A number that no other stream of the process has or had, for telling a stream from the one before
     * that had the same handle. Where vendors have no such number the operation is NULL. */
    tarn_backend_result (*stream_id)(void *state, tarn_stream stream, uint64_t *id_out);
    tarn_backend_result (*stream_synchronize)(void *state, tarn_stream stream);
    /* What is submitted to `stream` from now on waits until `event` has completed. */
    tarn_backend_result (*stream_wait_event)(void *state, tarn_stream stream, tarn_event event);

    /* --- events: a place in a stream's order ------------------------------------------------- */

    tarn_backend_result (*event_create)(void *state, tarn_event *event_out);
    tarn_backend_result (*event_destroy)(void *state, tarn_event event);
    /* Completes when all that was submitted to `stream` before has. May be recorded again. */
    tarn_backend_result (*event_record)(void *state, tarn_event event, tarn_stream stream);
    /* OK when it has completed or was never recorded, NOT_READY when not yet, else an error,
     * which says nothing about completion. Never waits. */
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

    /* Tells the tool, if the program runs under one, that a piece from `acquire` is shared out, and
     * that nothing of it may be touched but what watch_allow names. NULL: nobody watches. */
    tarn_watch (*watch_begin)(void *state, void *address, size_t size_bytes);
    /* Comes before the piece's `release`. */
    void (*watch_end)(void *state, tarn_watch watch);
    /* A part of the piece that overlaps no other one that is allowed. */
    void (*watch_allow)(void *state, tarn_watch watch, void *address, size_t size_bytes);
    /* Undoes the watch_allow of that address; of NULL: all of them. */
    void (*watch_forbid)(void *state, tarn_watch watch, void *address);

    /* --- ranges whose memory other processes map, too; a table may end before them ------------- */

    /*
     * Both are NOT_SUPPORTED where has_shareable_ranges is false.
     */

    /* As range_map, but of memory that range_export takes. */
    tarn_backend_result (*range_map_shareable)(void *state, void *address, size_t size_bytes,
                                               tarn_mapping *mapping_out);

    /* Gives a file descriptor that stands for what one range_map_shareable mapped, whole: same
     * address, size and mapping. It is the caller's to close, a new one each time, and the memory
     * stays for as long as one of them does, or somebody has it mapped. */
    tarn_backend_result (*range_export)(void *state, void *address, size_t size_bytes,
                                        tarn_mapping mapping, int *file_descriptor_out);
} tarn_backend_operations;

/* An open backend. Two words, copied freely; `state` belongs to whoever opened it. */
typedef struct tarn_backend {
    const tarn_backend_operations *operations;
    void *state;
} tarn_backend;

/*
 * Opens the backend that tarn was built for ("cuda", "hip", "ze" or "host", by TARN_BACKEND) on device
 * number `device`, counted as the vendor counts, for memory of `kind`. The host backend has one
 * device, 0, and takes DEVICE as well as HOST, so that a program written for a device runs on it.
 * Close it with tarn_backend_close after the last pool on it is destroyed.
 * Errors: INVALID_ARGUMENT (backend_out is NULL, kind unknown), NO_DEVICE, INVALID_DEVICE,
 * NOT_SUPPORTED (the device lacks that kind), OUT_OF_MEMORY (no room for the vendor's own context),
 * OUT_OF_HOST_MEMORY, VENDOR_ERROR, FORKED (the vendor was in use before the fork; never of the host
 * backend).
 */
TARN_API tarn_status tarn_backend_open(int device, tarn_memory_kind kind,
                                       tarn_backend *backend_out);

/* The name of the backend that tarn_backend_open opens. Static text. */
TARN_API const char *tarn_backend_name(void);

/* Closes a backend and clears `backend`. NULL and an empty one are allowed. At the end of the process and
 * in a forked child the vendor is not called, as tarn/tarn.h says under "life and death". */
TARN_API void tarn_backend_close(tarn_backend *backend);

#ifdef __cplusplus
}
#endif

#endif
