/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "plan.h"

#include <stdio.h>
#include <string.h>

static bool is_left_out[PART_COUNT];

static const struct {
    const char *name, *meaning;
} parts[] = {
#define PART_TEXT(name, text, meaning) { text, meaning },
    PART_TABLE(PART_TEXT)
#undef PART_TEXT
};

bool plan_leave_out(const char *name)
{
    for (int i = 0; i < PART_COUNT; i++) {
        if (strcmp(parts[i].name, name) != 0) continue;
        is_left_out[i] = true;
        return true;
    }
    return false;
}

bool plan_has(enum part part)
{
    return !is_left_out[part];
}

void plan_print(void)
{
    for (int i = 0; i < PART_COUNT; i++)
        printf("  --without %-22s %s\n", parts[i].name, parts[i].meaning);
}
