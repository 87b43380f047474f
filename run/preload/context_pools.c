/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* context_pools: an array of slots. A slot is published by its context, and is free when it has none. */
#include "context_pools.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/process.h"
#include "base/sync.h"

#include "pass.h"
#include "backend_cuda_hip/gpu_device.h"

struct slot {
    void *_Atomic context;
    tarn_pool *pool; /* NULL: none could be made, and none will be */
    int device;
    bool is_primary; /* the device's primary context */
};

static struct slot slots[TN_CONTEXTS_MAX];
static atomic_size_t slot_count; /* slots that were ever used */
static struct tn_mutex lock =
    TN_MUTEX_INIT; /* of changes, and of walks over other contexts' pools */
static atomic_uint_least32_t
    first_generation; /* of the process that made the first pool, plus 1; 0: none */

/* --- forks ------------------------------------------------------------------------------------------- */

static void after_fork_in_child(void)
{
    tn_mutex_init(&lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)tn_process_watch_forks();
    (void)tn_process_call_around_forks(NULL, NULL, after_fork_in_child);
}

bool tn_context_pools_are_of_parent(void)
{
    uint32_t generation = atomic_load_explicit(&first_generation, memory_order_relaxed);
    return generation != 0 && generation != tn_process_generation() + 1;
}

bool tn_context_pools_are_own(void)
{
    return atomic_load_explicit(&first_generation, memory_order_relaxed) ==
           tn_process_generation() + 1;
}

/* --- slots ------------------------------------------------------------------------------------------- */

static struct slot *find_slot(const void *context)
{
    size_t count = atomic_load_explicit(&slot_count, memory_order_acquire);
    for (size_t i = 0; i < count; i++) {
        if (atomic_load_explicit(&slots[i].context, memory_order_acquire) == context)
            return &slots[i];
    }
    return NULL;
}

/* NULL: all are in use. Requires: lock. */
static struct slot *find_free_slot(void)
{
    size_t count = atomic_load_explicit(&slot_count, memory_order_relaxed);
    for (size_t i = 0; i < count; i++) {
        if (!atomic_load_explicit(&slots[i].context, memory_order_relaxed)) return &slots[i];
    }
    if (count == TN_CONTEXTS_MAX) return NULL;
    atomic_store_explicit(&slot_count, count + 1, memory_order_release);
    return &slots[count];
}

static void publish(struct slot *slot, struct tn_ending_pool entry)
{
    slot->pool = entry.pool;
    slot->device = entry.device;
    slot->is_primary = entry.is_primary;
    atomic_store_explicit(&slot->context, entry.context, memory_order_release);
}

/* --- making a pool ----------------------------------------------------------------------------------- */

/* The vendor promises the alignment of textures of each address. */
static size_t alignment_for(const struct tn_gpu_device *device)
{
    const struct tn_gpu_table *table = device->table;
    size_t alignment_bytes = TARN_ALIGNMENT_BYTES_DEFAULT;
    int wanted_bytes = 0;
    (void)tn_gpu_succeeds(
        table,
        table->get_attribute(&wanted_bytes, table->vendor->texture_alignment, device->number));
    while (alignment_bytes < (size_t)wanted_bytes && alignment_bytes < TARN_CHUNK_BYTES_DEFAULT)
        alignment_bytes *= 2;
    return alignment_bytes;
}

/* Whether a later attempt may succeed: the host or the vendor lacked something. */
static bool may_pass(tarn_status status)
{
    return status == TARN_STATUS_OUT_OF_HOST_MEMORY || status == TARN_STATUS_OUT_OF_MEMORY ||
           status == TARN_STATUS_VENDOR_ERROR;
}

static tarn_status create_pool(tarn_backend *backend, tarn_pool **pool_out)
{
    char name[TARN_LABEL_BYTES_MAX + 1];
    const struct tn_gpu_device *device = backend->state;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = backend;
    options.alignment_bytes = alignment_for(device);
    options.free_waits = true;
    options.rank_count = TARN_RANKS_BY_LAUNCHER;
    options.reads_environment = true;
    options.name = name;
    snprintf(name, sizeof name, TN_VENDOR_NAME " device %d", device->number);
    tarn_status status = tarn_pool_create(&options, pool_out);
    /* The user has asked for something, such as a preset, and would wait for its effect. */
    if (status != TARN_STATUS_OK && !may_pass(status))
        fprintf(stderr, "tarn: %s; the program runs without a pool\n", tarn_last_error().message);
    return status;
}

/* Makes a pool for a context that is current. Requires: lock. */
static tarn_status make(const struct tn_vendor *vendor, void *context, struct tn_ending_pool *made)
{
    tarn_backend backend;
    tn_pass_tell_wrong_values();
    *made = (struct tn_ending_pool){ .context = context, .device = -1 };
    tarn_status status = tn_vendor_open(vendor, context, &backend).status;
    if (status != TARN_STATUS_OK) return status;
    made->device = ((const struct tn_gpu_device *)backend.state)->number;
    tn_vendor_error error =
        tn_vendor_find_whether_primary(vendor, context, made->device, &made->is_primary);
    status =
        error == TN_ERROR_SUCCESS ? create_pool(&backend, &made->pool) : TARN_STATUS_VENDOR_ERROR;
    if (status == TARN_STATUS_OK) return status;
    made->pool = NULL;
    tarn_backend_close(&backend);
    return status;
}

/* NULL: there is no slot, or no pool this time. */
static struct slot *find_or_make(const struct tn_vendor *vendor, void *context)
{
    struct tn_ending_pool made;
    tn_mutex_lock(&lock);
    struct slot *slot = find_slot(context);
    struct slot *free_slot = slot ? NULL : find_free_slot();
    if (free_slot && !may_pass(make(vendor, context, &made))) {
        slot = free_slot;
        publish(slot, made);
    }
    atomic_store(&first_generation, tn_process_generation() + 1);
    tn_mutex_unlock(&lock);
    return slot;
}

void tn_context_pools_refuse(void *context)
{
    tn_mutex_lock(&lock);
    struct slot *slot = find_slot(context) ? NULL : find_free_slot();
    if (slot) publish(slot, (struct tn_ending_pool){ .context = context, .device = -1 });
    tn_mutex_unlock(&lock);
}

static void *current_context(const struct tn_vendor *vendor)
{
    void *context = NULL;
    if (!vendor->is_complete) return NULL;
    return tn_vendor_get_context(vendor, &context) == TN_ERROR_SUCCESS ? context : NULL;
}

enum tn_reason tn_context_pools_find(const struct tn_vendor *vendor, tarn_pool **pool_out)
{
    void *context = current_context(vendor);
    if (!context) return TN_REASON_NO_CONTEXT;
    struct slot *slot = find_slot(context);
    if (!slot) slot = find_or_make(vendor, context);
    if (!slot || !slot->pool) return TN_REASON_NO_POOL;
    *pool_out = slot->pool;
    return TN_REASON_COUNT;
}

/* --- frees ------------------------------------------------------------------------------------------- */

/* A free of any pool: its stream, or none. */
struct free_call {
    void *address;
    tarn_stream stream;
    bool has_stream;
};

static tarn_status free_in(tarn_pool *pool, const struct free_call *call)
{
    return call->has_stream ? tarn_pool_free_on(pool, call->address, call->stream)
                            : tarn_pool_free(pool, call->address);
}

static bool is_elsewhere(tarn_status status)
{
    return status == TARN_STATUS_FOREIGN_ADDRESS || status == TARN_STATUS_WRONG_POOL;
}

/* The address is in none of the current context's pools. */
static tarn_status free_in_others(const struct slot *tried, const struct free_call *call)
{
    tarn_status status = TARN_STATUS_FOREIGN_ADDRESS;
    size_t count = atomic_load_explicit(&slot_count, memory_order_acquire);
    if (count == 0 || (count == 1 && tried)) return status;
    tn_mutex_lock(&lock);
    for (size_t i = 0; i < count && is_elsewhere(status); i++) {
        if (&slots[i] == tried || !atomic_load(&slots[i].context) || !slots[i].pool) continue;
        status = free_in(slots[i].pool, call);
    }
    tn_mutex_unlock(&lock);
    return is_elsewhere(status) ? TARN_STATUS_FOREIGN_ADDRESS : status;
}

static tarn_status free_anywhere(const struct tn_vendor *vendor, const struct free_call *call)
{
    void *context = current_context(vendor);
    const struct slot *slot = context ? find_slot(context) : NULL;
    tarn_status status = TARN_STATUS_FOREIGN_ADDRESS;
    if (slot && slot->pool) status = free_in(slot->pool, call);
    return is_elsewhere(status) ? free_in_others(slot, call) : status;
}

void tn_context_pools_wait_for(const struct tn_vendor *vendor, const void *address)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    if (tarn_pool_find(address, &found) != TARN_STATUS_OK) return;
    size_t count = atomic_load_explicit(&slot_count, memory_order_acquire);
    for (size_t i = 0; i < count; i++) {
        void *context = atomic_load_explicit(&slots[i].context, memory_order_acquire);
        if (context && slots[i].pool == found.pool) tn_vendor_wait(vendor, context);
    }
}

tarn_status tn_context_pools_free(const struct tn_vendor *vendor, void *address)
{
    struct free_call call = { .address = address };
    return free_anywhere(vendor, &call);
}

tarn_status tn_context_pools_free_on(const struct tn_vendor *vendor, void *address,
                                     tarn_stream stream)
{
    struct free_call call = { .address = address, .stream = stream, .has_stream = true };
    return free_anywhere(vendor, &call);
}

/* --- walks over all pools ---------------------------------------------------------------------------- */

/* Calls a function for each pool, under the lock, until it returns true. */
static bool walk(bool (*visit)(void *argument, struct slot *slot), void *argument)
{
    bool is_done = false;
    if (tn_context_pools_are_of_parent()) return false;
    tn_mutex_lock(&lock);
    size_t count = atomic_load(&slot_count);
    for (size_t i = 0; i < count && !is_done; i++) {
        if (atomic_load(&slots[i].context) && slots[i].pool) is_done = visit(argument, &slots[i]);
    }
    tn_mutex_unlock(&lock);
    return is_done;
}

tarn_status tn_context_pools_find_allocation(const void *address, void **base_out,
                                             size_t *size_bytes_out)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    if (tn_context_pools_are_of_parent()) return TARN_STATUS_FOREIGN_ADDRESS;
    tarn_status status = tarn_pool_find(address, &found);
    if (status != TARN_STATUS_OK) return status;
    *base_out = found.address;
    *size_bytes_out = found.size_bytes;
    return TARN_STATUS_OK;
}

static bool trim(void *argument, struct slot *slot)
{
    size_t released_bytes = 0;
    if (tarn_pool_trim(slot->pool, 0, &released_bytes) == TARN_STATUS_OK)
        *(size_t *)argument += released_bytes;
    return false;
}

bool tn_context_pools_trim(void)
{
    size_t released_bytes = 0;
    (void)walk(trim, &released_bytes);
    return released_bytes > 0;
}

struct free_bytes {
    int device;
    size_t sum;
};

static bool add_free_bytes(void *argument, struct slot *slot)
{
    struct free_bytes *call = argument;
    tarn_stats stats = TARN_STATS_INIT;
    if (slot->device == call->device && tarn_pool_stats(slot->pool, &stats) == TARN_STATUS_OK)
        call->sum += stats.free_bytes;
    return false;
}

size_t tn_context_pools_free_bytes(int device)
{
    struct free_bytes call = { device, 0 };
    (void)walk(add_free_bytes, &call);
    return call.sum;
}

int tn_context_pools_current_device(const struct tn_vendor *vendor)
{
    int device;
    if (!vendor->is_complete) return -1;
    return vendor->table.get_device(&device) == TN_ERROR_SUCCESS ? device : -1;
}

static bool add_totals(void *argument, struct slot *slot)
{
    struct tn_pool_totals *totals = argument;
    tarn_stats stats = TARN_STATS_INIT;
    if (tarn_pool_stats(slot->pool, &stats) != TARN_STATUS_OK) return false;
    totals->alloc_count += stats.alloc_count;
    totals->pool_alloc_count += stats.alloc_count;
    totals->free_count += stats.free_count;
    totals->live_bytes_max += stats.requested_bytes_max;
    totals->held_bytes_max += stats.footprint_bytes_max;
    return false;
}

struct tn_pool_totals tn_context_pools_totals(void)
{
    struct tn_pool_totals totals = { 0 };
    (void)walk(add_totals, &totals);
    return totals;
}

/* --- the end of a context ---------------------------------------------------------------------------- */

static struct tn_ending_pool take(struct slot *slot)
{
    struct tn_ending_pool ending = { slot->pool, atomic_load(&slot->context), slot->device,
                                     slot->is_primary };
    atomic_store(&slot->context, NULL);
    return ending;
}

/* Requires: lock. */
static struct slot *find_primary(int device)
{
    size_t count = atomic_load(&slot_count);
    for (size_t i = 0; i < count; i++) {
        if (atomic_load(&slots[i].context) && slots[i].is_primary && slots[i].device == device)
            return &slots[i];
    }
    return NULL;
}

/* context NULL: the primary one of the device. The lock is not held during the trim, which waits. */
static void trim_ending(const void *context, int device)
{
    if (tn_pass_reason() != TN_REASON_COUNT) return; /* a trim would make a capture invalid */
    tn_mutex_lock(&lock);
    const struct slot *slot = context ? find_slot(context) : find_primary(device);
    tarn_pool *pool = slot ? slot->pool : NULL;
    tn_mutex_unlock(&lock);
    if (!pool) return;
    tn_pass_enter_pool();
    (void)tarn_pool_trim(pool, 0, NULL);
    tn_pass_leave_pool();
}

void tn_context_pools_trim_of(const void *context)
{
    if (context) trim_ending(context, -1);
}

void tn_context_pools_trim_primary(int device)
{
    trim_ending(NULL, device);
}

struct tn_ending_pool tn_context_pools_take(void *context)
{
    struct tn_ending_pool ending = { .pool = NULL };
    if (!context || tn_context_pools_are_of_parent()) return ending;
    tn_mutex_lock(&lock);
    struct slot *slot = find_slot(context);
    if (slot) ending = take(slot);
    tn_mutex_unlock(&lock);
    return ending;
}

struct tn_ending_pool tn_context_pools_take_primary(int device)
{
    struct tn_ending_pool ending = { .pool = NULL };
    if (tn_context_pools_are_of_parent()) return ending;
    tn_mutex_lock(&lock);
    struct slot *slot = find_primary(device);
    if (slot) ending = take(slot);
    tn_mutex_unlock(&lock);
    return ending;
}

/* If the context has a new pool by now, the old one keeps its live memory, and is not found any more. */
void tn_context_pools_put_back(struct tn_ending_pool ending)
{
    if (!ending.context) return;
    tn_mutex_lock(&lock);
    struct slot *slot = find_slot(ending.context) ? NULL : find_free_slot();
    if (slot) publish(slot, ending);
    tn_mutex_unlock(&lock);
}

void tn_context_pools_abandon(struct tn_ending_pool ending)
{
    struct tn_pool_totals totals = { 0 };
    struct slot slot = { .pool = ending.pool };
    if (!ending.pool) return;
    (void)add_totals(&totals, &slot);
    tn_notes_pool_ended(&totals);
    (void)tarn_pool_abandon(ending.pool);
}

tn_vendor_error tn_context_pools_end(struct tn_ending_pool ending, tn_vendor_error error)
{
    if (error == TN_ERROR_SUCCESS)
        tn_context_pools_abandon(ending);
    else
        tn_context_pools_put_back(ending);
    return error;
}
