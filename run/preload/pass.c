/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pass: the reasons, in the order of their weight. */
#include "pass.h"

#include <stdatomic.h>
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
static const char *wrong_values[3]; /* what to tell of them */
static size_t wrong_value_count;

static bool read_switch(const char *variable, const char *if_wrong)
{
    const char *value = getenv(variable);
    if (!value || value[0] == '\0' || strcmp(value, "0") == 0) return false;
    if (strcmp(value, "1") == 0) return true;
    wrong_values[wrong_value_count++] = if_wrong;
    return false;
}

__attribute__((constructor)) static void read_environment(void)
{
    const char *up_to = getenv("TARN_RUN_UP_TO");
    is_asked = read_switch("TARN_RUN_PASS", "TARN_RUN_PASS is neither 0 nor 1");
    syncs_frees = read_switch("TARN_RUN_SYNC_FREES", "TARN_RUN_SYNC_FREES is neither 0 nor 1");
    if (up_to && up_to[0] != '\0' && !tn_size_text_parse_bytes(up_to, &served_bytes_max))
        wrong_values[wrong_value_count++] = "TARN_RUN_UP_TO is no size such as 64M";
}

void tn_pass_tell_wrong_values(void)
{
    static atomic_flag has_told = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&has_told)) return;
    for (size_t i = 0; i < wrong_value_count; i++)
        fprintf(stderr, "tarn: %s, and has no effect\n", wrong_values[i]);
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
