/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator_umf: the disjoint pool of the Unified Memory Framework.
 *
 * It rounds sizes up to 1 or 1.5 times a power of two. Each such size has its own slabs, of at least 64 KiB,
 * between which nothing is coalesced. Its defaults are meant to be changed: they pool blocks of up to 2 MB
 * and keep four slabs of a size. Here it pools blocks of up to 2 GB, its maximum, and keeps all slabs, as the
 * other allocators do.
 *
 * Its memory comes through a provider made here, from the same vendor calls as the others'. The
 * provider locks, since several threads may call it at once; the pool has its own lock.
 */
#include <pthread.h>
#include <stdlib.h>
#include <umf/memory_pool.h>
#include <umf/memory_provider.h>
#include <umf/pools/pool_disjoint.h>

#include "../allocator.h"
#include "../backing.h"

#define POOLABLE_BYTES_MAX ((size_t)1 << 31)
#define SLABS_KEPT         ((size_t)1 << 30) /* of one size: all */

/* Also the provider's state. */
struct umf_pool {
    struct tn_backing backing; /* under the lock */
    pthread_mutex_t lock;
    umf_memory_provider_handle_t provider;
    umf_memory_pool_handle_t pool;
};

/* --- the provider --------------------------------------------------------------------------------- */

static umf_result_t initialize(const void *params, void **provider_out)
{
    *provider_out = (void *)(uintptr_t)params;
    return UMF_RESULT_SUCCESS;
}

static umf_result_t finalize(void *provider)
{
    (void)provider;
    return UMF_RESULT_SUCCESS;
}

static umf_result_t acquire(void *provider, size_t size_bytes, size_t alignment, void **address_out)
{
    struct umf_pool *self = provider;
    void *address;
    pthread_mutex_lock(&self->lock);
    tarn_status status = tn_backing_acquire(&self->backing, size_bytes, &address);
    bool is_aligned =
        status == TARN_STATUS_OK && (alignment == 0 || (uintptr_t)address % alignment == 0);
    if (status == TARN_STATUS_OK && !is_aligned)
        tn_backing_release(&self->backing, address, size_bytes);
    pthread_mutex_unlock(&self->lock);
    if (status != TARN_STATUS_OK) return UMF_RESULT_ERROR_MEMORY_PROVIDER_SPECIFIC;
    if (!is_aligned) return UMF_RESULT_ERROR_INVALID_ALIGNMENT;
    *address_out = address;
    return UMF_RESULT_SUCCESS;
}

static umf_result_t release(void *provider, void *address, size_t size_bytes)
{
    struct umf_pool *self = provider;
    pthread_mutex_lock(&self->lock);
    tarn_status status = tn_backing_release(&self->backing, address, size_bytes);
    pthread_mutex_unlock(&self->lock);
    return status == TARN_STATUS_OK ? UMF_RESULT_SUCCESS
                                    : UMF_RESULT_ERROR_MEMORY_PROVIDER_SPECIFIC;
}

static umf_result_t get_last_error(void *provider, const char **message_out, int32_t *code_out)
{
    struct umf_pool *self = provider;
    pthread_mutex_lock(&self->lock);
    *message_out = tarn_status_sentence(self->backing.last_failure.status);
    *code_out = self->backing.last_failure.vendor_code;
    pthread_mutex_unlock(&self->lock);
    return UMF_RESULT_SUCCESS;
}

static umf_result_t get_recommended_page(void *provider, size_t size_bytes, size_t *page_bytes_out)
{
    const struct umf_pool *self = provider;
    (void)size_bytes;
    *page_bytes_out = self->backing.granularity_bytes;
    return UMF_RESULT_SUCCESS;
}

/* No more than the vendor's alignment. */
static umf_result_t get_least_page(void *provider, const void *address, size_t *page_bytes_out)
{
    (void)provider;
    (void)address;
    *page_bytes_out = 256;
    return UMF_RESULT_SUCCESS;
}

static umf_result_t get_name(void *provider, const char **name_out)
{
    (void)provider;
    *name_out = "tarn-bench";
    return UMF_RESULT_SUCCESS;
}

static const umf_memory_provider_ops_t provider_operations = {
    .version = UMF_MAKE_VERSION(1, 0), /* later ones may ask for more */
    .initialize = initialize,
    .finalize = finalize,
    .alloc = acquire,
    .free = release,
    .get_last_native_error = get_last_error,
    .get_recommended_page_size = get_recommended_page,
    .get_min_page_size = get_least_page,
    .get_name = get_name,
};

/* --- the pool ------------------------------------------------------------------------------------- */

static umf_result_t create_pool(struct umf_pool *self)
{
    umf_disjoint_pool_params_handle_t params;
    umf_result_t result = umfDisjointPoolParamsCreate(&params);
    if (result != UMF_RESULT_SUCCESS) return result;
    umfDisjointPoolParamsSetMaxPoolableSize(params, POOLABLE_BYTES_MAX);
    umfDisjointPoolParamsSetCapacity(params, SLABS_KEPT);
    result = umfPoolCreate(umfDisjointPoolOps(), self->provider, params, UMF_POOL_CREATE_FLAG_NONE,
                           &self->pool);
    umfDisjointPoolParamsDestroy(params);
    return result;
}

static bool start(struct umf_pool *self, struct tn_reason *reason_out)
{
    umf_result_t result = umfMemoryProviderCreate(&provider_operations, self, &self->provider);
    if (result == UMF_RESULT_SUCCESS) {
        result = create_pool(self);
        if (result != UMF_RESULT_SUCCESS) umfMemoryProviderDestroy(self->provider);
    }
    if (result != UMF_RESULT_SUCCESS)
        tn_reason_set(reason_out, "the pool cannot be made: umf_result_t %d", (int)result);
    return result == UMF_RESULT_SUCCESS;
}

static tarn_status open_umf(const struct tn_allocator_settings *settings, void **state_out,
                            struct tn_reason *reason_out)
{
    struct umf_pool *self = calloc(1, sizeof *self);
    if (!self) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    tarn_status status = tn_backing_init(&self->backing, settings, reason_out);
    if (status != TARN_STATUS_OK) {
        free(self);
        return status;
    }
    pthread_mutex_init(&self->lock, NULL);
    if (!start(self, reason_out)) {
        pthread_mutex_destroy(&self->lock);
        tn_backing_fini(&self->backing);
        free(self);
        return TARN_STATUS_VENDOR_ERROR;
    }
    *state_out = self;
    return TARN_STATUS_OK;
}

/* The alignment that tn_verifier requires of all. */
static size_t alignment_of(size_t size_bytes)
{
    size_t alignment = 16;
    while (alignment < size_bytes && alignment < 256)
        alignment *= 2;
    return alignment;
}

static tarn_status alloc_umf(void *state, size_t size_bytes, void **address_out)
{
    struct umf_pool *self = state;
    if (size_bytes == 0) {
        *address_out = NULL;
        return TARN_STATUS_OK;
    }
    void *address = umfPoolAlignedMalloc(self->pool, size_bytes, alignment_of(size_bytes));
    if (!address) return TARN_STATUS_OUT_OF_MEMORY;
    *address_out = address;
    return TARN_STATUS_OK;
}

static tarn_status free_umf(void *state, void *address, size_t size_bytes)
{
    struct umf_pool *self = state;
    (void)size_bytes;
    if (!address) return TARN_STATUS_OK;
    return umfPoolFree(self->pool, address) == UMF_RESULT_SUCCESS ? TARN_STATUS_OK
                                                                  : TARN_STATUS_VENDOR_ERROR;
}

static void explain_umf(void *state, tarn_status status, struct tn_reason *reason_out)
{
    struct umf_pool *self = state;
    pthread_mutex_lock(&self->lock);
    if (self->backing.last_failure.status != TARN_STATUS_OK)
        tn_backing_explain(&self->backing, reason_out);
    else
        tn_reason_set(reason_out, "%s (umf_result_t %d)", tarn_status_sentence(status),
                      (int)umfPoolGetLastAllocationError(self->pool));
    pthread_mutex_unlock(&self->lock);
}

static void get_usage_umf(void *state, struct tn_allocator_usage *usage_out)
{
    const struct umf_pool *self = state;
    *usage_out = (struct tn_allocator_usage){
        .footprint_bytes = self->backing.footprint_bytes,
        .footprint_bytes_max = self->backing.footprint_bytes_max,
        .vendor_calls = self->backing.vendor_calls,
    };
}

static void close_umf(void *state)
{
    struct umf_pool *self = state;
    umfPoolDestroy(self->pool);
    umfMemoryProviderDestroy(self->provider);
    pthread_mutex_destroy(&self->lock);
    tn_backing_fini(&self->backing);
    free(self);
}

/* --- several threads have the same state ---------------------------------------------------------- */

static tarn_status open_umf_thread(void *state, struct tn_allocator_thread *thread_inout,
                                   struct tn_reason *reason_out)
{
    (void)reason_out;
    thread_inout->state = state;
    thread_inout->has_stream = false;
    return TARN_STATUS_OK;
}

static void close_umf_thread(void *state)
{
    (void)state;
}

const struct tn_allocator tn_allocator_umf = {
    .name = "umf",
    .open = open_umf,
    .alloc = alloc_umf,
    .free = free_umf,
    .explain = explain_umf,
    .get_usage = get_usage_umf,
    .close = close_umf,
    .open_thread = open_umf_thread,
    .alloc_in_thread = alloc_umf,
    .free_in_thread = free_umf,
    .explain_in_thread = explain_umf,
    .close_thread = close_umf_thread,
    .free_order = TN_FREE_NEEDS_WAIT,
};
