/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_environment: every variable with good values and bad ones, which the message names. */
#include "process/environment.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness/claims.h"

#define KB ((size_t)1 << 10)
#define MB ((size_t)1 << 20)
#define GB ((size_t)1 << 30)
#define TB ((size_t)1 << 40)

static const char *const names[] = {
    "TARN_PRESET",     "TARN_INITIAL",      "TARN_LIMIT",
    "TARN_GROWTH",     "TARN_GROWTH_MAX",   "TARN_CHUNK",
    "TARN_DEVICE",     "TARN_RANKS",        "TARN_RELEASE",
    "TARN_VANISH",     "TARN_KIND",         "TARN_CONTIGUOUS",
    "TARN_STEP",       "TARN_DEBUG",        "TARN_QUARANTINE",
    "TARN_SHAREABLE",  "TARN_DISABLE",      "TARN_IDENTIFY_STREAMS",
    "TARN_FIT",        "TARN_FREE",         "TARN_SLICES",
    "TARN_ALIGNMENT",  "TARN_ZERO_ADDRESS", "TARN_STREAM_SLACK",
    "TARN_PENDING_MAX"
};

static int unset_all(void **state)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    return 0;
}

static struct tn_environment defaults_of(void)
{
    return (struct tn_environment){
        .options = TARN_POOL_OPTIONS_INIT,
        .location = { TARN_DEVICE_CURRENT, TARN_MEMORY_KIND_DEVICE },
    };
}

static struct tn_environment read_with(const char *name, const char *value)
{
    struct tn_environment environment = defaults_of();
    setenv(name, value, 1);
    expect_ok(tn_environment_read(&environment));
    unsetenv(name);
    return environment;
}

/* The value is refused, the message names the variable and the value, and nothing was written. */
static void expect_refused(const char *name, const char *value)
{
    struct tn_environment environment = defaults_of(), before;
    memcpy(&before, &environment, sizeof before); /* with the padding */
    setenv(name, value, 1);
    tarn_status status = tn_environment_read(&environment);
    unsetenv(name);
    if (status != TARN_STATUS_INVALID_ENVIRONMENT)
        fail_msg("%s=%s: %s", name, value, tarn_status_name(status));
    assert_int_equal(tarn_last_error().status, TARN_STATUS_INVALID_ENVIRONMENT);
    expect_message(name);
    expect_message(value);
    assert_memory_equal(&environment, &before, sizeof before);
}

static void expect_defaults(const struct tn_environment *environment)
{
    const tarn_pool_options defaults = TARN_POOL_OPTIONS_INIT;
    assert_int_equal(environment->options.struct_bytes, defaults.struct_bytes);
    assert_null(environment->options.backend);
    assert_int_equal(environment->options.chunk_bytes, defaults.chunk_bytes);
    assert_int_equal(environment->options.alignment_bytes, defaults.alignment_bytes);
    assert_false(environment->options.zero_has_address);
    assert_int_equal(environment->options.initial_bytes, defaults.initial_bytes);
    assert_true(environment->options.growth_factor == defaults.growth_factor);
    assert_int_equal(environment->options.growth_bytes_max, defaults.growth_bytes_max);
    assert_int_equal(environment->options.limit_bytes, defaults.limit_bytes);
    assert_int_equal(environment->location.device, TARN_DEVICE_CURRENT);
    assert_int_equal(environment->options.rank_count, 0);
    assert_int_equal(environment->location.kind, TARN_MEMORY_KIND_DEVICE);
    assert_int_equal(environment->options.release_threshold_bytes, 0);
    assert_false(environment->options.returns_when_empty);
    assert_int_equal(environment->options.limit_percent, 0);
    assert_false(environment->options.contiguous);
    assert_int_equal(environment->options.step_bytes, 0);
    assert_int_equal(environment->options.debug, 0);
    assert_int_equal(environment->options.quarantine_bytes, defaults.quarantine_bytes);
    assert_false(environment->options.is_shareable);
    assert_int_equal(environment->options.fit, TARN_FIT_BEST);
    assert_false(environment->options.passes_through);
    assert_false(environment->options.identifies_streams);
    assert_false(environment->options.free_waits);
    assert_true(environment->options.stream_slack == 0.0);
    assert_true(environment->options.pending_factor_max == 0.0);
    assert_true(environment->options.slices);
}

static void variables_that_are_unset_or_empty_change_nothing(void **state)
{
    struct tn_environment environment = defaults_of();
    expect_ok(tn_environment_read(&environment));
    expect_defaults(&environment);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        environment = read_with(names[i], "");
        expect_defaults(&environment);
    }
}

static void all_variables_are_read_together(void **state)
{
    static const char *const values[] = {
        "lean", "700M", "8G",   "1.5",    "2G",        "4K",    "3",
        "6",    "1G",   "1",    "pinned", "1",         "64M",   "sites,zones,poison,quarantine",
        "5M",   "1",    "1",    "1",      "first_fit", "waits", "0",
        "2K",   "1",    "0.25", "1.5"
    };
    _Static_assert(sizeof values == sizeof names, "one for each");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        setenv(names[i], values[i], 1);
    struct tn_environment environment = defaults_of();
    expect_ok(tn_environment_read(&environment));
    assert_int_equal(environment.options.fit, TARN_FIT_FIRST);
    assert_int_equal(environment.options.initial_bytes, 700 * MB);
    assert_int_equal(environment.options.limit_bytes, 8 * GB);
    assert_int_equal(environment.options.limit_percent, 0);
    assert_true(environment.options.growth_factor == 1.5);
    assert_int_equal(environment.options.growth_bytes_max, 2 * GB);
    assert_int_equal(environment.options.chunk_bytes, 4 * KB);
    assert_int_equal(environment.options.alignment_bytes, 2 * KB);
    assert_true(environment.options.zero_has_address);
    assert_int_equal(environment.location.device, 3);
    assert_int_equal(environment.options.rank_count, 6);
    assert_int_equal(environment.options.release_threshold_bytes, GB);
    assert_true(environment.options.returns_when_empty);
    assert_int_equal(environment.location.kind, TARN_MEMORY_KIND_PINNED);
    assert_true(environment.options.contiguous);
    assert_int_equal(environment.options.step_bytes, 64 * MB);
    assert_int_equal(environment.options.debug, TARN_DEBUG_SITES | TARN_DEBUG_ZONES |
                                                    TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE);
    assert_int_equal(environment.options.quarantine_bytes, 5 * MB);
    assert_true(environment.options.is_shareable);
    assert_true(environment.options.passes_through);
    assert_true(environment.options.identifies_streams);
    assert_true(environment.options.free_waits);
    assert_true(environment.options.stream_slack == 0.25);
    assert_true(environment.options.pending_factor_max == 1.5);
    assert_false(environment.options.slices);
}

/* --- bytes -------------------------------------------------------------------------------------- */

static void expect_initial(const char *value, size_t expected)
{
    size_t initial = read_with("TARN_INITIAL", value).options.initial_bytes;
    if (initial != expected) fail_msg("%s is read as %zu, not %zu", value, initial, expected);
}

static void sizes_are_bytes_or_have_a_suffix(void **state)
{
    expect_initial("0", 0);
    expect_initial("1", 1);
    expect_initial("123", 123);
    expect_initial("0064", 64);
    expect_initial("64K", 64 * KB);
    expect_initial("64k", 64 * KB);
    expect_initial("700M", 700 * MB);
    expect_initial("700m", 700 * MB);
    expect_initial("700MiB", 700 * MB);
    expect_initial("2G", 2 * GB);
    expect_initial("2g", 2 * GB);
    expect_initial("1T", TB);
    expect_initial("1t", TB);
    expect_initial("0T", 0);
}

static void the_largest_sizes_are_read(void **state)
{
    expect_initial("18446744073709551613", SIZE_MAX - 2);
    expect_initial("18446744073709551614", SIZE_MAX - 1);
    expect_initial("18446744073709551615", SIZE_MAX);
    expect_initial("16777215T", SIZE_MAX - TB + 1);
    expect_initial("18014398509481983K", SIZE_MAX - KB + 1);
}

/* What no variable that holds a size takes. */
static void expect_bad_sizes_refused(const char *name)
{
    static const char *const values[] = {
        "18446744073709551616", /* more than a size holds, as are the next three */
        "99999999999999999999999",
        "16777216T",
        "18014398509481984K",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1.5G",
        "0x400",
        "1e9",
        "1KB",
        "1KiBit",
        "1P",
        "M",
        "KM",
        "1KK",
        "1K%",
        "much",
        "\xc3\xa9",
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        expect_refused(name, values[i]);
}

static void sizes_that_do_not_parse_are_refused(void **state)
{
    expect_bad_sizes_refused("TARN_INITIAL");
    expect_bad_sizes_refused("TARN_LIMIT");
    expect_bad_sizes_refused("TARN_CHUNK");
    expect_bad_sizes_refused("TARN_STEP");
    expect_refused("TARN_STEP", "3M");
    assert_int_equal(read_with("TARN_STEP", "0").options.step_bytes, 0);
    expect_refused("TARN_INITIAL", "50%");
    expect_refused("TARN_CHUNK", "50%");
}

/* --- the limit ---------------------------------------------------------------------------------- */

static void a_limit_is_bytes_or_a_percentage(void **state)
{
    struct tn_environment environment = read_with("TARN_LIMIT", "8G");
    assert_int_equal(environment.options.limit_bytes, 8 * GB);
    assert_int_equal(environment.options.limit_percent, 0);
    environment = read_with("TARN_LIMIT", "50%");
    assert_int_equal(environment.options.limit_bytes, 0);
    assert_int_equal(environment.options.limit_percent, 50);
}

static void a_limit_is_a_chunk_or_more(void **state)
{
    expect_refused("TARN_LIMIT", "0");
    expect_refused("TARN_LIMIT", "1023");
    assert_int_equal(read_with("TARN_LIMIT", "1024").options.limit_bytes, 1024);
    assert_int_equal(read_with("TARN_LIMIT", "1025").options.limit_bytes, 1025);
    setenv("TARN_CHUNK", "4K", 1);
    expect_refused("TARN_LIMIT", "4095");
    assert_int_equal(read_with("TARN_LIMIT", "4096").options.limit_bytes, 4096);
}

static void percentages_are_from_1_to_100(void **state)
{
    expect_refused("TARN_LIMIT", "0%");
    assert_int_equal(read_with("TARN_LIMIT", "1%").options.limit_percent, 1);
    assert_int_equal(read_with("TARN_LIMIT", "2%").options.limit_percent, 2);
    assert_int_equal(read_with("TARN_LIMIT", "99%").options.limit_percent, 99);
    assert_int_equal(read_with("TARN_LIMIT", "100%").options.limit_percent, 100);
    expect_refused("TARN_LIMIT", "101%");
    expect_refused("TARN_LIMIT", "4294967297%"); /* 1 in 32 bits */
    expect_refused("TARN_LIMIT", "18446744073709551617%");
    expect_refused("TARN_LIMIT", "-1%");
    expect_refused("TARN_LIMIT", "+1%");
    expect_refused("TARN_LIMIT", "%");
    expect_refused("TARN_LIMIT", "50%%");
    expect_refused("TARN_LIMIT", "50% ");
    expect_refused("TARN_LIMIT", "50 %");
    expect_refused("TARN_LIMIT", "50.5%");
}

/* --- the growth factor -------------------------------------------------------------------------- */

static void expect_factor(const char *value, double expected)
{
    double factor = read_with("TARN_GROWTH", value).options.growth_factor;
    if (factor != expected) fail_msg("%s is read as %g, not %g", value, factor, expected);
}

static void a_factor_is_one_or_more(void **state)
{
    expect_factor("1", 1.0);
    expect_factor("1.0", 1.0);
    expect_factor("1.25", 1.25);
    expect_factor("2", 2.0);
    expect_factor("1000.0", 1000.0);
    expect_factor("01.50", 1.5);
    expect_factor("1.0625", 1.0625);
    expect_factor("18446744073709551615", 18446744073709551615.0);
    assert_int_equal(read_with("TARN_GROWTH_MAX", "256M").options.growth_bytes_max, 256 * MB);
    assert_int_equal(read_with("TARN_GROWTH_MAX", "0").options.growth_bytes_max, 0);
    expect_refused("TARN_GROWTH_MAX", "big");
    expect_refused("TARN_GROWTH", "0.999");
    expect_refused("TARN_GROWTH", "0");
    expect_refused("TARN_GROWTH", "-2");
    expect_refused("TARN_GROWTH", "+2");
    expect_refused("TARN_GROWTH", " 2");
    expect_refused("TARN_GROWTH", "2 ");
    expect_refused("TARN_GROWTH", "2x");
    expect_refused("TARN_GROWTH", "2,5");
    expect_refused("TARN_GROWTH", "x");
    expect_refused("TARN_GROWTH", ".5");
    expect_refused("TARN_GROWTH", "nan");
    expect_refused("TARN_GROWTH", "inf");
    expect_refused("TARN_GROWTH", "1.");
    expect_refused("TARN_GROWTH", "1.x");
    expect_refused("TARN_GROWTH", "1.-5");
    expect_refused("TARN_GROWTH", "1.5.5");
    expect_refused("TARN_GROWTH", "1e3");
    expect_refused("TARN_GROWTH", "1e999");
    expect_refused("TARN_GROWTH", "0x2");
    expect_refused("TARN_GROWTH", "18446744073709551616");
    expect_refused("TARN_GROWTH", "1.18446744073709551616");
    expect_refused("TARN_GROWTH", "50%");
}

/* --- the chunk ---------------------------------------------------------------------------------- */

static void a_chunk_is_a_power_of_two_within_bounds(void **state)
{
    assert_int_equal(read_with("TARN_CHUNK", "256").options.chunk_bytes, 256);
    assert_int_equal(read_with("TARN_CHUNK", "512").options.chunk_bytes, 512);
    assert_int_equal(read_with("TARN_CHUNK", "1K").options.chunk_bytes, KB);
    assert_int_equal(read_with("TARN_CHUNK", "32M").options.chunk_bytes, 32 * MB);
    expect_refused("TARN_CHUNK", "0");
    expect_refused("TARN_CHUNK", "1");
    expect_refused("TARN_CHUNK", "128");
    expect_refused("TARN_CHUNK", "255");
    expect_refused("TARN_CHUNK", "257");
    expect_refused("TARN_CHUNK", "1000");
    expect_refused("TARN_CHUNK", "3K");
    expect_refused("TARN_CHUNK", "67108863");
    expect_refused("TARN_CHUNK", "67108865");
    expect_refused("TARN_CHUNK", "128M");
    expect_refused("TARN_CHUNK", "9223372036854775808"); /* the highest power of two */
}

/* --- the device --------------------------------------------------------------------------------- */

static void an_alignment_is_a_power_of_two_up_to_the_chunk(void **state)
{
    assert_int_equal(read_with("TARN_ALIGNMENT", "16").options.alignment_bytes, 16);
    assert_int_equal(read_with("TARN_ALIGNMENT", "1024").options.alignment_bytes, 1024);
    assert_int_equal(read_with("TARN_ALIGNMENT", "1K").options.alignment_bytes, 1024);
    expect_refused("TARN_ALIGNMENT", "0");
    expect_refused("TARN_ALIGNMENT", "8");
    expect_refused("TARN_ALIGNMENT", "48");
    expect_refused("TARN_ALIGNMENT", "2K");
    expect_refused("TARN_ALIGNMENT", "-256");
    expect_refused("TARN_ALIGNMENT", "much");
    setenv("TARN_CHUNK", "4K", 1);
    assert_int_equal(read_with("TARN_ALIGNMENT", "4K").options.alignment_bytes, 4096);
    expect_refused("TARN_ALIGNMENT", "8K");
    unsetenv("TARN_CHUNK");
}

static void a_device_is_a_number(void **state)
{
    assert_int_equal(read_with("TARN_DEVICE", "0").location.device, 0);
    assert_int_equal(read_with("TARN_DEVICE", "7").location.device, 7);
    assert_int_equal(read_with("TARN_DEVICE", "2147483646").location.device, INT_MAX - 1);
    assert_int_equal(read_with("TARN_DEVICE", "2147483647").location.device, INT_MAX);
    expect_refused("TARN_DEVICE", "2147483648");
    expect_refused("TARN_DEVICE", "4294967296"); /* 0 in 32 bits */
    expect_refused("TARN_DEVICE", "18446744073709551616");
    expect_refused("TARN_DEVICE", "-1");
    expect_refused("TARN_DEVICE", "+1");
    expect_refused("TARN_DEVICE", "1K");
    expect_refused("TARN_DEVICE", "1.0");
    expect_refused("TARN_DEVICE", "1 ");
    expect_refused("TARN_DEVICE", "gpu0");
}

/* --- what goes back ----------------------------------------------------------------------------- */

static void all_is_an_initial_size(void **state)
{
    expect_initial("all", TARN_INITIAL_ALL);
    expect_refused("TARN_INITIAL", "All");
    expect_refused("TARN_INITIAL", "all ");
    expect_refused("TARN_LIMIT", "all");
    expect_refused("TARN_RELEASE", "all");
}

static void a_threshold_is_a_size(void **state)
{
    assert_int_equal(read_with("TARN_RELEASE", "0").options.release_threshold_bytes, 0);
    assert_int_equal(read_with("TARN_RELEASE", "1").options.release_threshold_bytes, 1);
    assert_int_equal(read_with("TARN_RELEASE", "64M").options.release_threshold_bytes, 64 * MB);
    expect_bad_sizes_refused("TARN_RELEASE");
}

/* What the program has set goes, and the variables of single options hold. */
static void a_preset_sets_what_it_is_about(void **state)
{
    struct tn_environment environment = defaults_of();
    environment.options.step_bytes = 64 * MB;
    environment.options.growth_bytes_max = 3 * GB;
    environment.options.limit_bytes = 5 * GB;
    setenv("TARN_PRESET", "lean", 1);
    setenv("TARN_GROWTH_MAX", "1G", 1);
    expect_ok(tn_environment_read(&environment));
    unset_all(state);
    assert_true(environment.options.contiguous);
    assert_int_equal(environment.options.initial_bytes, 0);
    assert_int_equal(environment.options.step_bytes, 0);
    assert_int_equal(environment.options.growth_bytes_max, GB);
    assert_true(environment.options.stream_slack == 0.25);
    assert_int_equal(environment.options.limit_bytes, 5 * GB);
    assert_int_equal(environment.options.chunk_bytes, TARN_CHUNK_BYTES_DEFAULT);
}

static void single_options_may_differ_from_the_preset(void **state)
{
    setenv("TARN_PRESET", "lean", 1);
    assert_false(read_with("TARN_CONTIGUOUS", "0").options.contiguous);
    assert_int_equal(read_with("TARN_INITIAL", "1M").options.initial_bytes, MB);
    assert_int_equal(read_with("TARN_STEP", "4M").options.step_bytes, 4 * MB);
    assert_true(read_with("TARN_SHAREABLE", "1").options.is_shareable);
    unset_all(state);
}

static void an_unknown_preset_is_refused(void **state)
{
    expect_refused("TARN_PRESET", "Lean");
    expect_refused("TARN_PRESET", "lean ");
    expect_refused("TARN_PRESET", "1");
}

static void a_switch_is_0_or_1(void **state)
{
    assert_false(read_with("TARN_VANISH", "0").options.returns_when_empty);
    assert_true(read_with("TARN_VANISH", "1").options.returns_when_empty);
    expect_refused("TARN_VANISH", "2");
    expect_refused("TARN_VANISH", "yes");
    expect_refused("TARN_VANISH", "01");
    assert_true(read_with("TARN_CONTIGUOUS", "1").options.contiguous);
    assert_false(read_with("TARN_CONTIGUOUS", "0").options.contiguous);
    expect_refused("TARN_CONTIGUOUS", "yes");
    assert_true(read_with("TARN_SLICES", "").options.slices);
    assert_true(read_with("TARN_SLICES", "1").options.slices);
    assert_false(read_with("TARN_SLICES", "0").options.slices);
    expect_refused("TARN_SLICES", "no");
    assert_true(read_with("TARN_ZERO_ADDRESS", "1").options.zero_has_address);
    assert_false(read_with("TARN_ZERO_ADDRESS", "0").options.zero_has_address);
    expect_refused("TARN_ZERO_ADDRESS", "null");
    assert_true(read_with("TARN_IDENTIFY_STREAMS", "1").options.identifies_streams);
    assert_false(read_with("TARN_IDENTIFY_STREAMS", "0").options.identifies_streams);
    expect_refused("TARN_IDENTIFY_STREAMS", "yes");
    assert_true(read_with("TARN_FREE", "waits").options.free_waits);
    assert_false(read_with("TARN_FREE", "orders").options.free_waits);
    expect_refused("TARN_FREE", "1");
    assert_true(read_with("TARN_STREAM_SLACK", "0").options.stream_slack == 0.0);
    assert_true(read_with("TARN_STREAM_SLACK", "0.5").options.stream_slack == 0.5);
    assert_true(read_with("TARN_STREAM_SLACK", "8").options.stream_slack == 8.0);
    expect_refused("TARN_STREAM_SLACK", "8.01");
    expect_refused("TARN_STREAM_SLACK", "25%");
    expect_refused("TARN_STREAM_SLACK", "-1");
    assert_true(read_with("TARN_PENDING_MAX", "0.5").options.pending_factor_max == 0.5);
    assert_true(read_with("TARN_PENDING_MAX", "none").options.pending_factor_max < 0.0);
    expect_refused("TARN_PENDING_MAX", "0");
    expect_refused("TARN_PENDING_MAX", "-1");
    expect_refused("TARN_PENDING_MAX", "off");
    expect_refused("TARN_SHAREABLE", "1");
    expect_message("TARN_CONTIGUOUS");
    setenv("TARN_CONTIGUOUS", "1", 1);
    assert_true(read_with("TARN_SHAREABLE", "1").options.is_shareable);
    setenv("TARN_CONTIGUOUS", "0", 1);
    setenv("TARN_DISABLE", "1", 1);
    assert_true(read_with("TARN_SHAREABLE", "1").options.is_shareable);
    unset_all(NULL);
    assert_false(read_with("TARN_SHAREABLE", "0").options.is_shareable);
    expect_refused("TARN_SHAREABLE", "posix");
    assert_true(read_with("TARN_DISABLE", "1").options.passes_through);
    assert_false(read_with("TARN_DISABLE", "0").options.passes_through);
    expect_refused("TARN_DISABLE", "true");
}

static void variables_that_are_set_are_named(void **state)
{
    char text[400];
    tn_environment_name_set(text, sizeof text);
    assert_string_equal(text, "");
    setenv("TARN_FIT", "", 1);
    setenv("TARN_DEBUG", "sites", 1);
    setenv("TARN_LIMIT", "1G", 1);
    tn_environment_name_set(text, sizeof text);
    assert_string_equal(text, "TARN_LIMIT, TARN_DEBUG");
    tn_environment_name_set(text, 15);
    assert_string_equal(text, "TARN_LIMIT, TA");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        setenv(names[i], "1", 1);
    tn_environment_name_set(text, sizeof text);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_non_null(strstr(text, names[i]));
}

/* --- debug mode ---------------------------------------------------------------------------------- */

static void debug_mode_is_a_list(void **state)
{
    assert_int_equal(read_with("TARN_DEBUG", "sites").options.debug, TARN_DEBUG_SITES);
    assert_int_equal(read_with("TARN_DEBUG", "sites,sites").options.debug, TARN_DEBUG_SITES);
    assert_int_equal(read_with("TARN_DEBUG", "poison,zones").options.debug,
                     TARN_DEBUG_ZONES | TARN_DEBUG_POISON);
    expect_refused("TARN_QUARANTINE", "0");
    expect_refused("TARN_QUARANTINE", "much");
    expect_refused("TARN_DEBUG", "1");
    expect_refused("TARN_DEBUG", "site");
    expect_refused("TARN_DEBUG", "sitesx");
    expect_refused("TARN_DEBUG", "sites,");
    expect_refused("TARN_DEBUG", ",sites");
    expect_refused("TARN_DEBUG", "sites, sites");
}

/* --- the kind ----------------------------------------------------------------------------------- */

static void a_policy_has_a_name(void **state)
{
    assert_int_equal(read_with("TARN_FIT", "best_fit").options.fit, TARN_FIT_BEST);
    assert_int_equal(read_with("TARN_FIT", "first_fit").options.fit, TARN_FIT_FIRST);
    assert_int_equal(read_with("TARN_FIT", "segregated_fit").options.fit, TARN_FIT_SEGREGATED);
    assert_int_equal(read_with("TARN_FIT", "tlsf").options.fit, TARN_FIT_TLSF);
    assert_int_equal(read_with("TARN_FIT", "").options.fit, TARN_FIT_BEST);
    expect_refused("TARN_FIT", "best");
    expect_refused("TARN_FIT", "first_fit ");
    expect_refused("TARN_FIT", "TLSF");
    expect_refused("TARN_FIT", "0");
}

static void a_kind_has_a_name(void **state)
{
    assert_int_equal(read_with("TARN_KIND", "device").location.kind, TARN_MEMORY_KIND_DEVICE);
    assert_int_equal(read_with("TARN_KIND", "pinned").location.kind, TARN_MEMORY_KIND_PINNED);
    assert_int_equal(read_with("TARN_KIND", "shared").location.kind, TARN_MEMORY_KIND_SHARED);
    assert_int_equal(read_with("TARN_KIND", "managed").location.kind, TARN_MEMORY_KIND_SHARED);
    assert_int_equal(read_with("TARN_KIND", "host").location.kind, TARN_MEMORY_KIND_HOST);
    expect_refused("TARN_KIND", "Device");
    expect_refused("TARN_KIND", "host ");
    expect_refused("TARN_KIND", "dev");
    expect_refused("TARN_KIND", "0");
}

/* --- ranks -------------------------------------------------------------------------------------- */

static void ranks_are_a_number(void **state)
{
    assert_int_equal(read_with("TARN_RANKS", "1").options.rank_count, 1);
    assert_int_equal(read_with("TARN_RANKS", "2").options.rank_count, 2);
    assert_int_equal(read_with("TARN_RANKS", "2147483647").options.rank_count, INT_MAX);
    expect_refused("TARN_RANKS", "0");
    expect_refused("TARN_RANKS", "-1");
    expect_refused("TARN_RANKS", "4x");
    expect_refused("TARN_RANKS", "2147483648");
}

/* --- options of the program's own ---------------------------------------------------------------- */

/* The values need not be valid: the options are checked when the variables have been read. */
static void unset_variables_keep_the_options_of_the_program(void **state)
{
    struct tn_environment environment = defaults_of(), before;
    environment.options.chunk_bytes = 3;
    environment.options.step_bytes = 5;
    environment.options.quarantine_bytes = 0;
    environment.options.is_shareable = true;
    environment.options.debug = TARN_DEBUG_SITES;
    environment.options.rank_count = 9;
    environment.options.limit_percent = 50;
    environment.location = (struct tn_location){ 4, TARN_MEMORY_KIND_PINNED };
    memcpy(&before, &environment, sizeof before);
    expect_ok(tn_environment_read(&environment));
    assert_memory_equal(&environment, &before, sizeof before);
}

static void a_limit_replaces_the_programs_limit_of_either_kind(void **state)
{
    struct tn_environment environment = defaults_of();
    environment.options.limit_percent = 50;
    environment.options.limit_bytes = GB;
    setenv("TARN_LIMIT", "2G", 1);
    expect_ok(tn_environment_read(&environment));
    assert_int_equal(environment.options.limit_bytes, 2 * GB);
    assert_int_equal(environment.options.limit_percent, 0);
    setenv("TARN_LIMIT", "30%", 1);
    expect_ok(tn_environment_read(&environment));
    assert_int_equal(environment.options.limit_bytes, 0);
    assert_int_equal(environment.options.limit_percent, 30);
}

/* --- messages ----------------------------------------------------------------------------------- */

static void the_first_variable_that_does_not_parse_is_named(void **state)
{
    struct tn_environment environment = defaults_of();
    setenv("TARN_GROWTH", "0", 1);
    setenv("TARN_DEVICE", "x", 1);
    expect_status(TARN_STATUS_INVALID_ENVIRONMENT, tn_environment_read(&environment));
    expect_message("TARN_GROWTH");
    assert_null(strstr(tarn_last_error().message, "TARN_DEVICE"));
}

static void a_long_value_leaves_room_for_what_was_expected(void **state)
{
    char value[1000];
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    struct tn_environment environment = defaults_of();
    setenv("TARN_LIMIT", value, 1);
    expect_status(TARN_STATUS_INVALID_ENVIRONMENT, tn_environment_read(&environment));
    expect_message("TARN_LIMIT");
    expect_message("1% to 100%");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, unset_all, unset_all)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(variables_that_are_unset_or_empty_change_nothing),
        TEST(all_variables_are_read_together),
        TEST(sizes_are_bytes_or_have_a_suffix),
        TEST(the_largest_sizes_are_read),
        TEST(sizes_that_do_not_parse_are_refused),
        TEST(a_limit_is_bytes_or_a_percentage),
        TEST(a_limit_is_a_chunk_or_more),
        TEST(percentages_are_from_1_to_100),
        TEST(a_factor_is_one_or_more),
        TEST(a_chunk_is_a_power_of_two_within_bounds),
        TEST(an_alignment_is_a_power_of_two_up_to_the_chunk),
        TEST(a_device_is_a_number),
        TEST(all_is_an_initial_size),
        TEST(a_threshold_is_a_size),
        TEST(variables_that_are_set_are_named),
        TEST(debug_mode_is_a_list),
        TEST(a_preset_sets_what_it_is_about),
        TEST(single_options_may_differ_from_the_preset),
        TEST(an_unknown_preset_is_refused),
        TEST(a_switch_is_0_or_1),
        TEST(a_policy_has_a_name),
        TEST(a_kind_has_a_name),
        TEST(ranks_are_a_number),
        TEST(unset_variables_keep_the_options_of_the_program),
        TEST(a_limit_replaces_the_programs_limit_of_either_kind),
        TEST(the_first_variable_that_does_not_parse_is_named),
        TEST(a_long_value_leaves_room_for_what_was_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
