/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sim_hip: what AMD's runtimes do and no other vendor's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hip/hip_runtime_api.h>

#include "../sim_control.h"
#include "tarn/hip.h"

static tarn_backend open_backend(tarn_device_properties *properties_out)
{
    tarn_backend backend;
    sim_reset();
    assert_int_equal(tarn_hip_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend), TARN_STATUS_OK);
    assert_int_equal(backend.operations->get_properties(backend.state, properties_out).status,
                     TARN_STATUS_OK);
    return backend;
}

static void close_backend(tarn_backend *backend)
{
    tarn_backend_close(backend);
    assert_int_equal(sim_alive_total(), 0);
    assert_int_equal(sim_misuse_count(), 0);
}

/* The runtime says that it mapped, and did not. */
static void a_mapping_that_failed_silently_is_a_failure(void **state)
{
    (void)state;
    tarn_device_properties properties;
    tarn_backend backend = open_backend(&properties);
    const tarn_backend_operations *operations = backend.operations;
    size_t size_bytes = properties.range_granularity_bytes;
    void *range = NULL;
    tarn_mapping mapping = NULL;
    assert_int_equal(operations->range_reserve(backend.state, size_bytes, &range).status,
                     TARN_STATUS_OK);

    sim_fail_calls("hipMemMap", 1, 1, SIM_STATUS_OUT_OF_HOST_MEMORY);
    tarn_backend_result result = operations->range_map(backend.state, range, size_bytes, &mapping);
    assert_int_equal(sim_fault_count(), 1);
    assert_int_equal(result.status, TARN_STATUS_VENDOR_ERROR);
    assert_int_equal(result.vendor_code, hipErrorMapFailed);
    assert_string_equal(result.vendor_name, "hipErrorMapFailed");
    assert_null(mapping);
    assert_int_equal(sim_alive(SIM_THING_PHYSICAL), 0);
    assert_int_equal(hipPeekAtLastError(), hipSuccess);

    assert_int_equal(operations->range_map(backend.state, range, size_bytes, &mapping).status,
                     TARN_STATUS_OK);
    assert_int_equal(operations->range_unmap(backend.state, range, size_bytes, mapping).status,
                     TARN_STATUS_OK);
    assert_int_equal(operations->range_release(backend.state, range, size_bytes).status,
                     TARN_STATUS_OK);
    close_backend(&backend);
}

/* A runtime that does not know the question has none. */
static void a_runtime_older_than_ranges_has_none(void **state)
{
    (void)state;
    sim_reset();
    sim_settings settings = sim_get_settings();
    settings.driver = SIM_DRIVER_WITHOUT_EXTRAS;
    tarn_backend backend;
    tarn_device_properties properties;
    sim_set_settings(&settings);
    assert_int_equal(tarn_hip_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend), TARN_STATUS_OK);
    backend.operations->get_properties(backend.state, &properties);
    assert_int_equal(properties.range_granularity_bytes, 0);
    void *range = NULL;
    assert_int_equal(backend.operations->range_reserve(backend.state, 4096, &range).status,
                     TARN_STATUS_NOT_SUPPORTED);
    assert_int_equal(hipPeekAtLastError(), hipSuccess);
    close_backend(&backend);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapping_that_failed_silently_is_a_failure),
        cmocka_unit_test(a_runtime_older_than_ranges_has_none),
    };
    int failed_count = cmocka_run_group_tests_name("HIP's own ways", tests, NULL, NULL);
    sim_reset();
    return failed_count;
}
