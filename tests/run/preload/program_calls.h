/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * program_calls: the vendor's functions as a program comes by them. The table of them is in cuda_program.h
 * or hip_program.h.
 *
 *     linked              as a program that links the vendor's library
 *     dlsym               dlopen, and dlsym for each symbol
 *     proc                dlsym of the vendor's own look-up (cuGetProcAddress_v2, hipGetProcAddress), which finds the rest
 *     proc_of_threads     as `proc`, for per-thread default streams
 *     proc11              as the runtime of CUDA 11: by cuGetProcAddress
 */
#ifndef PROGRAM_CALLS_H
#define PROGRAM_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uintptr_t address;

#if TN_RUN_HIP
#include "../hip/hip_program.h"
#else
#include "../cuda/cuda_program.h"
#endif

struct program_calls {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define FIELD(field, symbol, name, has_form, parameters) int(*field) parameters;
    PROGRAM_CALLS(FIELD)
#undef FIELD
};

/* The calls of the program, after program_calls_find. */
extern struct program_calls vendor;

/* False: there is no such way in this program. */
bool program_calls_find(const char *way);

/* --- in cuda_start.c or hip_start.c -------------------------------------------------------------------- */

/* What a runtime does at its start, and in a further thread. */
void program_start(void);
void program_enter_thread(void);

int program_copy(address to, address from, size_t size_bytes, void *stream);

/* Ends all memory on device 0. */
int program_reset(void);

#endif
