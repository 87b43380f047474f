/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * example_runner: runs one of the documents' examples over host memory. Without an argument it says how many
 * there are.
 *
 * expect_examples compiles it, with a file that it writes: the examples as functions, and a table of them.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include <tarn/host.h>
#include <tarn/tarn.h>

/* --- what an example may use without saying where it comes from --------------------------------------- */

static tarn_backend backend;
static tarn_pool *pool;
static tarn_stream a, b, stream;
static const size_t size_bytes = (size_t)1 << 20;
static void *x, *y, *z;

/* Stands for a kernel that reads and writes the memory. */
static void launch(void *memory, tarn_stream on)
{
    if (backend.operations->fill(backend.state, memory, 1, size_bytes, on).status !=
        TARN_STATUS_OK) {
        abort();
    }
}

/* CUDA's own declarations where they are, to see that the examples are right; otherwise as much as they need,
 * over the host's streams. */
#ifdef EXAMPLES_WITH_CUDA
#include <cuda_runtime_api.h>
static cudaEvent_t event;
static cudaGraph_t graph;
static cudaGraphExec_t executable;
#else
static tarn_event event;
static void *graph, *executable;
#define cudaStreamCaptureModeGlobal 0

static void cudaStreamDestroy(tarn_stream which)
{
    backend.operations->stream_destroy(backend.state, which);
    if (which == stream) stream = NULL;
}

static void cudaEventRecord(tarn_event which, tarn_stream on)
{
    backend.operations->event_record(backend.state, which, on);
}

static void cudaStreamWaitEvent(tarn_stream who, tarn_event which, unsigned flags)
{
    (void)flags;
    backend.operations->stream_wait_event(backend.state, who, which);
}

static void cudaDeviceReset(void)
{
}

static void cudaStreamBeginCapture(tarn_stream which, int mode)
{
    (void)which, (void)mode;
}

static void cudaStreamEndCapture(tarn_stream which, void **graph_out)
{
    (void)which;
    *graph_out = NULL;
}

static void cudaGraphLaunch(void *which, tarn_stream on)
{
    (void)which, (void)on;
}

static void cudaGraphExecDestroy(void *which)
{
    (void)which;
}
#endif

/* --- the examples ------------------------------------------------------------------------------------- */

/* What the first call that failed said; NULL: none has. */
static const char *first_failure;

/* Around each call of an example. */
static tarn_status note(tarn_status status, const char *function)
{
    static char text[600];
    if (status == TARN_STATUS_OK || first_failure) return status;
    snprintf(text, sizeof text, "%s: %s: %s", function, tarn_status_name(status),
             tarn_last_error().message);
    first_failure = text;
    return status;
}

struct example {
    const char *place; /* as a compiler would name it: file and line */
    void (*run)(void);
    bool fails; /* some call of tarn's in it, as it says itself */
};

#include EXAMPLES_FILE

/* --- running one -------------------------------------------------------------------------------------- */

static void fail(const char *place, const char *reason)
{
    printf("%s: %s\n", place, reason);
    exit(EXIT_FAILURE);
}

static tarn_stream create_stream(void)
{
    tarn_stream created = NULL;
    (void)backend.operations->stream_create(backend.state, &created);
    return created;
}

static void set_up(void)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    tarn_event created = NULL;
    if (tarn_host_backend_open(NULL, &backend) != TARN_STATUS_OK ||
        tarn_pool_create(&options, &pool) != TARN_STATUS_OK) {
        fail("before the example", tarn_last_error().message);
    }
    (void)backend.operations->event_create(backend.state, &created);
    event = created;
    a = create_stream();
    b = create_stream();
    stream = create_stream();
    if (!event || !a || !b || !stream) fail("before the example", "there are no streams");
}

int main(int argument_count, char **arguments)
{
    size_t count = sizeof examples / sizeof examples[0];
    if (argument_count == 1) {
        printf("%zu\n", count);
        return EXIT_SUCCESS;
    }
    size_t number = strtoul(arguments[1], NULL, 10);
    if (number >= count) fail(arguments[1], "there is no such example");
    const struct example *example = &examples[number];

    set_up();
    example->run();
    if (first_failure && !example->fails) fail(example->place, first_failure);
    if (!first_failure && example->fails) fail(example->place, "no call failed");
    /* The example may have ended it itself. */
    if (tarn_pool_destroy(pool) == TARN_STATUS_LIVE_REGIONS)
        fail(example->place, tarn_last_error().message);
    return EXIT_SUCCESS;
}
