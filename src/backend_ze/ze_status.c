/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_status: status codes for the vendor's errors.
 *
 * Level Zero has no current device and no last error: every call names its device or context, and
 * returns its own error.
 */
#include "ze_device.h"

#include "../backend_common/operation.h"

struct meaning {
    int code;
    tarn_status status;
    const char *name;
};

static struct meaning meaning_of(tn_ze_result_t error)
{
    static const struct meaning meanings[] = {
#define MEANING(name, number, status) { number, TARN_STATUS_##status, "ZE_RESULT_" #name },
        TN_ZE_RESULTS(MEANING)
#undef MEANING
    };
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].code == (int)error) return meanings[i];
    }
    return (struct meaning){ (int)error, TARN_STATUS_VENDOR_ERROR, "TN_ZE_RESULT (unknown code)" };
}

tarn_backend_result tn_ze_result(tn_ze_result_t error)
{
    if (error == TN_ZE_RESULT_SUCCESS) return TARN_BACKEND_RESULT_OK;
    struct meaning meaning = meaning_of(error);
    return (tarn_backend_result){ meaning.status, meaning.code, meaning.name };
}

bool tn_ze_is_lacking(tn_ze_result_t error)
{
    return error == TN_ZE_RESULT_ERROR_UNSUPPORTED_FEATURE ||
           error == TN_ZE_RESULT_ERROR_UNINITIALIZED;
}

tarn_backend_result tn_ze_unloading(void)
{
    return tn_ze_result(TN_ZE_RESULT_ERROR_UNINITIALIZED);
}

tarn_backend_result tn_ze_refusal(const void *state)
{
    const struct tn_ze_device *device = state;
    return tn_lifetime_refusal(&device->lifetime, tn_ze_unloading());
}

tarn_backend_result tn_ze_return(tarn_backend_result result)
{
    bool is_gone = result.vendor_code == (int)TN_ZE_RESULT_ERROR_UNINITIALIZED;
    return is_gone ? TARN_BACKEND_RESULT_OK : result;
}

/* A driver may refuse sizes below the limit that it reports. Kinds other than DEVICE take host memory, so
 * a lack of host memory is a lack of theirs. */
tarn_backend_result tn_ze_result_of_acquire(tn_ze_result_t error, tarn_memory_kind kind)
{
    tarn_backend_result result = tn_ze_result(error);
    if (error == TN_ZE_RESULT_ERROR_UNSUPPORTED_SIZE ||
        (error == TN_ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY && kind != TARN_MEMORY_KIND_DEVICE)) {
        result.status = TARN_STATUS_OUT_OF_MEMORY;
    } else if (result.status == TARN_STATUS_INVALID_ARGUMENT) {
        result.status = TARN_STATUS_VENDOR_ERROR;
    }
    return result;
}
