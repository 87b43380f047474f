/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * default_pool: the process-wide pools, one for each device and kind of memory, and tarn_malloc, which uses that of the
 * calling thread's current device.
 *
 *     TARN_DEVICE, or one device alone   the only pool that tarn_malloc uses is known: one load
 *     several devices                    the vendor tells the current device, and a walk finds its pool
 *
 * The vendor is asked each time, because a thread may set another device at any moment. A free finds the pool by the
 * address.
 *
 * A pool is created under the lock, and is in the list before a function of the program is told of its first memory;
 * then the lock is let go. A pool that is destroyed has left the list before. So these functions run with no lock held.
 *
 * The end of the process does not destroy these pools: the vendor's runtime may have ended by then, and the system
 * takes the memory back anyway.
 *
 * A fork does not wait for the lock, because the vendor may fork while a backend is opened under it. The child begins
 * without a pool.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "../base/error.h"
#include "../base/process.h"
#include "../base/sync.h"
#include "../core/api/checks.h"
#include "../core/care/debug_pool.h"
#include "../core/care/leak_report.h"
#include "../core/care/pool_life.h"
#include "../core/care/pool_registry.h"

#include "create.h"
#include "life_log.h"

static struct tn_mutex lock = TN_MUTEX_INIT;
static tarn_pool *_Atomic newest; /* the list of process-wide pools; written under the lock */
static tarn_pool
    *_Atomic only; /* the pool of every tarn_malloc; NULL: there is none such, or not yet */
static atomic_bool follows_device;     /* each tarn_malloc asks for the current device */
static tarn_memory_kind followed_kind; /* of tarn_malloc then; written before follows_device */
static bool parent_had_pool;           /* set only in a forked child, before it has threads */
static tarn_pool_options configured;   /* by tarn_default_pool_configure; under the lock */
static char configured_name[TARN_LABEL_BYTES_MAX + 1];
static bool is_configured;

/* The pool that the thread creates, until it is in the list; the thread holds the lock. */
static _Thread_local const struct tn_creation *unlisted;

/* The pool that served the thread last, if there are several devices. May have been destroyed since. */
static _Thread_local tarn_pool *last;

static struct tn_once forks_once = TN_ONCE_INIT;
static bool watches_forks;

static void forget_all(void)
{
    atomic_store(&only, NULL);
    atomic_store(&newest, NULL);
    atomic_store(&follows_device, false);
}

static void after_fork_in_child(void)
{
    tn_mutex_init(&lock);
    parent_had_pool = parent_had_pool || atomic_load(&newest) != NULL;
    forget_all();
}

static void watch_forks(void)
{
    watches_forks = tn_process_call_around_forks(NULL, NULL, after_fork_in_child);
}

static void lock_pools(void)
{
    tn_once_call(&forks_once, watch_forks);
    tn_log_hold(); /* a function that takes messages may call tarn_malloc */
    tn_mutex_lock(&lock);
}

static void unlock_pools(void)
{
    tn_mutex_unlock(&lock);
    tn_log_release();
}

/* --- finding and creating ------------------------------------------------------------------------ */

static tarn_pool *find(const struct tn_location *location)
{
    tarn_pool *pool = atomic_load_explicit(&newest, memory_order_acquire);
    while (pool &&
           (pool->location.device != location->device || pool->location.kind != location->kind))
        pool = pool->next_process_wide;
    return pool;
}

static tarn_pool_options options_of_a_pool(void)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    if (is_configured) options = configured;
    options.reads_environment = true;
    if (options.rank_count == 0) options.rank_count = TARN_RANKS_BY_LAUNCHER;
    return options;
}

/* Ends the part of a creation that is under the lock. */
static void list_and_unlock(void)
{
    TN_ASSERT(tn_mutex_is_held(&lock));
    tarn_pool *pool = unlisted->pool;
    if (tn_log_is_on(TARN_LOG_LEVEL_INFO)) tn_life_log_created(pool, &unlisted->options);
    tn_life_log_name_process_wide(pool);
    pool->is_process_wide = true;
    pool->next_process_wide = atomic_load(&newest);
    atomic_store(&newest, pool);
    unlisted = NULL;
    unlock_pools();
}

/* For the function of the program. The options do not change while there is a process-wide pool. */
static void note_created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    if (unlisted) list_and_unlock();
    if (configured.on_static_pool_created)
        configured.on_static_pool_created(user, base, size_bytes, id);
}

/* Requires the lock, and lets it go. Once other threads may have got the pool, it stays, whatever happens. */
static tarn_status create(const struct tn_location *location, tarn_pool **pool_out)
{
    tarn_pool_options options = options_of_a_pool();
    struct tn_creation creation;
    if (options.on_static_pool_created || options.on_static_pool_destroyed)
        options.on_static_pool_created = note_created;
    tarn_status status = tn_create_begin(&options, location, &creation);
    if (status != TARN_STATUS_OK) {
        unlock_pools();
        return status;
    }
    creation.pool->succeeds_parent = parent_had_pool;
    creation.pool->location = *location;
    unlisted = &creation;
    status = tn_create_finish(&creation);
    if (unlisted && status == TARN_STATUS_OK) {
        list_and_unlock();
    } else if (unlisted) {
        unlisted = NULL;
        unlock_pools();
        tn_pool_life_undo(creation.pool); /* no other thread knows the pool */
    }
    if (status == TARN_STATUS_OK) *pool_out = creation.pool;
    return status;
}

static TN_COLD tarn_status create_unless_there(const struct tn_location *location,
                                               tarn_pool **pool_out)
{
    lock_pools();
    tarn_pool *pool = find(location);
    if (!pool && watches_forks) return create(location, pool_out);
    unlock_pools();
    if (!pool)
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "the host has no memory to watch for forks");
    *pool_out = pool;
    return TARN_STATUS_OK;
}

/* Host memory is on no device. */
static struct tn_location location_of(int device, tarn_memory_kind kind)
{
    return (struct tn_location){ kind == TARN_MEMORY_KIND_HOST ? 0 : device, kind };
}

tarn_status tarn_device_pool(int device, tarn_memory_kind kind, tarn_pool **pool_out)
{
    if (!pool_out) return tn_fail_for_null("pool_out");
    struct tn_location location = location_of(device, kind);
    tarn_status status = TARN_STATUS_OK;
    if (location.device == TARN_DEVICE_CURRENT)
        status = tarn_backend_current_device(&location.device);
    if (status != TARN_STATUS_OK) return status;
    tarn_pool *pool = find(&location);
    if (!pool) return create_unless_there(&location, pool_out);
    *pool_out = pool;
    return TARN_STATUS_OK;
}

/* --- the pool of the calling thread -------------------------------------------------------------- */

/* Where tarn_malloc allocates: on a fixed device, or on TARN_DEVICE_CURRENT. */
static tarn_status find_target(struct tn_location *location_out)
{
    struct tn_environment environment = {
        .location = { TARN_DEVICE_CURRENT, TARN_MEMORY_KIND_DEVICE },
    };
    lock_pools();
    environment.options = options_of_a_pool();
    unlock_pools();
    tarn_status status = tn_environment_read(&environment);
    if (status != TARN_STATUS_OK) return status;
    int device_count = 1;
    struct tn_location location =
        location_of(environment.location.device, environment.location.kind);
    if (location.device == TARN_DEVICE_CURRENT) status = tarn_backend_device_count(&device_count);
    if (status != TARN_STATUS_OK) return status;
    if (location.device == TARN_DEVICE_CURRENT && device_count == 1) location.device = 0;
    *location_out = location;
    return TARN_STATUS_OK;
}

/* Later calls find the pool faster, unless it has left the list, in a child for example. */
static void remember(const struct tn_location *location, bool follows, tarn_pool *pool)
{
    lock_pools();
    if (find(location) == pool) {
        followed_kind = location->kind;
        atomic_store(&follows_device, follows);
        if (!follows) atomic_store(&only, pool);
    }
    unlock_pools();
}

static TN_COLD tarn_status create_for_thread(tarn_pool **pool_out)
{
    struct tn_location location;
    tarn_pool *pool = NULL;
    tarn_status status = find_target(&location);
    if (status != TARN_STATUS_OK) return status;
    bool follows = location.device == TARN_DEVICE_CURRENT;
    if (follows) status = tarn_backend_current_device(&location.device);
    if (status == TARN_STATUS_OK) status = create_unless_there(&location, &pool);
    if (status != TARN_STATUS_OK) return status;
    remember(&location, follows, pool);
    *pool_out = pool;
    return TARN_STATUS_OK;
}

static bool is_usable(const tarn_pool *pool)
{
    return tn_pool_is_open(pool) && pool->is_process_wide;
}

/* The vendor refuses to tell the current device once the process ends. Then the thread keeps the device that it had, and
 * a thread that has not allocated before has the one that threads begin with, device 0. */
static TN_COLD tarn_pool *find_for_thread_at_the_end(void)
{
    const struct tn_location first = location_of(0, followed_kind);
    return is_usable(last) ? last : find(&first);
}

/* The end may begin while the vendor is asked, so a refusal is what tells of it. */
static TN_NOINLINE tarn_status find_for_thread(tarn_pool **pool_out)
{
    bool follows = atomic_load_explicit(&follows_device, memory_order_acquire);
    tarn_pool *pool = NULL;
    tarn_status status = TN_LIKELY(follows)
                             ? tarn_device_pool(TARN_DEVICE_CURRENT, followed_kind, &pool)
                             : create_for_thread(&pool);
    if (TN_UNLIKELY(!pool) && tn_process_is_ending()) pool = find_for_thread_at_the_end();
    if (!pool) return status;
    last = *pool_out = pool;
    return TARN_STATUS_OK;
}

static inline tarn_status find_mine(tarn_pool **pool_out)
{
    *pool_out = atomic_load_explicit(&only, memory_order_acquire);
    return TN_LIKELY(*pool_out != NULL) ? TARN_STATUS_OK : find_for_thread(pool_out);
}

tarn_status tarn_default_pool(tarn_pool **pool_out)
{
    tarn_pool *mine;
    if (!pool_out) return tn_fail_for_null("pool_out");
    tarn_status status = find_mine(&mine);
    if (status == TARN_STATUS_OK) *pool_out = mine;
    return status;
}

/* --- alloc and free ------------------------------------------------------------------------------ */

tarn_status tarn_malloc(size_t size_bytes, void **address_out)
{
    tarn_pool *mine;
    tarn_status status = find_mine(&mine);
    return status == TARN_STATUS_OK ? tarn_pool_alloc(mine, size_bytes, address_out) : status;
}

tarn_status tarn_malloc_on(size_t size_bytes, tarn_stream stream, void **address_out)
{
    tarn_pool *mine;
    tarn_status status = find_mine(&mine);
    return status == TARN_STATUS_OK ? tarn_pool_alloc_on(mine, size_bytes, stream, address_out)
                                    : status;
}

/* The process-wide pool that an address lies in, or the newest one, which then says why it cannot free it. NULL: there
 * is no pool. Asks the thread's last pool first: the others' locks may be busy with their own threads. */
static tarn_pool *find_owner(void *address)
{
    tarn_pool *first = atomic_load_explicit(&newest, memory_order_acquire);
    if (TN_LIKELY(!first || !first->next_process_wide)) return first;
    if (is_usable(last) && tn_pool_holds(last, address)) return last;
    for (tarn_pool *pool = first; pool; pool = pool->next_process_wide) {
        if (tn_pool_holds(pool, address)) return pool;
    }
    return first;
}

/* Creates no pool: a new one would not have the address. */
static TN_COLD tarn_status free_without_a_pool(void *address)
{
    if (!address) return TARN_STATUS_OK;
    tarn_allocation found;
    if (tn_pool_registry_find(address, NULL, &found) != TN_FIND_RESULT_FOREIGN) {
        return tn_fail(TARN_STATUS_WRONG_POOL, "%p belongs to another pool than tarn_malloc's",
                       address);
    }
    if (parent_had_pool) return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_FOREIGN_ADDRESS, "%p belongs to no pool", address);
}

tarn_status tarn_free(void *address)
{
    tarn_pool *owner = find_owner(address);
    return TN_LIKELY(owner != NULL) ? tarn_pool_free(owner, address) : free_without_a_pool(address);
}

tarn_status tarn_free_on(void *address, tarn_stream stream)
{
    tarn_pool *owner = find_owner(address);
    return TN_LIKELY(owner != NULL) ? tarn_pool_free_on(owner, address, stream)
                                    : free_without_a_pool(address);
}

/* --- options and the end ------------------------------------------------------------------------- */

tarn_status tarn_default_pool_configure(const tarn_pool_options *given)
{
    tarn_pool_options options;
    tarn_status status = tn_complete_options(given, &options);
    if (status == TARN_STATUS_OK) status = tn_check_options(&options);
    if (status == TARN_STATUS_OK && options.backend) {
        status = tn_fail(TARN_STATUS_INVALID_OPTIONS,
                         "backend is set, but a process-wide pool is on the current device");
    }
    if (status != TARN_STATUS_OK) return status;
    lock_pools();
    if (atomic_load(&newest)) {
        status = tn_fail(TARN_STATUS_INVALID_ARGUMENT, "there is a process-wide pool already");
    } else {
        (void)snprintf(configured_name, sizeof configured_name, "%s",
                       options.name ? options.name : "");
        options.name = configured_name;
        configured = options;
        is_configured = given != NULL;
    }
    unlock_pools();
    return status;
}

/* The newest of a list of process-wide pools that others cannot find any more. Requires the lock. */
static tarn_pool *take_all(void)
{
    TN_ASSERT(tn_mutex_is_held(&lock));
    tarn_pool *taken = atomic_load(&newest);
    for (tarn_pool *pool = taken; pool; pool = pool->next_process_wide)
        pool->is_process_wide = false;
    forget_all();
    return taken;
}

static void end_all(tarn_pool *taken, tarn_status (*end)(tarn_pool *pool))
{
    for (tarn_pool *pool = taken, *next; pool; pool = next) {
        next = pool->next_process_wide;
        (void)end(pool); /* only live allocations could be refused */
    }
}

static tarn_leaks sum_leaks(tarn_pool *first)
{
    tarn_leaks sum = TARN_LEAKS_INIT;
    for (tarn_pool *pool = first; pool; pool = pool->next_process_wide) {
        tarn_leaks leaks = tn_debug_leaks(pool);
        sum.allocation_count += leaks.allocation_count;
        sum.requested_bytes += leaks.requested_bytes;
        sum.used_bytes += leaks.used_bytes;
    }
    return sum;
}

tarn_status tarn_default_pool_destroy(void)
{
    lock_pools();
    size_t live_count = sum_leaks(atomic_load(&newest)).allocation_count;
    tarn_pool *taken = live_count == 0 ? take_all() : NULL;
    unlock_pools();
    end_all(taken, tarn_pool_destroy);
    if (live_count == 0) return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_LIVE_REGIONS,
                   "the process-wide pools still have %zu live allocation%s", live_count,
                   live_count == 1 ? "" : "s");
}

static tarn_status destroy_forced(tarn_pool *pool)
{
    return tarn_pool_destroy_forced(pool, NULL);
}

/* Reports of a pool without live allocations would only say so. */
static tarn_status report_all(tarn_pool *first, FILE *report)
{
    tarn_status status = TARN_STATUS_OK;
    for (tarn_pool *pool = first; pool; pool = pool->next_process_wide) {
        if (tn_debug_leaks(pool).allocation_count == 0) continue;
        tarn_status written = tn_leak_report_write(pool, report);
        if (status == TARN_STATUS_OK) status = written;
    }
    return status;
}

static tarn_pool *lock_and_take_all(void)
{
    lock_pools();
    tarn_pool *taken = take_all();
    unlock_pools();
    return taken;
}

tarn_status tarn_default_pool_destroy_forced(FILE *report, tarn_leaks *leaks_out)
{
    tarn_status status = TARN_STATUS_OK;
    if (leaks_out) {
        status = tn_check_struct_bytes("leaks_out", leaks_out->struct_bytes, sizeof *leaks_out,
                                       sizeof *leaks_out, TARN_STATUS_INVALID_ARGUMENT);
    }
    if (status != TARN_STATUS_OK) return status;
    tarn_pool *taken = lock_and_take_all();
    const tarn_leaks leaks = sum_leaks(taken);
    if (report) status = report_all(taken, report);
    end_all(taken, destroy_forced);
    if (leaks_out) *leaks_out = leaks;
    return status;
}

tarn_status tarn_default_pool_abandon(void)
{
    end_all(lock_and_take_all(), tarn_pool_abandon);
    return TARN_STATUS_OK;
}
