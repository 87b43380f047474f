/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* recording: whether it is asked for is known before the program begins. */
#include "recording.h"

#include <stdlib.h>

static const char source[] = "calls of " TN_VENDOR_NAME "'s " TN_VENDOR_WORD ", by tarn-record";

static bool is_asked;

__attribute__((constructor)) static void read_environment(void)
{
    const char *file = getenv(TN_RECORD_FILE_VARIABLE);
    is_asked = file && file[0] != '\0';
}

bool tn_recording_is_asked(void)
{
    return is_asked;
}

struct tn_vendor_call tn_recording_begin(void)
{
    return is_asked ? tn_vendor_call_begin(source) : (struct tn_vendor_call){ 0, false };
}

void tn_recording_end_alloc(struct tn_vendor_call call, const void *address, size_t size_bytes,
                            const void *stream)
{
    if (is_asked) tn_vendor_call_end_alloc(call, address != NULL, address, size_bytes, stream);
}

void tn_recording_end_host_alloc(struct tn_vendor_call call, const void *address, size_t size_bytes)
{
    bool is_recorded = address && tn_process_recording_has_host();
    if (is_asked) tn_vendor_call_end_alloc(call, is_recorded, address, size_bytes, NULL);
}

void tn_recording_end_free(struct tn_vendor_call call, tn_vendor_error error, const void *address,
                           const void *stream)
{
    if (is_asked) tn_vendor_call_end_free(call, error == TN_ERROR_SUCCESS, address, stream);
}
