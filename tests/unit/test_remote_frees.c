/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_remote_frees: mailboxes, and that what threads free of each other's arenas is free as if it were their own. */
#include "core/parts/remote_frees.h"

#include <pthread.h>

#include "harness/host_memory_faults.h"
#include "tarn/host.h"
#include "pool_fixture.h"

/* --- a mailbox -------------------------------------------------------------------------------------- */

static struct tn_dependency dependency_of(uint32_t chunk)
{
    return (struct tn_dependency){ ~chunk, chunk * 3 };
}

static void expect_mail(struct tn_mailbox *mailbox, uint32_t expected_chunk)
{
    uint32_t chunk = UINT32_MAX;
    struct tn_dependency dependency = TN_DEPENDENCY_NONE;
    assert_true(tn_mailbox_take(mailbox, &chunk, &dependency));
    assert_int_equal(chunk, expected_chunk);
    assert_int_equal(dependency.streams, dependency_of(chunk).streams);
    assert_int_equal(dependency.time, dependency_of(chunk).time);
}

static void expect_no_mail(struct tn_mailbox *mailbox)
{
    uint32_t chunk;
    struct tn_dependency dependency;
    assert_false(tn_mailbox_take(mailbox, &chunk, &dependency));
}

static void a_mailbox_keeps_the_order_and_has_an_end(void **state)
{
    struct tn_remote_frees frees;
    tn_remote_frees_init(&frees);
    assert_true(tn_remote_frees_cover(&frees, 10, 2));
    struct tn_mailbox *mailbox = &frees.mailboxes[1];
    uint32_t posted = 0, taken = 0;
    for (unsigned turn = 0; turn < 5; turn++) {
        expect_no_mail(mailbox);
        for (; posted - taken < TN_MAILBOX_PLACES; posted++)
            assert_true(tn_mailbox_post(mailbox, posted, dependency_of(posted)));
        assert_false(tn_mailbox_post(mailbox, posted, dependency_of(posted)));
        expect_mail(mailbox, taken++);
        assert_true(tn_mailbox_post(mailbox, posted, dependency_of(posted)));
        posted++;
        assert_false(tn_mailbox_post(mailbox, posted, dependency_of(posted)));
        while (taken < posted)
            expect_mail(mailbox, taken++);
        /* Not in step with the ring. */
        for (unsigned i = 0; i < 100; i++)
            assert_true(tn_mailbox_post(mailbox, posted + i, dependency_of(posted + i)));
        for (unsigned i = 0; i < 100; i++)
            expect_mail(mailbox, posted + i);
        taken = posted += 100;
    }
    expect_no_mail(&frees.mailboxes[0]);
    tn_remote_frees_fini(&frees);
}

static void a_mailbox_outlasts_the_numbers(void **state)
{
    struct tn_remote_frees frees;
    tn_remote_frees_init(&frees);
    assert_true(tn_remote_frees_cover(&frees, 10, 1));
    struct tn_mailbox *mailbox = &frees.mailboxes[0];
    /* As if so many had come and gone. */
    uint32_t first = (uint32_t)0 - TN_MAILBOX_PLACES;
    atomic_store(&mailbox->posted_count, first);
    mailbox->taken_count = first;
    for (uint32_t place = 0; place < TN_MAILBOX_PLACES; place++)
        atomic_store(&mailbox->places[place].turn, first + place);
    for (uint32_t i = 0; i < 3 * TN_MAILBOX_PLACES; i++) {
        assert_true(tn_mailbox_post(mailbox, 2 * i, dependency_of(2 * i)));
        assert_true(tn_mailbox_post(mailbox, 2 * i + 1, dependency_of(2 * i + 1)));
        expect_mail(mailbox, 2 * i);
        expect_mail(mailbox, 2 * i + 1);
        expect_no_mail(mailbox);
    }
    tn_remote_frees_fini(&frees);
}

enum {
    POSTERS = 3,
    MAILS = 20000
};

struct poster {
    struct tn_mailbox *mailbox;
    uint32_t number;
};

static void *post_all(void *argument)
{
    const struct poster *poster = argument;
    for (uint32_t i = 0; i < MAILS; i++) {
        uint32_t chunk = i * POSTERS + poster->number;
        while (!tn_mailbox_post(poster->mailbox, chunk, dependency_of(chunk)))
            tn_thread_yield();
    }
    return NULL;
}

static void each_mail_arrives_once_and_in_order(void **state)
{
    struct tn_remote_frees frees;
    tn_remote_frees_init(&frees);
    assert_true(tn_remote_frees_cover(&frees, 10, 1));
    struct poster posters[POSTERS];
    pthread_t threads[POSTERS];
    uint32_t arrived[POSTERS] = { 0 };
    for (uint32_t i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){ frees.mailboxes, i };
        assert_int_equal(pthread_create(&threads[i], NULL, post_all, &posters[i]), 0);
    }
    for (uint32_t left = POSTERS * MAILS; left > 0;) {
        uint32_t chunk;
        struct tn_dependency dependency;
        if (!tn_mailbox_take(frees.mailboxes, &chunk, &dependency)) {
            tn_thread_yield();
            continue;
        }
        assert_int_equal(chunk / POSTERS, arrived[chunk % POSTERS]++);
        assert_int_equal(dependency.time, dependency_of(chunk).time);
        left--;
    }
    for (uint32_t i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    expect_no_mail(frees.mailboxes);
    tn_remote_frees_fini(&frees);
}

/* --- in a pool -------------------------------------------------------------------------------------- */

struct elsewhere {
    char *const *addresses;
    size_t count;
    tarn_stream stream;
    const struct tn_arena *own_arena;
    bool is_done;
    tarn_status last_status; /* of the last; all before were OK */
};

static void *free_them(void *argument)
{
    struct elsewhere *elsewhere = argument;
    /* Two threads may share an arena. */
    if (own_arena() == elsewhere->own_arena) return NULL;
    elsewhere->is_done = true;
    for (size_t i = 0; i < elsewhere->count; i++) {
        expect_ok(elsewhere->last_status);
        elsewhere->last_status =
            tarn_pool_free_on(pool, elsewhere->addresses[i], elsewhere->stream);
    }
    return NULL;
}

/* In another thread, whose first free goes by the lock and opens its arena. */
static tarn_status free_elsewhere_on(char *const *addresses, size_t count, tarn_stream stream)
{
    struct elsewhere elsewhere = { addresses, count, stream, own_arena(), false, TARN_STATUS_OK };
    while (!elsewhere.is_done) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, free_them, &elsewhere), 0);
        pthread_join(thread, NULL);
    }
    return elsewhere.last_status;
}

static void free_elsewhere(char *const *addresses, size_t count)
{
    expect_ok(free_elsewhere_on(addresses, count, NULL));
}

enum {
    MANY = TN_MAILBOX_PLACES + 100
};

static void alloc_many(char **addresses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        addresses[i] = alloc(2000);
}

static void free_many(char *const *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free_on(addresses[i], NULL);
}

/* A pool with mailboxes, in which the thread has an arena. */
static void cover(void)
{
    char *addresses[TN_REMOTE_FREES_MISSES];
    warm_up();
    alloc_many(addresses, TN_REMOTE_FREES_MISSES);
    free_elsewhere(addresses, TN_REMOTE_FREES_MISSES);
    free_on(alloc(2000), NULL);
    assert_true(pool->arenas.remote.chunk_count > 0);
    gather();
    want_arenas();
    free_on(alloc(2000), NULL);
    expect_active(1);
    own_arena()->call_count = 0;
}

/* So many frees have come to the thread's arena since. */
static void expect_arrived(uint64_t count)
{
    assert_int_equal(own_arena()->part.stats.free_count, 1 + count);
    expect_active(1);
}

static void frees_elsewhere_bring_mailboxes(void **state)
{
    char *addresses[TN_REMOTE_FREES_MISSES];
    const struct tn_remote_frees *remote = &pool->arenas.remote;
    warm_up();
    alloc_many(addresses, TN_REMOTE_FREES_MISSES);
    free_elsewhere(addresses, TN_REMOTE_FREES_MISSES - 1);
    free_on(alloc(2000), NULL);
    assert_false(tn_remote_frees_are_wanted(remote));
    free_elsewhere(&addresses[TN_REMOTE_FREES_MISSES - 1], 1);
    assert_true(tn_remote_frees_are_wanted(remote));
    assert_int_equal(remote->chunk_count, 0);
    size_t metadata_bytes = stats_of(pool).metadata_bytes;
    want_arenas();
    free_on(alloc(2000), NULL);
    assert_int_equal(remote->chunk_count, 64 * KIB);
    assert_false(tn_remote_frees_are_wanted(remote));
    size_t added_bytes = stats_of(pool).metadata_bytes - metadata_bytes;
    assert_true(added_bytes >= 64 * KIB && added_bytes < 64 * KIB + TN_ARENA_COUNT * 5 * KIB);
}

static void what_is_posted_is_free_in_time(void **state)
{
    cover();
    char *addresses[3], *more[16];
    alloc_many(addresses, 3);
    free_elsewhere(addresses, 3);
    expect_arrived(1);
    alloc_many(more, 12);
    expect_arrived(1);
    alloc_many(more + 12, 1);
    expect_arrived(3);
    assert_ptr_equal(more[12], addresses[1]);
    expect_active(1);
    free_many(more, 13);
}

static void who_looks_sees_no_mail(void **state)
{
    cover();
    char *addresses[10];
    tarn_stats before = stats_of(pool);
    want_arenas();
    alloc_many(addresses, 10);
    expect_active(1);
    free_elsewhere(addresses, 9);
    assert_int_equal(own_arena()->part.stats.free_count, 1);
    tarn_stats after = stats_of(pool);
    expect_active(0);
    assert_int_equal(after.alloc_count - before.alloc_count, 10);
    assert_int_equal(after.free_count - before.free_count, 9);
    assert_int_equal(after.live_count, 1);
    assert_int_equal(after.requested_bytes, 2000);
    assert_int_equal(after.used_bytes, 2048);
    free_on(addresses[9], NULL);
    assert_int_equal(stats_of(pool).free_region_count, 1);
}

static void who_gathers_closes_all(void **state)
{
    cover();
    char *addresses[2];
    alloc_many(addresses, 2);
    free_elsewhere(addresses, 2);
    unsigned open_count = 0;
    for (uint32_t i = 0; i < TN_ARENA_COUNT; i++)
        open_count += pool->arenas.all[i].is_open;
    assert_int_equal(open_count, 2);
    gather();
    for (uint32_t i = 0; i < TN_ARENA_COUNT; i++)
        assert_false(pool->arenas.all[i].is_open);
}

static void what_is_posted_is_not_live_for_its_thread(void **state)
{
    cover();
    char *addresses[2];
    alloc_many(addresses, 2);
    free_elsewhere(addresses, 2);
    expect_arrived(1);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, addresses[1]));
}

static void what_is_posted_is_not_live_for_others(void **state)
{
    cover();
    char *addresses[3];
    alloc_many(addresses, 2);
    addresses[2] = addresses[1];
    expect_status(TARN_STATUS_NOT_LIVE, free_elsewhere_on(addresses, 3, NULL));
}

static void *free_with_size(void *argument)
{
    struct elsewhere *elsewhere = argument;
    if (own_arena() == elsewhere->own_arena) return NULL;
    elsewhere->is_done = true;
    expect_ok(tarn_pool_free(pool, elsewhere->addresses[0])); /* opens its arena */
    expect_status(TARN_STATUS_WRONG_SIZE,
                  tarn_pool_free_sized(pool, elsewhere->addresses[1], 1999));
    expect_ok(tarn_pool_free_sized(pool, elsewhere->addresses[1], 2000));
    expect_status(TARN_STATUS_WRONG_SIZE,
                  tarn_pool_free_sized(pool, elsewhere->addresses[2], 2001));
    elsewhere->last_status = tarn_pool_free(pool, elsewhere->addresses[2]);
    return NULL;
}

/* It is checked, so it is not posted: the arena has it at once. */
static void a_free_that_tells_its_size_takes_the_arenas_lock(void **state)
{
    cover();
    char *addresses[3];
    alloc_many(addresses, 3);
    struct elsewhere elsewhere = { addresses, 3, NULL, own_arena(), false, TARN_STATUS_OK };
    while (!elsewhere.is_done) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, free_with_size, &elsewhere), 0);
        pthread_join(thread, NULL);
    }
    expect_ok(elsewhere.last_status);
    expect_arrived(2);
    gather();
    assert_int_equal(stats_of(pool).live_count, 0);
}

/* Nobody has taken it out of the mailbox yet. */
static void what_is_posted_has_no_size(void **state)
{
    cover();
    char *addresses[2];
    size_t bytes;
    alloc_many(addresses, 2);
    free_elsewhere(addresses, 2);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_usable_size(pool, addresses[0], &bytes));
    want_arenas();
    alloc_many(addresses, 2);
    free_elsewhere(addresses, 2);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_resize(pool, addresses[1], 100));
}

static void what_lies_within_is_not_posted(void **state)
{
    static const size_t offsets[] = { 1, 1023, 1024, 1999 };
    cover();
    for (size_t i = 0; i < 4; i++) {
        char *addresses[2];
        want_arenas();
        alloc_many(addresses, 2);
        addresses[1] += offsets[i];
        expect_status(TARN_STATUS_INTERIOR_ADDRESS, free_elsewhere_on(addresses, 2, NULL));
        free_on(addresses[1] - offsets[i], NULL);
    }
}

static void a_full_mailbox_is_emptied_by_who_finds_it(void **state)
{
    static char *addresses[MANY];
    cover();
    alloc_many(addresses, MANY);
    free_elsewhere(addresses, 1 + TN_MAILBOX_PLACES);
    expect_arrived(1);
    free_elsewhere(addresses + 1 + TN_MAILBOX_PLACES, 1); /* by the lock */
    expect_arrived(2 + TN_MAILBOX_PLACES);
    free_elsewhere(addresses + 2 + TN_MAILBOX_PLACES, MANY - 2 - TN_MAILBOX_PLACES);
    expect_active(1);
}

/* By one thread alone, whose last finds no place. */
static void what_finds_no_place_is_freed_all_the_same(void **state)
{
    static char *addresses[MANY];
    cover();
    alloc_many(addresses, 2 + TN_MAILBOX_PLACES);
    free_elsewhere(addresses, 2 + TN_MAILBOX_PLACES);
    expect_arrived(2 + TN_MAILBOX_PLACES);
}

static void an_arena_empties_its_mailbox_before_it_borrows(void **state)
{
    cover();
    char *addresses[2] = { alloc(2000), NULL };
    addresses[1] = alloc(tn_region_index_largest_free(&own_arena()->part.index) * KIB);
    assert_int_equal(tn_region_index_largest_free(&own_arena()->part.index), 0);
    uint32_t loan_count = own_arena()->loan_count;
    free_elsewhere(addresses, 2);
    char *again = alloc(2 * MIB);
    assert_ptr_equal(again, addresses[0]);
    assert_int_equal(own_arena()->loan_count, loan_count);
    free_on(again, NULL);
}

static void what_is_posted_waits_for_its_stream(void **state)
{
    char *on_a = alloc_on(1000, A), *on_b = alloc_on(1000, B);
    cover();
    char *addresses[] = { alloc_on(3 * KIB, A), alloc_on(5 * KIB, A) };
    expect_ok(free_elsewhere_on(addresses, 2, B));
    expect_arrived(1);
    expect_active(1);
    gather();
    atomic_store(&pool->arenas.are_wanted, false);
    char *again = alloc_on(5 * KIB, A);
    assert_ptr_not_equal(again, addresses[1]);
    free_on(again, A);
    again = alloc_on(8 * KIB, B);
    assert_ptr_equal(again, addresses[0]);
    free_on(again, B);
    free_on(on_a, A);
    free_on(on_b, B);
    assert_int_equal(backend.wait_count, 0);
}

struct owner {
    char **addresses;
    size_t count;
    const struct tn_arena *others_arena;
    bool is_done;
};

static void *alloc_them(void *argument)
{
    struct owner *owner = argument;
    if (own_arena() == owner->others_arena) return NULL;
    alloc_many(owner->addresses, owner->count);
    owner->is_done = true;
    return NULL;
}

/* In the arena of another thread. */
static void alloc_elsewhere(char **addresses, size_t count)
{
    struct owner owner = { addresses, count, own_arena(), false };
    while (!owner.is_done) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, alloc_them, &owner), 0);
        pthread_join(thread, NULL);
    }
}

/* Since it was open streams may have ended, and others have their numbers. */
static void an_arena_that_opens_knows_no_stream(void **state)
{
    char *on_a = alloc_on(1000, A), *on_b = alloc_on(1000, B);
    char *addresses[2];
    cover();
    gather();
    want_arenas();
    own_arena()->part.last_stream =
        tn_stream_table_search(pool->streams, (struct tn_stream_name){ A, 0 });
    alloc_elsewhere(addresses, 2);
    free_on(addresses[0], NULL);
    free_on(addresses[1], B);
    expect_active(1);
    gather();
    char *again = alloc_on(2000, A);
    assert_ptr_not_equal(again, addresses[1]);
    free_on(again, A);
    free_on(on_a, A);
    free_on(on_b, B);
}

static void a_stream_that_nobody_knows_is_introduced(void **state)
{
    cover();
    char *addresses[2];
    alloc_many(addresses, 2);
    free_elsewhere(addresses, 1);
    expect_ok(free_elsewhere_on(addresses + 1, 1, B));
}

static void slices_go_by_the_lock(void **state)
{
    cover();
    char *addresses[] = { alloc(2000), alloc(100), alloc(100) };
    assert_int_equal((uintptr_t)addresses[1] % KIB, 0);
    free_elsewhere(addresses, 3);
    expect_arrived(3);
    /* They are no reason for more mailboxes. */
    assert_int_equal(pool->arenas.remote.missed_count, 0);
}

struct request {
    const struct tn_arena *others_arena;
    size_t size_bytes;
    bool is_done;
};

static void *alloc_and_free(void *argument)
{
    struct request *request = argument;
    if (own_arena() == request->others_arena) return NULL;
    free_on(alloc(request->size_bytes), NULL);
    request->is_done = true;
    return NULL;
}

static void a_pool_does_not_grow_for_what_is_posted(void **state)
{
    char *addresses[14];
    cover();
    for (size_t i = 0; i < 14; i++)
        addresses[i] = alloc(4 * MIB - KIB);
    assert_int_equal(pool->own.stats.footprint_bytes, 64 * MIB);
    free_elsewhere(addresses, 14);
    struct request request = { own_arena(), 16 * MIB, false };
    while (!request.is_done) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, alloc_and_free, &request), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * MIB);
}

/* Which have no byte. */
static void slices_are_no_reason_for_mailboxes(void **state)
{
    char *addresses[TN_REMOTE_FREES_MISSES];
    warm_up();
    for (size_t i = 0; i < TN_REMOTE_FREES_MISSES; i++)
        addresses[i] = alloc(100);
    free_elsewhere(addresses, TN_REMOTE_FREES_MISSES);
    assert_int_equal(pool->arenas.remote.missed_count, 0);
    /* Nor are frees in one's own arena that are refused. */
    want_arenas();
    char *address = alloc(2000);
    tarn_stream stream = NULL;
    assert_int_equal(tn_arena_free(pool, (uintptr_t)address + 1, NULL, &stream, 1),
                     TN_FREE_RESULT_NOT_LIVE);
    assert_int_equal(pool->arenas.remote.missed_count, 0);
    free_on(address, NULL);
}

/* A check that could not fail would be none. */
static void a_check_finds_what_is_left_over(void **state)
{
    cover();
    gather();
    struct tn_remote_frees *remote = &pool->arenas.remote;
    tn_remote_frees_set(remote, remote->chunk_count - 1, 3);
    expect_fault("a chunk's byte names an arena");
    tn_remote_frees_set(remote, remote->chunk_count - 1, TN_START_NOBODYS);
    assert_true(tn_mailbox_post(&remote->mailboxes[TN_ARENA_COUNT - 1], 7, dependency_of(7)));
    expect_fault("there is mail");
    expect_mail(&remote->mailboxes[TN_ARENA_COUNT - 1], 7);
}

static void chunks_that_come_later_are_covered_when_they_are_missed(void **state)
{
    enum {
        COUNT = 2200 /* more than 4 MiB */
    };
    static char *addresses[COUNT];
    options.initial_bytes = 4 * MIB;
    create_anew();
    cover();
    const struct tn_remote_frees *remote = &pool->arenas.remote;
    assert_int_equal(remote->chunk_count, 4 * KIB);
    alloc_many(addresses, COUNT);
    assert_int_equal(remote->missed_count, 0);
    free_elsewhere(&addresses[COUNT - TN_REMOTE_FREES_MISSES], TN_REMOTE_FREES_MISSES);
    assert_int_equal(remote->missed_count, TN_REMOTE_FREES_MISSES);
    free_on(alloc(2000), NULL);
    assert_true(remote->chunk_count > 4 * KIB);
    assert_int_equal(remote->chunk_count, stats_of(pool).footprint_bytes / KIB);
    free_many(addresses, COUNT - TN_REMOTE_FREES_MISSES);
}

/* Of the range, those chunks have bytes that lie before the end of its memory; later ones get theirs as they are missed. */
static void contiguous_pools_have_bytes_for_what_is_mapped(void **state)
{
    char *addresses[2 * TN_REMOTE_FREES_MISSES], *fillers[2];
    backend.range_granularity_bytes = MIB;
    backend.total_bytes = 256 * MIB;
    options.contiguous = true;
    options.step_bytes = MIB;
    options.initial_bytes = MIB;
    create_anew();
    warm_up();
    for (unsigned turn = 0; turn < 2; turn++) {
        char *filler = alloc(4 * MIB);
        alloc_many(addresses, 2 * TN_REMOTE_FREES_MISSES);
        free_elsewhere(addresses, 2 * TN_REMOTE_FREES_MISSES);
        free_on(alloc(2000), NULL);
        size_t mapped_bytes = stats_of(pool).footprint_bytes;
        assert_int_equal(pool->arenas.remote.chunk_count * KIB, mapped_bytes);
        want_arenas();
        fillers[turn] = filler;
    }
    free_on(fillers[0], NULL);
    free_on(fillers[1], NULL);
}

static void without_host_memory_frees_go_by_the_lock(void **state)
{
    char *addresses[TN_REMOTE_FREES_MISSES];
    const struct tn_remote_frees *remote = &pool->arenas.remote;
    warm_up();
    for (unsigned turn = 0; turn < 2; turn++) {
        alloc_many(addresses, TN_REMOTE_FREES_MISSES);
        free_elsewhere(addresses, TN_REMOTE_FREES_MISSES);
        assert_true(tn_remote_frees_are_wanted(remote));
        if (turn == 0) host_memory_faults_begin(1);
        char *address = alloc(2000);
        if (turn == 0) assert_true(host_memory_faults_end());
        assert_false(tn_remote_frees_are_wanted(remote));
        assert_int_equal(remote->chunk_count > 0, turn == 1);
        free_on(address, NULL);
        want_arenas();
    }
}

/* --- all at once -------------------------------------------------------------------------------------- */

enum {
    PAIRS = 2,
    BLOCKS = 30000,
    BELT = 128
};

/* One thread allocates, another frees. */
struct pair {
    unsigned char *_Atomic belt[BELT];
    size_t failures[2];
};

static size_t size_of(size_t i)
{
    return 1100 + i * 977 % 9000;
}

static void *give(void *argument)
{
    struct pair *pair = argument;
    for (size_t i = 0; i < BLOCKS; i++) {
        void *address;
        if (tarn_pool_alloc(pool, size_of(i), &address) != TARN_STATUS_OK) {
            pair->failures[0]++;
            break;
        }
        memset(address, (int)(i % 251), 64);
        while (atomic_load(&pair->belt[i % BELT]))
            tn_thread_yield();
        atomic_store(&pair->belt[i % BELT], address);
        if (i % 4000 == 1000) (void)stats_of(pool);
        if (i % 4000 == 1001) want_arenas();
    }
    return NULL;
}

static void *take(void *argument)
{
    struct pair *pair = argument;
    for (size_t i = 0; i < BLOCKS; i++) {
        unsigned char *block;
        while (!(block = atomic_load(&pair->belt[i % BELT])))
            tn_thread_yield();
        atomic_store(&pair->belt[i % BELT], NULL);
        pair->failures[1] += block[0] != i % 251 || block[63] != i % 251;
        pair->failures[1] += tarn_pool_free(pool, block) != TARN_STATUS_OK;
    }
    return NULL;
}

static void pairs_keep_their_contents(void **state)
{
    static struct pair pairs[PAIRS];
    pthread_t threads[2 * PAIRS];
    create_over_host_memory();
    warm_up();
    for (unsigned i = 0; i < PAIRS; i++) {
        assert_int_equal(pthread_create(&threads[2 * i], NULL, give, &pairs[i]), 0);
        assert_int_equal(pthread_create(&threads[2 * i + 1], NULL, take, &pairs[i]), 0);
    }
    for (unsigned i = 0; i < 2 * PAIRS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < PAIRS; i++) {
        assert_int_equal(pairs[i].failures[0], 0);
        assert_int_equal(pairs[i].failures[1], 0);
    }
#if !TN_HAS_ADDRESS_SANITIZER
    assert_true(pool->arenas.remote.chunk_count > 0);
#endif
    assert_int_equal(stats_of(pool).free_count, 1 + PAIRS * BLOCKS);
}

enum {
    RACERS = 3,
    RACES = 3000
};

struct race {
    pthread_barrier_t start, end;
    char *address;
    _Atomic unsigned freed_count;
};

static void run_once(struct race *race)
{
    tarn_stream stream = NULL;
    pthread_barrier_wait(&race->start);
    enum tn_free_result freed = tn_arena_free(pool, (uintptr_t)race->address, NULL, &stream, 1);
    if (freed == TN_FREE_RESULT_FREED) atomic_fetch_add(&race->freed_count, 1);
    pthread_barrier_wait(&race->end);
}

static void *run(void *argument)
{
    for (int i = 0; i < RACES; i++)
        run_once(argument);
    return NULL;
}

/* Its own thread and two others. */
static void of_all_who_free_the_same_one_does(void **state)
{
    struct race race = { 0 };
    pthread_t threads[RACERS - 1];
    cover();
    pthread_barrier_init(&race.start, NULL, RACERS);
    pthread_barrier_init(&race.end, NULL, RACERS);
    for (unsigned i = 0; i < RACERS - 1; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, &race), 0);
    for (int i = 0; i < RACES; i++) {
        race.address = alloc(2000);
        atomic_store(&race.freed_count, 0);
        run_once(&race);
        assert_int_equal(race.freed_count, 1);
    }
    for (unsigned i = 0; i < RACERS - 1; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&race.start);
    pthread_barrier_destroy(&race.end);
    assert_int_equal(own_arena()->part.stats.alloc_count, 1 + RACES);
}

#define TEST(function) \
    cmocka_unit_test_setup_teardown(function, set_up_with_64_mib, tear_down_empty)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mailbox_keeps_the_order_and_has_an_end),
        cmocka_unit_test(a_mailbox_outlasts_the_numbers),
        cmocka_unit_test(each_mail_arrives_once_and_in_order),
        TEST(frees_elsewhere_bring_mailboxes),
        TEST(what_is_posted_is_free_in_time),
        TEST(who_looks_sees_no_mail),
        TEST(what_is_posted_is_not_live_for_its_thread),
        TEST(what_is_posted_is_not_live_for_others),
        TEST(a_free_that_tells_its_size_takes_the_arenas_lock),
        TEST(what_is_posted_has_no_size),
        TEST(what_lies_within_is_not_posted),
        TEST(who_gathers_closes_all),
        TEST(an_arena_that_opens_knows_no_stream),
        TEST(of_all_who_free_the_same_one_does),
        TEST(a_full_mailbox_is_emptied_by_who_finds_it),
        TEST(what_finds_no_place_is_freed_all_the_same),
        TEST(an_arena_empties_its_mailbox_before_it_borrows),
        TEST(what_is_posted_waits_for_its_stream),
        TEST(a_stream_that_nobody_knows_is_introduced),
        TEST(slices_go_by_the_lock),
        TEST(slices_are_no_reason_for_mailboxes),
        TEST(a_pool_does_not_grow_for_what_is_posted),
        TEST(a_check_finds_what_is_left_over),
        TEST(chunks_that_come_later_are_covered_when_they_are_missed),
        TEST(contiguous_pools_have_bytes_for_what_is_mapped),
        TEST(without_host_memory_frees_go_by_the_lock),
        TEST(pairs_keep_their_contents),
    };
    return cmocka_run_group_tests_name("remote_frees", tests, NULL, NULL);
}
