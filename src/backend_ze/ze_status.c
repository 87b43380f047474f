/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_status: status codes for the vendor's errors.
 *
 * Level Zero has no current device and no last error: every call names its device or context, and
 * returns its own error.
 */
#include "ze_device.h"

#include "../backend_common/operation.h"

/* For each code: its name, number and status. The numbers are written out because older headers lack the
 * later codes. */
#define RESULT_TABLE(X)                                                             \
    X(ZE_RESULT_SUCCESS, 0, OK)                                                     \
    X(ZE_RESULT_NOT_READY, 1, NOT_READY)                                            \
    X(ZE_RESULT_ERROR_DEVICE_LOST, 0x70000001, VENDOR_ERROR)                        \
    X(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, 0x70000002, OUT_OF_HOST_MEMORY)           \
    X(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, 0x70000003, OUT_OF_MEMORY)              \
    X(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, 0x70000004, VENDOR_ERROR)               \
    X(ZE_RESULT_ERROR_MODULE_LINK_FAILURE, 0x70000005, VENDOR_ERROR)                \
    X(ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET, 0x70000006, VENDOR_ERROR)              \
    X(ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE, 0x70000007, VENDOR_ERROR)          \
    X(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, 0x70010000, VENDOR_ERROR)           \
    X(ZE_RESULT_ERROR_NOT_AVAILABLE, 0x70010001, VENDOR_ERROR)                      \
    X(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, 0x70020000, VENDOR_ERROR)             \
    X(ZE_RESULT_ERROR_UNINITIALIZED, 0x78000001, VENDOR_ERROR)                      \
    X(ZE_RESULT_ERROR_UNSUPPORTED_VERSION, 0x78000002, NOT_SUPPORTED)               \
    X(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, 0x78000003, NOT_SUPPORTED)               \
    X(ZE_RESULT_ERROR_INVALID_ARGUMENT, 0x78000004, INVALID_ARGUMENT)               \
    X(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, 0x78000005, INVALID_ARGUMENT)            \
    X(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, 0x78000006, VENDOR_ERROR)               \
    X(ZE_RESULT_ERROR_INVALID_NULL_POINTER, 0x78000007, INVALID_ARGUMENT)           \
    X(ZE_RESULT_ERROR_INVALID_SIZE, 0x78000008, INVALID_ARGUMENT)                   \
    X(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, 0x78000009, INVALID_ARGUMENT)               \
    X(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, 0x7800000a, INVALID_ARGUMENT)          \
    X(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, 0x7800000b, INVALID_ARGUMENT) \
    X(ZE_RESULT_ERROR_INVALID_ENUMERATION, 0x7800000c, INVALID_ARGUMENT)            \
    X(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, 0x7800000d, NOT_SUPPORTED)           \
    X(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, 0x78000019, INVALID_ARGUMENT)      \
    X(ZE_RESULT_ERROR_OVERLAPPING_REGIONS, 0x7800001a, INVALID_ARGUMENT)            \
    X(ZE_RESULT_ERROR_SURVIVABILITY_MODE_DETECTED, 0x78000020, VENDOR_ERROR)        \
    X(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, 0x78000021, INVALID_ARGUMENT)              \
    X(ZE_RESULT_ERROR_UNKNOWN, 0x7ffffffe, VENDOR_ERROR)

struct meaning {
    int code;
    tarn_status status;
    const char *name;
};

static struct meaning meaning_of(ze_result_t error)
{
    static const struct meaning meanings[] = {
#define MEANING(name, number, status) { number, TARN_STATUS_##status, #name },
        RESULT_TABLE(MEANING)
#undef MEANING
    };
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].code == (int)error) return meanings[i];
    }
    return (struct meaning){ (int)error, TARN_STATUS_VENDOR_ERROR, "ZE_RESULT (unknown code)" };
}

tarn_backend_result tn_ze_result(ze_result_t error)
{
    if (error == ZE_RESULT_SUCCESS) return TARN_BACKEND_RESULT_OK;
    struct meaning meaning = meaning_of(error);
    return (tarn_backend_result){ meaning.status, meaning.code, meaning.name };
}

bool tn_ze_is_lacking(ze_result_t error)
{
    return error == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE || error == ZE_RESULT_ERROR_UNINITIALIZED;
}

tarn_backend_result tn_ze_unloading(void)
{
    return tn_ze_result(ZE_RESULT_ERROR_UNINITIALIZED);
}

tarn_backend_result tn_ze_refusal(const void *state)
{
    const struct tn_ze_device *device = state;
    return tn_lifetime_refusal(&device->lifetime, tn_ze_unloading());
}

tarn_backend_result tn_ze_return(tarn_backend_result result)
{
    bool is_gone = result.vendor_code == (int)ZE_RESULT_ERROR_UNINITIALIZED;
    return is_gone ? TARN_BACKEND_RESULT_OK : result;
}

/* A driver may refuse sizes below the limit that it reports. Kinds other than DEVICE take host memory, so
 * a lack of host memory is a lack of theirs. */
tarn_backend_result tn_ze_result_of_acquire(ze_result_t error, tarn_memory_kind kind)
{
    tarn_backend_result result = tn_ze_result(error);
    if (error == ZE_RESULT_ERROR_UNSUPPORTED_SIZE ||
        (error == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY && kind != TARN_MEMORY_KIND_DEVICE)) {
        result.status = TARN_STATUS_OUT_OF_MEMORY;
    } else if (result.status == TARN_STATUS_INVALID_ARGUMENT) {
        result.status = TARN_STATUS_VENDOR_ERROR;
    }
    return result;
}
