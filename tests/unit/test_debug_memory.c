/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Debug mode, what touches memory: zones, poison and quarantine, over the host's streams, which run late. */
#include <pthread.h>

#include "base/compiler.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"
#include "tarn/host.h"
#include "pool_fixture.h"

#define ALL_FLAGS (TARN_DEBUG_SITES | TARN_DEBUG_ZONES | TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE)

/* The host backend, with operations that count and fail as a test wants. */
static tarn_backend host;
static tarn_backend_operations operations;
static _Atomic unsigned call_count;
static _Atomic bool fails;
static _Atomic unsigned fails_from; /* this call of the vendor and those after it; 0: none */

static _Atomic bool waits_fail;
static _Atomic unsigned device_wait_count;

static bool is_failing(void)
{
    unsigned call = ++call_count;
    return fails || (fails_from > 0 && call >= fails_from);
}

static tarn_backend_result counted_fill(void *state, void *address, unsigned char value,
                                        size_t size_bytes, tarn_stream stream)
{
    if (is_failing()) return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, 17, "made up" };
    return host.operations->fill(state, address, value, size_bytes, stream);
}

static tarn_backend_result counted_copy(void *state, void *to, const void *from, size_t size_bytes,
                                        tarn_stream stream)
{
    if (is_failing()) return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, 17, "made up" };
    return host.operations->copy(state, to, from, size_bytes, stream);
}

static tarn_backend_result counted_synchronize(void *state, tarn_stream stream)
{
    if (is_failing() || waits_fail)
        return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, 17, "made up" };
    return host.operations->stream_synchronize(state, stream);
}

static tarn_backend_result counted_device_wait(void *state)
{
    device_wait_count++;
    return host.operations->synchronize(state);
}

static int set_up_over_host(void **state)
{
    begin_fixture(true);
    fails = waits_fail = false;
    expect_ok(tarn_host_backend_open(NULL, &host));
    operations = *host.operations;
    operations.fill = counted_fill;
    operations.copy = counted_copy;
    operations.stream_synchronize = counted_synchronize;
    operations.synchronize = counted_device_wait;
    opened = (tarn_backend){ &operations, host.state };
    options.initial_bytes = MIB;
    return 0;
}

static void create_with(unsigned debug)
{
    options.debug = debug;
    create();
}

static void create_with_quarantine(unsigned debug, size_t bytes)
{
    options.quarantine_bytes = bytes;
    create_with(debug | TARN_DEBUG_QUARANTINE);
}

static tarn_stream create_stream(void)
{
    tarn_stream stream;
    expect_done(host, stream_create, &stream);
    return stream;
}

static void destroy_stream(tarn_stream stream)
{
    expect_ok(tarn_stream_retire(stream));
    host.operations->stream_destroy(host.state, stream);
}

/* --- zones ---------------------------------------------------------------------------------------- */

static void what_was_asked_for_may_be_written_to_its_ends(void **state)
{
    static const size_t sizes[] = { 1, 255, 256, 257, 767, 768, 769, 1023, 1024, 1025, 100001 };
    static const size_t alignments[] = { 1, 256, 512, 4096, 65536 };
    create_with(TARN_DEBUG_ZONES);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t k = 0; k < sizeof alignments / sizeof alignments[0]; k++) {
            void *address;
            expect_ok(tarn_pool_alloc_aligned(pool, sizes[i], alignments[k], &address));
            assert_int_equal((uintptr_t)address % alignments[k], 0);
            assert_int_equal((uintptr_t)address % 256, 0);
            memset(address, 0, sizes[i]);
            expect_ok(tarn_pool_check(pool));
            free_one(address);
        }
    }
}

/* The free and the check tell it, it is no leak, and nobody gets the memory again. */
static void expect_damage_found(ptrdiff_t offset, const char *side)
{
    enum {
        SIZE = 1000
    };
    char text[64];
    create_with(TARN_DEBUG_ZONES);
    tarn_label_push("mesh");
    unsigned char *address = alloc(SIZE);
    tarn_label_pop();
    address[offset]++;
    snprintf(text, sizeof text, "offset %td", offset);
    expect_status(TARN_STATUS_CORRUPT, tarn_pool_check(pool));
    expect_message(text);
    expect_status(TARN_STATUS_CORRUPT, tarn_pool_free(pool, address));
    expect_message(text);
    expect_message(side);
    expect_message("mesh");
    expect_message("1000 bytes");
    snprintf(text, sizeof text, "%p", (void *)address);
    expect_message(text);

    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, address));
    assert_int_equal(stats_of(pool).live_count, 0);
    assert_int_equal(stats_of(pool).free_count, 1);
    for (int i = 0; i < 10; i++)
        assert_ptr_not_equal(alloc(SIZE), address);
    expect_status(TARN_STATUS_CORRUPT, tarn_pool_check(pool));
    expect_message("mesh");
    tarn_leaks leaks = TARN_LEAKS_INIT;
    expect_ok(tarn_pool_destroy_forced(pool, &leaks));
    pool = NULL;
    assert_int_equal(leaks.allocation_count, 10);
    assert_int_equal(leaks.requested_bytes, 10 * SIZE);
    assert_int_equal(leaks.used_bytes, 10 * 2048);
}

static void a_write_beyond_the_end_is_found(void **state)
{
    expect_damage_found(1000, "beyond its end");
    expect_damage_found(1001, "beyond its end");
    expect_damage_found(1000 + TARN_DEBUG_ZONE_BYTES - 1, "beyond its end");
}

static void a_write_before_the_start_is_found(void **state)
{
    expect_damage_found(-1, "before its start");
    expect_damage_found(-TARN_DEBUG_ZONE_BYTES, "before its start");
}

static void a_pool_with_a_damaged_block_can_be_destroyed(void **state)
{
    create_with(TARN_DEBUG_ZONES);
    unsigned char *address = alloc(10);
    address[10]++;
    expect_status(TARN_STATUS_CORRUPT, tarn_pool_free(pool, address));
    destroy_empty();
}

/* The write has not happened yet when the memory is freed. */
static void late_work_that_writes_too_much_is_found(void **state)
{
    create_with(TARN_DEBUG_ZONES);
    tarn_stream a = create_stream(), b = create_stream();
    for (int ways = 0; ways < 3; ways++) {
        void *address = alloc_on(100, a);
        host.operations->fill(host.state, address, 1, 101, ways == 1 ? b : a);
        const tarn_stream both[] = { a, b };
        if (ways == 0) expect_status(TARN_STATUS_CORRUPT, tarn_pool_free_on(pool, address, a));
        if (ways == 1)
            expect_status(TARN_STATUS_CORRUPT, tarn_pool_free_after(pool, address, both, 2));
        if (ways == 2) {
            host.operations->synchronize(host.state);
            expect_status(TARN_STATUS_CORRUPT, tarn_pool_free_after(pool, address, NULL, 0));
        }
        expect_message("offset 100");
    }
    destroy_stream(a);
    destroy_stream(b);
    destroy_empty();
}

static void memory_goes_from_stream_to_stream(void **state)
{
    create_with(TARN_DEBUG_ZONES | TARN_DEBUG_POISON);
    tarn_stream streams[] = { create_stream(), create_stream(), NULL };
    for (int i = 0; i < 30; i++) {
        unsigned char copied[700];
        void *address;
        tarn_stream on = streams[i % 3];
        address = alloc_on(sizeof copied, on);
        host.operations->fill(host.state, address, (unsigned char)i, sizeof copied, on);
        host.operations->copy(host.state, copied, address, sizeof copied, on);
        free_on(address, on);
        assert_int_equal(copied[0], i);
        assert_int_equal(copied[699], i);
    }
    expect_ok(tarn_pool_check(pool));
    destroy_stream(streams[0]);
    destroy_stream(streams[1]);
}

static void what_is_found_is_what_the_program_has(void **state)
{
    create_with(TARN_DEBUG_ZONES);
    unsigned char *address = alloc(1000);
    tarn_allocation found = found_at(address + 999);
    assert_ptr_equal(found.address, address);
    assert_ptr_equal(found.pool, pool);
    assert_int_equal(found.size_bytes, 1000);
    assert_int_equal(found.usable_bytes, 1000);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_find(address - 1, &found));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_find(address + 1000, &found));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, address + 1));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, address - 256));
    free_one(address);
}

static void statistics_are_of_what_was_asked_for(void **state)
{
    create_with_quarantine(TARN_DEBUG_ZONES, 1 << 20);
    unsigned char *address = alloc(1000);
    free_one(alloc(2));
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.requested_bytes, 1000);
    assert_int_equal(stats.requested_bytes_max, 1002);
    assert_int_equal(stats.live_count, 1);
    assert_int_equal(stats.live_count_max, 2);
    assert_int_equal(stats.alloc_count, 2);
    assert_int_equal(stats.free_count, 1);
    assert_int_equal(stats.size_histogram[10], 1);
    assert_int_equal(stats.size_histogram[1], 1);
    expect_status(TARN_STATUS_LIVE_REGIONS, tarn_pool_destroy(pool));
    expect_message("1 live");
    free_one(address);
}

static void sizes_that_overflow_are_refused(void **state)
{
    create_with(TARN_DEBUG_ZONES);
    static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 256, SIZE_MAX - 511, SIZE_MAX - 512 };
    void *address;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        expect_status(TARN_STATUS_SIZE_TOO_LARGE, tarn_pool_alloc(pool, sizes[i], &address));
        expect_status(TARN_STATUS_SIZE_TOO_LARGE,
                      tarn_pool_alloc_aligned(pool, sizes[i], (size_t)1 << 63, &address));
    }
}

/* --- poison --------------------------------------------------------------------------------------- */

static void expect_filled(const unsigned char *address, unsigned char value, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++) {
        if (address[i] != value) fail_msg("byte %zu is %d, not %d", i, address[i], value);
    }
}

static void memory_is_filled_when_handed_out_and_when_freed(void **state)
{
    create_with_quarantine(TARN_DEBUG_POISON, 1 << 20);
    unsigned char *address = alloc(3001);
    expect_filled(address, TARN_DEBUG_BYTE_ALLOCATED, 3001);
    memset(address, 0, 3001);
    free_one(address);
    expect_filled(address, TARN_DEBUG_BYTE_FREED, 3001);
}

/* --- quarantine ------------------------------------------------------------------------------------ */

static void what_was_freed_is_held_back(void **state)
{
    create_with_quarantine(0, 2048);
    void *first = alloc(1000), *second = alloc(1000), *third = alloc(1000);
    void *large = alloc(2049);
    free_one(first);
    free_one(second);
    assert_ptr_not_equal(alloc(1000), first);
    free_one(third);
    assert_ptr_equal(alloc(1000), first);
    /* More than there is room for, and so is what was there before. */
    free_one(large);
    assert_ptr_equal(alloc(1000), second);
    destroy();
}

static void a_second_free_is_told_of_the_first(void **state)
{
    create_with_quarantine(TARN_DEBUG_SITES | TARN_DEBUG_ZONES, 1 << 20);
    tarn_label_push("mesh");
    void *address = alloc(1000);
    tarn_label_pop();
    tarn_label_push("solver");
    free_one(address);
    tarn_label_pop();
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, address));
    expect_message("1000 bytes");
    expect_message("\"mesh\"");
    expect_message("\"solver\"");
    if (TN_HAS_EXECINFO) expect_message(", by ");
}

static void expect_use_after_free_found(size_t offset)
{
    create_with_quarantine(TARN_DEBUG_POISON, 1024);
    char text[64];
    tarn_label_push("mesh");
    unsigned char *address = alloc(1000);
    tarn_label_pop();
    void *other = alloc(1000);
    free_one(address);
    expect_ok(tarn_pool_check(pool));
    address[offset] = 1;
    snprintf(text, sizeof text, "after it was freed: the first wrong byte is at offset %zu",
             offset);
    expect_status(TARN_STATUS_CORRUPT, tarn_pool_check(pool));
    expect_message(text);
    /* More than there is: all is let go before that is told. */
    void *none;
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc(pool, (size_t)1 << 40, &none));
    expect_status(TARN_STATUS_CORRUPT, tarn_pool_check(pool));
    expect_message(text);
    free_one(other);
    expect_status(TARN_STATUS_CORRUPT, tarn_pool_check(pool));
    expect_message("mesh");
    for (int i = 0; i < 10; i++)
        assert_ptr_not_equal(alloc(1000), address);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    pool = NULL;
}

static void a_use_after_the_free_is_found(void **state)
{
    expect_use_after_free_found(0);
    expect_use_after_free_found(999);
}

static void the_call_that_notices_is_well_and_leaves_a_message(void **state)
{
    create_with_quarantine(TARN_DEBUG_POISON, 98 * 1024);
    unsigned char *address = alloc(100000), *other = alloc(10);
    free_one(address);
    address[99999] = 1;
    free_one(other);
    assert_int_equal(tarn_last_error().status, TARN_STATUS_CORRUPT);
    expect_message("offset 99999");
    assert_int_equal(stats_of(pool).free_count, 2);
    destroy_empty();
}

/* What is known of the first free is told, whichever pool of a chain of fallbacks has the memory. */
static void a_second_free_is_told_of_the_first_in_any_fallback(void **state)
{
    tarn_pool *pools[3];
    void *addresses[3];
    options.limit_bytes = options.initial_bytes = 16384;
    for (size_t i = 3; i-- > 0;) {
        pool = NULL;
        create_with_quarantine(0, 1 << 20);
        pools[i] = pool;
        options.fallback = pool;
    }
    tarn_label_push("large");
    for (size_t i = 0; i < 3; i++)
        addresses[i] = alloc(16384);
    tarn_label_pop();
    for (size_t i = 0; i < 3; i++) {
        free_one(addresses[i]);
        assert_int_equal(stats_of(pools[i]).live_count, 0);
        expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, addresses[i]));
        expect_message("of 16384 bytes, label \"large\", was freed before");
        expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_resize(pool, addresses[i], 100));
        expect_message("of 16384 bytes, label \"large\", was freed before");
    }
    destroy_empty();
    expect_ok(tarn_pool_destroy(pools[1]));
    expect_ok(tarn_pool_destroy(pools[2]));
}

static void the_quarantine_is_let_go_before_memory_runs_out(void **state)
{
    options.debug = ALL_FLAGS;
    options.limit_bytes = options.initial_bytes = 65536;
    create();
    size_t available, before;
    free_one(alloc(1000));
    expect_ok(tarn_pool_available(pool, &before));
    for (int i = 0; i < 20; i++)
        free_one(alloc(40000));
    expect_ok(tarn_pool_available(pool, &available));
    assert_true(available >= 40000);
}

static void an_overrun_is_put_down_to_who_allocated(void **state)
{
    create_with(TARN_DEBUG_SITES | TARN_DEBUG_ZONES);
    unsigned char *address = alloc(1000);
    address[1000] = 1;
    expect_status(TARN_STATUS_CORRUPT, tarn_pool_free(pool, address));
    if (TN_HAS_EXECINFO) expect_message(", allocated by ");
    destroy_empty();
}

static void trimming_lets_the_quarantine_go(void **state)
{
    create_with_quarantine(0, 1 << 20);
    free_one(alloc(1000));
    assert_int_equal(trim(0), 1 << 20);
}

/* --- what does not work ---------------------------------------------------------------------------- */

static void a_backend_without_data_is_refused(void **state)
{
    static struct test_backend source;
    static char memory[8192];
    static const unsigned flags[] = { TARN_DEBUG_ZONES, TARN_DEBUG_POISON, TARN_DEBUG_QUARANTINE };
    test_backend_init(&source);
    const tarn_backend without_data = test_backend_open(&source);
    for (size_t i = 0; i < 3; i++) {
        options.debug = flags[i];
        options.backend = &without_data;
        expect_options_refused(TARN_STATUS_NOT_SUPPORTED, "debug");
        options.backend = NULL;
        expect_status(TARN_STATUS_NOT_SUPPORTED,
                      tarn_pool_create_over(memory, sizeof memory, &options, &pool));
        expect_message("debug");
    }
}

static void a_quarantine_of_nothing_is_refused(void **state)
{
    options.debug = TARN_DEBUG_QUARANTINE;
    options.quarantine_bytes = 0;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "quarantine_bytes");
    options.debug = TARN_DEBUG_SITES;
    create();
}

static void what_cannot_be_filled_is_not_handed_out(void **state)
{
    create_with(ALL_FLAGS);
    fails = true;
    expect_refused(TARN_STATUS_VENDOR_ERROR, 100);
    assert_int_equal(tarn_last_error().vendor_code, 17);
    assert_int_equal(stats_of(pool).live_count, 0);
    assert_int_equal(stats_of(pool).alloc_count, 0);
    assert_int_equal(stats_of(pool).free_count, 0);
    assert_int_equal(stats_of(pool).used_bytes, 0);
    fails = false;
}

static void what_cannot_be_looked_at_is_freed(void **state)
{
    create_with(ALL_FLAGS);
    unsigned char *address = alloc(100), *quarantined = alloc(100);
    free_one(quarantined);
    address[100]++;
    fails = true;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_check(pool));
    free_one(address);
    fails = false;
}

/* The copy to the host runs late, and its memory must last as long. */
static void a_copy_is_over_before_its_memory_goes(void **state)
{
    create_with(ALL_FLAGS);
    tarn_stream stream = create_stream();
    for (unsigned i = 0; i < 20; i++) {
        void *address = alloc_on(64 * KIB, stream);
        expect_ok(tarn_pool_free_on(pool, address, stream));
    }
    device_wait_count = 0;
    waits_fail = true;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_check(pool));
    waits_fail = false;
    assert_int_equal(device_wait_count, 2); /* of the check, and of the copy */
    destroy_stream(stream);
}

static void a_free_on_a_foreign_stream_is_refused_as_without(void **state)
{
    create_with(ALL_FLAGS);
    unsigned char *address = alloc(100);
    int foreign;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_free_on(pool, address, &foreign));
    assert_int_equal(stats_of(pool).live_count, 1);
    assert_int_equal(stats_of(pool).free_count, 0);
    assert_int_equal(stats_of(pool).size_histogram[7], 1);
    free_one(address);
}

/* Filling would be captured, and waiting would call the capture off. */
static void nothing_is_done_while_a_stream_is_captured(void **state)
{
    create_with(ALL_FLAGS);
    tarn_stream stream = create_stream();
    tarn_capture capture = 0;
    void *before, *inside;
    before = alloc_on(100, stream);
    expect_ok(tarn_capture_begin(pool, stream, &capture));
    call_count = 0;
    inside = alloc_on(100, stream);
    free_on(inside, stream);
    inside = alloc_on(100, stream);
    free_on(before, stream);
    expect_ok(tarn_pool_check(pool));
    assert_int_equal(call_count, 0);
    expect_ok(tarn_capture_end(pool, capture));
    /* It has no zones, though the pool has. */
    expect_ok(tarn_pool_check(pool));
    free_on(inside, stream);
    expect_ok(tarn_capture_release(pool, capture, &stream, 1));
    destroy_stream(stream);
}

/* --- many, threads, no host memory ----------------------------------------------------------------- */

struct held {
    unsigned char *address;
    size_t size_bytes;
    unsigned char value;
};

static bool is_whole(const struct held *held)
{
    for (size_t i = 0; i < held->size_bytes; i++) {
        if (held->address[i] != held->value) return false;
    }
    return true;
}

/* NULL when all went well. */
static const char *allocate_and_free_at_random(uint64_t seed, unsigned steps)
{
    struct held held[32] = { { NULL, 0, 0 } };
    struct random random = random_init(seed);
    for (unsigned i = 0; i < steps; i++) {
        struct held *one = &held[random_below(&random, 32)];
        if (one->address) {
            if (!is_whole(one)) return "somebody else wrote";
            if (tarn_pool_free(pool, one->address) != TARN_STATUS_OK) return "a free failed";
            one->address = NULL;
        } else {
            void *address;
            one->size_bytes = 1 + (size_t)random_below(&random, 5000);
            size_t alignment = (size_t)1 << random_below(&random, 13);
            if (tarn_pool_alloc_aligned(pool, one->size_bytes, alignment, &address) !=
                TARN_STATUS_OK)
                return "an allocation failed";
            one->address = address;
            one->value = (unsigned char)random_below(&random, 256);
            memset(address, one->value, one->size_bytes);
        }
    }
    for (int i = 0; i < 32; i++) {
        if (held[i].address && tarn_pool_free(pool, held[i].address) != TARN_STATUS_OK)
            return "a last free failed";
    }
    return NULL;
}

static void random_programs_find_their_memory_whole(void **state)
{
    uint64_t seed = random_seed(1);
    for (unsigned flags = 1; flags <= ALL_FLAGS; flags++) {
        options.debug = flags;
        options.quarantine_bytes = 20 * 1024;
        create();
        const char *fault = allocate_and_free_at_random(seed + flags, 1000);
        if (fault) fail_msg("flags 0x%x: %s", flags, fault);
        expect_ok(tarn_pool_check(pool));
        destroy_empty();
    }
}

static void *work(void *argument)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        if (allocate_and_free_at_random(seed, 100)) return &pool;
        if (tarn_pool_check(pool) != TARN_STATUS_OK) return &pool;
    }
    return NULL;
}

static void threads_work_and_check_at_once(void **state)
{
    options.debug = ALL_FLAGS;
    pthread_t threads[4];
    options.quarantine_bytes = 20 * 1024;
    create();
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        if (result) fail_msg("a thread's pool is not well");
    }
}

/* Frees on a stream that the pool finds no memory to know and no way to wait for. Whether it was refused. */
static bool free_with_faults(unsigned fail_at, unsigned fails_after, bool *has_happened_out)
{
    create_with(TARN_DEBUG_ZONES | TARN_DEBUG_POISON);
    tarn_stream second;
    expect_done(host, stream_create, &second);
    void *address = alloc(100);
    free_one(alloc(100));
    fails_from = call_count + fails_after;
    host_memory_faults_begin(fail_at);
    tarn_status status = tarn_pool_free_on(pool, address, second);
    *has_happened_out = host_memory_faults_end();
    fails_from = 0;
    expect_ok(tarn_pool_check(pool));
    if (status != TARN_STATUS_OK) {
        assert_int_equal(stats_of(pool).live_count, 1);
        free_one(address);
    }
    destroy_empty();
    expect_done(host, stream_destroy, second);
    return status != TARN_STATUS_OK;
}

/* What it has filled says nothing about the program. */
static void a_free_that_was_refused_can_be_made_again(void **state)
{
    enum {
        CALLS = 10
    };
    unsigned refused_count = 0;
    for (unsigned call = 1; call <= CALLS; call++) {
        bool has_happened = true;
        for (unsigned n = 1; has_happened; n++) {
            if (free_with_faults(n, call, &has_happened)) refused_count++;
        }
    }
    assert_true(refused_count > CALLS);
}

static void live_once(void)
{
    options.debug = ALL_FLAGS;
    void *addresses[10];
    int count = 0;
    options.quarantine_bytes = 6 * 1024;
    if (tarn_pool_create(&options, &pool) != TARN_STATUS_OK) return;
    for (int i = 0; i < 10; i++) {
        tarn_status status = tarn_pool_alloc(pool, 1000, &addresses[count]);
        if (status != TARN_STATUS_OK) assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
        if (status == TARN_STATUS_OK) count++;
    }
    tarn_pool_check(pool);
    assert_int_equal(stats_of(pool).live_count, count);
    while (count > 0)
        free_one(addresses[--count]);
    destroy_empty();
}

static void no_host_memory_fails_an_allocation_and_never_a_free(void **state)
{
    for (unsigned n = 1;; n++) {
        host_memory_faults_begin(n);
        live_once();
        long outstanding = host_memory_faults_outstanding();
        if (!host_memory_faults_end()) break;
        assert_true(outstanding <= 1); /* a pool's handle is kept */
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_over_host, tear_down_empty)
    const struct CMUnitTest tests[] = {
        CASE(what_was_asked_for_may_be_written_to_its_ends),
        CASE(a_write_beyond_the_end_is_found),
        CASE(a_write_before_the_start_is_found),
        CASE(a_pool_with_a_damaged_block_can_be_destroyed),
        CASE(late_work_that_writes_too_much_is_found),
        CASE(memory_goes_from_stream_to_stream),
        CASE(what_is_found_is_what_the_program_has),
        CASE(statistics_are_of_what_was_asked_for),
        CASE(sizes_that_overflow_are_refused),
        CASE(memory_is_filled_when_handed_out_and_when_freed),
        CASE(what_was_freed_is_held_back),
        CASE(a_second_free_is_told_of_the_first),
        CASE(a_use_after_the_free_is_found),
        CASE(the_call_that_notices_is_well_and_leaves_a_message),
        CASE(a_second_free_is_told_of_the_first_in_any_fallback),
        CASE(the_quarantine_is_let_go_before_memory_runs_out),
        CASE(trimming_lets_the_quarantine_go),
        CASE(an_overrun_is_put_down_to_who_allocated),
        CASE(a_backend_without_data_is_refused),
        CASE(a_quarantine_of_nothing_is_refused),
        CASE(what_cannot_be_filled_is_not_handed_out),
        CASE(what_cannot_be_looked_at_is_freed),
        CASE(a_copy_is_over_before_its_memory_goes),
        CASE(a_free_on_a_foreign_stream_is_refused_as_without),
        CASE(nothing_is_done_while_a_stream_is_captured),
        CASE(random_programs_find_their_memory_whole),
        CASE(threads_work_and_check_at_once),
        CASE(a_free_that_was_refused_can_be_made_again),
        CASE(no_host_memory_fails_an_allocation_and_never_a_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
