/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hip_context: the devices of HIP in place of contexts, and what else CUDA's driver does in another way. A device begins
 * and ends with the process, and each thread has a current one.
 */
#include "../preload/intercepted.h"
#include "../preload/vendor.h"

#define COPY_DEFAULT 4 /* hipMemcpyDefault: the runtime finds out by the addresses */

/* --- contexts ---------------------------------------------------------------------------------------- */

/* A handle that is never NULL. */
static void *context_of(int device)
{
    return (void *)((uintptr_t)device + 1);
}

static int device_of(const void *context)
{
    return (int)((uintptr_t)context - 1);
}

tn_vendor_error tn_vendor_get_context(const struct tn_vendor *vendor, void **context_out)
{
    int device = 0;
    tn_vendor_error error = vendor->get_device(&device);
    if (error == TN_ERROR_SUCCESS) *context_out = context_of(device);
    return error;
}

tn_vendor_error tn_vendor_get_device(const struct tn_vendor *vendor, int *device_out)
{
    return vendor->get_device(device_out);
}

tn_vendor_error tn_vendor_enter(const struct tn_vendor *vendor, void *context)
{
    return vendor->set_device(device_of(context));
}

/* The device was current before, so it can be again. */
void tn_vendor_leave(const struct tn_vendor *vendor, void *previous)
{
    if (vendor->set_device(device_of(previous)) != TN_ERROR_SUCCESS) (void)vendor->get_last_error();
}

tn_vendor_error tn_vendor_find_whether_primary(const struct tn_vendor *vendor, const void *context,
                                               int device, bool *is_primary_out)
{
    (void)vendor, (void)context, (void)device;
    *is_primary_out = true;
    return TN_ERROR_SUCCESS;
}

/* --- streams, events, data --------------------------------------------------------------------------- */

tn_vendor_error tn_vendor_find_stream_context(const struct tn_vendor *vendor, void *stream,
                                              void **context_out)
{
    int device = 0;
    if (!vendor->stream_device) return TN_ERROR_SUCCESS;
    tn_vendor_error error = vendor->stream_device(stream, &device);
    if (error == TN_ERROR_SUCCESS) *context_out = context_of(device);
    return error;
}

tn_vendor_error tn_vendor_copy_async(const struct tn_vendor *vendor, tn_vendor_address destination,
                                     tn_vendor_address source, size_t size_bytes, void *stream)
{
    return vendor->copy(destination, source, size_bytes, COPY_DEFAULT, stream);
}

/* --- answers ----------------------------------------------------------------------------------------- */

/* The runtime keeps an error for the program's next hipGetLastError, mostly after a kernel. */
const char *tn_vendor_take_error(const struct tn_vendor *vendor, tn_vendor_error error)
{
    (void)vendor->get_last_error();
    return vendor->get_error_name(error);
}

tn_any_function tn_vendor_replacement_for(enum tn_call call, const void *caller)
{
    (void)caller;
    return tn_intercepted[call].replacement;
}
