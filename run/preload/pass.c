/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pass: the reasons, in the order of their weight. */
#include "pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/size_text.h"

#include "captures.h"
#include "context_pools.h"
#include "recording.h"

/* The library is there from the start of the process, so its threads' data need no allocation. */
static _Thread_local unsigned depth __attribute__((tls_model("initial-exec")));

static bool is_asked, syncs_frees;
static size_t served_bytes_max = SIZE_MAX;

/* The user waits for the effect of a variable. */
static void tell_wrong(const char *variable, const char *wanted)
{
    fprintf(stderr, "tarn: %s is %s, and has no effect\n", variable, wanted);
}

static bool is_on(const char *variable)
{
    const char *value = getenv(variable);
    if (!value || value[0] == '\0' || strcmp(value, "0") == 0) return false;
    bool is_one = strcmp(value, "1") == 0;
    if (!is_one) tell_wrong(variable, "neither 0 nor 1");
    return is_one;
}

__attribute__((constructor)) static void read_environment(void)
{
    const char *up_to = getenv("TARN_RUN_UP_TO");
    is_asked = is_on("TARN_RUN_PASS");
    syncs_frees = is_on("TARN_RUN_SYNC_FREES");
    if (up_to && up_to[0] != '\0' && !tn_size_text_parse_bytes(up_to, &served_bytes_max))
        tell_wrong("TARN_RUN_UP_TO", "no size such as 64M");
}

bool tn_pass_is_too_large(size_t size_bytes)
{
    return size_bytes > served_bytes_max;
}

bool tn_pass_syncs_frees(void)
{
    return syncs_frees;
}

bool tn_pass_is_asked(void)
{
    return is_asked || tn_recording_is_asked();
}

enum tn_reason tn_pass_reason(void)
{
    if (tn_pass_is_asked()) return TN_REASON_ASKED;
    if (depth > 0) return TN_REASON_NESTED;
    if (tn_context_pools_are_of_parent()) return TN_REASON_FORKED;
    return tn_captures_any() ? TN_REASON_CAPTURE : TN_REASON_COUNT;
}

void tn_pass_enter_pool(void)
{
    depth++;
}

void tn_pass_leave_pool(void)
{
    depth--;
}
