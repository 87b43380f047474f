/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * instructions: fixed workloads on a pool, for counting how many instructions they take.
 *
 * Time does not repeat on a machine that others use; under valgrind's callgrind the number of
 * instructions does. scripts/check_instructions runs this program once for each workload and lets callgrind
 * count inside of counted_play and nowhere else: the pool's calls, and the walk through the list of
 * operations, 32 instructions a pair. Lists are made before, and played once before they count, so
 * that the pool has grown and what the dynamic linker does is done.
 *
 * Addresses are made up: no memory is behind them and the system is not asked, so that its mood changes
 * nothing.
 */
#include <gnu/libc-version.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "allocators/plain_host_backend.h"
#include "tarn/tarn.h"
#include "workloads/commands.h"

/* --- the backend ---------------------------------------------------------------------------------- */

/* No system maps memory of programs here. */
#define FIRST_ADDRESS ((uintptr_t)1 << 56)

#define PLACE_BYTES ((uintptr_t)4 << 20)

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    uintptr_t *next_address = state;
    *address_out = (void *)*next_address;
    *next_address += (size_bytes / PLACE_BYTES + 2) * PLACE_BYTES;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    (void)state;
    (void)address;
    (void)size_bytes;
    return TARN_BACKEND_RESULT_OK;
}

/* All else is as on the benchmark's host: streams on which nothing runs. */
static tarn_backend_operations make_operations(void)
{
    tarn_backend_operations operations = *tn_plain_host_backend().operations;
    operations.name = "made-up";
    operations.acquire = acquire;
    operations.release = release;
    return operations;
}

/* Fixed, so that counts compare whatever the default is: a large free region takes other instructions to change than
 * a small one. */
#define INITIAL_BYTES ((size_t)64 << 20)

/* --- the workloads -------------------------------------------------------------------------------- */

struct subject {
    const char *name;
    const struct tn_command *command; /* of tarn-bench, which makes it */
    uint64_t live_count;              /* churn */
    uint64_t min_bytes;
    uint64_t max_bytes;
    const char *trace;  /* replay: file, in the folder of the traces */
    bool is_on_streams; /* on two in turn */
};

#define CHURN(live_count_, min_bytes_, max_bytes_)                                        \
    .command = &tn_command_churn, .live_count = (live_count_), .min_bytes = (min_bytes_), \
    .max_bytes = (max_bytes_)
#define REPLAY(trace_) .command = &tn_command_replay, .trace = (trace_)

static const struct subject subjects[] = {
    { .name = "hot", .command = &tn_command_hot },
    { .name = "100-of-1K-16M", CHURN(100, 1024, 16 << 20) },
    { .name = "1000-of-1K-256K", CHURN(1000, 1024, 256 << 10) },
    { .name = "1000-of-16-4K", CHURN(1000, 16, 4096) },
    { .name = "100000-of-1K-256K", CHURN(100000, 1024, 256 << 10) },
    { .name = "two-streams", CHURN(100, 1024, 16 << 20), .is_on_streams = true },
    { .name = "mesh-trace", REPLAY("omegah-warp-3d-small-cut.trace.gz") },
    { .name = "network-trace", REPLAY("torch_resnet-cut.trace.gz") },
};

enum {
    SUBJECT_COUNT = sizeof subjects / sizeof subjects[0]
};

/* Each pair of operations replaces one block. Pairs with an even number take an even slot and the others an
 * odd one: a slot is a block's place, and its last bit the stream. */
static void put_streams_in_turn(struct tn_operations *list)
{
    for (size_t i = 0; i < list->count; i++)
        list->items[i].slot = (list->items[i].slot & ~1U) | (i / 2 & 1U);
}

static bool make_workload(const struct subject *subject, const char *trace_folder,
                          struct tn_workload_list *list, struct tn_reason *reason_out)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", trace_folder, subject->trace ? subject->trace : "");
    const char *paths[] = { path };
    struct tn_options options = {
        .seed = 1,
        .sizes = { 1, { subject->min_bytes } },
        .live_counts = { 1, { subject->live_count } },
        .size_range = { 2, { subject->min_bytes, subject->max_bytes } },
        .traces = paths,
        .trace_count = 1,
    };
    struct tn_machine machine = { .is_host = true };
    if (!subject->command->make_workloads(&options, &machine, list, reason_out)) return false;
    if (subject->is_on_streams) put_streams_in_turn(&list->items[0].body);
    return true;
}

/* --- playing -------------------------------------------------------------------------------------- */

static bool play(tarn_pool *pool, const struct tn_operations *list, void **addresses)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct tn_operation *operation = &list->items[i];
        void **address = &addresses[operation->slot];
        tarn_status status = operation->is_alloc
                                 ? tarn_pool_alloc(pool, operation->size_bytes, address)
                                 : tarn_pool_free(pool, *address);
        if (status != TARN_STATUS_OK) return false;
    }
    return true;
}

static bool play_on_streams(tarn_pool *pool, const struct tn_operations *list, void **addresses)
{
    static char handles[2];
    for (size_t i = 0; i < list->count; i++) {
        const struct tn_operation *operation = &list->items[i];
        void **address = &addresses[operation->slot];
        tarn_stream stream = &handles[operation->slot & 1U];
        tarn_status status = operation->is_alloc
                                 ? tarn_pool_alloc_on(pool, operation->size_bytes, stream, address)
                                 : tarn_pool_free_on(pool, *address, stream);
        if (status != TARN_STATUS_OK) return false;
    }
    return true;
}

typedef bool (*player)(tarn_pool *pool, const struct tn_operations *list, void **addresses);

/* Where callgrind counts. What it returns has to come back through here, so that no compiler makes a jump
 * of the call. */
__attribute__((noinline)) static bool counted_play(player how, tarn_pool *pool,
                                                   const struct tn_operations *list,
                                                   void **addresses)
{
    bool is_ok = how(pool, list, addresses);
    __asm__ volatile("" ::: "memory");
    return is_ok;
}

static bool play_workload(const struct tn_workload *workload, player how, tarn_pool *pool)
{
    void **addresses = calloc(workload->slot_count, sizeof addresses[0]);
    bool is_ok = addresses && how(pool, &workload->setup, addresses) &&
                 how(pool, &workload->body, addresses) &&
                 counted_play(how, pool, &workload->body, addresses);
    is_ok = is_ok && tarn_pool_check(pool) == TARN_STATUS_OK;
    free(addresses);
    return is_ok;
}

static bool play_in_new_pool(const struct tn_workload *workload, player how)
{
    uintptr_t next_address = FIRST_ADDRESS;
    tarn_backend_operations operations = make_operations();
    tarn_backend backend = { &operations, &next_address };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = INITIAL_BYTES;
    tarn_pool *pool;
    if (tarn_pool_create(&options, &pool) != TARN_STATUS_OK) return false;
    bool is_ok = play_workload(workload, how, pool);
    tarn_pool_destroy_forced(pool, NULL);
    return is_ok;
}

/* Prints the workload's name and how many pairs are counted. */
static bool run_subject(const struct subject *subject, const char *trace_folder)
{
    struct tn_workload_list list = { NULL, 0 };
    struct tn_reason reason = { "" };
    bool is_ok = make_workload(subject, trace_folder, &list, &reason);
    if (is_ok) {
        is_ok = play_in_new_pool(&list.items[0], subject->is_on_streams ? play_on_streams : play);
        tn_reason_set(&reason, "%s", tarn_last_error().message);
    }
    if (is_ok)
        printf("%s %zu\n", subject->name, list.items[0].body.count / 2);
    else
        fprintf(stderr, "instructions: %s: %s\n", subject->name, reason.text);
    tn_workload_list_fini(&list);
    return is_ok;
}

/* --- the program ---------------------------------------------------------------------------------- */

/* What the counts depend on besides the code. */
static void print_build(void)
{
    struct utsname system;
    const char *machine = uname(&system) == 0 ? system.machine : "unknown";
#if defined(__clang__)
    printf("clang %d, glibc %s, %s\n", __clang_major__, gnu_get_libc_version(), machine);
#else
    printf("gcc %d, glibc %s, %s\n", __GNUC__, gnu_get_libc_version(), machine);
#endif
}

static bool run_named(const char *name, const char *trace_folder)
{
    bool is_ok = false;
    bool is_known = false;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        if (strcmp(name, subjects[i].name) != 0) continue;
        is_known = true;
        is_ok = run_subject(&subjects[i], trace_folder);
    }
    if (!is_known) fprintf(stderr, "instructions: there is no workload '%s'\n", name);
    return is_ok;
}

int main(int argc, char **argv)
{
    bool is_ok = true;
    if (argc == 2 && strcmp(argv[1], "--build") == 0) {
        print_build();
    } else if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < SUBJECT_COUNT; i++)
            printf("%s\n", subjects[i].name);
    } else if (argc == 2) {
        for (size_t i = 0; i < SUBJECT_COUNT; i++)
            is_ok = run_subject(&subjects[i], argv[1]) && is_ok;
    } else if (argc == 3) {
        is_ok = run_named(argv[2], argv[1]);
    } else {
        fprintf(stderr, "usage: instructions --build | --list | TRACE_FOLDER [WORKLOAD]\n");
        is_ok = false;
    }
    return is_ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
