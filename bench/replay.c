/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * replay: the allocations of a real program, in the order of its trace.
 *
 * Every trace is read before any is played, so that a damaged one stops everything. The streams and
 * threads of the trace are not played: all calls come from one thread, in the recorded order.
 */
#include <string.h>

#include "commands.h"
#include "progress.h"
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
    workload->slot_count = trace->slot_count;
    workload->unit_count = trace->operations.count;
}

static bool add_trace(struct tn_workload_list *list, const char *path, struct tn_reason *reason_out)
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
    return true;
}

bool tn_replay_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                              struct tn_workload_list *list, struct tn_reason *reason_out)
{
    (void)machine;
    for (size_t i = 0; i < options->trace_count; i++) {
        tn_progress_show("reading %s", options->traces[i]);
        if (!add_trace(list, options->traces[i], reason_out)) return false;
    }
    return true;
}
