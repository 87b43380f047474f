/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_biased_mutex: who owns it when, and that it excludes whoever owns it. */
#include "base/biased_mutex.h"

#include <pthread.h>

#include "harness/claims.h"

#define TURNS_TO_OWN_AGAIN 256

static void take_turns(struct tn_biased_mutex *mutex, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        tn_biased_mutex_lock(mutex);
        tn_biased_mutex_unlock(mutex);
    }
}

static bool is_mine(struct tn_biased_mutex *mutex)
{
    return atomic_load(&mutex->owner) - tn_thread_token() < TN_BIASED_MUTEX_SEATS;
}

static void *take_one_turn(void *argument)
{
    take_turns(argument, 1);
    return NULL;
}

static void let_another_take_one_turn(struct tn_biased_mutex *mutex)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, take_one_turn, mutex), 0);
    pthread_join(thread, NULL);
}

static void skip_without_barrier(void)
{
    struct tn_biased_mutex mutex;
    tn_biased_mutex_init(&mutex);
    bool has_barrier = mutex.can_be_owned;
    tn_biased_mutex_fini(&mutex);
    if (!has_barrier) skip();
}

static void whoever_comes_first_owns_it(void **state)
{
    skip_without_barrier();
    struct tn_biased_mutex mutex;
    tn_biased_mutex_init(&mutex);
    assert_false(is_mine(&mutex));
    take_turns(&mutex, 1);
    assert_true(is_mine(&mutex));
    take_turns(&mutex, 3);
    assert_true(is_mine(&mutex));
    tn_biased_mutex_fini(&mutex);
}

static void another_takes_it_away_and_many_turns_bring_it_back(void **state)
{
    skip_without_barrier();
    struct tn_biased_mutex mutex;
    tn_biased_mutex_init(&mutex);
    take_turns(&mutex, 1);
    /* The next time it takes twice as many. */
    for (unsigned turns = TURNS_TO_OWN_AGAIN; turns <= 4 * TURNS_TO_OWN_AGAIN; turns *= 2) {
        let_another_take_one_turn(&mutex);
        assert_false(is_mine(&mutex));
        take_turns(&mutex, turns - 1);
        assert_false(is_mine(&mutex));
        take_turns(&mutex, 1);
        assert_true(is_mine(&mutex));
    }
    tn_biased_mutex_fini(&mutex);
}

static void without_a_barrier_nobody_owns_it(void **state)
{
    struct tn_biased_mutex mutex;
    tn_biased_mutex_init(&mutex);
    mutex.can_be_owned = false;
    take_turns(&mutex, 2 * TURNS_TO_OWN_AGAIN);
    assert_int_equal(atomic_load(&mutex.owner), 0);
    let_another_take_one_turn(&mutex);
    tn_biased_mutex_fini(&mutex);
}

/* Each of two threads has a seat of its own, and the same one when it owns the mutex again. */
static void a_seat_is_one_threads(void **state)
{
    skip_without_barrier();
    struct tn_biased_mutex mutex;
    tn_biased_mutex_init(&mutex);
    take_turns(&mutex, 1);
    uintptr_t mine = atomic_load(&mutex.owner);
    mutex.seated[1] = mine + 64; /* another thread's */
    for (int i = 0; i < 3; i++) {
        let_another_take_one_turn(&mutex);
        take_turns(&mutex, (unsigned)TURNS_TO_OWN_AGAIN << i);
        assert_true(atomic_load(&mutex.owner) == mine);
    }
    assert_int_equal(mutex.seated[1], mine + 64);
    for (unsigned seat = 2; seat < TN_BIASED_MUTEX_SEATS; seat++)
        assert_int_equal(mutex.seated[seat], 0);
    tn_biased_mutex_fini(&mutex);
}

static void with_all_seats_taken_others_own_it_no_more(void **state)
{
    skip_without_barrier();
    struct tn_biased_mutex mutex;
    tn_biased_mutex_init(&mutex);
    for (unsigned seat = 0; seat < TN_BIASED_MUTEX_SEATS; seat++)
        mutex.seated[seat] = 64 * (seat + 1);
    take_turns(&mutex, 10);
    assert_false(is_mine(&mutex));
    mutex.seated[TN_BIASED_MUTEX_SEATS - 1] = 0;
    take_turns(&mutex, 1);
    assert_true(is_mine(&mutex));
    tn_biased_mutex_fini(&mutex);
}

/* --- exclusion ------------------------------------------------------------------------------- */

#define THREAD_COUNT 3
#define BURST_COUNT  3000
#define BURST_TURNS  40

struct shared {
    struct tn_biased_mutex mutex;
    uint64_t count; /* plain: two inside at once would lose some */
    uint64_t owned_count;
    bool is_taken;
    bool has_met;
};

static void count_one(struct shared *shared)
{
    tn_biased_mutex_lock(&shared->mutex);
    if (shared->is_taken) shared->has_met = true;
    shared->is_taken = true;
    shared->count++;
    bool is_owned = shared->mutex.seat < TN_BIASED_MUTEX_SEATS;
    shared->owned_count += is_owned;
    /* Who has a few turns in a row owns it, so that it changes hands all the time. */
    if (!is_owned) shared->mutex.turns_to_own = 3;
    shared->is_taken = false;
    tn_biased_mutex_unlock(&shared->mutex);
}

static void *count_in_bursts(void *argument)
{
    struct shared *shared = argument;
    for (unsigned burst = 0; burst < BURST_COUNT; burst++) {
        for (unsigned i = 0; i < BURST_TURNS; i++)
            count_one(shared);
        if (burst % 16 == 0) tn_thread_yield();
    }
    return NULL;
}

static void one_thread_at_a_time_is_inside(void **state)
{
    static struct shared shared;
    pthread_t threads[THREAD_COUNT];
    shared.count = 0;
    tn_biased_mutex_init(&shared.mutex);
    for (unsigned i = 0; i < THREAD_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_in_bursts, &shared), 0);
    for (unsigned i = 0; i < THREAD_COUNT; i++)
        pthread_join(threads[i], NULL);
    assert_false(shared.has_met);
    assert_int_equal(shared.count, THREAD_COUNT * BURST_COUNT * BURST_TURNS);
    /* Both ways were gone. */
    if (shared.mutex.can_be_owned) assert_true(shared.owned_count > 0);
    assert_true(shared.owned_count < shared.count);
    tn_biased_mutex_fini(&shared.mutex);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_comes_first_owns_it),
        cmocka_unit_test(another_takes_it_away_and_many_turns_bring_it_back),
        cmocka_unit_test(without_a_barrier_nobody_owns_it),
        cmocka_unit_test(a_seat_is_one_threads),
        cmocka_unit_test(with_all_seats_taken_others_own_it_no_more),
        cmocka_unit_test(one_thread_at_a_time_is_inside),
    };
    return cmocka_run_group_tests_name("biased_mutex", tests, NULL, NULL);
}
