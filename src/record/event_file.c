/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* event_file: opening, locking, and growth by chunks. */
#include "event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/compiler.h"
#include "../base/error.h"
#include "../base/sync.h"

/* Each attempt that finds a file of this name sets it aside, if no other recording writes it. */
#define OPEN_ATTEMPTS_MAX 8

static tarn_status fail_for(const char *path, const char *what, int error)
{
    return tn_fail(TARN_STATUS_FILE_ERROR, "%s %s: %s", path, what, strerror(error));
}

/* --- opening --------------------------------------------------------------------------------------- */

/* Returns whether `path` names the file of the descriptor. */
static bool is_named(int descriptor, const char *path)
{
    struct stat opened, named;
    return fstat(descriptor, &opened) == 0 && stat(path, &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* Beside the numbers of errno: */
#define ERROR_NOT_REGULAR (-1) /* it is a folder, a device or a pipe */
#define ERROR_NO_LOCKS    (-2) /* another process may write it */

/* Removes an empty file: a recording that begins has not locked it yet, and makes another. */
static bool put_away(int descriptor, const char *path, const char *old)
{
    struct stat status;
    bool is_empty = fstat(descriptor, &status) == 0 && status.st_size == 0;
    return (is_empty ? unlink(path) : rename(path, old)) == 0;
}

/* Renames a file that no recording writes to `path`.old. False: one does, it cannot be renamed, or it is no regular
 * file. */
static bool set_aside(const char *path, int *error_out)
{
    char old[4096];
    struct stat status;
    int length = snprintf(old, sizeof old, "%s.old", path);
    *error_out = ENAMETOOLONG;
    if (length < 0 || (size_t)length >= sizeof old) return false;
    *error_out = ERROR_NOT_REGULAR;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) return false;
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    *error_out = errno;
    if (descriptor < 0) return *error_out == ENOENT;
    *error_out = 0;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0)
        *error_out = errno == EWOULDBLOCK ? errno : ERROR_NO_LOCKS;
    else if (is_named(descriptor, path) && !put_away(descriptor, path, old))
        *error_out = errno;
    close(descriptor);
    return *error_out == 0;
}

/* Creates a file. The descriptor is above those of standard input, output and error, which the program may
 * have closed. */
static int create(const char *path)
{
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int error = errno;
    close(descriptor);
    if (moved < 0) unlink(path);
    errno = error;
    return moved;
}

/* False: another process has locked it. Without locks the file counts as locked. */
static bool lock_new(int descriptor)
{
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* Creates a file of this name and locks it. */
static int create_locked(const char *path, bool is_exclusive, int *error_out)
{
    for (int attempt = 0; attempt < OPEN_ATTEMPTS_MAX; attempt++) {
        int descriptor = create(path);
        *error_out = errno;
        if (descriptor >= 0) {
            if (lock_new(descriptor) && is_named(descriptor, path)) return descriptor;
            *error_out = EWOULDBLOCK;
            close(descriptor); /* another process has set it aside meanwhile */
        } else if (*error_out != EEXIST || is_exclusive || !set_aside(path, error_out)) {
            return -1;
        }
    }
    return -1;
}

static bool is_within_limit(uint64_t end)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           end <= limit.rlim_cur;
}

/* Reserves room in the file and maps it. NULL: see errno. Checks the limit on file sizes first, since
 * exceeding it raises a signal. */
static void *map_room(int descriptor, uint64_t offset, size_t size_bytes)
{
    errno = EFBIG;
    if (!is_within_limit(offset + size_bytes)) return NULL;
    do {
        errno = posix_fallocate(descriptor, (off_t)offset, (off_t)size_bytes);
    } while (errno == EINTR);
    if (errno != 0) return NULL;
    void *room =
        mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, (off_t)offset);
    if (room == MAP_FAILED) return NULL;
    /* Failure is harmless: the child has the mapping, too. */
    (void)madvise(room, size_bytes, MADV_DONTFORK);
    return room;
}

static void write_name(char *name, size_t name_bytes)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(path, '/');
    snprintf(name, name_bytes, "%s", slash ? slash + 1 : "program");
}

static void write_header(struct tn_event_file_header *header, const char *source)
{
    header->event_bytes = sizeof(struct tn_event);
    header->chunk_bytes = TN_EVENT_CHUNK_BYTES;
    header->process = (uint64_t)getpid();
    write_name(header->name, sizeof header->name);
    snprintf(header->source, sizeof header->source, "%s", source);
    /* Last: without it this is not a file of events. */
    memcpy(header->magic, TN_EVENT_FILE_MAGIC, sizeof TN_EVENT_FILE_MAGIC);
}

static tarn_status fail_to_create(const char *path, int error)
{
    if (error == ERROR_NOT_REGULAR)
        return tn_fail(TARN_STATUS_FILE_ERROR, "%s cannot be written: it is no regular file", path);
    if (error == ERROR_NO_LOCKS)
        return tn_fail(TARN_STATUS_FILE_ERROR,
                       "%s is there already, and on this disk no lock tells whether a process "
                       "writes it: remove it, or choose another name",
                       path);
    if (error != EWOULDBLOCK) return fail_for(path, "cannot be written", error);
    return tn_fail(TARN_STATUS_FILE_ERROR,
                   "%s is being written by another process, or another recording: each needs a "
                   "file of its own",
                   path);
}

tarn_status tn_event_file_open(struct tn_event_file *file, const char *path, const char *source,
                               bool is_exclusive)
{
    int error = 0;
    int descriptor = create_locked(path, is_exclusive, &error);
    if (descriptor < 0) return fail_to_create(path, error);
    struct stat status;
    struct tn_event_file_header *header = NULL;
    if (fstat(descriptor, &status) == 0)
        header = map_room(descriptor, 0, TN_EVENT_FILE_HEADER_BYTES);
    if (!header) {
        error = errno;
        unlink(path);
        close(descriptor);
        return fail_for(path, "has no room", error);
    }
    write_header(header, source);
    file->descriptor = descriptor;
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->header = header;
    atomic_store(&file->chunk_count, 0);
    atomic_store(&file->is_full, false);
    return TARN_STATUS_OK;
}

/* --- chunks ---------------------------------------------------------------------------------------- */

static bool has_descriptor(const struct tn_event_file *file)
{
    struct stat status;
    return fstat(file->descriptor, &status) == 0 && status.st_dev == file->device &&
           status.st_ino == file->inode;
}

static uint64_t take_offset(struct tn_event_file *file)
{
    uint64_t number = atomic_fetch_add(&file->chunk_count, 1);
    return TN_EVENT_FILE_HEADER_BYTES + number * TN_EVENT_CHUNK_BYTES;
}

static bool is_full(const struct tn_event_file *file)
{
    return atomic_load_explicit(&file->is_full, memory_order_relaxed);
}

static TN_COLD void set_full(struct tn_event_file *file)
{
    atomic_store_explicit(&file->is_full, true, memory_order_relaxed);
}

static bool write_at(int descriptor, uint64_t offset, const void *bytes, size_t count)
{
    const unsigned char *from = bytes;
    if (!is_within_limit(offset + count)) return false;
    while (count > 0) {
        ssize_t written = pwrite(descriptor, from, count, (off_t)offset);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        from += written;
        offset += (uint64_t)written;
        count -= (size_t)written;
    }
    return true;
}

static struct tn_event_chunk *map_chunk(struct tn_event_file *file)
{
    if (!has_descriptor(file)) return NULL;
    return map_room(file->descriptor, take_offset(file), TN_EVENT_CHUNK_BYTES);
}

static bool write_chunk(struct tn_event_file *file, const struct tn_event_chunk *chunk)
{
    return has_descriptor(file) &&
           write_at(file->descriptor, take_offset(file), chunk, sizeof *chunk);
}

struct tn_event_chunk *tn_event_file_add_chunk(struct tn_event_file *file, uint64_t writer)
{
    if (is_full(file)) return NULL;
    int caller_errno = errno, cancel_state = tn_thread_begin_uncancelled();
    struct tn_event_chunk *chunk = map_chunk(file);
    tn_thread_end_uncancelled(cancel_state);
    errno = caller_errno;
    if (!chunk) {
        set_full(file);
        return NULL;
    }
    chunk->writer = writer;
    atomic_store_explicit(&chunk->ready, TN_EVENT_CHUNK_READY, memory_order_release);
    return chunk;
}

/* Until the chunk is ready again only its copy counts. */
static void empty_chunk(struct tn_event_chunk *chunk)
{
    atomic_store(&chunk->ready, 0);
    memset(chunk->events, 0, sizeof chunk->events);
    chunk->number++;
    atomic_store(&chunk->ready, TN_EVENT_CHUNK_READY);
}

bool tn_event_file_turn_chunk(struct tn_event_file *file, struct tn_event_chunk *chunk)
{
    if (is_full(file)) return false;
    int caller_errno = errno, cancel_state = tn_thread_begin_uncancelled();
    bool is_written = write_chunk(file, chunk);
    tn_thread_end_uncancelled(cancel_state);
    errno = caller_errno;
    if (is_written)
        empty_chunk(chunk);
    else
        set_full(file);
    return is_written;
}

void tn_event_file_leave_chunk(struct tn_event_chunk *chunk)
{
    if (chunk) munmap(chunk, TN_EVENT_CHUNK_BYTES);
}

uint64_t tn_event_file_bytes(const struct tn_event_file *file)
{
    return TN_EVENT_FILE_HEADER_BYTES + atomic_load(&file->chunk_count) * TN_EVENT_CHUNK_BYTES;
}

/* --- the end --------------------------------------------------------------------------------------- */

void tn_event_file_close(struct tn_event_file *file)
{
    munmap(file->header, TN_EVENT_FILE_HEADER_BYTES);
    tn_event_file_forget(file);
}

/* Closes the child's descriptor: it shares the parent's lock, which would otherwise outlive the parent. */
void tn_event_file_forget(struct tn_event_file *file)
{
    if (has_descriptor(file)) close(file->descriptor);
    file->descriptor = -1;
    file->header = NULL;
}
