/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The structs as C sets them up, for test_fortran.f90.in to compare with. */
#include <string.h>

#include "tarn/tarn.h"

int is_as_in_c(const char *type, const void *value, size_t size_bytes);

static const tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
static const tarn_stats stats = TARN_STATS_INIT;
static const tarn_label_stats label_stats = TARN_LABEL_STATS_INIT;
static const tarn_leaks leaks = TARN_LEAKS_INIT;
static const tarn_allocation allocation = TARN_ALLOCATION_INIT;

static const struct {
    const char *type;
    const void *value;
    size_t size_bytes;
} initial_values[] = {
    { "tarn_pool_options", &options, sizeof options },
    { "tarn_stats", &stats, sizeof stats },
    { "tarn_label_stats", &label_stats, sizeof label_stats },
    { "tarn_leaks", &leaks, sizeof leaks },
    { "tarn_allocation", &allocation, sizeof allocation },
};

/* Padding counts: it is zero in objects of static storage duration, those of Fortran too. */
int is_as_in_c(const char *type, const void *value, size_t size_bytes)
{
    for (size_t i = 0; i < sizeof initial_values / sizeof initial_values[0]; i++) {
        if (strcmp(initial_values[i].type, type) == 0)
            return initial_values[i].size_bytes == size_bytes &&
                   memcmp(initial_values[i].value, value, size_bytes) == 0;
    }
    return 0;
}
