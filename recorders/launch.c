/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* launch: a child process, whose signals are those that this one was started with. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text/edits.h"

/* --- messages and memory ------------------------------------------------------------------------------ */

static void tell(const char *format, va_list values)
{
    fprintf(stderr, "%s: ", tn_launch_name);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
}

void tn_launch_tell(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    tell(format, values);
    va_end(values);
}

void tn_launch_fail(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    tell(format, values);
    va_end(values);
    exit(TN_LAUNCH_EXIT_OURS);
}

void tn_launch_fail_for_usage(const char *text)
{
    tn_launch_tell("%s", text);
    fprintf(stderr, "\n%s", tn_launch_usage);
    exit(TN_LAUNCH_EXIT_OURS);
}

void tn_launch_fail_for_option(const char *text, const struct option *options)
{
    for (const struct option *option = options; option->name; option++) {
        if (strncmp(text, "--", 2) == 0 && tn_edits_are_few(text + 2, option->name))
            tn_launch_tell("did you mean --%s?", option->name);
    }
    fprintf(stderr, "\n%s", tn_launch_usage);
    exit(TN_LAUNCH_EXIT_OURS);
}

void *tn_launch_require(void *pointer)
{
    if (!pointer) tn_launch_fail("there is not enough memory");
    return pointer;
}

char *tn_launch_text(const char *format, ...)
{
    char *text = NULL;
    va_list values;
    va_start(values, format);
    int length = vasprintf(&text, format, values);
    va_end(values);
    return tn_launch_require(length < 0 ? NULL : text);
}

/* --- environment -------------------------------------------------------------------------------------- */

char *tn_launch_library(const char *name)
{
    static const char *const folders[] = { TN_LIBRARY_FOLDER, "../lib" };
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash) *slash = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *path = tn_launch_text("%s/%s/%s", program, folders[i], name);
        if (access(path, R_OK) == 0) return path;
        free(path);
    }
    tn_launch_fail("cannot find %s where it was installed, in %s/%s", name, program, folders[0]);
}

void tn_launch_set(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0) tn_launch_require(NULL);
}

void tn_launch_preload(const char *library)
{
    const char *others = getenv("LD_PRELOAD");
    /* The loader ends a name at either. */
    if (strpbrk(library, " :"))
        tn_launch_fail("%s cannot be preloaded: its path has a space or colon", library);
    if (!others || others[0] == '\0') {
        tn_launch_set("LD_PRELOAD", library);
        return;
    }
    char *both = tn_launch_text("%s:%s", library, others);
    tn_launch_set("LD_PRELOAD", both);
    free(both);
}

/* --- running ------------------------------------------------------------------------------------------ */

/* The last one is not passed on. If it is ignored, the system keeps no exit status for waitpid. */
static const int watched[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD };
enum {
    WATCHED_COUNT = sizeof watched / sizeof watched[0],
    PASSED_COUNT = WATCHED_COUNT - 1
};

static struct sigaction actions_at_start[WATCHED_COUNT];
static volatile sig_atomic_t running;     /* the program's process; 0: none */
static volatile sig_atomic_t interrupted; /* by this signal; 0: by none */

/* A positive code is the kernel's: it comes from the terminal, which has told the program, too. */
static void pass_on(int signal_number, siginfo_t *info, void *context)
{
    int error = errno;
    (void)context;
    if (signal_number != SIGUSR1 && signal_number != SIGUSR2) interrupted = signal_number;
    if (running > 0 && info->si_code <= 0) kill((pid_t)running, signal_number);
    errno = error;
}

void tn_launch_watch_signals(void)
{
    for (int i = 0; i < WATCHED_COUNT; i++) {
        /* Not SA_RESTART: the thread sanitizer runs handlers when a call has returned. */
        struct sigaction action = { .sa_handler = SIG_DFL };
        sigemptyset(&action.sa_mask);
        if (i < PASSED_COUNT) {
            action.sa_flags = SA_SIGINFO;
            action.sa_sigaction = pass_on;
        }
        sigaction(watched[i], &action, &actions_at_start[i]);
    }
}

/* A signal that comes now stays pending until the process of the program is known. */
static void block_signals(sigset_t *before_out)
{
    sigset_t signals;
    sigemptyset(&signals);
    for (int i = 0; i < PASSED_COUNT; i++)
        sigaddset(&signals, watched[i]);
    sigprocmask(SIG_BLOCK, &signals, before_out);
}

/* A signal that comes before the last call waits for it, and then has its old action. */
static void restore_signals(const sigset_t *before)
{
    for (int i = 0; i < WATCHED_COUNT; i++)
        sigaction(watched[i], &actions_at_start[i], NULL);
    sigprocmask(SIG_SETMASK, before, NULL);
}

static void silence(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

/* In the child. */
static _Noreturn void become(char **command, bool is_quiet)
{
    int errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (is_quiet) silence();
    execvp(command[0], command);
    int error = errno;
    dprintf(errors, "%s: %s: %s\n", tn_launch_name, command[0], strerror(error));
    _exit(error == ENOENT ? TN_LAUNCH_EXIT_NOT_FOUND : TN_LAUNCH_EXIT_CANNOT_RUN);
}

/* Returns the program's status, as shells do. */
static int wait_for(pid_t child)
{
    int ended;
    while (waitpid(child, &ended, 0) < 0) {
        if (errno != EINTR) return TN_LAUNCH_EXIT_OURS;
    }
    running = 0;
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
}

int tn_launch_run(char **command, bool is_quiet)
{
    sigset_t before;
    block_signals(&before);
    if (interrupted) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        return 128 + interrupted;
    }
    pid_t child = fork();
    if (child == 0) {
        restore_signals(&before);
        become(command, is_quiet);
    }
    int error = errno;
    running = child > 0 ? child : 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child < 0) tn_launch_fail("cannot create a process: %s", strerror(error));
    return wait_for(child);
}
