/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * dump_pool: makes a pool over host memory, uses it, and prints its dump as JSON, for tests of tarn-map.
 *
 *     dump_pool plain | labels | contiguous | streams | empty | many
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tarn/host.h>
#include <tarn/tarn.h>

enum {
    BLOCKS = 400,
    MANY_BLOCKS = 200000
};

static void expect_ok(tarn_status status)
{
    if (status == TARN_STATUS_OK) return;
    fprintf(stderr, "dump_pool: %s: %s\n", tarn_status_name(status), tarn_last_error().message);
    exit(EXIT_FAILURE);
}

static void *allocate(tarn_pool *pool, size_t size)
{
    void *block;
    expect_ok(tarn_pool_alloc(pool, size, &block));
    return block;
}

/* Sizes from 8 bytes to 4 MiB, of which every third is freed. */
static void use(tarn_pool *pool)
{
    void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        tarn_label_push(i % 2 ? "mesh <\"1\">" : "field");
        blocks[i] = allocate(pool, (size_t)8 << i % 20);
        tarn_label_pop();
    }
    for (size_t i = 0; i < BLOCKS; i += 3)
        expect_ok(tarn_pool_free(pool, blocks[i]));
}

/* As many regions as a long run leaves behind: every second block of a chunk is freed. */
static void use_much(tarn_pool *pool)
{
    void **blocks = malloc(MANY_BLOCKS * sizeof *blocks);
    if (!blocks) exit(EXIT_FAILURE);
    for (size_t i = 0; i < MANY_BLOCKS; i++)
        blocks[i] = allocate(pool, 1000 + i % 7 * 512);
    for (size_t i = 0; i < MANY_BLOCKS; i += 2)
        expect_ok(tarn_pool_free(pool, blocks[i]));
    free(blocks);
}

/* What is freed on two streams that have not come to an end of their work. */
static void use_on_streams(tarn_pool *pool, const tarn_backend *backend, tarn_stream streams[2])
{
    void *blocks[30];
    for (size_t i = 0; i < 2; i++)
        expect_ok(backend->operations->stream_create(backend->state, &streams[i]).status);
    for (size_t i = 0; i < 30; i++)
        expect_ok(tarn_pool_alloc_on(pool, (size_t)256 << 10, streams[i % 2], &blocks[i]));
    for (size_t i = 0; i < 30; i += 3)
        expect_ok(tarn_pool_free_on(pool, blocks[i], streams[i % 2]));
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "plain";
    tarn_backend backend;
    expect_ok(tarn_host_backend_open(NULL, &backend));
    tarn_stream streams[2] = { NULL, NULL };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = (size_t)16 << 20;
    options.contiguous = strcmp(what, "contiguous") == 0;
    options.debug = strcmp(what, "labels") == 0 ? TARN_DEBUG_SITES : 0U;

    tarn_pool *pool;
    expect_ok(tarn_pool_create(&options, &pool));
    if (strcmp(what, "many") == 0) {
        use_much(pool);
    } else if (strcmp(what, "streams") == 0) {
        use_on_streams(pool, &backend, streams);
    } else if (strcmp(what, "empty") != 0) {
        use(pool);
    }
    expect_ok(tarn_pool_dump(pool, TARN_DUMP_FORMAT_JSON, stdout));
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    for (size_t i = 0; i < 2; i++)
        if (streams[i])
            expect_ok(backend.operations->stream_destroy(backend.state, streams[i]).status);
    tarn_backend_close(&backend);
    return EXIT_SUCCESS;
}
