/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fake_vendor: libcuda.so.1 or libamdhip64.so.6 over the simulated devices, as far as programs and the preloaded library
 * call it.
 *
 *     fake_vendor.c     the functions that both vendors have
 *     fake_cuda.c       contexts, primary and others, a stack of them in each thread; look-ups by name, version and flags
 *     fake_hip.c        a current device for each thread; look-ups by name
 *
 * A function fake_<name> has the symbol that the vendor's table gives to the name; the simulation counts its calls under the
 * name. What is modelled besides memory, streams and events: that a context takes its memory and streams with it; that a
 * capture becomes invalid by calls that it prohibits. A free waits for its device, as the vendors' do.
 *
 * An array's description is its size here, a size_t.
 */
#ifndef FAKE_VENDOR_H
#define FAKE_VENDOR_H

#include "../../../run/preload/vendor.h"

#include "../../sim/sim_device.h"

#define EXPORT __attribute__((visibility("default")))

#define DECLARE(function, symbol, name, since, streams, parameters, arguments) \
    EXPORT int fake_##function parameters __asm__(#symbol);
TN_INTERCEPTED(DECLARE)
#undef DECLARE
#define DECLARE(result, field, symbol, is_required, parameters) \
    EXPORT result fake_##field parameters __asm__(symbol);
#if TN_RUN_HIP
#define DECLARE_ONE(result, field, cuda, hip, is_required, parameters) \
    DECLARE(result, field, hip, is_required, parameters)
#define FAKE_FUNCTIONS TN_HIP_FUNCTIONS
#else
#define DECLARE_ONE(result, field, cuda, hip, is_required, parameters) \
    DECLARE(result, field, cuda, is_required, parameters)
#define FAKE_FUNCTIONS TN_CUDA_FUNCTIONS
#endif
TN_GPU_FUNCTIONS(DECLARE_ONE)
FAKE_FUNCTIONS(DECLARE)
#undef DECLARE_ONE
#undef DECLARE

/* --- of the vendor ------------------------------------------------------------------------------------ */

struct fake_context {
    int device;
    int use_count; /* 0: it is no context any more */
};

/* NULL: none is current. */
struct fake_context *fake_current(void);

/* Unless a context is current, changes OK to the vendor's error. */
sim_status fake_need_context(sim_status status);

/* Keeps an error for the program to ask for, if the vendor does that. Returns it. */
int fake_settle(int error);

/* --- for both ----------------------------------------------------------------------------------------- */

int fake_answer(sim_status status);

/* For calls that a capture prohibits. */
sim_status fake_enter(const char *name, sim_capture_rule rule);

struct fake_context *fake_context_of_stream(const void *stream);
/* Memory and streams of the context end. */
void fake_end_context(struct fake_context *context);

sim_stream *fake_stream_of(void *stream);
sim_status fake_allocate(sim_status status, sim_memory_kind kind, size_t size_bytes,
                         tn_vendor_address *address);
sim_status fake_give_back(sim_status status, tn_vendor_address address);
int fake_make_array(const char *name, void **array, const void *description);
int fake_end_stream(const char *name, void *stream);
int fake_start_capture(const char *name, int mode);

#endif
