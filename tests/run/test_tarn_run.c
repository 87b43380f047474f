/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_tarn_run: programs that know nothing of tarn, run by tarn-run with a library that only writes reports.
 *
 * Arguments: the folder of the program and library of this test, and tarn-run. In the commands $r is a copy of tarn-run
 * that finds that library beside itself, and $p the program.
 */
#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* cmocka wants these four first. */
#include "harness/claims.h"
#include "harness/scratch_folder.h"
#include "harness/shell.h"

static const char *programs, *tarn_run;

/* All that tarn-run leaves behind is in tmp. */
static int enter(void **state)
{
    static char assignments[2048];
    if (enter_scratch_folder(state) != 0) return -1;
    snprintf(assignments, sizeof assignments,
             "r=$PWD/bin/tarn-run p='%s/reporting_program' TMPDIR=$PWD/tmp; export TMPDIR;",
             programs);
    begin_commands_with(assignments);
    char command[2048];
    snprintf(command, sizeof command,
             "mkdir bin lib tmp && cp '%s' bin/ && for i in cuda hip; do "
             "cp '%s/libreporting_'$i.so lib/libtarn_run_$i.so || exit; done",
             tarn_run, programs);
    expect_exit(0, command);
    return 0;
}

static void expect_nothing_left(void)
{
    expect_exit(1, "ls -A tmp | grep .");
}

/* --- the run ------------------------------------------------------------------------------------------ */

static void test_the_exit_status_is_the_programs(void **state)
{
    expect_exit(0, "$r $p exit 0");
    expect_exit(42, "$r -- $p exit 42");
    expect_exit(42, "$r $p exit 42 --no-option-of-tarn-run");
    expect_exit(128 + SIGKILL, "$r $p kill 9");
    expect_exit(128 + SIGABRT, "ulimit -c 0; $r $p kill 6");
    expect_exit(127, "$r no-such-program");
    expect_output("tarn-run: no-such-program: No such file or directory\n");
    expect_no_output("caught");
    expect_exit(126, "$r /");
    expect_exit(126, "echo >plain.txt; $r ./plain.txt");
    expect_output("Permission denied");
    expect_nothing_left();
}

/* A caller that ignores SIGCHLD has no children that can be waited for, and tarn-run begins like that, too. */
static void test_a_caller_that_waits_for_nothing(void **state)
{
    char program[2048];
    int ended;
    snprintf(program, sizeof program, "%s/reporting_program", programs);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGCHLD, SIG_IGN);
        execl("bin/tarn-run", "tarn-run", program, "exit", "9", (char *)NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 9);
}

static void test_the_program_has_the_signals_of_the_caller(void **state)
{
    expect_exit(0, "trap '' HUP USR1; $p signals >alone; $r $p signals 2>/dev/null >served; "
                   "cat alone; cmp alone served");
    expect_output("SigIgn:\t");
}

static void test_the_library_comes_before_others(void **state)
{
    expect_exit(0, "LD_PRELOAD=libm.so.6 $r $p print LD_PRELOAD");
    expect_output("/lib/libtarn_run_hip.so:libm.so.6\n");
    expect_exit(0, "$r $p print LD_PRELOAD TARN_RUN_PASS");
    expect_output("/lib/libtarn_run_cuda.so:");
    expect_output("/lib/libtarn_run_hip.so\n");
    expect_output("TARN_RUN_PASS=(none)");
}

static void test_options_are_variables(void **state)
{
    expect_exit(
        0, "$r --preset lean --limit 50% --stats --trace t-%p.gz --poison --log info -- $p print "
           "TARN_PRESET TARN_LIMIT TARN_STATS TARN_TRACE TARN_DEBUG TARN_LOG");
    expect_output("TARN_PRESET=lean\nTARN_LIMIT=50%\nTARN_STATS=exit\nTARN_TRACE=t-%p.gz\n"
                  "TARN_DEBUG=poison\nTARN_LOG=info\n");
    expect_exit(0, "TARN_DEBUG=zones TARN_LIMIT=2G $r --poison $p print TARN_DEBUG TARN_LIMIT");
    expect_output("TARN_DEBUG=zones,poison\nTARN_LIMIT=2G\n");
    expect_exit(0, "TARN_FREE=orders $r $p print TARN_FREE | grep -c orders | grep -x 0");
    expect_exit(0, "$r --up-to 64M $p print TARN_RUN_UP_TO");
    expect_output("64M");
    expect_exit(0, "$r --sync-frees $p print TARN_RUN_SYNC_FREES");
    expect_output("TARN_RUN_SYNC_FREES=1\n");
    expect_exit(125, "$r --up-to 64MB true");
    expect_output("--up-to is \"64MB\", not a number of bytes such as 64M");
    expect_exit(0, "$r --limit=8GiB $p print TARN_LIMIT");
    expect_output("TARN_LIMIT=8GiB\n");
}

/* --- signals ------------------------------------------------------------------------------------------ */

static void expect_signal_passed_on(const char *name, int number)
{
    char command[512], expected[64];
    snprintf(command, sizeof command,
             "rm -f ready; $r $p wait ready & t=$!; while ! [ -e ready ]; do sleep 0.02; done; "
             "kill -%s $t; wait $t",
             name);
    expect_exit(41, command);
    snprintf(expected, sizeof expected, "signal %d\n", number);
    expect_output(expected);
    expect_nothing_left();
}

static void test_signals_are_passed_on(void **state)
{
    expect_signal_passed_on("TERM", SIGTERM);
    expect_signal_passed_on("INT", SIGINT);
    expect_signal_passed_on("HUP", SIGHUP);
    expect_signal_passed_on("USR1", SIGUSR1);
}

/* The whole group has the terminal's signal: tarn-run does not send it again. */
static void test_ctrl_c_comes_once(void **state)
{
    char name[64], program[2048];
    int terminal = posix_openpt(O_RDWR | O_NOCTTY), ended;
    if (terminal < 0) skip();
    assert_int_equal(grantpt(terminal) + unlockpt(terminal), 0);
    assert_int_equal(ptsname_r(terminal, name, sizeof name), 0);
    snprintf(program, sizeof program, "%s/reporting_program", programs);
    (void)unlink("ready");
    pid_t child = fork();
    if (child == 0) {
        setsid();
        int side = open(name, O_RDWR);
        ioctl(side, TIOCSCTTY, 0);
        setenv("TMPDIR", "tmp", 1);
        execl("bin/tarn-run", "tarn-run", program, "wait", "ready", (char *)NULL);
        _exit(1);
    }
    while (access("ready", F_OK) != 0)
        usleep(10000);
    assert_int_equal(write(terminal, "\x03", 1), 1);
    assert_int_equal(waitpid(child, &ended, 0), child);
    close(terminal);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 41);
    expect_nothing_left();
}

/* --- refusals ----------------------------------------------------------------------------------------- */

static void make_static(char *file)
{
    ElfW(Ehdr) *head = (ElfW(Ehdr) *)file;
    ElfW(Phdr) *parts = (ElfW(Phdr) *)(file + head->e_phoff);
    for (int i = 0; i < head->e_phnum; i++) {
        if (parts[i].p_type == PT_INTERP) parts[i].p_type = PT_NULL;
    }
}

static void make_foreign(char *file)
{
    ElfW(Ehdr) *head = (ElfW(Ehdr) *)file;
    head->e_machine = EM_S390;
}

static void make_narrow(char *file)
{
    file[EI_CLASS] = file[EI_CLASS] == ELFCLASS32 ? ELFCLASS64 : ELFCLASS32;
}

/* Makes a program of this folder from the test's. The change may be NULL. */
static void write_program(const char *name, void (*change)(char *file))
{
    char path[1024];
    struct stat status;
    snprintf(path, sizeof path, "%s/reporting_program", programs);
    int from = open(path, O_RDONLY), to = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    assert_true(from >= 0 && to >= 0 && fstat(from, &status) == 0);
    char *file = malloc((size_t)status.st_size);
    assert_int_equal(read(from, file, (size_t)status.st_size), status.st_size);
    if (change) change(file);
    assert_int_equal(write(to, file, (size_t)status.st_size), status.st_size);
    free(file);
    close(from);
    close(to);
}

static void test_a_static_program_is_refused(void **state)
{
    write_program("static", make_static);
    expect_exit(125, "$r ./static exit 0");
    assert_string_equal(read_output(), "tarn-run: ./static is statically linked, so nothing can be "
                                       "preloaded into it\n");
    expect_exit(125, "$r --compare ./static exit 0");
    expect_nothing_left();
}

static void test_a_program_of_another_machine_is_refused(void **state)
{
    write_program("foreign", make_foreign);
    expect_exit(125, "$r ./foreign exit 0");
    assert_string_equal(read_output(),
                        "tarn-run: ./foreign is for another processor or word size than "
                        "tarn's library\n");
    write_program("narrow", make_narrow);
    expect_exit(125, "$r ./narrow exit 0");
    expect_output("another processor or word size");
}

/* The kernel takes the same file for no program, and execvp then gives it to the shell. */
static void test_a_file_that_is_cut_is_the_kernels(void **state)
{
    expect_exit(0, "head -c 20 $p >cut && chmod +x cut && { ./cut; test $? != 0; }");
    expect_exit(0, "{ $r ./cut; test $? != 0; }");
    expect_no_output("statically");
}

static void test_of_a_script_the_interpreter_counts(void **state)
{
    expect_exit(5, "printf '#!/bin/sh\\nexit 5\\n' >script && chmod +x script && $r ./script");
    expect_exit(6, "echo 'exit 6' >headless && chmod +x headless && $r ./headless");
    expect_exit(7, "printf '#! /usr/bin/env sh\\nexit 7\\n' >env && chmod +x env && $r ./env");
    write_program("static", make_static);
    expect_exit(
        125, "printf \"#!$PWD/static -x\\n\" >of_static && chmod +x of_static && $r ./of_static");
    expect_output("tarn-run: ./of_static is run by /");
    expect_output("/static, which is statically linked");
    expect_exit(
        125, "printf \"#! $PWD/of_static\\n\" >of_script && chmod +x of_script && $r ./of_script");
    expect_output("/static, which is statically linked");
    expect_exit(127, "printf '#!/no/such/interpreter\\n' >lost && chmod +x lost && $r ./lost");
}

static void test_the_program_is_found_as_by_exec(void **state)
{
    write_program("static", make_static);
    expect_exit(125, "mkdir -p empty && PATH=$PWD/empty:$PWD:$PATH $r static");
    expect_exit(125, "PATH=:$PATH $r static");
    expect_exit(125, "PATH=$PATH: $r static");
    /* What cannot be run is passed over. */
    expect_exit(4, "mkdir -p first second && touch first/found && cp static second/found && "
                   "printf '#!/bin/sh\\nexit 4\\n' >second/found && chmod +x second/found && "
                   "PATH=$PWD/first:$PWD/second:$PATH $r found");
    expect_exit(0, "rm -r empty first second");
    expect_exit(127, "$r static");
}

/* Makes a program that runs with another user's or group's rights. False: this user cannot, or the folder's file system
 * ignores such rights. */
static bool make_privileged(const char *name, mode_t mode)
{
    struct statvfs system;
    gid_t groups[64];
    write_program(name, NULL);
    if (statvfs(name, &system) != 0 || (system.f_flag & ST_NOSUID)) return false;
    if (geteuid() == 0) return chown(name, 65534, 65534) == 0 && chmod(name, mode) == 0;
    int count = getgroups(64, groups);
    for (int i = 0; i < count && mode & S_ISGID; i++) {
        if (groups[i] != getgid())
            return chown(name, (uid_t)-1, groups[i]) == 0 && chmod(name, mode) == 0;
    }
    return false;
}

static void test_a_program_with_other_rights_is_refused(void **state)
{
    bool is_tested = false;
    if (make_privileged("of_user", 04711)) {
        is_tested = true;
        expect_exit(125, "$r ./of_user exit 0");
        expect_output("tarn-run: ./of_user runs with other rights than yours, by setuid, setgid or "
                      "capabilities, so the loader ignores LD_PRELOAD\n");
    }
    if (make_privileged("of_group", 02755)) {
        is_tested = true;
        expect_exit(125, "$r ./of_group exit 0");
        expect_output("setgid");
        /* Without the right to execute, the bit means something else. */
        expect_exit(0, "chmod g-x of_group && $r ./of_group exit 0");
    }
    /* The rights of the user himself are no others. */
    write_program("own", NULL);
    assert_int_equal(chmod("own", 06755), 0);
    expect_exit(3, "$r ./own exit 3");
    if (!is_tested) skip();
}

static void test_usage(void **state)
{
    expect_exit(0, "$r --help");
    expect_output("Usage: tarn-run");
    expect_exit(0, "$r --version");
    expect_exit(125, "$r");
    expect_output("tarn-run: there is no program\n\nUsage");
    expect_exit(125, "$r --");
    expect_exit(125, "$r --no-such-option true");
    expect_exit(125, "$r --limti 8G true");
    expect_output("did you mean --limit?");
    expect_exit(125, "$r --preset fat true");
    expect_output("--preset is \"fat\", not lean");
    static const char *const limits[] = { "8GB", "0", "-1", "0%", "101%", "''", "99999999999G" };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        char command[64];
        snprintf(command, sizeof command, "$r --limit %s true", limits[i]);
        expect_exit(125, command);
        expect_output("not a number of bytes such as 8G, with K, M, G or T, nor 1% to 100%\n");
    }
    expect_exit(125, "$r --log loud true");
    expect_output("not off, warning or info");
    expect_exit(125, "$r --trace '' true");
    expect_exit(125, "$r --compare --runs 0 true");
    expect_output("--runs is \"0\", not a number from 1 to 1000");
    expect_exit(125, "$r --compare --runs 1001 true");
    expect_exit(125, "$r --compare --runs 2x true");
    expect_exit(125, "$r --runs 2 true");
    expect_exit(125, "$r --quiet true");
    expect_exit(125, "$r --compare --explain true");
    expect_nothing_left();
}

static void test_the_library_must_be_there(void **state)
{
    expect_exit(125, "mkdir -p lonely/bin && cp $r lonely/bin && lonely/bin/tarn-run true");
    expect_output("tarn-run: cannot find libtarn_run_hip.so where it was installed, in ");
    expect_exit(
        125, "mkdir -p 'a b/bin' && cp -r lib 'a b' && cp $r 'a b/bin' && 'a b/bin/tarn-run' true");
    expect_output("a space or colon");
    expect_exit(0, "rm -r lonely 'a b'");
}

static void test_a_temporary_folder_that_cannot_be_written(void **state)
{
    expect_exit(125, "TMPDIR=/no/such/folder $r $p exit 0");
    expect_output("tarn-run: cannot make a folder for reports in /no/such/folder: No such file or "
                  "directory; set TMPDIR to another place\n");
    expect_exit(125, "TMPDIR=/proc $r --compare $p exit 0");
    expect_exit(0, "TMPDIR= $r $p exit 0");
    /* The program may go elsewhere. */
    expect_exit(
        0,
        "TMPDIR=tmp TEST_REPORT='\"pool_allocations\": 1, \"allocations\": 1}' $r sh -c \"cd / && $p exit 0\"");
    expect_no_output("no allocation");
    expect_nothing_left();
}

/* --- reports ------------------------------------------------------------------------------------------ */

static void test_nothing_was_caught(void **state)
{
    expect_exit(0, "$r true");
    assert_string_equal(
        read_output(),
        "tarn-run: no device memory came from tarn: it uses neither CUDA nor HIP, or "
        "drops LD_PRELOAD, or ends by _exit or a kill\n");
    expect_exit(128 + SIGKILL, "TEST_REPORT='}' $r $p kill 9");
    expect_output("came from tarn: it was killed before it could report\n");
    expect_exit(3, "TEST_REPORT='\"caught\": []}' $r $p exit 3");
    expect_output(
        "came from tarn: it uses neither CUDA nor HIP, or finds their functions in a way that is not caught\n");
    expect_exit(0,
                "TEST_REPORT='\"caught\": [{\"symbol\": \"cuMemAlloc_v2\"}], \"allocations\": 0}' "
                "$r $p exit 0");
    expect_output("came from tarn: it looked functions up and allocated nothing with them\n");
    expect_exit(
        0, "TEST_REPORT='\"passed\": [{\"symbol\": \"cuMemAllocManaged\", \"count\": 3}]}' $r $p "
           "exit 0");
    expect_output("came from tarn: its calls passed through to the driver; --explain says why\n");
    expect_exit(0, "TEST_REPORT='\"pool_allocations\": 1, \"allocations\": 1}' $r $p exit 0");
    assert_string_equal(read_output(), "");
}

static void test_the_driver_has_served_all(void **state)
{
    expect_exit(0, "TEST_REPORT='\"passed\": [{\"symbol\": \"cuMemAlloc_v2\", \"count\": 3}], "
                   "\"allocations\": 3}' $r $p exit 0");
    expect_output("came from tarn: its calls passed through to the driver; --explain says why\n");
}

static void test_a_damaged_report_is_left_out(void **state)
{
    expect_exit(4, "TEST_REPORT='\"pool_allocations\": 1, \"allocations\": 1' $r $p exit 4");
    expect_output("is left out: '}' expected near end of file\n");
    expect_no_output("no device memory came from tarn"); /* which is not known */
    expect_exit(0, "$r sh -c ': >$TARN_RUN_REPORT.12'");
    expect_output("the report of process 12 is left out: '[' or '{' expected near end of file\n");
    expect_exit(0, "$r sh -c 'ln -s /no/such $TARN_RUN_REPORT.12; echo } >$TARN_RUN_REPORT.x; "
                   "echo } >$TARN_RUN_REPORT.'");
    expect_output("the report of process 12 is left out: unable to open ");
    expect_no_output("no device memory came from tarn");
    expect_exit(0, "$r true");
    expect_output("no device memory came from tarn: it uses neither CUDA nor HIP, or "
                  "drops LD_PRELOAD, or ends by _exit or a kill\n");
    expect_nothing_left();
}

static void test_explain(void **state)
{
    expect_exit(
        2,
        "TEST_REPORT='\"program\": \"/a/b\\u001b\", \"caught\": ["
        "{\"symbol\": \"cuMemAlloc_v2\", \"route\": \"cuGetProcAddress\", \"library\": \"/a/b\"}, "
        "{\"symbol\": \"cuMemFree\", \"route\": \"dlsym\", \"library\": \"/lib/c.so\"}], "
        "\"passed\": [{\"symbol\": \"cuMemAllocManaged\", \"reason\": \"managed memory\", \"count\": 12}],"
        "\"new\": [1], \"pool_allocations\": 1, \"allocations\": 1, \"frees\": 2, \"vendor_calls\": 3, \"order_calls\": 7, "
        "\"peak_live_bytes\": 1048576, \"peak_held_bytes\": 2621440}' $r --explain $p exit 2");
    expect_output(
        ", /a/b\\x1b: 1 allocation, 2 frees, 3 vendor calls for memory and 7 for streams; at most 1.0 MiB live, 2.5 MiB held\n"
        "  caught         by                in\n"
        "  cuMemAlloc_v2  cuGetProcAddress  /a/b\n"
        "  cuMemFree      dlsym             /lib/c.so\n"
        "  passed through          calls  because\n"
        "  cuMemAllocManaged          12  managed memory\n");
}

/* Each library reports of each process. */
static void test_two_reports_are_one(void **state)
{
    expect_exit(
        0,
        "TEST_HIP_REPORT='\"caught\": [{\"symbol\": \"hipMalloc\", \"route\": \"linked\", "
        "\"library\": \"/a/b\"}], \"passed\": [{\"symbol\": \"hipMallocManaged\", "
        "\"reason\": \"managed memory\", \"count\": 2}], \"pool_allocations\": 3, \"allocations\": 3, \"frees\": 1, "
        "\"vendor_calls\": 4, \"peak_live_bytes\": 1048576, \"peak_held_bytes\": 1048576}'; "
        "export TEST_HIP_REPORT; TEST_REPORT='\"program\": \"x\", \"caught\": [{\"symbol\": "
        "\"cuMemFree_v2\", \"route\": \"dlsym\", \"library\": \"/a/b\"}], \"frees\": 1, "
        "\"peak_live_bytes\": 1048576}' $r --explain $p exit 0");
    expect_output(
        ", x: 3 allocations, 2 frees, 4 vendor calls for memory and 0 for streams; at most 2.0 MiB live, 1.0 MiB held\n");
    expect_output("  hipMalloc     linked  /a/b\n");
    expect_output("  cuMemFree_v2  dlsym   /a/b\n");
    expect_output("  hipMallocManaged           2  managed memory\n");
    expect_exit(0, "TEST_HIP_REPORT='\"pool_allocations\": 1, \"allocations\": 1}' $r $p exit 0");
    assert_string_equal(read_output(), "");
    expect_nothing_left();
}

static void test_every_process_reports(void **state)
{
    expect_exit(
        0,
        "TEST_REPORT='\"program\": \"x\", \"pool_allocations\": 5, \"allocations\": 5}' $r --explain $p child 0 2>&1 | "
        "grep -c 'process [0-9]*, x: 5 allocations, 0 frees'");
    assert_string_equal(read_output(), "2\n");
    /* A shell does nothing that is worth a line. */
    expect_exit(
        0,
        "TEST_REPORT='\"program\": \"x\"' $r --explain $p child 0 2>&1 | grep -c ', x:' | grep -x 0");
    /* One that lives on finds no folder any more, and does no harm. */
    expect_exit(
        0,
        "TEST_REPORT='\"pool_allocations\": 5, \"allocations\": 5}' $r sh -c \"$p exit 0; (sleep 0.3; $p exit 0) "
        ">/dev/null 2>&1 &\"; sleep 1");
    assert_string_equal(read_output(), "");
    expect_nothing_left();
}

/* --- shortage ----------------------------------------------------------------------------------------- */

/* Each allocation fails once. The run then ends well, or for that reason, and nothing is left behind. */
static void expect_shortages_survived(const char *options)
{
    char command[1024];
    for (int n = 1; access("TEST_ENOUGH", F_OK) != 0; n++) {
        snprintf(
            command, sizeof command,
            "f=$(dirname $p)/libfailing_malloc.so; export TEST_REPORT='\"caught\": "
            "[{\"symbol\": \"s\"}], \"passed\": [{\"reason\": \"r\"}], \"pool_allocations\": 1, \"allocations\": 1}'; "
            "TEST_FAIL_MALLOC=%d LD_PRELOAD=$f $r %s $p exit 0 2>errors || "
            "{ test $? = 125 && grep 'there is not enough memory' errors; }",
            n, options);
        expect_exit(0, command);
        expect_nothing_left();
        assert_true(n < 1000);
    }
    assert_int_equal(unlink("TEST_ENOUGH"), 0);
}

static void test_shortages_of_memory(void **state)
{
#ifdef HAS_FAILING_MALLOC
    expect_shortages_survived("--explain --poison");
    expect_shortages_survived("--compare --runs 2");
#else
    (void)expect_shortages_survived;
    skip();
#endif
}

/* --- comparisons -------------------------------------------------------------------------------------- */

static void test_compare(void **state)
{
    expect_exit(
        0,
        "TEST_REPORT_PASS='\"pool_allocations\": 9, \"allocations\": 9, \"vendor_calls\": 2000, \"peak_live_bytes\": 4194304}' "
        "TEST_REPORT='\"pool_allocations\": 9, \"allocations\": 9, \"vendor_calls\": 50, \"order_calls\": 40, \"peak_live_bytes\": 4194304, "
        "\"peak_held_bytes\": 6291456}' $r --compare --runs 3 -- $p exit 0");
    expect_output("reporting_program, 3 runs each, in turn\n"
                  "                        without tarn       with tarn     ratio\n"
                  "time, median    ");
    expect_output("\ncalls for memory                2000              50     0.025\n"
                  "pools' stream calls                0              40         -\n"
                  "peak live                    4.0 MiB         4.0 MiB         1\n"
                  "peak held                    4.0 MiB         6.0 MiB       1.5\n");
    expect_no_output("processes");
    expect_no_output("no allocation");
    expect_exit(
        0, "$r --compare --runs 2 $p exit 0 2>&1 | grep -Ec '^time, (median|least|most) +[0-9]+\\."
           "[0-9]{3} s +[0-9]+\\.[0-9]{3} s +[0-9.e+-]+$'");
    assert_string_equal(read_output(), "3\n");
    expect_nothing_left();
}

static void test_compare_takes_turns(void **state)
{
    expect_exit(
        0, "rm -f turns; TARN_RUN_PASS=1 $r --compare --runs 3 $p order turns; cat turns; echo .");
    expect_output("pttppt.\n");
    expect_exit(0, "rm -f turns; $r --compare $p order turns; cat turns; echo .");
    expect_output("pt.\n");
}

static void test_compare_without_reports(void **state)
{
    expect_exit(0, "$r --compare true");
    expect_output("no device memory came from tarn");
    expect_output("\ncalls for memory                   -               -         -\n");
    /* Of two runs one has no figure. */
    expect_exit(0, "TEST_REPORT='\"vendor_calls\": 5}' $r --compare $p exit 0");
    expect_output("\ncalls for memory                   -               5         -\n");
    /* Of six runs the first has none. */
    expect_exit(
        0,
        "rm -f seen; TEST_REPORT='\"vendor_calls\": 5}'; TEST_REPORT_PASS=$TEST_REPORT; export p "
        "TEST_REPORT TEST_REPORT_PASS; $r --compare --runs 3 sh -c 'test -e seen || unset "
        "TEST_REPORT_PASS; touch seen; $p exit 0'");
    expect_output("\ncalls for memory                   -               5         -\n");
}

static void test_compare_several_processes(void **state)
{
    expect_exit(0, "TEST_REPORT_PASS='\"vendor_calls\": 20, \"peak_live_bytes\": 1048576}'; export "
                   "TEST_REPORT_PASS; TEST_REPORT=$TEST_REPORT_PASS $r --compare $p child 0");
    expect_output("\ncalls for memory                  40              40         1\n"
                  "pools' stream calls                0               0         -\n"
                  "peak live                    1.0 MiB         1.0 MiB         1\n");
    expect_output("those of up to 2 processes, peaks those of the largest");
}

static void test_compare_ends_with_a_run_that_fails(void **state)
{
    expect_exit(3, "$r --compare --runs 2 $p exit 3");
    expect_output(
        "tarn-run: run 1 of 4, without tarn, ended with 3, so there is nothing to compare\n");
    expect_no_output("ratio");
    expect_exit(4, "$r --compare --runs 2 --quiet $p exit-served 4");
    expect_output(
        "run 2 of 4, with tarn, ended with 4, so there is nothing to compare; without --quiet its "
        "output tells more\n");
    expect_exit(127, "$r --compare --quiet no-such-program");
    expect_output("tarn-run: no-such-program: No such file or directory\n");
    expect_nothing_left();
}

static void test_compare_and_the_output(void **state)
{
    expect_exit(0, "printf 12345 >in; $r --compare $p read <in 2>/dev/null");
    assert_string_equal(read_output(), "read 5 bytes\nread 5 bytes\n");
    expect_exit(0, "printf 12345 | $r --compare $p read 2>/dev/null");
    assert_string_equal(read_output(), "read 5 bytes\nread 0 bytes\n");
    expect_exit(0, "$r --compare --quiet sh -c 'echo out; echo error >&2'");
    expect_no_output("out\n");
    expect_no_output("error\n");
    expect_output("ratio");
}

/* A program that survives its signal does not make the next run begin. */
static void test_compare_stops_at_a_signal(void **state)
{
    expect_exit(128 + SIGTERM, "rm -f ready; $r --compare $p wait ready 0 & t=$!; "
                               "while ! [ -e ready ]; do sleep 0.02; done; kill -TERM $t; wait $t");
    expect_output("run 2 of 2, with tarn, ended with 143");
    expect_nothing_left();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_exit_status_is_the_programs),
        cmocka_unit_test(test_a_caller_that_waits_for_nothing),
        cmocka_unit_test(test_the_program_has_the_signals_of_the_caller),
        cmocka_unit_test(test_the_library_comes_before_others),
        cmocka_unit_test(test_options_are_variables),
        cmocka_unit_test(test_signals_are_passed_on),
        cmocka_unit_test(test_ctrl_c_comes_once),
        cmocka_unit_test(test_a_static_program_is_refused),
        cmocka_unit_test(test_a_program_of_another_machine_is_refused),
        cmocka_unit_test(test_a_file_that_is_cut_is_the_kernels),
        cmocka_unit_test(test_of_a_script_the_interpreter_counts),
        cmocka_unit_test(test_the_program_is_found_as_by_exec),
        cmocka_unit_test(test_a_program_with_other_rights_is_refused),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_the_library_must_be_there),
        cmocka_unit_test(test_a_temporary_folder_that_cannot_be_written),
        cmocka_unit_test(test_nothing_was_caught),
        cmocka_unit_test(test_the_driver_has_served_all),
        cmocka_unit_test(test_a_damaged_report_is_left_out),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_two_reports_are_one),
        cmocka_unit_test(test_every_process_reports),
        cmocka_unit_test(test_shortages_of_memory),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_compare_takes_turns),
        cmocka_unit_test(test_compare_without_reports),
        cmocka_unit_test(test_compare_several_processes),
        cmocka_unit_test(test_compare_ends_with_a_run_that_fails),
        cmocka_unit_test(test_compare_and_the_output),
        cmocka_unit_test(test_compare_stops_at_a_signal),
    };
    if (argc < 3) return 2;
    programs = argv[1];
    tarn_run = argv[2];
    return cmocka_run_group_tests(tests, enter, leave_scratch_folder);
}
