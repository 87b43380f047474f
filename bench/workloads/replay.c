/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * replay: the allocations of a real program, in the order of its trace.
 *
 * Every trace is read before any is played, so that a damaged one stops everything. Unless the replay is
 * faithful, all calls come from one thread, in the recorded order.
 */
#include <string.h>

#include "../common/interrupt.h"
#include "../common/progress.h"
#include "commands.h"
#include "trace_reader.h"

/* Moves the trace into the workload. */
static void take_trace(struct tn_workload *workload, struct tn_trace *trace)
{
    workload->bench = "replay";
    memcpy(workload->name, trace->name, sizeof workload->name);
    workload->is_recorded = true;
    workload->shows_memory = true;
    workload->body = trace->operations;
    workload->lines = trace->lines;
    workload->origins = trace->origins;
    workload->origin_thread_count = trace->thread_count;
    workload->origin_stream_count = trace->stream_count;
    workload->slot_count = trace->slot_count;
    workload->unit_count = trace->operations.count;
}

/* Marks the name too, since results of both kinds may stand side by side. */
static bool make_faithful(struct tn_workload *workload, struct tn_reason *reason_out)
{
    static const char suffix[] = ", faithful";
    workload->method = TN_METHOD_FAITHFUL;
    size_t length = strlen(workload->name);
    size_t length_max = sizeof workload->name - sizeof suffix;
    if (length > length_max) length = length_max;
    memcpy(workload->name + length, suffix, sizeof suffix);
    return tn_faithful_plan_is_possible(workload, reason_out);
}

static bool add_trace(struct tn_workload_list *list, const char *path, bool is_faithful,
                      struct tn_reason *reason_out)
{
    struct tn_workload *workload = tn_workload_list_add(list);
    if (workload) workload->source = strdup(path);
    if (!workload || !workload->source) {
        tn_reason_set(reason_out, "%s: there is not enough host memory to read it", path);
        return false;
    }
    struct tn_trace trace;
    if (!tn_trace_read(path, &trace, reason_out)) return false;
    take_trace(workload, &trace);
    return !is_faithful || make_faithful(workload, reason_out);
}

bool tn_replay_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                              struct tn_workload_list *list, struct tn_reason *reason_out)
{
    (void)machine;
    for (size_t i = 0; i < options->trace_count && !tn_interrupt_is_wanted(); i++) {
        tn_progress_show("reading %s", options->traces[i]);
        if (!add_trace(list, options->traces[i], options->is_faithful, reason_out)) return false;
    }
    return true;
}
