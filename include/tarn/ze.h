/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/ze.h: the Level Zero backend. Present when tarn was configured with TARN_BACKEND=ZE.
 *
 * Handles cross this header as void *, so it needs no Level Zero header. A tarn_stream is a
 * ze_command_list_handle_t; the context and device of the options are a ze_context_handle_t and a
 * ze_device_handle_t. A tarn_event is the backend's own, over recycled ze_event_handle_t. The backend has run
 * on simulated devices only.
 *
 * Level Zero's loader, libze_loader.so.1, is not linked. tarn loads it when a backend is first opened, as
 * dlopen finds it, and it stays in the process. It must have all functions of Level Zero 1.4. A program
 * starts without it, and gets NO_DEVICE.
 *
 * Command lists of the application's own, used as streams, must be of the backend's context and device,
 * immediate, asynchronous, and in order (ZE_COMMAND_QUEUE_FLAG_IN_ORDER). On a regular list nothing runs
 * before it is executed, and on a list out of order no promise about streams holds. No driver tells these
 * properties, and only newer ones tell the device of a list. Two threads may not use one list at once: while
 * one thread passes a list to tarn, another must not append to it or destroy it.
 *
 * Level Zero leaves this to the application:
 *  - When memory is given back (a pool is trimmed or destroyed), no work on it is pending on the
 *    application's own lists. A driver with ZE_extension_memory_free_policies waits for that work itself,
 *    except for kernels that reach the memory only through pointers in other memory.
 *  - The application's own lists that tarn was given have finished when the backend is closed.
 *  - A list on which an event was recorded lives until the streams that wait for the event have got there,
 *    because newer drivers keep in the list what those wait for.
 *  - A context of the application's own outlives the backend.
 */
#ifndef TARN_ZE_H
#define TARN_ZE_H

#include "tarn/backend.h"
#include "tarn/init.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_ze_options {
    size_t struct_bytes; /* sizeof(tarn_ze_options) */

    /* The ze_context_handle_t for the memory. NULL: one of the backend's own. A program that has a context
     * should pass it, because kernels and libraries know the memory of their own context only. */
    void *context;

    /* The ze_device_handle_t, which may be a sub-device. NULL: the device with the number. */
    void *device;

    /* Allow pieces larger than maxMemAllocSize. Default false. NOT_SUPPORTED if the driver cannot. A kernel
     * that touches more than 4 GB in one piece must be built with -ze-opt-greater-than-4GB-buffer-required;
     * otherwise it computes wrong results silently. */
    bool has_relaxed_limits;
} tarn_ze_options;

#define TARN_ZE_OPTIONS_INIT TARN_SIZED_INIT(tarn_ze_options)

/*
 * Opens the Level Zero backend for DEVICE, PINNED or SHARED memory. `device` counts from 0 over the devices
 * of all GPU drivers, in the drivers' order, as ZE_FLAT_DEVICE_HIERARCHY and ZE_AFFINITY_MASK make them. It
 * is ignored if the options have a device. `options` may be NULL: the defaults. Close it with
 * tarn_backend_close.
 * Status: those of tarn_backend_open, and
 *  - NO_DEVICE: also if there is no loader, or one older than 1.4. The message names the file or the function.
 *  - INVALID_ARGUMENT: also if struct_bytes is wrong.
 *  - INVALID_DEVICE: also if the handle is no device of any driver.
 *  - NOT_SUPPORTED: kind HOST, or one that the device lacks; or relaxed limits that the driver lacks.
 *  - OUT_OF_MEMORY: there is no room for a command list.
 */
TARN_API tarn_status tarn_ze_backend_open(int device, tarn_memory_kind kind,
                                          const tarn_ze_options *options,
                                          tarn_backend *backend_out);

#ifdef __cplusplus
}
#endif

#endif
