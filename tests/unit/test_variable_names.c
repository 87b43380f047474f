/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_variable_names: misspelt variables are named once, with the right name, and no others are.
 *
 *     test_variable_names NAME...     prints the names that are not known, for the test api.known_variables
 */
#include "process/variable_names.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/environment.h"
#include "harness/child.h"
#include "harness/claims.h"

/* --- names ------------------------------------------------------------------------------------------- */

static void names_that_mean_something_are_known(void **state)
{
    static const char *const known[] = {
        "TARN_LIMIT",       "TARN_TRACE",        "TARN_LOG",         "TARN_STATS",
        "TARN_SEED",        "TARN_BENCH",        "TARN_SIM_FAIL",    "TARN_BACKEND",
        "TARN_ROOT",        "TARN_DIR",          "TARN_LIB_PATH",    "TARN_TORCH_DIR",
        "TARN_BUILD_TESTS", "TARN_HOME",         "TARN_VERSION",     "TARN_SOURCE",
        "TARN_RECORD_HOST", "TARN_KOKKOS_TRACE", "TARN_CI_OPTIONAL", "TARN_RUN_PASS",
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!tn_variable_name_is_known(known[i])) fail_msg("%s is not known", known[i]);
    }
    static const char *const unknown[] = { "TARN_",      "TARN_LIMT",   "TARN_LIMIT_",
                                           "TARN_limit", "TARN_SIMS",   "TARN_RECORD",
                                           "TARN_BUILD", "TARN_ROOTS",  "TARN_LIMIT2",
                                           "TARN_RUN_",  "TARN_RUN_PAS" };
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        if (tn_variable_name_is_known(unknown[i])) fail_msg("%s is known", unknown[i]);
    }
}

/* The message of a refused value names these. */
static void all_variables_of_the_process_wide_pool_are_known(void **state)
{
    static const char *const set[] = { "TARN_INITIAL", "TARN_KIND", "TARN_IDENTIFY_STREAMS" };
    char names[256], *rest = names;
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        setenv(set[i], "1", 1);
    tn_environment_name_set(names, sizeof names);
    size_t count = 0;
    for (char *name; (name = strtok_r(rest, ", ", &rest)) != NULL; count++)
        assert_true(tn_variable_name_is_known(name));
    assert_int_equal(count, 3);
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        unsetenv(set[i]);
}

static void the_nearest_name_is_found(void **state)
{
    static const struct {
        const char *name;
        const char *nearest; /* or NULL */
    } cases[] = {
        { "TARN_LIMT", "TARN_LIMIT" },                /* one is left out */
        { "TARN_LIMMIT", "TARN_LIMIT" },              /* one is too many */
        { "TARN_LIMIR", "TARN_LIMIT" },               /* one is another */
        { "TARN_LIMTI", "TARN_LIMIT" },               /* two are swapped */
        { "TARN_ILMTI", "TARN_LIMIT" },               /* twice */
        { "TARN_MILIT", "TARN_LIMIT" },               /* two are others */
        { "TARN_LIMIT_BYTES", "TARN_LIMIT" },         /* it goes on */
        { "TARN_IDENTIFY", "TARN_IDENTIFY_STREAMS" }, /* it ends early */
        { "TARN_GROW", "TARN_GROWTH" },
        { "TARN_GROWTHMAX", "TARN_GROWTH_MAX" },
        { "TARN_FIX", "TARN_FIT" },
        { "TARN_RANK", "TARN_RANKS" },
        { "TARN_DISABLED", "TARN_DISABLE" },
        { "TARN_RUN_SYNC_FREE", "TARN_RUN_SYNC_FREES" },
        { "TARN_limit", NULL },
        { "TARN_FOX", NULL }, /* half of FIT */
        { "TARN_D", NULL },
        { "TARN_", NULL },
        { "TARN_OFFSPRING", NULL },
        { "TARN_A_NAME_THAT_IS_LONGER_THAN_ANY_THAT_IS_KNOWN", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *nearest = tn_variable_name_nearest(cases[i].name);
        bool is_right =
            cases[i].nearest ? nearest && strcmp(nearest, cases[i].nearest) == 0 : nearest == NULL;
        if (!is_right)
            fail_msg("%s: %s, expected %s", cases[i].name, nearest ? nearest : "none",
                     cases[i].nearest ? cases[i].nearest : "none");
    }
}

/* --- the environment --------------------------------------------------------------------------------- */

static char memory[4096];

static void *create_pool(void *unused)
{
    tarn_pool *pool;
    if (tarn_pool_create_over(memory, sizeof memory, NULL, &pool) != TARN_STATUS_OK) return memory;
    return tarn_pool_destroy(pool) == TARN_STATUS_OK ? unused : memory;
}

static void create_pools(void *unused)
{
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        CHILD_EXPECT(pthread_create(&threads[i], NULL, create_pool, NULL) == 0);
    for (size_t i = 0; i < 4; i++) {
        void *failed;
        CHILD_EXPECT(pthread_join(threads[i], &failed) == 0 && !failed);
    }
    CHILD_EXPECT(!create_pool(NULL));
}

/* On a host, or where the device is not there: the names are told before the pool is refused. */
static void use_tarn_malloc(void *unused)
{
    void *address;
    (void)tarn_malloc(1, &address);
    (void)tarn_malloc(1, &address);
}

static void use_nothing(void *unused)
{
    (void)tarn_version();
}

static void a_misspelt_name_is_told_once(void **state)
{
    setenv("TARN_LIMT", "1G", 1);
    setenv("TARN_SEEDS", "1", 1);
    const char *output = error_output_of_child(create_pools);
    assert_non_null(
        strstr(output, "tarn: TARN_LIMT is no variable of tarn; did you mean TARN_LIMIT?\n"));
    assert_non_null(strstr(output, "tarn: TARN_SEEDS is no variable of tarn\n"));
    size_t line_count = 0;
    for (const char *at = output; (at = strchr(at, '\n')) != NULL; at++)
        line_count++;
    assert_int_equal(line_count, 2);
    assert_string_equal(error_output_of_child(use_nothing), "");
    unsetenv("TARN_LIMT");
    unsetenv("TARN_SEEDS");
}

static void it_is_told_before_the_process_wide_pool_is_refused(void **state)
{
    static const char told[] = "tarn: TARN_KINDS is no variable of tarn; did you mean TARN_KIND?\n";
    setenv("TARN_KINDS", "host", 1);
    setenv("TARN_LIMIT", "much", 1);
    assert_string_equal(error_output_of_child(use_tarn_malloc), told);
    unsetenv("TARN_LIMIT");
    assert_string_equal(error_output_of_child(use_tarn_malloc), told);
    unsetenv("TARN_KINDS");
}

static void other_variables_are_not_told(void **state)
{
    setenv("TARN_LIMT", "", 1); /* counts as not set */
    setenv("TARNISH", "1", 1);
    setenv("tarn_limit", "1", 1);
    setenv("TARN_SEED", "1", 1);
    setenv("TARN_ROOT", "/opt/tarn", 1);
    assert_string_equal(error_output_of_child(create_pools), "");
    unsetenv("TARN_LIMT");
    unsetenv("TARNISH");
    unsetenv("tarn_limit");
    unsetenv("TARN_SEED");
    unsetenv("TARN_ROOT");
}

static void nothing_is_told_with_the_log_off(void **state)
{
    setenv("TARN_LIMT", "1G", 1);
    setenv("TARN_LOG", "off", 1);
    assert_string_equal(error_output_of_child(create_pools), "");
    setenv("TARN_LOG", "warning", 1);
    assert_non_null(strstr(error_output_of_child(create_pools), "TARN_LIMT"));
    unsetenv("TARN_LOG");
    unsetenv("TARN_LIMT");
}

static void names_from_outside_are_escaped_and_cut(void **state)
{
    char long_name[1000];
    setenv("TARN_\x1b[1m\n", "1", 1);
    assert_string_equal(error_output_of_child(create_pools),
                        "tarn: TARN_\\x1b[1m\\x0a is no variable of tarn\n");
    unsetenv("TARN_\x1b[1m\n");
    memset(long_name, 'X', sizeof long_name);
    memcpy(long_name, "TARN_", 5);
    long_name[sizeof long_name - 1] = '\0';
    setenv(long_name, "1", 1);
    const char *output = error_output_of_child(create_pools);
    assert_int_equal(strncmp(output, "tarn: TARN_XXXX", 15), 0);
    assert_true(strlen(output) < 200);
    unsetenv(long_name);
}

static void print_unknown(int count, char **names)
{
    for (int i = 0; i < count; i++) {
        if (!tn_variable_name_is_known(names[i])) puts(names[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        print_unknown(argc - 1, argv + 1);
        return 0;
    }
    unsetenv("TARN_LOG");
    unsetenv("TARN_STATS");
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_mean_something_are_known),
        cmocka_unit_test(all_variables_of_the_process_wide_pool_are_known),
        cmocka_unit_test(the_nearest_name_is_found),
        cmocka_unit_test(a_misspelt_name_is_told_once),
        cmocka_unit_test(it_is_told_before_the_process_wide_pool_is_refused),
        cmocka_unit_test(other_variables_are_not_told),
        cmocka_unit_test(nothing_is_told_with_the_log_off),
        cmocka_unit_test(names_from_outside_are_escaped_and_cut),
    };
    return cmocka_run_group_tests_name("variable_names", tests, NULL, NULL);
}
