/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/ze.h: the Level Zero backend. Present when tarn was configured with TARN_BACKEND=ZE.
 *
 * Handles cross this header as void *, so it needs no Level Zero header: a tarn_stream is a
 * ze_command_list_handle_t, the context and the device of the options are a ze_context_handle_t and
 * a ze_device_handle_t. A tarn_event is the backend's own, over recycled ze_event_handle_t. Only the
 * loader is linked: a program built so starts on a machine without a driver and gets NO_DEVICE.
 *
 * Streams. A command list that the application hands in is of the backend's context and device, an
 * immediate one, asynchronous, and in order (ZE_COMMAND_QUEUE_FLAG_IN_ORDER): on a regular list
 * nothing runs before it is executed, and on one out of order nothing holds that is promised about
 * streams. No driver tells about these, and newer ones alone whose device a list is for. Command lists
 * may not be used by two threads at once. tarn never does so by itself, with however many backends,
 * but the application must not append to a list, nor destroy it, while it hands it to tarn in another
 * thread.
 *
 * What the application must see to, since Level Zero does not:
 *   - When memory is given back (a pool is trimmed or destroyed), no work on it is pending any more
 *     on lists of the application's own. Where the driver frees with ZE_extension_memory_free_policies
 *     it waits for that work itself, but for kernels that reach the memory through pointers in other
 *     memory alone.
 *   - Lists of its own that were handed to the backend have finished when the backend is closed.
 *   - A list of its own on which an event was recorded is destroyed only after the streams that wait
 *     for the event have come to that, since newer drivers keep what they wait for in the list.
 *   - A context of its own outlives the backend.
 */
#ifndef TARN_ZE_H
#define TARN_ZE_H

#include "tarn/backend.h"
#include "tarn/init.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_ze_options {
    size_t struct_bytes; /* in: sizeof(tarn_ze_options), as TARN_ZE_OPTIONS_INIT sets it */

    /* The ze_context_handle_t that memory is allocated in; NULL: one of the backend's own. Kernels,
     * and libraries that ask what an address is, know memory of their own context alone, so a
     * program that has a context hands it in. */
    void *context;

    /* The ze_device_handle_t, a sub-device too; NULL: the device with the number. */
    void *device;

    /*
     * Allows pieces larger than the device's maxMemAllocSize, up to its memory, where the driver has
     * relaxed allocation limits. Without it a pool grows by smaller pieces.
     *
     * The trap: a kernel that touches a piece of more than 4 GB must have been built for that
     * (-ze-opt-greater-than-4GB-buffer-required, or the option of the compiler that stands for it).
     * One that was not computes wrong results, and nothing says so.
     */
    bool has_relaxed_limits;
} tarn_ze_options;

#define TARN_ZE_OPTIONS_INIT TARN_SIZED_INIT(tarn_ze_options)

/*
 * Opens the Level Zero backend for DEVICE, PINNED or SHARED memory. Devices count from 0 over those
 * of all GPU drivers in the drivers' order, as ZE_FLAT_DEVICE_HIERARCHY and ZE_AFFINITY_MASK make
 * them; `device` is not looked at when the options have a device. `options` may be NULL for the
 * defaults. Close it with tarn_backend_close.
 * Errors: INVALID_ARGUMENT (backend_out is NULL, kind unknown, struct_bytes is wrong), NO_DEVICE,
 * INVALID_DEVICE (no such number; the handle is no device of any driver), NOT_SUPPORTED (kind HOST,
 * or one that the device lacks; relaxed limits on a driver without them), OUT_OF_MEMORY (no room for
 * a command list), OUT_OF_HOST_MEMORY, VENDOR_ERROR.
 */
TARN_API tarn_status tarn_ze_backend_open(int device, tarn_memory_kind kind,
                                          const tarn_ze_options *options,
                                          tarn_backend *backend_out);

#ifdef __cplusplus
}
#endif

#endif
