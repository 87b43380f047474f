/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Random small requests, and larger ones among them, beside a list of what is live: nothing overlaps, every address is
 * found, alignments and sums are right, chunks are used as long as something of them is live and no longer. On one
 * stream and on several; what of a chunk is whose, stress_streams looks at. A look at a pool frees empty slabs that
 * were kept, so some programs look rarely.
 */
#include "harness/claims.h"
#include "harness/random.h"
#include "harness/test_backend.h"

enum {
    LIVE_MAX = 400,
    STREAMS = 3
};

struct block {
    char *address;
    size_t size_bytes;
};

struct scene {
    struct random dice;
    struct test_backend backend;
    tarn_pool *pool;
    size_t chunk_bytes;
    size_t alignment_bytes;
    unsigned stream_count;
    unsigned steps_per_look; /* about */
    struct block live[LIVE_MAX];
    size_t live_count;
    size_t requested_bytes;
};

static char handles[STREAMS];

static bool looks(struct scene *scene)
{
    return random_below(&scene->dice, scene->steps_per_look) == 0;
}

static tarn_stream some_stream(struct scene *scene)
{
    return (tarn_stream)&handles[random_below(&scene->dice, scene->stream_count)];
}

static size_t power_of_two_from(size_t size)
{
    size_t power = 1;
    while (power < size)
        power *= 2;
    return power;
}

/* What an allocation of so many bytes occupies: a slice or chunks. A larger slice where there was no chunk. */
static size_t least_usable(const struct scene *scene, size_t size)
{
    size_t chunk = scene->chunk_bytes, least = chunk / 64;
    if (least < scene->alignment_bytes) least = scene->alignment_bytes;
    if (size > chunk / 2 || least > chunk / 2) return (size + chunk - 1) / chunk * chunk;
    return size <= least ? least : power_of_two_from(size);
}

static void expect_found(struct scene *scene, const struct block *block)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    size_t usable = least_usable(scene, block->size_bytes);
    expect_ok(tarn_pool_find(block->address + random_below(&scene->dice, usable), &found));
    assert_ptr_equal(found.address, block->address);
    assert_int_equal(found.size_bytes, block->size_bytes);
    if (scene->stream_count == 1 && usable >= scene->chunk_bytes)
        assert_int_equal(found.usable_bytes, usable);
    assert_true(found.usable_bytes >= usable && found.usable_bytes <= scene->chunk_bytes + usable);
}

static void expect_apart(const struct scene *scene, const struct block *added)
{
    for (size_t i = 0; i < scene->live_count; i++) {
        const struct block *other = &scene->live[i];
        bool overlaps = added->address < other->address + other->size_bytes &&
                        other->address < added->address + added->size_bytes;
        if (overlaps)
            fail_msg("%zu bytes at %p overlap %zu at %p", added->size_bytes, (void *)added->address,
                     other->size_bytes, (void *)other->address);
    }
}

static void allocate(struct scene *scene)
{
    if (scene->live_count == LIVE_MAX) return;
    unsigned bits = random_below(&scene->dice, 8) == 0 ? 14 : 9;
    struct block block = { NULL, (size_t)random_size(&scene->dice, bits) };
    size_t alignment =
        random_below(&scene->dice, 4) == 0 ? (size_t)1 << random_below(&scene->dice, 12) : 1;
    void *address;
    tarn_status status = tarn_pool_alloc_aligned_on(scene->pool, block.size_bytes, alignment,
                                                    some_stream(scene), &address);
    if (status == TARN_STATUS_OVER_LIMIT) return;
    assert_int_equal(status, TARN_STATUS_OK);
    block.address = address;
    if (alignment < scene->alignment_bytes) alignment = scene->alignment_bytes;
    assert_int_equal((uintptr_t)address % alignment, 0);
    expect_apart(scene, &block);
    if (looks(scene)) expect_found(scene, &block);
    scene->live[scene->live_count++] = block;
    scene->requested_bytes += block.size_bytes;
}

static void free_one(struct scene *scene)
{
    if (scene->live_count == 0) return;
    size_t i = (size_t)random_below(&scene->dice, scene->live_count);
    struct block block = scene->live[i];
    bool is_looked_at = looks(scene);
    if (is_looked_at) expect_found(scene, &block);
    if (is_looked_at && block.size_bytes > 1) {
        char *inside = block.address + 1 + random_below(&scene->dice, block.size_bytes - 1);
        expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(scene->pool, inside));
    }
    const tarn_stream streams[] = { some_stream(scene), some_stream(scene) };
    expect_ok(tarn_pool_free_after(scene->pool, block.address, streams,
                                   (size_t)random_below(&scene->dice, 3)));
    if (is_looked_at)
        expect_status(TARN_STATUS_NOT_LIVE,
                      tarn_pool_free_on(scene->pool, block.address, some_stream(scene)));
    scene->live[i] = scene->live[--scene->live_count];
    scene->requested_bytes -= block.size_bytes;
}

/* Chunks in which something is live. */
static size_t used_chunks(const struct scene *scene)
{
    size_t count = 0;
    for (size_t i = 0; i < scene->live_count; i++) {
        const struct block *block = &scene->live[i];
        bool is_first = true;
        if (least_usable(scene, block->size_bytes) >= scene->chunk_bytes) {
            count += (block->size_bytes + scene->chunk_bytes - 1) / scene->chunk_bytes;
            continue;
        }
        for (size_t k = 0; k < i && is_first; k++)
            is_first = (uintptr_t)scene->live[k].address / scene->chunk_bytes !=
                       (uintptr_t)block->address / scene->chunk_bytes;
        count += is_first;
    }
    return count;
}

static void expect_sums(struct scene *scene)
{
    tarn_stats stats = stats_of(scene->pool);
    assert_int_equal(stats.live_count, scene->live_count);
    assert_int_equal(stats.requested_bytes, scene->requested_bytes);
    assert_int_equal(stats.used_bytes, used_chunks(scene) * scene->chunk_bytes);
    assert_true(stats.used_bytes + stats.free_bytes <= stats.footprint_bytes);
}

static void run(uint64_t seed, size_t chunk_bytes, size_t alignment_bytes, unsigned stream_count,
                bool is_contiguous, unsigned steps_per_look)
{
    static struct scene scene;
    memset(&scene, 0, sizeof scene);
    scene.dice = random_init(seed);
    scene.chunk_bytes = chunk_bytes;
    scene.alignment_bytes = alignment_bytes;
    scene.stream_count = stream_count;
    scene.steps_per_look = steps_per_look;
    test_backend_init(&scene.backend);
    scene.backend.has_streams = true;
    scene.backend.range_granularity_bytes = 4096;
    tarn_backend backend = test_backend_open(&scene.backend);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.chunk_bytes = chunk_bytes;
    options.alignment_bytes = alignment_bytes;
    options.initial_bytes = 64 * chunk_bytes;
    options.growth_factor = 1.0;
    options.limit_bytes = 256 * chunk_bytes;
    options.contiguous = is_contiguous;
    options.step_bytes = 16 * chunk_bytes;
    expect_ok(tarn_pool_create(&options, &scene.pool));
    for (int step = 0; step < 6000; step++) {
        unsigned towards_alloc = step / 500 % 2 == 0 ? 65 : 35;
        if (random_below(&scene.dice, 100) < towards_alloc) {
            allocate(&scene);
        } else {
            free_one(&scene);
        }
        if (random_below(&scene.dice, 200) == 0) expect_ok(tarn_pool_trim(scene.pool, 0, NULL));
        if (looks(&scene)) expect_ok(tarn_pool_check(scene.pool));
        if ((unsigned)step % (16 * steps_per_look) == 0) expect_sums(&scene);
        scene.backend.wait_count = 0;
    }
    while (scene.live_count > 0)
        free_one(&scene);
    expect_sums(&scene);
    expect_ok(tarn_pool_trim(scene.pool, 0, NULL));
    assert_int_equal(stats_of(scene.pool).footprint_bytes, 0);
    expect_ok(tarn_pool_destroy(scene.pool));
    assert_int_equal(scene.backend.piece_count, 0);
    assert_int_equal(scene.backend.misuse_count, 0);
}

static void slices_are_apart_and_found(void **state)
{
    uint64_t seed = random_seed(20261124);
    run(seed, 1024, 16, 1, false, 1);
    run(seed + 1, 256, 16, 1, false, 1);
    run(seed + 2, 4096, 64, 1, false, 1);
    run(seed + 3, 1024, 256, 1, true, 1);
    run(seed + 4, 1024, 16, 1, false, 20);
    run(seed + 5, 4096, 256, 1, true, 20);
    run(seed + 6, 512, 512, 1, false, 1); /* no slices */
}

static void also_on_several_streams(void **state)
{
    uint64_t seed = random_seed(20261125);
    run(seed, 1024, 16, STREAMS, false, 1);
    run(seed + 1, 256, 32, STREAMS, false, 1);
    run(seed + 2, 4096, 16, STREAMS, true, 1);
    run(seed + 3, 1024, 256, STREAMS, false, 20);
    run(seed + 4, 4096, 16, STREAMS, true, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_are_apart_and_found),
        cmocka_unit_test(also_on_several_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
