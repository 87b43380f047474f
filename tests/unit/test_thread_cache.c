/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_thread_cache: what is cached, for whom and how long, and that nobody but alloc and free sees it. */
#include "core/thread_cache.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/pool_arenas.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"
#include "pool_fixture.h"
#include "tarn/host.h"

static void create_anew(struct fixture *fixture)
{
    expect_ok(tarn_pool_destroy(fixture->pool));
    fixture_create_pool(fixture);
}

/* A pool of 4096 chunks: at most 128 are cached, and 33 of one region. */
static int setup(void **state)
{
    static struct fixture fixture;
    fixture_init(&fixture);
    fixture.options.initial_bytes = 4 * MIB;
    fixture.options.takes_initial_at_once = true;
    fixture.options.thread_cache_bytes = MIB;
    fixture_create_pool(&fixture);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned seat = 0; seat < TN_BIASED_MUTEX_SEATS; seat++)
        assert_false(atomic_load(&fixture->pool->lock.is_inside[seat]));
    return fixture_teardown_empty(state);
}

static void free_all(struct fixture *fixture, void *const *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_ok(tarn_pool_free(fixture->pool, addresses[i]));
}

static uint32_t cached_chunks(const struct fixture *fixture)
{
    return fixture->pool->cache->chunk_count;
}

static void expect_cache_is_right(const struct fixture *fixture)
{
    const char *fault = tn_thread_cache_check(fixture->pool->cache, &fixture->pool->index);
    if (fault) fail_msg("%s", fault);
}

/* --- what is cached --------------------------------------------------------------------------------- */

static void what_was_freed_serves_the_next_of_its_size(void **state)
{
    struct fixture *fixture = *state;
    void *low = alloc(fixture, 3 * KIB), *high = alloc(fixture, 3 * KIB);
    expect_ok(tarn_pool_free(fixture->pool, low));
    expect_ok(tarn_pool_free(fixture->pool, high));
    assert_int_equal(cached_chunks(fixture), 6);
    expect_cache_is_right(fixture);
    void *larger = alloc(fixture, 4 * KIB), *smaller = alloc(fixture, 2 * KIB);
    assert_int_equal(cached_chunks(fixture), 6);
    /* Any size of as many chunks; the slack is that of the request. */
    void *addresses[] = { alloc(fixture, 2 * KIB + 1), alloc(fixture, 3 * KIB - 1), larger,
                          smaller };
    assert_true((addresses[0] == low && addresses[1] == high) ||
                (addresses[0] == high && addresses[1] == low));
    assert_int_equal(cached_chunks(fixture), 0);
    assert_int_equal(stats_of(fixture->pool).requested_bytes, 11 * KIB);
    assert_int_equal(stats_of(fixture->pool).used_bytes, 12 * KIB);
    free_all(fixture, addresses, 4);
}

static void without_bytes_there_is_no_cache(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.thread_cache_bytes = 0;
    create_anew(fixture);
    assert_null(fixture->pool->cache);
    fixture->options.thread_cache_bytes = KIB - 1;
    create_anew(fixture);
    assert_null(fixture->pool->cache);
}

/* Each free of these pools may have more to do. */
static void pools_whose_frees_do_more_have_none(void **state)
{
    struct fixture *fixture = *state;
    const tarn_pool_options plain = fixture->options;
    fixture->options.returns_when_empty = true;
    create_anew(fixture);
    assert_null(fixture->pool->cache);
    fixture->options = plain;
    fixture->options.release_threshold_bytes = MIB;
    create_anew(fixture);
    assert_null(fixture->pool->cache);
    fixture->options = plain;
    fixture->options.debug = TARN_DEBUG_SITES;
    create_anew(fixture);
    assert_null(fixture->pool->cache);
    fixture->options = plain;
    fixture->options.takes_initial_at_once = false;
    fixture->options.passes_through = true;
    create_anew(fixture);
    assert_null(fixture->pool->cache);
}

static void what_is_too_large_is_free_at_once(void **state)
{
    struct fixture *fixture = *state;
    expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 34 * KIB)));
    assert_int_equal(cached_chunks(fixture), 0);
    expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 33 * KIB)));
    assert_int_equal(cached_chunks(fixture), 33);
    /* The option is a bound, too: of 8 chunks together, 3 of one region. */
    fixture->options.thread_cache_bytes = 8 * KIB;
    create_anew(fixture);
    expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 4 * KIB)));
    assert_int_equal(cached_chunks(fixture), 0);
    expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 3 * KIB)));
    assert_int_equal(cached_chunks(fixture), 3);
}

/* A contiguous pool has many more chunks than memory. */
static void the_bound_is_of_what_is_held(void **state)
{
    struct fixture *fixture = *state;
    expect_ok(tarn_pool_destroy(fixture->pool));
    tarn_backend host;
    tarn_pool_options options = fixture->options;
    expect_ok(tarn_host_backend_open(NULL, &host));
    options.backend = &host;
    options.contiguous = true;
    options.limit_bytes = 256 * MIB;
    expect_ok(tarn_pool_create(&options, &fixture->pool));
    size_t held_bytes = stats_of(fixture->pool).footprint_bytes;
    void *addresses[40];
    for (size_t i = 0; i < 40; i++)
        addresses[i] = alloc(fixture, (1 + i) * KIB);
    for (size_t i = 0; i < 40; i++) {
        expect_ok(tarn_pool_free(fixture->pool, addresses[i]));
        assert_true(cached_chunks(fixture) * KIB <= held_bytes / TN_THREAD_CACHE_PARTS);
    }
    expect_ok(tarn_pool_destroy(fixture->pool));
    tarn_backend_close(&host);
    fixture_create_pool(fixture);
}

static void all_together_has_a_bound(void **state)
{
    struct fixture *fixture = *state;
    void *addresses[40];
    for (size_t i = 0; i < 40; i++)
        addresses[i] = alloc(fixture, (1 + i % 20) * KIB);
    for (size_t i = 0; i < 40; i++) {
        expect_ok(tarn_pool_free(fixture->pool, addresses[i]));
        assert_true(cached_chunks(fixture) <= 128);
        expect_cache_is_right(fixture);
    }
    assert_true(cached_chunks(fixture) > 64);
}

static void a_set_has_four_ways(void **state)
{
    struct fixture *fixture = *state;
    void *addresses[9];
    for (size_t i = 0; i < 9; i++)
        addresses[i] = alloc(fixture, 2 * KIB);
    free_all(fixture, addresses, 9);
    assert_int_equal(cached_chunks(fixture), 2 * TN_THREAD_CACHE_WAYS);
    expect_cache_is_right(fixture);
}

static void what_nobody_takes_goes_in_time(void **state)
{
    struct fixture *fixture = *state;
    enum {
        COUNT = 2 * TN_THREAD_CACHE_COUNT
    };
    void *old = alloc(fixture, 7 * KIB), *addresses[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        addresses[i] = alloc(fixture, 3 * KIB);
    expect_ok(tarn_pool_free(fixture->pool, old));
    size_t frees = 0;
    while (cached_chunks(fixture) != TN_THREAD_CACHE_WAYS * 3 && frees < COUNT)
        expect_ok(tarn_pool_free(fixture->pool, addresses[frees++]));
    assert_in_range(frees, TN_THREAD_CACHE_COUNT, COUNT);
    free_all(fixture, addresses + frees, COUNT - frees);
}

/* What comes back to where it went is found by its address. */
static void what_is_out_comes_back(void **state)
{
    struct fixture *fixture = *state;
    void *address = alloc(fixture, 3 * KIB);
    expect_ok(tarn_pool_free(fixture->pool, address));
    uint32_t put_count = fixture->pool->cache->put_count;
    for (size_t size_bytes = 2 * KIB + 1; size_bytes <= 3 * KIB; size_bytes += 100) {
        assert_ptr_equal(alloc(fixture, size_bytes), address);
        expect_cache_is_right(fixture);
        expect_ok(tarn_pool_free(fixture->pool, address));
        expect_cache_is_right(fixture);
    }
    assert_int_equal(fixture->pool->cache->put_count, put_count);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(fixture->pool, address));
    assert_int_equal(stats_of(fixture->pool).requested_bytes, 0);
}

/* What was out and is freed by other means is not taken for out when its address is handed out again. */
static void what_was_out_is_forgotten(void **state)
{
    struct fixture *fixture = *state;
    void *address = alloc(fixture, 3 * KIB), *guard = alloc(fixture, KIB);
    expect_ok(tarn_pool_free(fixture->pool, address));
    assert_ptr_equal(alloc(fixture, 3 * KIB), address); /* out */
    expect_ok(tarn_pool_free_sized(fixture->pool, address, 3 * KIB));
    assert_ptr_equal(alloc(fixture, 2 * KIB), address); /* another, out of the index */
    expect_cache_is_right(fixture);
    expect_ok(tarn_pool_free(fixture->pool, address));
    assert_int_equal(cached_chunks(fixture), 2);
    assert_int_equal(stats_of(fixture->pool).used_bytes, KIB);
    expect_ok(tarn_pool_free(fixture->pool, guard));
}

/* Likewise what is freed after another stream's work. */
static void what_was_out_is_forgotten_by_its_stream(void **state)
{
    struct fixture *fixture = *state;
    void *on_b = alloc_on(fixture, 5 * KIB, B), *on_a = alloc_on(fixture, 3 * KIB, A);
    expect_ok(tarn_pool_free_on(fixture->pool, on_a, A));
    assert_ptr_equal(alloc_on(fixture, 3 * KIB, A), on_a);
    expect_ok(tarn_pool_free_on(fixture->pool, on_a, B));
    expect_cache_is_right(fixture);
    void *other = alloc_on(fixture, 3 * KIB, A);
    assert_ptr_not_equal(other, on_a);
    assert_ptr_equal(alloc_on(fixture, 3 * KIB, B), on_a);
    expect_cache_is_right(fixture);
    expect_ok(tarn_pool_free_on(fixture->pool, on_a, B));
    expect_ok(tarn_pool_free_on(fixture->pool, other, A));
    expect_ok(tarn_pool_free_on(fixture->pool, on_b, B));
    expect_cache_is_right(fixture);
}

static void slices_are_not_cached(void **state)
{
    struct fixture *fixture = *state;
    expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 100)));
    assert_int_equal(cached_chunks(fixture), 0);
    expect_ok(tarn_pool_check(fixture->pool));
}

/* --- who sees it --------------------------------------------------------------------------------------- */

static void bad_frees_are_refused(void **state)
{
    struct fixture *fixture = *state;
    char *address = alloc(fixture, 3 * KIB);
    expect_ok(tarn_pool_free(fixture->pool, address));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(fixture->pool, address));
    address = alloc(fixture, 3 * KIB);
    expect_ok(tarn_pool_free(fixture->pool, address));
    assert_int_equal(cached_chunks(fixture), 3);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(fixture->pool, address + KIB));
    address = alloc(fixture, 3 * KIB);
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(fixture->pool, address + KIB));
    expect_ok(tarn_pool_free(fixture->pool, address));
    expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 3 * KIB)));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_sized(fixture->pool, address, 3 * KIB));
}

static void what_is_cached_counts_as_free(void **state)
{
    struct fixture *fixture = *state;
    void *address = alloc(fixture, 3000);
    expect_ok(tarn_pool_free(fixture->pool, address));
    assert_int_equal(cached_chunks(fixture), 3);
    tarn_stats stats = stats_of(fixture->pool);
    assert_int_equal(stats.live_count, 0);
    assert_int_equal(stats.requested_bytes, 0);
    assert_int_equal(stats.used_bytes, 0);
    assert_int_equal(stats.free_bytes, 4 * MIB);
    assert_int_equal(stats.free_region_count, 1);
    assert_int_equal(stats.alloc_count, 1);
    assert_int_equal(stats.free_count, 1);
    assert_true(stats.metadata_bytes > sizeof *fixture->pool->cache);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_find(address, &found));
}

static void nothing_is_out_of_memory_for_what_is_cached(void **state)
{
    struct fixture *fixture = *state;
    void *addresses[64];
    fixture->options.limit_bytes = 4 * MIB;
    create_anew(fixture);
    for (size_t i = 0; i < 64; i++)
        addresses[i] = alloc(fixture, 2 * KIB + i % 3 * KIB);
    void *rest = alloc(fixture, stats_of(fixture->pool).largest_free_bytes);
    free_all(fixture, addresses, 64);
    assert_true(cached_chunks(fixture) > 0);
    size_t used_bytes = 0;
    for (size_t i = 0; i < 64; i++)
        used_bytes += 2 * KIB + i % 3 * KIB;
    void *all = alloc(fixture, used_bytes);
    assert_int_equal(cached_chunks(fixture), 0);
    expect_ok(tarn_pool_free(fixture->pool, all));
    expect_ok(tarn_pool_free(fixture->pool, rest));
}

static void a_trim_gives_all_back(void **state)
{
    struct fixture *fixture = *state;
    size_t released_bytes = 0;
    expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 3 * KIB)));
    assert_int_equal(cached_chunks(fixture), 3);
    expect_ok(tarn_pool_trim(fixture->pool, 0, &released_bytes));
    assert_int_equal(released_bytes, 4 * MIB);
    /* Nothing is held that anything could be a part of. */
    expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 3 * KIB)));
}

static void a_pool_can_be_destroyed_with_a_full_cache(void **state)
{
    struct fixture *fixture = *state;
    expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 3 * KIB)));
    assert_int_equal(cached_chunks(fixture), 3);
    create_anew(fixture);
    expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 3 * KIB)));
    expect_ok(tarn_pool_abandon(fixture->pool));
    fixture->backend.held_bytes = 0; /* which it was told to leave */
    fixture_create_pool(fixture);
}

static void batches_and_resizes_find_it_empty(void **state)
{
    struct fixture *fixture = *state;
    void *first = alloc(fixture, 3 * KIB), *second = alloc(fixture, 3 * KIB);
    expect_ok(tarn_pool_free(fixture->pool, second));
    assert_int_equal(cached_chunks(fixture), 3);
    expect_ok(tarn_pool_resize(fixture->pool, first, 5 * KIB)); /* into what was cached */
    assert_int_equal(cached_chunks(fixture), 0);
    expect_ok(tarn_pool_free(fixture->pool, first));
    assert_int_equal(cached_chunks(fixture), 5);
    const size_t sizes_bytes[2] = { 5 * KIB, 2 * KIB };
    void *addresses[2];
    expect_ok(tarn_pool_alloc_many(fixture->pool, 2, sizes_bytes, addresses));
    assert_ptr_equal(addresses[0], first);
    expect_ok(tarn_pool_free_many(fixture->pool, 2, addresses));
    assert_int_equal(cached_chunks(fixture), 0);
}

/* --- streams ---------------------------------------------------------------------------------------- */

static void a_stream_is_served_with_its_own(void **state)
{
    struct fixture *fixture = *state;
    void *on_a = alloc_on(fixture, 3 * KIB, A), *on_b = alloc_on(fixture, 3 * KIB, B);
    expect_ok(tarn_pool_free_on(fixture->pool, on_a, A));
    expect_ok(tarn_pool_free_on(fixture->pool, on_b, B));
    assert_int_equal(cached_chunks(fixture), 6);
    assert_ptr_equal(alloc_on(fixture, 3 * KIB, B), on_b);
    void *other = alloc_on(fixture, 3 * KIB, B);
    assert_ptr_not_equal(other, on_a);
    assert_ptr_equal(alloc_on(fixture, 3 * KIB, A), on_a);
    expect_ok(tarn_pool_free_on(fixture->pool, on_a, A));
    /* What waits for nothing, or for several, is nobody's own. */
    const tarn_stream both[] = { A, B };
    expect_ok(tarn_pool_free_after(fixture->pool, other, both, 2));
    expect_ok(tarn_pool_free_after(fixture->pool, on_b, NULL, 0));
    assert_int_equal(cached_chunks(fixture), 3);
    expect_cache_is_right(fixture);
    assert_int_equal(fixture->backend.wait_count, 0);
}

/* What is emptied waits for its stream as if it had never been cached. */
static void what_was_cached_waits_as_what_was_not(void **state)
{
    struct fixture *fixture = *state;
    void *on_a = alloc_on(fixture, 3 * KIB, A), *on_b = alloc_on(fixture, 3 * KIB, B);
    expect_ok(tarn_pool_free_on(fixture->pool, on_a, A));
    assert_int_equal(cached_chunks(fixture), 3);
    assert_int_equal(stats_of(fixture->pool).pending_bytes, 3 * KIB);
    assert_int_equal(cached_chunks(fixture), 0);
    expect_ok(tarn_pool_free_on(fixture->pool, on_b, B));
}

/* The first stream of all was cached without a number. */
static void a_second_stream_finds_nothing_of_the_first(void **state)
{
    struct fixture *fixture = *state;
    void *on_a = alloc_on(fixture, 3 * KIB, A);
    expect_ok(tarn_pool_free_on(fixture->pool, on_a, A));
    assert_int_equal(cached_chunks(fixture), 3);
    void *on_b = alloc_on(fixture, 3 * KIB, B);
    assert_int_equal(cached_chunks(fixture), 0);
    assert_ptr_equal(on_b, on_a); /* the best fit, after a wait */
    assert_int_equal(fixture->backend.wait_count, 1);
    expect_ok(tarn_pool_free_on(fixture->pool, on_b, B));
}

static void a_retired_stream_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    void *on_a = alloc_on(fixture, 3 * KIB, A), *on_b = alloc_on(fixture, 3 * KIB, B);
    expect_ok(tarn_pool_free_on(fixture->pool, on_a, A));
    expect_ok(tarn_stream_retire(A));
    assert_int_equal(cached_chunks(fixture), 0);
    expect_ok(tarn_pool_free_on(fixture->pool, on_b, B));
}

/* --- arenas ------------------------------------------------------------------------------------------ */

static void an_arena_has_its_own(void **state)
{
    struct fixture *fixture = *state;
    expect_ok(tarn_pool_free(fixture->pool, alloc(fixture, 3 * KIB)));
    want_arenas(fixture);
    void *first = alloc(fixture, 5 * KIB), *second = alloc(fixture, 5 * KIB);
    assert_int_equal(atomic_load(&fixture->pool->arenas.active_count), 1);
    expect_ok(tarn_pool_free(fixture->pool, first));
    assert_int_equal(cached_chunks(fixture), 3); /* the pool's, as it was */
    assert_ptr_equal(alloc(fixture, 5 * KIB), first);
    expect_ok(tarn_pool_free(fixture->pool, first));
    expect_ok(tarn_pool_free(fixture->pool, second));
    assert_int_equal(atomic_load(&fixture->pool->arenas.active_count), 1);
    tarn_stats stats = stats_of(fixture->pool);
    assert_int_equal(stats.live_count, 0);
    assert_int_equal(stats.free_region_count, 1);
    assert_int_equal(stats.alloc_count, 4);
    expect_ok(tarn_pool_check(fixture->pool));
}

/* What several threads write into their blocks stays, whoever frees them, while some look at the pool. */

enum {
    THREADS = 4,
    SLOTS = 64,
    STEPS = 4000
};

struct crowd {
    tarn_pool *pool;
    _Atomic(char *) slots[SLOTS];
    atomic_uint failure_count;
};

struct member {
    struct crowd *crowd;
    unsigned number;
};

static void release(struct crowd *crowd, char *block)
{
    if (!block) return;
    size_t size_bytes;
    memcpy(&size_bytes, block, sizeof size_bytes);
    bool is_whole = block[size_bytes - 1] == (char)size_bytes;
    if (!is_whole || tarn_pool_free(crowd->pool, block) != TARN_STATUS_OK)
        atomic_fetch_add(&crowd->failure_count, 1);
}

static void *work(void *argument)
{
    struct member *member = argument;
    struct crowd *crowd = member->crowd;
    struct random random = random_init(member->number + 1);
    for (unsigned step = 0; step < STEPS; step++) {
        void *address = NULL;
        size_t size_bytes = (1 + random_below(&random, 9)) * 700;
        if (tarn_pool_alloc(crowd->pool, size_bytes, &address) != TARN_STATUS_OK) {
            atomic_fetch_add(&crowd->failure_count, 1);
            continue;
        }
        char *block = address;
        memcpy(block, &size_bytes, sizeof size_bytes);
        block[size_bytes - 1] = (char)size_bytes;
        release(crowd, atomic_exchange(&crowd->slots[random_below(&random, SLOTS)], block));
        if (step % 512 == 0 && tarn_pool_check(crowd->pool) != TARN_STATUS_OK)
            atomic_fetch_add(&crowd->failure_count, 1);
        if (step % 128 != 0) continue;
        tn_biased_mutex_lock(&crowd->pool->lock);
        (void)tn_arenas_want(crowd->pool);
        tn_biased_mutex_unlock(&crowd->pool->lock);
    }
    return NULL;
}

static void threads_keep_their_contents(void **state)
{
    struct fixture *fixture = *state;
    struct crowd crowd = { .pool = NULL };
    struct member members[THREADS];
    pthread_t threads[THREADS];
    tarn_backend backend;
    tarn_pool_options options = fixture->options;
    expect_ok(tarn_host_backend_open(NULL, &backend));
    options.backend = &backend;
    expect_ok(tarn_pool_create(&options, &crowd.pool));
    for (unsigned i = 0; i < THREADS; i++) {
        members[i] = (struct member){ &crowd, i };
        assert_int_equal(pthread_create(&threads[i], NULL, work, &members[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < SLOTS; i++)
        release(&crowd, crowd.slots[i]);
    assert_int_equal(crowd.failure_count, 0);
    expect_ok(tarn_pool_check(crowd.pool));
    assert_int_equal(stats_of(crowd.pool).alloc_count, THREADS * STEPS);
    expect_ok(tarn_pool_destroy(crowd.pool));
    tarn_backend_close(&backend);
}

/* The bound holds for what comes back as well. */
static void what_was_out_finds_no_room(void **state)
{
    struct fixture *fixture = *state;
    enum {
        COUNT = 4
    };
    void *out[COUNT], *others[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        out[i] = alloc(fixture, 20 * KIB);
        others[i] = alloc(fixture, 30 * KIB);
    }
    free_all(fixture, out, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        out[i] = alloc(fixture, 20 * KIB);
    free_all(fixture, others, COUNT);
    assert_int_equal(cached_chunks(fixture), COUNT * 30);
    for (size_t i = 0; i < COUNT; i++) {
        expect_ok(tarn_pool_free(fixture->pool, out[i]));
        assert_true(cached_chunks(fixture) <= 128);
        expect_cache_is_right(fixture);
    }
}

/* Another thread's free of what an arena has handed out of its cache. */

struct other_free {
    tarn_pool *pool;
    void *address;
    tarn_status status;
};

static void *free_elsewhere(void *argument)
{
    struct other_free *other = argument;
    other->status = tarn_pool_free(other->pool, other->address);
    return NULL;
}

static void expect_arena_is_right(const struct fixture *fixture)
{
    const struct tn_arena *arena = own_arena(fixture);
    assert_true(arena->is_active);
    const char *fault = tn_thread_cache_check(arena->cache, &arena->index);
    if (fault) fail_msg("%s", fault);
}

static void another_thread_frees_what_is_out(void **state)
{
    struct fixture *fixture = *state;
    pthread_t thread;
    warm_up(fixture);
    void *address = alloc(fixture, 5 * KIB);
    expect_ok(tarn_pool_free(fixture->pool, address));
    assert_ptr_equal(alloc(fixture, 5 * KIB), address);
    struct other_free other = { fixture->pool, address, TARN_STATUS_OK };
    assert_int_equal(pthread_create(&thread, NULL, free_elsewhere, &other), 0);
    pthread_join(thread, NULL);
    expect_ok(other.status);
    void *again = alloc(fixture, 3 * KIB);
    assert_ptr_equal(again, address);
    expect_arena_is_right(fixture);
    expect_ok(tarn_pool_free(fixture->pool, again));
    assert_int_equal(own_arena(fixture)->cache->chunk_count, 3);
    expect_arena_is_right(fixture);
}

/* What an arena caches serves a larger request before the arena borrows more. */
static void an_arena_coalesces_before_it_borrows(void **state)
{
    struct fixture *fixture = *state;
    warm_up(fixture);
    void *first = alloc(fixture, 6 * KIB), *second = alloc(fixture, 7 * KIB);
    uint32_t rest = tn_region_index_largest_free(&own_arena(fixture)->index);
    void *others = alloc(fixture, rest * KIB);
    assert_int_equal(tn_region_index_largest_free(&own_arena(fixture)->index), 0);
    expect_ok(tarn_pool_free(fixture->pool, first));
    expect_ok(tarn_pool_free(fixture->pool, second));
    assert_int_equal(own_arena(fixture)->cache->chunk_count, 13);
    assert_ptr_equal(alloc(fixture, 13 * KIB), first);
    assert_int_equal(own_arena(fixture)->loan_count, 1);
    expect_ok(tarn_pool_free(fixture->pool, first));
    expect_ok(tarn_pool_free(fixture->pool, others));
}

/* What the pool caches itself serves arenas before the pool grows for them. */
static void a_pool_does_not_grow_for_what_it_caches(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.initial_bytes = 64 * MIB;
    fixture->options.thread_cache_bytes = 8 * MIB;
    create_anew(fixture);
    void *large[58], *cached[4], *small[31];
    for (size_t i = 0; i < 58; i++)
        large[i] = alloc(fixture, MIB);
    for (size_t i = 0; i < 4; i++)
        cached[i] = alloc(fixture, MIB / 2);
    void *guard = alloc(fixture, 64 * KIB);
    free_all(fixture, cached, 4);
    assert_int_equal(cached_chunks(fixture), 2048);
    want_arenas(fixture);
    for (size_t i = 0; i < 31; i++)
        small[i] = alloc(fixture, i == 0 ? 10 * KIB : 100 * KIB);
    void *last = alloc(fixture, 1700 * KIB);
    assert_int_equal(stats_of(fixture->pool).footprint_bytes, 64 * MIB);
    free_all(fixture, large, 58);
    free_all(fixture, small, 31);
    free_all(fixture, &guard, 1);
    free_all(fixture, &last, 1);
}

/* --- against a pool without --------------------------------------------------------------------------- */

/* Whatever the cache holds, sums, refusals and room are those of a pool without one. */
static void a_random_program_sees_no_difference_but_the_addresses(void **state)
{
    struct fixture *fixture = *state;
    enum {
        COUNT = 200
    };
    struct block {
        void *here, *there;
    } blocks[COUNT] = { 0 };
    tarn_pool *plain;
    tarn_pool_options options = fixture->options;
    options.thread_cache_bytes = 0;
    options.backend = &fixture->handle;
    expect_ok(tarn_pool_create(&options, &plain));
    uint64_t seed = random_seed(20261122);
    struct random random = random_init(seed);
    const tarn_stream streams[] = { A, B };
    uint32_t cached_max = 0;
    for (unsigned step = 0; step < 30000; step++) {
        struct block *block = &blocks[random_below(&random, COUNT)];
        tarn_stream stream = streams[random_below(&random, 8) == 0];
        if (block->here) {
            expect_ok(tarn_pool_free_on(fixture->pool, block->here, stream));
            expect_ok(tarn_pool_free_on(plain, block->there, stream));
            *block = (struct block){ 0 };
        } else {
            size_t size_bytes = (1 + random_below(&random, 12)) * 300;
            expect_ok(tarn_pool_alloc_on(fixture->pool, size_bytes, stream, &block->here));
            expect_ok(tarn_pool_alloc_on(plain, size_bytes, stream, &block->there));
        }
        if (cached_chunks(fixture) > cached_max) cached_max = cached_chunks(fixture);
        if (step % 64 == 0) expect_cache_is_right(fixture);
        if (step % 1024 != 0) continue;
        tarn_stats ours = stats_of(fixture->pool), others = stats_of(plain);
        assert_int_equal(ours.live_count, others.live_count);
        assert_int_equal(ours.requested_bytes, others.requested_bytes);
        assert_int_equal(ours.requested_bytes_max, others.requested_bytes_max);
        assert_int_equal(ours.used_bytes_max + ours.alloc_count,
                         others.used_bytes_max + others.alloc_count);
        expect_ok(tarn_pool_check(fixture->pool));
    }
    assert_true(cached_max > 0);
    for (size_t i = 0; i < COUNT; i++) {
        expect_ok(tarn_pool_free(fixture->pool, blocks[i].here));
        expect_ok(tarn_pool_free(plain, blocks[i].there));
    }
    expect_ok(tarn_pool_destroy(plain));
}

/* How far from its pool's first block each is. */
static void play_for_offsets(tarn_pool *pool, uint64_t seed, ptrdiff_t *offsets_out, size_t count)
{
    char *blocks[SLOTS] = { NULL };
    void *first;
    struct random random = random_init(seed);
    expect_ok(tarn_pool_alloc(pool, KIB, &first));
    for (size_t i = 0; i < count; i++) {
        char **block = &blocks[random_below(&random, SLOTS)];
        tarn_stream stream = random_below(&random, 8) == 0 ? B : A;
        void *address;
        if (*block) expect_ok(tarn_pool_free_on(pool, *block, stream));
        expect_ok(
            tarn_pool_alloc_on(pool, (1 + random_below(&random, 12)) * 300, stream, &address));
        *block = address;
        offsets_out[i] = *block - (char *)first;
    }
    for (size_t i = 0; i < SLOTS; i++) {
        if (blocks[i]) expect_ok(tarn_pool_free(pool, blocks[i]));
    }
    expect_ok(tarn_pool_free(pool, first));
}

static void the_same_calls_give_the_same_offsets(void **state)
{
    struct fixture *fixture = *state;
    enum {
        COUNT = 20000
    };
    static ptrdiff_t here[COUNT], there[COUNT];
    tarn_pool *other;
    expect_ok(tarn_pool_create(&fixture->options, &other));
    uint64_t seed = random_seed(20261122);
    play_for_offsets(fixture->pool, seed, here, COUNT);
    play_for_offsets(other, seed, there, COUNT);
    assert_memory_equal(here, there, sizeof here);
    /* Another program gives others. */
    expect_ok(tarn_pool_destroy(other));
    expect_ok(tarn_pool_create(&fixture->options, &other));
    play_for_offsets(other, seed + 1, there, COUNT);
    assert_memory_not_equal(here, there, sizeof here);
    expect_ok(tarn_pool_destroy(other));
}

static void without_host_memory_there_is_no_pool(void **state)
{
    struct fixture *fixture = *state;
    expect_ok(tarn_pool_destroy(fixture->pool));
    unsigned failed_count = 0;
    for (unsigned nth = 1;; nth++) {
        host_memory_faults_begin(nth);
        tarn_status status = tarn_pool_create(&fixture->options, &fixture->pool);
        bool has_failed = host_memory_faults_end();
        if (!has_failed) {
            expect_ok(status);
            break;
        }
        expect_status(TARN_STATUS_OUT_OF_HOST_MEMORY, status);
        failed_count++;
    }
    assert_true(failed_count > 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(what_was_freed_serves_the_next_of_its_size),
        TEST(without_bytes_there_is_no_cache),
        TEST(pools_whose_frees_do_more_have_none),
        TEST(what_is_too_large_is_free_at_once),
        TEST(the_bound_is_of_what_is_held),
        TEST(all_together_has_a_bound),
        TEST(a_set_has_four_ways),
        TEST(what_nobody_takes_goes_in_time),
        TEST(what_is_out_comes_back),
        TEST(what_was_out_is_forgotten),
        TEST(what_was_out_is_forgotten_by_its_stream),
        TEST(slices_are_not_cached),
        TEST(bad_frees_are_refused),
        TEST(what_is_cached_counts_as_free),
        TEST(nothing_is_out_of_memory_for_what_is_cached),
        TEST(a_trim_gives_all_back),
        TEST(a_pool_can_be_destroyed_with_a_full_cache),
        TEST(batches_and_resizes_find_it_empty),
        TEST(a_stream_is_served_with_its_own),
        TEST(what_was_cached_waits_as_what_was_not),
        TEST(a_second_stream_finds_nothing_of_the_first),
        TEST(a_retired_stream_leaves_nothing),
        TEST(an_arena_has_its_own),
        TEST(what_was_out_finds_no_room),
        TEST(another_thread_frees_what_is_out),
        TEST(an_arena_coalesces_before_it_borrows),
        TEST(a_pool_does_not_grow_for_what_it_caches),
        TEST(threads_keep_their_contents),
        TEST(a_random_program_sees_no_difference_but_the_addresses),
        TEST(the_same_calls_give_the_same_offsets),
        TEST(without_host_memory_there_is_no_pool),
    };
    return cmocka_run_group_tests_name("thread_cache", tests, NULL, NULL);
}
