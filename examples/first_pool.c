/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * first_pool: the shortest useful program. Allocates from the process-wide pool, then from its own pool, and
 * prints that pool's statistics.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tarn/tarn.h>

/* Every call of tarn returns a status. The last error has a message with the values involved. */
static void expect_ok(tarn_status status)
{
    if (status == TARN_STATUS_OK) return;
    fprintf(stderr, "%s: %s\n", tarn_status_name(status), tarn_last_error().message);
    exit(EXIT_FAILURE);
}

int main(void)
{
    /* The process-wide pool needs no handle. Its first use creates it here. */
    void *field;
    expect_ok(tarn_malloc(1000000 * sizeof(double), &field));
    printf("one million doubles at %p, device memory of backend %s\n", field, tarn_backend_name());
    expect_ok(tarn_free(field));

    /* A pool of your own: its first backing is 16 MiB, and it never holds more than 256 MiB. */
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.initial_bytes = (size_t)16 << 20;
    options.limit_bytes = (size_t)256 << 20;
    tarn_pool *pool;
    expect_ok(tarn_pool_create(&options, &pool));

    /* Growing arrays, as in a simulation. All but two of these calls stay on the host. */
    for (size_t count = 1000; count < 4000000; count *= 2) {
        void *old_values;
        void *new_values;
        expect_ok(tarn_pool_alloc(pool, count * sizeof(double), &old_values));
        expect_ok(tarn_pool_alloc(pool, 2 * count * sizeof(double), &new_values));
        expect_ok(tarn_pool_free(pool, old_values));
        expect_ok(tarn_pool_free(pool, new_values));
    }

    tarn_stats stats = TARN_STATS_INIT;
    expect_ok(tarn_pool_stats(pool, &stats));
    printf("%llu allocations, %llu calls to the vendor; at most %zu KiB live, %zu KiB held\n",
           (unsigned long long)stats.alloc_count, (unsigned long long)stats.vendor_alloc_count,
           stats.requested_bytes_max >> 10, stats.footprint_bytes_max >> 10);

    expect_ok(tarn_pool_destroy(pool)); /* refused while allocations are live */
    expect_ok(tarn_default_pool_destroy());
    return EXIT_SUCCESS;
}
