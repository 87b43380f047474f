/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Debug mode, labels and call sites: who made what is live, as the leak report and the dump tell it. */
#include <jansson.h>
#include <pthread.h>

#include "base/compiler.h"
#include "core/care/debug_table.h"
#include "harness/host_memory_faults.h"
#include "pool_fixture.h"

static char text[65536];

static void create_with(unsigned debug)
{
    options.debug = debug;
    create();
}

static const char *text_of(FILE *file)
{
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static const char *report_of(tarn_pool *of)
{
    FILE *file = tmpfile();
    expect_ok(tarn_pool_report_leaks(of, file));
    return text_of(file);
}

static const char *dump_of(tarn_dump_format format)
{
    FILE *file = tmpfile();
    expect_ok(tarn_pool_dump(pool, format, file));
    return text_of(file);
}

/* Where a part begins. */
static const char *expect_says(const char *said, const char *part)
{
    const char *found = strstr(said, part);
    if (!found) fail_msg("\"%s\" is not in:\n%s", part, said);
    return found;
}

static void expect_does_not_say(const char *said, const char *part)
{
    if (strstr(said, part)) fail_msg("\"%s\" is in:\n%s", part, said);
}

/* --- labels ------------------------------------------------------------------------------------- */

static void labels_nest_and_the_innermost_counts(void **state)
{
    create_with(TARN_DEBUG_SITES);
    tarn_label_push("outer");
    alloc(100);
    tarn_label_push("inner");
    alloc(2000);
    tarn_label_pop();
    alloc(30);
    tarn_label_pop();
    alloc(7);
    const char *report = report_of(pool);
    expect_says(report, "tarn: 4 live allocations, 2137 bytes\n");
    expect_says(report, "1 live allocation, 2000 bytes, \"inner\"\n");
    expect_says(report, "1 live allocation, 7 bytes\n");
    expect_says(report, ", \"outer\"\n");
}

static void labels_are_copied_and_cut(void **state)
{
    char label[100];
    memset(label, 'x', sizeof label - 1);
    label[sizeof label - 1] = '\0';
    create_with(TARN_DEBUG_SITES);
    tarn_label_push(label);
    alloc(100);
    memset(label, 'y', sizeof label - 1);
    tarn_label_pop();
    label[0] = '"';
    memset(label + 1, 'x', TARN_LABEL_BYTES_MAX);
    memcpy(label + 1 + TARN_LABEL_BYTES_MAX, "\"\n", 3);
    expect_says(report_of(pool), label);
}

/* A terminal must not obey a label, and JSON must stay UTF-8. The last one is cut within a character. */
static void a_label_may_have_any_bytes(void **state)
{
    static const char *const labels[][3] = {
        { "\x1b[2Jred\n", "\"\\x1b[2Jred\\x0a\"", "\x1b[2Jred\n" },
        { "caf\xe9", "\"caf\\xe9\"", "caf\xef\xbf\xbd" },
        { "caf\xc3\xa9", "\"caf\xc3\xa9\"", "caf\xc3\xa9" },
        { "0123456789012345678901234567890123456789abcdef\xc3\xa9",
          "\"0123456789012345678901234567890123456789abcdef\\xc3\"",
          "0123456789012345678901234567890123456789abcdef\xef\xbf\xbd" },
    };
    create_with(TARN_DEBUG_SITES);
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        tarn_label_push(labels[i][0]);
        void *address = alloc(5000);
        tarn_label_pop();
        expect_says(report_of(pool), labels[i][1]);
        expect_says(dump_of(TARN_DUMP_FORMAT_TEXT), labels[i][1]);
        json_t *root = json_loads(dump_of(TARN_DUMP_FORMAT_JSON), JSON_REJECT_DUPLICATES, NULL);
        if (!root) fail_msg("no JSON: %s", text);
        json_t *static_pool = json_array_get(json_object_get(root, "static_pools"), 0);
        json_t *live = json_array_get(json_object_get(static_pool, "regions"), 0);
        assert_string_equal(json_string_value(json_object_get(live, "label")), labels[i][2]);
        json_decref(root);
        free_one(address);
    }
}

static void a_label_of_null_is_none(void **state)
{
    create_with(TARN_DEBUG_SITES);
    tarn_label_push("outer");
    tarn_label_push(NULL);
    alloc(100);
    expect_does_not_say(report_of(pool), "\"");
    tarn_label_pop();
    tarn_label_pop();
    tarn_label_pop(); /* one too many */
}

static void of_labels_too_deep_the_32nd_counts(void **state)
{
    char label[16];
    create_with(TARN_DEBUG_SITES);
    for (int i = 1; i <= 40; i++) {
        snprintf(label, sizeof label, "depth %d", i);
        tarn_label_push(label);
    }
    alloc(100);
    expect_says(report_of(pool), "\"depth 32\"");
    for (int i = 0; i < 9; i++)
        tarn_label_pop();
    alloc(100);
    expect_says(report_of(pool), "\"depth 31\"");
    for (int i = 0; i < 31; i++)
        tarn_label_pop();
    alloc(3);
    expect_says(report_of(pool), "1 live allocation, 3 bytes\n");
}

static void *allocate_without_label(void *argument)
{
    alloc(123);
    return NULL;
}

static void labels_are_the_threads_own(void **state)
{
    create_with(TARN_DEBUG_SITES);
    pthread_t thread;
    tarn_label_push("mine");
    pthread_create(&thread, NULL, allocate_without_label, NULL);
    pthread_join(thread, NULL);
    tarn_label_pop();
    expect_says(report_of(pool), "1 live allocation, 123 bytes\n");
}

/* --- call sites --------------------------------------------------------------------------------- */

__attribute__((noinline)) static void *allocate_here(tarn_pool *from)
{
    void *address = new_block(from, 50);
    text[0] = 0; /* no tail call */
    return address;
}

__attribute__((noinline)) static void *allocate_there(tarn_pool *from)
{
    void *address = new_block(from, 70);
    text[0] = 1;
    return address;
}

/* One call, which the compiler does not make several of. */
__attribute__((noinline)) static void *repeat(void *(*allocate)(tarn_pool *), volatile int count)
{
    void *address = NULL;
    while (count-- > 0)
        address = allocate(pool);
    return address;
}

static void groups_are_of_one_label_and_one_call_site(void **state)
{
    if (!TN_HAS_EXECINFO) skip();
    create_with(TARN_DEBUG_SITES);
    void *freed = repeat(allocate_here, 3);
    repeat(allocate_there, 2);
    tarn_label_push("mesh");
    repeat(allocate_there, 4);
    tarn_label_pop();
    free_one(freed);
    const char *report = report_of(pool);
    expect_says(report, "tarn: 8 live allocations, 520 bytes\n");
    const char *first = expect_says(report, "  4 live allocations, 280 bytes, \"mesh\"\n");
    const char *second = expect_says(report, "  2 live allocations, 140 bytes\n");
    const char *third = expect_says(report, "  2 live allocations, 100 bytes\n");
    assert_true(first < second && second < third);
}

static void a_call_site_begins_outside_the_library(void **state)
{
    if (!TN_HAS_EXECINFO) skip();
    struct tn_call_site site;
    tn_call_site_capture(&site, TN_CALLER);
    assert_true(site.frame_count > 0);
    assert_ptr_equal(site.frames[0], TN_CALLER);
    /* A caller that is not on the stack: nothing is left out. */
    tn_call_site_capture(&site, NULL);
    assert_true(site.frame_count > 1);
}

static bool frees_what_it_finds(void *user, tarn_pool *asking, size_t size_bytes, unsigned attempt)
{
    if (attempt > 0) return false;
    tarn_label_push("inside");
    free_one(allocate_there(asking));
    tarn_label_pop();
    backend.capacity_bytes = 0;
    return true;
}

/* Not inlined, and without a branch in the caller: compilers would make two calls of the one that follows. */
static TN_NOINLINE void limit_backend_if(bool is_second)
{
    if (is_second) backend.capacity_bytes = 65536;
}

/* The function allocates elsewhere; what is allocated in the end is still put down to its own caller. */
static void a_function_of_the_user_does_not_change_the_call_site(void **state)
{
    if (!TN_HAS_EXECINFO) skip();
    options.debug = TARN_DEBUG_SITES;
    options.on_out_of_memory = frees_what_it_finds;
    create();
    void *some = allocate_here(pool);
    for (volatile int i = 0; i < 2; i++) { /* volatile: one call, not two */
        limit_backend_if(i == 1);
        alloc(60000);
    }
    free_one(some);
    expect_says(report_of(pool), "  2 live allocations, 120000 bytes\n");
}

/* --- the dump ----------------------------------------------------------------------------------- */

static void the_dump_shows_label_and_site(void **state)
{
    create_with(TARN_DEBUG_SITES);
    tarn_label_push("a \"mesh\"");
    alloc(100);
    tarn_label_pop();
    expect_says(dump_of(TARN_DUMP_FORMAT_TEXT), "live, 100 asked for, \"a \"mesh\"\"\n");

    json_t *root = json_loads(dump_of(TARN_DUMP_FORMAT_JSON), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    json_t *static_pool = json_array_get(json_object_get(root, "static_pools"), 0);
    json_t *regions = json_object_get(static_pool, "regions");
    json_t *live = json_array_get(regions, 0);
    assert_string_equal(json_string_value(json_object_get(live, "label")), "a \"mesh\"");
    assert_true(json_is_array(json_object_get(live, "site")));
    assert_true(json_integer_value(json_object_get(live, "serial")) > 0);
    if (TN_HAS_EXECINFO) assert_true(json_array_size(json_object_get(live, "site")) > 0);
    assert_null(json_object_get(json_array_get(regions, 1), "label"));
    json_decref(root);
}

/* --- what is as without ------------------------------------------------------------------------- */

static void alloc_labelled(const char *label, size_t size_bytes)
{
    tarn_label_push(label);
    alloc(size_bytes);
    tarn_label_pop();
}

static void a_pool_without_debug_mode_tells_sums_and_labels(void **state)
{
    create_with(0);
    assert_string_equal(report_of(pool), "tarn: 0 live allocations, 0 bytes\n");
    alloc(50);
    assert_string_equal(
        report_of(pool),
        "tarn: 1 live allocation, 50 bytes; debug mode tells where they were made\n");
    alloc_labelled("mesh", 100);
    alloc_labelled("field\n", 7000);
    alloc_labelled("mesh", 3000);
    tarn_label_push("gone");
    free_one(alloc(20));
    tarn_label_pop();
    assert_string_equal(
        report_of(pool),
        "tarn: 4 live allocations, 10150 bytes; debug mode tells where they were made\n"
        "  1 live allocation, 7000 bytes, \"field\\x0a\"\n"
        "  2 live allocations, 3100 bytes, \"mesh\"\n"
        "  1 live allocation, 50 bytes\n");
}

static void the_dump_of_a_pool_without_debug_mode_has_labels(void **state)
{
    create_with(0);
    alloc_labelled("a slice", 100);
    alloc_labelled("a \"mesh\"", 5000);
    alloc(3000);
    const char *said = dump_of(TARN_DUMP_FORMAT_TEXT);
    expect_says(said, "live, 100 asked for, \"a slice\"\n");
    expect_says(said, "live, 5000 asked for, \"a \"mesh\"\"\n");
    expect_says(said, "live, 3000 asked for\n");

    static const char *const labels[] = { "a slice", NULL, "a \"mesh\"", "", NULL };
    json_t *root = json_loads(dump_of(TARN_DUMP_FORMAT_JSON), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    json_t *static_pool = json_array_get(json_object_get(root, "static_pools"), 0);
    json_t *regions = json_object_get(static_pool, "regions");
    assert_int_equal(json_array_size(regions), 5);
    for (size_t i = 0; i < 5; i++) {
        json_t *label = json_object_get(json_array_get(regions, i), "label");
        if (labels[i])
            assert_string_equal(json_string_value(label), labels[i]);
        else
            assert_null(label);
        assert_null(json_object_get(json_array_get(regions, i), "site"));
    }
    json_decref(root);
}

static void a_report_names_the_pool(void **state)
{
    options.name = "a \"field\"\n";
    for (unsigned debug = 0; debug <= TARN_DEBUG_SITES; debug += TARN_DEBUG_SITES) {
        create_with(debug);
        alloc(50);
        expect_says(report_of(pool),
                    "tarn: pool \"a \"field\"\\x0a\": 1 live allocation, 50 bytes");
        destroy();
        opened = test_backend_open(&backend);
    }
}

/* A report of labels needs a copy of them. */
static void a_report_without_host_memory_writes_nothing(void **state)
{
    create_with(0);
    alloc_labelled("mesh", 100);
    FILE *file = tmpfile();
    host_memory_faults_begin(1);
    tarn_status status = tarn_pool_report_leaks(pool, file);
    assert_true(host_memory_faults_end());
    assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
    assert_string_equal(text_of(file), "");
}

static void wrong_frees_are_refused_as_without(void **state)
{
    create_with(TARN_DEBUG_SITES);
    char *address = alloc(5000);
    int local;
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, address + 1024));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(pool, &local));
    free_one(address);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, address));
    assert_int_equal(stats_of(pool).failed_count, 3);
    free_one(NULL);
    destroy_empty();
}

/* A free that the pool refuses leaves the allocation as it was, its record too. */
static void a_refused_free_keeps_the_record(void **state)
{
    int foreign;
    backend.has_streams = true;
    backend.foreign_stream = &foreign;
    opened = test_backend_open(&backend);
    create_with(TARN_DEBUG_SITES);
    tarn_label_push("kept");
    void *address = alloc(100);
    tarn_label_pop();
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_free_on(pool, address, &foreign));
    expect_says(report_of(pool), "\"kept\"");
    free_one(address);
    expect_does_not_say(report_of(pool), "\"kept\"");
    destroy_empty();
}

/* A pool of 4 KiB, and a fallback in debug mode, which is returned. */
static tarn_pool *create_small_with_fallback(unsigned debug)
{
    create_with(TARN_DEBUG_SITES);
    tarn_pool *fallback = pool;
    pool = NULL;
    options.limit_bytes = options.initial_bytes = 4096;
    options.fallback = fallback;
    create_with(debug);
    return fallback;
}

/* What a fallback serves is put down in the fallback, if that is in debug mode, and freed through either. */
static void a_fallback_keeps_its_own_records(void **state)
{
    tarn_pool *fallback = create_small_with_fallback(TARN_DEBUG_SITES);
    tarn_label_push("large");
    void *first = alloc(10000), *second = alloc(10000);
    tarn_label_pop();
    expect_says(report_of(fallback), "tarn: 2 live allocations, 20000 bytes\n");
    expect_says(report_of(fallback), "10000 bytes, \"large\"\n");
    expect_says(report_of(pool), "tarn: 0 live allocations, 0 bytes\n");
    free_one(first);
    expect_ok(tarn_pool_free(fallback, second));
    expect_says(report_of(fallback), "tarn: 0 live allocations, 0 bytes\n");
    destroy_empty();
    expect_ok(tarn_pool_destroy(fallback));
}

/* Though the pool that the program names is not in debug mode. */
static void a_fallback_learns_who_called(void **state)
{
    if (!TN_HAS_EXECINFO) skip();
    tarn_pool *fallback = create_small_with_fallback(0);
    void *here = allocate_here(fallback), *there = alloc(10000);
    expect_says(report_of(fallback), "1 live allocation, 10000 bytes\n");
    expect_ok(tarn_pool_free(fallback, here));
    free_one(there);
    destroy_empty();
    expect_ok(tarn_pool_destroy(fallback));
}

static void memory_of_the_caller_has_debug_mode_too(void **state)
{
    static char memory[8192];
    options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    options.debug = TARN_DEBUG_SITES;
    expect_ok(tarn_pool_create_over(memory, sizeof memory, &options, &pool));
    tarn_label_push("over");
    alloc(10);
    tarn_label_pop();
    expect_says(report_of(pool), "\"over\"");
}

static void unknown_flags_are_refused(void **state)
{
    options.debug = 0x80000000u;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "debug");
}

static void a_report_needs_a_pool_and_a_file(void **state)
{
    create_with(TARN_DEBUG_SITES);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_report_leaks(pool, NULL));
    FILE *full = fopen("/dev/full", "w");
    if (full) {
        expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_report_leaks(pool, full));
        fclose(full);
    }
    tarn_pool *gone = pool;
    destroy_empty();
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_report_leaks(gone, stderr));
}

/* --- many, threads, no host memory --------------------------------------------------------------- */

static void many_records_are_found_again(void **state)
{
    enum {
        COUNT = 1000
    };
    static void *addresses[COUNT];
    create_with(TARN_DEBUG_SITES);
    for (int i = 0; i < COUNT; i++)
        addresses[i] = alloc(10);
    expect_says(report_of(pool), "tarn: 1000 live allocations, 10000 bytes\n");
    for (int i = 0; i < COUNT; i++)
        free_one(addresses[(i * 7) % COUNT]);
    assert_string_equal(report_of(pool), "tarn: 0 live allocations, 0 bytes\n");
    destroy_empty();
}

static void *allocate_free_and_look(void *argument)
{
    for (int i = 0; i < 300; i++) {
        void *address;
        FILE *file = fopen("/dev/null", "w");
        bool is_well = tarn_pool_alloc(pool, 100, &address) == TARN_STATUS_OK &&
                       tarn_pool_report_leaks(pool, file) == TARN_STATUS_OK &&
                       tarn_pool_dump(pool, TARN_DUMP_FORMAT_TEXT, file) == TARN_STATUS_OK &&
                       tarn_pool_free(pool, address) == TARN_STATUS_OK;
        fclose(file);
        if (!is_well) return &pool;
    }
    return NULL;
}

static void threads_may_report_while_others_allocate(void **state)
{
    create_with(TARN_DEBUG_SITES);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, allocate_free_and_look, NULL);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    destroy_empty();
}

/* A whole life; a step that finds no host memory has changed nothing. */
static void live_once(void)
{
    options.debug = TARN_DEBUG_SITES;
    void *addresses[100];
    int count = 0;
    if (tarn_pool_create(&options, &pool) != TARN_STATUS_OK) return;
    for (int i = 0; i < 100; i++) {
        tarn_status status = tarn_pool_alloc(pool, 100, &addresses[count]);
        if (status != TARN_STATUS_OK) assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
        if (status == TARN_STATUS_OK) count++;
    }
    FILE *file = tmpfile();
    tarn_status status = tarn_pool_report_leaks(pool, file);
    if (status != TARN_STATUS_OK) assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
    fclose(file);
    expect_ok(tarn_pool_check(pool));
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
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_without_pool, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(labels_nest_and_the_innermost_counts),
        CASE(labels_are_copied_and_cut),
        CASE(a_label_may_have_any_bytes),
        CASE(a_label_of_null_is_none),
        CASE(of_labels_too_deep_the_32nd_counts),
        CASE(labels_are_the_threads_own),
        CASE(groups_are_of_one_label_and_one_call_site),
        CASE(a_call_site_begins_outside_the_library),
        CASE(a_function_of_the_user_does_not_change_the_call_site),
        CASE(the_dump_shows_label_and_site),
        CASE(a_pool_without_debug_mode_tells_sums_and_labels),
        CASE(the_dump_of_a_pool_without_debug_mode_has_labels),
        CASE(a_report_names_the_pool),
        CASE(a_report_without_host_memory_writes_nothing),
        CASE(wrong_frees_are_refused_as_without),
        CASE(a_refused_free_keeps_the_record),
        CASE(a_fallback_keeps_its_own_records),
        CASE(a_fallback_learns_who_called),
        CASE(memory_of_the_caller_has_debug_mode_too),
        CASE(unknown_flags_are_refused),
        CASE(a_report_needs_a_pool_and_a_file),
        CASE(many_records_are_found_again),
        CASE(threads_may_report_while_others_allocate),
        CASE(no_host_memory_fails_an_allocation_and_never_a_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
