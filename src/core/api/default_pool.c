/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * default_pool: the process-wide pool. The first use creates it with options from the environment.
 *
 * The end of the process does not destroy it: the vendor's runtime may have ended by then, and the system takes
 * the memory back anyway.
 *
 * A fork does not wait for the lock, because the vendor may fork while a backend is opened under it. The child
 * begins without a pool.
 */
#include <stdatomic.h>

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../../base/process.h"
#include "../../base/sync.h"
#include "../care/pool_registry.h"
#include "../supply/pool_options.h"
#include "tarn/host.h"

#include "checks.h"
#include "environment.h"

static struct tn_mutex lock = TN_MUTEX_INIT;
static tarn_pool *_Atomic pool; /* written under the lock */
static tarn_backend backend;    /* under the lock */
static bool parent_had_pool;    /* set only in a forked child, before it has threads */

static struct tn_once forks_once = TN_ONCE_INIT;
static bool watches_forks;

static void after_fork_in_child(void)
{
    tn_mutex_init(&lock);
    parent_had_pool = parent_had_pool || atomic_load(&pool) != NULL;
    atomic_store(&pool, NULL);
    backend = (tarn_backend){ NULL, NULL };
}

static void watch_forks(void)
{
    watches_forks = tn_process_call_around_forks(NULL, NULL, after_fork_in_child);
}

static void lock_pool(void)
{
    tn_once_call(&forks_once, watch_forks);
    tn_mutex_lock(&lock);
}

/* Host memory is available whatever vendor the library was built for. */
static tarn_status open_backend(const struct tn_environment *environment, tarn_backend *opened)
{
    if (environment->kind == TARN_MEMORY_KIND_HOST) return tarn_host_backend_open(NULL, opened);
    return tarn_backend_open(environment->device, environment->kind, opened);
}

/* If several ranks share the device, the options "all memory" and limit_percent refer to the share of this
 * rank. */
static tarn_status share_device(const tarn_backend *of, unsigned rank_count,
                                tarn_pool_options *options)
{
    bool takes_all = options->initial_bytes == TARN_INITIAL_ALL;
    unsigned percent = options->limit_percent ? options->limit_percent : 100;
    if (rank_count == 1 || (options->limit_percent == 0 && !takes_all)) return TARN_STATUS_OK;
    tarn_memory_info info;
    tarn_backend_result result = tn_query_memory(of, &info);
    if (result.status != TARN_STATUS_OK) {
        return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                              "%u ranks share the device's memory, but the %s backend does not "
                              "tell how much there is",
                              rank_count, of->operations->name);
    }
    /* Not 0, which would mean no limit. 1 byte is less than a chunk, so tarn_pool_create fails and says so. */
    size_t share_bytes = tn_max(tn_percent_of(info.total_bytes / rank_count, percent), 1);
    options->limit_bytes =
        options->limit_bytes ? tn_min(options->limit_bytes, share_bytes) : share_bytes;
    options->limit_percent = 0;
    return TARN_STATUS_OK;
}

/* The messages about options and devices name no variables, and the user may have set nothing else. */
static tarn_status fail_with_variables(tarn_status status)
{
    char variables[120];
    struct tn_saved_error saved = tn_error_save();
    if (status != TARN_STATUS_INVALID_OPTIONS && status != TARN_STATUS_NOT_SUPPORTED &&
        status != TARN_STATUS_INVALID_DEVICE)
        return status;
    tn_environment_name_set(variables, sizeof variables);
    if (variables[0] == '\0') return status;
    return tn_fail_vendor(status, saved.error.vendor_code, saved.error.vendor_name,
                          "%s; set in the environment: %s", saved.message, variables);
}

static tarn_status create(tarn_pool **pool_out)
{
    TN_ASSERT(tn_mutex_is_held(&lock));
    if (!watches_forks)
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory to watch for forks");
    struct tn_environment environment;
    tarn_status status = tn_environment_read(&environment);
    if (status != TARN_STATUS_OK) return status;
    tarn_backend opened;
    status = open_backend(&environment, &opened);
    if (status != TARN_STATUS_OK) return fail_with_variables(status);

    tarn_pool_options *options = &environment.options;
    options->backend = &opened;
    status = share_device(&opened, environment.rank_count, options);
    if (status == TARN_STATUS_OK) status = tarn_pool_create(options, pool_out);
    if (status == TARN_STATUS_OK) {
        (*pool_out)->is_process_wide = true;
        (*pool_out)->succeeds_parent = parent_had_pool;
        backend = opened;
    } else {
        tarn_backend_close(&opened);
        status = fail_with_variables(status);
    }
    return status;
}

static TN_COLD tarn_status get_or_create(tarn_pool **pool_out)
{
    lock_pool();
    tarn_status status = TARN_STATUS_OK;
    tarn_pool *created = atomic_load(&pool);
    if (!created) {
        status = create(&created);
        if (status == TARN_STATUS_OK) atomic_store(&pool, created);
    }
    tn_mutex_unlock(&lock);
    if (status == TARN_STATUS_OK) *pool_out = created;
    return status;
}

tarn_status tarn_default_pool(tarn_pool **pool_out)
{
    if (!pool_out) return tn_fail_for_null("pool_out");
    tarn_pool *current = atomic_load_explicit(&pool, memory_order_acquire);
    if (TN_UNLIKELY(!current)) return get_or_create(pool_out);
    *pool_out = current;
    return TARN_STATUS_OK;
}

tarn_status tarn_malloc(size_t size_bytes, void **address_out)
{
    tarn_pool *current;
    tarn_status status = tarn_default_pool(&current);
    return status == TARN_STATUS_OK ? tarn_pool_alloc(current, size_bytes, address_out) : status;
}

tarn_status tarn_free(void *address)
{
    /* Creates no pool: a new one would not have the address. */
    tarn_pool *current = atomic_load_explicit(&pool, memory_order_acquire);
    if (TN_LIKELY(current != NULL)) return tarn_pool_free(current, address);
    if (!address) return TARN_STATUS_OK;
    tarn_allocation found;
    if (tn_pool_registry_find(address, NULL, &found) != TN_FIND_RESULT_FOREIGN) {
        return tn_fail(TARN_STATUS_WRONG_POOL, "%p belongs to another pool than tarn_malloc's",
                       address);
    }
    if (parent_had_pool) return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_FOREIGN_ADDRESS, "%p belongs to no pool", address);
}

/* Ends the process-wide pool by tarn_pool_destroy or tarn_pool_abandon. An abandoned pool leaves its backend
 * open. */
static tarn_status end(tarn_status (*end_pool)(tarn_pool *pool), bool closes_backend)
{
    tarn_status status = TARN_STATUS_OK;
    lock_pool();
    tarn_pool *current = atomic_load(&pool);
    if (current) {
        current->is_process_wide = false;
        status = end_pool(current);
        if (status == TARN_STATUS_OK) {
            atomic_store(&pool, NULL);
            if (closes_backend) tarn_backend_close(&backend);
        } else {
            current->is_process_wide = true;
        }
    }
    tn_mutex_unlock(&lock);
    return status;
}

tarn_status tarn_default_pool_destroy(void)
{
    return end(tarn_pool_destroy, true);
}

tarn_status tarn_default_pool_abandon(void)
{
    return end(tarn_pool_abandon, false);
}
