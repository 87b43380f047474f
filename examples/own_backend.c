/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * own_backend: a pool over your own memory. Here it is a budget of anonymous pages of the system; it could be
 * a framework's allocator, an MPI library's, or another pool.
 *
 * docs/writing_a_backend.md lists all operations and what each must do.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <tarn/tarn.h>

/* --- the source of memory ---------------------------------------------------------------------- */

/* The state of the operations. Several threads may call them at once. */
struct budget {
    size_t total_bytes;
    _Atomic size_t left_bytes;
    _Atomic int piece_count;
};

/* A failure with the system's code and name, for tarn_last_error. */
static tarn_backend_result failed(tarn_status status, int code, const char *name)
{
    return (tarn_backend_result){ status, code, name };
}

static bool take_from_budget(struct budget *budget, size_t size_bytes)
{
    size_t left_bytes = atomic_load(&budget->left_bytes);
    do {
        if (size_bytes > left_bytes) return false;
    } while (
        !atomic_compare_exchange_weak(&budget->left_bytes, &left_bytes, left_bytes - size_bytes));
    return true;
}

/* OUT_OF_MEMORY means that a smaller request may succeed: then the pool tries one. */
static tarn_backend_result budget_acquire(void *state, size_t size_bytes, void **address_out)
{
    struct budget *budget = state;
    if (!take_from_budget(budget, size_bytes))
        return failed(TARN_STATUS_OUT_OF_MEMORY, ENOMEM, "the budget is spent");

    void *address =
        mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) {
        atomic_fetch_add(&budget->left_bytes, size_bytes);
        return errno == ENOMEM ? failed(TARN_STATUS_OUT_OF_MEMORY, ENOMEM, "ENOMEM")
                               : failed(TARN_STATUS_VENDOR_ERROR, errno, "mmap failed");
    }
    atomic_fetch_add(&budget->piece_count, 1);
    *address_out = address; /* outputs are written only on success */
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result budget_release(void *state, void *address, size_t size_bytes)
{
    struct budget *budget = state;
    if (munmap(address, size_bytes) != 0)
        return failed(TARN_STATUS_VENDOR_ERROR, errno, "munmap failed");
    atomic_fetch_add(&budget->left_bytes, size_bytes);
    atomic_fetch_sub(&budget->piece_count, 1);
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result budget_get_properties(void *state,
                                                 tarn_device_properties *properties_out)
{
    const struct budget *budget = state;
    *properties_out = (tarn_device_properties){
        .device_name = "a budget of pages",
        .kind = TARN_MEMORY_KIND_HOST,
        .is_host_accessible = true,
        .alignment_bytes = 4096,
        .granularity_bytes = 4096,
        .allocation_bytes_max = budget->total_bytes,
    };
    return TARN_BACKEND_RESULT_OK;
}

/* Operations left out are NULL: this memory has no streams. */
static const tarn_backend_operations budget_operations = {
    .struct_bytes = sizeof(tarn_backend_operations),
    .name = "budget",
    .acquire = budget_acquire,
    .release = budget_release,
    .get_properties = budget_get_properties,
};

/* --- a pool over it ---------------------------------------------------------------------------- */

static void expect_ok(tarn_status status)
{
    if (status == TARN_STATUS_OK) return;
    fprintf(stderr, "%s: %s\n", tarn_status_name(status), tarn_last_error().message);
    exit(EXIT_FAILURE);
}

static void expect(bool holds, const char *claim)
{
    if (holds) return;
    fprintf(stderr, "failed: %s\n", claim);
    exit(EXIT_FAILURE);
}

int main(void)
{
    struct budget budget = { .total_bytes = (size_t)64 << 20, .left_bytes = (size_t)64 << 20 };
    tarn_backend backend = { &budget_operations, &budget };

    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = (size_t)8 << 20;
    tarn_pool *pool;
    expect_ok(tarn_pool_create(&options, &pool));

    double *values;
    expect_ok(tarn_pool_alloc(pool, 1000 * sizeof *values, (void **)&values));
    for (int i = 0; i < 1000; i++) {
        values[i] = i; /* host memory, so the host may write it */
    }
    printf("1000 doubles out of a piece of %zu bytes\n",
           budget.total_bytes - atomic_load(&budget.left_bytes));

    /* More than the budget has: the pool tries, and passes on the backend's error. */
    void *refused;
    tarn_status status = tarn_pool_alloc(pool, (size_t)60 << 20, &refused);
    expect(status == TARN_STATUS_OUT_OF_MEMORY, "60 MiB beside 8 are more than 64");
    printf("refused, with code %d: %s\n", tarn_last_error().vendor_code, tarn_last_error().message);

    expect_ok(tarn_pool_free(pool, values));
    expect_ok(tarn_pool_destroy(pool));
    expect(atomic_load(&budget.left_bytes) == budget.total_bytes, "all is back in the budget");
    expect(atomic_load(&budget.piece_count) == 0, "no piece is left");
    return EXIT_SUCCESS;
}
