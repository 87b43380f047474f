/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * run_program: a program of CUDA that knows nothing of tarn. It runs with libtarn_run_cuda.so preloaded, over a driver
 * that is simulated, whose calls it counts.
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

#include "../../sim/sim_control.h"
#include "program_calls.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

#define EXPECT(left, relation, right)                                                              \
    do {                                                                                           \
        unsigned long long left_ = (unsigned long long)(left),                                     \
                           right_ = (unsigned long long)(right);                                   \
        if (!(left_ relation right_)) {                                                            \
            fprintf(stderr, "%s:%d: %s %s %s is wrong: %#llx, %#llx\n", __FILE__, __LINE__, #left, \
                    #relation, #right, left_, right_);                                             \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void *primary;

/* What a runtime does at its start. */
static void start(void)
{
    EXPECT(cuda.init(0), ==, 0);
    EXPECT(cuda.primary_retain(&primary, 0), ==, 0);
    EXPECT(cuda.context_set(primary), ==, 0);
}

static address alloc(size_t size_bytes)
{
    address made = 0;
    EXPECT(cuda.alloc(&made, size_bytes), ==, 0);
    EXPECT(made, !=, 0);
    return made;
}

static void *new_stream(void)
{
    void *stream = NULL;
    EXPECT(cuda.stream_create(&stream, 1), ==, 0);
    return stream;
}

static size_t driver_allocs(void)
{
    return sim_call_count("cuMemAlloc_v2");
}

/* A lean pool takes memory by other calls: see TARN_PRESET in the test's environment. */
static bool is_lean(void)
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
        EXPECT(cuda.fill(blocks[i], (unsigned char)i, 1 + i * 100, NULL), ==, 0);
    }
    EXPECT(driver_allocs(), ==, 1);
    EXPECT(cuda.copy((address)seen, blocks[10], 1000, NULL), ==, 0);
    EXPECT(cuda.synchronize(), ==, 0);
    EXPECT(seen[0], ==, 10);
    EXPECT(seen[999], ==, 10);
    for (size_t i = 0; i < 100; i++)
        EXPECT(cuda.free(blocks[i]), ==, 0);
    EXPECT(sim_call_count("cuMemFree_v2"), ==, 0);
}

/* A free waits for the work of all streams before the memory is used again. */
static void free_waits(void)
{
    void *a = new_stream(), *b = new_stream();
    for (int i = 0; i < 50; i++) {
        address x = alloc(MIB);
        EXPECT(cuda.fill(x, 1, MIB, i % 2 ? a : b), ==, 0);
        EXPECT(cuda.free(x), ==, 0);
        address y = alloc(MIB);
        unsigned char seen = 0;
        EXPECT(cuda.fill(y, 2, MIB, i % 2 ? b : a), ==, 0);
        EXPECT(cuda.stream_synchronize(i % 2 ? b : a), ==, 0);
        EXPECT(cuda.synchronize(), ==, 0);
        EXPECT(sim_peek(&seen, (void *)y, 1), ==, true);
        EXPECT(seen, ==, 2);
        EXPECT(cuda.free(y), ==, 0);
    }
    EXPECT(driver_allocs(), ==, is_lean() ? 0 : 1);
    EXPECT(sim_call_count("cuMemCreate"), ==, is_lean() ? 1 : 0);
    EXPECT(cuda.stream_destroy(a), ==, 0);
    EXPECT(cuda.stream_destroy(b), ==, 0);
}

static void stream_order(void)
{
    void *a = new_stream(), *b = new_stream();
    address x = 0, y = 0;
    EXPECT(cuda.alloc_async(&x, MIB, a), ==, 0);
    EXPECT(cuda.fill(x, 1, MIB, a), ==, 0);
    EXPECT(cuda.free_async(x, a), ==, 0);
    sim_forget_calls();
    EXPECT(cuda.alloc_async(&y, MIB, a), ==, 0);
    EXPECT(y, ==, x);
    EXPECT(sim_call_count("cuEventRecord"), ==, 0);
    EXPECT(cuda.free_async(y, a), ==, 0);
    EXPECT(cuda.alloc_async(&y, MIB, NULL), ==, 0);
    EXPECT(cuda.free_async(y, b), ==, 0);
    EXPECT(cuda.alloc_async(&y, MIB, b), ==, 0);
    EXPECT(cuda.free(y), ==, 0); /* either free takes memory of either allocation */
    EXPECT(cuda.free_async(alloc(MIB), a), ==, 0);
    EXPECT(sim_call_count("cuMemAllocAsync") + sim_call_count("cuMemAllocAsync_ptsz"), ==, 0);
    EXPECT(cuda.stream_destroy(a), ==, 0);
    EXPECT(cuda.stream_destroy(b), ==, 0);
}

static void info(void)
{
    size_t free_before, free_after, total;
    EXPECT(cuda.info(&free_before, &total), ==, 0);
    EXPECT(total, ==, 8 * GIB);
    address x = alloc(MIB);
    EXPECT(cuda.free(x), ==, 0);
    EXPECT(cuda.info(&free_after, NULL), ==, 0);
    EXPECT(free_after, ==, free_before);
    EXPECT(cuda.info(NULL, &total), ==, 0);
    EXPECT(total, ==, 8 * GIB);
    EXPECT(cuda.info(NULL, NULL), ==, 0);
}

/* MPI libraries send the range, and a handle of it, to other processes: both are the driver's. */
static void range(void)
{
    address x = alloc(KIB), y = alloc(KIB), base = 0, start = 0, handle = 0;
    size_t size_bytes = 0;
    EXPECT(cuda.range(&base, &size_bytes, y), ==, 0);
    EXPECT(base, <=, x);
    EXPECT(size_bytes, >=, MIB);
    EXPECT(cuda.attribute(&start, 11, y), ==, 0);
    EXPECT(start, ==, base);
    EXPECT(cuda.ipc_handle(&handle, y), ==, 0);
    EXPECT(handle, ==, base);
    EXPECT(cuda.free(x), ==, 0);
    EXPECT(cuda.free(y), ==, 0);
}

/* libgomp gets the range of its allocation: see gomp_plugin.c. */
static void gomp(void)
{
    void *plugin = dlopen(getenv("GOMP_PLUGIN"), RTLD_NOW);
    EXPECT(plugin, !=, NULL);
    int (*plugin_range)(address *, size_t *, address);
    void *found = dlsym(plugin, "plugin_range");
    memcpy(&plugin_range, &found, sizeof found);
    address x = alloc(KIB), y = alloc(3000), base = 0;
    size_t size_bytes = 0;
    EXPECT(plugin_range(&base, &size_bytes, y), ==, 0);
    EXPECT(base, ==, y);
    EXPECT(size_bytes, ==, 3000);
    EXPECT(cuda.free(x), ==, 0);
    EXPECT(cuda.free(y), ==, 0);
    address managed = 0;
    EXPECT(cuda.alloc_managed(&managed, MIB, 1), ==, 0);
    EXPECT(plugin_range(&base, &size_bytes, managed), ==, 0);
    EXPECT(base, ==, managed);
    EXPECT(cuda.free(managed), ==, 0);
}

static void wrong_frees(void)
{
    address x = alloc(MIB), y = alloc(MIB);
    EXPECT(cuda.free(x + 512), ==, 1);
    EXPECT(cuda.free(x), ==, 0);
    EXPECT(cuda.free(x), ==, 1); /* the start of the static pool, which the driver would take */
    EXPECT(cuda.free(12345), ==, 1);
    EXPECT(cuda.free(0), ==, 0);
    EXPECT(cuda.free_async(x, NULL), ==, 1);
    EXPECT(cuda.free(y), ==, 0);
    EXPECT(cuda.free(alloc(2 * MIB)), ==, 0);
}

static void odd_sizes(void)
{
    address x = 99;
    EXPECT(cuda.alloc(&x, 0), ==, 1);
    EXPECT(x, ==, 99);
    EXPECT(cuda.alloc(NULL, 100), ==, 1);
    EXPECT(cuda.alloc(&x, 100 * GIB), ==, 2);
    EXPECT(x, ==, 99);
    EXPECT(cuda.alloc(&x, SIZE_MAX), !=, 0);
    EXPECT(x, ==, 99);
    EXPECT(cuda.context_set(NULL), ==, 0);
    EXPECT(cuda.alloc(&x, 100), ==, 201); /* the driver's answer without a context */
    EXPECT(x, ==, 99);
}

/* Managed memory and arrays stay the driver's, and free as such. */
static void other_kinds(void)
{
    address managed = 0;
    void *array = NULL;
    size_t size_bytes = MIB;
    EXPECT(cuda.alloc_managed(&managed, MIB, 1), ==, 0);
    EXPECT(cuda.array_create(&array, &size_bytes), ==, 0);
    EXPECT(driver_allocs(), ==, 0);
    EXPECT(cuda.free(managed), ==, 0);
    EXPECT(cuda.free((address)array), ==, 0);
    EXPECT(sim_call_count("cuMemFree_v2"), ==, 2);
    EXPECT(cuda.set_pool(0, NULL), ==, 0);
    address x = 0;
    EXPECT(cuda.alloc_async(&x, MIB, NULL), ==, 0);
    EXPECT(sim_call_count("cuMemAllocAsync") + sim_call_count("cuMemAllocAsync_ptsz"), ==, 1);
    EXPECT(cuda.free_async(x, NULL), ==, 0);
    EXPECT(sim_call_count("cuMemFreeAsync") + sim_call_count("cuMemFreeAsync_ptsz"), ==, 1);
}

/* What pools hold and do not need is no reason to lack memory. */
static void gives_way(void)
{
    void *array = NULL;
    size_t size_bytes = 7 * GIB;
    address x = alloc(2 * GIB), y = alloc(2 * GIB);
    EXPECT(cuda.array_create(&array, &size_bytes), ==, 2);
    EXPECT(cuda.free(x), ==, 0);
    EXPECT(cuda.free(y), ==, 0);
    EXPECT(cuda.array_create(&array, &size_bytes), ==, 0);
    EXPECT(cuda.alloc(&x, 2 * GIB), ==, 2);
    EXPECT(cuda.free((address)array), ==, 0);
    EXPECT(cuda.free(alloc(7 * GIB)), ==, 0);
}

/* A limit of the pool is none of the program: see TARN_LIMIT in the test's environment. */
static void limited(void)
{
    address x = alloc(MIB), y = alloc(64 * MIB);
    EXPECT(driver_allocs(), >=, 2);
    EXPECT(cuda.free(y), ==, 0);
    EXPECT(sim_call_count("cuMemFree_v2"), ==, 1);
    EXPECT(cuda.free(x), ==, 0);
}

/* --- contexts, streams, captures ---------------------------------------------------------------------- */

static void contexts(void)
{
    void *first = NULL, *second = NULL;
    EXPECT(cuda.context_create(&first, 0, 0), ==, 0);
    address x = alloc(MIB);
    EXPECT(cuda.context_create(&second, 0, 1), ==, 0);
    address y = alloc(MIB);
    EXPECT(driver_allocs(), ==, is_lean() ? 0 : 2);
    EXPECT(cuda.free(x), ==, 0); /* whichever context is current */
    EXPECT(cuda.context_set(NULL), ==, 0);
    EXPECT(cuda.free(y), ==, 0);
    EXPECT(sim_call_count("cuMemFree_v2"), ==, 0);
    EXPECT(cuda.context_set(second), ==, 0);
    y = alloc(MIB);
    EXPECT(cuda.context_destroy(second), ==, 0);
    EXPECT(cuda.free(y), ==, 1);
    EXPECT(cuda.context_destroy(second), ==, 201);
    EXPECT(cuda.context_set(first), ==, 0);
    EXPECT(cuda.free(alloc(MIB)), ==, 0);
    EXPECT(cuda.context_destroy(first), ==, 0);
    EXPECT(sim_alive(SIM_THING_MEMORY), ==, 0);
    for (int i = 0; i < 200; i++) { /* more than there are slots, one after the other */
        EXPECT(cuda.context_create(&first, 0, 0), ==, 0);
        (void)alloc(KIB);
        EXPECT(cuda.context_destroy(first), ==, 0);
    }
    EXPECT(sim_call_count("cuMemAllocAsync"), ==, 0);
}

/* A green context has no pool, since other contexts use its memory. */
static void green(void)
{
    void *context = NULL, *green = NULL;
    EXPECT(cuda.context_create(&context, 0, 0), ==, 0);
    EXPECT(cuda.from_green(&green, context), ==, 0);
    address x = alloc(KIB);
    EXPECT(driver_allocs(), ==, 1);
    EXPECT(cuda.context_set(primary), ==, 0);
    address y = alloc(KIB);
    EXPECT(cuda.free(x), ==, 0);
    EXPECT(sim_call_count("cuMemFree_v2"), ==, 1);
    EXPECT(cuda.free(y), ==, 0);
    EXPECT(sim_call_count("cuMemFree_v2"), ==, 1);
}

/* Work of another device that uses the memory is over before the memory is used again. */
static void peers(void)
{
    void *second = NULL;
    address x = alloc(MIB);
    EXPECT(cuda.context_create(&second, 0, 1), ==, 0);
    void *stream = new_stream();
    EXPECT(cuda.enable_peer(primary, 0), ==, 0);
    for (int i = 0; i < 20; i++) {
        unsigned char seen = 0;
        address used = x;
        EXPECT(cuda.context_set(second), ==, 0);
        EXPECT(cuda.fill(x, (unsigned char)(i + 1), MIB, stream), ==, 0);
        EXPECT(cuda.context_set(primary), ==, 0);
        EXPECT(cuda.free(x), ==, 0);
        EXPECT(sim_peek(&seen, (void *)used, 1), ==, true);
        EXPECT(seen, ==, i + 1);
        x = alloc(MIB);
    }
    EXPECT(cuda.free(x), ==, 0);
    EXPECT(cuda.context_destroy(second), ==, 0);
    sim_forget_calls();
    EXPECT(cuda.free(alloc(MIB)), ==, 0);
    EXPECT(sim_call_count("cuCtxPushCurrent_v2"), ==, 0);
}

/* A context that the driver refuses to end keeps its pool. */
static void refused_end(void)
{
    address x = alloc(MIB);
    sim_fail_calls("cuDevicePrimaryCtxReset_v2", 1, 1, SIM_STATUS_UNKNOWN);
    EXPECT(cuda.primary_reset(0), ==, 999);
    size_t before = driver_allocs();
    EXPECT(cuda.free(x), ==, 0);
    EXPECT(cuda.free(alloc(MIB)), ==, 0);
    EXPECT(driver_allocs(), ==, before);
}

static void primary_context(void)
{
    address x = alloc(MIB);
    void *again;
    EXPECT(cuda.primary_reset(0), ==, 0);
    EXPECT(sim_alive(SIM_THING_MEMORY), ==, 0);
    EXPECT(cuda.free(x), ==, 1);
    x = alloc(MIB);
    EXPECT(cuda.primary_retain(&again, 0), ==, 0);
    EXPECT(cuda.primary_release(0), ==, 0);
    EXPECT(cuda.free(x), ==, 0); /* the context is still retained once */
    x = alloc(MIB);
    EXPECT(cuda.primary_release(0), ==, 0);
    EXPECT(sim_alive(SIM_THING_MEMORY), ==, 0);
    EXPECT(cuda.primary_retain(&primary, 0), ==, 0);
    EXPECT(cuda.free(alloc(MIB)), ==, 0);
}

/* The next stream may get the handle: see TARN_SIM_REUSE_STREAMS in the test's environment. */
static void stream_ends(void)
{
    for (int i = 0; i < 100; i++) {
        void *stream = new_stream();
        address x = 0;
        EXPECT(cuda.alloc_async(&x, MIB, stream), ==, 0);
        EXPECT(cuda.fill(x, 1, MIB, stream), ==, 0);
        EXPECT(cuda.free_async(x, stream), ==, 0);
        EXPECT(cuda.stream_destroy(stream), ==, 0);
    }
    EXPECT(sim_misuse_count(), ==, 0);
}

static void capture(void)
{
    void *stream = new_stream(), *graph = NULL;
    address x = alloc(MIB), y = 0, z = 0;
    for (int i = 0; i < 3; i++) {
        EXPECT(cuda.begin_capture(stream, 2), ==,
               0); /* relaxed, so that the driver allows allocations */
        sim_capture_exchange_mode(SIM_CAPTURE_MODE_RELAXED);
        sim_forget_calls();
        EXPECT(cuda.free(x), ==, 0);
        EXPECT(sim_call_count(NULL), ==, 0);
        EXPECT(cuda.free(x + 512), ==, 1);
        EXPECT(cuda.alloc_async(&y, MIB, stream), ==, 0);
        EXPECT(sim_call_count("cuMemAllocAsync") + sim_call_count("cuMemAllocAsync_ptsz"), ==, 1);
        EXPECT(cuda.alloc(&z, MIB), ==, 0);
        EXPECT(driver_allocs(), ==, 1);
        EXPECT(cuda.end_capture(stream, &graph), ==, 0);
        EXPECT(graph, !=, NULL);
        EXPECT(cuda.free_async(y, NULL), ==, 0);
        EXPECT(cuda.free(z), ==, 0);
        EXPECT(sim_call_count("cuMemFree_v2"), ==, 1);
        EXPECT(cuda.free(x), ==, 1); /* it was freed when the capture ended */
        x = alloc(MIB);
        EXPECT(driver_allocs(), ==, 1);
    }
    EXPECT(cuda.free(x), ==, 0);
    EXPECT(cuda.stream_destroy(stream), ==, 0);
}

/* A capture ends with its stream, and one that did not begin is none. */
static void capture_ends(void)
{
    void *stream = new_stream();
    address x = alloc(MIB);
    EXPECT(cuda.begin_capture(stream, 2), ==, 0);
    EXPECT(cuda.begin_capture(stream, 2), !=, 0);
    EXPECT(cuda.free(x), ==, 0);
    (void)sim_capture_end();
    EXPECT(cuda.stream_destroy(stream), ==, 0);
    sim_fail_calls(NULL, 1, 1, SIM_STATUS_UNKNOWN);
    EXPECT(cuda.begin_capture(new_stream, 2), !=, 0);
    sim_forget_faults();
    size_t before = driver_allocs();
    EXPECT(cuda.free(alloc(MIB)), ==, 0);
    EXPECT(driver_allocs(), ==, before);
}

/* --- processes and threads ---------------------------------------------------------------------------- */

/* The child's calls are the driver's, whatever that makes of them. */
static void forks(void)
{
    address x = alloc(MIB);
    pid_t child = fork();
    EXPECT(child, >=, 0);
    if (child == 0) {
        address y = 0;
        sim_forget_calls();
        EXPECT(cuda.alloc(&y, KIB), ==, 0);
        EXPECT(driver_allocs(), ==, 1);
        EXPECT(cuda.free(y), ==, 0);
        EXPECT(sim_call_count("cuMemFree_v2"), ==, 1);
        exit(0);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0), ==, child);
    EXPECT(status, ==, 0);
    EXPECT(cuda.free(x), ==, 0);
}

#define THREADS 8

static void *thread_main(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    void *stream = NULL;
    address blocks[64] = { 0 };
    EXPECT(cuda.context_set(primary), ==, 0);
    EXPECT(cuda.stream_create(&stream, 1), ==, 0);
    for (int i = 0; i < 100; i++) {
        address *block = &blocks[rand_r(&seed) % 64];
        size_t size_bytes = (size_t)1 + (size_t)rand_r(&seed) % (64 * KIB);
        if (*block)
            EXPECT(rand_r(&seed) % 2 ? cuda.free(*block) : cuda.free_async(*block, stream), ==, 0);
        *block = 0;
        if (rand_r(&seed) % 2)
            EXPECT(cuda.alloc(block, size_bytes), ==, 0);
        else
            EXPECT(cuda.alloc_async(block, size_bytes, stream), ==, 0);
    }
    for (int i = 0; i < 64; i++)
        if (blocks[i]) EXPECT(cuda.free(blocks[i]), ==, 0);
    EXPECT(cuda.stream_destroy(stream), ==, 0);
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
}

static address late;

static void free_late(void)
{
    address x = 0;
    EXPECT(cuda.free(late), ==, 0);
    EXPECT(cuda.alloc(&x, KIB), ==, 0);
    EXPECT(cuda.free(x), ==, 0);
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
    if (later) EXPECT(cuda.free(later), ==, 0);
}

static void exits_later(void)
{
    later = alloc(MIB);
}

/* --- a driver that fails ------------------------------------------------------------------------------ */

/* Every call of the driver fails once, in turn. What was allocated can be freed, and in the end all works. */
static void every_call_fails(void)
{
    size_t fault_count = 1;
    for (size_t nth = 1; fault_count > 0; nth++) {
        void *stream = new_stream();
        address x = 0, y = 0;
        sim_fail_calls(NULL, nth, 1, SIM_STATUS_UNKNOWN);
        int x_error = cuda.alloc(&x, MIB), y_error = cuda.alloc_async(&y, 40 * MIB, stream);
        EXPECT(x_error == 0, ==, x != 0);
        EXPECT(y_error == 0, ==, y != 0);
        if (x) (void)cuda.fill(x, 1, MIB, stream);
        int x_freed = x ? cuda.free(x) : 0, y_freed = y ? cuda.free_async(y, stream) : 0;
        fault_count = sim_fault_count();
        sim_forget_faults();
        if (x_freed != 0) EXPECT(cuda.free(x), ==, 0);
        if (y_freed != 0) EXPECT(cuda.free_async(y, stream), ==, 0);
        EXPECT(cuda.stream_destroy(stream), ==, 0);
        EXPECT(cuda.free(alloc(MIB)), ==, 0);
        EXPECT(cuda.primary_reset(0), ==, 0); /* begins with a new pool */
        EXPECT(sim_alive(SIM_THING_MEMORY), ==, 0);
        EXPECT(sim_misuse_count(), ==, 0);
    }
}

/* --- without a pool ----------------------------------------------------------------------------------- */

/* With TARN_RUN_PASS=1, or a variable that does not parse. */
static void passes(void)
{
    address x = alloc(MIB), y = 0;
    EXPECT(cuda.alloc_async(&y, MIB, NULL), ==, 0);
    EXPECT(driver_allocs(), ==, 1);
    EXPECT(cuda.free(x), ==, 0);
    EXPECT(sim_call_count("cuMemFree_v2"), ==, 1);
    EXPECT(cuda.free_async(y, NULL), ==, 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    { "basic", basic },
    { "free_waits", free_waits },
    { "stream_order", stream_order },
    { "info", info },
    { "range", range },
    { "gomp", gomp },
    { "wrong_frees", wrong_frees },
    { "odd_sizes", odd_sizes },
    { "other_kinds", other_kinds },
    { "gives_way", gives_way },
    { "limited", limited },
    { "contexts", contexts },
    { "green", green },
    { "peers", peers },
    { "refused_end", refused_end },
    { "primary_context", primary_context },
    { "stream_ends", stream_ends },
    { "capture", capture },
    { "capture_ends", capture_ends },
    { "forks", forks },
    { "threads", threads },
    { "exits", exits },
    { "exits_later", exits_later },
    { "every_call_fails", every_call_fails },
    { "passes", passes },
};

int main(int argc, char **argv)
{
    EXPECT(argc, ==, 3);
    EXPECT(program_calls_find(argv[1]), ==, true);
    start();
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(scenarios[i].name, argv[2]) != 0) continue;
        scenarios[i].run();
        EXPECT(sim_misuse_count(), ==, 0);
        return 0;
    }
    fprintf(stderr, "no scenario %s\n", argv[2]);
    return 2;
}
