/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_runtime: what the faces of CUDA's runtime and of AMD's HIP have in common, which is all that differs in names
 * alone. RUNTIME(Malloc) is cudaMalloc in the one and hipMalloc in the other; the other names are in each face's header.
 *
 *     sim_runtime.c        what a thread has, how calls begin and end, memory, streams, events
 *     sim_runtime_pool.c   pools of the runtime's own
 *
 * What both have: each thread has a current device, 0 at first, and a last error, which cudaGetLastError takes out. While
 * a stream is captured, what takes, gives back or looks at memory, and what waits for work or asks after it, is refused
 * and spoils the capture, in threads whose mode is not relaxed; a wait for the device is refused in all.
 */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H

#if defined(__HIP_PLATFORM_AMD__)
#include "hip/sim_hip.h"
#else
#include "cuda/sim_cuda.h"
#endif

/* "cudaMalloc", as a call is entered. */
#define RUNTIME_TEXT_OF(name) #name
#define RUNTIME_NAME_OF(name) RUNTIME_TEXT_OF(name)
#define CALL(name)            RUNTIME_NAME_OF(RUNTIME(name))

/* --- what each face has of its own ----------------------------------------------------------------- */

runtime_error sim_runtime_error_of(sim_status status);

/* What all calls answer where there is no driver, or no device; success: there is. */
runtime_error sim_runtime_missing(void);

/* --- calls ----------------------------------------------------------------------------------------- */

/* How every function begins that needs a device: the current device's context is there afterwards. */
sim_status sim_runtime_begin(const char *name);

/* The same for those that a capture may prohibit. */
sim_status sim_runtime_begin_unsafe(const char *name);

/* The same for those that need no context. */
sim_status sim_runtime_begin_without_context(const char *name);

/* How every function ends. */
runtime_error sim_runtime_answer(sim_status status);
runtime_error sim_runtime_answer_error(runtime_error error);
/* Of those that are asked about a stream. */
runtime_error sim_runtime_answer_of_stream(sim_status status);

int sim_runtime_device(void);
void sim_runtime_set_device(int device);

/* --- objects --------------------------------------------------------------------------------------- */

/* The flags are kept with the memory. */
sim_status sim_runtime_alloc(sim_memory_kind kind, size_t size_bytes, unsigned flags,
                             void **address);
unsigned sim_runtime_flags(const sim_memory *memory);

/* Each kind has its own function to free it; `pinned` says which this is. */
sim_status sim_runtime_find_kind(const void *address, bool pinned, sim_memory *memory_out);

/* A stream, or that which a default stream means now. */
sim_stream *sim_runtime_stream(runtime_stream stream);
sim_event *sim_runtime_event(runtime_event event);

#endif
