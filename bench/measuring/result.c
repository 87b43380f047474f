/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* result: what one allocator cost on one workload, or why that is not known. */
#include "result.h"

#include <stdlib.h>

void tn_result_set_unopened(struct tn_result *result, tarn_status status,
                            const struct tn_reason *why)
{
    bool is_missing = status == TARN_STATUS_NOT_SUPPORTED;
    result->outcome = is_missing ? TN_OUTCOME_NOT_FOUND : TN_OUTCOME_FAILED;
    if (is_missing)
        tn_reason_set(&result->reason, "%s", why->text);
    else
        tn_reason_set(&result->reason, "%s: %s cannot be opened: %.400s", result->workload->name,
                      result->allocator->name, why->text);
}

void tn_result_set_interrupted(struct tn_result *result)
{
    result->outcome = TN_OUTCOME_INTERRUPTED;
}

void tn_result_set_stopped(struct tn_result *result, const struct tn_stop *stop, size_t first_place)
{
    if (stop->is_interrupted) {
        tn_result_set_interrupted(result);
        return;
    }
    struct tn_reason place;
    tn_workload_describe_place(result->workload, first_place + stop->index, &place);
    if (result->allocator == &tn_allocator_raw && !result->workload->is_recorded &&
        stop->status != TARN_STATUS_OK) {
        result->outcome = TN_OUTCOME_SKIPPED;
        tn_reason_set(&result->reason, "cannot run it: %.200s: %.250s", place.text,
                      stop->reason.text);
    } else {
        result->outcome = TN_OUTCOME_FAILED;
        tn_reason_set(&result->reason, "%.200s: %s: %.250s", place.text, result->allocator->name,
                      stop->reason.text);
    }
}

void tn_results_fail(struct tn_result *results, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (results[i].outcome != TN_OUTCOME_MEASURED) continue;
        results[i].outcome = TN_OUTCOME_FAILED;
        tn_reason_set(&results[i].reason, "%s: %s: %.350s", results[i].workload->name,
                      results[i].allocator->name, text);
    }
}

void tn_results_fini(struct tn_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(results[i].memory);
        free(results[i].latency);
    }
}
