/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* debug_label: a stack in the thread's own storage. */
#include "debug_label.h"

#include <string.h>

#define DEPTH_MAX 32

struct label_stack {
    size_t depth; /* counts also labels beyond DEPTH_MAX, which are not kept */
    char labels[DEPTH_MAX][TN_LABEL_BYTES];
};

static _Thread_local struct label_stack stack;

const char *tn_label_current(void)
{
    if (stack.depth == 0) return "";
    return stack.labels[(stack.depth < DEPTH_MAX ? stack.depth : DEPTH_MAX) - 1];
}

void tarn_label_push(const char *label)
{
    size_t place = stack.depth++;
    if (place >= DEPTH_MAX) return;
    size_t length = label ? strnlen(label, TARN_LABEL_BYTES_MAX) : 0;
    if (length > 0) memcpy(stack.labels[place], label, length);
    stack.labels[place][length] = '\0';
}

void tarn_label_pop(void)
{
    if (stack.depth > 0) stack.depth--;
}
