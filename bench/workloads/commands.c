/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* commands: the benchmarks that tarn-bench offers. */
#include "commands.h"

#include <string.h>

const struct tn_command tn_command_hot = { "hot", tn_hot_make_workloads };
const struct tn_command tn_command_sweep = { "sweep", tn_sweep_make_workloads };
const struct tn_command tn_command_live = { "live", tn_live_make_workloads };
const struct tn_command tn_command_churn = { "churn", tn_churn_make_workloads };
const struct tn_command tn_command_threads = { "threads", tn_threads_make_workloads };
const struct tn_command tn_command_streams = { "streams", tn_streams_make_workloads };
const struct tn_command tn_command_growth = { "growth", tn_growth_make_workloads };
const struct tn_command tn_command_all = { "all", tn_all_make_workloads };
const struct tn_command tn_command_replay = { "replay", tn_replay_make_workloads };
const struct tn_command tn_command_allocators = { "allocators", NULL };

static const struct tn_command *const table[] = { &tn_command_hot,     &tn_command_sweep,
                                                  &tn_command_live,    &tn_command_churn,
                                                  &tn_command_threads, &tn_command_streams,
                                                  &tn_command_growth,  &tn_command_replay,
                                                  &tn_command_all,     &tn_command_allocators };

const struct tn_command *tn_command_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i]->name, name) == 0) return table[i];
    return NULL;
}
