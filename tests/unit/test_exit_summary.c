/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_exit_summary: the table of TARN_STATS=exit, written while the process goes on: its figures, its bounds, and
 * locks that other threads hold for ever. When it is written is tested by tests/life.
 */
#include "process/exit_summary.h"
#include "process/footprint_share.h"
#include "process/report.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arith.h"
#include "core/care/pool_registry.h"
#include "harness/child.h"
#include "harness/host_memory_faults.h"
#include "pool_fixture.h"
#include "tarn/debug.h"

/* The table as it would be written now. */
static const char *table(void)
{
    static char text[64 << 10];
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(tn_exit_summary_write(fileno(file)), 0);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* The line that begins with the title, without the blanks between the columns. NULL: there is none. */
static const char *line_of(const char *title)
{
    static char line[512];
    char begin[80];
    snprintf(begin, sizeof begin, "\n  %s  ", title);
    const char *found = strstr(table(), begin);
    size_t length = 0;
    if (!found) return NULL;
    for (found += 3; *found != '\n'; found++) {
        if (*found == ' ' && (length == 0 || line[length - 1] == '|')) continue;
        bool ends_column =
            *found == ' ' &&
            (found[1] == ' ' || (found[1] >= '0' && found[1] <= '9') || found[1] == '-');
        line[length] = *found;
        if (ends_column) line[length] = '|';
        length++;
    }
    line[length] = '\0';
    return line;
}

static void expect_line(const char *title, const char *figures)
{
    char expected[256];
    snprintf(expected, sizeof expected, "%s|%s", title, figures);
    const char *line = line_of(title);
    if (!line) fail_msg("no line for %s in\n%s", title, table());
    const char *at = strstr(line, figures);
    if (!at) fail_msg("\"%s\" is not \"%s\"", line, expected);
}

static int set_up_named(void **state)
{
    begin_fixture(true);
    options.initial_bytes = 64 * KIB;
    options.name = "mesh";
    return 0;
}

/* --- titles ---------------------------------------------------------------------------------------- */

static void process_wide_pools_are_told_apart(void **state)
{
    options.name = NULL;
    create();
    pool->location = (struct tn_location){ 0, TARN_MEMORY_KIND_DEVICE };
    atomic_store(&pool->is_for_process, true);
    assert_non_null(line_of("process-wide pool"));
    pool->location = (struct tn_location){ 1, TARN_MEMORY_KIND_PINNED };
    assert_non_null(line_of("process-wide pool of device 1, pinned"));
}

/* --- labels ---------------------------------------------------------------------------------------- */

static void labels_are_below_their_pool_the_largest_peak_first(void **state)
{
    create();
    tarn_label_push("halo");
    alloc(4 * KIB);
    tarn_label_pop();
    tarn_label_push("fields");
    void *field = alloc(20 * KIB);
    alloc(12 * KIB);
    tarn_label_pop();
    free_one(field);
    const char *pools_line = strstr(table(), "\n  mesh  ");
    assert_non_null(pools_line);
    const char *fields = strstr(pools_line, "\n    fields "),
               *halo = strstr(pools_line, "\n    halo ");
    assert_true(fields && halo && fields < halo);
    assert_non_null(strstr(fields, "32 KiB "));
    if (!strstr(fields, " 12 KiB\n    halo")) fail_msg("%s", pools_line);
    assert_true(strstr(halo, " 4096 bytes\n") != NULL);
}

static void few_labels_of_many_are_told(void **state)
{
    create();
    for (unsigned i = 0; i < 12; i++) {
        char label[16];
        snprintf(label, sizeof label, "part%02u", i);
        tarn_label_push(label);
        alloc((i + 1) * KIB);
        tarn_label_pop();
    }
    const char *text = table();
    for (unsigned i = 0; i < 12; i++) {
        char label[16];
        snprintf(label, sizeof label, "part%02u", i);
        assert_int_equal(strstr(text, label) != NULL, i >= 4);
    }
}

/* --- figures --------------------------------------------------------------------------------------- */

static void an_open_pool_has_a_line(void **state)
{
    create();
    void *a = alloc(20 * KIB);
    alloc(12 * KIB);
    free_one(a);
    assert_int_not_equal(tarn_pool_free(pool, a), TARN_STATUS_OK);
    alloc(100 * KIB);
    expect_line("mesh", "test|3|112 KiB|164 KiB|1.46|2|1|112 KiB");
    free_one(alloc(MIB));
    trim(0);
    expect_line("mesh", "test|4|1.1 MiB|1.2 MiB|1.05|4|1|112 KiB");
}

static void a_pool_without_a_name_has_a_number(void **state)
{
    char title[32];
    options.name = NULL;
    create();
    snprintf(title, sizeof title, "pool %llu", (unsigned long long)pool->number);
    expect_line(title, "test|0|0 bytes|0 bytes|-|0|0|0 bytes");
    atomic_store(&pool->is_for_process, true);
    expect_line("process-wide pool", "test|0");
}

static void a_name_from_outside_is_escaped(void **state)
{
    options.name = "a\nb";
    create();
    expect_line("a\\x0ab", "test|0");
}

static void lines_are_in_the_order_of_creation(void **state)
{
    tarn_pool *others[3];
    for (size_t i = 0; i < 3; i++)
        others[i] = new_pool(&options);
    options.name = "last";
    create();
    const char *text = table();
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, "\n  mesh")) != NULL; at++)
        count++;
    assert_int_equal(count, 3);
    assert_non_null(strstr(strstr(text, "\n  mesh"), "\n  last"));
    assert_null(strstr(strstr(text, "\n  last"), "\n  mesh"));
    for (size_t i = 0; i < 3; i++)
        expect_ok(tarn_pool_destroy(others[i]));
}

static void without_pools_nothing_is_written(void **state)
{
    assert_string_equal(table(), "");
}

/* Arenas count what their threads do. */
static void arenas_are_added(void **state)
{
    options.initial_bytes = MIB;
    create();
    free_one(alloc(1000));
    tarn_stats before = stats_of(pool);
    want_arenas();
    void *a = alloc(2000);
    alloc(20 * KIB);
    free_one(a);
    expect_active(1);
    char figures[128];
    size_t live_bytes = before.requested_bytes + 20 * KIB;
    snprintf(figures, sizeof figures, "test|%llu|%s|", (unsigned long long)before.alloc_count + 2,
             tn_bytes_text(tn_max(live_bytes, before.requested_bytes_max)).text);
    expect_line("mesh", figures);
    expect_active(1); /* the look has not taken them back */
    snprintf(figures, sizeof figures, "|%s", tn_bytes_text(live_bytes).text);
    const char *line = line_of("mesh");
    assert_string_equal(line + strlen(line) - strlen(figures), figures);
}

static void debug_mode_shows_the_programs_allocations(void **state)
{
    options.debug = TARN_DEBUG_SITES;
    create();
    create_over_host_memory();
    void *a = alloc(1000);
    alloc(500);
    free_one(a);
    expect_line("mesh", "host|2|1500 bytes|64 KiB|43.69|1|0|500 bytes");
    options.debug = TARN_DEBUG_ZONES | TARN_DEBUG_QUARANTINE;
    create_over_host_memory();
    a = alloc(1000);
    alloc(500);
    free_one(a);
    expect_line("mesh", "host|2|1500 bytes|64 KiB|43.69|1|0|500 bytes");
}

/* --- what most of the rest was -------------------------------------------------------------------- */

/* The line below that of the pool, or below its labels. */
static void expect_sentence(const char *sentence)
{
    char expected[300];
    snprintf(expected, sizeof expected, "\n    %s\n", sentence);
    const char *text = table();
    if (!strstr(text, expected)) fail_msg("\"%s\" is not in\n%s", sentence, text);
}

static void expect_no_sentence(void)
{
    if (strstr(table(), "beyond the live bytes")) fail_msg("%s", table());
}

static void pieces_of(size_t size_bytes)
{
    grow_by_pieces_of(size_bytes);
    create();
}

static void the_first_piece_is_the_largest_share(void **state)
{
    create();
    expect_no_sentence();
    alloc(20 * KIB);
    expect_sentence("44 KiB beyond the live bytes were free in the first piece: a smaller "
                    "initial_bytes makes it smaller.");
    alloc(40 * KIB);
    expect_no_sentence(); /* 4 KiB are little */
}

static void memory_that_live_blocks_shut_in_is_the_largest_share(void **state)
{
    void *blocks[8];
    pieces_of(64 * KIB);
    for (size_t i = 0; i < 8; i++)
        blocks[i] = alloc(i % 2 ? 12 * KIB : 20 * KIB);
    for (size_t i = 0; i < 8; i += 2)
        free_one(blocks[i]);
    alloc(64 * KIB);
    expect_sentence("120 KiB beyond the live bytes were free in pieces that live blocks keep: "
                    "contiguous joins the free memory of all pieces.");
    options.reads_environment = true;
    destroy();
    opened = test_backend_open(&backend);
    pieces_of(64 * KIB);
    for (size_t i = 0; i < 8; i++)
        blocks[i] = alloc(i % 2 ? 12 * KIB : 20 * KIB);
    for (size_t i = 0; i < 8; i += 2)
        free_one(blocks[i]);
    alloc(64 * KIB);
    expect_sentence("120 KiB beyond the live bytes were free in pieces that live blocks keep: "
                    "contiguous (TARN_CONTIGUOUS=1) joins the free memory of all pieces.");
}

static void memory_that_waits_is_the_largest_share(void **state)
{
    options.stream_slack = TARN_STREAM_SLACK_MAX;
    pieces_of(64 * KIB);
    for (int i = 0; i < 6; i++)
        free_on(alloc_on(64 * KIB, STREAM(i)), STREAM(i)); /* the device runs behind */
    expect_sentence(
        "320 KiB beyond the live bytes were freed, and waited for the work of streams: a "
        "smaller stream_slack makes streams wait for it, too.");
}

/* Without slack the pool waits, unless no region holds the request. */
static void scattered_memory_that_waits_is_the_largest_share(void **state)
{
    pieces_of(64 * KIB);
    alloc_on(KIB, B);
    void *blocks[10];
    for (size_t i = 0; i < 10; i++)
        blocks[i] = alloc_on(i % 2 ? KIB : 60 * KIB, A);
    for (size_t i = 0; i < 10; i += 2)
        free_on(blocks[i], A);
    alloc_on(64 * KIB, B);
    expect_sentence(
        "66 KiB beyond the live bytes were freed, in regions too small to be waited for: "
        "contiguous joins the free memory of all pieces.");
}

static void memory_of_frees_that_wait_has_a_bound_of_its_own(void **state)
{
    const struct tn_footprint_share share = {
        .part = TARN_FOOTPRINT_PART_PENDING,
        .bytes = 64 * KIB,
        .rest_bytes = 64 * KIB,
        .free_waits = true,
        .reads_environment = true,
    };
    assert_string_equal(
        tn_footprint_sentence(&share).text,
        "64 KiB beyond the live bytes were freed, and waited for the work of streams: a smaller "
        "pending_factor_max (TARN_PENDING_MAX) makes frees wait for it.");
}

static void wholly_free_pieces_are_the_largest_share(void **state)
{
    options.initial_bytes = 0;
    options.growth_factor = 1.0;
    create();
    tarn_capture capture = 0; /* while it is under way, nothing goes back */
    expect_ok(tarn_capture_begin(pool, C, &capture));
    for (size_t i = 1; i < 6; i++)
        free_after(alloc_on(i * 100 * KIB, A), NULL, 0);
    expect_sentence("Of 1020 KiB beyond the live bytes, 1016 KiB were wholly free pieces: "
                    "release_threshold_bytes gives them back.");
}

static void growth_that_was_not_needed_is_the_largest_share(void **state)
{
    create();
    for (size_t i = 0; i < 10; i++)
        alloc(10 * KIB);
    expect_sentence(
        "Of 16 KiB beyond the live bytes, 12 KiB were growth that was not needed: a smaller "
        "growth_factor grows by less.");
}

static void rounding_is_the_largest_share(void **state)
{
    options.initial_bytes = 16 * KIB;
    options.growth_factor = 1.0;
    create();
    for (size_t i = 0; i < 128; i++)
        alloc(KIB / 2 + 1);
    expect_sentence("Of 63.9 KiB beyond the live bytes, 61.9 KiB were rounding of sizes: a smaller "
                    "chunk_bytes rounds less.");
}

static void steps_have_options_of_their_own(void **state)
{
    void *blocks[16];
    backend.range_granularity_bytes = 4 * KIB;
    opened = test_backend_open(&backend);
    options.contiguous = true;
    options.initial_bytes = 0;
    options.step_bytes = 64 * KIB;
    create();
    for (size_t i = 0; i < 16; i++)
        blocks[i] = alloc(i % 2 ? 4 * KIB : 28 * KIB);
    for (size_t i = 0; i < 16; i += 2)
        free_one(blocks[i]);
    alloc(60 * KIB);
    expect_sentence("64 KiB beyond the live bytes were free in steps that live blocks keep: a "
                    "smaller step_bytes lets them keep less.");
}

/* They hold what they are told to. */
static void some_pools_have_no_sentence(void **state)
{
    options.passes_through = true;
    create();
    free_one(alloc(100));
    expect_no_sentence();
    options.passes_through = false;
    options.debug = TARN_DEBUG_SITES;
    create_anew();
    alloc(100);
    expect_no_sentence();
}

/* --- pools that have ended ------------------------------------------------------------------------- */

static void end_many(void *unused)
{
    char title[32];
    static const char *const names[] = { "a", "b" };
    tn_report_request_table(NULL);
    for (size_t i = 0; i < TN_EXIT_SUMMARY_KEPT_MAX + 2; i++) {
        tarn_pool *ending;
        options.name = names[i % 2];
        CHILD_EXPECT(tarn_pool_create(&options, &ending) == TARN_STATUS_OK);
        void *address;
        CHILD_EXPECT(tarn_pool_alloc(ending, (i + 1) * KIB, &address) == TARN_STATUS_OK);
        if (i % 2) CHILD_EXPECT(tarn_pool_free(ending, address) == TARN_STATUS_OK);
        CHILD_EXPECT(tarn_pool_destroy_forced(ending, NULL) == TARN_STATUS_OK);
    }
    const char *text = table();
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, " (ended)")) != NULL; at++)
        count++;
    CHILD_EXPECT(count == TN_EXIT_SUMMARY_KEPT_MAX + 1);
    snprintf(title, sizeof title, "2 more (ended)");
    const char *line = line_of(title);
    /* one allocation each, the larger one of 34 KiB, that of 33 left alive */
    CHILD_EXPECT(line && strcmp(line, "2 more (ended)|-|2|34 KiB|64 KiB|1.88|2|0|33 KiB") == 0);
    CHILD_EXPECT(strcmp(line_of("a (ended)"),
                        "a (ended)|test|1|1024 bytes|64 KiB|64.00|1|0|1024 bytes") == 0);
    CHILD_EXPECT(
        strcmp(line_of("b (ended)"), "b (ended)|test|1|2048 bytes|64 KiB|32.00|1|0|0 bytes") == 0);
    _exit(0); /* no table at its end */
}

static void pools_that_have_ended_are_kept_and_then_summed_up(void **state)
{
    expect_in_child(end_many, NULL);
}

static void *create_and_end(void *unused)
{
    for (int i = 0; i < 50; i++) {
        void *address;
        tarn_pool *ending = NULL;
        if (tarn_pool_create(&options, &ending) != TARN_STATUS_OK) return ending;
        (void)tarn_pool_alloc(ending, 1000, &address);
        tarn_pool_destroy_forced(ending, NULL);
    }
    return unused;
}

static void end_at_once(void *unused)
{
    pthread_t threads[4];
    tn_report_request_table(NULL);
    for (size_t i = 0; i < 4; i++)
        CHILD_EXPECT(pthread_create(&threads[i], NULL, create_and_end, NULL) == 0);
    for (size_t i = 0; i < 20; i++)
        (void)table();
    for (size_t i = 0; i < 4; i++)
        CHILD_EXPECT(pthread_join(threads[i], NULL) == 0);
    CHILD_EXPECT(strstr(table(), "\n  168 more (ended)  ") != NULL);
    _exit(0);
}

static void threads_may_end_pools_at_once_while_the_table_is_written(void **state)
{
    expect_in_child(end_at_once, NULL);
}

static void fork_and_end(void *unused)
{
    tn_report_request_table(NULL);
    CHILD_EXPECT(tn_report_is_table_requested());
    CHILD_EXPECT(create_and_end(NULL) == NULL);
    CHILD_EXPECT(strstr(table(), "(ended)") != NULL);
    pid_t child = fork();
    if (child == 0) {
        CHILD_EXPECT(!tn_report_is_table_requested());
        CHILD_EXPECT(strcmp(table(), "") == 0);
        _exit(0);
    }
    int ended;
    CHILD_EXPECT(waitpid(child, &ended, 0) == child && ended == 0);
    _exit(0);
}

static void a_forked_child_begins_with_none(void **state)
{
    expect_in_child(fork_and_end, NULL);
}

/* --- locks that are held for ever ------------------------------------------------------------------ */

static pthread_barrier_t barrier;

static void *hold_lock(void *unused)
{
    tn_pool_lock(pool);
    pthread_barrier_wait(&barrier); /* it is held */
    pthread_barrier_wait(&barrier); /* no longer needed */
    tn_pool_unlock(pool);
    return NULL;
}

/* Holds the registry's lock while it waits for the pool's. */
static void *find(void *address)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    tarn_pool_find(address, &found);
    return NULL;
}

static void a_thread_that_holds_a_pools_lock_is_not_waited_for(void **state)
{
    pthread_t holder, finder;
    create();
    void *a = alloc(1000);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&holder, NULL, hold_lock, NULL), 0);
    pthread_barrier_wait(&barrier);
    expect_line("mesh", "test|1|1000 bytes|64 KiB|65.54|1|0|1000 bytes");
    assert_int_equal(pthread_create(&finder, NULL, find, a), 0);
    const char *text;
    do {
        text = table();
    } while (strstr(text, "  mesh  ")); /* until the finder has come to the lock */
    assert_non_null(strstr(text, "not all open pools: a thread holds the lock of their list"));
    pthread_barrier_wait(&barrier);
    assert_int_equal(pthread_join(holder, NULL), 0);
    assert_int_equal(pthread_join(finder, NULL), 0);
    pthread_barrier_destroy(&barrier);
    expect_line("mesh", "test|1|1000 bytes");
}

/* Else the end of that pool would wait for ever. */
static void a_walk_that_cannot_go_on_leaves_no_pool_pinned(void **state)
{
    pthread_t holder, finder;
    create();
    void *a = alloc(1000);
    struct tarn_pool *walk = NULL;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&holder, NULL, hold_lock, NULL), 0);
    pthread_barrier_wait(&barrier);
    assert_true(tn_pool_registry_try_pin_next(&walk));
    assert_ptr_equal(walk, pool);
    assert_int_equal(pthread_create(&finder, NULL, find, a), 0);
    usleep(
        50000); /* until the finder holds the registry's lock; if it does not yet, the walk just ends */
    (void)tn_pool_registry_try_pin_next(&walk);
    assert_null(walk);
    assert_int_equal(pool->pin_count, 0);
    pthread_barrier_wait(&barrier);
    assert_int_equal(pthread_join(holder, NULL), 0);
    assert_int_equal(pthread_join(finder, NULL), 0);
    pthread_barrier_destroy(&barrier);
}

static void the_growth_lock_is_not_waited_for(void **state)
{
    create();
    alloc(1000);
    tn_pool_lock_growth(pool);
    expect_line("mesh", "test|1|1000 bytes");
    tn_pool_unlock_growth(pool);
}

static void it_needs_no_host_memory(void **state)
{
    create();
    alloc(1000);
    FILE *file = tmpfile();
    host_memory_faults_begin(1);
    assert_int_equal(tn_exit_summary_write(fileno(file)), 0);
    assert_false(host_memory_faults_end());
    fclose(file);
}

static void a_file_that_takes_nothing_is_an_error(void **state)
{
    int full = open("/dev/full", O_WRONLY);
    create();
    assert_true(full >= 0);
    assert_int_equal(tn_exit_summary_write(full), ENOSPC);
    close(full);
}

/* --- the variable ------------------------------------------------------------------------------------ */

static void expect_variable_refused(const char *value)
{
    setenv("TARN_STATS", value, 1);
    expect_options_refused(TARN_STATUS_INVALID_ENVIRONMENT, "TARN_STATS is \"");
    expect_message("not exit, nor exit: and the name of a file");
    unsetenv("TARN_STATS");
    assert_false(tn_report_is_table_requested());
}

static void values_that_do_not_parse_are_refused(void **state)
{
    expect_variable_refused("1");
    expect_variable_refused("exit:");
    expect_variable_refused("exits");
    expect_variable_refused("Exit");
    setenv("TARN_STATS", "", 1);
    create();
    unsetenv("TARN_STATS");
    assert_false(tn_report_is_table_requested());
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up_named, tear_down)

int main(void)
{
    unsetenv("TARN_STATS");
    static const struct CMUnitTest tests[] = {
        TEST(labels_are_below_their_pool_the_largest_peak_first),
        TEST(few_labels_of_many_are_told),
        TEST(process_wide_pools_are_told_apart),
        TEST(an_open_pool_has_a_line),
        TEST(a_pool_without_a_name_has_a_number),
        TEST(a_name_from_outside_is_escaped),
        TEST(lines_are_in_the_order_of_creation),
        TEST(without_pools_nothing_is_written),
        TEST(arenas_are_added),
        TEST(debug_mode_shows_the_programs_allocations),
        TEST(the_first_piece_is_the_largest_share),
        TEST(memory_that_live_blocks_shut_in_is_the_largest_share),
        TEST(memory_that_waits_is_the_largest_share),
        TEST(scattered_memory_that_waits_is_the_largest_share),
        TEST(memory_of_frees_that_wait_has_a_bound_of_its_own),
        TEST(wholly_free_pieces_are_the_largest_share),
        TEST(growth_that_was_not_needed_is_the_largest_share),
        TEST(rounding_is_the_largest_share),
        TEST(steps_have_options_of_their_own),
        TEST(some_pools_have_no_sentence),
        TEST(pools_that_have_ended_are_kept_and_then_summed_up),
        TEST(threads_may_end_pools_at_once_while_the_table_is_written),
        TEST(a_forked_child_begins_with_none),
        TEST(a_thread_that_holds_a_pools_lock_is_not_waited_for),
        TEST(a_walk_that_cannot_go_on_leaves_no_pool_pinned),
        TEST(the_growth_lock_is_not_waited_for),
        TEST(it_needs_no_host_memory),
        TEST(a_file_that_takes_nothing_is_an_error),
        TEST(values_that_do_not_parse_are_refused),
    };
    return cmocka_run_group_tests_name("exit_summary", tests, NULL, NULL);
}
