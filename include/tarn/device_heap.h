/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/device_heap.h: a heap for kernels, made by the host.
 *
 * Kernels that refine a mesh, build a hash table or grow a graph allocate and free in the middle of their work. They
 * do so in a device heap: memory of a pool, or of yours, which the host prepares once and in which kernels then find
 * their way alone. This header is the host's side, in C; tarn/device_heap.cuh is the device's, for CUDA and HIP.
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
 * Objects live until they are freed, across kernels. The heap never grows by itself: when it is full tarn_dmalloc
 * gives null, and the host may add memory between kernels. What it has goes back to the pool as a whole.
 *
 * Build tarn with TARN_BACKEND=CUDA or HIP for it. A heap over the host backend can be made, too, and is for tests: no
 * kernel of a device may use it.
 *
 * Words. A page is 64 KiB, a span 64 pages. Objects of up to 64 KiB have one of 44 size classes, and lie in slabs,
 * runs of pages that are cut into objects of one class. Larger ones, the large objects, have pages of their own. A
 * heap consists of pieces of memory, the first of which also has the metadata: 1 % of the heap, or of what it may
 * grow to, and up to a MiB more if it may grow; of 8 MiB to 1 GiB 1.2 %, of 1 MiB 2 %, of the smallest heap 14 %.
 *
 * Rules for every function.
 *  - Streams. What a call does on the device it does in the order of its stream, as tarn_pool_alloc_on and
 *    tarn_pool_free_on do. That stream must come after all that has used the heap so far, kernels and earlier calls:
 *    be the same, or have waited for them. Only where it is said does a call wait for its stream. The stream is of
 *    the device of the pool or backend, and is not being captured into a graph: a graph would do it all again.
 *  - Threads. Different heaps may be used by different threads at any time. Of one heap one call at a time, except
 *    for tarn_device_heap_get_handle.
 *  - If it can fail it returns a status, and writes its outputs only on TARN_STATUS_OK; tarn_last_error() has a
 *    sentence then. A call that fails has changed nothing, where it is not said.
 *  - Backend's errors: each call that takes a stream also answers what the backend answers to a fill, a copy or a
 *    wait, VENDOR_ERROR above all.
 *  - NULL in place of a heap is INVALID_ARGUMENT. A pointer that is no heap's, or no longer, is beyond help.
 *
 * Life and death. The pool must stay until its heaps are destroyed, and refuses to be destroyed before: to it they
 * are live allocations. Nothing but the heap may free or resize them. A pool that is destroyed by force or abandoned
 * takes the memory of its heaps with it: then all that can be done with them is to destroy them, too, which gives
 * back the host's part, and any other call answers INVALID_POOL; the backend keeps what it needs for an event. A backend that was given to
 * tarn_device_heap_create_over must stay open until the heap is destroyed. In a child that was forked a heap of the
 * parent's answers FORKED as its pool does, and to destroy it does nothing on the device.
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

/* What a heap does against the errors of kernels. Nothing of it ever stops a kernel: it counts, and
 * tarn_device_heap_get_stats tells. */
typedef enum tarn_device_heap_checks {
    /* No more than costs nothing: bad frees may go unnoticed, and then damage the heap. */
    TARN_DEVICE_HEAP_CHECKS_NONE = 0,
    /* Frees of what is not live, and of what is no object's address, are counted and change nothing. The default. */
    TARN_DEVICE_HEAP_CHECKS_FREES = 1,
    /* Besides, objects are filled with a pattern when they are handed out and when they are freed, and the bytes
     * behind what was asked for are looked at when they are freed: an object behind whose end something was written
     * is counted, and freed. Each takes 16 bytes more. For finding errors: every byte is written twice. */
    TARN_DEVICE_HEAP_CHECKS_CONTENTS = 2
} tarn_device_heap_checks;

typedef struct tarn_device_heap_options {
    size_t
        struct_bytes; /* sizeof(tarn_device_heap_options), as TARN_DEVICE_HEAP_OPTIONS_INIT sets it */

    /* The most that the heap may have when all has been added, in bytes, with the first piece and its metadata. The
     * metadata is made for as much, and lies in the first piece: up to a MiB, and 10.5 MiB for each GiB. 0: nothing
     * will be added. */
    size_t size_bytes_max;

    tarn_device_heap_checks checks;
} tarn_device_heap_options;

#define TARN_DEVICE_HEAP_OPTIONS_VALUES(SET)            \
    SET(struct_bytes, sizeof(tarn_device_heap_options)) \
    SET(checks, TARN_DEVICE_HEAP_CHECKS_FREES)
TARN_DEFINE_INIT(tarn_device_heap_options_init, tarn_device_heap_options,
                 TARN_DEVICE_HEAP_OPTIONS_VALUES)
#define TARN_DEVICE_HEAP_OPTIONS_INIT \
    TARN_LISTED_INIT(tarn_device_heap_options_init, TARN_DEVICE_HEAP_OPTIONS_VALUES)

/*
 * Creates a heap of size_bytes, metadata included, out of memory of a pool: any pool whose memory the device can use,
 * contiguous ones too. `options` may be NULL for the defaults. The memory is prepared in the order of the stream, and
 * may be used there at once; no thread waits, unless the pool does for memory (growth, debug mode) or the backend
 * lacks events. To the pool it is one allocation.
 * Errors: INVALID_POOL, FORKED; INVALID_ARGUMENT (heap_out is NULL; size_bytes is too small: the metadata
 * and a page have to fit, which takes 75 KiB at least, and up to a MiB and 10.5 MiB for each GiB of size_bytes_max if
 * it may grow; a stream of another device); INVALID_OPTIONS (the message names
 * the field); SIZE_TOO_LARGE (size_bytes or size_bytes_max is more than TARN_DEVICE_HEAP_SIZE_BYTES_MAX); NOT_SUPPORTED (a pool over memory of the caller's, which
 * has no backend, see tarn_device_heap_create_over; a backend that lacks fill, copy or stream_synchronize);
 * OUT_OF_HOST_MEMORY; those of tarn_pool_alloc_on.
 * Cost: that of tarn_pool_alloc_on; an event, two or three copies of some KiB, and on the device a fill of the
 * metadata, 80 MB for a heap of 8 GB.
 */
TARN_API tarn_status tarn_device_heap_create(tarn_pool *pool, size_t size_bytes,
                                             const tarn_device_heap_options *options,
                                             tarn_stream stream, tarn_device_heap **heap_out);

/*
 * The same over memory of the caller's, which the backend fills and copies: at an address that is a multiple of
 * TARN_DEVICE_HEAP_ALIGNMENT_BYTES. The memory must stay until the heap is destroyed, and is the caller's again when
 * the stream that it was destroyed on has come to that place.
 * Of the backend the two words are copied; it may also be one of the caller's own making, with fill, copy and
 * stream_synchronize, and better with events.
 * Errors: INVALID_ARGUMENT (backend, its table, address or heap_out is NULL; the address is not aligned; the end is
 * beyond the last address; size_bytes is too small; a stream of another device); INVALID_OPTIONS, SIZE_TOO_LARGE,
 * NOT_SUPPORTED and OUT_OF_HOST_MEMORY as of tarn_device_heap_create; FORKED.
 * Cost: as there, without the pool.
 */
TARN_API tarn_status tarn_device_heap_create_over(const tarn_backend *backend, void *address,
                                                  size_t size_bytes,
                                                  const tarn_device_heap_options *options,
                                                  tarn_stream stream, tarn_device_heap **heap_out);

/*
 * What kernels are given, by value; it stays the same as long as there is the heap, whatever is added. Kernels may use
 * it from where the heap was created in the order of streams to where it is destroyed. What is in it is for the
 * device's half alone. Of NULL: all zero, a handle of no heap, which no kernel may use.
 * Any thread. Cost: none.
 */
TARN_API tarn_device_heap_handle tarn_device_heap_get_handle(const tarn_device_heap *heap);

/*
 * Destroys a heap, whatever is live in it. Its memory goes back to the pool in the order of the stream, as by
 * tarn_pool_free_on; memory of the caller's stays as it is. NULL is allowed. Waits for what the host has last written
 * to the device, if that is not done yet: creation, adding or reset, and no kernel.
 * Errors: those of tarn_pool_free_on, where INVALID_ARGUMENT (a stream of another device), VENDOR_ERROR and
 * OUT_OF_HOST_MEMORY leave the heap there: nothing but destroying it again may be done with it then. After any other
 * error the heap is gone: CORRUPT, where a pool in debug mode finds that something was written beside the heap.
 * Cost: that of tarn_pool_free_on for each piece.
 */
TARN_API tarn_status tarn_device_heap_destroy(tarn_device_heap *heap, tarn_stream stream);

/* -------------------------------------------------------------------------- between kernels ----- */

/*
 * Adds a piece of size_bytes from the heap's pool, in whole pages: what is left over is not used. Only while no
 * kernel uses the heap, since the host reads and writes what kernels read without looking twice. Objects stay where
 * they are. A piece is never given back before the heap.
 * Waits for the stream, with all that has been submitted to it.
 * Errors: INVALID_ARGUMENT (heap is NULL; size_bytes is less than a page); OVER_LIMIT (more than size_bytes_max of
 * the options in all; more than TARN_DEVICE_HEAP_PIECES_MAX pieces); NOT_SUPPORTED (the heap has no pool:
 * tarn_device_heap_add_over); OUT_OF_HOST_MEMORY; those of tarn_pool_alloc_on.
 * Cost: a wait of some microseconds besides tarn_pool_alloc_on, and copies of some KiB; 68 KiB for a heap of 1 TiB.
 */
TARN_API tarn_status tarn_device_heap_add(tarn_device_heap *heap, size_t size_bytes,
                                          tarn_stream stream);

/*
 * The same of memory of the caller's, also for a heap out of a pool. It must stay until the heap is destroyed.
 * Errors: those of tarn_device_heap_add, but for those of a pool; INVALID_ARGUMENT (address is NULL or not aligned to
 * TARN_DEVICE_HEAP_ALIGNMENT_BYTES; the end is beyond the last address; the heap has some of it already; a stream of another device).
 */
TARN_API tarn_status tarn_device_heap_add_over(tarn_device_heap *heap, void *address,
                                               size_t size_bytes, tarn_stream stream);

/*
 * Makes all of a heap free again, in the order of the stream, without a wait: as it was when it was created, but with
 * all pieces that have been added. What is counted begins at 0. Pointers to objects mean nothing any more.
 * Errors: INVALID_ARGUMENT (heap is NULL; a stream of another device). When the backend fails, the heap must be reset again before kernels use it.
 * Cost: that of preparing it: a fill of the metadata on the device, and copies of some KiB.
 */
TARN_API tarn_status tarn_device_heap_reset(tarn_device_heap *heap, tarn_stream stream);

/* ------------------------------------------------------------------------------- statistics ----- */

/* The slabs of one size class. */
typedef struct tarn_device_heap_class {
    size_t object_bytes; /* of each object */
    size_t live_count;   /* objects that are live */
    size_t free_count;   /* objects that the slabs have room for besides */
    size_t slab_count;
    size_t slab_bytes; /* their pages */
} tarn_device_heap_class;

typedef struct tarn_device_heap_stats {
    size_t
        struct_bytes; /* in: sizeof(tarn_device_heap_stats), as TARN_DEVICE_HEAP_STATS_INIT sets it */

    size_t size_bytes;     /* of all pieces, as they were given */
    size_t metadata_bytes; /* of these, what describes the heap */
    size_t capacity_bytes; /* of these, whole pages for objects */
    size_t piece_count;

    size_t live_count;  /* objects that are live, large ones too */
    size_t live_bytes;  /* theirs, rounded up as the size classes and pages are */
    size_t large_count; /* of these, large objects */
    size_t large_bytes;

    size_t used_bytes; /* pages of slabs and large objects */
    size_t
        span_bytes; /* spans that have such a page; the last one of a piece, if it is shorter, is not counted */
    size_t span_bytes_max;     /* the high-water mark of that */
    size_t free_page_count;    /* pages that are nobody's */
    size_t free_span_count;    /* spans that have nothing but such pages; not counted likewise */
    size_t largest_free_bytes; /* the largest object for which there are pages */

    uint64_t
        failed_count; /* requests of more than 0 bytes that got nothing; of tarn_dmalloc_coop one a wave */
    uint64_t double_free_count;  /* frees of what was not live, in slabs that are there */
    uint64_t foreign_free_count; /* frees of what is no object's address, or no longer */
    uint64_t
        damaged_free_count; /* frees of objects with something written behind their end; see TARN_DEVICE_HEAP_CHECKS_CONTENTS */

    tarn_device_heap_class classes[TARN_DEVICE_HEAP_CLASS_COUNT]; /* from 16 bytes up */
} tarn_device_heap_stats;

#define TARN_DEVICE_HEAP_STATS_INIT TARN_SIZED_INIT(tarn_device_heap_stats)

/*
 * Writes what a heap has and has done, since it was created or reset. Reads a part of the metadata back, and waits
 * for the stream. While kernels on other streams use the heap each number is one of some moment, and they need not
 * agree; otherwise they are exact.
 * Errors: INVALID_ARGUMENT (heap or stats_out is NULL, or its struct_bytes is wrong; a stream of another device);
 * OUT_OF_HOST_MEMORY.
 * Cost: a copy of 2 KiB for each GiB that the heap has or may grow to, and copies of 2 MiB for each GiB up to the last
 * page in use, of up to 4 MiB each. Pages in use are the first ones, most often. A wait for each copy; as much host
 * memory meanwhile as one of them has.
 */
TARN_API tarn_status tarn_device_heap_get_stats(tarn_device_heap *heap, tarn_stream stream,
                                                tarn_device_heap_stats *stats_out);

/*
 * Reads all of the metadata back and compares every structure with every other: for tests, and where a kernel is
 * suspected to have written where it should not. Only while no kernel uses the heap. Waits for the stream.
 * Returns OK, or CORRUPT with the first fault found named in tarn_last_error().message.
 * Errors besides: INVALID_ARGUMENT (heap is NULL; a stream of another device); OUT_OF_HOST_MEMORY.
 * Cost: a copy of the metadata, 10.5 MiB for each GiB, and as much host memory meanwhile.
 */
TARN_API tarn_status tarn_device_heap_check(tarn_device_heap *heap, tarn_stream stream);

#ifdef __cplusplus
}
#endif

#endif
