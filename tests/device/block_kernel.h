/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * block_kernel: one kernel, which compares the words of a block, writes new ones, or both.
 *
 * Before it touches the block it idles for as long as it is told.
 */
#ifndef TEST_BLOCK_KERNEL_H
#define TEST_BLOCK_KERNEL_H

#include <cuda_runtime.h>

/* What the kernels have found, in device memory. */
struct findings {
    unsigned long long verified_bytes;
    unsigned long long mismatch_count; /* words */
    /* Of the first block in which one was seen. */
    unsigned number; /* 0: none so far */
    unsigned lane;   /* on which it was seen */
    unsigned long long address;
    unsigned long long size_bytes;
    unsigned long long offset_bytes; /* of its first wrong word */
    unsigned long long expected;     /* the word that was seen first, which may be a later one */
    unsigned long long found;
};

/* What one kernel does. */
struct task {
    unsigned char *data;
    unsigned long long size_bytes;
    unsigned seed;
    unsigned expected_number; /* 0: compares nothing */
    unsigned written_number;  /* 0: writes nothing */
    unsigned lane;
    long long idle_cycles;
};

/* Submits it. The error is that of the launch alone. */
cudaError_t block_kernel_launch(const struct task &task, struct findings *findings,
                                cudaStream_t stream);

#endif
