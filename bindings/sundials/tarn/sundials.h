/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/sundials.h: a memory helper of SUNDIALS that serves memory of tarn to vectors, matrices and solvers on a GPU.
 *
 *     #include <tarn/sundials.h>
 *
 *     SUNMemoryHelper helper = tarn_sundials_helper(SUNMemoryHelper_Cuda(context), NULL);
 *     N_Vector y = N_VNewWithMemHelp_Cuda(length, SUNFALSE, helper, context);
 *     ...
 *     N_VDestroy(y);
 *     SUNMemoryHelper_Destroy(helper);
 *
 * The helper lies over one of SUNDIALS, that of the vendor, which goes on to copy and to serve pageable host memory. CUDA and
 * HIP; of SYCL's helper the queue is no stream. C and C++, SUNDIALS 6 and 7.
 *
 * Memory. SUNMEMTYPE_DEVICE is of the given pool, or of the process-wide pool of the current device; SUNMEMTYPE_PINNED and
 * SUNMEMTYPE_UVM are always of process-wide pools. Addresses are multiples of 256.
 *
 * Streams. `queue` points to the stream, as in SUNDIALS' own helpers; NULL: the helper's default queue, which SUNDIALS has
 * from 7.3. Device memory is for use on the stream, and is freed on it while kernels may still run. Where SUNDIALS names no
 * queue, as its matrices and solvers do, a free waits for all work on the device, as cudaFree does, and an allocation gets
 * memory that no stream uses: TARN_STREAM_ANY. An allocation on the default stream gets such memory, too, because a vector
 * is made there before it gets its policy. Memory that the host can use is ready for the host at once: an allocation waits
 * if no other memory is free. So the pool must have a backend with events, as all have but pools over memory of yours.
 *
 * Failures are returned, SUN_ERR_MALLOC_FAIL and SUN_ERR_EXT_FAIL in SUNDIALS 7, -1 in 6. tarn_last_error has a sentence.
 * After a free that is refused the SUNMemory is as it was.
 *
 * Threads: as SUNDIALS' helpers. A pool of yours must outlive the memory.
 */
#ifndef TARN_SUNDIALS_H
#define TARN_SUNDIALS_H

#include <stdlib.h>
#include <string.h>

#include <sundials/sundials_config.h>
#include <sundials/sundials_memory.h>

#include "tarn/tarn.h"

#if SUNDIALS_VERSION_MAJOR >= 7
#include <sundials/sundials_errors.h>
#define TARN_SUNDIALS_NO_MEMORY   SUN_ERR_MALLOC_FAIL
#define TARN_SUNDIALS_FAILED      SUN_ERR_EXT_FAIL
#define TARN_SUNDIALS_NEW(helper) SUNMemoryNewEmpty((helper)->sunctx)
#else
#define TARN_SUNDIALS_NO_MEMORY   (-1)
#define TARN_SUNDIALS_FAILED      (-1)
#define TARN_SUNDIALS_NEW(helper) SUNMemoryNewEmpty()
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The content of the helper. */
typedef struct tarn_sundials_content {
    SUNMemoryHelper vendor; /* owned */
    tarn_pool *pool;        /* of device memory; NULL: the process-wide one */
} tarn_sundials_content;

static inline tarn_sundials_content *tarn_sundials_content_of(SUNMemoryHelper helper)
{
    return (tarn_sundials_content *)helper->content;
}

static inline void *tarn_sundials_queue(SUNMemoryHelper helper, void *queue)
{
#if SUNDIALS_VERSION_MAJOR > 7 || (SUNDIALS_VERSION_MAJOR == 7 && SUNDIALS_VERSION_MINOR >= 3)
    if (!queue) return helper->queue;
#endif
    (void)helper;
    return queue;
}

static inline tarn_stream tarn_sundials_stream(SUNMemoryHelper helper, void *queue)
{
    tarn_stream stream = TARN_STREAM_ANY;
    queue = tarn_sundials_queue(helper, queue);
    if (queue) memcpy(&stream, queue, sizeof stream);
    return stream;
}

static inline int tarn_sundials_result(tarn_status status)
{
    switch (status) {
    case TARN_STATUS_OK:
        return 0;
    case TARN_STATUS_OUT_OF_MEMORY:
    case TARN_STATUS_OVER_LIMIT:
    case TARN_STATUS_SIZE_TOO_LARGE:
    case TARN_STATUS_OUT_OF_HOST_MEMORY:
        return TARN_SUNDIALS_NO_MEMORY;
    default:
        return TARN_SUNDIALS_FAILED;
    }
}

static inline int tarn_sundials_alloc(SUNMemoryHelper helper, SUNMemory *memory_out,
                                      size_t size_bytes, SUNMemoryType type, void *queue)
{
    const tarn_sundials_content *content = tarn_sundials_content_of(helper);
    tarn_stream stream = TARN_STREAM_ANY; /* the host may write it at once */
    tarn_memory_kind kind = TARN_MEMORY_KIND_DEVICE;
    if (type == SUNMEMTYPE_DEVICE) {
        const tarn_stream named = tarn_sundials_stream(helper, queue);
        if (named) stream = named;
    } else if (type == SUNMEMTYPE_PINNED) {
        kind = TARN_MEMORY_KIND_PINNED;
    } else if (type == SUNMEMTYPE_UVM) {
        kind = TARN_MEMORY_KIND_SHARED;
    } else {
        return SUNMemoryHelper_Alloc(content->vendor, memory_out, size_bytes, type, queue);
    }

    tarn_status status = TARN_STATUS_OK;
    tarn_pool *pool = type == SUNMEMTYPE_DEVICE ? content->pool : NULL;
    if (!pool) status = tarn_device_pool(TARN_DEVICE_CURRENT, kind, &pool);
    void *address = NULL;
    if (status == TARN_STATUS_OK) status = tarn_pool_alloc_on(pool, size_bytes, stream, &address);
    if (status != TARN_STATUS_OK) return tarn_sundials_result(status);

    SUNMemory memory = TARN_SUNDIALS_NEW(helper);
    if (!memory) {
        (void)tarn_pool_free_on(pool, address, stream);
        return TARN_SUNDIALS_NO_MEMORY;
    }
    memory->ptr = address;
    memory->type = type;
    memory->own = SUNTRUE;
#if SUNDIALS_VERSION_MAJOR >= 7
    memory->bytes = size_bytes;
#endif
    *memory_out = memory;
    return 0;
}

static inline int tarn_sundials_dealloc(SUNMemoryHelper helper, SUNMemory memory, void *queue)
{
    const tarn_sundials_content *content = tarn_sundials_content_of(helper);
    if (!memory) return 0;
    if (!memory->own || memory->type == SUNMEMTYPE_HOST)
        return SUNMemoryHelper_Dealloc(content->vendor, memory, queue);
    const tarn_stream stream = tarn_sundials_stream(helper, queue);
    const tarn_status status = memory->type == SUNMEMTYPE_DEVICE && content->pool
                                   ? tarn_pool_free_on(content->pool, memory->ptr, stream)
                                   : tarn_free_on(memory->ptr, stream);
    if (status == TARN_STATUS_OK) free(memory);
    return tarn_sundials_result(status);
}

static inline int tarn_sundials_copy(SUNMemoryHelper helper, SUNMemory destination,
                                     SUNMemory source, size_t size_bytes, void *queue)
{
    return SUNMemoryHelper_Copy(tarn_sundials_content_of(helper)->vendor, destination, source,
                                size_bytes, tarn_sundials_queue(helper, queue));
}

static inline int tarn_sundials_copy_async(SUNMemoryHelper helper, SUNMemory destination,
                                           SUNMemory source, size_t size_bytes, void *queue)
{
    return SUNMemoryHelper_CopyAsync(tarn_sundials_content_of(helper)->vendor, destination, source,
                                     size_bytes, tarn_sundials_queue(helper, queue));
}

#if SUNDIALS_VERSION_MAJOR >= 7 || SUNDIALS_VERSION_MINOR >= 5
#define TARN_SUNDIALS_HAS_STATS
/* Of pageable memory alone; of the rest, tarn_pool_stats tells. */
static inline int tarn_sundials_stats(SUNMemoryHelper helper, SUNMemoryType type,
                                      unsigned long *alloc_count, unsigned long *free_count,
                                      size_t *live_bytes, size_t *live_bytes_max)
{
    if (type != SUNMEMTYPE_HOST) return TARN_SUNDIALS_FAILED;
    return SUNMemoryHelper_GetAllocStats(tarn_sundials_content_of(helper)->vendor, type,
                                         alloc_count, free_count, live_bytes, live_bytes_max);
}
#endif

static inline int tarn_sundials_destroy(SUNMemoryHelper helper)
{
    const int result = SUNMemoryHelper_Destroy(tarn_sundials_content_of(helper)->vendor);
    free(helper->content);
    free(helper->ops);
    free(helper);
    return result;
}

static inline SUNMemoryHelper tarn_sundials_clone(SUNMemoryHelper helper);

/*
 * Makes a helper over the vendor's, which belongs to it from then on: SUNMemoryHelper_Destroy ends both. `pool` serves
 * device memory; NULL: the process-wide pool. NULL without host memory, or if `vendor` is NULL; then vendor is destroyed.
 */
static inline SUNMemoryHelper tarn_sundials_helper(SUNMemoryHelper vendor, tarn_pool *pool)
{
    if (!vendor) return NULL;
    SUNMemoryHelper helper = SUNMemoryHelper_NewEmpty(vendor->sunctx);
    tarn_sundials_content *content = (tarn_sundials_content *)malloc(sizeof *content);
    if (!helper || !content) {
        free(content);
        if (helper) (void)SUNMemoryHelper_Destroy(helper);
        (void)SUNMemoryHelper_Destroy(vendor);
        return NULL;
    }
    content->vendor = vendor;
    content->pool = pool;
    helper->content = content;
    helper->ops->alloc = tarn_sundials_alloc;
    helper->ops->dealloc = tarn_sundials_dealloc;
    helper->ops->copy = tarn_sundials_copy;
    helper->ops->copyasync = tarn_sundials_copy_async;
    helper->ops->clone = tarn_sundials_clone;
    helper->ops->destroy = tarn_sundials_destroy;
#ifdef TARN_SUNDIALS_HAS_STATS
    helper->ops->getallocstats = tarn_sundials_stats;
#endif
    return helper;
}

static inline SUNMemoryHelper tarn_sundials_clone(SUNMemoryHelper helper)
{
    const tarn_sundials_content *content = tarn_sundials_content_of(helper);
    return tarn_sundials_helper(SUNMemoryHelper_Clone(content->vendor), content->pool);
}

#ifdef __cplusplus
}
#endif

#endif
