/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* map_file: the maps of all pools in a file, the thread that writes it, and the request for it. */
#include "map_file.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/error.h"
#include "../base/host_memory.h"
#include "../base/process.h"
#include "../base/sync.h"
#include "../core/arenas/gather.h"
#include "../core/care/debug_pool.h"
#include "../core/care/dump.h"
#include "../core/care/pool_registry.h"
#include "../record/trace_path.h"

static void tell_that_there_is_none(const char *reason)
{
    fprintf(stderr, "tarn: TARN_MAP: no map of the pools of process %ld: %s\n", (long)getpid(),
            reason);
}

/* --- writing ----------------------------------------------------------------------------------------- */

/* Constant once the writing thread is made. */
static char *path;        /* absolute */
static char *path_beside; /* where it is written first; that of a device or pipe is `path` */
static bool is_replaced;  /* by what was written beside */

/* Returns when each lock of a pool that a map needs has been held. */
static void wait_for_locks(void)
{
    struct tarn_pool *pool = NULL;
    while ((pool = tn_pool_registry_pin_next(pool)) != NULL) {
        tn_debug_hold(pool);
        tn_pool_lock_and_gather(pool);
        tn_pool_unlock(pool);
        tn_debug_release(pool);
    }
}

static tarn_status write_pools(FILE *file)
{
    struct tarn_pool *pool = NULL;
    tarn_status status = TARN_STATUS_OK;
    const char *before = "[\n";
    while ((pool = tn_pool_registry_pin_next(pool)) != NULL) { /* to the end: a pool is pinned */
        if (status != TARN_STATUS_OK) continue;
        fputs(before, file);
        before = ",\n";
        status = tn_dump_pool(pool, TARN_DUMP_FORMAT_JSON, file);
    }
    fputs(before[0] == '[' ? "[]\n" : "]\n", file);
    return status;
}

static tarn_status fail_for_file(void)
{
    return tn_fail(TARN_STATUS_FILE_ERROR, "%s cannot be written: %s", path, strerror(errno));
}

static tarn_status write_to(FILE *file)
{
    if (!file) return fail_for_file();
    tarn_status status = write_pools(file);
    bool is_lost = ferror(file) != 0;
    bool is_closed = fclose(file) == 0;
    if (status == TARN_STATUS_OK && (is_lost || !is_closed)) return fail_for_file();
    return status;
}

static FILE *_Atomic open_file; /* written now; NULL: none */

static void write_map(FILE *file)
{
    open_file = file;
    tarn_status status = write_to(file);
    open_file = NULL;
    if (status == TARN_STATUS_OK && is_replaced && rename(path_beside, path) != 0)
        status = fail_for_file();
    if (status == TARN_STATUS_OK) return;
    if (is_replaced) unlink(path_beside);
    tell_that_there_is_none(tarn_last_error().message);
}

/* --- the thread that writes -------------------------------------------------------------------------- */

static sem_t wishes; /* signals that are not answered yet, and the end of the process */
static atomic_bool is_ending;
static atomic_bool is_writing;
static atomic_bool
    has_locks; /* at the end: those of the pools, of the C library's heap and of its files */
static atomic_bool is_done; /* at the end */

static void *answer_wishes(void *unused)
{
    for (;;) {
        if (sem_wait(&wishes) != 0) continue;
        atomic_store(&is_writing, true);
        bool is_last = atomic_load(&is_ending);
        if (is_last) wait_for_locks();
        FILE *file = fopen(path_beside, is_replaced ? "we" : "ae");
        if (is_last) atomic_store(&has_locks, true);
        write_map(file);
        atomic_store(&is_writing, false);
        if (is_last) atomic_store(&is_done, true);
    }
    return unused;
}

/* The program's signals are not for a thread of the library. */
static tarn_status start_thread(void)
{
    sigset_t all, before;
    pthread_t thread;
    sem_init(&wishes, 0, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, answer_wishes, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "no thread can be made");
    pthread_detach(thread);
    return TARN_STATUS_OK;
}

/* --- at a signal ------------------------------------------------------------------------------------- */

static void post_signal(int number)
{
    int caller_errno = errno;
    (void)number;
    sem_post(&wishes);
    errno = caller_errno;
}

/* A child has the handler of its parent. */
static tarn_status check_signal(void)
{
    struct sigaction now;
    sigaction(SIGUSR2, NULL, &now);
    if (now.sa_handler == SIG_DFL || now.sa_handler == post_signal) return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_NOT_SUPPORTED, "the program has a handler of SIGUSR2");
}

static void take_signal(void)
{
    struct sigaction action = { .sa_handler = post_signal, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR2, &action, NULL);
}

/* --- at the end -------------------------------------------------------------------------------------- */

static atomic_bool is_wanted_at_end;

/* Returns whether that is so after a second at most. */
static bool wait_until(const atomic_bool *flag, bool value)
{
    enum {
        WAIT_MS_MAX = 1000
    };
    for (int i = 0; i < WAIT_MS_MAX && atomic_load(flag) != value; i++)
        tn_thread_sleep_shortly();
    return atomic_load(flag) == value;
}

/* Allocates nothing: a signal's handler may have ended the process in the middle of malloc. */
TN_LAST_DESTRUCTOR static void write_at_exit(void)
{
    if (!atomic_load(&is_wanted_at_end)) {
        (void)wait_until(&is_writing, false); /* for a signal: else half a file stays beside */
        return;
    }
    atomic_store(&is_ending, true);
    sem_post(&wishes);
    if (!wait_until(&has_locks, true)) {
        tell_that_there_is_none("a lock or the file could not be had within a second");
        return;
    }
    while (!atomic_load(&is_done))
        tn_thread_sleep_shortly();
}

/* --- the request ------------------------------------------------------------------------------------- */

static struct tn_mutex lock = TN_MUTEX_INIT; /* guards the next one */
static bool is_settled;                      /* requested, or refused */

static struct tn_once forks_once = TN_ONCE_INIT;
static bool watches_forks;

static void after_fork_in_child(void)
{
    tn_mutex_init(&lock);
    is_settled = false;
    atomic_store(&is_wanted_at_end, false);
    atomic_store(&is_writing, false); /* its thread is not there */
    FILE *inherited = open_file;
    if (inherited) __fpurge(inherited); /* else the end of the child writes the parent's bytes */
}

static void watch_forks(void)
{
    watches_forks = tn_process_call_around_forks(NULL, NULL, after_fork_in_child);
}

static tarn_status fail_for_memory(void)
{
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory");
}

/* Whether it is the file that the program writes its output to, by way of /dev/stdout for example. */
static bool is_output(const struct stat *status)
{
    struct stat output;
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fstat(descriptor, &output) == 0 && output.st_dev == status->st_dev &&
            output.st_ino == status->st_ino)
            return true;
    }
    return false;
}

/* Follows a link to a file, which stays, and finds a place beside the file. A pipe or a device has no such
 * place, because nothing can be renamed to it.
 * Requires: the lock, and the path. */
static tarn_status settle_place_beside(void)
{
    struct stat status;
    char followed[PATH_MAX];
    const char *place = path;
    is_replaced = stat(path, &status) != 0 || (S_ISREG(status.st_mode) && !is_output(&status));
    if (is_replaced && realpath(path, followed)) place = followed;
    size_t bytes = strlen(place) + 24;
    char *absolute = tn_host_memory_alloc(bytes);
    char *beside = tn_host_memory_alloc(bytes);
    if (absolute && beside) {
        snprintf(absolute, bytes, "%s", place);
        snprintf(beside, bytes, is_replaced ? "%s.%ld" : "%s", place, (long)getpid());
    }
    tn_host_memory_free(path);
    tn_host_memory_free(path_beside);
    path = absolute;
    path_beside = beside;
    return path && path_beside ? TARN_STATUS_OK : fail_for_memory();
}

/* Requires: the lock. */
static tarn_status settle_path(const char *pattern)
{
    char *absolute, *expanded = tn_trace_path_expand(pattern);
    if (!expanded) return fail_for_memory();
    tarn_status status = tn_trace_path_absolute(expanded, &absolute);
    tn_host_memory_free(expanded);
    if (status != TARN_STATUS_OK) return status;
    tn_host_memory_free(path); /* a parent's */
    path = absolute;
    status = tn_trace_path_check(path);
    return status == TARN_STATUS_OK ? settle_place_beside() : status;
}

/* Requires: the lock. */
static void settle(const char *pattern, bool at_signal)
{
    struct tn_saved_error saved = tn_error_save();
    tarn_status status = settle_path(pattern);
    if (status == TARN_STATUS_OK && at_signal) status = check_signal();
    if (status == TARN_STATUS_OK) status = start_thread();
    if (status == TARN_STATUS_OK && at_signal) take_signal();
    if (status != TARN_STATUS_OK) tell_that_there_is_none(tarn_last_error().message);
    tn_error_restore(&saved);
    is_settled = true;
    atomic_store(&is_wanted_at_end, status == TARN_STATUS_OK && !at_signal);
}

void tn_map_file_request(const char *pattern, bool at_signal)
{
    if (getauxval(AT_SECURE) != 0) return;
    tn_once_call(&forks_once, watch_forks);
    int cancel_state = tn_thread_begin_uncancelled();
    tn_mutex_lock(&lock);
    if (!is_settled && watches_forks) settle(pattern, at_signal);
    tn_mutex_unlock(&lock);
    tn_thread_end_uncancelled(cancel_state);
}
