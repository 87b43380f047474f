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

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && strcmp(value, "1") == 0;
}

__attribute__((constructor)) static void read_environment(void)
{
    const char *up_to = getenv("TARN_RUN_UP_TO");
    is_asked = is_set("TARN_RUN_PASS");
    syncs_frees = is_set("TARN_RUN_SYNC_FREES");
    /* The user waits for the effect of the variable. */
    if (up_to && up_to[0] != '\0' && !tn_size_text_parse_bytes(up_to, &served_bytes_max))
        fprintf(stderr, "tarn: TARN_RUN_UP_TO is no size such as 64M, and has no effect\n");
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
