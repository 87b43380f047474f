/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_vendor: looking up what a vendor's file says. */
#include "harness/claims.h"
#include "sim_vendor.h"

#include <string.h>

#include "tarn/status.h"

const struct sim_vendor_error *sim_vendor_error_of(sim_status status)
{
    const struct sim_vendor_error *error = sim_vendor.errors;
    while (error->name && error->status != status)
        error++;
    if (!error->name) fail_msg("%s: no code for %s", sim_vendor.name, sim_status_name(status));
    return error;
}

/* Whether the first `length` characters of the word stand anywhere in the text. */
static bool has_part(const char *text, const char *word, size_t length)
{
    while (*text && strncmp(text, word, length) != 0)
        text++;
    return *text != '\0';
}

bool sim_vendor_is_optional(const char *step, const char *call)
{
    for (const char *const *entry = sim_vendor.optional_calls; *entry; entry++) {
        const char *colon = strchr(*entry, ':');
        const char *name = colon ? colon + 2 : *entry;
        if (strcmp(name, call) == 0 && (!colon || has_part(step, *entry, (size_t)(colon - *entry))))
            return true;
    }
    return false;
}

int sim_vendor_tarn_status_of(sim_status status)
{
    switch (status) {
    case SIM_STATUS_OUT_OF_MEMORY:
        return TARN_STATUS_OUT_OF_MEMORY;
    case SIM_STATUS_NO_DRIVER:
    case SIM_STATUS_DRIVER_TOO_OLD:
    case SIM_STATUS_NO_DEVICE:
        return TARN_STATUS_NO_DEVICE;
    case SIM_STATUS_INVALID_DEVICE:
        return TARN_STATUS_INVALID_DEVICE;
    case SIM_STATUS_WRONG_DEVICE:
    case SIM_STATUS_INVALID_HANDLE:
    case SIM_STATUS_INVALID_ADDRESS:
        return TARN_STATUS_INVALID_ARGUMENT;
    case SIM_STATUS_NOT_SUPPORTED:
        return TARN_STATUS_NOT_SUPPORTED;
    default:
        return TARN_STATUS_VENDOR_ERROR;
    }
}
