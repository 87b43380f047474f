/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_stream_tests: a pool hands memory over between streams, and what is read there tells the order:
 * whoever gets the memory fills it after all that was submitted before it was freed.
 *
 * The pools have room for little and no more, so that memory has to be handed over. On the host nothing
 * runs before somebody waits, and on devices work is so long that it is mostly under way.
 */
#include <pthread.h>
#include <stdlib.h>

#include "conformance.h"
#include "tarn/tarn.h"

enum {
    STREAM_COUNT = 4,
    SLOT_COUNT = 120,
    BLOCK_COUNT_MAX = 8
};

#define KIB         ((size_t)1024)
#define BLOCK_BYTES (64 * KIB)

/* What was read is copied to `slots`, one after the other. */
struct scene {
    const struct fixture *fixture;
    tarn_pool *pool;
    tarn_stream streams[STREAM_COUNT]; /* the first is the default one */
    void *ballast;                     /* what the vendor gave beyond the blocks */
    unsigned char *slots;
    unsigned char values[SLOT_COUNT]; /* that must have been read */
    size_t slot_count;
};

static void expect_ok(tarn_status status)
{
    if (status != TARN_STATUS_OK)
        fail_msg("%s: %s", tarn_status_name(status), tarn_last_error().message);
}

static void *alloc_on(const struct scene *scene, tarn_stream stream)
{
    void *address;
    expect_ok(tarn_pool_alloc_on(scene->pool, BLOCK_BYTES, stream, &address));
    return address;
}

/* All but block_count blocks are taken. No stream is named: memory of a named one is not waited for by those who name none. */
static void take_ballast(struct scene *scene, size_t block_count)
{
    void *blocks[BLOCK_COUNT_MAX];
    tarn_stats stats = TARN_STATS_INIT;
    for (size_t i = 0; i < block_count; i++)
        expect_ok(tarn_pool_alloc(scene->pool, BLOCK_BYTES, &blocks[i]));
    expect_ok(tarn_pool_stats(scene->pool, &stats));
    if (stats.free_bytes > 0)
        expect_ok(tarn_pool_alloc(scene->pool, stats.free_bytes, &scene->ballast));
    for (size_t i = 0; i < block_count; i++)
        expect_ok(tarn_pool_free_after(scene->pool, blocks[i], NULL, 0));
}

/* A pool that has room for block_count blocks. */
static struct scene begin_with(void **state, size_t block_count, tarn_pool_options options)
{
    struct scene scene = { .fixture = fixture_of(state) };
    require_streams(scene.fixture);
    options.backend = &scene.fixture->backend;
    options.chunk_bytes = TARN_CHUNK_BYTES_MIN; /* as backings are aligned, so that none is cut */
    options.initial_bytes = block_count * BLOCK_BYTES;
    tarn_status status = tarn_pool_create(&options, &scene.pool);
    bool may_lack = options.free_waits || options.identifies_streams; /* the vendor may */
    if (status == TARN_STATUS_NOT_SUPPORTED && may_lack) skip();
    expect_ok(status);
    for (int i = 1; i < STREAM_COUNT; i++)
        scene.streams[i] = create_stream(scene.fixture);
    scene.slots = acquire(scene.fixture, SLOT_COUNT * BLOCK_BYTES);
    take_ballast(&scene, block_count);
    return scene;
}

static struct scene begin(void **state, size_t block_count)
{
    return begin_with(state, block_count, (tarn_pool_options)TARN_POOL_OPTIONS_INIT);
}

static void synchronize_all(const struct scene *scene)
{
    for (int i = STREAM_COUNT; i-- > 0;)
        synchronize_stream(scene->fixture, scene->streams[i]);
}

static void end(struct scene *scene)
{
    synchronize_all(scene);
    for (size_t slot = 0; slot < scene->slot_count; slot++) {
        expect_bytes(scene->fixture, scene->slots + slot * BLOCK_BYTES, BLOCK_BYTES,
                     scene->values[slot]);
    }
    expect_ok(tarn_pool_free_after(scene->pool, scene->ballast, NULL, 0));
    expect_ok(tarn_pool_check(scene->pool));
    expect_ok(tarn_pool_destroy(scene->pool));
    for (int i = 1; i < STREAM_COUNT; i++)
        destroy_stream(scene->fixture, scene->streams[i]);
    release(scene->fixture, scene->slots, SLOT_COUNT * BLOCK_BYTES);
}

static void read_on(struct scene *scene, const void *block, unsigned char value, tarn_stream stream)
{
    size_t slot = scene->slot_count++;
    scene->values[slot] = value;
    copy(scene->fixture, scene->slots + slot * BLOCK_BYTES, block, BLOCK_BYTES, stream);
}

/* Fills the block with a value that the block had not before, and reads it. */
static void use_on(struct scene *scene, void *block, tarn_stream stream)
{
    unsigned char value = (unsigned char)(scene->slot_count + 1);
    fill(scene->fixture, block, value, BLOCK_BYTES, stream);
    read_on(scene, block, value, stream);
}

/* The pool did not grow: what it gave was handed over. */
static void expect_one_static_pool(const struct scene *scene)
{
    tarn_stats stats = TARN_STATS_INIT;
    expect_ok(tarn_pool_stats(scene->pool, &stats));
    assert_int_equal(stats.static_pool_count, 1);
}

/* --- tests ------------------------------------------------------------------------------------- */

static void what_one_stream_frees_another_gets_in_order(void **state)
{
    struct scene scene = begin(state, 1);
    void *first = alloc_on(&scene, scene.streams[1]);
    use_on(&scene, first, scene.streams[1]);
    expect_ok(tarn_pool_free_on(scene.pool, first, scene.streams[1]));
    for (int i = 0; i < 30; i++) {
        tarn_stream stream = scene.streams[i % 2 ? 1 : 2];
        void *block = alloc_on(&scene, stream);
        assert_ptr_equal(block, first);
        use_on(&scene, block, stream);
        expect_ok(tarn_pool_free_on(scene.pool, block, stream));
    }
    expect_one_static_pool(&scene);
    end(&scene);
}

/* The one that took it is waited for, and no other: without the wait of the second for the first, the
 * first would be the last to write. */
static void waiting_for_the_last_of_them_is_enough(void **state)
{
    struct scene scene = begin(state, 1);
    void *block = NULL;
    for (int i = 0; i < 12; i++) {
        tarn_stream stream = scene.streams[i % STREAM_COUNT];
        block = alloc_on(&scene, stream);
        use_on(&scene, block, stream);
        expect_ok(tarn_pool_free_on(scene.pool, block, stream));
    }
    void *last = alloc_on(&scene, scene.streams[3]);
    assert_ptr_equal(last, block);
    fill(scene.fixture, last, 255, BLOCK_BYTES, scene.streams[3]);
    synchronize_stream(scene.fixture, scene.streams[3]);
    /* All others have run. */
    expect_bytes(scene.fixture, last, BLOCK_BYTES, 255);
    synchronize_all(&scene);
    expect_bytes(scene.fixture, last, BLOCK_BYTES, 255);
    expect_ok(tarn_pool_free_after(scene.pool, last, NULL, 0));
    expect_one_static_pool(&scene);
    end(&scene);
}

/* Blocks go around between streams that end and begin, with handles that may come again. */
static void blocks_go_around_between_streams_that_come_and_go(void **state)
{
    struct scene scene = begin(state, 6);
    void *blocks[4];
    unsigned owners[4];
    for (unsigned i = 0; i < SLOT_COUNT - 4; i++) {
        unsigned place = i * 5 % 4, stream = i * 7 % STREAM_COUNT;
        if (i >= 4)
            expect_ok(tarn_pool_free_on(scene.pool, blocks[place], scene.streams[owners[place]]));
        blocks[place] = alloc_on(&scene, scene.streams[stream]);
        owners[place] = stream;
        use_on(&scene, blocks[place], scene.streams[stream]);
        if (i % 9 != 8 || stream == 0) continue;
        for (unsigned j = 0; j < 4; j++) {
            if (owners[j] != stream) continue;
            synchronize_stream(scene.fixture, scene.streams[stream]);
            owners[j] = 0;
        }
        expect_ok(tarn_stream_retire(scene.streams[stream]));
        destroy_stream(scene.fixture, scene.streams[stream]);
        scene.streams[stream] = create_stream(scene.fixture);
    }
    for (unsigned i = 0; i < 4; i++)
        expect_ok(tarn_pool_free_on(scene.pool, blocks[i], scene.streams[owners[i]]));
    expect_one_static_pool(&scene);
    end(&scene);
}

/* The same with nobody told of the ends. */
static void blocks_go_around_between_streams_that_end_unannounced(void **state)
{
    require_stream_ids(fixture_of(state));
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.identifies_streams = true;
    struct scene scene = begin_with(state, 6, options);
    void *blocks[4];
    unsigned owners[4];
    for (unsigned i = 0; i < SLOT_COUNT - 4; i++) {
        unsigned place = i * 5 % 4, stream = i * 7 % STREAM_COUNT;
        if (i >= 4)
            expect_ok(tarn_pool_free_on(scene.pool, blocks[place], scene.streams[owners[place]]));
        blocks[place] = alloc_on(&scene, scene.streams[stream]);
        owners[place] = stream;
        use_on(&scene, blocks[place], scene.streams[stream]);
        if (i % 5 != 4 || stream == 0) continue;
        for (unsigned j = 0; j < 4; j++) {
            if (owners[j] != stream) continue;
            expect_ok(tarn_pool_free_on(scene.pool, blocks[j], scene.streams[stream]));
            blocks[j] = alloc_on(&scene, NULL);
            owners[j] = 0;
        }
        destroy_stream(scene.fixture, scene.streams[stream]);
        scene.streams[stream] = create_stream(scene.fixture);
    }
    for (unsigned i = 0; i < 4; i++)
        expect_ok(tarn_pool_free_on(scene.pool, blocks[i], scene.streams[owners[i]]));
    expect_one_static_pool(&scene);
    end(&scene);
}

/* --- streams of threads' own ------------------------------------------------------------------------ */

enum {
    PASS_COUNT = 20,
    BLOCKS_OF_THREAD = 2
};

/* The test and the other thread take turns. No claim may fail in the other one, which notes. */
struct turns {
    struct scene *scene;
    tarn_stream own; /* one handle, a stream of each thread's */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned turn;
    const char *failure;
};

static void note(struct turns *turns, bool is_good, const char *what)
{
    if (!is_good && !turns->failure) turns->failure = what;
}

/* Takes blocks, writes and reads them, and frees them, all on its own stream. */
static void take_a_turn(struct turns *turns)
{
    struct scene *scene = turns->scene;
    const tarn_backend_operations *operations = scene->fixture->operations;
    void *state = scene->fixture->state, *blocks[BLOCKS_OF_THREAD] = { NULL };
    for (size_t i = 0; i < BLOCKS_OF_THREAD; i++) {
        tarn_status status = tarn_pool_alloc_on(scene->pool, BLOCK_BYTES, turns->own, &blocks[i]);
        note(turns, status == TARN_STATUS_OK, "tarn_pool_alloc_on");
        if (status != TARN_STATUS_OK) return;
        size_t slot = scene->slot_count++;
        unsigned char value = scene->values[slot] = (unsigned char)(slot + 1);
        unsigned char *into = scene->slots + slot * BLOCK_BYTES;
        note(turns,
             operations->fill(state, blocks[i], value, BLOCK_BYTES, turns->own).status ==
                     TARN_STATUS_OK &&
                 operations->copy(state, into, blocks[i], BLOCK_BYTES, turns->own).status ==
                     TARN_STATUS_OK,
             "fill and copy");
    }
    for (size_t i = 0; i < BLOCKS_OF_THREAD; i++)
        note(turns, tarn_pool_free_on(scene->pool, blocks[i], turns->own) == TARN_STATUS_OK,
             "tarn_pool_free_on");
}

static void take_turns(struct turns *turns, unsigned first)
{
    pthread_mutex_lock(&turns->lock);
    for (unsigned turn = first; turn < PASS_COUNT; turn += 2) {
        while (turns->turn != turn)
            pthread_cond_wait(&turns->changed, &turns->lock);
        take_a_turn(turns);
        turns->turn++;
        pthread_cond_broadcast(&turns->changed);
    }
    pthread_mutex_unlock(&turns->lock);
}

static void *be_the_other(void *argument)
{
    struct turns *turns = argument;
    take_turns(turns, 1);
    note(turns,
         turns->scene->fixture->operations
                 ->stream_synchronize(turns->scene->fixture->state, turns->own)
                 .status == TARN_STATUS_OK,
         "stream_synchronize");
    return NULL;
}

static void threads_hand_over_what_they_freed_on_their_own_streams(void **state)
{
    tarn_stream own = fixture_of(state)->properties.thread_stream;
    fixture_require(fixture_of(state), own != NULL, "streams of threads' own");
    struct scene scene = begin(state, 2);
    struct turns turns = { .scene = &scene, .own = own };
    pthread_mutex_init(&turns.lock, NULL);
    pthread_cond_init(&turns.changed, NULL);
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, be_the_other, &turns), 0);
    take_turns(&turns, 0);
    pthread_join(other, NULL);
    if (turns.failure) fail_msg("%s: %s", turns.failure, tarn_last_error().message);
    synchronize_stream(scene.fixture, own);
    pthread_cond_destroy(&turns.changed);
    pthread_mutex_destroy(&turns.lock);
    /* Each took new memory once, before the other had recorded. */
    tarn_stats stats = TARN_STATS_INIT;
    expect_ok(tarn_pool_stats(scene.pool, &stats));
    assert_in_range(stats.static_pool_count, 1, 3);
    end(&scene);
}

/* What a thread that has ended freed comes back, if need be by waiting for the device. */
static void *use_once(void *argument)
{
    struct turns *turns = argument;
    take_a_turn(turns);
    return NULL;
}

static void threads_that_end_lose_nothing(void **state)
{
    tarn_stream own = fixture_of(state)->properties.thread_stream;
    fixture_require(fixture_of(state), own != NULL, "streams of threads' own");
    require_synchronize(fixture_of(state));
    struct scene scene = begin(state, 2);
    struct turns turns = { .scene = &scene, .own = own };
    for (int i = 0; i < 40; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, use_once, &turns), 0);
        pthread_join(thread, NULL);
        if (turns.failure) fail_msg("%s: %s", turns.failure, tarn_last_error().message);
    }
    EXPECT_OK(scene.fixture->operations->synchronize(scene.fixture->state));
    end(&scene);
}

/* --- several streams, one piece ---------------------------------------------------------------------- */

/* Two read what a third has written; whoever gets the memory then waits for both. The free names both, or the pool was
 * told of one before. */
static void what_several_read_is_written_after_all_of_them(void **state)
{
    struct scene scene = begin(state, 1);
    const struct fixture *fixture = scene.fixture;
    tarn_event written = create_event(fixture);
    for (int i = 0; i < 10; i++) {
        tarn_stream writer = scene.streams[3], readers[] = { scene.streams[1], scene.streams[2] };
        void *block = alloc_on(&scene, writer);
        fill(fixture, block, (unsigned char)(100 + i), BLOCK_BYTES, writer);
        record_event(fixture, written, writer);
        for (int j = 0; j < 2; j++) {
            make_wait(fixture, readers[j], written);
            read_on(&scene, block, (unsigned char)(100 + i), readers[j]);
        }
        if (i % 2 == 0) {
            expect_ok(tarn_pool_free_after(scene.pool, block, readers, 2));
        } else {
            expect_ok(tarn_pool_use_on(scene.pool, block, readers[1]));
            expect_ok(tarn_pool_free_on(scene.pool, block, readers[0]));
        }
    }
    expect_one_static_pool(&scene);
    destroy_event(fixture, written);
    end(&scene);
}

/* Two halves that two streams have freed, as one. */
static void what_is_united_is_written_after_all_who_had_a_part(void **state)
{
    struct scene scene = begin(state, 2);
    for (int i = 0; i < 10; i++) {
        void *halves[2], *whole;
        for (int j = 0; j < 2; j++)
            halves[j] = alloc_on(&scene, scene.streams[1 + j]);
        for (int j = 0; j < 2; j++) {
            use_on(&scene, halves[j], scene.streams[1 + j]);
            expect_ok(tarn_pool_free_on(scene.pool, halves[j], scene.streams[1 + j]));
        }
        expect_ok(tarn_pool_alloc_on(scene.pool, 2 * BLOCK_BYTES, scene.streams[3], &whole));
        use_on(&scene, whole, scene.streams[3]);
        use_on(&scene, (char *)whole + BLOCK_BYTES, scene.streams[3]);
        expect_ok(tarn_pool_free_on(scene.pool, whole, scene.streams[3]));
    }
    expect_one_static_pool(&scene);
    end(&scene);
}

static void memory_is_given_back_after_the_work_on_it(void **state)
{
    struct scene scene = begin(state, 4);
    for (int i = 0; i < 10; i++) {
        void *blocks[STREAM_COUNT];
        for (int j = 0; j < STREAM_COUNT; j++) {
            blocks[j] = alloc_on(&scene, scene.streams[j]);
            use_on(&scene, blocks[j], scene.streams[j]);
        }
        for (int j = 0; j < STREAM_COUNT; j++)
            expect_ok(tarn_pool_free_on(scene.pool, blocks[j], scene.streams[j]));
        expect_ok(tarn_pool_free_after(scene.pool, scene.ballast, NULL, 0));
        scene.ballast = NULL;
        size_t released_bytes = 0;
        expect_ok(tarn_pool_trim(scene.pool, 0, &released_bytes));
        assert_true(released_bytes >= 4 * BLOCK_BYTES);
    }
    end(&scene);
}

/* As of Kokkos: one stream of the program's own, which no call of the pool names. */
static void a_program_of_one_other_stream_need_not_name_it(void **state)
{
    struct scene scene = begin(state, 1);
    void *first = NULL;
    for (int i = 0; i < 10; i++) {
        void *block;
        expect_ok(tarn_pool_alloc(scene.pool, BLOCK_BYTES, &block));
        if (i == 0) first = block;
        assert_ptr_equal(block, first);
        use_on(&scene, block, scene.streams[1]);
        expect_ok(tarn_pool_free(scene.pool, block));
    }
    end(&scene);
}

/* The program works on several streams, names none, and has the contents that cudaMalloc and cudaFree would give. */
static void a_program_of_several_streams_need_not_name_them(void **state)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.free_waits = true;
    struct scene scene = begin_with(state, 2, options);
    for (int i = 0; i < 30; i++) {
        void *block;
        expect_ok(tarn_pool_alloc(scene.pool, BLOCK_BYTES, &block));
        use_on(&scene, block, scene.streams[i % STREAM_COUNT]);
        expect_ok(tarn_pool_free(scene.pool, block));
    }
    expect_one_static_pool(&scene);
    end(&scene);
}

int run_pool_stream_tests(const struct target *target)
{
    static const struct CMUnitTest tests[] = {
        TEST(what_one_stream_frees_another_gets_in_order),
        TEST(waiting_for_the_last_of_them_is_enough),
        TEST(blocks_go_around_between_streams_that_come_and_go),
        TEST(blocks_go_around_between_streams_that_end_unannounced),
        TEST(threads_hand_over_what_they_freed_on_their_own_streams),
        TEST(threads_that_end_lose_nothing),
        TEST(what_several_read_is_written_after_all_of_them),
        TEST(what_is_united_is_written_after_all_who_had_a_part),
        TEST(memory_is_given_back_after_the_work_on_it),
        TEST(a_program_of_one_other_stream_need_not_name_it),
        TEST(a_program_of_several_streams_need_not_name_them),
    };
    fixture_set_target(target);
    return cmocka_run_group_tests_name(target->name, tests, NULL, NULL);
}
