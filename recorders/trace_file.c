/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* trace_file: zlib writes both kinds of text. */
#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER_BYTES (128 << 10)

struct output {
    const char *path;
    bool is_gzip;
    gzFile file; /* from the first line on, so that bad events harm nothing */
    int error;   /* errno of the first failed call */
};

static bool open_output(struct output *output)
{
    int descriptor = strcmp(output->path, "-") == 0
                         ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                         : open(output->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) return false;
    errno = ENOMEM;
    output->file = gzdopen(descriptor, output->is_gzip ? "wb1" : "wbT");
    if (output->file)
        gzbuffer(output->file, BUFFER_BYTES);
    else
        close(descriptor);
    return output->file != NULL;
}

/* zlib sets errno where a call of the system has failed. */
static void note_error(struct output *output)
{
    if (output->error == 0) output->error = errno ? errno : ENOMEM;
}

static bool take_line(void *to, const char *line, size_t length)
{
    struct output *output = to;
    errno = 0;
    if ((!output->file && !open_output(output)) ||
        gzwrite(output->file, line, (unsigned)length) != (int)length)
        note_error(output);
    return output->error == 0;
}

static void close_output(struct output *output)
{
    errno = 0;
    if (output->file && gzclose(output->file) != Z_OK) note_error(output);
}

static bool ends_in_gz(const char *path)
{
    size_t length = strlen(path);
    return length >= 3 && strcmp(path + length - 3, ".gz") == 0;
}

static bool is_file(const char *path, const struct stat *file)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_dev == file->st_dev &&
           status.st_ino == file->st_ino;
}

static bool fail_to_write(struct tn_failure *failure, const char *trace_path, int error,
                          const char *event_path)
{
    const char *slash = strrchr(event_path, '/');
    return tn_failure_set(failure, "%s cannot be written: %s; the events are kept in %s",
                          trace_path, strerror(error), slash ? slash + 1 : event_path);
}

/* Writes the trace into the file `path`, which becomes `trace_path`. */
static bool write_trace(const char *event_path, const char *path, const char *trace_path,
                        struct tn_trace_summary *summary_out, struct tn_failure *failure)
{
    struct output output = { .path = path, .is_gzip = ends_in_gz(trace_path) };
    const struct tn_trace_sink sink = { take_line, &output };
    bool is_read = tn_trace_write(event_path, &sink, summary_out, failure);
    close_output(&output);
    if (is_read && output.error != 0)
        return fail_to_write(failure, trace_path, output.error, event_path);
    return is_read;
}

/* Another recording may have set the events aside meanwhile, and have begun in a file of their name. */
static bool put_in_place(const char *event_path, const char *path, const char *trace_path,
                         const struct stat *replaced, struct tn_failure *failure)
{
    if (replaced && !is_file(trace_path, replaced))
        return tn_failure_set(failure, "%s has become another file meanwhile", trace_path);
    return rename(path, trace_path) == 0 || fail_to_write(failure, trace_path, errno, event_path);
}

/* replaced: the events, if the trace takes their place; or NULL. */
static bool write_beside(const char *event_path, const char *trace_path,
                         const struct stat *replaced, struct tn_trace_summary *summary_out,
                         struct tn_failure *failure)
{
    char *path;
    if (asprintf(&path, "%s.%ld.partial", trace_path, (long)getpid()) < 0)
        return fail_to_write(failure, trace_path, ENOMEM, event_path);
    bool is_made = write_trace(event_path, path, trace_path, summary_out, failure) &&
                   put_in_place(event_path, path, trace_path, replaced, failure);
    if (!is_made) unlink(path);
    free(path);
    return is_made;
}

bool tn_trace_file_make(const char *event_path, const char *trace_path, bool keeps_events,
                        struct tn_trace_summary *summary_out, struct tn_failure *failure)
{
    struct stat events, there;
    if (stat(event_path, &events) != 0)
        return tn_failure_set(failure, "%s cannot be read: %s", event_path, strerror(errno));
    bool is_stdout = strcmp(trace_path, "-") == 0;
    bool is_replaced = !is_stdout && is_file(trace_path, &events);
    bool is_plain = !is_stdout && (lstat(trace_path, &there) != 0 || S_ISREG(there.st_mode));
    bool is_made;
    if (is_plain)
        is_made = write_beside(event_path, trace_path, is_replaced ? &events : NULL, summary_out,
                               failure);
    else if (is_replaced)
        is_made = tn_failure_set(failure, "%s would be written over the events", trace_path);
    else
        is_made = write_trace(event_path, trace_path, trace_path, summary_out, failure);
    if (is_made && !keeps_events && !is_replaced && is_file(event_path, &events))
        unlink(event_path);
    return is_made;
}
