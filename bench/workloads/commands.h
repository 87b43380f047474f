/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* commands: the benchmarks that tarn-bench offers. Each makes its workloads; measuring is common. */
#ifndef TN_COMMANDS_H
#define TN_COMMANDS_H

#include "../common/machine.h"
#include "options.h"
#include "workload.h"

struct tn_command {
    const char *name;
    const char *arguments; /* what may follow the name, or "" */
    const char *summary;   /* for the help: a line without an end */

    /* Adds the workloads to the list. False: an option or a trace is wrong, as the reason says, and nothing
     * is to be run. NULL: there is nothing to measure. */
    bool (*make_workloads)(const struct tn_options *options, const struct tn_machine *machine,
                           struct tn_workload_list *list, struct tn_reason *reason_out);
};

bool tn_sweep_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                             struct tn_workload_list *list, struct tn_reason *reason_out);
bool tn_hot_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                           struct tn_workload_list *list, struct tn_reason *reason_out);
bool tn_live_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                            struct tn_workload_list *list, struct tn_reason *reason_out);
bool tn_churn_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                             struct tn_workload_list *list, struct tn_reason *reason_out);
bool tn_threads_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                               struct tn_workload_list *list, struct tn_reason *reason_out);
bool tn_streams_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                               struct tn_workload_list *list, struct tn_reason *reason_out);
bool tn_growth_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                              struct tn_workload_list *list, struct tn_reason *reason_out);
bool tn_patterns_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                                struct tn_workload_list *list, struct tn_reason *reason_out);
bool tn_all_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                           struct tn_workload_list *list, struct tn_reason *reason_out);
bool tn_replay_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                              struct tn_workload_list *list, struct tn_reason *reason_out);

extern const struct tn_command tn_command_hot;
extern const struct tn_command tn_command_sweep;
extern const struct tn_command tn_command_live;
extern const struct tn_command tn_command_churn;
extern const struct tn_command tn_command_threads;
extern const struct tn_command tn_command_streams;
extern const struct tn_command tn_command_growth;
extern const struct tn_command tn_command_patterns;
extern const struct tn_command tn_command_replay;
extern const struct tn_command tn_command_all;
extern const struct tn_command tn_command_allocators; /* no benchmark: lists the allocators */

/* All of them, in the order of the help, ended by NULL. */
extern const struct tn_command *const tn_command_table[];

/* The command with this name, or NULL. */
const struct tn_command *tn_command_find(const char *name);

#endif
