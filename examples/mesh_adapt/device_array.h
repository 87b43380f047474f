/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_array: arrays in device memory, taken from tarn or from the vendor, and timed.
 *
 * This is the only file of a mesh code that changes for tarn: all others call array_alloc and array_free and
 * do not know where the memory comes from.
 *
 * Each array has a twin on the host. This program computes on the host, so the twin stands for the kernels'
 * results: fill in the twin, then array_upload. The device's side is reached only through the backend's copy
 * and fill, all in one stream, so the host need not be able to read device memory.
 *
 * Threads: one. Errors: a failing call ends the program with a message.
 */
#ifndef DEVICE_ARRAY_H
#define DEVICE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include <tarn/tarn.h>

/* Where array_alloc takes memory. */
enum array_source {
    ARRAY_SOURCE_RAW = 0,  /* the backend's acquire and release: cudaMalloc, cudaFree */
    ARRAY_SOURCE_TARN = 1, /* a pool over the same backend */
    ARRAY_SOURCE_COUNT
};

struct array {
    void *device;      /* never touched by the host; NULL when size_bytes is 0 */
    void *host;        /* the twin */
    size_t size_bytes; /* of either */
};

/* Parts of a step, whose peaks are told apart. */
enum array_phase {
    ARRAY_PHASE_REFINE = 0,
    ARRAY_PHASE_COARSEN = 1,
    ARRAY_PHASE_COUNT
};

/* The most bytes that were live at a time under one label, by phase. */
struct array_peak {
    char label[TARN_LABEL_BYTES_MAX + 1];
    size_t live_bytes_max[ARRAY_PHASE_COUNT];
};

#define ARRAY_PEAKS_MAX 8

struct array_statistics {
    uint64_t alloc_count; /* calls of array_alloc, including zero bytes */
    uint64_t zero_count;  /* calls for zero bytes */
    uint64_t free_count;
    uint64_t vendor_count; /* acquire and release calls that reached the vendor */
    int64_t alloc_ns;      /* inside the allocator, a reading of the clock for each call included */
    int64_t free_ns;       /* as alloc_ns */
    int64_t pool_ns;       /* creating and destroying the pool */
    int64_t transfer_ns;   /* inside copy, fill and waiting for them */
    size_t live_count;
    size_t live_count_max;
    size_t live_bytes;
    size_t live_bytes_max;
    size_t footprint_bytes_max; /* most bytes held from the vendor at a time */
    size_t peak_count;          /* labels, with ARRAY_SOURCE_TARN */
    struct array_peak peaks[ARRAY_PEAKS_MAX];
};

struct array_space {
    const tarn_backend *backend;
    tarn_pool *pool; /* NULL for ARRAY_SOURCE_RAW */
    struct array_statistics statistics;
    int32_t pending_count; /* copies and fills submitted since the last array_wait */
    void **retired;        /* twins of arrays freed since then: a copy may still read them */
    int32_t retired_count;
    int32_t retired_capacity;
};

/* `backend` must stay open until array_space_fini. initial_bytes: the pool's first piece; 0: its default. */
void array_space_init(struct array_space *space, const tarn_backend *backend,
                      enum array_source source, size_t initial_bytes);

/* Every array must have been freed. The statistics may still be read afterwards. */
void array_space_fini(struct array_space *space);

/* Returns an array of `count` elements with undefined contents on both sides. count may be 0. */
struct array array_alloc(struct array_space *space, int32_t count, size_t element_bytes);

/* Frees an array. Work on it may be under way: the memory's next owner uses it later in the same stream. */
void array_free(struct array_space *space, struct array *array);

/* Arrays that are allocated between the two bear the label. */
void array_label_begin(const char *label);
void array_label_end(void);

/* Ends a phase: notes its peaks. The next phase has peaks of its own. */
void array_phase_end(struct array_space *space, enum array_phase phase);

/* Zero on both sides. */
void array_clear(struct array_space *space, struct array *array);

/* Copies the twin to the device, in stream order. The twin must not change until array_wait; the array may be
 * freed before. */
void array_upload(struct array_space *space, const struct array *array);

/* Copies the device's side to host_out, which needs room for size_bytes and is valid after array_wait. */
void array_download(struct array_space *space, const struct array *array, void *host_out);

/* Waits until all submitted work is complete. */
void array_wait(struct array_space *space);

#endif
