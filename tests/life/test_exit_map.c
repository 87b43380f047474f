/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_exit_map: TARN_MAP in programs that end in several ways, and at signals. Each is this program, executed anew with
 * the name of what it does. The file is whole or not there, and a process never waits for it for long.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <jansson.h>

#include "harness/child.h"
#include "harness/claims.h"
#include "one_pool.h"

/* --- programs ---------------------------------------------------------------------------------------- */

static void end(void)
{
    CHILD_EXPECT(tarn_pool_destroy_forced(pool, NULL) == TARN_STATUS_OK);
    tarn_backend_close(&backend);
}

static void *use(void *unused)
{
    for (size_t i = 0;; i++) {
        void *used;
        CHILD_EXPECT(tarn_pool_alloc(pool, 1 + i % 5000, &used) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_pool_free(pool, used) == TARN_STATUS_OK);
    }
    return unused;
}

static void start_to_use(void)
{
    pthread_t thread;
    CHILD_EXPECT(pthread_create(&thread, NULL, use, NULL) == 0);
    pthread_detach(thread);
}

/* Programs do so, although exit is none of the functions that a handler may call. */
static void exit_in_signal(int unused)
{
    exit(0); /* NOLINT(bugprone-signal-handler,cert-sig30-c) */
}

static void end_in_a_call(void)
{
    const struct itimerval soon = { .it_value = { .tv_usec = 20000 + getpid() % 97 } };
    signal(SIGALRM, exit_in_signal);
    setitimer(ITIMER_REAL, &soon, NULL);
    use(NULL);
}

static void fork_a_child(bool has_pool)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        begin_child();
        if (has_pool) begin("child");
        exit(0);
    }
    int ended;
    CHILD_EXPECT(waitpid(child, &ended, 0) == child && ended == 0);
}

static void wait_for_file(const char *path)
{
    for (int i = 0; i < 10000 && access(path, R_OK) != 0; i++)
        usleep(1000);
    CHILD_EXPECT(access(path, R_OK) == 0);
}

/* Each signal leaves a new file. */
static void map_twice(void)
{
    for (int i = 0; i < 2; i++) {
        CHILD_EXPECT(access("map.json", F_OK) != 0);
        kill(getpid(), SIGUSR2);
        wait_for_file("map.json");
        CHILD_EXPECT(rename("map.json", i ? "second.json" : "first.json") == 0);
        CHILD_EXPECT(tarn_pool_alloc(pool, 2000, &address) == TARN_STATUS_OK);
    }
}

static volatile sig_atomic_t mine;

static void note_mine(int unused)
{
    mine = 1;
}

static int run(const char *what)
{
    if (strcmp(what, "none") == 0) return 0;
    if (strcmp(what, "handler") == 0) signal(SIGUSR2, note_mine);
    begin("mesh");
    if (strcmp(what, "main") == 0) end();
    if (strcmp(what, "thread") == 0) start_to_use();
    if (strcmp(what, "call") == 0) end_in_a_call();
    if (strcmp(what, "fork") == 0) fork_a_child(false);
    if (strcmp(what, "fork_pool") == 0) fork_a_child(true);
    if (strcmp(what, "chdir") == 0) return chdir("/");
    if (strcmp(what, "busy signals") == 0) start_to_use();
    if (strstr(what, "signals")) map_twice();
    if (strcmp(what, "handler") == 0) {
        raise(SIGUSR2);
        CHILD_EXPECT(mine == 1);
    }
    return 0;
}

/* --- their output ------------------------------------------------------------------------------------- */

static char errors[4096];

static void run_with(const char *what, const char *value)
{
    int ended;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int file = open("errors", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        begin_child();
        if (file < 0 || dup2(file, STDERR_FILENO) < 0) _exit(1);
        setenv("TARN_MAP", value, 1);
        execl("/proc/self/exe", "test", what, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    FILE *file = fopen("errors", "r");
    assert_non_null(file);
    errors[fread(errors, 1, sizeof errors - 1, file)] = '\0';
    fclose(file);
    if (ended != 0) fail_msg("%s ended with 0x%x: %s", what, (unsigned)ended, errors);
}

/* Returns how many live regions the pools of a file have, and removes it. */
static size_t count_live(const char *path, const char *name)
{
    json_error_t error;
    size_t i, k, m, live = 0;
    json_t *one, *static_pool, *region,
        *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!root) fail_msg("%s:%d: %s\n%s", path, error.line, error.text, errors);
    assert_true(json_is_array(root));
    json_array_foreach(root, i, one)
    {
        assert_string_equal(json_string_value(json_object_get(one, "name")), name);
        json_array_foreach(json_object_get(one, "static_pools"), k, static_pool)
        {
            json_array_foreach(json_object_get(static_pool, "regions"), m, region)
            {
                const char *state = json_string_value(json_object_get(region, "state"));
                live += strcmp(state, "live") == 0;
            }
        }
    }
    json_decref(root);
    assert_int_equal(unlink(path), 0);
    return live;
}

static void expect_nothing_but(size_t file_count)
{
    DIR *folder = opendir(".");
    size_t found = 0;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        found += entry->d_name[0] != '.' && strcmp(entry->d_name, "errors") != 0;
    closedir(folder);
    assert_int_equal(found, file_count);
}

/* --- tests ---------------------------------------------------------------------------------------------- */

static void the_end_leaves_a_map_of_open_pools(void **state)
{
    static const char *const values[] = { "map.json", "exit:map.json" };
    for (size_t i = 0; i < 2; i++) {
        run_with("leave", values[i]);
        assert_int_equal(count_live("map.json", "mesh"), 1);
        assert_string_equal(errors, "");
        expect_nothing_but(0);
    }
    run_with("chdir", "map.json");
    assert_int_equal(count_live("map.json", "mesh"), 1);
}

static void pools_that_have_ended_are_not_in_it(void **state)
{
    run_with("main", "map.json");
    assert_int_equal(count_live("map.json", ""), 0);
    run_with("none", "map.json");
    expect_nothing_but(0);
}

static void threads_may_go_on(void **state)
{
    for (int i = 0; i < 5; i++) {
        run_with("thread", "map.json");
        assert_in_range(count_live("map.json", "mesh"), 1, 2);
    }
}

/* The map is there, or a line says that a lock is held; the process ends either way. */
static void the_thread_that_ends_the_process_may_hold_a_lock(void **state)
{
    for (int i = 0; i < 5; i++) {
        run_with("call", "map.json");
        if (errors[0] == '\0')
            assert_in_range(count_live("map.json", "mesh"), 1, 2);
        else
            assert_non_null(strstr(errors, "could not be had within a second"));
    }
}

/* The thread sanitizer allows no new thread in a child of a process with threads. */
#if defined(__SANITIZE_THREAD__)
#define CHILDREN_HAVE_THREADS 0
#else
#define CHILDREN_HAVE_THREADS 1
#endif

static void a_child_writes_one_of_its_own_pools(void **state)
{
    run_with("fork", "map-%p.json");
    expect_nothing_but(1);
    if (!CHILDREN_HAVE_THREADS) skip();
    run_with("fork_pool", "map-%p.json");
    expect_nothing_but(3);
}

static void each_signal_leaves_a_map(void **state)
{
    run_with("signals", "signal:map.json");
    assert_string_equal(errors, "");
    assert_int_equal(count_live("first.json", "mesh"), 1);
    assert_int_equal(count_live("second.json", "mesh"), 2);
    expect_nothing_but(0); /* not at the end */
    run_with("busy signals", "signal:map.json");
    assert_in_range(count_live("first.json", "mesh"), 1, 2);
    assert_in_range(count_live("second.json", "mesh"), 2, 3);
}

static void the_programs_handler_stays(void **state)
{
    run_with("handler", "signal:map.json");
    assert_non_null(strstr(errors, "TARN_MAP: no map of the pools of process "));
    assert_non_null(strstr(errors, "the program has a handler of SIGUSR2\n"));
    expect_nothing_but(0);
}

static void a_file_that_cannot_be_written_is_told_once(void **state)
{
    run_with("leave", "/nowhere/at/all.json");
    assert_non_null(strstr(errors, "/nowhere/at/all.json cannot be written: No such file"));
    assert_ptr_equal(strchr(errors, '\n'), errors + strlen(errors) - 1);
}

/* The program that runs this may be root. */
static void a_link_stays_and_a_device_too(void **state)
{
    struct stat status;
    assert_int_equal(symlink("there.json", "link.json"), 0);
    FILE *file = fopen("there.json", "w");
    assert_int_equal(fputs("old", file) < 0 || fclose(file) != 0, 0);
    run_with("leave", "link.json");
    assert_true(lstat("link.json", &status) == 0 && S_ISLNK(status.st_mode));
    assert_int_equal(count_live("there.json", "mesh"), 1);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    run_with("leave", "pipe");
    assert_int_equal(read(reader, errors, 1), 1);
    assert_int_equal(errors[0], '[');
    close(reader);
    assert_true(stat("pipe", &status) == 0 && S_ISFIFO(status.st_mode));
    expect_nothing_but(2);
}

static void a_wrong_value_is_refused(void **state)
{
    static const char *const values[] = { "signal:", "exit:" };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    tarn_backend host = new_host_backend(NULL);
    options.backend = &host;
    for (size_t i = 0; i < 2; i++) {
        tarn_pool *none;
        setenv("TARN_MAP", values[i], 1);
        expect_status(TARN_STATUS_INVALID_ENVIRONMENT, tarn_pool_create(&options, &none));
        expect_message("TARN_MAP is \"");
    }
    unsetenv("TARN_MAP");
    tarn_backend_close(&host);
}

/* --- a folder that goes away ---------------------------------------------------------------------------- */

static char scratch[256];

static int enter_scratch(void **state)
{
    const char *parent = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/tarn-map-test-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(scratch) && chdir(scratch) == 0 ? 0 : -1;
}

static int empty_scratch(void **state)
{
    DIR *folder = opendir(".");
    if (!folder) return -1;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        (void)unlink(entry->d_name);
    closedir(folder);
    return 0;
}

static int leave_scratch(void **state)
{
    return empty_scratch(state) == 0 && chdir("/") == 0 && rmdir(scratch) == 0 ? 0 : -1;
}

#define CASE(test) cmocka_unit_test_setup(test, empty_scratch)

int main(int argc, char **argv)
{
    if (argc == 2) return run(argv[1]);
    unsetenv("TARN_LOG");
    static const struct CMUnitTest tests[] = {
        CASE(the_end_leaves_a_map_of_open_pools),
        CASE(pools_that_have_ended_are_not_in_it),
        CASE(threads_may_go_on),
        CASE(the_thread_that_ends_the_process_may_hold_a_lock),
        CASE(a_child_writes_one_of_its_own_pools),
        CASE(each_signal_leaves_a_map),
        CASE(the_programs_handler_stays),
        CASE(a_file_that_cannot_be_written_is_told_once),
        CASE(a_link_stays_and_a_device_too),
        CASE(a_wrong_value_is_refused),
    };
    return cmocka_run_group_tests_name("exit_map", tests, enter_scratch, leave_scratch);
}
