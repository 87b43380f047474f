/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report: the map and the thread that writes it, the end of the process, and the requests with their paths. */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
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

#include "exit_summary.h"

struct report {
    const char *variable, *content;
    bool is_settled;     /* requested, or refused; under the lock */
    char path[PATH_MAX]; /* absolute; "": standard error; in a child at first the parent's. Constant
                          * once there will be a report */
};

static struct report table = { "TARN_STATS", "table", false, "" };
static struct report map = { "TARN_MAP", "map", false, "" };

static void tell_that_there_is_none(const struct report *report, const char *reason)
{
    fprintf(stderr, "tarn: %s: no %s of the pools of process %ld: %s\n", report->variable,
            report->content, (long)getpid(), reason);
}

static tarn_status fail_for_file(const char *path, int error)
{
    return tn_fail(TARN_STATUS_FILE_ERROR, "%s cannot be written: %s", path, strerror(error));
}

/* --- writing the map --------------------------------------------------------------------------------- */

/* Constant once the writing thread is made. */
static char
    path_beside[PATH_MAX + 24]; /* where it is written first; a device's or pipe's own path */
static bool is_replaced;        /* by what was written beside */

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

static tarn_status write_to(FILE *file)
{
    if (!file) return fail_for_file(map.path, errno);
    tarn_status status = write_pools(file);
    bool is_lost = ferror(file) != 0;
    bool is_closed = fclose(file) == 0;
    if (status == TARN_STATUS_OK && (is_lost || !is_closed)) return fail_for_file(map.path, errno);
    return status;
}

static FILE *_Atomic open_file; /* written now; NULL: none */

static void write_map(FILE *file)
{
    open_file = file;
    tarn_status status = write_to(file);
    open_file = NULL;
    if (status == TARN_STATUS_OK && is_replaced && rename(path_beside, map.path) != 0)
        status = fail_for_file(map.path, errno);
    if (status == TARN_STATUS_OK) return;
    if (is_replaced) unlink(path_beside);
    tell_that_there_is_none(&map, tarn_last_error().message);
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

/* --- the end of the process -------------------------------------------------------------------------- */

atomic_bool tn_report_has_table;
static atomic_bool has_map_at_end;

/* A file that is not there any more is made anew. Where standard error takes nothing, nothing more can be said. */
static void write_table_at_end(void)
{
    int file = STDERR_FILENO;
    if (table.path[0] != '\0')
        file = open(table.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int error = file < 0 ? errno : tn_exit_summary_write(file);
    if (table.path[0] == '\0') return;
    if (file >= 0 && close(file) != 0 && error == 0) error = errno;
    if (error != 0) tell_that_there_is_none(&table, strerror(error));
}

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

static void write_map_at_end(void)
{
    atomic_store(&is_ending, true);
    sem_post(&wishes);
    if (!wait_until(&has_locks, true)) {
        tell_that_there_is_none(&map, "a lock or the file could not be had within a second");
        return;
    }
    while (!atomic_load(&is_done))
        tn_thread_sleep_shortly();
}

/* Allocates nothing: a signal's handler may have ended the process in the middle of malloc. */
TN_LAST_DESTRUCTOR static void write_at_end(void)
{
    if (tn_report_is_table_requested()) write_table_at_end();
    if (atomic_load(&has_map_at_end))
        write_map_at_end();
    else
        (void)wait_until(&is_writing, false); /* for a signal: else half a file stays beside */
}

/* --- requests ---------------------------------------------------------------------------------------- */

static struct tn_mutex lock = TN_MUTEX_INIT; /* of what is settled */

static struct tn_once forks_once = TN_ONCE_INIT;
static bool watches_forks;

static void after_fork_in_child(void)
{
    tn_mutex_init(&lock);
    table.is_settled = map.is_settled = false;
    atomic_store(&tn_report_has_table, false);
    atomic_store(&has_map_at_end, false);
    tn_exit_summary_forget();
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

/* Writes an absolute path of PATH_MAX bytes at most. */
static tarn_status expand(const char *pattern, char *path_out)
{
    char *absolute, *expanded = tn_trace_path_expand(pattern);
    if (!expanded) return fail_for_memory();
    tarn_status status = tn_trace_path_absolute(expanded, &absolute);
    tn_host_memory_free(expanded);
    if (status != TARN_STATUS_OK) return status;
    size_t bytes = strlen(absolute) + 1;
    if (bytes <= PATH_MAX)
        memcpy(path_out, absolute, bytes);
    else
        status = fail_for_file(absolute, ENAMETOOLONG);
    tn_host_memory_free(absolute);
    return status;
}

/* A file is empty from the first pool on, so that nobody takes an older table for this one. The file of a parent has
 * the tables of its children too. */
static tarn_status begin_table(const char *pattern)
{
    char path[PATH_MAX] = "";
    tarn_status status = pattern ? expand(pattern, path) : TARN_STATUS_OK;
    if (status != TARN_STATUS_OK) return status;
    if (pattern) {
        int keeps = strcmp(path, table.path) == 0 ? 0 : O_TRUNC;
        int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | keeps, 0666);
        if (file < 0) return fail_for_file(path, errno);
        close(file);
    }
    memcpy(table.path, path, sizeof path);
    return TARN_STATUS_OK;
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
 * place, because nothing can be renamed to it. */
static void find_place_beside(void)
{
    struct stat status;
    char followed[PATH_MAX];
    is_replaced = stat(map.path, &status) != 0 || (S_ISREG(status.st_mode) && !is_output(&status));
    if (is_replaced && realpath(map.path, followed)) memcpy(map.path, followed, sizeof followed);
    snprintf(path_beside, sizeof path_beside, is_replaced ? "%s.%ld" : "%s", map.path,
             (long)getpid());
}

static tarn_status begin_map(const char *pattern)
{
    tarn_status status = expand(pattern, map.path);
    if (status == TARN_STATUS_OK) status = tn_trace_path_check(map.path);
    if (status != TARN_STATUS_OK) return status;
    find_place_beside();
    return start_thread();
}

static tarn_status begin_map_at_signal(const char *pattern)
{
    tarn_status status = check_signal();
    if (status == TARN_STATUS_OK) status = begin_map(pattern);
    if (status == TARN_STATUS_OK) take_signal();
    return status;
}

/* Begins a report unless it is settled. Returns whether it has begun. */
static bool begin(struct report *report, const char *pattern,
                  tarn_status (*function)(const char *pattern))
{
    if (report->is_settled) return false;
    struct tn_saved_error saved = tn_error_save();
    tarn_status status = watches_forks ? function(pattern) : fail_for_memory();
    if (status != TARN_STATUS_OK) tell_that_there_is_none(report, tarn_last_error().message);
    tn_error_restore(&saved);
    report->is_settled = true;
    return status == TARN_STATUS_OK;
}

/* wanted_out: set if the report has begun, and is for the end; NULL: it is not. */
static void request(struct report *report, const char *pattern,
                    tarn_status (*function)(const char *pattern), atomic_bool *wanted_out)
{
    if (getauxval(AT_SECURE) != 0) return;
    tn_once_call(&forks_once, watch_forks);
    int cancel_state = tn_thread_begin_uncancelled();
    tn_mutex_lock(&lock);
    if (begin(report, pattern, function) && wanted_out) atomic_store(wanted_out, true);
    tn_mutex_unlock(&lock);
    tn_thread_end_uncancelled(cancel_state);
}

void tn_report_request_table(const char *pattern)
{
    request(&table, pattern, begin_table, &tn_report_has_table);
}

void tn_report_request_map(const char *pattern, bool at_signal)
{
    request(&map, pattern, at_signal ? begin_map_at_signal : begin_map,
            at_signal ? NULL : &has_map_at_end);
}
