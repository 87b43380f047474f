/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_exit: programs that end in every order. Each is this program, executed anew with the name of what it
 * does; it ends with 0 if all was as it should be, also what ran after main.
 *
 *     registered before the first backend was opened   runs last: a vendor is no longer called
 *     registered afterwards                            runs first: all is as it was
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>

#include "harness/child.h"
#include "harness/claims.h"

#define MIB ((size_t)1 << 20)

/* What a program uses; static, as what it does not give back would be. */
static tarn_backend backend;
static tarn_pool *pool;
static void *of_pool;
static void *of_process;
static tarn_stream stream;
static tarn_event event;

/* --- use ------------------------------------------------------------------------------------------- */

static void begin(void)
{
    tarn_status status = tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend);
    if (status == TARN_STATUS_NO_DEVICE) _exit(77);
    CHILD_EXPECT(status == TARN_STATUS_OK);
    const tarn_backend_operations *operations = backend.operations;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = 4 * MIB;
    CHILD_EXPECT(tarn_pool_create(&options, &pool) == TARN_STATUS_OK);
    CHILD_EXPECT(operations->stream_create(backend.state, &stream).status == TARN_STATUS_OK);
    CHILD_EXPECT(operations->event_create(backend.state, &event).status == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_alloc_on(pool, 1000, stream, &of_pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_malloc(1000, &of_process) == TARN_STATUS_OK);
}

/* What needs no vendor goes on in any order. */
static void use_what_is_there(void)
{
    void *address;
    CHILD_EXPECT(tarn_pool_alloc_on(pool, 5000, stream, &address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_free_on(pool, address, stream) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_malloc(5000, &address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_free(address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_check(pool) == TARN_STATUS_OK);
}

/* Giving back is never an error. */
static void give_all_back(void)
{
    const tarn_backend_operations *operations = backend.operations;
    CHILD_EXPECT(tarn_free(of_process) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_free_on(pool, of_pool, stream) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_trim(pool, 0, NULL) == TARN_STATUS_OK);
    CHILD_EXPECT(operations->event_destroy(backend.state, event).status == TARN_STATUS_OK);
    CHILD_EXPECT(operations->stream_destroy(backend.state, stream).status == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_destroy(pool) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_default_pool_destroy() == TARN_STATUS_OK);
    tarn_backend_close(&backend);
}

/* --- orders ------------------------------------------------------------------------------------------ */

static bool is_to_end_early, is_to_end_late, is_to_end_last, is_to_begin_late;
static bool has_ended;

static void end_early(void)
{
    if (!is_to_end_early) return;
    use_what_is_there();
    void *address;
    CHILD_EXPECT(tarn_pool_alloc(pool, 16 * MIB, &address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_pool_free(pool, address) == TARN_STATUS_OK);
    give_all_back();
    has_ended = true;
}

/* When a vendor is no longer called a pool cannot grow, and says so. */
static void end_late(void)
{
    if (!is_to_end_late) return;
    use_what_is_there();
    bool has_vendor = strcmp(tarn_backend_name(), "host") != 0;
    void *address;
    tarn_status status = tarn_pool_alloc(pool, 16 * MIB, &address);
    CHILD_EXPECT(status == (has_vendor ? TARN_STATUS_VENDOR_ERROR : TARN_STATUS_OK));
    CHILD_EXPECT(has_vendor == (tarn_last_error().vendor_code != 0));
    if (status == TARN_STATUS_OK) CHILD_EXPECT(tarn_pool_free(pool, address) == TARN_STATUS_OK);
    give_all_back();
    has_ended = true;
}

static void __attribute__((destructor)) end_last(void)
{
    if (!is_to_end_last) return;
    use_what_is_there();
    give_all_back();
    has_ended = true;
}

/* Later than all of these; before main only in the list of the functions to call. */
static bool must_have_ended;
static void __attribute__((destructor(101))) expect_to_have_ended(void)
{
    if (must_have_ended && !has_ended) _exit(3);
}

static void *allocate_until_the_end(void *unused)
{
    for (size_t i = 0;; i++) {
        void *address = NULL;
        if (tarn_malloc(1 + i * 7919 % 100000, &address) != TARN_STATUS_OK) {
            fprintf(stderr, "allocation %zu: %s\n", i, tarn_last_error().message);
            _exit(4);
        }
        if (tarn_free(address) != TARN_STATUS_OK) _exit(5);
    }
    return unused;
}

static void *allocate_first(void *unused)
{
    void *address;
    CHILD_EXPECT(tarn_malloc(1000, &address) == TARN_STATUS_OK);
    CHILD_EXPECT(tarn_free(address) == TARN_STATUS_OK);
    return unused;
}

/* The vendor cannot be asked for the current device of a thread that has not allocated before. */
static void begin_a_thread_late(void)
{
    pthread_t thread;
    if (!is_to_begin_late) return;
    CHILD_EXPECT(pthread_create(&thread, NULL, allocate_first, NULL) == 0);
    CHILD_EXPECT(pthread_join(thread, NULL) == 0);
    has_ended = true;
}

/* A thread that asks for the current device gets its answer when the process has begun to end. The vendor then refuses. */
static sem_t has_asked, may_answer;
static bool is_wrapped, answers_late;
static pthread_t asking_thread;

tarn_status __real_tarn_backend_current_device(int *device_out);
tarn_status __wrap_tarn_backend_current_device(int *device_out);

tarn_status __wrap_tarn_backend_current_device(int *device_out)
{
    is_wrapped = true;
    if (answers_late) {
        sem_post(&has_asked);
        sem_wait(&may_answer);
    }
    return __real_tarn_backend_current_device(device_out);
}

static void let_it_answer(void)
{
    if (!answers_late) return;
    sem_post(&may_answer);
    CHILD_EXPECT(pthread_join(asking_thread, NULL) == 0);
    has_ended = true;
}

/* With one device tarn does not ask. In a shared libtarn the linker's wrap has no effect. */
static void ask_for_the_device_at_the_end(void)
{
    if (!is_wrapped) return;
    must_have_ended = answers_late = true;
    CHILD_EXPECT(pthread_create(&asking_thread, NULL, allocate_first, NULL) == 0);
    sem_wait(&has_asked);
}

/* Returns what main would. */
static int run(const char *what)
{
    if (strcmp(what, "late") == 0) {
        is_to_end_late = must_have_ended = true;
        atexit(end_late);
        begin();
    } else if (strcmp(what, "early") == 0) {
        begin();
        is_to_end_early = must_have_ended = true;
        atexit(end_early);
    } else if (strcmp(what, "last") == 0) {
        begin();
        is_to_end_last = must_have_ended = true;
    } else if (strcmp(what, "leave") == 0) {
        begin();
    } else if (strcmp(what, "main") == 0) {
        begin();
        give_all_back();
    } else if (strcmp(what, "quick_exit") == 0) {
        begin();
        quick_exit(0);
    } else if (strcmp(what, "new_thread") == 0) {
        is_to_begin_late = must_have_ended = true;
        atexit(begin_a_thread_late);
        begin();
    } else if (strcmp(what, "asking_thread") == 0) {
        atexit(let_it_answer);
        begin();
        ask_for_the_device_at_the_end();
    } else if (strcmp(what, "thread") == 0) {
        pthread_t thread;
        begin();
        CHILD_EXPECT(pthread_create(&thread, NULL, allocate_until_the_end, NULL) == 0);
        pthread_detach(thread);
        usleep(20000);
    } else {
        return 2;
    }
    return 0;
}

/* --- tests ------------------------------------------------------------------------------------------- */

static bool is_device_there(void)
{
    tarn_backend opened;
    if (tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &opened) == TARN_STATUS_NO_DEVICE)
        return false;
    tarn_backend_close(&opened);
    return true;
}

static void ends_well(void **state)
{
    if (!is_device_there()) skip();
    expect_program_to_end_well(*state);
}

int main(int argc, char **argv)
{
    if (argc == 2) return run(argv[1]);
    const struct CMUnitTest tests[] = {
        { "nothing is given back", ends_well, NULL, NULL, "leave" },
        { "all is given back in main", ends_well, NULL, NULL, "main" },
        { "all is given back by what was registered after the first use", ends_well, NULL, NULL,
          "early" },
        { "all is given back by what was registered before the first use", ends_well, NULL, NULL,
          "late" },
        { "all is given back by a destructor of the program", ends_well, NULL, NULL, "last" },
        { "the program ends without functions of the exit", ends_well, NULL, NULL, "quick_exit" },
        { "a thread goes on while the program ends", ends_well, NULL, NULL, "thread" },
        { "a thread asks for its device while the program ends", ends_well, NULL, NULL,
          "asking_thread" },
        { "a thread begins while the program ends", ends_well, NULL, NULL, "new_thread" },
    };
    return cmocka_run_group_tests_name("exit", tests, NULL, NULL);
}
