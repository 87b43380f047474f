/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* run_files: searches the folder. */
#include "run_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Returns whether a file's name ends in `suffix`, with a process before it, whose length it writes. */
static bool is_named(const char *name, const char *prefix, const char *suffix, size_t *length_out)
{
    size_t length = strlen(name), prefix_length = strlen(prefix), suffix_length = strlen(suffix);
    if (strncmp(name, prefix, prefix_length) != 0 || length <= prefix_length + suffix_length ||
        strcmp(name + length - suffix_length, suffix) != 0)
        return false;
    *length_out = length - prefix_length - suffix_length;
    return true;
}

static bool add_file(struct tn_run_files *files, const char *folder, const char *name,
                     const char *process, size_t length, bool is_tarns)
{
    void *grown = realloc(files->files, (files->count + 1) * sizeof *files->files);
    if (!grown) return false;
    files->files = grown;
    struct tn_run_file *file = &files->files[files->count];
    struct stat status;
    *file = (struct tn_run_file){ .is_tarns = is_tarns };
    file->process = strndup(process, length);
    if (!file->process || asprintf(&file->path, "%s/%s", folder, name) < 0) {
        free(file->process);
        return false;
    }
    /* Writers that have only begun differ by a chunk, which is precise enough. */
    file->bytes = stat(file->path, &status) == 0 ? (unsigned long long)status.st_size : 0;
    files->count++;
    return true;
}

/* Tarn's first, then the largest; then by name, for a stable order. */
static int compare_files(const void *left, const void *right)
{
    const struct tn_run_file *a = left, *b = right;
    if (a->is_tarns != b->is_tarns) return a->is_tarns ? -1 : 1;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? 1 : -1;
    return strcmp(a->path, b->path);
}

bool tn_run_files_find(struct tn_run_files *files, const char *prefix)
{
    *files = (struct tn_run_files){ NULL, 0 };
    const char *slash = strrchr(prefix, '/');
    const char *name_prefix = slash ? slash + 1 : prefix;
    char *folder_path = slash ? strndup(prefix, (size_t)(slash - prefix) + 1) : strdup("./");
    DIR *folder = folder_path ? opendir(folder_path) : NULL;
    bool is_read = folder != NULL;
    for (const struct dirent *entry = folder ? readdir(folder) : NULL; entry && is_read;
         entry = readdir(folder)) {
        size_t length;
        bool is_tarns = is_named(entry->d_name, name_prefix, TN_RUN_FILES_TARN, &length);
        if (!is_tarns && !is_named(entry->d_name, name_prefix, ".events", &length)) continue;
        const char *process = entry->d_name + strlen(name_prefix);
        is_read = add_file(files, folder_path, entry->d_name, process, length, is_tarns);
    }
    int error = errno;
    if (folder) closedir(folder);
    free(folder_path);
    if (files->count > 0) qsort(files->files, files->count, sizeof *files->files, compare_files);
    errno = error;
    return is_read;
}

void tn_run_files_fini(struct tn_run_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->files[i].path);
        free(files->files[i].process);
    }
    free(files->files);
}

/* Inserts the process before the file name's endings. */
char *tn_run_files_trace_path(const char *trace_path, const char *process)
{
    const char *slash = strrchr(trace_path, '/');
    const char *name = slash ? slash + 1 : trace_path;
    const char *dot = name[0] != '\0' ? strchr(name + 1, '.') : NULL;
    const char *ending = dot ? dot : name + strlen(name);
    char *path;
    if (asprintf(&path, "%.*s.%s%s", (int)(ending - trace_path), trace_path, process, ending) < 0)
        return NULL;
    return path;
}
