/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * run_program: a program that knows nothing of tarn. It runs with a library of tarn's preloaded, over functions of the
 * vendor that are simulated, whose calls it counts by their names in the vendor's table.
 *
 *     run_program WAY SCENARIO      WAY is one of program_calls.h
 *
 * The exit status is 0 if all holds that the scenario claims.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_program.h"

address alloc(size_t size_bytes)
{
    address made = 0;
    EXPECT(vendor.alloc(&made, size_bytes), ==, 0);
    EXPECT(made, !=, 0);
    return made;
}

void *new_stream(void)
{
    void *stream = NULL;
    EXPECT(vendor.stream_create(&stream, 1), ==, 0);
    return stream;
}

size_t vendor_allocs(void)
{
    return sim_call_count("alloc");
}

/* A lean pool takes memory by other calls: see TARN_PRESET in the test's environment. */
bool is_lean(void)
{
    return getenv("TARN_PRESET") != NULL;
}

/* --- memory ------------------------------------------------------------------------------------------- */

static void basic(void)
{
    unsigned char seen[1000];
    address blocks[100];
    for (size_t i = 0; i < 100; i++) {
        blocks[i] = alloc(1 + i * 100);
        EXPECT(blocks[i] % 512, ==, 0); /* that of textures */
        EXPECT(vendor.fill(blocks[i], (unsigned char)i, 1 + i * 100, NULL), ==, 0);
    }
    EXPECT(vendor_allocs(), ==, 1);
    EXPECT(program_copy((address)seen, blocks[10], 1000, NULL), ==, 0);
    EXPECT(vendor.synchronize(), ==, 0);
    EXPECT(seen[0], ==, 10);
    EXPECT(seen[999], ==, 10);
    for (size_t i = 0; i < 100; i++)
        EXPECT(vendor.free(blocks[i]), ==, 0);
    EXPECT(sim_call_count("free"), ==, 0);
}

/* A free waits for the work of all streams before the memory is used again. */
static void free_waits(void)
{
    void *a = new_stream(), *b = new_stream();
    for (int i = 0; i < 50; i++) {
        address x = alloc(MIB);
        EXPECT(vendor.fill(x, 1, MIB, i % 2 ? a : b), ==, 0);
        EXPECT(vendor.free(x), ==, 0);
        address y = alloc(MIB);
        unsigned char seen = 0;
        EXPECT(vendor.fill(y, 2, MIB, i % 2 ? b : a), ==, 0);
        EXPECT(vendor.stream_synchronize(i % 2 ? b : a), ==, 0);
        EXPECT(vendor.synchronize(), ==, 0);
        EXPECT(sim_peek(&seen, (void *)y, 1), ==, true);
        EXPECT(seen, ==, 2);
        EXPECT(vendor.free(y), ==, 0);
    }
    EXPECT(vendor_allocs(), ==, is_lean() ? 0 : 1);
    EXPECT(sim_call_count("create_memory"), ==, is_lean() ? 1 : 0);
    EXPECT(vendor.stream_destroy(a), ==, 0);
    EXPECT(vendor.stream_destroy(b), ==, 0);
}

static void stream_order(void)
{
    void *a = new_stream(), *b = new_stream();
    address x = 0, y = 0;
    EXPECT(vendor.alloc_async(&x, MIB, a), ==, 0);
    EXPECT(vendor.fill(x, 1, MIB, a), ==, 0);
    EXPECT(vendor.free_async(x, a), ==, 0);
    sim_forget_calls();
    EXPECT(vendor.alloc_async(&y, MIB, a), ==, 0);
    EXPECT(y, ==, x);
    EXPECT(sim_call_count("event_record"), ==, 0);
    EXPECT(vendor.free_async(y, a), ==, 0);
    EXPECT(vendor.alloc_async(&y, MIB, NULL), ==, 0);
    EXPECT(vendor.free_async(y, b), ==, 0);
    EXPECT(vendor.alloc_async(&y, MIB, b), ==, 0);
    EXPECT(vendor.free(y), ==, 0); /* either free takes memory of either allocation */
    EXPECT(vendor.free_async(alloc(MIB), a), ==, 0);
    EXPECT(sim_call_count("alloc_async") + sim_call_count("alloc_async_of_thread"), ==, 0);
    EXPECT(vendor.stream_destroy(a), ==, 0);
    EXPECT(vendor.stream_destroy(b), ==, 0);
}

static void info(void)
{
    size_t free_before, free_after, total;
    EXPECT(vendor.info(&free_before, &total), ==, 0);
    EXPECT(total, ==, 8 * GIB);
    address x = alloc(MIB);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.info(&free_after, NULL), ==, 0);
    EXPECT(free_after, ==, free_before);
    EXPECT(vendor.info(NULL, &total), ==, 0);
    EXPECT(total, ==, 8 * GIB);
    EXPECT(vendor.info(NULL, NULL), ==, 0);
}

/* MPI libraries send the range, and a handle of it, to other processes: both are the vendor's. */
static void range(void)
{
    address x = alloc(KIB), y = alloc(KIB), base = 0, start = 0, handle = 0;
    size_t size_bytes = 0;
    EXPECT(vendor.range(&base, &size_bytes, y), ==, 0);
    EXPECT(base, <=, x);
    EXPECT(size_bytes, >=, MIB);
    EXPECT(vendor.attribute(&start, 11, y), ==, 0);
    EXPECT(start, ==, base);
    EXPECT(vendor.ipc_handle(&handle, y), ==, 0);
    EXPECT(handle, ==, base);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.free(y), ==, 0);
}

static void wrong_frees(void)
{
    address x = alloc(MIB), y = alloc(MIB);
    EXPECT(vendor.free(x + 512), ==, 1);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.free(x), ==, 1); /* the start of the static pool, which the vendor would take */
    EXPECT(vendor.free(12345), ==, 1);
    EXPECT(vendor.free(0), ==, 0);
    EXPECT(vendor.free_async(x, NULL), ==, 1);
    EXPECT(vendor.free(y), ==, 0);
    EXPECT(vendor.free(alloc(2 * MIB)), ==, 0);
}

static void odd_sizes(void)
{
    address x = 99;
    EXPECT(vendor.alloc(&x, 0), ==, PROGRAM_ZERO_BYTES_ERROR);
    EXPECT(x, ==, PROGRAM_ZERO_BYTES_ERROR ? 99 : 0);
    x = 99;
    EXPECT(vendor.alloc(NULL, 100), ==, 1);
    EXPECT(vendor.alloc(&x, 100 * GIB), ==, 2);
    EXPECT(x, ==, 99);
    EXPECT(vendor.alloc(&x, SIZE_MAX), !=, 0);
    EXPECT(x, ==, 99);
}

/* Managed memory and arrays stay the vendor's, and free as such. */
static void other_kinds(void)
{
    address managed = 0;
    void *array = NULL;
    size_t size_bytes = MIB;
    EXPECT(vendor.alloc_managed(&managed, MIB, 1), ==, 0);
    EXPECT(vendor.array_create(&array, &size_bytes), ==, 0);
    EXPECT(vendor_allocs(), ==, 0);
    EXPECT(vendor.free(managed), ==, 0);
    EXPECT(vendor.free((address)array), ==, 0);
    EXPECT(sim_call_count("free"), ==, 2);
    EXPECT(vendor.set_pool(0, NULL), ==, 0);
    address x = 0;
    EXPECT(vendor.alloc_async(&x, MIB, NULL), ==, 0);
    EXPECT(sim_call_count("alloc_async") + sim_call_count("alloc_async_of_thread"), ==, 1);
    EXPECT(vendor.free_async(x, NULL), ==, 0);
    EXPECT(sim_call_count("free_async") + sim_call_count("free_async_of_thread"), ==, 1);
}

/* What pools hold and do not need is no reason to lack memory. */
static void gives_way(void)
{
    void *array = NULL;
    size_t size_bytes = 7 * GIB;
    address x = alloc(2 * GIB), y = alloc(2 * GIB);
    EXPECT(vendor.array_create(&array, &size_bytes), ==, 2);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.free(y), ==, 0);
    EXPECT(vendor.array_create(&array, &size_bytes), ==, 0);
    EXPECT(vendor.alloc(&x, 2 * GIB), ==, 2);
    EXPECT(vendor.free((address)array), ==, 0);
    EXPECT(vendor.free(alloc(7 * GIB)), ==, 0);
}

/* Memory of a lean pool does not end with its context: see TARN_PRESET in the test's environment. */
static void lean_reset(void)
{
    address large = alloc(6 * GIB);
    alloc(MIB);
    EXPECT(vendor.free(large), ==, 0);
    EXPECT(program_reset(), ==, 0);
    EXPECT(vendor.free(alloc(7 * GIB)), ==, 0);
}

/* A limit of the pool is none of the program: see TARN_LIMIT in the test's environment. */
static void limited(void)
{
    address x = alloc(MIB), y = alloc(64 * MIB);
    EXPECT(vendor_allocs(), >=, 2);
    EXPECT(vendor.free(y), ==, 0);
    EXPECT(sim_call_count("free"), ==, 1);
    EXPECT(vendor.free(x), ==, 0);
}

/* TARN_RUN_UP_TO is 2 MiB. A handle of what is larger stands for it alone. */
static void up_to(void)
{
    address x = alloc(2 * MIB), y = alloc(2 * MIB + 1), handle = 0;
    EXPECT(vendor_allocs(), ==, 2);
    EXPECT(vendor.ipc_handle(&handle, y), ==, 0);
    EXPECT(handle, ==, y);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(sim_call_count("free"), ==, 0);
    EXPECT(vendor.free(y), ==, 0);
    EXPECT(sim_call_count("free"), ==, 1);
}

/* --- contexts, streams, captures ---------------------------------------------------------------------- */

/* The next stream may get the handle: see TARN_SIM_REUSE_STREAMS in the test's environment. */
static void stream_ends(void)
{
    for (int i = 0; i < 100; i++) {
        void *stream = new_stream();
        address x = 0;
        EXPECT(vendor.alloc_async(&x, MIB, stream), ==, 0);
        EXPECT(vendor.fill(x, 1, MIB, stream), ==, 0);
        EXPECT(vendor.free_async(x, stream), ==, 0);
        EXPECT(vendor.stream_destroy(stream), ==, 0);
    }
    EXPECT(sim_misuse_count(), ==, 0);
}

static void capture(void)
{
    void *stream = new_stream(), *graph = NULL;
    address x = alloc(MIB), y = 0, z = 0;
    for (int i = 0; i < 3; i++) {
        EXPECT(vendor.begin_capture(stream, 2), ==,
               0); /* relaxed, so that the vendor allows allocations */
        sim_capture_exchange_mode(SIM_CAPTURE_MODE_RELAXED);
        sim_forget_calls();
        EXPECT(vendor.free(x), ==, 0);
        EXPECT(sim_call_count(NULL), ==, 0);
        EXPECT(vendor.free(x + 512), ==, 1);
        EXPECT(vendor.alloc_async(&y, MIB, stream), ==, 0);
        EXPECT(sim_call_count("alloc_async") + sim_call_count("alloc_async_of_thread"), ==, 1);
        EXPECT(vendor.alloc(&z, MIB), ==, 0);
        EXPECT(vendor_allocs(), ==, 1);
        EXPECT(vendor.end_capture(stream, &graph), ==, 0);
        EXPECT(graph, !=, NULL);
        EXPECT(vendor.free_async(y, NULL), ==, 0);
        EXPECT(vendor.free(z), ==, 0);
        EXPECT(sim_call_count("free"), ==, 1);
        EXPECT(vendor.free(x), ==, 1); /* it was freed when the capture ended */
        x = alloc(MIB);
        EXPECT(vendor_allocs(), ==, 1);
    }
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.stream_destroy(stream), ==, 0);
}

/* A capture ends with its stream, and one that did not begin is none. */
static void capture_ends(void)
{
    void *stream = new_stream();
    address x = alloc(MIB);
    EXPECT(vendor.begin_capture(stream, 2), ==, 0);
    EXPECT(vendor.begin_capture(stream, 2), !=, 0);
    EXPECT(vendor.free(x), ==, 0);
    (void)sim_capture_end();
    EXPECT(vendor.stream_destroy(stream), ==, 0);
    sim_fail_calls(NULL, 1, 1, SIM_STATUS_UNKNOWN);
    EXPECT(vendor.begin_capture(new_stream, 2), !=, 0);
    sim_forget_faults();
    size_t before = vendor_allocs();
    EXPECT(vendor.free(alloc(MIB)), ==, 0);
    EXPECT(vendor_allocs(), ==, before);
}

/* --- processes and threads ---------------------------------------------------------------------------- */

/* The child's calls are the vendor's, whatever that makes of them. */
static void forks(void)
{
    address x = alloc(MIB);
    pid_t child = fork();
    EXPECT(child, >=, 0);
    if (child == 0) {
        address y = 0;
        sim_forget_calls();
        EXPECT(vendor.alloc(&y, KIB), ==, 0);
        EXPECT(vendor_allocs(), ==, 1);
        EXPECT(vendor.free(y), ==, 0);
        EXPECT(sim_call_count("free"), ==, 1);
        exit(0);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0), ==, child);
    EXPECT(status, ==, 0);
    EXPECT(vendor.free(x), ==, 0);
}

#define THREADS 8

static void *thread_main(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    void *stream = NULL;
    address blocks[64] = { 0 };
    program_enter_thread();
    EXPECT(vendor.stream_create(&stream, 1), ==, 0);
    for (int i = 0; i < 100; i++) {
        address *block = &blocks[rand_r(&seed) % 64];
        size_t size_bytes = (size_t)1 + (size_t)rand_r(&seed) % (64 * KIB);
        if (*block)
            EXPECT(rand_r(&seed) % 2 ? vendor.free(*block) : vendor.free_async(*block, stream), ==,
                   0);
        *block = 0;
        if (rand_r(&seed) % 2)
            EXPECT(vendor.alloc(block, size_bytes), ==, 0);
        else
            EXPECT(vendor.alloc_async(block, size_bytes, stream), ==, 0);
    }
    for (int i = 0; i < 64; i++)
        if (blocks[i]) EXPECT(vendor.free(blocks[i]), ==, 0);
    EXPECT(vendor.stream_destroy(stream), ==, 0);
    return NULL;
}

static void threads(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, thread_main, (void *)(i + 1)), ==, 0);
    for (size_t i = 0; i < THREADS; i++)
        EXPECT(pthread_join(threads[i], NULL), ==, 0);
    EXPECT(sim_misuse_count(), ==, 0);
    /* The pools give back memory that was told as free before. */
    size_t free_before, free_after;
    address x = 99;
    EXPECT(vendor.info(&free_before, NULL), ==, 0);
    EXPECT(vendor.alloc(&x, 100 * GIB), ==, 2);
    EXPECT(vendor.info(&free_after, NULL), ==, 0);
    EXPECT(free_after, ==, free_before);
}

static address late;

static void free_late(void)
{
    address x = 0;
    EXPECT(vendor.free(late), ==, 0);
    EXPECT(vendor.alloc(&x, KIB), ==, 0);
    EXPECT(vendor.free(x), ==, 0);
}

/* Exit handlers and destructors run before and after the library's own, and free memory. */
static void exits(void)
{
    EXPECT(atexit(free_late), ==, 0);
    late = alloc(MIB);
}

static address later;

__attribute__((destructor)) static void free_later(void)
{
    if (later) EXPECT(vendor.free(later), ==, 0);
}

static void exits_later(void)
{
    later = alloc(MIB);
}

/* --- a vendor that fails ------------------------------------------------------------------------------ */

/* Every call of the vendor fails once, in turn. What was allocated can be freed, and in the end all works. */
static void every_call_fails(void)
{
    size_t fault_count = 1;
    for (size_t nth = 1; fault_count > 0; nth++) {
        void *stream = new_stream();
        address x = 0, y = 0;
        sim_fail_calls(NULL, nth, 1, SIM_STATUS_UNKNOWN);
        int x_error = vendor.alloc(&x, MIB), y_error = vendor.alloc_async(&y, 40 * MIB, stream);
        EXPECT(x_error == 0, ==, x != 0);
        EXPECT(y_error == 0, ==, y != 0);
        if (x) (void)vendor.fill(x, 1, MIB, stream);
        int x_freed = x ? vendor.free(x) : 0, y_freed = y ? vendor.free_async(y, stream) : 0;
        fault_count = sim_fault_count();
        sim_forget_faults();
        if (x_freed != 0) EXPECT(vendor.free(x), ==, 0);
        if (y_freed != 0) EXPECT(vendor.free_async(y, stream), ==, 0);
        EXPECT(vendor.stream_destroy(stream), ==, 0);
        EXPECT(vendor.free(alloc(MIB)), ==, 0);
        EXPECT(program_reset(), ==, 0); /* begins with a new pool */
        EXPECT(sim_alive(SIM_THING_MEMORY), ==, 0);
        EXPECT(sim_misuse_count(), ==, 0);
    }
}

/* --- without a pool ----------------------------------------------------------------------------------- */

/* With TARN_RUN_PASS=1, or a variable that does not parse. */
static void passes(void)
{
    address x = alloc(MIB), y = 0;
    EXPECT(vendor.alloc_async(&y, MIB, NULL), ==, 0);
    EXPECT(vendor_allocs(), ==, 1);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(sim_call_count("free"), ==, 1);
    EXPECT(vendor.free_async(y, NULL), ==, 0);
}

static const struct scenario scenarios[] = {
    { "basic", basic },
    { "free_waits", free_waits },
    { "stream_order", stream_order },
    { "info", info },
    { "range", range },
    { "wrong_frees", wrong_frees },
    { "odd_sizes", odd_sizes },
    { "other_kinds", other_kinds },
    { "gives_way", gives_way },
    { "lean_reset", lean_reset },
    { "limited", limited },
    { "up_to", up_to },
    { "stream_ends", stream_ends },
    { "capture", capture },
    { "capture_ends", capture_ends },
    { "forks", forks },
    { "threads", threads },
    { "exits", exits },
    { "exits_later", exits_later },
    { "every_call_fails", every_call_fails },
    { "passes", passes },
    { NULL, NULL },
};

static bool run(const struct scenario *list, const char *name)
{
    for (size_t i = 0; list[i].name; i++) {
        if (strcmp(list[i].name, name) != 0) continue;
        list[i].run();
        EXPECT(sim_misuse_count(), ==, 0);
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    EXPECT(argc, ==, 3);
    EXPECT(program_calls_find(argv[1]), ==, true);
    program_start();
    if (run(scenarios, argv[2]) || run(program_scenarios, argv[2])) return 0;
    fprintf(stderr, "no scenario %s\n", argv[2]);
    return 2;
}
