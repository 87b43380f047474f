/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * two_streams: one program for a GPU and for a machine that has none. A field on a mesh is refined on one
 * stream, while a second stream copies each result to pinned memory. Device memory is freed before the work
 * on it has run.
 *
 * Returns 77 if tarn was built for a GPU and there is none.
 */
#include "device.hpp"

enum {
    STEP_COUNT = 12,
    NOT_HERE = 77
};

struct begin_field {
    double *field;

    ON_DEVICE void operator()(size_t i) const
    {
        field[i] = (double)i;
    }
};

/* Each cell becomes two: node i of the fine mesh is a node or the middle of a cell of the coarse one. */
struct refine {
    const double *coarse;
    double *fine;

    ON_DEVICE void operator()(size_t i) const
    {
        fine[i] = 0.5 * (coarse[i / 2] + coarse[(i + 1) / 2]);
    }
};

static double *allocate(tarn_pool *pool, size_t count, tarn_stream stream)
{
    void *field;
    expect_ok(tarn_pool_alloc_on(pool, count * sizeof(double), stream, &field));
    return static_cast<double *>(field);
}

/* A linear field stays linear, from 0 to 1. */
static void check(const double *field, size_t cell_count)
{
    for (size_t i = 0; i <= cell_count; i++) {
        if (field[i] == (double)i / (double)cell_count) continue;
        fprintf(stderr, "%zu cells: node %zu has %g\n", cell_count, i, field[i]);
        exit(EXIT_FAILURE);
    }
}

int main()
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = (size_t)64 << 20;
    expect_ok(tarn_default_pool_configure(&options));
    tarn_pool *device, *pinned;
    if (tarn_device_pool(TARN_DEVICE_CURRENT, TARN_MEMORY_KIND_DEVICE, &device) ==
        TARN_STATUS_NO_DEVICE)
        return NOT_HERE;
    expect_ok(tarn_device_pool(TARN_DEVICE_CURRENT, TARN_MEMORY_KIND_PINNED, &pinned));
    tarn_stream compute = create_stream(), output = create_stream();

    double *results[STEP_COUNT];
    size_t cell_count = 1;
    double *field = allocate(device, cell_count + 1, compute);
    for_each(cell_count + 1, begin_field{ field }, compute);
    for (int step = 0; step < STEP_COUNT; step++) {
        cell_count *= 2;
        double *fine = allocate(device, cell_count + 1, compute);
        for_each(cell_count + 1, refine{ field, fine }, compute);
        expect_ok(tarn_pool_free_on(device, field, compute));
        field = fine;

        results[step] = allocate(pinned, cell_count + 1, output);
        wait_for(output, compute);
        copy(results[step], field, (cell_count + 1) * sizeof(double), output);
        expect_ok(tarn_pool_use_on(device, field, output)); /* its free waits for the copy, too */
    }
    expect_ok(tarn_pool_free_on(device, field, compute));

    synchronize(output); /* without it the host would read results that are not there yet */
    for (int step = 0; step < STEP_COUNT; step++) {
        check(results[step], (size_t)2 << step);
        expect_ok(tarn_pool_free_after(pinned, results[step], NULL, 0)); /* the host was the last */
    }
    printf("refined to %zu cells on backend %s\n", cell_count, tarn_backend_name());
    destroy_stream(compute);
    destroy_stream(output);
    expect_ok(tarn_default_pool_destroy());
    return EXIT_SUCCESS;
}
