/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/device_heap.h: a heap for kernels, made by the host.
 *
 * Kernels that refine a mesh, build a hash table or grow a graph allocate and free in the middle of their
 * work. A device heap serves them: memory of a pool, or of yours, which the host prepares once. This header
 * is the host's side, in C. tarn/device_heap.cuh is the kernels' side, for CUDA and HIP.
 *
 *     #include <tarn/device_heap.h>
 *
 *     tarn_device_heap *heap;
 *     tarn_device_heap_create(pool, (size_t)1 << 30, NULL, stream, &heap);
 *     tarn_device_heap_handle handle = tarn_device_heap_get_handle(heap);
 *     refine<<<blocks, threads, 0, stream>>>(mesh, handle);
 *     coarsen<<<blocks, threads, 0, stream>>>(mesh, handle);
 *     tarn_device_heap_destroy(heap, stream);          at once, while the kernels still run
 *
 * and in the kernels, with tarn/device_heap.cuh:
 *
 *     struct cell *cell = (struct cell *)tarn_dmalloc(handle, sizeof *cell);
 *     if (cell != nullptr) ...
 *     tarn_dfree(handle, cell);
 *
 * Objects live until they are freed, across kernels. The heap never grows by itself: when it is full,
 * tarn_dmalloc gives null. The host may add memory between kernels. All memory goes back to the pool
 * together.
 *
 * Build tarn with TARN_BACKEND=CUDA or HIP for it. A heap over the host backend is for tests: no kernel of a
 * device may use it. docs/device_heap.md says how it works and what it costs.
 *
 * Words.
 *     page      64 KiB
 *     span      64 pages
 *     slab      a run of pages, cut into objects of one of 44 size classes, of up to 64 KiB
 *     large     an object of more than 64 KiB, with pages of its own
 *     piece     memory that the heap was given. The first one also holds the metadata: 1 % of the heap, or of
 *               what it may grow to, and up to a MiB more if it may grow. Of a heap of 8 MiB to 1 GiB it is
 *               1.2 %, of 1 MiB 2 %, of the smallest heap 14 %.
 *
 * Rules for every function, unless its own text says otherwise.
 *  - Streams. Work on the device is done in the order of the stream, like that of tarn_pool_alloc_on and
 *    tarn_pool_free_on. The stream must come after everything that has used the heap so far, kernels and
 *    earlier calls: it is the same stream, or has waited for theirs. It is of the heap's device, and is not
 *    being captured, because a graph would repeat the work. The call does not wait for the stream.
 *  - Threads. Different heaps may be used by different threads at any time; one heap by one call at a time.
 *  - Outcome. A function that can fail returns a status, writes its outputs only on TARN_STATUS_OK, and
 *    leaves a sentence in tarn_last_error(). A call that fails has changed nothing.
 *  - Versions. Compile kernels with the headers of the library that runs. A later library may lay heaps out in another
 *    way. Then the creation answers NOT_SUPPORTED to a program that was compiled with earlier headers. In kernels that
 *    were, tarn_dmalloc gives null and tarn_dfree does nothing.
 *  - Status. A NULL heap is INVALID_ARGUMENT, and so is a stream of another device. A call with a stream also
 *    answers what the backend answers to a fill, a copy or a wait, VENDOR_ERROR above all. A pointer that is
 *    no heap's is undefined behaviour.
 *
 * Life and death. To the pool a heap is a live allocation: nothing but the heap may free or resize it, and
 * the pool refuses to be destroyed before the heap.
 *  - A pool that is destroyed by force or abandoned takes the memory of its heaps with it. Such a heap can
 *    only be destroyed, which gives the host's part back; every other call answers INVALID_POOL. The backend
 *    keeps what it needs for an event.
 *  - A backend of tarn_device_heap_create_over must stay open until the heap is destroyed.
 *  - In a forked child a heap of the parent's answers FORKED. To destroy it does nothing on the device.
 */
#ifndef TARN_DEVICE_HEAP_H
#define TARN_DEVICE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "tarn/backend.h"
#include "tarn/device_heap/layout.h"
#include "tarn/export.h"
#include "tarn/init.h"
#include "tarn/stats.h"
#include "tarn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------- create, destroy ----- */

#define TARN_DEVICE_HEAP_PAGE_BYTES      ((size_t)64 << 10)
#define TARN_DEVICE_HEAP_SIZE_BYTES_MAX  ((size_t)1 << 40)
#define TARN_DEVICE_HEAP_ALIGNMENT_BYTES 256 /* of memory of the caller's */
#define TARN_DEVICE_HEAP_PIECES_MAX      16  /* of one heap, with the first */
#define TARN_DEVICE_HEAP_CLASS_COUNT     44

/* A device heap, seen from the host. */
typedef struct tarn_device_heap tarn_device_heap;

/* How a heap guards against errors of kernels. It never stops a kernel: it counts errors, and
 * tarn_device_heap_get_stats tells. */
typedef enum tarn_device_heap_checks {
    /* Only checks that cost nothing. A bad free may go unnoticed, and then damages the heap. */
    TARN_DEVICE_HEAP_CHECKS_NONE = 0,
    /* A free of memory that is not live, or of an address that is no object's, is counted and changes
     * nothing. The default. */
    TARN_DEVICE_HEAP_CHECKS_FREES = 1,
    /* Besides, patterns fill each object when it is handed out and freed, and 16 bytes behind it are compared
     * when it is freed. An object with a damaged end is counted, and freed. Every byte is written twice. */
    TARN_DEVICE_HEAP_CHECKS_CONTENTS = 2
} tarn_device_heap_checks;

typedef struct tarn_device_heap_options {
    size_t struct_bytes; /* sizeof(tarn_device_heap_options) */

    /* The most bytes of all pieces together, metadata included. The first piece holds metadata for so much:
     * up to a MiB, and 10.5 MiB for each GiB. Default 0: nothing will be added. */
    size_t size_bytes_max;

    tarn_device_heap_checks checks; /* default TARN_DEVICE_HEAP_CHECKS_FREES */
} tarn_device_heap_options;

#define TARN_DEVICE_HEAP_OPTIONS_VALUES(SET)            \
    SET(struct_bytes, sizeof(tarn_device_heap_options)) \
    SET(checks, TARN_DEVICE_HEAP_CHECKS_FREES)
TARN_DEFINE_INIT(tarn_device_heap_options_init, tarn_device_heap_options,
                 TARN_DEVICE_HEAP_OPTIONS_VALUES)
#define TARN_DEVICE_HEAP_OPTIONS_INIT \
    TARN_LISTED_INIT(tarn_device_heap_options_init, TARN_DEVICE_HEAP_OPTIONS_VALUES)

/*
 * Creates a heap of size_bytes, metadata included, from memory of a pool that the device can use. Contiguous
 * pools will do. `options` may be NULL: the defaults. Kernels on the stream may use the heap at once. No
 * thread waits, unless the pool waits for memory (growth, debug mode) or the backend lacks events.
 * Status: those of tarn_pool_alloc_on, and
 *  - INVALID_ARGUMENT: heap_out is NULL; or size_bytes is too small for the metadata and a page, which take
 *    75 KiB at least, and up to a MiB and 10.5 MiB for each GiB of size_bytes_max if the heap may grow.
 *  - INVALID_OPTIONS: the message names the field.
 *  - SIZE_TOO_LARGE: size_bytes or size_bytes_max is more than TARN_DEVICE_HEAP_SIZE_BYTES_MAX.
 *  - NOT_SUPPORTED: the backend lacks fill, copy or stream_synchronize; the pool is over memory of the
 *    caller's and has no backend, see tarn_device_heap_create_over; or these headers are for another layout.
 *  - OUT_OF_HOST_MEMORY.
 * Cost: that of tarn_pool_alloc_on; an event, two or three copies of some KiB, and on the device a fill of
 * the metadata, 80 MB for a heap of 8 GB.
 */
TARN_API tarn_status tarn_device_heap_create(tarn_pool *pool, size_t size_bytes,
                                             const tarn_device_heap_options *options,
                                             tarn_stream stream, tarn_device_heap **heap_out);

/*
 * Creates a heap over memory of the caller's, at a multiple of TARN_DEVICE_HEAP_ALIGNMENT_BYTES. The backend
 * fills and copies it. The memory must stay until the heap is destroyed, and is the caller's again when the
 * stream of the destruction has got there. The backend's two words are copied. It may be one of your own,
 * with fill, copy and stream_synchronize, and better with events.
 * Status: INVALID_OPTIONS, SIZE_TOO_LARGE, NOT_SUPPORTED and OUT_OF_HOST_MEMORY, like
 * tarn_device_heap_create; FORKED; and INVALID_ARGUMENT: backend, its table, address or heap_out is NULL; the
 * address is not aligned; the end is beyond the last address; or size_bytes is too small.
 * Cost: that of tarn_device_heap_create without the pool.
 */
TARN_API tarn_status tarn_device_heap_create_over(const tarn_backend *backend, void *address,
                                                  size_t size_bytes,
                                                  const tarn_device_heap_options *options,
                                                  tarn_stream stream, tarn_device_heap **heap_out);

/*
 * Create a heap for kernels that were compiled with the layout of this number, TARN_DEVICE_HEAP_LAYOUT_VERSION of their
 * headers. In C and C++ the two macros below pass the number of the headers. The functions of these names, which other
 * languages call, create heaps of layout 1.
 * Status: those of tarn_device_heap_create and of tarn_device_heap_create_over.
 */
TARN_API tarn_status tarn_device_heap_create_for_layout(uint32_t layout_version, tarn_pool *pool,
                                                        size_t size_bytes,
                                                        const tarn_device_heap_options *options,
                                                        tarn_stream stream,
                                                        tarn_device_heap **heap_out);
TARN_API tarn_status tarn_device_heap_create_over_for_layout(
    uint32_t layout_version, const tarn_backend *backend, void *address, size_t size_bytes,
    const tarn_device_heap_options *options, tarn_stream stream, tarn_device_heap **heap_out);

#define TARN_DEVICE_HEAP_LAYOUT_VERSION TN_HEAP_LAYOUT_VERSION
#define tarn_device_heap_create(...) \
    tarn_device_heap_create_for_layout(TARN_DEVICE_HEAP_LAYOUT_VERSION, __VA_ARGS__)
#define tarn_device_heap_create_over(...) \
    tarn_device_heap_create_over_for_layout(TARN_DEVICE_HEAP_LAYOUT_VERSION, __VA_ARGS__)

/*
 * Returns the handle for kernels, which is passed by value; its content is for tarn/device_heap.cuh only. It
 * stays the same as long as the heap exists, whatever is added. Kernels may use it after the creation and
 * before the destruction, in the order of streams. For a NULL heap it is all zero, and kernels get nothing from it.
 * Threads: any, at any time. Cost: none.
 */
TARN_API tarn_device_heap_handle tarn_device_heap_get_handle(const tarn_device_heap *heap);

/*
 * Destroys a heap, whatever is live in it. Its memory goes back to the pool in the order of the stream, as by
 * tarn_pool_free_on; memory of the caller's stays. NULL is allowed. Waits for the host's last write to the
 * device, of creation, adding or reset, if that is not done yet; waits for no kernel.
 * Status: those of tarn_pool_free_on.
 *  - INVALID_ARGUMENT, VENDOR_ERROR, OUT_OF_HOST_MEMORY: the heap still exists, and must be destroyed again.
 *  - CORRUPT: a pool in debug mode found damage beside the heap. After this and any other status the heap is
 *    gone.
 * Cost: that of tarn_pool_free_on for each piece.
 */
TARN_API tarn_status tarn_device_heap_destroy(tarn_device_heap *heap, tarn_stream stream);

/* -------------------------------------------------------------------------- between kernels ----- */

/*
 * Adds a piece of size_bytes from the heap's pool, in whole pages; the rest is not used. Objects stay where
 * they are. The piece goes back only with the heap. Requires that no kernel uses the heap, because the host
 * writes what kernels read. Waits for the stream.
 * Status: those of tarn_pool_alloc_on, and
 *  - INVALID_ARGUMENT: size_bytes is less than a page.
 *  - OVER_LIMIT: more than size_bytes_max in all, or more than TARN_DEVICE_HEAP_PIECES_MAX pieces.
 *  - NOT_SUPPORTED: the heap has no pool; use tarn_device_heap_add_over.
 *  - OUT_OF_HOST_MEMORY.
 * Cost: that of tarn_pool_alloc_on, a wait of some microseconds, and copies of some KiB; 68 KiB for a heap of
 * 1 TiB.
 */
TARN_API tarn_status tarn_device_heap_add(tarn_device_heap *heap, size_t size_bytes,
                                          tarn_stream stream);

/*
 * Adds a piece of memory of the caller's, also to a heap from a pool. The memory must stay until the heap is
 * destroyed. Otherwise like tarn_device_heap_add.
 * Status: those of tarn_device_heap_add but for the pool's. INVALID_ARGUMENT: also if address is NULL or not
 * a multiple of TARN_DEVICE_HEAP_ALIGNMENT_BYTES, the end is beyond the last address, or the heap has some of
 * it already.
 */
TARN_API tarn_status tarn_device_heap_add_over(tarn_device_heap *heap, void *address,
                                               size_t size_bytes, tarn_stream stream);

/*
 * Makes all of a heap free again, in the order of the stream: like a new heap with all pieces that were
 * added. Counts begin at 0. Pointers to objects become invalid.
 * Status: if the backend fails, the heap must be reset again before kernels use it.
 * Cost: on the device a fill of the metadata, and copies of some KiB.
 */
TARN_API tarn_status tarn_device_heap_reset(tarn_device_heap *heap, tarn_stream stream);

/* ------------------------------------------------------------------------------- statistics ----- */

/* The slabs of one size class. */
typedef struct tarn_device_heap_class {
    size_t object_bytes; /* of each object */
    size_t live_count;   /* live objects */
    size_t free_count;   /* objects for which the slabs have room besides */
    size_t slab_count;
    size_t slab_bytes; /* of the slabs' pages */
} tarn_device_heap_class;

typedef struct tarn_device_heap_stats {
    size_t struct_bytes; /* in: sizeof(tarn_device_heap_stats) */

    size_t size_bytes;     /* of all pieces, as they were given */
    size_t metadata_bytes; /* of these, describing the heap */
    size_t capacity_bytes; /* of these, whole pages for objects */
    size_t piece_count;

    size_t live_count;  /* live objects, large ones too */
    size_t live_bytes;  /* theirs, rounded up to size classes and pages */
    size_t large_count; /* of these, large objects */
    size_t large_bytes;

    size_t used_bytes; /* pages of slabs and large objects */
    /* Whole spans with such a page. A shorter last span of a piece does not count here, nor below. */
    size_t span_bytes;
    size_t span_bytes_max;     /* its high-water mark */
    size_t free_page_count;    /* pages of no slab and no large object */
    size_t free_span_count;    /* spans of such pages alone */
    size_t largest_free_bytes; /* the largest object for which there are pages */

    /* Requests of more than 0 bytes that got nothing; of tarn_dmalloc_coop one for each wave. */
    uint64_t failed_count;
    uint64_t double_free_count;  /* frees of memory that was not live, in slabs that exist */
    uint64_t foreign_free_count; /* frees of addresses that are no object's, or no longer */
    uint64_t damaged_free_count; /* frees of objects with a damaged end, with CHECKS_CONTENTS */

    tarn_device_heap_class classes[TARN_DEVICE_HEAP_CLASS_COUNT]; /* from 16 bytes up */
} tarn_device_heap_stats;

#define TARN_DEVICE_HEAP_STATS_INIT TARN_SIZED_INIT(tarn_device_heap_stats)

/*
 * Writes what a heap has, and what it has done since it was created or reset. Reads a part of the metadata
 * back, and waits for the stream. The numbers are exact if no kernel uses the heap; otherwise each one is of
 * some moment, and they need not agree.
 * Status: INVALID_ARGUMENT: also if stats_out is NULL or its struct_bytes is wrong. OUT_OF_HOST_MEMORY.
 * Cost: a copy of 2 KiB for each GiB that the heap may have, and copies of 2 MiB for each GiB up to the last
 * page in use, of up to 4 MiB each. Mostly the first pages are in use. A wait for each copy, and host memory
 * for one.
 */
TARN_API tarn_status tarn_device_heap_get_stats(tarn_device_heap *heap, tarn_stream stream,
                                                tarn_device_heap_stats *stats_out);

/*
 * Reads all of the metadata back and compares every structure with every other: for tests, and if a kernel
 * may have written where it should not. Requires that no kernel uses the heap. Waits for the stream.
 * Status: OK: no fault was found. CORRUPT: tarn_last_error().message names the first fault.
 * OUT_OF_HOST_MEMORY.
 * Cost: a copy of the metadata, 10.5 MiB for each GiB, and as much host memory meanwhile.
 */
TARN_API tarn_status tarn_device_heap_check(tarn_device_heap *heap, tarn_stream stream);

#ifdef __cplusplus
}
#endif

#endif
