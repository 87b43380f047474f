/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Steps that are given to other processes: who may have them, what the other process sees, and what
 * becomes of file descriptors. Over host memory, and over the test's backend for what is refused.
 */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "harness/child.h"
#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/test_backend.h"

#include "tarn/host.h"

#define KIB  ((size_t)1024)
#define STEP (64 * KIB)

struct fixture {
    tarn_backend host;
    struct test_backend backend;
    tarn_backend opened;
    tarn_pool_options options;
    tarn_pool *pool; /* over host memory */
    size_t descriptors_before;
};

/* Open file descriptors of the process, but for the one that it takes to look. */
static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 3; /* ".", ".." and the folder */
}

static int set_up(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    fixture.descriptors_before = count_descriptors();
    expect_ok(tarn_host_backend_open(NULL, &fixture.host));
    test_backend_init(&fixture.backend);
    fixture.backend.range_granularity_bytes = 4 * KIB;
    fixture.backend.total_bytes = 64 * STEP;
    fixture.backend.has_sharing = true;
    fixture.opened = test_backend_open(&fixture.backend);
    fixture.options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    fixture.options.backend = &fixture.host;
    fixture.options.contiguous = true;
    fixture.options.is_shareable = true;
    fixture.options.step_bytes = STEP;
    fixture.options.limit_bytes = 64 * STEP;
    fixture.options.initial_bytes = 0;
    expect_ok(tarn_pool_create(&fixture.options, &fixture.pool));
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    if (fixture->pool) {
        expect_ok(tarn_pool_check(fixture->pool));
        expect_ok(tarn_pool_destroy_forced(fixture->pool, NULL));
    }
    tarn_backend_close(&fixture->host);
    assert_int_equal(fixture->backend.misuse_count, 0);
    assert_int_equal(fixture->backend.piece_count, 0);
    assert_int_equal(count_descriptors(), fixture->descriptors_before);
    return 0;
}

static char *alloc(tarn_pool *pool, size_t size_bytes)
{
    return new_block(pool, size_bytes);
}

static tarn_exported_step export_step(tarn_pool *pool, const void *address)
{
    tarn_exported_step step = TARN_EXPORTED_STEP_INIT;
    expect_ok(tarn_pool_export(pool, address, &step));
    assert_true(step.file_descriptor >= 0);
    return step;
}

/* --- another process ------------------------------------------------------------------------- */

struct message {
    size_t size_bytes, offset_bytes;
    size_t length; /* of the data from there on */
    char value;
};

static void send_step(int sender, const tarn_exported_step *step, const struct message *message)
{
    struct iovec data = { (void *)(uintptr_t)message, sizeof *message };
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = { { 0 } };
    struct msghdr header = { .msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes };
    struct cmsghdr *part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(part), &step->file_descriptor, sizeof(int));
    assert_int_equal(sendmsg(sender, &header, 0), (ssize_t)sizeof *message);
}

/* False: the sender has closed its end. */
static bool receive_step(int receiver, int *file_descriptor_out, struct message *message_out)
{
    struct iovec data = { message_out, sizeof *message_out };
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct msghdr header = { .msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes };
    ssize_t received = recvmsg(receiver, &header, 0);
    if (received == 0) return false;
    CHILD_EXPECT(received == (ssize_t)sizeof *message_out);
    const struct cmsghdr *part = CMSG_FIRSTHDR(&header);
    CHILD_EXPECT(part && part->cmsg_type == SCM_RIGHTS);
    memcpy(file_descriptor_out, CMSG_DATA(part), sizeof(int));
    return true;
}

/* What a process does that knows nothing of tarn: looks at what was written, and writes the next value. */
static void be_the_other_process(int receiver)
{
    int file_descriptor;
    struct message message;
    while (receive_step(receiver, &file_descriptor, &message)) {
        char *step =
            mmap(NULL, message.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_descriptor, 0);
        CHILD_EXPECT(step != MAP_FAILED);
        CHILD_EXPECT(message.offset_bytes + message.length <= message.size_bytes);
        char *at = step + message.offset_bytes;
        for (size_t i = 0; i < message.length; i++)
            CHILD_EXPECT(at[i] == message.value);
        memset(at, message.value + 1, message.length);
        close(file_descriptor);
        munmap(step, message.size_bytes);
    }
}

/* The process is there before the pool's memory is, so that it inherits none. */
static pid_t start_other_process(int *sender_out)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        begin_child();
        close(ends[0]);
        be_the_other_process(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    *sender_out = ends[0];
    return child;
}

static void another_process_reads_and_writes_what_lies_in_the_steps(void **state)
{
    const struct fixture *fixture = *state;
    int sender;
    pid_t child = start_other_process(&sender);
    char *before = alloc(fixture->pool, 3 * KIB);
    size_t size_bytes = 2 * STEP + 100;
    char *field = alloc(fixture->pool, size_bytes);
    memset(before, 1, 3 * KIB);
    memset(field, 7, size_bytes);
    size_t step_count = 0;
    tarn_exported_step step;
    for (char *at = field; at < field + size_bytes; at = (char *)step.base + step.size_bytes) {
        step = export_step(fixture->pool, at);
        char *end = (char *)step.base + step.size_bytes;
        size_t left = (size_t)(field + size_bytes - at), here = (size_t)(end - at);
        const struct message message = { step.size_bytes, step.offset_bytes,
                                         left < here ? left : here, 7 };
        send_step(sender, &step, &message);
        close(step.file_descriptor);
        step_count++;
    }
    close(sender);
    expect_child_to_end_well(child);
    assert_int_equal(step_count, 3);
    for (size_t i = 0; i < size_bytes; i++)
        assert_int_equal(field[i], 8);
    for (size_t i = 0; i < 3 * KIB; i++)
        assert_int_equal(before[i], 1);
}

struct inherited {
    struct fixture *fixture;
    const char *field;
    tarn_exported_step step;
};

/* The pool is the parent's. A descriptor is as good as in any other process. */
static void look_from_a_child(void *argument)
{
    struct inherited *inherited = argument;
    tarn_exported_step step = TARN_EXPORTED_STEP_INIT;
    CHILD_EXPECT(tarn_pool_export(inherited->fixture->pool, inherited->field, &step) ==
                 TARN_STATUS_FORKED);
    CHILD_EXPECT(step.file_descriptor == -1);
    char *mapped = mmap(NULL, inherited->step.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                        inherited->step.file_descriptor, 0);
    CHILD_EXPECT(mapped != MAP_FAILED);
    CHILD_EXPECT(mapped[inherited->step.offset_bytes] == 3);
    mapped[inherited->step.offset_bytes] = 4;
}

static void a_forked_child_maps_the_descriptor_and_not_the_pool(void **state)
{
    struct fixture *fixture = *state;
    alloc(fixture->pool, 5 * KIB);
    char *field = alloc(fixture->pool, 100);
    struct inherited inherited = { fixture, field, export_step(fixture->pool, field) };
    *field = 3;
    expect_in_child(look_from_a_child, &inherited);
    close(inherited.step.file_descriptor);
    assert_int_equal(*field, 4);
}

/* --- what is told ---------------------------------------------------------------------------- */

struct told {
    tarn_pool *pool;
    unsigned created_count, destroyed_count;
    uint64_t created_ids[16];
    bool exports; /* each step as it comes and goes */
};

/* The step must be the one that is told of, from any of its addresses. */
static void export_told(const struct told *told, char *base, size_t size_bytes, uint64_t id)
{
    if (!told->exports) return;
    for (size_t offset = 0; offset < size_bytes; offset += size_bytes - 1) {
        tarn_exported_step step = export_step(told->pool, base + offset);
        assert_ptr_equal(step.base, base);
        assert_int_equal(step.size_bytes, size_bytes);
        assert_int_equal(step.offset_bytes, offset);
        assert_int_equal(step.id, id);
        close(step.file_descriptor);
    }
}

static void note_created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct told *told = user;
    told->created_ids[told->created_count++] = id;
    export_told(told, base, size_bytes, id);
}

static void note_destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct told *told = user;
    told->destroyed_count++;
    export_told(told, base, size_bytes, id);
}

static void an_address_names_its_step(void **state)
{
    struct fixture *fixture = *state;
    struct told told = { .pool = NULL };
    fixture->options.on_static_pool_created = note_created;
    fixture->options.on_static_pool_destroyed = note_destroyed;
    fixture->options.user = &told;
    tarn_pool *pool = new_pool(&fixture->options);
    char *field = alloc(pool, 3 * STEP);
    assert_int_equal(told.created_count, 3);
    const size_t offsets[] = {
        0, 1, STEP - 1, STEP, STEP + 1, 2 * STEP - 1, 2 * STEP, 3 * STEP - 1
    };
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        tarn_exported_step step = export_step(pool, field + offsets[i]);
        assert_ptr_equal(step.base, field + offsets[i] / STEP * STEP);
        assert_int_equal(step.size_bytes, STEP);
        assert_int_equal(step.offset_bytes, offsets[i] % STEP);
        assert_int_equal(step.id, told.created_ids[offsets[i] / STEP]);
        close(step.file_descriptor);
    }
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
}

static void a_step_is_exported_while_it_is_told_of(void **state)
{
    struct fixture *fixture = *state;
    struct told told = { .exports = true };
    fixture->options.on_static_pool_created = note_created;
    fixture->options.on_static_pool_destroyed = note_destroyed;
    fixture->options.user = &told;
    expect_ok(tarn_pool_create(&fixture->options, &told.pool));
    char *field = alloc(told.pool, 3 * STEP);
    assert_int_equal(told.created_count, 3);
    expect_ok(tarn_pool_free(told.pool, field));
    expect_ok(tarn_pool_trim(told.pool, 0, NULL));
    assert_int_equal(told.destroyed_count, 3);
    expect_ok(tarn_pool_destroy(told.pool));
}

static void the_memory_outlives_its_step(void **state)
{
    const struct fixture *fixture = *state;
    char *field = alloc(fixture->pool, STEP);
    memset(field, 9, STEP);
    tarn_exported_step step = export_step(fixture->pool, field);
    expect_ok(tarn_pool_free(fixture->pool, field));
    expect_ok(tarn_pool_trim(fixture->pool, 0, NULL));
    assert_int_equal(stats_of(fixture->pool).footprint_bytes, 0);
    char *mapped = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_SHARED, step.file_descriptor, 0);
    assert_true(mapped != MAP_FAILED);
    assert_int_equal(mapped[0], 9);
    assert_int_equal(mapped[STEP - 1], 9);
    /* What comes in the same place is other memory. */
    char *next = alloc(fixture->pool, STEP);
    assert_ptr_equal(next, field);
    assert_int_equal(next[0], 0);
    munmap(mapped, STEP);
    close(step.file_descriptor);
}

static void each_export_is_a_descriptor_of_its_own(void **state)
{
    const struct fixture *fixture = *state;
    char *field = alloc(fixture->pool, 100);
    tarn_exported_step one = export_step(fixture->pool, field);
    tarn_exported_step other = export_step(fixture->pool, field);
    assert_int_not_equal(one.file_descriptor, other.file_descriptor);
    assert_int_not_equal(fcntl(one.file_descriptor, F_GETFD) & FD_CLOEXEC, 0);
    close(one.file_descriptor);
    field[0] = 5;
    char *mapped = mmap(NULL, STEP, PROT_READ, MAP_SHARED, other.file_descriptor, 0);
    assert_true(mapped != MAP_FAILED);
    assert_int_equal(mapped[0], 5);
    munmap(mapped, STEP);
    close(other.file_descriptor);
}

/* --- what is refused ------------------------------------------------------------------------- */

static void expect_refused(tarn_pool *pool, const void *address, tarn_status status)
{
    tarn_exported_step step = TARN_EXPORTED_STEP_INIT;
    expect_status(status, tarn_pool_export(pool, address, &step));
    assert_int_equal(step.file_descriptor, -1);
    assert_null(step.base);
}

static void bad_arguments_are_refused(void **state)
{
    const struct fixture *fixture = *state;
    char *field = alloc(fixture->pool, 100);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_export(fixture->pool, field, NULL));
    tarn_exported_step step = TARN_EXPORTED_STEP_INIT;
    step.struct_bytes--;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_export(fixture->pool, field, &step));
    expect_message("step_out");
    assert_int_equal(step.file_descriptor, -1);
    expect_refused(NULL, field, TARN_STATUS_INVALID_POOL);
}

static void addresses_without_memory_are_refused(void **state)
{
    struct fixture *fixture = *state;
    char *field = alloc(fixture->pool, 2 * KIB);
    char *gone = alloc(fixture->pool, 4 * KIB);
    expect_ok(tarn_pool_free(fixture->pool, gone));
    expect_refused(fixture->pool, gone, TARN_STATUS_NOT_LIVE);
    expect_refused(fixture->pool, field + STEP, TARN_STATUS_NOT_LIVE); /* not mapped */
    expect_refused(fixture->pool, NULL, TARN_STATUS_FOREIGN_ADDRESS);
    expect_refused(fixture->pool, fixture, TARN_STATUS_FOREIGN_ADDRESS);
    tarn_pool *other = new_pool(&fixture->options);
    expect_refused(other, field, TARN_STATUS_WRONG_POOL);
    expect_ok(tarn_pool_destroy(other));
    expect_refused(other, field, TARN_STATUS_INVALID_POOL);
    assert_int_equal(stats_of(fixture->pool).failed_count, 0);
}

static void pools_that_are_not_shareable_say_what_is_missing(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.is_shareable = false;
    tarn_pool *pool = new_pool(&fixture->options);
    expect_refused(pool, alloc(pool, 100), TARN_STATUS_NOT_SUPPORTED);
    expect_message("is_shareable");
    expect_ok(tarn_pool_destroy_forced(pool, NULL));

    fixture->options.contiguous = false;
    expect_ok(tarn_pool_create(&fixture->options, &pool));
    expect_refused(pool, alloc(pool, 100), TARN_STATUS_NOT_SUPPORTED);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));

    fixture->options.is_shareable = true;
    expect_status(TARN_STATUS_INVALID_OPTIONS, tarn_pool_create(&fixture->options, &pool));
    expect_message("contiguous");

    fixture->options.passes_through = true;
    expect_ok(tarn_pool_create(&fixture->options, &pool));
    expect_refused(pool, alloc(pool, 100), TARN_STATUS_NOT_SUPPORTED);
    expect_message("passes through");
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
}

static void expect_not_supported(const struct fixture *fixture)
{
    tarn_pool *pool = NULL;
    expect_status(TARN_STATUS_NOT_SUPPORTED, tarn_pool_create(&fixture->options, &pool));
    expect_message("is_shareable");
    assert_null(pool);
    assert_int_equal(fixture->backend.range_count, 0);
}

static void a_backend_that_cannot_share_is_told_when_the_pool_is_created(void **state)
{
    struct fixture *fixture = *state;
    tarn_backend_operations *operations = &fixture->backend.operations;
    const tarn_backend_operations all = *operations;
    tarn_pool *pool;
    fixture->options.backend = &fixture->opened;
    fixture->backend.has_sharing = false;
    expect_not_supported(fixture);
    fixture->backend.has_sharing = true;
    operations->range_export = NULL;
    expect_not_supported(fixture);
    *operations = all;
    operations->range_map_shareable = NULL;
    expect_not_supported(fixture);
    /* A table from before there was sharing, with whatever lies behind it. */
    *operations = all;
    operations->struct_bytes = offsetof(tarn_backend_operations, range_map_shareable);
    expect_not_supported(fixture);
    fixture->options.is_shareable = false;
    expect_ok(tarn_pool_create(&fixture->options, &pool));
    alloc(pool, STEP);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    operations->struct_bytes--;
    expect_status(TARN_STATUS_INVALID_OPTIONS, tarn_pool_create(&fixture->options, &pool));
}

/* --- what the backend is asked ----------------------------------------------------------------- */

static void only_shareable_pools_ask_for_shareable_memory(void **state)
{
    struct fixture *fixture = *state;
    const unsigned *calls = fixture->backend.call_counts;
    fixture->options.backend = &fixture->opened;
    tarn_pool *pool = new_pool(&fixture->options);
    alloc(pool, 3 * STEP);
    assert_int_equal(calls[TEST_CALL_RANGE_MAP], 0);
    assert_int_equal(calls[TEST_CALL_RANGE_MAP_SHAREABLE], 3);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    assert_int_equal(calls[TEST_CALL_RANGE_UNMAP], 3);
    fixture->options.is_shareable = false;
    expect_ok(tarn_pool_create(&fixture->options, &pool));
    alloc(pool, 3 * STEP);
    assert_int_equal(calls[TEST_CALL_RANGE_MAP], 3);
    assert_int_equal(calls[TEST_CALL_RANGE_MAP_SHAREABLE], 3);
    assert_int_equal(calls[TEST_CALL_RANGE_EXPORT], 0);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
}

static void what_the_backend_refuses_changes_nothing(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        tarn_status of_backend, of_pool;
    } statuses[] = {
        { TARN_STATUS_VENDOR_ERROR, TARN_STATUS_VENDOR_ERROR },
        { TARN_STATUS_NOT_SUPPORTED, TARN_STATUS_VENDOR_ERROR },
        { TARN_STATUS_OUT_OF_HOST_MEMORY, TARN_STATUS_OUT_OF_HOST_MEMORY },
        { TARN_STATUS_OUT_OF_MEMORY, TARN_STATUS_OUT_OF_MEMORY },
    };
    fixture->options.backend = &fixture->opened;
    tarn_pool *pool = new_pool(&fixture->options);
    char *field = alloc(pool, STEP);
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        fixture->backend.call_failure = statuses[i].of_backend;
        fixture->backend.fail_call_at[TEST_CALL_RANGE_EXPORT] = 1;
        expect_refused(pool, field, statuses[i].of_pool);
        assert_int_equal(tarn_last_error().vendor_code, -7);
    }
    expect_ok(tarn_pool_check(pool));
    close(export_step(pool, field).file_descriptor);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
}

static void a_process_without_descriptors_is_told(void **state)
{
    struct fixture *fixture = *state;
    char *field = alloc(fixture->pool, STEP);
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    int next = dup(0);
    close(next);
    few.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    void *address = NULL;
    tarn_status mapped = tarn_pool_alloc(fixture->pool, STEP, &address);
    tarn_error why_not_mapped = tarn_last_error();
    tarn_exported_step step = TARN_EXPORTED_STEP_INIT;
    tarn_status exported = tarn_pool_export(fixture->pool, field, &step);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(mapped, TARN_STATUS_VENDOR_ERROR);
    assert_int_equal(why_not_mapped.vendor_code, EMFILE);
    assert_int_equal(exported, TARN_STATUS_VENDOR_ERROR);
    assert_int_equal(step.file_descriptor, -1);
    expect_ok(tarn_pool_check(fixture->pool));
    field[0] = 1;
    alloc(fixture->pool, STEP)[0] = 1;
}

static void what_the_host_cannot_map_leaves_no_descriptor(void **state)
{
    const struct fixture *fixture = *state;
    const tarn_backend_operations *operations = fixture->host.operations;
    void *device = fixture->host.state, *range;
    tarn_mapping mapping, other = NULL;
    assert_int_equal(operations->range_reserve(device, 2 * STEP, &range).status, TARN_STATUS_OK);
    assert_int_equal(operations->range_map_shareable(device, range, STEP, &mapping).status,
                     TARN_STATUS_OK);
    size_t before = count_descriptors();
    assert_int_equal(operations->range_map_shareable(device, range, STEP, &other).status,
                     TARN_STATUS_INVALID_ARGUMENT);
    host_memory_faults_begin(1);
    tarn_backend_result refused =
        operations->range_map_shareable(device, (char *)range + STEP, STEP, &other);
    host_memory_faults_end();
    assert_int_equal(refused.status, TARN_STATUS_OUT_OF_HOST_MEMORY);
    assert_null(other);
    assert_int_equal(count_descriptors(), before);
    /* What was mapped is as good as before. */
    *(char *)range = 1;
    assert_int_equal(operations->range_unmap(device, range, STEP, mapping).status, TARN_STATUS_OK);
    assert_int_equal(operations->range_map(device, range, STEP, &mapping).status, TARN_STATUS_OK);
    int file_descriptor = -1;
    assert_int_equal(
        operations->range_export(device, range, STEP, mapping, &file_descriptor).status,
        TARN_STATUS_INVALID_ARGUMENT);
    assert_int_equal(file_descriptor, -1);
    assert_int_equal(operations->range_unmap(device, range, STEP, mapping).status, TARN_STATUS_OK);
    assert_int_equal(operations->range_release(device, range, 2 * STEP).status, TARN_STATUS_OK);
}

/* --- threads --------------------------------------------------------------------------------- */

struct churn {
    tarn_pool *pool;
    _Atomic bool ends;
};

static void *churn(void *argument)
{
    struct churn *of = argument;
    while (!atomic_load(&of->ends)) {
        void *address;
        if (tarn_pool_alloc(of->pool, 3 * STEP, &address) != TARN_STATUS_OK) return of;
        if (tarn_pool_free(of->pool, address) != TARN_STATUS_OK) return of;
        if (tarn_pool_trim(of->pool, 0, NULL) != TARN_STATUS_OK) return of;
    }
    return NULL;
}

static void exports_go_on_while_others_grow_and_trim(void **state)
{
    const struct fixture *fixture = *state;
    struct churn of = { .pool = fixture->pool };
    char *field = alloc(fixture->pool, 100);
    field[0] = 6;
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &of), 0);
    for (int round = 0; round < 300; round++) {
        tarn_exported_step step = export_step(fixture->pool, field);
        char *mapped = mmap(NULL, STEP, PROT_READ, MAP_SHARED, step.file_descriptor, 0);
        assert_true(mapped != MAP_FAILED);
        assert_int_equal(mapped[step.offset_bytes], 6);
        munmap(mapped, STEP);
        close(step.file_descriptor);
    }
    atomic_store(&of.ends, true);
    for (size_t i = 0; i < 2; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

/* In a child, since a limit cannot be taken back. */
static void allocate_beyond_the_limit_of_files(void *argument)
{
    tarn_backend host;
    tarn_pool *pool;
    void *address;
    const struct rlimit limit = { STEP - 1, STEP - 1 };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    CHILD_EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHILD_EXPECT(tarn_host_backend_open(NULL, &host) == TARN_STATUS_OK);
    options.backend = &host;
    options.contiguous = options.is_shareable = true;
    options.step_bytes = STEP;
    options.initial_bytes = 0;
    CHILD_EXPECT(tarn_pool_create(&options, &pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_alloc(pool, 1, &address) == TARN_STATUS_VENDOR_ERROR);
    CHILD_EXPECT(tarn_last_error().vendor_code == EFBIG);
    CHILD_EXPECT(tarn_pool_destroy(pool) == TARN_STATUS_OK);
    tarn_backend_close(&host);
}

static void a_limit_of_file_sizes_is_an_error_and_no_signal(void **state)
{
    expect_in_child(allocate_beyond_the_limit_of_files, NULL);
}

/* In the pool's eyes a block that debug mode holds back is live, and so are its zones. */
static void what_is_held_back_after_its_free_is_not_live(void **state)
{
    struct fixture *fixture = *state;
    tarn_exported_step step = TARN_EXPORTED_STEP_INIT;
    fixture->options.debug = TARN_DEBUG_ZONES | TARN_DEBUG_QUARANTINE;
    tarn_pool *pool = new_pool(&fixture->options);
    char *field = alloc(pool, 1000);
    step = export_step(pool, field + 999);
    close(step.file_descriptor);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_export(pool, field + 1000, &step));
    expect_ok(tarn_pool_free(pool, field));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_export(pool, field, &step));
    expect_ok(tarn_pool_destroy(pool));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(another_process_reads_and_writes_what_lies_in_the_steps),
        TEST(a_forked_child_maps_the_descriptor_and_not_the_pool),
        TEST(an_address_names_its_step),
        TEST(a_step_is_exported_while_it_is_told_of),
        TEST(the_memory_outlives_its_step),
        TEST(each_export_is_a_descriptor_of_its_own),
        TEST(bad_arguments_are_refused),
        TEST(addresses_without_memory_are_refused),
        TEST(pools_that_are_not_shareable_say_what_is_missing),
        TEST(a_backend_that_cannot_share_is_told_when_the_pool_is_created),
        TEST(only_shareable_pools_ask_for_shareable_memory),
        TEST(what_the_backend_refuses_changes_nothing),
        TEST(a_process_without_descriptors_is_told),
        TEST(what_the_host_cannot_map_leaves_no_descriptor),
        TEST(a_limit_of_file_sizes_is_an_error_and_no_signal),
        TEST(what_is_held_back_after_its_free_is_not_live),
        TEST(exports_go_on_while_others_grow_and_trim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
