/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Several threads allocate from one pool, one by one and in batches, each under a label of its own and some that all
 * have, write what they get, hand blocks to each other to be resized and freed, look addresses up, read statistics,
 * trim and check; all at once. What a
 * thread wrote must be there when the block is freed. Under the thread sanitizer it shows races, under the
 * address sanitizer what outlives its memory.
 */
#include <pthread.h>
#include <stdio.h>

#include "harness/claims.h"
#include "harness/random.h"

#include "tarn/host.h"

enum {
    THREADS = 4,
    STEPS = 20000,
    SLOTS = 64,
    BATCH = 8,
    SHARED_LABELS = 8
};

struct block {
    unsigned char *address;
    size_t size_bytes;
    unsigned char mark;
};

struct shared {
    tarn_pool *pool;
    uint64_t seed;
    pthread_mutex_t lock; /* of the slots alone: the pool needs none */
    struct block slots[SLOTS];
};

struct worker {
    struct shared *shared;
    unsigned number;
    size_t failures;
    size_t alloc_count; /* under its own label */
};

static void label_of(char text[32], const char *kind, unsigned number)
{
    snprintf(text, 32, "%s %u", kind, number);
}

/* All zero if the pool has not met the label. */
static tarn_label_stats stats_of_label(tarn_pool *pool, const char *label)
{
    tarn_label_stats stats = TARN_LABEL_STATS_INIT;
    for (size_t i = 0; tarn_pool_label_stats(pool, i, &stats) == TARN_STATUS_OK; i++) {
        if (strcmp(stats.label, label) == 0) return stats;
    }
    return (tarn_label_stats)TARN_LABEL_STATS_INIT;
}

/* Puts a block into a slot and takes out the one that was there, whoever's it was. */
static struct block swap(struct shared *shared, size_t slot, struct block block)
{
    pthread_mutex_lock(&shared->lock);
    struct block before = shared->slots[slot];
    shared->slots[slot] = block;
    pthread_mutex_unlock(&shared->lock);
    return before;
}

/* The block keeps its address and what was written before its end. */
static size_t resize_block(struct shared *shared, struct block *block, size_t size_bytes)
{
    if (!block->address) return 0;
    tarn_status status = tarn_pool_resize(shared->pool, block->address, size_bytes);
    if (status == TARN_STATUS_NOT_IN_PLACE) return 0;
    block->size_bytes = size_bytes;
    size_t failures = status != TARN_STATUS_OK;
    failures += block->address[0] != block->mark;
    block->address[size_bytes - 1] = block->mark;
    return failures;
}

/* Several by one call each; nobody else has them meanwhile. */
static size_t use_batch(struct shared *shared, struct random *random)
{
    size_t sizes[BATCH], failures = 0;
    void *addresses[BATCH];
    for (size_t i = 0; i < BATCH; i++)
        sizes[i] = (size_t)random_size(random, 12);
    if (tarn_pool_alloc_many(shared->pool, BATCH, sizes, addresses) != TARN_STATUS_OK) return 1;
    for (size_t i = 0; i < BATCH; i++)
        memset(addresses[i], (int)i, sizes[i]);
    for (size_t i = 0; i < BATCH; i++) {
        failures += ((unsigned char *)addresses[i])[0] != i;
        failures += ((unsigned char *)addresses[i])[sizes[i] - 1] != i;
    }
    failures += tarn_pool_free_many(shared->pool, BATCH, addresses) != TARN_STATUS_OK;
    return failures;
}

static size_t free_block(struct shared *shared, struct block block)
{
    if (!block.address) return 0;
    size_t failures = 0;
    failures += block.address[0] != block.mark;
    failures += block.address[block.size_bytes - 1] != block.mark;
    tarn_allocation found = TARN_ALLOCATION_INIT;
    failures += tarn_pool_find(block.address + block.size_bytes / 2, &found) != TARN_STATUS_OK;
    failures += found.address != block.address;
    failures +=
        block.size_bytes % 2 == 0
            ? tarn_pool_free(shared->pool, block.address) != TARN_STATUS_OK
            : tarn_pool_free_sized(shared->pool, block.address, block.size_bytes) != TARN_STATUS_OK;
    return failures;
}

static size_t look_around(struct shared *shared, struct random *random)
{
    tarn_stats stats = TARN_STATS_INIT;
    size_t failures = tarn_pool_stats(shared->pool, &stats) != TARN_STATUS_OK;
    failures += stats.requested_bytes > stats.used_bytes;
    failures += stats.used_bytes > stats.footprint_bytes;
    failures += stats.live_count > stats.live_count_max;
    tarn_label_stats label = TARN_LABEL_STATS_INIT;
    for (size_t i = 0; tarn_pool_label_stats(shared->pool, i, &label) == TARN_STATUS_OK; i++)
        failures += label.live_bytes > label.live_bytes_max || label.live_count > label.alloc_count;
    switch (random_below(random, 5)) {
    case 2:
        failures += tarn_pool_reset_peaks(shared->pool) != TARN_STATUS_OK;
        break;
    case 0:
        failures += tarn_pool_trim(shared->pool, 0, NULL) != TARN_STATUS_OK;
        break;
    case 1:
        failures += tarn_pool_check(shared->pool) != TARN_STATUS_OK;
        break;
    default:
        failures += tarn_pool_free(shared->pool, &stats) != TARN_STATUS_FOREIGN_ADDRESS;
        break;
    }
    return failures;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct shared *shared = worker->shared;
    struct random random = random_init(shared->seed + worker->number);
    char own[32], common[32];
    label_of(own, "thread", worker->number);
    tarn_label_push(own);
    for (int step = 0; step < STEPS; step++) {
        struct block block = { NULL, (size_t)random_size(&random, 15), (unsigned char)step };
        void *address;
        bool is_common = random_below(&random, 4) == 0;
        label_of(common, "common", (unsigned)random_below(&random, SHARED_LABELS));
        if (is_common) tarn_label_push(common);
        if (random_below(&random, 8) != 0) {
            worker->alloc_count += !is_common;
            worker->failures +=
                tarn_pool_alloc(shared->pool, block.size_bytes, &address) != TARN_STATUS_OK;
            block.address = address;
            block.address[0] = block.mark;
            block.address[block.size_bytes - 1] = block.mark;
        }
        if (is_common) tarn_label_pop();
        size_t slot = (size_t)random_below(&random, SLOTS);
        block = swap(shared, slot, block);
        if (random_below(&random, 4) == 0)
            worker->failures += resize_block(shared, &block, (size_t)random_size(&random, 15));
        worker->failures += free_block(shared, block);
        if (step % 32 == 0) {
            worker->failures += use_batch(shared, &random);
            worker->alloc_count += BATCH;
        }
        if (step % 512 == 0) worker->failures += look_around(shared, &random);
    }
    tarn_label_pop();
    return NULL;
}

static void run(bool is_contiguous)
{
    static struct shared shared;
    memset(&shared, 0, sizeof shared);
    shared.seed = random_seed(20260201);
    pthread_mutex_init(&shared.lock, NULL);
    tarn_backend backend = new_host_backend(NULL);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = 64 * 1024;
    options.growth_factor = 1.0;
    options.contiguous = is_contiguous;
    options.step_bytes = 64 * 1024;
    expect_ok(tarn_pool_create(&options, &shared.pool));

    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ &shared, i, 0, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    for (size_t slot = 0; slot < SLOTS; slot++)
        assert_int_equal(free_block(&shared, shared.slots[slot]), 0);
    expect_ok(tarn_pool_check(shared.pool));
    for (unsigned i = 0; i < THREADS + SHARED_LABELS; i++) {
        char label[32];
        bool is_own = i < THREADS;
        label_of(label, is_own ? "thread" : "common", is_own ? i : i - THREADS);
        tarn_label_stats stats = stats_of_label(shared.pool, label);
        assert_int_equal(stats.live_count, 0);
        assert_int_equal(stats.live_bytes, 0);
        if (is_own) assert_int_equal(stats.alloc_count, workers[i].alloc_count);
    }
    expect_ok(tarn_pool_destroy(shared.pool));
    tarn_backend_close(&backend);
}

static void everything_from_every_thread_at_once(void **state)
{
    run(false);
}

static void the_same_in_a_contiguous_pool(void **state)
{
    run(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_from_every_thread_at_once),
        cmocka_unit_test(the_same_in_a_contiguous_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
