/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fake_driver: what python_bench.py calls of CUDA's driver, libcuda.so.1, over the processor's memory.
 *
 * A stream is any number. What is submitted to one runs when somebody waits for it, and not before; so whoever hands
 * memory of one stream to another too early is seen. A context is a number, too, and every call that needs one checks
 * that there is one. FAKE_DRIVER_FAILS in the environment: fills are refused.
 *
 * Threads: one.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned flags);
int cuDeviceGet(int *device_out, int ordinal);
int cuDevicePrimaryCtxRetain(void **context_out, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(uint64_t *address_out, size_t size_bytes);
int cuMemFree_v2(uint64_t address);
int cuMemsetD8Async(uint64_t address, unsigned char pattern, size_t size_bytes, void *stream);
int cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t size_bytes, void *stream);
int cuMemcpyDtoH_v2(void *target, uint64_t source, size_t size_bytes);
int cuStreamSynchronize(void *handle);
int cuGetErrorName(int error, const char **name_out);

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_CONTEXT = 201,
    STREAM_COUNT_MAX = 256,
    TASK_COUNT_MAX = 4096
};

/* A fill, or a copy when it has a source. */
struct task {
    void *target;
    const void *source;
    size_t size_bytes;
    unsigned char pattern;
};

struct stream {
    const void *handle;
    size_t task_count;
    struct task tasks[TASK_COUNT_MAX];
};

static struct stream *streams[STREAM_COUNT_MAX];
static int is_initialized;
static void *current_context;

static struct stream *stream_of(const void *handle)
{
    size_t i = 0;
    while (i < STREAM_COUNT_MAX && streams[i] && streams[i]->handle != handle)
        i++;
    if (i == STREAM_COUNT_MAX) return NULL;
    if (!streams[i]) streams[i] = calloc(1, sizeof *streams[i]);
    if (streams[i]) streams[i]->handle = handle;
    return streams[i];
}

static int submit(const void *handle, struct task task)
{
    if (!current_context) return INVALID_CONTEXT;
    struct stream *stream = stream_of(handle);
    if (!stream || stream->task_count == TASK_COUNT_MAX) return OUT_OF_MEMORY;
    stream->tasks[stream->task_count++] = task;
    return SUCCESS;
}

static void run(const struct task *task)
{
    if (task->source)
        memcpy(task->target, task->source, task->size_bytes);
    else
        memset(task->target, task->pattern, task->size_bytes);
}

int cuInit(unsigned flags)
{
    is_initialized = flags == 0;
    return is_initialized ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGet(int *device_out, int ordinal)
{
    if (!is_initialized) return NOT_INITIALIZED;
    *device_out = ordinal;
    return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **context_out, int device)
{
    if (!is_initialized) return NOT_INITIALIZED;
    *context_out = (void *)(uintptr_t)(1000 + device);
    return SUCCESS;
}

int cuCtxSetCurrent(void *context)
{
    current_context = context;
    return SUCCESS;
}

int cuMemAlloc_v2(uint64_t *address_out, size_t size_bytes)
{
    if (!current_context) return INVALID_CONTEXT;
    void *memory = malloc(size_bytes);
    if (!memory) return OUT_OF_MEMORY;
    *address_out = (uintptr_t)memory;
    return SUCCESS;
}

int cuMemFree_v2(uint64_t address)
{
    free((void *)(uintptr_t)address);
    return SUCCESS;
}

int cuMemsetD8Async(uint64_t address, unsigned char pattern, size_t size_bytes, void *stream)
{
    if (getenv("FAKE_DRIVER_FAILS")) return INVALID_VALUE;
    return submit(stream, (struct task){ (void *)(uintptr_t)address, NULL, size_bytes, pattern });
}

int cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t size_bytes, void *stream)
{
    return submit(stream, (struct task){ (void *)(uintptr_t)target, (const void *)(uintptr_t)source,
                                         size_bytes, 0 });
}

int cuMemcpyDtoH_v2(void *target, uint64_t source, size_t size_bytes)
{
    memcpy(target, (const void *)(uintptr_t)source, size_bytes);
    return SUCCESS;
}

int cuStreamSynchronize(void *handle)
{
    struct stream *stream = stream_of(handle);
    if (!stream) return OUT_OF_MEMORY;
    for (size_t i = 0; i < stream->task_count; i++)
        run(&stream->tasks[i]);
    stream->task_count = 0;
    return SUCCESS;
}

int cuGetErrorName(int error, const char **name_out)
{
    *name_out = error == INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : NULL;
    return *name_out ? SUCCESS : INVALID_VALUE;
}
