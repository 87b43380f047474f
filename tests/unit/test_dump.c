/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The dump: its text says what is there, its JSON parses and adds up. */
#include <jansson.h>

#include <tarn/host.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/test_backend.h"

static struct test_backend source;
static tarn_backend_operations operations;
static char text[65536];

static tarn_pool *create_named(const char *name)
{
    test_backend_init(&source);
    tarn_backend backend = test_backend_open(&source);
    operations = *backend.operations;
    operations.name = name;
    backend.operations = &operations;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = 65536;
    options.alignment_bytes = 16;
    return new_pool(&options);
}

/* Two static pools: in the first, slices of 128 bytes, of which one is live of 100, free, live of 2000; a live one
 * in the second. */
static tarn_pool *example(const char *name)
{
    tarn_pool *pool = create_named(name);
    void *address, *hole;
    expect_ok(tarn_pool_alloc(pool, 100, &address));
    expect_ok(tarn_pool_alloc(pool, 5000, &hole));
    expect_ok(tarn_pool_alloc(pool, 2000, &address));
    expect_ok(tarn_pool_alloc(pool, 100000, &address));
    expect_ok(tarn_pool_free(pool, hole));
    return pool;
}

static const char *dumped(tarn_pool *pool, tarn_dump_format format)
{
    FILE *file = tmpfile();
    expect_ok(tarn_pool_dump(pool, format, file));
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void expect_says(const char *part)
{
    if (!strstr(text, part)) fail_msg("the dump does not say \"%s\":\n%s", part, text);
}

static void text_says_what_is_there(void **state)
{
    tarn_pool *pool = example("test");
    dumped(pool, TARN_DUMP_FORMAT_TEXT);
    expect_says("tarn pool on test memory, chunks of 1024 bytes, best_fit");
    expect_says("requested 102100, used 103424, footprint 167936 bytes");
    expect_says("3 live, 3 free regions");
    expect_says("held: requested 102100, rounding 428, slices 896, shut_in 64512\n");
    expect_says(" 128 bytes live, 100 asked for");
    expect_says(" 896 bytes sliced");
    expect_says("5120 bytes free");
    expect_says("2048 bytes live, 2000 asked for");
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
}

static json_int_t integer(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) fail_msg("\"%s\" is not there", key);
    return json_integer_value(value);
}

static json_t *parsed(tarn_pool *pool)
{
    json_error_t error;
    json_t *root = json_loads(dumped(pool, TARN_DUMP_FORMAT_JSON), JSON_REJECT_DUPLICATES, &error);
    if (!root) fail_msg("line %d: %s\n%s", error.line, error.text, text);
    return root;
}

static void json_regions_tile_their_static_pools(void **state)
{
    tarn_pool *pool = example("test");
    json_t *root = parsed(pool);
    assert_int_equal(integer(root, "tarn_dump"), 1);
    assert_int_equal(integer(root, "chunk_bytes"), 1024);
    assert_string_equal(json_string_value(json_object_get(root, "fit")), "best_fit");
    assert_int_equal(integer(root, "footprint_bytes"), 167936);
    json_t *static_pools = json_object_get(root, "static_pools");
    assert_int_equal(json_array_size(static_pools), 2);

    json_int_t requested = 0;
    size_t i, k, live = 0;
    json_t *static_pool, *region;
    json_array_foreach(static_pools, i, static_pool)
    {
        json_int_t total = 0;
        json_array_foreach(json_object_get(static_pool, "regions"), k, region)
        {
            total += integer(region, "bytes");
            requested += integer(region, "requested_bytes");
            live += strcmp(json_string_value(json_object_get(region, "state")), "live") == 0;
        }
        assert_int_equal(total, integer(static_pool, "bytes"));
    }
    assert_int_equal(live, 3);
    assert_int_equal(requested, 102100);
    json_decref(root);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
}

static void what_is_not_mapped_is_said_to_be(void **state)
{
    test_backend_init(&source);
    source.range_granularity_bytes = 4096;
    tarn_backend backend = test_backend_open(&source);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.contiguous = true;
    options.step_bytes = 65536;
    options.limit_bytes = 131072;
    options.initial_bytes = 0;
    tarn_pool *pool = new_pool(&options);
    new_block(pool, 1000);
    dumped(pool, TARN_DUMP_FORMAT_TEXT);
    expect_says("64512 bytes free");
    expect_says("983040 bytes unmapped");
    dumped(pool, TARN_DUMP_FORMAT_JSON);
    expect_says("\"bytes\": 983040, \"state\": \"unmapped\", \"requested_bytes\": 0");
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
}

/* What was freed on a stream waits for it; what was never used waits for none. */
static void what_waits_for_streams_says_so(void **state)
{
    tarn_backend backend = new_host_backend(NULL);
    tarn_stream a, b;
    expect_ok(backend.operations->stream_create(backend.state, &a).status);
    expect_ok(backend.operations->stream_create(backend.state, &b).status);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = 65536;
    tarn_pool *pool = new_pool(&options);
    void *blocks[3];
    for (int i = 0; i < 3; i++)
        expect_ok(tarn_pool_alloc_on(pool, 4096, i == 1 ? b : a, &blocks[i]));
    expect_ok(tarn_pool_free_on(pool, blocks[1], b));
    dumped(pool, TARN_DUMP_FORMAT_JSON);
    expect_says("\"bytes\": 4096, \"state\": \"free\", \"requested_bytes\": 0, \"streams\": [1]}");
    expect_ok(tarn_pool_free_on(pool, blocks[0], a));
    dumped(pool, TARN_DUMP_FORMAT_TEXT);
    expect_says("4096 bytes free, waits for stream 0\n");
    expect_says("4096 bytes free, waits for stream 1\n");
    expect_says("53248 bytes free\n");
    json_decref(parsed(pool));
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    expect_ok(backend.operations->stream_destroy(backend.state, a).status);
    expect_ok(backend.operations->stream_destroy(backend.state, b).status);
    tarn_backend_close(&backend);
}

/* Free memory of a capture is free for nobody else. */
static void what_belongs_to_a_capture_says_so(void **state)
{
    tarn_backend backend = new_host_backend(NULL);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = 65536;
    tarn_pool *pool = new_pool(&options);
    void *block;
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, NULL, &capture));
    expect_ok(tarn_pool_alloc_on(pool, 4096, NULL, &block));
    expect_ok(tarn_pool_free_on(pool, block, NULL));
    expect_ok(tarn_capture_end(pool, capture));
    dumped(pool, TARN_DUMP_FORMAT_JSON);
    expect_says("\"captured_bytes\": 4096,");
    expect_says("\"bytes\": 4096, \"state\": \"captured\", \"requested_bytes\": 0, ");
    expect_says("\"bytes\": 61440, \"state\": \"free\"");
    dumped(pool, TARN_DUMP_FORMAT_TEXT);
    expect_says("0 live, 1 free regions, the largest of 61440 bytes");
    expect_says("held: captured 4096, shut_in 61440\n");
    expect_says("4096 bytes captured, waits for stream 1\n");
    json_decref(parsed(pool));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    dumped(pool, TARN_DUMP_FORMAT_TEXT);
    expect_says("65536 bytes free\n");
    expect_ok(tarn_pool_destroy(pool));
    tarn_backend_close(&backend);
}

static void an_empty_pool_is_valid_json(void **state)
{
    tarn_pool *pool = create_named("test");
    json_t *root = parsed(pool);
    assert_int_equal(json_array_size(json_object_get(root, "static_pools")), 0);
    json_decref(root);
    expect_ok(tarn_pool_destroy(pool));
}

static void a_users_backend_may_have_any_name(void **state)
{
    tarn_pool *pool = create_named("a \"name\"\n\\with\teverything");
    json_t *root = parsed(pool);
    assert_string_equal(json_string_value(json_object_get(root, "backend")),
                        "a \"name\"\n\\with\teverything");
    json_decref(root);
    dumped(pool, TARN_DUMP_FORMAT_TEXT);
    expect_says("tarn pool on a \"name\"\\x0a\\with\\x09everything memory");
    expect_ok(tarn_pool_destroy(pool));
}

static void a_file_that_takes_nothing_is_an_error(void **state)
{
    tarn_pool *pool = example("test");
    FILE *full = fopen("/dev/full", "w");
    if (!full) skip();
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_dump(pool, TARN_DUMP_FORMAT_TEXT, full));
    fclose(full);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
}

static void without_host_memory_nothing_is_written(void **state)
{
    tarn_pool *pool = example("test");
    for (unsigned n = 1; n <= 2; n++) {
        FILE *file = tmpfile();
        host_memory_faults_begin(n);
        expect_status(TARN_STATUS_OUT_OF_HOST_MEMORY,
                      tarn_pool_dump(pool, TARN_DUMP_FORMAT_JSON, file));
        assert_int_equal(host_memory_faults_outstanding(), 0);
        assert_true(host_memory_faults_end());
        assert_int_equal(ftell(file), 0);
        fclose(file);
    }
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_says_what_is_there),
        cmocka_unit_test(json_regions_tile_their_static_pools),
        cmocka_unit_test(what_is_not_mapped_is_said_to_be),
        cmocka_unit_test(what_waits_for_streams_says_so),
        cmocka_unit_test(what_belongs_to_a_capture_says_so),
        cmocka_unit_test(an_empty_pool_is_valid_json),
        cmocka_unit_test(a_users_backend_may_have_any_name),
        cmocka_unit_test(a_file_that_takes_nothing_is_an_error),
        cmocka_unit_test(without_host_memory_nothing_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
