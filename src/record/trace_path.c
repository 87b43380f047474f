/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* trace_path: paths as text, and a check of the file system. */
#include "trace_path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
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

char *tn_trace_path_expand(const char *pattern)
{
    char number[24];
    int length = snprintf(number, sizeof number, "%ld", (long)getpid());
    size_t bytes = strlen(pattern) + 1;
    for (const char *at = strstr(pattern, "%p"); at; at = strstr(at + 2, "%p"))
        bytes += (size_t)length;
    char *expanded = tn_host_memory_alloc(bytes);
    if (!expanded) return NULL;
    char *end = expanded;
    while (*pattern != '\0') {
        bool is_number = pattern[0] == '%' && pattern[1] == 'p';
        if (is_number) {
            memcpy(end, number, (size_t)length);
            end += length;
        } else {
            *end++ = *pattern;
        }
        pattern += is_number ? 2 : 1;
    }
    *end = '\0';
    return expanded;
}

char *tn_trace_path_of_events(const char *path)
{
    return join(path, ".events", "");
}

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
