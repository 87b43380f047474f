/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* call_site: over <execinfo.h>, where compiler.h finds it. */
#include "call_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler.h"
#include "text/escape.h"

#if TN_HAS_EXECINFO
#include <execinfo.h>

static unsigned take_backtrace(void **frames, unsigned count_max)
{
    int count = backtrace(frames, (int)count_max);
    return count > 0 ? (unsigned)count : 0;
}

/* Returns an array that the caller passes to `free`, or NULL. */
static char **names_of(const void *frame)
{
    void *frames[1] = { (void *)frame };
    return backtrace_symbols(frames, 1);
}
#else
static unsigned take_backtrace(void **frames, unsigned count_max)
{
    (void)frames, (void)count_max;
    return 0;
}

static char **names_of(const void *frame)
{
    (void)frame;
    return NULL;
}
#endif

/* More frames than the library itself ever has on the stack. */
#define OWN_FRAMES_MAX 12

void tn_call_site_prepare(void)
{
    void *frame;
    take_backtrace(&frame, 1);
}

void tn_call_site_capture(struct tn_call_site *site, const void *caller)
{
    void *frames[OWN_FRAMES_MAX + TN_CALL_SITE_FRAMES_MAX];
    unsigned count = take_backtrace(frames, sizeof frames / sizeof frames[0]);
    unsigned first = 0;
    while (first < count && frames[first] != caller)
        first++;
    if (first == count) first = 0;
    *site = (struct tn_call_site){ .frame_count = 0 };
    while (site->frame_count < TN_CALL_SITE_FRAMES_MAX && first < count)
        site->frames[site->frame_count++] = frames[first++];
}

struct tn_call_site *tn_call_site_noted(void)
{
    static _Thread_local struct tn_call_site noted;
    return &noted;
}

/* Of "/usr/bin/app(main+0x1c) [0x55d0c0a2]", leaves out the folder, and the address, which changes from run
 * to run. */
void tn_call_site_describe(const void *frame, char *text, size_t text_bytes)
{
    char **names = names_of(frame);
    if (!names) {
        snprintf(text, text_bytes, "%p", frame);
        return;
    }
    const char *name = names[0];
    size_t length = strcspn(name, "([");
    for (size_t i = 0; i < length; i++) {
        if (names[0][i] == '/') name = names[0] + i + 1;
    }
    size_t end = strcspn(name, "[");
    while (end > 0 && name[end - 1] == ' ')
        end--;
    if (end > 0) names[0][(size_t)(name - names[0]) + end] = '\0';
    tn_escape_text(text, text_bytes, end > 0 ? name : names[0]);
    free(names);
}
