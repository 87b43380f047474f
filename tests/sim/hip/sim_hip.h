/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_hip: HIP's face of the simulated devices, in three files.
 *
 *     sim_hip_runtime.c   memory, streams, events, and the runtime's state of each thread
 *     sim_hip_range.c     ranges
 *     sim_hip_pool.c      pools of the runtime's own
 *
 * They are compiled against AMD's headers, so that prototypes are checked.
 */
#ifndef SIM_HIP_H
#define SIM_HIP_H

#include <hip/hip_runtime_api.h>

#include "../sim_device.h"

/* How every function begins that needs a device, and how every function ends. */
sim_status sim_hip_begin(const char *name);
hipError_t sim_hip_answer(sim_status status);

/* The same as the first for those that a capture may prohibit. */
sim_status sim_hip_begin_unsafe(const char *name);

/* A stream, or that which a default stream means now. */
sim_stream *sim_hip_stream(hipStream_t stream);

#endif
