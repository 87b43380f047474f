/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_exit_table: TARN_STATS=exit in programs that end in every order. Each is this program, executed anew with the
 * name of what it does. The table must come after all that the program frees, and must wait for nobody.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "harness/child.h"
#include "harness/claims.h"
#include "one_pool.h"

#define HEAD "tarn: the pools of process "

/* --- programs ---------------------------------------------------------------------------------------- */

static void end(void)
{
    CHILD_EXPECT(tarn_pool_free(pool, address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_destroy(pool) == TARN_STATUS_OK);
    tarn_backend_close(&backend);
}

static bool is_to_end_last;

static void __attribute__((destructor)) end_last(void)
{
    if (is_to_end_last) end();
}

static void *use_until_the_end(void *unused)
{
    for (size_t i = 0;; i++) {
        void *used;
        tarn_pool *other;
        tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
        options.backend = &backend;
        options.initial_bytes = 4096;
        CHILD_EXPECT(tarn_pool_alloc(pool, 1 + i % 5000, &used) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_pool_free(pool, used) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_pool_create(&options, &other) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_pool_alloc(other, 1, &used) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_pool_destroy_forced(other, NULL) == TARN_STATUS_OK);
    }
    return unused;
}

static void *use_alone(void *unused)
{
    for (;;) {
        void *used;
        CHILD_EXPECT(tarn_pool_alloc(pool, 2000, &used) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_pool_free(pool, used) == TARN_STATUS_OK);
    }
    return unused;
}

static void start(void *(*function)(void *))
{
    pthread_t thread;
    CHILD_EXPECT(pthread_create(&thread, NULL, function, NULL) == 0);
    pthread_detach(thread);
    usleep(20000);
}

/* Programs do so, although exit is none of the functions that a handler may call. */
static void exit_in_signal(int unused)
{
    exit(0); /* NOLINT(bugprone-signal-handler,cert-sig30-c) */
}

/* The thread that ends the process may be anywhere in a call, also where it holds the pool's lock. */
static void end_in_a_call(void)
{
    const struct itimerval soon = { .it_value = { .tv_usec = 20000 + getpid() % 97 } };
    signal(SIGALRM, exit_in_signal);
    setitimer(ITIMER_REAL, &soon, NULL);
    use_alone(NULL);
}

static tarn_backend_result never_acquire(void *state, size_t size_bytes, void **address_out)
{
    for (;;)
        pause();
    return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, 0, NULL };
}

static tarn_backend_operations operations;

static void *wait_for_the_vendor(void *unused)
{
    void *used;
    (void)tarn_pool_alloc(pool, 1, &used);
    return unused;
}

/* The thread holds the lock under which the pool grows. */
static void leave_a_thread_at_the_vendor(void)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    CHILD_EXPECT(tarn_host_backend_open(NULL, &backend) == TARN_STATUS_OK);
    operations = *backend.operations;
    operations.acquire = never_acquire;
    backend.operations = &operations;
    options.backend = &backend;
    options.name = "mesh";
    CHILD_EXPECT(tarn_pool_create(&options, &pool) == TARN_STATUS_OK);
    start(wait_for_the_vendor);
}

/* As when a plugin with a backend is unloaded before the end. */
static void leave_a_pool_without_its_backend(void)
{
    struct page {
        tarn_backend_operations operations;
        char name[16];
        char memory[4096];
    };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    CHILD_EXPECT(tarn_host_backend_open(NULL, &backend) == TARN_STATUS_OK);
    struct page *page =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHILD_EXPECT(page != MAP_FAILED);
    page->operations = *backend.operations;
    strcpy(page->name, "plugin");
    page->operations.name = page->name;
    backend.operations = &page->operations;
    options.backend = &backend;
    options.name = "mesh";
    CHILD_EXPECT(tarn_pool_create(&options, &pool) == TARN_STATUS_OK);
    munmap(page, sizeof *page);
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

/* Returns what main would. */
static int run(const char *what)
{
    if (strcmp(what, "before") == 0) atexit(end);
    if (strcmp(what, "vendor") == 0) {
        leave_a_thread_at_the_vendor();
        return 0;
    }
    if (strcmp(what, "unloaded") == 0) {
        leave_a_pool_without_its_backend();
        return 0;
    }
    if (strcmp(what, "none") == 0) return 0;
    begin("mesh");
    if (strcmp(what, "after") == 0) atexit(end);
    is_to_end_last = strcmp(what, "destructor") == 0;
    if (strcmp(what, "main") == 0) end();
    if (strcmp(what, "thread") == 0) start(use_until_the_end);
    if (strcmp(what, "signal") == 0) end_in_a_call();
    if (strcmp(what, "quick_exit") == 0) quick_exit(0);
    if (strcmp(what, "_exit") == 0) _exit(0);
    if (strcmp(what, "fork") == 0) fork_a_child(false);
    for (int i = 0; i < 2 && strcmp(what, "fork_pool") == 0; i++)
        fork_a_child(true);
    if (strcmp(what, "chdir") == 0) return chdir("/");
    return 0;
}

/* --- their output ------------------------------------------------------------------------------------- */

static char output[16 << 10];

static void read_output(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("%s is not there", path);
    output[fread(output, 1, sizeof output - 1, file)] = '\0';
    fclose(file);
}

/* Runs a program with the variable. Its standard error becomes the output. */
static void run_program(const char *program, const char *what, const char *value)
{
    enum {
        NO_DEVICE = 77
    };
    int ended;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int file = open("output", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        begin_child();
        if (file < 0 || dup2(file, STDERR_FILENO) < 0) _exit(1);
        setenv("TARN_STATS", value, 1);
        setenv("SLURM_PROCID", "7", 1);
        execl(program, "test", what, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    read_output("output");
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == NO_DEVICE) skip();
    if (ended != 0) fail_msg("%s ended with 0x%x: %s", what, (unsigned)ended, output);
}

static void run_with(const char *what, const char *value)
{
    run_program("/proc/self/exe", what, value);
}

static size_t count(const char *part)
{
    size_t found = 0;
    for (const char *at = output; (at = strstr(at, part)) != NULL; at++)
        found++;
    return found;
}

static void expect_count(size_t expected, const char *part)
{
    if (count(part) != expected)
        fail_msg("\"%s\" is %zu times, not %zu, in\n%s", part, count(part), expected, output);
}

/* --- tests ---------------------------------------------------------------------------------------------- */

static void a_pool_that_is_left_is_in_the_table(void **state)
{
    run_with("leave", "exit");
    expect_count(1, HEAD);
    expect_count(1, "\n  mesh  host ");
    expect_count(1, " 1000 bytes        1 MiB");
    expect_count(1, " 1000 bytes\n"); /* still live */
}

/* With functions of the program that were registered before tarn's first use, after it, and for the very end. */
static void the_table_comes_after_all_that_the_program_frees(void **state)
{
    static const char *const orders[] = { "main", "before", "after", "destructor" };
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        run_with(orders[i], "exit");
        expect_count(1, HEAD);
        expect_count(1, "\n  mesh (ended)  host ");
        expect_count(1, " 0 bytes\n");
    }
}

static void static_objects_have_been_destroyed(void **state)
{
    run_program(STATIC_OBJECTS_PROGRAM, "unused", "exit");
    expect_count(1, HEAD);
    expect_count(3, " (ended)  ");
    expect_count(1, "\n  process-wide pool  ");
    expect_count(4, " 0 bytes\n");
}

static void a_library_that_was_closed_writes_it_too(void **state)
{
    run_program(DLCLOSE_PROGRAM, "leave", "exit");
    expect_count(1, HEAD);
    expect_count(1, "\n  pool 1  host ");
}

static void a_thread_that_still_runs_is_not_waited_for(void **state)
{
    for (int i = 0; i < 10; i++) {
        run_with("thread", "exit");
        expect_count(1, HEAD);
    }
    run_with("vendor", "exit");
    expect_count(1, "\n  mesh  host ");
}

static void the_thread_that_ends_the_process_may_hold_a_lock(void **state)
{
    for (int i = 0; i < 20; i++) {
        run_with("signal", "exit");
        expect_count(1, "\n  mesh  host ");
    }
}

static void the_backend_may_have_gone(void **state)
{
    run_with("unloaded", "exit");
    expect_count(1, "\n  mesh  plugin ");
}

static void a_forked_child_has_a_table_only_of_its_own_pools(void **state)
{
    run_with("fork", "exit");
    expect_count(1, HEAD);
    run_with("fork_pool", "exit");
    expect_count(3, HEAD);
    expect_count(1, "\n  mesh ");
    expect_count(2, "\n  child ");
}

static void programs_without_a_table(void **state)
{
    static const char *const ends[] = { "none", "quick_exit", "_exit" };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        run_with(ends[i], "exit");
        assert_string_equal(output, "");
    }
    run_with("leave", "");
    assert_string_equal(output, "");
}

/* --- files ---------------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void a_file_has_the_table_and_nothing_else(void **state)
{
    write_file("table", "older\n");
    run_with("leave", "exit:table");
    assert_string_equal(output, "");
    read_output("table");
    assert_ptr_equal(strstr(output, HEAD), output);
    expect_count(1, "\n  mesh  host ");
}

static void a_file_is_found_after_the_program_has_changed_its_folder(void **state)
{
    run_with("chdir", "exit:moved");
    read_output("moved");
    expect_count(1, HEAD);
}

static void the_file_of_a_parent_has_its_childrens_tables(void **state)
{
    run_with("fork_pool", "exit:all");
    assert_string_equal(output, "");
    read_output("all");
    expect_count(3, HEAD);
    expect_count(1, "\n  mesh ");
    expect_count(2, "\n  child ");
}

static void a_file_may_be_named_after_the_process_and_its_rank(void **state)
{
    char name[256] = "";
    run_with("fork_pool", "exit:of-%r-%p-%%");
    DIR *folder = opendir(".");
    size_t file_count = 0;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (strncmp(entry->d_name, "of-7-", 5) != 0) continue;
        snprintf(name, sizeof name, "%s", entry->d_name);
        assert_int_equal(name[strlen(name) - 1], '%');
        read_output(name);
        expect_count(1, HEAD);
        file_count++;
    }
    closedir(folder);
    assert_int_equal(file_count, 3);
}

static void a_file_that_cannot_be_written_is_told_once(void **state)
{
    run_with("fork_pool", "exit:/dev/null/table");
    expect_count(3, "tarn: TARN_STATS: no table of the pools of process "); /* by each process */
    expect_count(3, "/dev/null/table cannot be written: Not a directory\n");
    run_with("thread", "exit:.");
    expect_count(1, "cannot be written: Is a directory\n");
    run_with("leave", "exit:/dev/full");
    expect_count(1, "tarn: TARN_STATS: no table of the pools of process ");
}

/* --- a folder for them ---------------------------------------------------------------------------------- */

static char scratch[256];

static int enter_scratch(void **state)
{
    const char *parent = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/tarn-exit-test-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(scratch) && chdir(scratch) == 0 ? 0 : -1;
}

static int leave_scratch(void **state)
{
    DIR *folder = opendir(scratch);
    if (!folder) return -1;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        (void)unlink(entry->d_name);
    closedir(folder);
    return chdir("/") == 0 && rmdir(scratch) == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    if (argc == 2) return run(argv[1]);
    unsetenv("TARN_LOG");
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_that_is_left_is_in_the_table),
        cmocka_unit_test(the_table_comes_after_all_that_the_program_frees),
        cmocka_unit_test(static_objects_have_been_destroyed),
        cmocka_unit_test(a_library_that_was_closed_writes_it_too),
        cmocka_unit_test(a_thread_that_still_runs_is_not_waited_for),
        cmocka_unit_test(the_thread_that_ends_the_process_may_hold_a_lock),
        cmocka_unit_test(the_backend_may_have_gone),
        cmocka_unit_test(a_forked_child_has_a_table_only_of_its_own_pools),
        cmocka_unit_test(programs_without_a_table),
        cmocka_unit_test(a_file_has_the_table_and_nothing_else),
        cmocka_unit_test(a_file_is_found_after_the_program_has_changed_its_folder),
        cmocka_unit_test(the_file_of_a_parent_has_its_childrens_tables),
        cmocka_unit_test(a_file_may_be_named_after_the_process_and_its_rank),
        cmocka_unit_test(a_file_that_cannot_be_written_is_told_once),
    };
    return cmocka_run_group_tests_name("exit_table", tests, enter_scratch, leave_scratch);
}
