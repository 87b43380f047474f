/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* notes: counters, and two lists under a lock. */
#include "notes.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "base/sync.h"
#include "../../recorders/convert/number_map.h"

/* All functions by all routes in a few libraries. What comes later is caught as well, and not told. */
#define CAUGHT_MAX 512

atomic_bool tn_notes_is_linked[TN_CALL_COUNT];

static struct tn_mutex lock = TN_MUTEX_INIT; /* of all that is not atomic */
static struct tn_caught caught[CAUGHT_MAX];
static size_t caught_count;
static atomic_uint_least64_t passed[TN_CALL_COUNT][TN_REASON_COUNT];
static atomic_uint_least64_t vendor_call_counts[TN_PURPOSE_COUNT];

static struct tn_number_map vendor_sizes; /* by address */
static size_t vendor_live_bytes;
static struct tn_pool_totals vendor_totals;
static struct tn_pool_totals ended_totals;

/* A thread that does not exist in the child may have held the lock. The list is only appended to. */
static void after_fork_in_child(void)
{
    tn_mutex_init(&lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)tn_process_call_around_forks(NULL, NULL, after_fork_in_child);
}

/* --- what is caught ---------------------------------------------------------------------------------- */

static bool is_noted(enum tn_call call, enum tn_route route, const char *library)
{
    for (size_t i = 0; i < caught_count; i++) {
        if (caught[i].call == call && caught[i].route == route &&
            strcmp(caught[i].library, library) == 0)
            return true;
    }
    return false;
}

/* The library may be closed later, so its name is copied. */
void tn_notes_caught(enum tn_call call, enum tn_route route, const void *caller)
{
    Dl_info info;
    const char *library = dladdr(caller, &info) && info.dli_fname ? info.dli_fname : "";
    tn_mutex_lock(&lock);
    if (caught_count < CAUGHT_MAX && !is_noted(call, route, library)) {
        char *copy = strdup(library);
        caught[caught_count] = (struct tn_caught){ call, route, copy ? copy : "" };
        caught_count++;
    }
    tn_mutex_unlock(&lock);
}

size_t tn_notes_caught_count(void)
{
    tn_mutex_lock(&lock);
    size_t count = caught_count;
    tn_mutex_unlock(&lock);
    return count;
}

struct tn_caught tn_notes_get_caught(size_t index)
{
    return caught[index];
}

/* --- what is passed on ------------------------------------------------------------------------------- */

void tn_notes_passed(enum tn_call call, enum tn_reason reason)
{
    atomic_fetch_add_explicit(&passed[call][reason], 1, memory_order_relaxed);
}

uint64_t tn_notes_passed_count(enum tn_call call, enum tn_reason reason)
{
    return atomic_load_explicit(&passed[call][reason], memory_order_relaxed);
}

void tn_notes_vendor_call(enum tn_purpose purpose)
{
    atomic_fetch_add_explicit(&vendor_call_counts[purpose], 1, memory_order_relaxed);
}

uint64_t tn_notes_vendor_call_count(enum tn_purpose purpose)
{
    return atomic_load_explicit(&vendor_call_counts[purpose], memory_order_relaxed);
}

/* --- memory that the vendor serves ------------------------------------------------------------------- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void note_alloc(tn_vendor_address address, size_t size_bytes)
{
    uint64_t stale_bytes; /* memory that went with its context */
    if (tn_number_map_take(&vendor_sizes, address, &stale_bytes))
        vendor_live_bytes -= (size_t)stale_bytes;
    vendor_totals.alloc_count++;
    if (!tn_number_map_insert(&vendor_sizes, address, size_bytes)) return;
    vendor_live_bytes += size_bytes;
    vendor_totals.live_bytes_max = larger(vendor_totals.live_bytes_max, vendor_live_bytes);
    vendor_totals.held_bytes_max = vendor_totals.live_bytes_max;
}

void tn_notes_vendor_alloc(tn_vendor_address address, size_t size_bytes)
{
    tn_mutex_lock(&lock);
    note_alloc(address, size_bytes);
    tn_mutex_unlock(&lock);
}

void tn_notes_vendor_free(tn_vendor_address address)
{
    uint64_t size_bytes;
    tn_mutex_lock(&lock);
    vendor_totals.free_count++;
    if (tn_number_map_take(&vendor_sizes, address, &size_bytes))
        vendor_live_bytes -= (size_t)size_bytes;
    tn_mutex_unlock(&lock);
}

/* --- totals ------------------------------------------------------------------------------------------ */

static void add(struct tn_pool_totals *sum, const struct tn_pool_totals *totals)
{
    sum->alloc_count += totals->alloc_count;
    sum->free_count += totals->free_count;
    sum->pool_alloc_count += totals->pool_alloc_count;
    sum->live_bytes_max += totals->live_bytes_max;
    sum->held_bytes_max += totals->held_bytes_max;
}

void tn_notes_pool_ended(const struct tn_pool_totals *totals)
{
    tn_mutex_lock(&lock);
    add(&ended_totals, totals);
    tn_mutex_unlock(&lock);
}

struct tn_pool_totals tn_notes_totals(void)
{
    tn_mutex_lock(&lock);
    struct tn_pool_totals totals = ended_totals;
    add(&totals, &vendor_totals);
    tn_mutex_unlock(&lock);
    return totals;
}
