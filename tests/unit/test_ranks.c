/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What launchers say of the ranks on a node, in their words, and which of them share the device. */
#include "process/ranks.h"

#include <stdlib.h>

#include "harness/claims.h"

static const char *const names[] = {
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_LOCAL_SIZE",
    "PMI_LOCAL_SIZE",
    "PALS_LOCAL_SIZE",
    "JSM_NAMESPACE_LOCAL_SIZE",
    "LOCAL_WORLD_SIZE",
    "FLUX_JOB_SIZE",
    "FLUX_JOB_NNODES",
    "FLUX_TASK_LOCAL_ID",
    "SLURM_NODEID",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_GPUS_ON_NODE",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_TASKS_PER_NODE",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
};

static int unset_all(void **state)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    return 0;
}

static void set(const char *name, const char *value)
{
    setenv(name, value, 1);
}

static void alone_where_nobody_says(void **state)
{
    assert_int_equal(tn_ranks_on_device(1), 1);
    assert_int_equal(tn_ranks_on_device(4), 1);
}

static void each_launcher_is_understood(void **state)
{
    for (size_t i = 0; i < 7; i++) {
        set(names[i], "4");
        assert_int_equal(tn_ranks_on_device(1), 4);
        unsetenv(names[i]);
    }
}

static void what_is_no_number_is_passed_over(void **state)
{
    static const char *const values[] = { "",   "0",  "x",   "-4",      "+4",
                                          " 4", "4 ", "4.0", "1000001", "99999999999999999999" };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        set("OMPI_COMM_WORLD_LOCAL_SIZE", values[i]);
        assert_int_equal(tn_ranks_on_device(1), 1);
        set("LOCAL_WORLD_SIZE", "3");
        assert_int_equal(tn_ranks_on_device(1), 3);
        unsetenv("LOCAL_WORLD_SIZE");
    }
    set("OMPI_COMM_WORLD_LOCAL_SIZE", "1000000");
    assert_int_equal(tn_ranks_on_device(1), 1000000);
}

static void expect_slurm(const char *counts, const char *node, unsigned expected)
{
    set("SLURM_STEP_TASKS_PER_NODE", counts);
    set("SLURM_NODEID", node);
    unsigned found = tn_ranks_on_device(1);
    if (found != expected) fail_msg("%s at %s is read as %u", counts, node, found);
}

static void slurm_lists_nodes(void **state)
{
    expect_slurm("4", "0", 4);
    expect_slurm("4(x2)", "0", 4);
    expect_slurm("4(x2)", "1", 4);
    expect_slurm("5,4(x3)", "0", 5);
    expect_slurm("5,4(x3)", "1", 4);
    expect_slurm("5,4(x3)", "3", 4);
    expect_slurm("2(x3),7", "2", 2);
    expect_slurm("2(x3),7", "3", 7);
    expect_slurm("2(x3),7,1(x2)", "5", 1);
    unsetenv("SLURM_NODEID");
    set("SLURM_STEP_TASKS_PER_NODE", "6,2");
    assert_int_equal(tn_ranks_on_device(1), 6);
}

static void what_is_no_such_list_is_passed_over(void **state)
{
    expect_slurm("4(x2)", "2", 1);
    expect_slurm("", "0", 1);
    expect_slurm("x", "0", 1);
    expect_slurm("4(", "0", 1);
    expect_slurm("4(x", "0", 1);
    expect_slurm("4(x)", "0", 1);
    expect_slurm("4(x2", "0", 1);
    expect_slurm("4(y2)", "0", 1);
    expect_slurm("4;5", "0", 1);
    expect_slurm("4,", "1", 1);
    expect_slurm("4(x0)", "0", 1);
}

/* A process of a job's script sees these too, alone as it is. */
static void what_slurm_says_of_the_job_does_not_count(void **state)
{
    set("SLURM_NTASKS_PER_NODE", "8");
    set("SLURM_TASKS_PER_NODE", "8");
    assert_int_equal(tn_ranks_on_device(1), 1);
}

static void flux_tells_ranks_and_nodes(void **state)
{
    set("FLUX_JOB_SIZE", "7");
    set("FLUX_JOB_NNODES", "2");
    assert_int_equal(tn_ranks_on_device(1), 1);
    set("FLUX_TASK_LOCAL_ID", "0");
    assert_int_equal(tn_ranks_on_device(1), 4);
    set("FLUX_JOB_NNODES", "0");
    assert_int_equal(tn_ranks_on_device(1), 1);
}

static void mpi_goes_before_slurm(void **state)
{
    set("SLURM_STEP_TASKS_PER_NODE", "1");
    set("OMPI_COMM_WORLD_LOCAL_SIZE", "6");
    assert_int_equal(tn_ranks_on_device(1), 6);
}

static void one_device_alone_is_shared_by_all_ranks(void **state)
{
    set("OMPI_COMM_WORLD_LOCAL_SIZE", "8");
    assert_int_equal(tn_ranks_on_device(0), 8);
    assert_int_equal(tn_ranks_on_device(1), 8);
}

static void several_devices_are_shared_evenly(void **state)
{
    set("OMPI_COMM_WORLD_LOCAL_SIZE", "4");
    assert_int_equal(tn_ranks_on_device(2), 2);
    assert_int_equal(tn_ranks_on_device(3), 2);
    assert_int_equal(tn_ranks_on_device(4), 1);
    assert_int_equal(tn_ranks_on_device(5), 1);
}

static void a_rank_that_was_given_one_device_is_alone_there(void **state)
{
    set("OMPI_COMM_WORLD_LOCAL_SIZE", "8");
    for (size_t i = 15; i < sizeof names / sizeof names[0]; i++) {
        set(names[i], "3");
        assert_int_equal(tn_ranks_on_device(1), 1);
        assert_int_equal(tn_ranks_on_device(2), 4);
        set(names[i], "0,1,2,3");
        assert_int_equal(tn_ranks_on_device(1), 8);
        set(names[i], "");
        assert_int_equal(tn_ranks_on_device(1), 8);
        unsetenv(names[i]);
    }
}

static void or_shares_it_where_there_are_more_ranks_than_devices(void **state)
{
    set("OMPI_COMM_WORLD_LOCAL_SIZE", "8");
    set("CUDA_VISIBLE_DEVICES", "3");
    set("SLURM_GPUS_ON_NODE", "4");
    assert_int_equal(tn_ranks_on_device(1), 2);
    set("SLURM_GPUS_ON_NODE", "7");
    assert_int_equal(tn_ranks_on_device(1), 2);
    set("SLURM_GPUS_ON_NODE", "8");
    assert_int_equal(tn_ranks_on_device(1), 1);
    set("SLURM_GPUS_ON_NODE", "9");
    assert_int_equal(tn_ranks_on_device(1), 1);
    set("SLURM_GPUS_ON_NODE", "1");
    assert_int_equal(tn_ranks_on_device(1), 8);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, unset_all, unset_all)
    const struct CMUnitTest tests[] = {
        CASE(alone_where_nobody_says),
        CASE(each_launcher_is_understood),
        CASE(what_is_no_number_is_passed_over),
        CASE(slurm_lists_nodes),
        CASE(what_is_no_such_list_is_passed_over),
        CASE(what_slurm_says_of_the_job_does_not_count),
        CASE(flux_tells_ranks_and_nodes),
        CASE(mpi_goes_before_slurm),
        CASE(one_device_alone_is_shared_by_all_ranks),
        CASE(several_devices_are_shared_evenly),
        CASE(a_rank_that_was_given_one_device_is_alone_there),
        CASE(or_shares_it_where_there_are_more_ranks_than_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
