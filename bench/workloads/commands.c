/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* commands: the benchmarks that tarn-bench offers. */
#include "commands.h"

#include <string.h>

const struct tn_command tn_command_hot = { "hot", "", "one block of 1 KB", tn_hot_make_workloads };
const struct tn_command tn_command_sweep = { "sweep", "", "one block at a time, by size",
                                             tn_sweep_make_workloads };
const struct tn_command tn_command_live = {
    "live", "", "tiny blocks and mixed ones, by the number of live ones", tn_live_make_workloads
};
const struct tn_command tn_command_churn = { "churn", "",
                                             "random replacement among live blocks of all sizes",
                                             tn_churn_make_workloads };
const struct tn_command tn_command_threads = { "threads", "",
                                               "churn by several threads at once on one allocator",
                                               tn_threads_make_workloads };
const struct tn_command tn_command_streams = { "streams", "",
                                               "blocks that streams fill and pass on",
                                               tn_streams_make_workloads };
const struct tn_command tn_command_growth = { "growth", "",
                                              "from nothing to many live bytes, and back",
                                              tn_growth_make_workloads };
const struct tn_command tn_command_patterns = {
    "patterns", "", "what is held where sizes creep, by families drawn from the seed",
    tn_patterns_make_workloads
};
const struct tn_command tn_command_replay = {
    "replay", "TRACE...", "the allocations of a real program, from a recorded trace",
    tn_replay_make_workloads
};
const struct tn_command tn_command_all = {
    "all", "[TRACE...]", "all but patterns, shorter; by default with bench/traces",
    tn_all_make_workloads
};
const struct tn_command tn_command_allocators = { "allocators", "",
                                                  "lists the allocators, and why some are missing",
                                                  NULL };

const struct tn_command *const tn_command_table[] = {
    &tn_command_hot,     &tn_command_sweep,   &tn_command_live,       &tn_command_churn,
    &tn_command_threads, &tn_command_streams, &tn_command_growth,     &tn_command_patterns,
    &tn_command_replay,  &tn_command_all,     &tn_command_allocators, NULL
};

const struct tn_command *tn_command_find(const char *name)
{
    for (size_t i = 0; tn_command_table[i]; i++)
        if (strcmp(tn_command_table[i]->name, name) == 0) return tn_command_table[i];
    return NULL;
}
