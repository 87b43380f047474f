/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ranks: reading the variables of the launchers. A variable that does not parse counts as not set: it is not an
 * error of the user. */
#include "ranks.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    COUNT_MAX = 1000000 /* a larger number is no number of ranks */
};

/* Parses a number from 0 to COUNT_MAX and moves *text behind it. */
static bool take_number(const char **text, unsigned *number_out)
{
    unsigned number = 0;
    const char *digit = *text;
    for (; isdigit((unsigned char)*digit); digit++) {
        number = number * 10 + (unsigned)(*digit - '0');
        if (number > COUNT_MAX) return false;
    }
    if (digit == *text) return false;
    *text = digit;
    *number_out = number;
    return true;
}

/* The number in a variable. 0: it is not set, or no number. */
static unsigned number_in(const char *name)
{
    const char *text = getenv(name);
    unsigned number;
    return text && take_number(&text, &number) && *text == '\0' ? number : 0;
}

/* The count for one node in a list like "5,4(x3)". 0: the text is no such list, or is too short. */
static unsigned count_for_node(const char *text, unsigned node)
{
    unsigned count, node_count;
    while (take_number(&text, &count)) {
        node_count = 1;
        if (strncmp(text, "(x", 2) == 0) {
            text += 2;
            if (!take_number(&text, &node_count) || *text++ != ')') return 0;
        }
        if (node < node_count) return *text == '\0' || *text == ',' ? count : 0;
        node -= node_count;
        if (*text++ != ',') return 0;
    }
    return 0;
}

static unsigned ranks_by_slurm(void)
{
    const char *counts = getenv("SLURM_STEP_TASKS_PER_NODE");
    return counts ? count_for_node(counts, number_in("SLURM_NODEID")) : 0;
}

static unsigned ranks_by_flux(void)
{
    unsigned rank_count = number_in("FLUX_JOB_SIZE"), node_count = number_in("FLUX_JOB_NNODES");
    if (!getenv("FLUX_TASK_LOCAL_ID") || node_count == 0) return 0;
    return (rank_count + node_count - 1) / node_count;
}

/* 1 if no variable tells. */
static unsigned ranks_on_node(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_LOCAL_SIZE",
                                         "MPI_LOCALNRANKS",
                                         "MV2_COMM_WORLD_LOCAL_SIZE",
                                         "PMI_LOCAL_SIZE",
                                         "PALS_LOCAL_SIZE",
                                         "JSM_NAMESPACE_LOCAL_SIZE" };
    unsigned count = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && count == 0; i++)
        count = number_in(names[i]);
    if (count == 0) count = ranks_by_slurm();
    if (count == 0) count = ranks_by_flux();
    if (count == 0) count = number_in("LOCAL_WORLD_SIZE");
    return count > 0 ? count : 1;
}

static bool is_restricted_to_one_device(void)
{
    static const char *const names[] = { "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                         "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *devices = getenv(names[i]);
        if (devices && devices[0] != '\0' && !strchr(devices, ',')) return true;
    }
    return false;
}

unsigned tn_ranks_on_device(unsigned device_count)
{
    unsigned rank_count = ranks_on_node();
    if (device_count == 1 && is_restricted_to_one_device()) {
        device_count = number_in("SLURM_GPUS_ON_NODE");
        if (device_count == 0) return 1;
    }
    return device_count > 1 ? (rank_count + device_count - 1) / device_count : rank_count;
}
