/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * reporting_program: a program for tarn-run.
 *
 *     exit STATUS            ends with it
 *     exit-served STATUS     ends with it, but with 0 if TARN_RUN_PASS is set
 *     kill SIGNAL            kills itself
 *     child STATUS           has a child that executes this program anew, then ends with the status
 *     print NAME...          prints variables of the environment
 *     signals                prints which signals it ignores and blocks
 *     read                   prints how many bytes its input has
 *     wait FILE [STATUS]     makes the file, waits for signals, and prints them; ends with the status, or 40 and the
 *                            number of signals
 *     order FILE             appends to the file whether memory is tarn's
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t last_signal, signal_count;

static int number_of(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

static void count_signal(int signal_number)
{
    last_signal = signal_number;
    signal_count++;
}

static void sleep_ms(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
    while (nanosleep(&time, &time) != 0) {
    }
}

static int wait_for_signals(const char *path, const char *status)
{
    static const int signals[] = { SIGHUP, SIGINT, SIGTERM, SIGUSR1 };
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], count_signal);
    FILE *file = fopen(path, "w");
    if (!file) return 1;
    fclose(file);
    while (signal_count == 0)
        sleep_ms(10);
    sleep_ms(300); /* a second one would come by now */
    printf("signal %d\n", (int)last_signal);
    return status ? number_of(status) : 40 + (int)signal_count;
}

static int run_child(const char *status)
{
    int ended;
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "reporting_program", "exit", "0", (char *)NULL);
        _exit(1);
    }
    return waitpid(child, &ended, 0) == child && ended == 0 ? number_of(status) : 1;
}

static int print_variables(char **names)
{
    for (; *names; names++)
        printf("%s=%s\n", *names, getenv(*names) ? getenv(*names) : "(none)");
    return 0;
}

static int print_signals(void)
{
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0) fputs(line, stdout);
    }
    return file ? fclose(file) : 1;
}

static int count_input(void)
{
    int count = 0;
    while (getchar() != EOF)
        count++;
    printf("read %d bytes\n", count);
    return 0;
}

static int append_order(const char *path)
{
    FILE *file = fopen(path, "a");
    if (!file) return 1;
    fputc(getenv("TARN_RUN_PASS") ? 'p' : 't', file);
    return fclose(file);
}

int main(int argc, char **argv)
{
    const char *act = argc > 1 ? argv[1] : "";
    if (strcmp(act, "signals") == 0) return print_signals();
    if (strcmp(act, "read") == 0) return count_input();
    if (argc < 3) return 2;
    if (strcmp(act, "exit") == 0) return number_of(argv[2]);
    if (strcmp(act, "exit-served") == 0) return getenv("TARN_RUN_PASS") ? 0 : number_of(argv[2]);
    if (strcmp(act, "kill") == 0) return kill(getpid(), number_of(argv[2]));
    if (strcmp(act, "child") == 0) return run_child(argv[2]);
    if (strcmp(act, "print") == 0) return print_variables(argv + 2);
    if (strcmp(act, "wait") == 0) return wait_for_signals(argv[2], argv[3]);
    if (strcmp(act, "order") == 0) return append_order(argv[2]);
    return 2;
}
