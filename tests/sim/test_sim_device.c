/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sim_device: the simulated devices themselves, without any face. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/claims.h"
#include "sim_device.h"

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

static void expect(sim_status got, sim_status wanted, const char *text, int line)
{
    if (got == wanted) return;
    print_error("%s\n    gave %s, not %s\n", text, sim_status_name(got), sim_status_name(wanted));
    _fail(__FILE__, line);
}

#define EXPECT(call, status) expect(call, SIM_STATUS_##status, #call, __LINE__)
#define EXPECT_OK(call)      EXPECT(call, OK)

static int setup(void **state)
{
    sim_reset();
    return 0;
}

/* What a test left behind would be the next one's. */
static int teardown(void **state)
{
    sim_reset();
    return 0;
}

static void *alloc(size_t size_bytes)
{
    void *address = NULL;
    EXPECT_OK(sim_alloc(0, SIM_MEMORY_KIND_DEVICE, size_bytes, 0, &address));
    assert_non_null(address);
    return address;
}

static sim_stream *create_stream(int device)
{
    sim_stream *stream = NULL;
    EXPECT_OK(sim_stream_create(device, &stream));
    return stream;
}

static sim_event *create_event(int device)
{
    sim_event *event = NULL;
    EXPECT_OK(sim_event_create(device, SIM_EVENT_FORM_RECORDS, &event));
    return event;
}

static void fill(sim_stream *stream, void *address, unsigned char value, size_t size_bytes)
{
    EXPECT_OK(sim_fill(stream, address, &value, 1, size_bytes));
}

static unsigned char byte_at(const void *address)
{
    unsigned char byte = 0;
    assert_true(sim_peek(&byte, address, 1));
    return byte;
}

/* Whether the system may read and write the byte in this process's name. */
static bool host_may_touch(void *address)
{
    int ends[2];
    unsigned char byte = 0;
    assert_int_equal(pipe(ends), 0);
    bool may = write(ends[1], address, 1) == 1;
    if (!may) assert_int_equal(write(ends[1], &byte, 1), 1);
    may = read(ends[0], address, 1) == 1 && may;
    close(ends[0]);
    close(ends[1]);
    return may;
}

/* --- memory ------------------------------------------------------------------------------------ */

static void device_memory_faults_when_the_host_touches_it(void **state)
{
    size_t size_bytes = 3 * MIB + 1;
    unsigned char *device = alloc(size_bytes);
    assert_false(host_may_touch(device));
    assert_false(host_may_touch(device + size_bytes - 1));
    fill(sim_stream_default(0), device, 9, size_bytes);
    EXPECT_OK(sim_device_synchronize(0));
    assert_false(host_may_touch(device));
    assert_int_equal(byte_at(device + size_bytes - 1), 9);
    EXPECT_OK(sim_free(device));
}

static void the_host_touches_pinned_and_shared_memory(void **state)
{
    for (int kind = SIM_MEMORY_KIND_PINNED; kind <= SIM_MEMORY_KIND_SHARED; kind++) {
        void *opaque;
        EXPECT_OK(sim_alloc(1, (sim_memory_kind)kind, 10000, 0, &opaque));
        unsigned char *address = opaque;
        memset(address, 3, 10000);
        assert_int_equal(byte_at(address + 9999), 3);
        fill(sim_stream_default(1), address + 1, 4, 9998);
        EXPECT_OK(sim_device_synchronize(1));
        assert_int_equal(address[0], 3);
        assert_int_equal(address[1], 4);
        assert_int_equal(address[9998], 4);
        assert_int_equal(address[9999], 3);
        EXPECT_OK(sim_free(address));
    }
}

/* Thousands of times the machine's memory in all, and no more than a page touched of each. */
static void large_memory_costs_nothing_before_it_is_used(void **state)
{
    SIM_SET(memory_bytes, 1024 * GIB);
    SIM_SET(allocation_bytes_max, 1024 * GIB);
    for (int i = 0; i < 100; i++) {
        unsigned char *address = alloc(1024 * GIB);
        unsigned char byte = 7;
        assert_true(sim_poke(address + 1024 * GIB - 1, &byte, 1));
        assert_int_equal(byte_at(address + 1024 * GIB - 1), 7);
        EXPECT_OK(sim_free(address));
    }
}

static void addresses_are_aligned_as_promised_and_no_more(void **state)
{
    for (size_t alignment = 1; alignment <= 64 * MIB; alignment *= 2) {
        void *address;
        EXPECT_OK(sim_alloc(0, SIM_MEMORY_KIND_DEVICE, 100, alignment, &address));
        assert_int_equal((uintptr_t)address % (2 * alignment), alignment);
        EXPECT_OK(sim_free(address));
    }
    void *address = alloc(1);
    assert_int_equal((uintptr_t)address % 8192, 4096);
    EXPECT_OK(sim_free(address));
    EXPECT(sim_alloc(0, SIM_MEMORY_KIND_DEVICE, 100, 3, &address), INVALID_ALIGNMENT);
}

static void memory_is_counted_in_granules_up_to_the_limit(void **state)
{
    SIM_SET(memory_bytes, 8 * MIB);
    SIM_SET(allocation_bytes_max, 6 * MIB);
    void *address = NULL, *none = NULL;
    EXPECT(sim_alloc(0, SIM_MEMORY_KIND_DEVICE, 0, 0, &none), INVALID_SIZE);
    EXPECT(sim_alloc(0, SIM_MEMORY_KIND_DEVICE, 6 * MIB + 1, 0, &none), INVALID_SIZE);
    EXPECT(sim_alloc(0, SIM_MEMORY_KIND_DEVICE, SIZE_MAX, 0, &none), INVALID_SIZE);
    EXPECT_OK(sim_alloc(0, SIM_MEMORY_KIND_DEVICE, 4 * MIB + 1, 0, &address));
    assert_int_equal(sim_held_bytes(0, SIM_MEMORY_KIND_DEVICE), 6 * MIB);
    assert_int_equal(sim_held_bytes(1, SIM_MEMORY_KIND_DEVICE), 0);
    EXPECT(sim_alloc(0, SIM_MEMORY_KIND_DEVICE, 2 * MIB + 1, 0, &none), OUT_OF_MEMORY);
    void *rest = alloc(2 * MIB);
    EXPECT(sim_alloc(0, SIM_MEMORY_KIND_DEVICE, 1, 0, &none), OUT_OF_MEMORY);
    size_t total_bytes, free_bytes;
    EXPECT_OK(sim_memory_info(0, &total_bytes, &free_bytes));
    assert_int_equal(total_bytes, 8 * MIB);
    assert_int_equal(free_bytes, 0);
    assert_null(none);
    EXPECT_OK(sim_free(rest));
    EXPECT_OK(sim_free(address));
    assert_int_equal(sim_held_bytes(0, SIM_MEMORY_KIND_DEVICE), 0);
}

static void host_memory_has_a_limit_of_its_own(void **state)
{
    SIM_SET(host_memory_bytes, MIB);
    void *pinned, *shared;
    EXPECT_OK(sim_alloc(0, SIM_MEMORY_KIND_PINNED, MIB / 2, 0, &pinned));
    EXPECT_OK(sim_alloc(1, SIM_MEMORY_KIND_SHARED, MIB / 2, 0, &shared));
    void *none = NULL;
    EXPECT(sim_alloc(0, SIM_MEMORY_KIND_PINNED, 1, 0, &none), OUT_OF_HOST_MEMORY);
    EXPECT_OK(sim_free(pinned));
    EXPECT_OK(sim_free(shared));
}

static void shared_memory_may_be_larger_than_the_device(void **state)
{
    SIM_SET(memory_bytes, 8 * MIB);
    SIM_SET(allocation_bytes_max, 6 * MIB);
    void *first, *second, *none = NULL;
    EXPECT_OK(sim_alloc(0, SIM_MEMORY_KIND_SHARED, 9 * MIB, 0, &first));
    EXPECT_OK(sim_alloc(0, SIM_MEMORY_KIND_SHARED, 9 * MIB, 0, &second));
    size_t total_bytes, free_bytes;
    EXPECT_OK(sim_memory_info(0, &total_bytes, &free_bytes));
    assert_int_equal(free_bytes, 8 * MIB);
    EXPECT_OK(sim_free(second));
    EXPECT_OK(sim_free(first));

    SIM_SET(spills_to_host, false);
    EXPECT(sim_alloc(0, SIM_MEMORY_KIND_SHARED, 8 * MIB + 1, 0, &none), OUT_OF_MEMORY);
    EXPECT_OK(sim_alloc(0, SIM_MEMORY_KIND_SHARED, 8 * MIB, 0, &first));
    EXPECT(sim_alloc(0, SIM_MEMORY_KIND_SHARED, 1, 0, &none), OUT_OF_MEMORY);
    EXPECT_OK(sim_free(first));
    assert_null(none);
}

static void an_address_finds_its_owner(void **state)
{
    void *opaque;
    EXPECT_OK(sim_alloc(1, SIM_MEMORY_KIND_DEVICE, 1000, 0, &opaque));
    unsigned char *address = opaque;
    sim_memory found;
    assert_true(sim_memory_find(address, &found));
    uint64_t id = found.id;
    assert_true(sim_memory_find(address + 999, &found));
    assert_int_equal(found.kind, SIM_MEMORY_KIND_DEVICE);
    assert_int_equal(found.device, 1);
    assert_ptr_equal(found.address, address);
    assert_int_equal(found.size_bytes, 1000);
    assert_int_equal(found.id, id);
    assert_false(found.is_mapping);
    assert_null(found.owner);
    EXPECT_OK(sim_memory_set_owner(address, &found));
    assert_true(sim_memory_find(address, &found));
    assert_ptr_equal(found.owner, &found);
    assert_false(sim_memory_find(address + 1000, &found));
    assert_false(sim_memory_find(address - 1, &found));
    assert_false(sim_memory_find(&found, &found));
    EXPECT(sim_free(address + 256), INVALID_ADDRESS);
    EXPECT_OK(sim_free(address));
    EXPECT(sim_free(address), INVALID_ADDRESS);
    EXPECT(sim_free(NULL), INVALID_ADDRESS);
    EXPECT(sim_free(&found), INVALID_ADDRESS);
}

/* --- streams ----------------------------------------------------------------------------------- */

static void nothing_runs_before_somebody_waits(void **state)
{
    unsigned char *address = alloc(100);
    unsigned char value = 1;
    assert_true(sim_poke(address, &value, 1));
    sim_stream *stream = create_stream(0);
    fill(stream, address, 2, 100);
    fill(stream, address, 3, 50);
    assert_int_equal(sim_pending_count(), 2);
    assert_int_equal(byte_at(address), 1);
    EXPECT_OK(sim_stream_synchronize(stream));
    assert_int_equal(byte_at(address), 3);
    assert_int_equal(byte_at(address + 50), 2);
    assert_int_equal(sim_pending_count(), 0);
    EXPECT_OK(sim_stream_destroy(stream));
    EXPECT_OK(sim_free(address));
}

/* Two streams write the same byte. Which wins differs with the seed: neither order may be relied on. */
static void the_order_of_two_streams_follows_the_seed(void **state)
{
    bool seen[2] = { false, false };
    for (uint64_t seed = 1; seed <= 32; seed++) {
        SIM_SET(seed, seed);
        unsigned char *address = alloc(1);
        sim_stream *streams[2] = { create_stream(0), create_stream(0) };
        fill(streams[0], address, 0, 1);
        fill(streams[1], address, 1, 1);
        EXPECT_OK(sim_device_synchronize(0));
        seen[byte_at(address)] = true;
        EXPECT_OK(sim_stream_destroy(streams[0]));
        EXPECT_OK(sim_stream_destroy(streams[1]));
        EXPECT_OK(sim_free(address));
    }
    assert_true(seen[0]);
    assert_true(seen[1]);
}

/* A stream that nobody waits for gets ahead sometimes, and sometimes not. */
static void streams_run_out_of_step(void **state)
{
    size_t ran_count = 0;
    sim_stream *awaited = create_stream(0), *other = create_stream(1);
    unsigned char *address = alloc(1);
    for (int round = 0; round < 64; round++) {
        fill(awaited, address, 1, 1);
        fill(other, address, 2, 1);
        EXPECT_OK(sim_stream_synchronize(awaited));
        ran_count += sim_pending_count() == 0;
        EXPECT_OK(sim_stream_synchronize(other));
    }
    assert_in_range(ran_count, 8, 56);
    EXPECT_OK(sim_stream_destroy(awaited));
    EXPECT_OK(sim_stream_destroy(other));
    EXPECT_OK(sim_free(address));
}

/* A ring of streams, each waiting for the one before, in every order that 200 seeds give. */
static void nothing_runs_before_what_it_depends_on(void **state)
{
    enum {
        STREAMS = 5,
        ROUNDS = 4
    };
    unsigned char *cells = alloc(STREAMS * ROUNDS + 1);
    sim_stream *streams[STREAMS];
    sim_event *events[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = create_stream(i % 2);
        events[i] = create_event(i % 2);
    }
    for (uint64_t seed = 1; seed <= 200; seed++) {
        SIM_SET(seed, seed);
        unsigned char first = (unsigned char)seed;
        assert_true(sim_poke(cells, &first, 1));
        for (int step = 0; step < STREAMS * ROUNDS; step++) {
            int i = step % STREAMS, before = (step + STREAMS - 1) % STREAMS;
            if (step > 0) EXPECT_OK(sim_stream_wait_event(streams[i], events[before]));
            EXPECT_OK(sim_copy(streams[i], cells + step + 1, cells + step, 1));
            EXPECT_OK(sim_event_record(events[i], streams[i]));
        }
        EXPECT_OK(sim_event_synchronize(events[STREAMS - 1]));
        assert_int_equal(byte_at(cells + (size_t)STREAMS * ROUNDS), first);
    }
    for (int i = 0; i < STREAMS; i++) {
        EXPECT_OK(sim_stream_destroy(streams[i]));
        EXPECT_OK(sim_event_destroy(events[i]));
    }
    EXPECT_OK(sim_free(cells));
    assert_int_equal(sim_misuse_count(), 0);
}

static void a_destroyed_stream_still_runs_its_work(void **state)
{
    unsigned char *address = alloc(1);
    sim_stream *stream = create_stream(0);
    fill(stream, address, 5, 1);
    EXPECT_OK(sim_stream_destroy(stream));
    assert_int_equal(sim_alive(SIM_THING_STREAM), 0);
    EXPECT(sim_stream_synchronize(stream), INVALID_HANDLE);
    EXPECT(sim_stream_destroy(stream), INVALID_HANDLE);
    assert_int_equal(sim_pending_count(), 1);
    EXPECT_OK(sim_device_synchronize(0));
    assert_int_equal(byte_at(address), 5);
    EXPECT_OK(sim_free(address));
}

static void patterns_repeat_across_mappings(void **state)
{
    unsigned char *address = alloc(20);
    EXPECT_OK(sim_fill(sim_stream_default(0), address, "abcd", 4, 20));
    EXPECT(sim_fill(sim_stream_default(0), address, "abcd", 4, 18), INVALID_SIZE);
    EXPECT_OK(sim_device_synchronize(0));
    char text[21] = "";
    assert_true(sim_peek(text, address, 20));
    assert_string_equal(text, "abcdabcdabcdabcdabcd");
    EXPECT_OK(sim_free(address));
}

/* --- events ------------------------------------------------------------------------------------ */

static void a_query_is_late_by_so_many_polls(void **state)
{
    sim_stream *stream = create_stream(0);
    sim_event *event = create_event(0);
    EXPECT_OK(sim_event_query(event));
    for (unsigned delay = 1; delay <= 5; delay++) {
        SIM_SET(event_delay_polls, delay);
        EXPECT_OK(sim_event_record(event, stream));
        for (unsigned poll = 0; poll < delay; poll++)
            EXPECT(sim_event_query(event), NOT_READY);
        EXPECT_OK(sim_event_query(event));
    }
    EXPECT_OK(sim_event_record(event, stream));
    EXPECT_OK(sim_stream_synchronize(stream));
    EXPECT_OK(sim_event_query(event));
    EXPECT_OK(sim_event_destroy(event));
    EXPECT_OK(sim_stream_destroy(stream));
}

static void a_wait_keeps_the_record_that_it_saw(void **state)
{
    unsigned char *address = alloc(2);
    sim_stream *a = create_stream(0), *b = create_stream(0), *c = create_stream(0);
    sim_event *event = create_event(0);
    fill(a, address, 1, 1);
    EXPECT_OK(sim_event_record(event, a));
    EXPECT_OK(sim_stream_wait_event(b, event));
    EXPECT_OK(sim_copy(b, address + 1, address, 1));
    EXPECT_OK(sim_event_record(event, c));
    EXPECT_OK(sim_event_destroy(event));
    EXPECT_OK(sim_stream_synchronize(b));
    assert_int_equal(byte_at(address + 1), 1);
    EXPECT_OK(sim_stream_destroy(a));
    EXPECT_OK(sim_stream_destroy(b));
    EXPECT_OK(sim_stream_destroy(c));
    EXPECT_OK(sim_free(address));
}

/* Until the other stream has come to its wait. */
static void a_stream_is_awaited_by_others(void **state)
{
    sim_stream *a = create_stream(0), *b = create_stream(0);
    sim_event *event = create_event(0);
    EXPECT_OK(sim_event_record(event, a));
    EXPECT_OK(sim_stream_wait_event(a, event));
    assert_false(sim_stream_is_awaited(a));
    EXPECT_OK(sim_stream_wait_event(b, event));
    EXPECT_OK(sim_event_destroy(event));
    assert_true(sim_stream_is_awaited(a));
    assert_false(sim_stream_is_awaited(b));
    EXPECT_OK(sim_stream_synchronize(b));
    assert_false(sim_stream_is_awaited(a));
    EXPECT_OK(sim_stream_destroy(a));
    EXPECT_OK(sim_stream_destroy(b));
}

static void a_flag_is_set_waited_for_and_reset(void **state)
{
    sim_stream *a = create_stream(0), *b = create_stream(0);
    sim_event *flag, *record = create_event(0);
    EXPECT_OK(sim_event_create(0, SIM_EVENT_FORM_FLAG, &flag));
    EXPECT(sim_event_query(flag), NOT_READY);
    EXPECT(sim_event_host_reset(record), INVALID_VALUE);
    EXPECT(sim_event_host_signal(record), INVALID_VALUE);

    EXPECT_OK(sim_stream_wait_event(b, flag)); /* before the signal is submitted */
    EXPECT_OK(sim_event_record(flag, a));
    EXPECT_OK(sim_stream_synchronize(b));
    EXPECT_OK(sim_event_query(flag));
    EXPECT_OK(sim_event_host_reset(flag));
    EXPECT(sim_event_query(flag), NOT_READY);
    EXPECT_OK(sim_event_host_signal(flag));
    EXPECT_OK(sim_event_synchronize(flag));
    assert_int_equal(sim_misuse_count(), 0);

    EXPECT_OK(sim_event_host_reset(flag));
    EXPECT_OK(sim_event_record(flag, a));
    EXPECT_OK(sim_event_host_reset(flag));
    assert_int_equal(sim_misuse_count(), 1);
    EXPECT_OK(sim_stream_synchronize(a));
    EXPECT_OK(sim_event_destroy(flag));
    EXPECT_OK(sim_event_destroy(record));
    EXPECT_OK(sim_stream_destroy(a));
    EXPECT_OK(sim_stream_destroy(b));
}

static void a_wait_that_cannot_end_is_told(void **state)
{
    sim_stream *stream = create_stream(0);
    sim_event *flag;
    EXPECT_OK(sim_event_create(0, SIM_EVENT_FORM_FLAG, &flag));
    EXPECT(sim_event_synchronize(flag), HANG);
    EXPECT_OK(sim_stream_wait_event(stream, flag));
    EXPECT(sim_stream_synchronize(stream), HANG);
    EXPECT(sim_device_synchronize(0), HANG);
    assert_int_equal(sim_misuse_count(), 3);
    EXPECT_OK(sim_event_host_signal(flag));
    EXPECT_OK(sim_stream_synchronize(stream));
    EXPECT_OK(sim_stream_destroy(stream));
    EXPECT_OK(sim_event_destroy(flag));
}

static void streams_and_events_keep_to_their_device(void **state)
{
    sim_stream *zero = create_stream(0), *one = create_stream(1);
    sim_event *event = create_event(1);
    EXPECT(sim_event_record(event, zero), WRONG_DEVICE);
    EXPECT_OK(sim_event_record(event, one));
    EXPECT_OK(sim_stream_wait_event(zero, event));
    EXPECT_OK(sim_stream_synchronize(zero));
    EXPECT(sim_stream_create(2, &zero), INVALID_DEVICE);
    EXPECT(sim_stream_create(-1, &zero), INVALID_DEVICE);
    int device = -1;
    EXPECT_OK(sim_stream_find(one, &device));
    assert_int_equal(device, 1);
    EXPECT_OK(sim_stream_find(sim_stream_default(0), &device));
    assert_int_equal(device, 0);
    EXPECT(sim_stream_destroy(sim_stream_default(0)), INVALID_HANDLE);
    EXPECT_OK(sim_event_find(event, &device));
    assert_int_equal(device, 1);
    EXPECT(sim_stream_find((sim_stream *)(void *)event, &device), INVALID_HANDLE);
    EXPECT(sim_event_find(NULL, &device), INVALID_HANDLE);
    EXPECT_OK(sim_event_destroy(event));
    EXPECT_OK(sim_stream_destroy(zero));
    EXPECT_OK(sim_stream_destroy(one));
}

/* --- virtual memory ---------------------------------------------------------------------------- */

static void mapped_memory_is_found_by_its_address(void **state)
{
    void *opaque;
    EXPECT_OK(sim_range_reserve(NULL, 8 * MIB, 0, &opaque));
    unsigned char *range = opaque;
    sim_physical *physical;
    EXPECT_OK(sim_physical_create(0, 4 * MIB, &physical));
    assert_int_equal(sim_held_bytes(0, SIM_MEMORY_KIND_DEVICE), 4 * MIB);

    /* The same memory at two addresses, which meet at 4 MiB. */
    EXPECT_OK(sim_map(range, 4 * MIB, physical, 0));
    EXPECT_OK(sim_map(range + 4 * MIB, 2 * MIB, physical, 2 * MIB));
    assert_int_equal(sim_physical_mapping_count(physical), 2);
    EXPECT_OK(sim_set_access(range, 6 * MIB, 0, SIM_ACCESS_READ_WRITE));
    fill(sim_stream_default(0), range + 3 * MIB, 7, 2 * MIB);
    EXPECT_OK(sim_device_synchronize(0));
    assert_int_equal(byte_at(range + 2 * MIB), 7); /* through the second mapping */
    assert_int_equal(byte_at(range + 5 * MIB - 1), 7);
    assert_false(host_may_touch(range));

    sim_memory found;
    assert_true(sim_memory_find(range + 5 * MIB, &found));
    assert_true(found.is_mapping);
    assert_ptr_equal(found.address, range + 4 * MIB);
    EXPECT(sim_free(range), INVALID_ADDRESS);

    EXPECT_OK(sim_physical_release(physical));
    assert_int_equal(sim_alive(SIM_THING_PHYSICAL), 0);
    assert_int_equal(sim_held_bytes(0, SIM_MEMORY_KIND_DEVICE), 4 * MIB);
    EXPECT(sim_physical_release(physical), INVALID_HANDLE);
    EXPECT(sim_range_free(range, 8 * MIB), STILL_MAPPED);
    EXPECT_OK(sim_unmap(range, 6 * MIB));
    assert_int_equal(sim_held_bytes(0, SIM_MEMORY_KIND_DEVICE), 0);
    EXPECT_OK(sim_range_free(range, 8 * MIB));
    assert_int_equal(sim_alive_total(), 0);
}

static void mappings_come_and_go_whole(void **state)
{
    void *opaque;
    sim_physical *physical;
    EXPECT_OK(sim_range_reserve(NULL, 8 * MIB, 0, &opaque));
    unsigned char *range = opaque;
    EXPECT_OK(sim_physical_create(0, 4 * MIB, &physical));
    EXPECT(sim_map(range + 6 * MIB, 4 * MIB, physical, 0), INVALID_ADDRESS);
    EXPECT(sim_map(range + MIB, 4 * MIB, physical, 0), INVALID_ALIGNMENT);
    EXPECT(sim_map(range, MIB, physical, 0), INVALID_SIZE);
    EXPECT(sim_map(range, 0, physical, 0), INVALID_SIZE);
    EXPECT(sim_map(range, 4 * MIB, physical, 2 * MIB), INVALID_VALUE);
    EXPECT(sim_map(range, 4 * MIB, (sim_physical *)opaque, 0), INVALID_HANDLE);
    EXPECT_OK(sim_map(range, 4 * MIB, physical, 0));
    EXPECT(sim_map(range + 2 * MIB, 4 * MIB, physical, 0), ALREADY_MAPPED);
    EXPECT(sim_set_access(range, 2 * MIB, 0, SIM_ACCESS_READ), NOT_MAPPED);
    EXPECT(sim_set_access(range + 4 * MIB, 2 * MIB, 0, SIM_ACCESS_READ), NOT_MAPPED);
    EXPECT(sim_set_access(range, 4 * MIB, 2, SIM_ACCESS_READ), INVALID_DEVICE);
    EXPECT(sim_unmap(range, 2 * MIB), NOT_MAPPED);
    EXPECT(sim_unmap(range + 2 * MIB, 2 * MIB), NOT_MAPPED);
    EXPECT(sim_unmap(range, 6 * MIB), NOT_MAPPED);
    EXPECT(sim_range_free(range, 4 * MIB), INVALID_SIZE);
    EXPECT(sim_range_free(range + 2 * MIB, 6 * MIB), INVALID_ADDRESS);
    EXPECT_OK(sim_unmap(range, 4 * MIB));
    EXPECT(sim_unmap(range, 4 * MIB), NOT_MAPPED);
    EXPECT_OK(sim_physical_release(physical));
    EXPECT_OK(sim_range_free(range, 8 * MIB));
    EXPECT(sim_range_free(range, 8 * MIB), INVALID_ADDRESS);
}

/* Without the right, the work faults and the device with it, for good. */
static void access_is_needed(void **state)
{
    static const sim_access rights[] = { SIM_ACCESS_NONE, SIM_ACCESS_READ, SIM_ACCESS_READ_WRITE };
    for (size_t i = 0; i < 3; i++) {
        for (int writes = 0; writes < 2; writes++) {
            sim_reset();
            void *range;
            sim_physical *physical;
            unsigned char host = 1;
            EXPECT_OK(sim_range_reserve(NULL, 2 * MIB, 0, &range));
            EXPECT_OK(sim_physical_create(0, 2 * MIB, &physical));
            EXPECT_OK(sim_map(range, 2 * MIB, physical, 0));
            EXPECT_OK(sim_set_access(range, 2 * MIB, 0, rights[i]));
            EXPECT_OK(sim_copy(sim_stream_default(0), writes ? range : (void *)&host,
                               writes ? (void *)&host : range, 1));
            bool may = (int)rights[i] > writes;
            assert_int_equal(sim_device_synchronize(0),
                             may ? SIM_STATUS_OK : SIM_STATUS_ACCESS_FAULT);
            assert_int_equal(sim_device_check(0), may ? SIM_STATUS_OK : SIM_STATUS_ACCESS_FAULT);
            assert_int_equal(sim_device_check(1), SIM_STATUS_OK);
        }
    }
}

static void ranges_may_be_missing(void **state)
{
    void *none = NULL;
    sim_physical *physical = NULL;
    SIM_SET(has_ranges, false);
    EXPECT(sim_range_reserve(NULL, 2 * MIB, 0, &none), NOT_SUPPORTED);
    EXPECT(sim_physical_create(0, 2 * MIB, &physical), NOT_SUPPORTED);
    SIM_SET(has_ranges, true);
    SIM_SET(driver, SIM_DRIVER_WITHOUT_EXTRAS);
    EXPECT(sim_range_reserve(NULL, 2 * MIB, 0, &none), NOT_SUPPORTED);
}

/* --- work on what is not there ------------------------------------------------------------------ */

static void memory_that_goes_under_work_is_found_out(void **state)
{
    unsigned char *address = alloc(100), *other = alloc(100);
    fill(sim_stream_default(0), address + 99, 1, 1);
    EXPECT_OK(sim_free(other));
    assert_int_equal(sim_misuse_count(), 0);
    EXPECT_OK(sim_free(address));
    assert_int_equal(sim_misuse_count(), 1);
    assert_string_equal(sim_first_misuse(), "memory was freed under pending work");
    EXPECT(sim_device_synchronize(0), ACCESS_FAULT);
    void *none = NULL;
    EXPECT(sim_alloc(0, SIM_MEMORY_KIND_DEVICE, 1, 0, &none), ACCESS_FAULT);
}

static void an_unmap_under_work_is_found_out(void **state)
{
    void *range;
    sim_physical *physical;
    unsigned char host;
    EXPECT_OK(sim_range_reserve(NULL, 4 * MIB, 0, &range));
    EXPECT_OK(sim_physical_create(0, 4 * MIB, &physical));
    EXPECT_OK(sim_map(range, 4 * MIB, physical, 0));
    EXPECT_OK(sim_set_access(range, 4 * MIB, 0, SIM_ACCESS_READ_WRITE));
    EXPECT_OK(sim_copy(sim_stream_default(0), &host, range, 1));
    EXPECT_OK(sim_unmap(range, 4 * MIB));
    assert_int_equal(sim_misuse_count(), 1);
    EXPECT(sim_device_synchronize(0), ACCESS_FAULT);
}

static void work_beyond_an_allocation_faults(void **state)
{
    unsigned char *address = alloc(4096);
    fill(sim_stream_default(0), address + 4000, 1, 97);
    EXPECT(sim_device_synchronize(0), ACCESS_FAULT);
    sim_reset();
    unsigned char host[16];
    EXPECT_OK(sim_copy(sim_stream_default(0), host, (void *)(uintptr_t)4096, 16));
    EXPECT(sim_stream_synchronize(sim_stream_default(0)), ACCESS_FAULT);
}

/* --- calls ------------------------------------------------------------------------------------- */

static void calls_are_counted_by_name(void **state)
{
    sim_forget_faults();
    for (int i = 0; i < 3; i++)
        EXPECT_OK(sim_enter("a"));
    EXPECT_OK(sim_enter_without_driver("b"));
    sim_note("c");
    assert_int_equal(sim_call_count("a"), 3);
    assert_int_equal(sim_call_count("b"), 1);
    assert_int_equal(sim_call_count("c"), 1);
    assert_int_equal(sim_call_count("d"), 0);
    assert_int_equal(sim_call_count(NULL), 5);
    assert_string_equal(sim_describe_calls(), "a 3, b 1, c 1");
    sim_forget_calls();
    assert_string_equal(sim_describe_calls(), "none");
    assert_int_equal(sim_call_count(NULL), 0);
}

static void scripted_calls_fail(void **state)
{
    sim_fail_calls("a", 2, 2, SIM_STATUS_OUT_OF_MEMORY);
    EXPECT_OK(sim_enter("a"));
    EXPECT_OK(sim_enter("b"));
    assert_int_equal(sim_fault_count(), 0);
    EXPECT(sim_enter("a"), OUT_OF_MEMORY);
    assert_string_equal(sim_fault_name(), "a");
    EXPECT(sim_enter("a"), OUT_OF_MEMORY);
    EXPECT_OK(sim_enter("a"));
    assert_int_equal(sim_fault_count(), 2);

    sim_forget_faults();
    sim_fail_calls(NULL, 3, SIZE_MAX, SIM_STATUS_UNKNOWN);
    sim_note("c");
    EXPECT_OK(sim_enter("a"));
    EXPECT_OK(sim_enter_without_driver("b"));
    EXPECT(sim_enter("c"), UNKNOWN);
    EXPECT(sim_enter("a"), UNKNOWN);
    sim_forget_faults();
    EXPECT_OK(sim_enter("a"));
}

static void the_driver_answers_for_itself(void **state)
{
    SIM_SET(driver, SIM_DRIVER_ABSENT);
    EXPECT(sim_enter("a"), NO_DRIVER);
    EXPECT_OK(sim_enter_without_driver("a"));
    SIM_SET(driver, SIM_DRIVER_TOO_OLD);
    EXPECT(sim_enter("a"), DRIVER_TOO_OLD);
    SIM_SET(driver, SIM_DRIVER_WITHOUT_EXTRAS);
    EXPECT_OK(sim_enter("a"));
    sim_unload_driver();
    EXPECT(sim_enter("a"), UNLOADING);
    EXPECT(sim_enter_without_driver("a"), UNLOADING);
}

/* --- bad days ---------------------------------------------------------------------------------- */

struct things {
    void *memory;
    sim_stream *stream;
    sim_event *event;
    void *range;
    sim_physical *physical;
};

static struct things make_things(int device)
{
    struct things things;
    EXPECT_OK(sim_context_activate(device));
    EXPECT_OK(sim_alloc(device, SIM_MEMORY_KIND_DEVICE, 100, 0, &things.memory));
    things.stream = create_stream(device);
    things.event = create_event(device);
    fill(things.stream, things.memory, 1, 100);
    EXPECT_OK(sim_event_record(things.event, things.stream));
    EXPECT_OK(sim_range_reserve(NULL, 2 * MIB, 0, &things.range));
    EXPECT_OK(sim_physical_create(device, 2 * MIB, &things.physical));
    EXPECT_OK(sim_map(things.range, 2 * MIB, things.physical, 0));
    return things;
}

static void all_is_gone_with_a_lost_device(void **state)
{
    struct things zero = make_things(0), one = make_things(1);
    sim_lose_device(0);
    EXPECT(sim_device_check(0), DEVICE_LOST);
    EXPECT(sim_free(zero.memory), DEVICE_LOST);
    EXPECT(sim_stream_synchronize(zero.stream), DEVICE_LOST);
    EXPECT(sim_stream_destroy(zero.stream), DEVICE_LOST);
    EXPECT(sim_event_query(zero.event), DEVICE_LOST);
    EXPECT(sim_event_destroy(zero.event), DEVICE_LOST);
    EXPECT(sim_unmap(zero.range, 2 * MIB), DEVICE_LOST);
    EXPECT(sim_physical_release(zero.physical), DEVICE_LOST);
    EXPECT_OK(sim_range_free(zero.range, 2 * MIB));
    assert_false(sim_context_is_active(0));

    assert_true(sim_context_is_active(1));
    EXPECT_OK(sim_stream_synchronize(one.stream));
    EXPECT_OK(sim_unmap(one.range, 2 * MIB));
    EXPECT_OK(sim_physical_release(one.physical));
    EXPECT_OK(sim_range_free(one.range, 2 * MIB));
    EXPECT_OK(sim_free(one.memory));
    EXPECT_OK(sim_event_destroy(one.event));
    EXPECT_OK(sim_stream_destroy(one.stream));
    assert_int_equal(sim_alive_total(), 0);
}

/* Ranges and what is mapped in them belong to no context. */
static void all_is_gone_with_a_destroyed_context(void **state)
{
    struct things things = make_things(0);
    sim_destroy_context(0);
    EXPECT(sim_free(things.memory), CONTEXT_DESTROYED);
    EXPECT(sim_stream_synchronize(things.stream), CONTEXT_DESTROYED);
    EXPECT(sim_event_query(things.event), CONTEXT_DESTROYED);
    EXPECT(sim_context_activate(0), CONTEXT_DESTROYED);
    assert_string_equal(sim_describe_alive(), "ranges 1, physical 1, mappings 1");
    EXPECT_OK(sim_unmap(things.range, 2 * MIB));
    EXPECT_OK(sim_physical_release(things.physical));
    EXPECT_OK(sim_range_free(things.range, 2 * MIB));
    assert_int_equal(sim_alive_total(), 0);
}

/* Another device's work that waited goes on. */
static void a_lost_device_holds_nobody_up(void **state)
{
    struct things things = make_things(0);
    sim_stream *other = create_stream(1);
    EXPECT_OK(sim_stream_wait_event(other, things.event));
    sim_lose_device(0);
    EXPECT_OK(sim_stream_synchronize(other));
    EXPECT_OK(sim_stream_destroy(other));
}

static void what_is_alive_is_counted(void **state)
{
    assert_string_equal(sim_describe_alive(), "nothing");
    struct things things = make_things(0);
    sim_alive_change(SIM_THING_CONTEXT, 2);
    sim_alive_change(SIM_THING_CONTEXT, -1);
    assert_int_equal(sim_alive_total(), 7);
    assert_string_equal(sim_describe_alive(), "memory 1, ranges 1, physical 1, mappings 1, "
                                              "streams 1, events 1, contexts 1");
    unsigned generation = sim_generation();
    sim_reset();
    assert_int_equal(sim_alive_total(), 0);
    assert_int_equal(sim_pending_count(), 0);
    assert_int_equal(sim_generation(), generation + 1);
    assert_int_equal(sim_held_bytes(0, SIM_MEMORY_KIND_DEVICE), 0);
    EXPECT(sim_stream_query(things.stream), INVALID_HANDLE);
    EXPECT(sim_event_query(things.event), INVALID_HANDLE);
    EXPECT(sim_free(things.memory), INVALID_ADDRESS);
}

/* --- the environment --------------------------------------------------------------------------- */

static void the_environment_sets_the_machine(void **state)
{
    static const char *const variables[][2] = {
        { "TARN_SIM_DEVICES", "3" },        { "TARN_SIM_MEMORY", "3G" },
        { "TARN_SIM_HOST_MEMORY", "5M" },   { "TARN_SIM_ALLOCATION_MAX", "7K" },
        { "TARN_SIM_ALIGNMENT", "256" },    { "TARN_SIM_SEED", "99" },
        { "TARN_SIM_EVENT_DELAY", "6" },    { "TARN_SIM_DRIVER", "without_extras" },
        { "TARN_SIM_UNLOAD_AT_EXIT", "1" }, { "TARN_SIM_FAIL", "b:2" },
    };
    enum {
        COUNT = sizeof variables / sizeof *variables
    };
    char *before[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        const char *value = getenv(variables[i][0]);
        before[i] = value ? strdup(value) : NULL;
        setenv(variables[i][0], variables[i][1], 1);
    }
    sim_reset();
    sim_settings settings = sim_get_settings();
    assert_int_equal(settings.device_count, 3);
    assert_int_equal(settings.memory_bytes, 3 * GIB);
    assert_int_equal(settings.host_memory_bytes, 5 * MIB);
    assert_int_equal(settings.allocation_bytes_max, 7 * 1024);
    assert_int_equal(settings.alignment_bytes, 256);
    assert_int_equal(settings.seed, 99);
    assert_int_equal(settings.event_delay_polls, 6);
    assert_int_equal(settings.driver, SIM_DRIVER_WITHOUT_EXTRAS);
    assert_true(settings.unloads_at_exit);
    EXPECT_OK(sim_enter("b"));
    EXPECT_OK(sim_enter("a"));
    EXPECT(sim_enter("b"), UNKNOWN);

    setenv("TARN_SIM_FAIL", "2", 1);
    sim_reset();
    EXPECT_OK(sim_enter("b"));
    EXPECT(sim_enter("a"), UNKNOWN);
    for (size_t i = 0; i < COUNT; i++) {
        if (before[i]) {
            setenv(variables[i][0], before[i], 1);
        } else {
            unsetenv(variables[i][0]);
        }
        free(before[i]);
    }
}

/* Runs the work in a process of its own, which expects to leave nothing behind. */
static int end_of_process(void (*work)(void))
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("TARN_SIM_EXPECT_CLEAN", "1", 1);
        close(STDERR_FILENO);
        work();
        exit(0);
    }
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    return WEXITSTATUS(ended);
}

static void leave_nothing(void)
{
    void *address = NULL;
    if (sim_alloc(0, SIM_MEMORY_KIND_DEVICE, 1, 0, &address) == SIM_STATUS_OK) sim_free(address);
}

static void leave_memory(void)
{
    void *address = NULL;
    sim_alloc(0, SIM_MEMORY_KIND_DEVICE, 1, 0, &address);
}

static void misuse(void)
{
    sim_misuse("on purpose");
}

static void a_process_that_leaves_something_fails(void **state)
{
    assert_int_equal(end_of_process(leave_nothing), 0);
    assert_int_equal(end_of_process(leave_memory), 99);
    assert_int_equal(end_of_process(misuse), 99);
}

/* --- the vendor's own pools -------------------------------------------------------------------- */

static void a_pool_counts_what_it_gave(void **state)
{
    sim_pool *pool, *first = NULL, *now = NULL;
    sim_pool_info info;
    sim_stream *stream = create_stream(0);
    void *memory = NULL;
    EXPECT_OK(sim_pool_get_current(0, &first));
    EXPECT_OK(sim_pool_create(0, &pool));
    EXPECT_OK(sim_pool_set_current(0, pool));
    EXPECT(sim_pool_set_current(1, pool), WRONG_DEVICE);
    EXPECT(sim_pool_set_current(1, first), WRONG_DEVICE);
    EXPECT_OK(sim_pool_alloc(stream, 3 * MIB, &memory));
    EXPECT_OK(sim_pool_get_info(pool, &info));
    assert_int_equal(info.used_bytes, 3 * MIB);

    /* In stream order: work before the free still finds the memory. */
    fill(stream, memory, 7, 3 * MIB);
    EXPECT(sim_pool_free(stream, (char *)memory + 1), INVALID_ADDRESS);
    EXPECT_OK(sim_pool_free(stream, memory));
    EXPECT(sim_pool_free(stream, memory), INVALID_ADDRESS);
    assert_int_equal(sim_misuse_count(), 0);
    EXPECT_OK(sim_pool_get_info(pool, &info));
    assert_int_equal(info.used_bytes, 0);
    assert_int_equal(info.used_bytes_max, 3 * MIB);

    /* From a pool that is not the current one. */
    EXPECT_OK(sim_pool_set_current(0, first));
    EXPECT_OK(sim_pool_alloc_from(pool, stream, 2 * MIB, &memory));
    EXPECT_OK(sim_pool_get_info(pool, &info));
    assert_int_equal(info.used_bytes, 2 * MIB);
    EXPECT_OK(sim_pool_get_info(first, &info));
    assert_int_equal(info.used_bytes, 0);
    EXPECT_OK(sim_pool_free(stream, memory));
    EXPECT(sim_pool_alloc_from(pool, create_stream(1), MIB, &memory), WRONG_DEVICE);

    assert_int_equal(sim_alive(SIM_THING_POOL), 1);
    EXPECT_OK(sim_pool_destroy(pool));
    EXPECT(sim_pool_alloc_from(pool, stream, MIB, &memory), INVALID_HANDLE);
    EXPECT(sim_pool_destroy(pool), INVALID_HANDLE);
    EXPECT(sim_pool_destroy(first), INVALID_HANDLE);
    EXPECT_OK(sim_pool_get_current(0, &now));
    assert_ptr_equal(now, first);
    assert_int_equal(sim_alive(SIM_THING_POOL), 0);
    assert_int_equal(sim_alive(SIM_THING_MEMORY), 0);
}

static void pools_may_be_missing(void **state)
{
    SIM_SET(has_pools, false);
    sim_pool *pool;
    EXPECT(sim_pool_create(0, &pool), NOT_SUPPORTED);
    EXPECT(sim_pool_get_current(0, &pool), NOT_SUPPORTED);
}

/* --- captures ---------------------------------------------------------------------------------- */

static sim_status check_unsafe(sim_capture_mode mode)
{
    sim_capture_mode before = sim_capture_exchange_mode(mode);
    sim_status status = sim_capture_check(SIM_CAPTURE_RULE_UNSAFE);
    sim_capture_exchange_mode(before);
    return status;
}

static void *check_unsafe_in_thread(void *argument)
{
    sim_status *statuses = argument;
    for (int mode = SIM_CAPTURE_MODE_GLOBAL; mode <= SIM_CAPTURE_MODE_RELAXED; mode++)
        statuses[mode] = check_unsafe((sim_capture_mode)mode);
    return NULL;
}

/* By the mode of the capture, whether its own thread is asked, and that thread's mode. */
static void a_capture_prohibits_what_its_mode_says(void **state)
{
    const sim_status no = SIM_STATUS_CAPTURING, yes = SIM_STATUS_OK;
    const sim_status own[3][3] = { { no, no, yes }, { no, no, yes }, { yes, yes, yes } };
    const sim_status others[3][3] = { { no, yes, yes }, { yes, yes, yes }, { yes, yes, yes } };
    for (int mode = SIM_CAPTURE_MODE_GLOBAL; mode <= SIM_CAPTURE_MODE_RELAXED; mode++) {
        sim_status here[3], there[3];
        pthread_t thread;
        assert_true(sim_capture_begin((sim_capture_mode)mode));
        check_unsafe_in_thread(here);
        assert_int_equal(pthread_create(&thread, NULL, check_unsafe_in_thread, there), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_memory_equal(here, own[mode], sizeof here);
        assert_memory_equal(there, others[mode], sizeof there);
        assert_int_equal(sim_capture_end(),
                         mode == SIM_CAPTURE_MODE_RELAXED ? SIM_CAPTURE_VALID : SIM_CAPTURE_SPOILT);
    }
}

static void a_capture_is_whole_until_it_is_spoilt(void **state)
{
    EXPECT_OK(sim_capture_check(SIM_CAPTURE_RULE_CONFLICTS));
    assert_int_equal(sim_capture_end(), SIM_CAPTURE_NONE);
    assert_true(sim_capture_begin(SIM_CAPTURE_MODE_RELAXED));
    assert_false(sim_capture_begin(SIM_CAPTURE_MODE_RELAXED));
    assert_int_equal(sim_capture_get(), SIM_CAPTURE_VALID);
    EXPECT_OK(sim_capture_check(SIM_CAPTURE_RULE_UNSAFE));
    assert_int_equal(sim_capture_get(), SIM_CAPTURE_VALID);
    EXPECT(sim_capture_check(SIM_CAPTURE_RULE_CONFLICTS), CAPTURING);
    assert_int_equal(sim_capture_get(), SIM_CAPTURE_SPOILT);
    sim_capture_exchange_mode(SIM_CAPTURE_MODE_RELAXED);
    sim_reset();
    assert_int_equal(sim_capture_get(), SIM_CAPTURE_NONE);
    assert_int_equal(sim_capture_exchange_mode(SIM_CAPTURE_MODE_GLOBAL), SIM_CAPTURE_MODE_GLOBAL);
}

/* --- the group --------------------------------------------------------------------------------- */

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(device_memory_faults_when_the_host_touches_it),
        TEST(the_host_touches_pinned_and_shared_memory),
        TEST(large_memory_costs_nothing_before_it_is_used),
        TEST(addresses_are_aligned_as_promised_and_no_more),
        TEST(memory_is_counted_in_granules_up_to_the_limit),
        TEST(host_memory_has_a_limit_of_its_own),
        TEST(shared_memory_may_be_larger_than_the_device),
        TEST(an_address_finds_its_owner),
        TEST(nothing_runs_before_somebody_waits),
        TEST(the_order_of_two_streams_follows_the_seed),
        TEST(streams_run_out_of_step),
        TEST(nothing_runs_before_what_it_depends_on),
        TEST(a_destroyed_stream_still_runs_its_work),
        TEST(patterns_repeat_across_mappings),
        TEST(a_query_is_late_by_so_many_polls),
        TEST(a_wait_keeps_the_record_that_it_saw),
        TEST(a_stream_is_awaited_by_others),
        TEST(a_flag_is_set_waited_for_and_reset),
        TEST(a_wait_that_cannot_end_is_told),
        TEST(streams_and_events_keep_to_their_device),
        TEST(mapped_memory_is_found_by_its_address),
        TEST(mappings_come_and_go_whole),
        TEST(access_is_needed),
        TEST(ranges_may_be_missing),
        TEST(memory_that_goes_under_work_is_found_out),
        TEST(an_unmap_under_work_is_found_out),
        TEST(work_beyond_an_allocation_faults),
        TEST(calls_are_counted_by_name),
        TEST(scripted_calls_fail),
        TEST(the_driver_answers_for_itself),
        TEST(all_is_gone_with_a_lost_device),
        TEST(all_is_gone_with_a_destroyed_context),
        TEST(a_lost_device_holds_nobody_up),
        TEST(what_is_alive_is_counted),
        TEST(the_environment_sets_the_machine),
        TEST(a_pool_counts_what_it_gave),
        TEST(pools_may_be_missing),
        TEST(a_capture_prohibits_what_its_mode_says),
        TEST(a_capture_is_whole_until_it_is_spoilt),
        TEST(a_process_that_leaves_something_fails),
    };
    return cmocka_run_group_tests_name("simulated devices", tests, NULL, NULL);
}
