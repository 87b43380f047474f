/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* trace_path: paths as text, and a check of the file system. */
#include "trace_path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/error.h"
#include "../base/host_memory.h"

/* Returns a, b and c in one string. NULL: no memory. */
static char *join(const char *a, const char *b, const char *c)
{
    size_t bytes = strlen(a) + strlen(b) + strlen(c) + 1;
    char *joined = tn_host_memory_alloc(bytes);
    if (joined) snprintf(joined, bytes, "%s%s%s", a, b, c);
    return joined;
}

tarn_status tn_trace_path_absolute(const char *path, char **absolute_out)
{
    char folder[PATH_MAX];
    bool is_absolute = path[0] == '/';
    if (!is_absolute && !getcwd(folder, sizeof folder)) {
        return tn_fail(TARN_STATUS_FILE_ERROR, "%s cannot be written: the current folder: %s", path,
                       strerror(errno));
    }
    char *absolute = is_absolute ? join(path, "", "") : join(folder, "/", path);
    if (!absolute)
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory to record");
    *absolute_out = absolute;
    return TARN_STATUS_OK;
}

/* --- patterns --------------------------------------------------------------------------------------- */

/* A longer number is none of a rank. */
#define RANK_DIGITS_MAX 10

/* The rank among all ranks of the program, by the environment. "0": no launcher tells one. */
static const char *rank_text(void)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_RANK", "PMIX_RANK",      "PMI_RANK",
        "MV2_COMM_WORLD_RANK",  "PALS_RANKID",    "JSM_NAMESPACE_RANK",
        "SLURM_PROCID",         "FLUX_TASK_RANK", "RANK",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        size_t length = value ? strspn(value, "0123456789") : 0;
        if (length > 0 && length <= RANK_DIGITS_MAX && value[length] == '\0') return value;
    }
    return "0";
}

/* The text for a placeholder's letter. NULL: the letter stands for nothing. */
static const char *text_of(char letter, const char *process)
{
    switch (letter) {
    case 'p':
        return process;
    case 'r':
        return rank_text();
    case '%':
        return "%";
    default:
        return NULL;
    }
}

/* Writes the expanded pattern, if there is a place for it, and returns its length. */
static size_t expand(const char *pattern, char *to)
{
    char process[24];
    size_t length = 0;
    snprintf(process, sizeof process, "%ld", (long)getpid());
    while (*pattern != '\0') {
        const char *text = pattern[0] == '%' ? text_of(pattern[1], process) : NULL;
        const char *from = text ? text : pattern;
        size_t count = text ? strlen(text) : 1;
        for (size_t i = 0; to && i < count; i++)
            to[length + i] = from[i];
        length += count;
        pattern += text ? 2 : 1;
    }
    return length;
}

char *tn_trace_path_expand(const char *pattern)
{
    size_t length = expand(pattern, NULL);
    char *expanded = tn_host_memory_alloc(length + 1);
    if (!expanded) return NULL;
    expand(pattern, expanded);
    expanded[length] = '\0';
    return expanded;
}

/* --- paths ------------------------------------------------------------------------------------------ */

/* Returns whether files can be created beside it. */
static bool has_writable_folder(const char *path)
{
    char *folder = join(path, "", "");
    if (!folder) return true; /* a later allocation reports the lack of memory */
    *(strrchr(folder, '/') + 1) = '\0';
    bool is_writable = access(folder, W_OK | X_OK) == 0;
    int error = errno;
    tn_host_memory_free(folder);
    errno = error;
    return is_writable;
}

tarn_status tn_trace_path_check(const char *path)
{
    struct stat status;
    bool is_there = stat(path, &status) == 0;
    int error = 0;
    if (is_there && S_ISDIR(status.st_mode))
        error = EISDIR;
    else if (!has_writable_folder(path) || (is_there && access(path, W_OK) != 0))
        error = errno;
    if (error == 0) return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_FILE_ERROR, "%s cannot be written: %s", path, strerror(error));
}
