/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_pool_observers: several observers of one pool, which come and go at any time: each is told of each static pool
 * once. And static pools that are held. test_pool_callbacks has what a function that is told may do.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/host_memory_faults.h"
#include "pool_fixture.h"

enum {
    PIECES_MAX = 4096,
    WATCHERS = 4
};

struct piece {
    void *base;
    size_t size_bytes;
    uint64_t id;
    bool is_there;
};

/* The calls that one observer got, and the acts that the test wants then. */
struct watcher {
    pthread_mutex_t lock;
    struct piece pieces[PIECES_MAX];
    size_t created_count, destroyed_count;
    size_t fault_count; /* told twice, or of the going of what has not come */
    pthread_t thread;   /* that told last */
    tarn_observer number;
    void (*when_created)(struct watcher *watcher, const struct piece *piece);
    void (*when_destroyed)(struct watcher *watcher, const struct piece *piece);
};

static struct watcher watchers[WATCHERS];
static struct watcher *const first = &watchers[0]; /* the options' */

static struct piece *find_piece(struct watcher *watcher, uint64_t id)
{
    for (size_t i = 0; i < watcher->created_count; i++) {
        if (watcher->pieces[i].id == id) return &watcher->pieces[i];
    }
    return NULL;
}

static void created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct watcher *watcher = user;
    const struct piece piece = { base, size_bytes, id, true };
    pthread_mutex_lock(&watcher->lock);
    if (find_piece(watcher, id) || watcher->created_count == PIECES_MAX)
        watcher->fault_count++;
    else
        watcher->pieces[watcher->created_count++] = piece;
    watcher->thread = pthread_self();
    pthread_mutex_unlock(&watcher->lock);
    if (watcher->when_created) watcher->when_created(watcher, &piece);
}

static void destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct watcher *watcher = user;
    pthread_mutex_lock(&watcher->lock);
    struct piece *piece = find_piece(watcher, id), copy = { base, size_bytes, id, false };
    bool is_right =
        piece && piece->is_there && piece->base == base && piece->size_bytes == size_bytes;
    if (is_right)
        piece->is_there = false;
    else
        watcher->fault_count++;
    watcher->destroyed_count++;
    pthread_mutex_unlock(&watcher->lock);
    if (watcher->when_destroyed) watcher->when_destroyed(watcher, &copy);
}

static void reset(struct watcher *watcher)
{
    *watcher = (struct watcher){ .created_count = 0 };
    pthread_mutex_init(&watcher->lock, NULL);
}

static int set_up_watched(void **state)
{
    begin_fixture(true);
    options.initial_bytes = 64 * KIB;
    options.growth_factor = 1.0;
    options.on_static_pool_created = created;
    options.on_static_pool_destroyed = destroyed;
    options.user = first;
    for (int i = 0; i < WATCHERS; i++)
        reset(&watchers[i]);
    return 0;
}

static int tear_down_watched(void **state)
{
    for (int i = 0; i < WATCHERS; i++)
        watchers[i].when_created = watchers[i].when_destroyed = NULL;
    tear_down(state);
    for (int i = 0; i < WATCHERS; i++)
        assert_int_equal(watchers[i].fault_count, 0);
    assert_int_equal(first->created_count, first->destroyed_count);
    return 0;
}

static void observe(struct watcher *watcher)
{
    expect_ok(tarn_pool_observe(pool, created, destroyed, watcher, &watcher->number));
    assert_int_not_equal(watcher->number, 0);
}

static void unobserve(struct watcher *watcher)
{
    expect_ok(tarn_pool_unobserve(pool, watcher->number));
}

static void expect_counts(const struct watcher *watcher, size_t created_count,
                          size_t destroyed_count)
{
    assert_int_equal(watcher->created_count, created_count);
    assert_int_equal(watcher->destroyed_count, destroyed_count);
    assert_int_equal(watcher->fault_count, 0);
}

/* Each has a static pool of its own. */
static void *alloc_apart(void)
{
    return alloc(64 * KIB);
}

/* --- who is told ------------------------------------------------------------------------------------- */

static void all_observers_are_told_of_each(void **state)
{
    create();
    void *a = alloc_apart();
    observe(&watchers[1]);
    expect_counts(&watchers[1], 1, 0); /* that was there */
    void *b = alloc_apart();
    observe(&watchers[2]);
    expect_counts(&watchers[2], 2, 0);
    void *c = alloc_apart();
    for (int i = 0; i < 3; i++)
        expect_counts(&watchers[i], 3, 0);
    free_one(b);
    assert_int_equal(trim(0), 64 * KIB);
    for (int i = 0; i < 3; i++) {
        expect_counts(&watchers[i], 3, 1);
        assert_false(find_piece(&watchers[i], first->pieces[1].id)->is_there);
    }
    free_one(a);
    free_one(c);
    destroy();
    for (int i = 0; i < 3; i++)
        expect_counts(&watchers[i], 3, 3);
}

static void a_late_one_is_told_in_its_thread_of_the_oldest_first(void **state)
{
    create();
    for (int i = 0; i < 5; i++)
        alloc_apart();
    observe(&watchers[1]);
    expect_counts(&watchers[1], 5, 0);
    assert_true(pthread_equal(watchers[1].thread, pthread_self()));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(watchers[1].pieces[i].id, first->pieces[i].id);
        assert_ptr_equal(watchers[1].pieces[i].base, first->pieces[i].base);
        assert_int_equal(watchers[1].pieces[i].size_bytes, first->pieces[i].size_bytes);
    }
}

static void one_that_has_ended_is_told_no_more(void **state)
{
    create();
    alloc_apart();
    observe(&watchers[1]);
    observe(&watchers[2]);
    unobserve(&watchers[1]);
    alloc_apart();
    expect_counts(&watchers[1], 1, 0);
    expect_counts(&watchers[2], 2, 0);
    observe(&watchers[3]);
    unobserve(&watchers[2]);
    unobserve(&watchers[3]);
    free_one(alloc_apart());
    trim(0);
    expect_counts(&watchers[2], 2, 0);
    expect_counts(&watchers[3], 2, 0);
    expect_counts(first, 3, 1);
    destroy();
    expect_counts(&watchers[2], 2, 0);
}

static void pools_without_functions_can_be_observed(void **state)
{
    options.on_static_pool_created = NULL;
    options.on_static_pool_destroyed = NULL;
    create();
    alloc_apart();
    observe(&watchers[1]);
    alloc_apart();
    expect_counts(&watchers[1], 2, 0);
    destroy();
    expect_counts(&watchers[1], 2, 2);
    expect_counts(first, 0, 0);
}

static void either_function_may_be_left_out(void **state)
{
    tarn_observer number;
    create();
    void *a = alloc_apart();
    expect_ok(tarn_pool_observe(pool, created, NULL, &watchers[1], &number));
    expect_ok(tarn_pool_observe(pool, NULL, destroyed, &watchers[2], &number));
    void *b = alloc_apart();
    free_one(b);
    free_one(a);
    trim(0);
    expect_counts(&watchers[1], 2, 0);
    assert_int_equal(watchers[2].created_count, 0);
    assert_int_equal(watchers[2].destroyed_count, 2);
    watchers[2].fault_count = 0; /* it has not heard of their coming */
}

static void a_pool_over_the_callers_memory_is_one_static_pool(void **state)
{
    void *memory = (void *)((uintptr_t)1 << 56);
    expect_ok(tarn_pool_create_over(memory, 64 * KIB, NULL, &pool));
    observe(&watchers[1]);
    expect_counts(&watchers[1], 1, 0);
    assert_ptr_equal(watchers[1].pieces[0].base, memory);
    expect_ok(tarn_static_pool_hold(pool, watchers[1].pieces[0].id));
    destroy();
    expect_counts(&watchers[1], 1, 1);
}

static void an_abandoned_pool_tells_nothing(void **state)
{
    create();
    alloc_apart();
    observe(&watchers[1]);
    expect_ok(tarn_pool_abandon(pool));
    expect_counts(&watchers[1], 1, 0);
    first->destroyed_count++;
    pool = NULL;
    test_backend_init(&backend);
    opened = test_backend_open(&backend);
}

static void bad_arguments_have_their_status(void **state)
{
    tarn_observer number = 77;
    tarn_pool *gone = new_pool(&options);
    expect_ok(tarn_pool_destroy(gone));
    create();
    alloc_apart();
    expect_status(TARN_STATUS_INVALID_ARGUMENT,
                  tarn_pool_observe(pool, NULL, NULL, first, &number));
    expect_status(TARN_STATUS_INVALID_ARGUMENT,
                  tarn_pool_observe(pool, created, destroyed, first, NULL));
    expect_status(TARN_STATUS_INVALID_POOL,
                  tarn_pool_observe(NULL, created, destroyed, first, &number));
    expect_status(TARN_STATUS_INVALID_POOL,
                  tarn_pool_observe(gone, created, destroyed, first, &number));
    assert_int_equal(number, 77);
    observe(&watchers[1]);
    tarn_pool *other = new_pool(&options);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_unobserve(other, watchers[1].number));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_unobserve(pool, 0));
    unobserve(&watchers[1]);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_unobserve(pool, watchers[1].number));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_unobserve(NULL, watchers[1].number));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_unobserve(gone, watchers[1].number));
    expect_ok(tarn_pool_destroy(other));
}

static void without_host_memory_nothing_is_told(void **state)
{
    unsigned n = 1;
    create();
    alloc_apart();
    for (bool has_failed = true; has_failed; n++) {
        host_memory_faults_begin(n);
        tarn_status status =
            tarn_pool_observe(pool, created, destroyed, &watchers[1], &watchers[1].number);
        has_failed = host_memory_faults_end();
        assert_int_equal(status, has_failed ? TARN_STATUS_OUT_OF_HOST_MEMORY : TARN_STATUS_OK);
        expect_counts(&watchers[1], has_failed ? 0 : 1, 0);
    }
    assert_int_equal(n, 3);
    /* What is announced and cannot be inserted is taken back from all. */
    size_t taken_back = 0;
    n = 1;
    for (bool has_failed = true; has_failed; n++) {
        void *address;
        host_memory_faults_begin(n);
        tarn_status status = tarn_pool_alloc(pool, 3 * MIB, &address);
        has_failed = host_memory_faults_end();
        assert_int_equal(status, has_failed ? TARN_STATUS_OUT_OF_HOST_MEMORY : TARN_STATUS_OK);
        assert_int_equal(watchers[1].created_count, first->created_count);
        assert_int_equal(watchers[1].destroyed_count, first->destroyed_count);
        taken_back = watchers[1].destroyed_count;
    }
    assert_true(taken_back > 0);
}

/* --- at the same moment ------------------------------------------------------------------------------ */

static void observe_once(struct watcher *watcher, const struct piece *piece)
{
    watcher->when_created = watcher->when_destroyed = NULL;
    observe(&watchers[2]);
}

/* It comes while a static pool does: that is told to it once, by either thread. */
static void one_may_come_while_a_static_pool_arrives(void **state)
{
    for (int i = 0; i < 2; i++) { /* in the first observer's function, and in the last one's */
        create();
        alloc_apart();
        observe(&watchers[1]);
        watchers[i].when_created = observe_once;
        alloc_apart();
        expect_counts(&watchers[1], 2, 0);
        expect_counts(&watchers[2], 2, 0);
        alloc_apart();
        expect_counts(&watchers[2], 3, 0);
        destroy();
        expect_counts(&watchers[2], 3, 3);
        for (int k = 0; k < 3; k++)
            reset(&watchers[k]);
        opened = test_backend_open(&backend);
    }
}

/* It comes while static pools leave, of which the second is not told yet: it hears of neither. */
static void one_that_comes_while_static_pools_leave_does_not_hear_of_them(void **state)
{
    create();
    void *a = alloc_apart(), *b = alloc_apart(), *c = alloc_apart();
    observe(&watchers[1]);
    first->when_destroyed = observe_once;
    free_one(a);
    free_one(b);
    assert_int_equal(trim(0), 128 * KIB);
    expect_counts(&watchers[1], 3, 2);
    expect_counts(&watchers[2], 1, 0);
    assert_ptr_equal(watchers[2].pieces[0].base, found_at(c).static_pool_base);
    free_one(c);
    trim(0);
    expect_counts(&watchers[2], 1, 1);
}

static void grow_once(struct watcher *watcher, const struct piece *piece)
{
    watcher->when_created = NULL;
    alloc(500 * KIB);
}

static void growth_in_the_function_is_told_once(void **state)
{
    create();
    alloc_apart();
    alloc_apart();
    watchers[1].when_created = grow_once;
    observe(&watchers[1]);
    expect_counts(first, 3, 0);
    expect_counts(&watchers[1], 3, 0);
    /* By which thread, and when, does not matter. */
    assert_int_equal(watchers[1].pieces[1].id, first->pieces[2].id);
    assert_int_equal(watchers[1].pieces[2].id, first->pieces[1].id);
}

static tarn_status thread_status;

static void *grow_in_thread(void *context)
{
    void *address;
    thread_status = tarn_pool_alloc(pool, 500 * KIB, &address);
    return NULL;
}

static void grow_elsewhere(struct watcher *watcher, const struct piece *piece)
{
    pthread_t thread;
    watcher->when_created = NULL;
    assert_int_equal(pthread_create(&thread, NULL, grow_in_thread, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(thread_status, TARN_STATUS_OK);
}

static void growth_by_another_thread_is_told_once(void **state)
{
    create();
    alloc_apart();
    alloc_apart();
    watchers[1].when_created = grow_elsewhere;
    observe(&watchers[1]);
    expect_counts(first, 3, 0);
    expect_counts(&watchers[1], 3, 0);
}

static void trim_once(struct watcher *watcher, const struct piece *piece)
{
    watcher->when_created = NULL;
    assert_int_equal(trim(0), 0);
}

/* Else it might be told of one that has gone. */
static void nothing_leaves_while_one_is_told_of_those_there(void **state)
{
    create();
    void *a = alloc_apart(), *b = alloc_apart();
    free_one(a);
    free_one(b);
    watchers[1].when_created = trim_once;
    observe(&watchers[1]);
    expect_counts(&watchers[1], 2, 0);
    assert_int_equal(trim(0), 128 * KIB);
    expect_counts(&watchers[1], 2, 2);
}

static void free_once(struct watcher *watcher, const struct piece *piece)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    watcher->when_created = NULL;
    expect_ok(tarn_pool_find(first->pieces[0].base, &found));
    free_one(found.address);
    assert_int_equal(backend.release_count, 0);
}

static void what_should_have_gone_back_goes_afterwards(void **state)
{
    for (int way = 0; way < 3; way++) {
        options.release_threshold_bytes = way == 0 ? 1 : 0;
        options.returns_when_empty = way == 1;
        options.passes_through = way == 2;
        create();
        if (way != 1) alloc_apart();
        if (way == 0) free_one(alloc_apart()); /* the spare */
        if (way == 0) alloc_on(64 * KIB, NULL);
        alloc_apart();
        backend.release_count = 0;
        watchers[1].when_created = free_once;
        observe(&watchers[1]);
        assert_int_equal(backend.release_count, way == 0 ? 0 : 1);
        destroy();
        reset(&watchers[1]);
        reset(first);
        opened = test_backend_open(&backend);
    }
}

/* A shortage waits for the functions, and gives back then. */
static void *alloc_when_told(void *context)
{
    while (!atomic_load((atomic_bool *)context))
        usleep(100);
    void *address;
    thread_status = tarn_pool_alloc(pool, 100 * KIB, &address);
    return NULL;
}

static atomic_bool has_begun;

static void take_long(struct watcher *watcher, const struct piece *piece)
{
    atomic_store(&has_begun, true);
    usleep(30000);
}

static void who_needs_what_can_go_back_waits(void **state)
{
    pthread_t thread;
    options.limit_bytes = 128 * KIB;
    create();
    void *a = alloc_apart(), *b = alloc_apart();
    free_one(a);
    free_one(b);
    atomic_store(&has_begun, false);
    watchers[1].when_created = take_long;
    assert_int_equal(pthread_create(&thread, NULL, alloc_when_told, &has_begun), 0);
    observe(&watchers[1]);
    pthread_join(thread, NULL);
    assert_int_equal(thread_status, TARN_STATUS_OK);
    expect_counts(&watchers[1], 3, 2);
}

/* --- ending in a function ---------------------------------------------------------------------------- */

static void unobserve_itself(struct watcher *watcher, const struct piece *piece)
{
    watcher->when_created = watcher->when_destroyed = NULL;
    unobserve(watcher);
}

static void unobserve_the_next(struct watcher *watcher, const struct piece *piece)
{
    watcher->when_created = watcher->when_destroyed = NULL;
    unobserve(watcher + 1);
}

static void an_observer_may_end_in_a_function(void **state)
{
    create();
    observe(&watchers[1]);
    observe(&watchers[2]);
    observe(&watchers[3]);
    watchers[1].when_created = unobserve_itself;
    alloc_apart();
    for (int i = 0; i < 4; i++)
        expect_counts(&watchers[i], 1, 0);
    watchers[2].when_created = unobserve_the_next;
    void *address = alloc_apart();
    expect_counts(&watchers[1], 1, 0);
    expect_counts(&watchers[2], 2, 0);
    expect_counts(&watchers[3], 1, 0); /* it had ended when its turn came */
    watchers[2].when_destroyed = unobserve_itself;
    free_one(address);
    trim(0);
    expect_counts(&watchers[2], 2, 1);
    alloc_apart();
    expect_counts(&watchers[2], 2, 1);
}

static atomic_bool has_returned;

static void take_long_and_say_so(struct watcher *watcher, const struct piece *piece)
{
    atomic_store(&has_begun, true);
    usleep(50000);
    atomic_store(&has_returned, true);
}

static void the_end_waits_for_functions_that_run(void **state)
{
    pthread_t thread;
    create();
    observe(&watchers[1]);
    watchers[1].when_created = take_long_and_say_so;
    atomic_store(&has_begun, false);
    atomic_store(&has_returned, false);
    assert_int_equal(pthread_create(&thread, NULL, grow_in_thread, NULL), 0);
    while (!atomic_load(&has_begun))
        usleep(100);
    unobserve(&watchers[1]);
    assert_true(atomic_load(&has_returned));
    pthread_join(thread, NULL);
    assert_int_equal(thread_status, TARN_STATUS_OK);
}

/* Two functions in two threads, each of which ends the other's observer. */
static pthread_barrier_t both_run;
static atomic_bool has_met[WATCHERS];

/* The second thread passes by the function that the first is in. */
static void meet_and_unobserve(struct watcher *watcher, const struct piece *piece)
{
    if (atomic_exchange(&has_met[watcher - watchers], true)) return;
    pthread_barrier_wait(&both_run);
    unobserve(watcher == &watchers[1] ? &watchers[2] : &watchers[1]);
}

static void ends_in_functions_do_not_wait_for_each_other(void **state)
{
    pthread_t thread;
    create();
    observe(&watchers[1]);
    observe(&watchers[2]);
    pthread_barrier_init(&both_run, NULL, 2);
    for (int i = 1; i < 3; i++) {
        atomic_store(&has_met[i], false);
        watchers[i].when_created = meet_and_unobserve;
    }
    assert_int_equal(pthread_create(&thread, NULL, grow_in_thread, NULL), 0);
    alloc(900 * KIB);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&both_run);
    assert_int_equal(first->created_count, 2);
}

static void hold_it(struct watcher *watcher, const struct piece *piece)
{
    expect_ok(tarn_static_pool_hold(pool, piece->id));
}

static void expect_too_late(struct watcher *watcher, const struct piece *piece)
{
    assert_int_equal(tarn_static_pool_hold(pool, piece->id), TARN_STATUS_INVALID_ARGUMENT);
}

/* --- steps of a contiguous pool ---------------------------------------------------------------------- */

static void create_contiguous(void)
{
    backend.range_granularity_bytes = 4 * KIB;
    backend.total_bytes = 64 * 64 * KIB;
    opened = test_backend_open(&backend);
    options.contiguous = true;
    options.initial_bytes = 0;
    options.step_bytes = 16 * KIB;
    create();
}

static void steps_are_told_to_all(void **state)
{
    create_contiguous();
    void *a = alloc(40 * KIB); /* three steps */
    observe(&watchers[1]);
    expect_counts(&watchers[1], 3, 0);
    void *b = alloc(40 * KIB);
    size_t count = first->created_count;
    expect_counts(&watchers[1], count, 0);
    free_one(a);
    free_one(b);
    trim(0);
    expect_counts(first, count, count);
    expect_counts(&watchers[1], count, count);
    free_one(alloc(KIB));
    expect_counts(&watchers[1], count + 1, count);
}

static size_t observe_at;

static void observe_at_a_step(struct watcher *watcher, const struct piece *piece)
{
    if (watcher->created_count == observe_at) observe(&watchers[2]);
}

/* Of three steps that come together, the first are told, one is being told, and the last are not. They have been there
 * before. */
static void one_may_come_while_steps_arrive(void **state)
{
    for (int who = 0; who < 2; who++) {
        for (size_t step = 2; step <= 4; step++) {
            create_contiguous();
            free_one(alloc(64 * KIB));
            trim(0);
            reset(first);
            alloc(KIB);
            observe(&watchers[1]);
            observe_at = step;
            watchers[who].when_created = observe_at_a_step;
            alloc(48 * KIB);
            assert_int_equal(first->created_count, 4);
            expect_counts(&watchers[1], 4, 0);
            expect_counts(&watchers[2], 4, 0);
            watchers[who].when_created = NULL;
            destroy();
            expect_counts(&watchers[2], 4, 4);
            for (int k = 0; k < 3; k++)
                reset(&watchers[k]);
        }
    }
}

static size_t observe_at_destroyed;

static void observe_at_an_end(struct watcher *watcher, const struct piece *piece)
{
    if (watcher->destroyed_count == observe_at_destroyed) observe(&watchers[2]);
}

static void one_that_comes_while_steps_leave_does_not_hear_of_them(void **state)
{
    for (size_t step = 1; step <= 3; step++) {
        create_contiguous();
        void *a = alloc(16 * KIB), *b = alloc(48 * KIB);
        observe(&watchers[1]);
        observe_at_destroyed = step;
        watchers[1].when_destroyed = observe_at_an_end;
        free_one(b);
        assert_int_equal(trim(0), 48 * KIB);
        expect_counts(&watchers[1], 4, 3);
        expect_counts(&watchers[2], 1, 0);
        assert_ptr_equal(watchers[2].pieces[0].base, a);
        watchers[1].when_destroyed = NULL;
        destroy();
        expect_counts(&watchers[2], 1, 1);
        for (int k = 0; k < 3; k++)
            reset(&watchers[k]);
    }
}

/* Steps that the vendor does not take back come again under another id. */
static void refused_steps_are_told_anew(void **state)
{
    create_contiguous();
    observe(&watchers[1]);
    free_one(alloc(16 * KIB));
    backend.call_failure = TARN_STATUS_VENDOR_ERROR;
    backend.fail_call_at[TEST_CALL_RANGE_UNMAP] = 1;
    backend.fail_call_count = 1000;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_trim(pool, 0, NULL));
    expect_counts(&watchers[1], 1, 1);
    observe(&watchers[3]);
    expect_counts(&watchers[3], 0, 0);
    observe_at = 2;
    watchers[1].when_created = observe_at_a_step;
    watchers[3].when_created = hold_it;
    void *address = alloc(16 * KIB);
    backend.fail_call_at[TEST_CALL_RANGE_UNMAP] = 0;
    expect_counts(&watchers[1], 2, 1);
    expect_counts(&watchers[2], 1, 0);
    expect_counts(&watchers[3], 1, 0);
    free_one(address);
    assert_int_equal(trim(0), 0);
}

/* --- threads ------------------------------------------------------------------------------------------ */

enum {
    THREADS = 4,
    ROUNDS = 150
};

struct crew_member {
    unsigned number;
    struct watcher watcher;
    bool is_wrong;
};

/* At the end of each round nothing is there that was not told, and nothing was told twice. */
static void observe_for_a_while(struct crew_member *member)
{
    struct watcher *watcher = &member->watcher;
    reset(watcher);
    member->is_wrong |=
        tarn_pool_observe(pool, created, destroyed, watcher, &watcher->number) != TARN_STATUS_OK;
    void *address;
    tarn_allocation found = TARN_ALLOCATION_INIT;
    if (tarn_pool_alloc(pool, (member->number + 1) * 30 * KIB, &address) == TARN_STATUS_OK) {
        member->is_wrong |= tarn_pool_find(address, &found) != TARN_STATUS_OK;
        pthread_mutex_lock(&watcher->lock);
        const struct piece *piece = find_piece(watcher, found.static_pool_id);
        member->is_wrong |= !options.contiguous && (!piece || !piece->is_there);
        pthread_mutex_unlock(&watcher->lock);
        member->is_wrong |= tarn_pool_free(pool, address) != TARN_STATUS_OK;
    }
    member->is_wrong |= tarn_pool_unobserve(pool, watcher->number) != TARN_STATUS_OK;
    member->is_wrong |= watcher->fault_count > 0;
}

static void *crew_work(void *argument)
{
    struct crew_member *member = argument;
    for (unsigned i = 0; i < ROUNDS && !member->is_wrong; i++) {
        void *address;
        if (member->number < 2) {
            observe_for_a_while(member);
        } else if (tarn_pool_alloc(pool, (i % 7 + 1) * 20 * KIB, &address) == TARN_STATUS_OK) {
            member->is_wrong |= tarn_pool_free(pool, address) != TARN_STATUS_OK;
            if (i % 3 == 0) (void)tarn_pool_trim(pool, 0, NULL);
        }
    }
    return NULL;
}

static void run_crew(void)
{
    static struct crew_member crew[THREADS];
    pthread_t threads[THREADS];
    observe(&watchers[1]);
    for (unsigned i = 0; i < THREADS; i++) {
        crew[i].number = i;
        crew[i].is_wrong = false;
        assert_int_equal(pthread_create(&threads[i], NULL, crew_work, &crew[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(crew[i].is_wrong);
    }
    assert_int_equal(first->created_count, watchers[1].created_count);
    assert_int_equal(first->destroyed_count, watchers[1].destroyed_count);
}

static void observers_come_and_go_among_threads(void **state)
{
    create();
    run_crew();
}

static void observers_of_steps_come_and_go_among_threads(void **state)
{
    create_contiguous();
    run_crew();
}

static void observers_of_a_pool_that_releases_come_and_go_among_threads(void **state)
{
    options.release_threshold_bytes = 1;
    options.returns_when_empty = true;
    create();
    run_crew();
}

/* --- holding ------------------------------------------------------------------------------------------ */

static uint64_t id_of(const void *address)
{
    return found_at(address).static_pool_id;
}

static void held_static_pools_are_not_trimmed(void **state)
{
    create();
    void *a = alloc_apart(), *b = alloc_apart();
    uint64_t held = id_of(a);
    expect_ok(tarn_static_pool_hold(pool, held));
    expect_ok(tarn_static_pool_hold(pool, held));
    free_one(a);
    free_one(b);
    assert_int_equal(trim(0), 64 * KIB);
    expect_counts(first, 2, 1);
    assert_true(find_piece(first, held)->is_there);
    expect_ok(tarn_static_pool_unhold(pool, held));
    assert_int_equal(trim(0), 0);
    /* It serves as ever. */
    a = alloc_apart();
    assert_int_equal(id_of(a), held);
    free_one(a);
    expect_ok(tarn_static_pool_unhold(pool, held));
    expect_counts(first, 2, 1);
    assert_int_equal(trim(0), 64 * KIB);
}

static void bad_holds_have_their_status(void **state)
{
    create();
    void *address = alloc_apart();
    uint64_t id = id_of(address);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_static_pool_hold(pool, 0));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_static_pool_hold(pool, id + 1));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_static_pool_unhold(pool, id));
    expect_message("is not held");
    expect_status(TARN_STATUS_INVALID_POOL, tarn_static_pool_hold(NULL, id));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_static_pool_unhold(NULL, id));
    pool->pieces.joined.newest->hold_count = UINT32_MAX;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_static_pool_hold(pool, id));
    pool->pieces.joined.newest->hold_count = 0;
    free_one(address);
    trim(0);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_static_pool_hold(pool, id));
    expect_message("is not in the pool");
}

static void it_can_be_held_as_soon_as_it_comes_until_it_goes(void **state)
{
    first->when_created = hold_it;
    first->when_destroyed = expect_too_late;
    create();
    void *address = alloc_apart();
    free_one(address);
    assert_int_equal(trim(0), 0);
    expect_ok(tarn_static_pool_unhold(pool, first->pieces[0].id));
    assert_int_equal(trim(0), 64 * KIB);
    expect_counts(first, 1, 1);
}

static void one_that_cannot_join_goes_though_it_is_held(void **state)
{
    size_t taken_back = 0;
    unsigned n = 1;
    for (bool has_failed = true; has_failed; n++) {
        void *address;
        create();
        first->when_created = hold_it;
        host_memory_faults_begin(n);
        (void)tarn_pool_alloc(pool, KIB, &address);
        has_failed = host_memory_faults_end();
        taken_back += first->destroyed_count;
        if (has_failed) assert_int_equal(backend.piece_count, 0);
        destroy();
        reset(first);
        opened = test_backend_open(&backend);
    }
    assert_true(taken_back > 0);
}

static void the_end_of_the_pool_ignores_holds(void **state)
{
    create();
    void *address = alloc_apart();
    expect_ok(tarn_static_pool_hold(pool, id_of(address)));
    free_one(address);
    destroy_empty();
    expect_counts(first, 1, 1);
    assert_int_equal(backend.piece_count, 0);
}

static void releases_that_the_options_ask_for_pass_held_ones_by(void **state)
{
    options.release_threshold_bytes = 1;
    create();
    void *a = alloc_apart(), *b = alloc_apart(), *c = alloc_apart();
    expect_ok(tarn_static_pool_hold(pool, id_of(c)));
    uint64_t held = id_of(c);
    free_one(c);
    free_one(b);
    expect_counts(first, 3, 0); /* b's is the spare */
    free_one(a);
    expect_counts(first, 3, 1);
    assert_true(find_piece(first, held)->is_there);
    expect_ok(tarn_static_pool_unhold(pool, held));
    expect_counts(first, 3, 2); /* at once: one spare is enough */
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * KIB);
}

static void an_empty_pool_keeps_held_ones(void **state)
{
    options.returns_when_empty = true;
    create();
    void *a = alloc_apart(), *b = alloc_apart();
    uint64_t held = id_of(a);
    expect_ok(tarn_static_pool_hold(pool, held));
    free_one(a);
    free_one(b);
    expect_counts(first, 2, 1);
    expect_ok(tarn_static_pool_unhold(pool, held));
    expect_counts(first, 2, 2);
}

static void a_pool_that_passes_through_keeps_held_ones(void **state)
{
    options.passes_through = true;
    create();
    void *a = alloc(1000), *b = alloc(1000);
    uint64_t held = id_of(a);
    expect_ok(tarn_static_pool_hold(pool, held));
    free_one(a);
    free_one(b);
    expect_counts(first, 2, 1);
    assert_int_equal(backend.piece_count, 1);
    expect_ok(tarn_static_pool_unhold(pool, held));
    assert_int_equal(backend.piece_count, 0);
}

static void a_shortage_leaves_held_ones(void **state)
{
    options.limit_bytes = 128 * KIB;
    create();
    void *a = alloc_apart(), *b = alloc_apart(), *large;
    uint64_t held = id_of(a);
    expect_ok(tarn_static_pool_hold(pool, held));
    free_one(a);
    free_one(b);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 100 * KIB, &large));
    tarn_shortage shortage = TARN_SHORTAGE_INIT;
    expect_ok(tarn_last_shortage(&shortage));
    assert_int_equal(shortage.wholly_free_bytes, 64 * KIB); /* b's: that alone would not help */
    expect_counts(first, 2, 0);
    expect_ok(tarn_static_pool_unhold(pool, held));
    expect_ok(tarn_pool_alloc(pool, 100 * KIB, &large));
    expect_counts(first, 3, 2);
}

static void a_shortage_of_another_pool_leaves_held_ones(void **state)
{
    create();
    void *address = alloc_apart(), *other_block;
    uint64_t held = id_of(address);
    free_one(address);
    expect_ok(tarn_static_pool_hold(pool, held));
    tarn_pool_options plain = options;
    plain.on_static_pool_created = plain.on_static_pool_destroyed = NULL;
    tarn_pool *other = new_pool(&plain);
    backend.capacity_bytes = backend.held_bytes;
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc(other, KIB, &other_block));
    expect_counts(first, 1, 0);
    expect_ok(tarn_static_pool_unhold(pool, held));
    expect_ok(tarn_pool_alloc(other, KIB, &other_block));
    expect_counts(first, 1, 1);
    expect_ok(tarn_pool_destroy_forced(other, NULL));
}

static void held_steps_stay_where_they_are(void **state)
{
    create_contiguous();
    first->when_destroyed = expect_too_late;
    char *address = alloc(5 * 16 * KIB);
    free_one(address);
    uint64_t ids[5];
    for (size_t i = 0; i < 5; i++)
        ids[i] = first->pieces[i].id;
    void *beside = alloc(KIB); /* whose id is the range's */
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_static_pool_hold(pool, id_of(beside)));
    free_one(beside);
    expect_ok(tarn_static_pool_hold(pool, ids[1]));
    expect_ok(tarn_static_pool_hold(pool, ids[4]));
    expect_ok(tarn_static_pool_hold(pool, ids[4]));
    assert_int_equal(trim(0), 3 * 16 * KIB);
    expect_counts(first, 5, 3);
    assert_true(find_piece(first, ids[1])->is_there && find_piece(first, ids[4])->is_there);
    expect_ok(tarn_pool_check(pool));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_static_pool_hold(pool, ids[0]));
    /* A held one serves, with new ones beside it. */
    assert_ptr_equal(alloc(3 * 16 * KIB), address);
    expect_counts(first, 7, 3);
    free_one(address);
    expect_ok(tarn_static_pool_unhold(pool, ids[1]));
    assert_int_equal(trim(0), 3 * 16 * KIB);
    expect_ok(tarn_static_pool_unhold(pool, ids[4]));
    assert_int_equal(trim(0), 0);
    expect_ok(tarn_static_pool_unhold(pool, ids[4]));
    assert_int_equal(trim(0), 16 * KIB);
    expect_counts(first, 7, 7);
}

static void steps_above_a_threshold_pass_held_ones_by(void **state)
{
    options.release_threshold_bytes = 1;
    create_contiguous();
    first->when_created = hold_it;
    void *a = alloc(3 * 16 * KIB);
    first->when_created = NULL;
    free_one(a);
    expect_counts(first, 3, 0);
    tarn_shortage shortage = TARN_SHORTAGE_INIT;
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 1024 * MIB);
    expect_ok(tarn_last_shortage(&shortage));
    assert_int_equal(shortage.wholly_free_bytes, 0);
    expect_ok(tarn_static_pool_unhold(pool, first->pieces[2].id));
    expect_counts(first, 3, 0); /* the spare */
    expect_ok(tarn_static_pool_unhold(pool, first->pieces[0].id));
    expect_counts(first, 3, 1);
    expect_ok(tarn_static_pool_unhold(pool, first->pieces[1].id));
    expect_counts(first, 3, 2);
}

/* The limit has room for no more steps: those that are free elsewhere must be unmapped for the request. */
static void a_shortage_leaves_held_steps(void **state)
{
    options.limit_bytes = 64 * KIB;
    create_contiguous();
    char *blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = alloc(16 * KIB);
    expect_ok(tarn_static_pool_hold(pool, first->pieces[0].id));
    free_one(blocks[0]);
    free_one(blocks[2]);
    expect_refused(TARN_STATUS_OVER_LIMIT, 32 * KIB);
    expect_ok(tarn_static_pool_unhold(pool, first->pieces[0].id));
    alloc(32 * KIB);
    expect_ok(tarn_pool_check(pool));
}

static void *hold_and_let_go(void *context)
{
    for (int i = 0; i < 800; i++) {
        uint64_t id = first->pieces[0].id;
        if (tarn_static_pool_hold(pool, id) != TARN_STATUS_OK ||
            tarn_static_pool_unhold(pool, id) != TARN_STATUS_OK)
            return context;
        void *address;
        if (tarn_pool_alloc(pool, 20 * KIB, &address) == TARN_STATUS_OK)
            (void)tarn_pool_free(pool, address);
        (void)tarn_pool_trim(pool, 0, NULL);
    }
    return NULL;
}

static void threads_hold_at_once(void **state)
{
    pthread_t threads[2];
    create();
    alloc_apart();
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold_and_let_go, threads), 0);
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    assert_int_equal(pool->pieces.joined.newest->hold_count, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_watched, tear_down_watched)
    const struct CMUnitTest tests[] = {
        CASE(all_observers_are_told_of_each),
        CASE(a_late_one_is_told_in_its_thread_of_the_oldest_first),
        CASE(one_that_has_ended_is_told_no_more),
        CASE(pools_without_functions_can_be_observed),
        CASE(either_function_may_be_left_out),
        CASE(a_pool_over_the_callers_memory_is_one_static_pool),
        CASE(an_abandoned_pool_tells_nothing),
        CASE(bad_arguments_have_their_status),
        CASE(without_host_memory_nothing_is_told),
        CASE(one_may_come_while_a_static_pool_arrives),
        CASE(one_that_comes_while_static_pools_leave_does_not_hear_of_them),
        CASE(growth_in_the_function_is_told_once),
        CASE(growth_by_another_thread_is_told_once),
        CASE(nothing_leaves_while_one_is_told_of_those_there),
        CASE(what_should_have_gone_back_goes_afterwards),
        CASE(who_needs_what_can_go_back_waits),
        CASE(an_observer_may_end_in_a_function),
        CASE(the_end_waits_for_functions_that_run),
        CASE(ends_in_functions_do_not_wait_for_each_other),
        CASE(steps_are_told_to_all),
        CASE(one_may_come_while_steps_arrive),
        CASE(one_that_comes_while_steps_leave_does_not_hear_of_them),
        CASE(refused_steps_are_told_anew),
        CASE(observers_come_and_go_among_threads),
        CASE(observers_of_steps_come_and_go_among_threads),
        CASE(observers_of_a_pool_that_releases_come_and_go_among_threads),
        CASE(held_static_pools_are_not_trimmed),
        CASE(bad_holds_have_their_status),
        CASE(it_can_be_held_as_soon_as_it_comes_until_it_goes),
        CASE(one_that_cannot_join_goes_though_it_is_held),
        CASE(the_end_of_the_pool_ignores_holds),
        CASE(releases_that_the_options_ask_for_pass_held_ones_by),
        CASE(an_empty_pool_keeps_held_ones),
        CASE(a_pool_that_passes_through_keeps_held_ones),
        CASE(a_shortage_leaves_held_ones),
        CASE(a_shortage_of_another_pool_leaves_held_ones),
        CASE(held_steps_stay_where_they_are),
        CASE(steps_above_a_threshold_pass_held_ones_by),
        CASE(a_shortage_leaves_held_steps),
        CASE(threads_hold_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
