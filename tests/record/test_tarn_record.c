/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_tarn_record: programs that know nothing of tarn, recorded from outside; and what is made of recordings that
 * ended by a kill.
 *
 * Arguments: the folder of the programs of this test, tarn-record, and tarn-bench if there is one.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* cmocka wants these four first. */
#include "harness/claims.h"
#include "harness/scratch_folder.h"
#include "harness/shell.h"
#include "killed_program.h"
#include "trace_lines.h"

static const char *programs, *tarn_bench;

static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

/* Whether the strict reader takes it and its live ranges never overlap, tarn-bench knows. */
static void expect_replay(const char *path)
{
    char command[1024];
    if (!tarn_bench) return;
    snprintf(command, sizeof command, "%s replay %s --allocator tarn --repetitions 1 --time 0.05",
             tarn_bench, path);
    expect_exit(0, command);
}

/* --- vendors ------------------------------------------------------------------------------------------ */

static const char cuda_lines[] = "a 0 100 0\n"
                                 "a 1 200 0\n"
                                 "a 2 768 0\n"
                                 "a 3 300 1\n"
                                 "a 4 400 2\n"
                                 "a 5 500 1\n"
                                 "f 0 100 0\n"
                                 "f 2 768 0\n"
                                 "f 3 300 1\n"
                                 "f 4 400 2\n";

static void test_cuda(void **state)
{
    expect_exit(0, "$r $p/vendor_program cuda");
    expect_output("trace.gz: 6 allocations and 4 frees");
    expect_trace_lines("trace.gz", cuda_lines);
    expect_replay("trace.gz");
}

static void test_host_memory_is_asked_for(void **state)
{
    expect_exit(0, "$r --host -o host.txt -- $p/vendor_program cuda");
    struct trace_lines trace = read_trace_lines("host.txt");
    assert_int_equal(count_lines(&trace, 'a'), 8);
    assert_int_equal(count_lines(&trace, 'f'), 6);
    free_trace_lines(&trace);
}

static void test_hip(void **state)
{
    expect_exit(0, "$r -o hip.txt $p/vendor_program hip");
    expect_trace_lines("hip.txt", "a 0 100 0\na 1 200 0\na 2 300 0\na 3 400 1\n"
                                  "f 0 100 0\nf 1 200 0\nf 2 300 0\nf 3 400 1\n");
}

static void test_level_zero(void **state)
{
    expect_exit(0, "$r -o ze.txt $p/vendor_program ze");
    expect_trace_lines("ze.txt", "a 0 100 0\na 1 200 0\nf 0 100 0\nf 1 200 0\n");
}

static void test_streams(void **state)
{
    expect_exit(0, "$r -o streams.txt $p/vendor_program streams");
    expect_trace_lines("streams.txt", "a 0 100 0\nf 0 100 0\n"
                                      "a 1 200 1\na 2 300 1\nf 1 200 1\nf 2 300 1\n"
                                      "a 3 200 2\na 4 300 2\nf 3 200 2\nf 4 300 2\n");
}

/* The vendor's library comes later, is the module's alone, and is closed with it. */
static void test_a_module_that_is_loaded_and_closed(void **state)
{
    expect_exit(0, "$r -o module.txt $p/module_program $p/libvendor_module.so");
    expect_trace_lines("module.txt", "a 0 1000 0\nf 0 1000 0\na 1 2000 0\nf 1 2000 0\n");
}

static void test_threads(void **state)
{
    expect_exit(0, "$r -o threads.gz $p/vendor_program threads");
    struct trace_lines trace = read_trace_lines("threads.gz");
    assert_int_equal(trace.count, 4 * 5000 * 4);
    assert_int_equal(trace.live_count, 0);
    assert_int_equal(trace.lost_count, 0);
    free_trace_lines(&trace);
    expect_replay("threads.gz");
}

/* --- processes ---------------------------------------------------------------------------------------- */

static void test_several_processes(void **state)
{
    expect_exit(0, "mkdir -p of && $r -o of/several.txt -- sh -c \"$p/vendor_program processes\"");
    expect_output("40000 allocations and 40000 frees");
    expect_exit(
        0, "test $(ls of | wc -l) = 2 && mv of/several.txt . && mv of/* other.txt && rmdir of");
    struct trace_lines trace = read_trace_lines("several.txt");
    assert_int_equal(trace.count, 80000);
    free_trace_lines(&trace);
    expect_trace_lines("other.txt", "a 0 100 0\nf 0 100 0\n");
}

static void test_a_process_that_becomes_another_program(void **state)
{
    expect_exit(0, "mkdir -p of && $r -o of/t.txt $p/vendor_program exec");
    expect_exit(0, "cat of/* | grep -c '^a' && test $(cat of/* | grep -c '^a') = 5 && rm -r of");
}

static void test_a_kill_loses_nothing(void **state)
{
    expect_exit(128 + SIGKILL, "$r -o killed.gz $p/vendor_program killed");
    struct trace_lines trace = read_trace_lines("killed.gz");
    assert_int_equal(trace.count, 20000);
    free_trace_lines(&trace);
    expect_exit(0, "test -z \"$(ls *.events 2>/dev/null)\"");
}

/* What a tarn-record of the same number has left is not this run's. */
static void test_what_another_run_has_left(void **state)
{
    expect_exit(0, "mkdir -p of && sh -c 'echo left >of/t.txt.$$-1.events; "
                   "exec $1 -o of/t.txt $2/vendor_program hip' sh $r $p");
    expect_exit(0, "mv of/t.txt mine.txt && cat of/t.txt.*-1.events && rm of/* && rmdir of");
    expect_output("left");
    expect_trace_lines("mine.txt", "a 0 100 0\na 1 200 0\na 2 300 0\na 3 400 1\n"
                                   "f 0 100 0\nf 1 200 0\nf 2 300 0\nf 3 400 1\n");
}

static void test_the_exit_status_is_the_commands(void **state)
{
    expect_exit(42, "$r --force $p/vendor_program cuda 42");
    expect_exit(127, "$r --force no-such-command");
    expect_output("no-such-command");
    expect_exit(1, "$r --force no-such-command 2>&1 | grep 'nothing was recorded'");
    expect_exit(126, "$r --force /");
    expect_exit(125, "$r --kokkos --host true");
    expect_output("--host is for vendor calls");
    expect_exit(125, "$r --force true");
    expect_output("nothing was recorded");
    expect_output("statically linked");
    expect_exit(3, "$r --force sh -c 'exit 3'");
}

/* What was recorded is kept, and recovered elsewhere. */
static void test_a_full_disk(void **state)
{
    expect_exit(0, "mkdir full && ln -s /dev/full full/t.gz");
    expect_exit(125, "$r -o full/t.gz $p/vendor_program hip");
    expect_output("full/t.gz cannot be written: No space left on device; the events are kept in");
    expect_exit(0, "$r --recover full/t.gz.*.events -o full.txt && rm -r full");
    expect_trace_lines("full.txt", "a 0 100 0\na 1 200 0\na 2 300 0\na 3 400 1\n"
                                   "f 0 100 0\nf 1 200 0\nf 2 300 0\nf 3 400 1\n");
}

static void test_a_folder_that_goes(void **state)
{
    expect_exit(0, "mkdir goes");
    expect_exit(125, "$r -o goes/t.gz sh -c \"$p/vendor_program hip; mv goes gone\"");
    expect_output(
        "goes/t.gz cannot be written: its folder cannot be read: No such file or directory");
    expect_exit(0, "$r --recover gone/t.gz.*.events -o gone.txt && rm -r gone");
    expect_output("4 allocations and 4 frees");
}

static void test_usage(void **state)
{
    expect_exit(0, "$r --help");
    expect_output("Usage: tarn-record");
    expect_exit(0, "$r --version");
    expect_exit(125, "$r");
    expect_exit(125, "$r --no-such-option true");
    expect_exit(125, "$r --kokos true");
    expect_output("did you mean --kokkos?");
    expect_exit(125, "$r -o no/such/folder true");
    expect_output("no/such/folder cannot be written");
    expect_exit(125, "$r -o / true");
    expect_exit(125, "$r --recover no-such.events");
    expect_output("no-such.events cannot be read");
    expect_exit(125, "$r --recover output -o x");
    expect_output("output is not a file of events");
    expect_exit(1, "ls | grep -e partial -e ^x");
    expect_exit(125, "$r --recover . -o x");
    expect_exit(0, "$r -o each-%p.txt $p/vendor_program hip && mv each-[1-9]*.txt each.txt");
}

static void test_a_folder_that_the_loader_cannot_name(void **state)
{
    expect_exit(0, "mkdir -p 'a b/bin' 'a b/lib' && cp $r 'a b/bin' && "
                   "cp $(dirname $r)/../lib/libtarn_record_preload.so 'a b/lib'");
    expect_exit(125, "'a b/bin/tarn-record' --force true");
    expect_output("a space or colon");
    expect_exit(0, "rm -r 'a b'");
}

/* --- programs that use tarn --------------------------------------------------------------------------- */

static void test_a_program_that_uses_tarn(void **state)
{
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        const char *name = is_compressed ? "uses.gz" : "uses.txt";
        char command[128];
        snprintf(command, sizeof command, "$r -o %s $p/killed_program 100 ends", name);
        expect_exit(0, command);
        expect_output(" uses tarn: ");
        struct trace_lines trace = read_trace_lines(name);
        assert_int_equal(count_lines(&trace, 'a'), 100);
        assert_int_equal(count_lines(&trace, 'f'), 50);
        free_trace_lines(&trace);
        expect_replay(name);
    }
    expect_exit(0, "ln -s linked.txt link.txt && $r -o link.txt $p/killed_program 3 ends && "
                   "test -L link.txt && grep -c ^a linked.txt | grep -x 3");
    expect_exit(1, "ls | grep -F .tarn");
}

static void test_a_program_that_uses_tarn_and_is_killed(void **state)
{
    expect_exit(128 + SIGKILL, "$r -o '100%p%%.txt' $p/killed_program 100");
    expect_output("100 allocations and 50 frees");
    expect_output(" uses tarn: ");
    expect_exit(0, "mv 100*%.txt killed_tarn.txt");
    expect_exit(1, "ls | grep -F -e .events -e .tarn");
}

/* One of them calls the vendor by itself: what tarn was asked for has the name. */
static void test_programs_with_tarn_and_without(void **state)
{
    expect_exit(0, "mkdir both && cd both && $r -o t.txt sh -c "
                   "\"$p/vendor_program hip; $p/killed_program 3 ends\" 2>&1");
    expect_output("4 allocations and 4 frees of process");
    expect_output("t.txt has what it asked of tarn");
    expect_exit(0, "grep -c ^a both/t.txt | grep -x 3 && grep -c ^a both/t.[0-9]*.txt | grep -x 4");
}

/* A launcher has started one for each rank, with one name for all. */
static void test_several_with_one_name(void **state)
{
    expect_exit(0, "mkdir same && cd same && { $r -o t.txt sh -c 'sleep 0.3; $0 hip' "
                   "$p/vendor_program & $r -o t.txt $p/vendor_program hip && wait; }");
    expect_exit(0, "ls same | wc -l | grep -x 2 && grep -c ^a same/t.txt | grep -x 4 && "
                   "grep -c ^a same/t.[0-9]*.txt | grep -x 4");
}

static void test_a_place_for_traces_that_the_user_has(void **state)
{
    expect_exit(125, "TARN_TRACE=mine.txt $r -o none.txt $p/killed_program 3 ends");
    assert_true(exists("mine.txt"));
}

static void test_a_trace_is_replaced_if_asked_for(void **state)
{
    expect_exit(0, "echo mine >there.txt");
    expect_exit(125, "$r -o there.txt $p/killed_program 3 ends");
    expect_output("there.txt exists already; --force replaces it");
    expect_exit(0, "grep -x mine there.txt");
    expect_exit(0, "$r --force -o there.txt $p/killed_program 3 ends");
    expect_exit(1, "grep -x mine there.txt");
    expect_exit(128 + SIGKILL, "TARN_TRACE=twice.txt $p/killed_program 3");
    expect_exit(0, "mv twice.txt twice.txt.events && echo mine >twice.txt");
    expect_exit(125, "$r --recover twice.txt.events");
    expect_exit(125, "$r --recover twice.txt.events -o there.txt");
    expect_exit(0, "$r --recover twice.txt.events --force && test ! -e twice.txt.events");
}

/* --- recovery ----------------------------------------------------------------------------------------- */

static void test_what_tarn_recorded_is_recovered(void **state)
{
    expect_exit(128 + SIGKILL, "TARN_TRACE=lost.gz exec $p/killed_program 10001");
    expect_replay("lost.gz");
    expect_exit(0, "$r --recover lost.gz -o - | grep -c ^a | grep -x 10001 && "
                   "$r --recover lost.gz");
    expect_output("10001 allocations and 5001 frees");
    expect_exit(0, "gzip -t lost.gz && test $(ls | grep -c ^lost) = 1");
    struct trace_lines trace = read_trace_lines("lost.gz");
    assert_int_equal(trace.count, 15002);
    assert_int_equal(trace.live_count, 5000);
    free_trace_lines(&trace);
    expect_replay("lost.gz");
}

static void test_a_recording_that_goes_on_is_left_alone(void **state)
{
    int ends[2];
    char signal_of_life;
    assert_int_equal(pipe(ends), 0);
    char program[1024];
    snprintf(program, sizeof program, "%s/killed_program", programs);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        setenv("TARN_TRACE", "alive.gz", 1);
        execl(program, program, "100", "alive", (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &signal_of_life, 1), 1);
    expect_exit(125, "$r --recover alive.gz");
    expect_output("still being written");
    assert_true(exists("alive.gz"));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    expect_exit(0, "$r --recover alive.gz -o elsewhere.txt");
    struct trace_lines trace = read_trace_lines("elsewhere.txt");
    assert_int_equal(count_lines(&trace, 'a'), 100);
    free_trace_lines(&trace);
    close(ends[0]);
}

/* They would be gone before they are read. */
static void test_events_are_not_written_over(void **state)
{
    expect_exit(128 + SIGKILL, "TARN_TRACE=over exec $p/killed_program 100");
    expect_exit(125, "ln -s over to-over && $r --recover over -o to-over");
    expect_output("would be written over the events");
    expect_exit(0, "$r --recover over -o over.txt && $r --recover over && cmp over over.txt");
    expect_output("100 allocations and 50 frees");
    expect_exit(125, "$r --recover over");
    expect_output("over is not a file of events");
}

static _Atomic uint64_t *map_counts(void)
{
    int descriptor = open("counts", O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(ftruncate(descriptor, 4096), 0);
    void *counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    assert_ptr_not_equal(counts, MAP_FAILED);
    close(descriptor);
    return counts;
}

static uint64_t sum(const _Atomic uint64_t *counts)
{
    uint64_t total = 0;
    for (int i = 0; i < KILLED_THREADS; i++)
        total += atomic_load(&counts[i]);
    return total;
}

/* Whatever its threads are at: each may have been about to count one. */
static void test_a_kill_at_any_moment_loses_nothing(void **state)
{
    char program[1024];
    snprintf(program, sizeof program, "%s/killed_program", programs);
    _Atomic uint64_t *counts = map_counts();
    for (uint64_t round = 0; round < 15; round++) {
        for (int i = 0; i < KILLED_THREADS; i++)
            atomic_store(&counts[i], 0);
        pid_t child = fork();
        if (child == 0) {
            setenv("TARN_TRACE", "moment", 1);
            execl(program, program, "count", "counts", (char *)NULL);
            _exit(1);
        }
        while (sum(counts) < 1000 + round * 1777) {
            assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
            sched_yield();
        }
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        expect_exit(0, "rm -f moment.old && $r --recover moment");
        struct trace_lines trace = read_trace_lines("moment");
        assert_in_range(trace.count, sum(counts), sum(counts) + KILLED_THREADS);
        assert_in_range(trace.live_count, 0, KILLED_THREADS);
        free_trace_lines(&trace);
    }
    munmap((void *)counts, 4096);
}

#define CUT_ALLOCS 9000
#define CUT_EVENTS (CUT_ALLOCS * 3 / 2)

/* Whatever byte it is cut at, what is there before is a trace; and with no chunk there is nothing. The events of one
 * thread: the file has the chunk that it is at, then the others in their order. */
static void test_a_cut_file_is_recovered_as_far_as_it_goes(void **state)
{
    size_t count_before = 0;
    expect_exit(128 + SIGKILL, "TARN_TRACE=cut exec $p/killed_program 9000");
    expect_exit(0, "mv cut whole");
    for (size_t bytes = 1000; bytes < 4096 + 65536 * 9; bytes += 41 * 1024) {
        char command[256];
        snprintf(command, sizeof command, "head -c %zu whole >cut; $r --recover cut", bytes);
        bool has_copy = bytes >= 4096 + 2 * 65536;
        expect_exit(bytes >= 4096 ? 0 : 125, command);
        if (!has_copy) continue;
        struct trace_lines trace = read_trace_lines("cut");
        size_t copies = (bytes - 4096) / 65536 - 1;
        assert_true(trace.count >= (copies * 2047 < CUT_EVENTS ? copies * 2047 - 1 : CUT_EVENTS));
        assert_true(trace.count >= count_before);
        count_before = trace.count;
        free_trace_lines(&trace);
    }
    assert_int_equal(count_before, CUT_EVENTS);
}

/* --- Kokkos ------------------------------------------------------------------------------------------- */

static const char kokkos_lines[] = "a 0 800 0 coordinates\n"
                                   "a 1 1600 0 a label of more than twenty-four letters\n"
                                   "a 2 8 0\n"
                                   "f 0 800 0\n";

static void test_kokkos(void **state)
{
    expect_exit(0, "$r --kokkos -o kokkos.gz $p/kokkos_program");
    expect_trace_lines("kokkos.gz", kokkos_lines);
    expect_output("1 allocations in space Host were not recorded");
    expect_replay("kokkos.gz");
    expect_exit(0,
                "TARN_KOKKOS_SPACES=Cuda,Host $r --force --kokkos -o kokkos.gz $p/kokkos_program");
    struct trace_lines trace = read_trace_lines("kokkos.gz");
    assert_int_equal(trace.count, 6);
    free_trace_lines(&trace);
    expect_exit(125, "TARN_KOKKOS_SPACES=HIP $r --kokkos -o none.gz $p/kokkos_program");
    expect_output("has to");
    assert_false(exists("none.gz"));
}

static void test_kokkos_without_tarn_record(void **state)
{
    expect_exit(0, "export KOKKOS_TOOLS_LIBS=$(dirname $r)/../lib/libtarn_record_kokkos.so; "
                   "$p/kokkos_program && TARN_KOKKOS_TRACE=own-%p.txt $p/kokkos_program && "
                   "mv kokkos-[1-9]*.trace default.trace && mv own-[1-9]*.txt own.txt");
    expect_output("txt has 4 allocations and frees of Kokkos");
    expect_trace_lines("own.txt", kokkos_lines);
    expect_trace_lines("default.trace", kokkos_lines);
    expect_replay("own.txt");
}

static void test_kokkos_on_a_full_disk(void **state)
{
    expect_exit(0, "mkdir full && ln -s /dev/full full/k.gz");
    expect_exit(0, "export KOKKOS_TOOLS_LIBS=$(dirname $r)/../lib/libtarn_record_kokkos.so; "
                   "TARN_KOKKOS_TRACE=full/k.gz $p/kokkos_program");
    expect_output("tarn: nothing is recorded: full/k.gz cannot be written: it is no regular file");
    expect_exit(125, "$r --kokkos -o full/k.gz $p/kokkos_program");
    expect_output("full/k.gz cannot be written: No space left on device; the events are kept in");
    expect_exit(0, "$r --recover full/k.gz.*.events -o full-kokkos.gz && rm -r full");
    expect_trace_lines("full-kokkos.gz", kokkos_lines);
}

static void test_a_program_of_kokkos(void **state)
{
#ifdef HAS_KOKKOS
    expect_exit(0, "TARN_KOKKOS_SPACES=all $r --kokkos -o views.txt $p/kokkos_views");
    expect_trace_lines("views.txt", "a 0 8000 0 coordinates\n"
                                    "a 1 40000 0 a field\n"
                                    "a 2 16000 0 new coordinates\n"
                                    "f 0 8000 0\n"
                                    "f 1 40000 0\n"
                                    "f 2 16000 0\n");
#else
    skip();
#endif
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda),
        cmocka_unit_test(test_host_memory_is_asked_for),
        cmocka_unit_test(test_hip),
        cmocka_unit_test(test_level_zero),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_a_module_that_is_loaded_and_closed),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_several_processes),
        cmocka_unit_test(test_a_process_that_becomes_another_program),
        cmocka_unit_test(test_a_kill_loses_nothing),
        cmocka_unit_test(test_what_another_run_has_left),
        cmocka_unit_test(test_the_exit_status_is_the_commands),
        cmocka_unit_test(test_a_full_disk),
        cmocka_unit_test(test_a_folder_that_goes),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_a_folder_that_the_loader_cannot_name),
        cmocka_unit_test(test_a_program_that_uses_tarn),
        cmocka_unit_test(test_a_program_that_uses_tarn_and_is_killed),
        cmocka_unit_test(test_programs_with_tarn_and_without),
        cmocka_unit_test(test_several_with_one_name),
        cmocka_unit_test(test_a_place_for_traces_that_the_user_has),
        cmocka_unit_test(test_a_trace_is_replaced_if_asked_for),
        cmocka_unit_test(test_what_tarn_recorded_is_recovered),
        cmocka_unit_test(test_a_recording_that_goes_on_is_left_alone),
        cmocka_unit_test(test_events_are_not_written_over),
        cmocka_unit_test(test_a_kill_at_any_moment_loses_nothing),
        cmocka_unit_test(test_a_cut_file_is_recovered_as_far_as_it_goes),
        cmocka_unit_test(test_kokkos),
        cmocka_unit_test(test_kokkos_without_tarn_record),
        cmocka_unit_test(test_kokkos_on_a_full_disk),
        cmocka_unit_test(test_a_program_of_kokkos),
    };
    if (argc < 3) return 2;
    programs = argv[1];
    char folders[1024];
    snprintf(folders, sizeof folders, "p='%s' r='%s';", programs, argv[2]);
    begin_commands_with(folders);
    tarn_bench = argc > 3 ? argv[3] : NULL;
    return cmocka_run_group_tests(tests, enter_scratch_folder, leave_scratch_folder);
}
