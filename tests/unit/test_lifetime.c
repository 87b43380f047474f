/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Until when a backend may call its vendor, with no vendor at hand. */
#include "harness/child.h"
#include "harness/claims.h"

#include "backend_common/lifetime.h"
#include "backend_common/opening.h"

static const tarn_backend_result ending = { TARN_STATUS_VENDOR_ERROR, 4, "ending" };

static int watch_forks(void **state)
{
    tarn_backend backend = { NULL, NULL };
    return tn_backend_check_open("test", TARN_MEMORY_KIND_DEVICE, &backend) == TARN_STATUS_OK ? 0
                                                                                              : -1;
}

static void be_the_parents(void *argument)
{
    const struct tn_lifetime *lifetime = argument;
    CHILD_EXPECT(tn_lifetime_is_forked(lifetime));
    CHILD_EXPECT(tn_lifetime_is_over(lifetime));
    CHILD_EXPECT(tn_lifetime_refusal(lifetime, ending).status == TARN_STATUS_FORKED);
    struct tn_lifetime own = tn_lifetime_begin();
    CHILD_EXPECT(!tn_lifetime_is_over(&own));
}

static void a_lifetime_is_over_in_a_child(void **state)
{
    struct tn_lifetime lifetime = tn_lifetime_begin();
    assert_false(tn_lifetime_is_over(&lifetime));
    expect_in_child(be_the_parents, &lifetime);
    assert_false(tn_lifetime_is_over(&lifetime));
}

static void open_for_the_first_time(void *unused)
{
    CHILD_EXPECT(tn_lifetime_check_open("Test", 0, ending) == TARN_STATUS_OK);
}

static void open_in_vain(void *unused)
{
    CHILD_EXPECT(tn_lifetime_check_open("Test", 7, ending) == TARN_STATUS_FORKED);
    CHILD_EXPECT(strstr(tarn_last_error().message, "Test device 7"));
}

/* A vendor that nobody has used yet may be opened in a child, and one that was may not. */
static void a_vendor_that_was_in_use_is_not_opened_in_a_child(void **state)
{
    expect_in_child(open_for_the_first_time, NULL);
    tn_lifetime_note_vendor();
    assert_int_equal(tn_lifetime_check_open("Test", 0, ending), TARN_STATUS_OK);
    expect_in_child(open_in_vain, NULL);
}

/* --- the end, in a program of its own --------------------------------------------------------------- */

static struct tn_lifetime lifetime_to_the_end;

static void expect_it_to_be_over(void)
{
    CHILD_EXPECT(tn_lifetime_is_over(&lifetime_to_the_end));
    CHILD_EXPECT(!tn_lifetime_is_forked(&lifetime_to_the_end));
    CHILD_EXPECT(tn_lifetime_refusal(&lifetime_to_the_end, ending).vendor_code == 4);
    CHILD_EXPECT(tn_lifetime_check_open("Test", 0, ending) == TARN_STATUS_VENDOR_ERROR);
    CHILD_EXPECT(tarn_last_error().vendor_code == 4);
    _exit(0);
}

static int end(void)
{
    atexit(expect_it_to_be_over);
    lifetime_to_the_end = tn_lifetime_begin();
    tn_lifetime_note_vendor();
    return 1; /* which expect_it_to_be_over makes good */
}

static void a_lifetime_is_over_when_the_process_ends(void **state)
{
    expect_program_to_end_well("end");
}

int main(int argc, char **argv)
{
    if (argc == 2) return end();
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lifetime_is_over_in_a_child),
        cmocka_unit_test(a_vendor_that_was_in_use_is_not_opened_in_a_child),
        cmocka_unit_test(a_lifetime_is_over_when_the_process_ends),
    };
    return cmocka_run_group_tests_name("lifetime", tests, watch_forks, NULL);
}
