/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* trace_file: gathers a block, compresses it or not, and writes it. */
#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/arith.h"
#include "../base/host_memory.h"

#include "deflate.h"

struct tn_trace_file {
    int descriptor;
    int error;
    bool is_gzip;
    bool is_plain; /* a regular file, not a device or pipe */
    uint64_t written_bytes;
    struct tn_crc32 crc; /* of the text */
    uint32_t text_bytes; /* modulo 2^32, as gzip counts */
    struct tn_deflate deflate;
    size_t gathered_bytes;
    unsigned char gathered[TN_DEFLATE_BLOCK_BYTES_MAX];
    unsigned char out[TN_DEFLATE_OUT_BYTES_MAX];
    char path[];
};

/* Exceeding the limit on file sizes raises a signal. */
static bool is_within_limit(const struct tn_trace_file *file, size_t count)
{
    struct rlimit limit;
    return !file->is_plain || getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
           limit.rlim_cur == RLIM_INFINITY || file->written_bytes + count <= limit.rlim_cur;
}

static void write_bytes(struct tn_trace_file *file, const unsigned char *bytes, size_t count)
{
    if (file->error == 0 && !is_within_limit(file, count)) file->error = EFBIG;
    while (count > 0 && file->error == 0) {
        ssize_t written = write(file->descriptor, bytes, count);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            file->error = written < 0 ? errno : ENOSPC;
            return;
        }
        bytes += written;
        count -= (size_t)written;
        file->written_bytes += (size_t)written;
    }
}

static void write_block(struct tn_trace_file *file, bool is_last)
{
    size_t count = file->gathered_bytes;
    file->gathered_bytes = 0;
    if (!file->is_gzip) {
        write_bytes(file, file->gathered, count);
        return;
    }
    tn_crc32_add(&file->crc, file->gathered, count);
    file->text_bytes += (uint32_t)count;
    count = tn_deflate_block(&file->deflate, file->gathered, count, is_last, file->out);
    write_bytes(file, file->out, count);
}

static bool ends_in_gz(const char *path)
{
    size_t length = strlen(path);
    return length >= 3 && strcmp(path + length - 3, ".gz") == 0;
}

struct tn_trace_file *tn_trace_file_create(const char *path)
{
    size_t path_bytes = strlen(path) + 1;
    struct tn_trace_file *file = tn_host_memory_alloc_zeroed(sizeof *file + path_bytes);
    errno = ENOMEM;
    if (!file) return NULL;
    memcpy(file->path, path, path_bytes);
    file->descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    struct stat status;
    if (file->descriptor < 0 || fstat(file->descriptor, &status) != 0) {
        int error = errno;
        if (file->descriptor >= 0) close(file->descriptor);
        tn_host_memory_free(file);
        errno = error;
        return NULL;
    }
    file->is_plain = S_ISREG(status.st_mode);
    file->is_gzip = ends_in_gz(path);
    tn_deflate_init(&file->deflate);
    tn_crc32_init(&file->crc);
    /* Deflate; no name, no time; made by Unix. */
    static const unsigned char head[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3 };
    if (file->is_gzip) write_bytes(file, head, sizeof head);
    return file;
}

void tn_trace_file_write(struct tn_trace_file *file, const char *text, size_t length)
{
    while (length > 0) {
        size_t room = sizeof file->gathered - file->gathered_bytes;
        size_t count = tn_min(room, length);
        memcpy(file->gathered + file->gathered_bytes, text, count);
        file->gathered_bytes += count;
        text += count;
        length -= count;
        if (count == room) write_block(file, false);
    }
}

static void write_end(struct tn_trace_file *file)
{
    unsigned char tail[8];
    write_block(file, true);
    if (!file->is_gzip) return;
    memcpy(tail, &file->crc.value, 4);
    memcpy(tail + 4, &file->text_bytes, 4);
    write_bytes(file, tail, sizeof tail);
}

/* Removes a regular file after an error. */
static int let_go(struct tn_trace_file *file)
{
    if (close(file->descriptor) != 0 && file->error == 0) file->error = errno;
    int error = file->error;
    if (error != 0 && file->is_plain) unlink(file->path);
    tn_host_memory_free(file);
    return error;
}

int tn_trace_file_close(struct tn_trace_file *file)
{
    write_end(file);
    return let_go(file);
}

void tn_trace_file_abandon(struct tn_trace_file *file)
{
    file->error = ECANCELED;
    (void)let_go(file);
}
