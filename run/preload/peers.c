/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* peers: a list of contexts. */
#include "peers.h"

#include <stdatomic.h>

#include "base/process.h"
#include "base/sync.h"

#define PEERS_MAX 64 /* further contexts are not waited for */

static struct tn_mutex lock = TN_MUTEX_INIT;
static void *peers[PEERS_MAX];
static atomic_size_t peer_count;

static void after_fork_in_child(void)
{
    tn_mutex_init(&lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)tn_process_call_around_forks(NULL, NULL, after_fork_in_child);
}

/* Returns the count if the context is no peer. Requires: lock. */
static size_t find(const void *context)
{
    size_t i = 0, count = atomic_load(&peer_count);
    while (i < count && peers[i] != context)
        i++;
    return i;
}

static void note(void *context)
{
    tn_mutex_lock(&lock);
    size_t count = atomic_load(&peer_count);
    if (find(context) == count && count < PEERS_MAX) {
        peers[count] = context;
        atomic_store(&peer_count, count + 1);
    }
    tn_mutex_unlock(&lock);
}

void tn_peers_forget(const void *context)
{
    if (atomic_load_explicit(&peer_count, memory_order_relaxed) == 0) return;
    tn_mutex_lock(&lock);
    size_t count = atomic_load(&peer_count);
    size_t i = find(context);
    if (i < count) {
        peers[i] = peers[count - 1];
        atomic_store(&peer_count, count - 1);
    }
    tn_mutex_unlock(&lock);
}

void tn_peers_wait(const struct tn_vendor *vendor)
{
    void *copy[PEERS_MAX];
    if (atomic_load_explicit(&peer_count, memory_order_relaxed) == 0) return;
    tn_mutex_lock(&lock);
    size_t count = atomic_load(&peer_count);
    for (size_t i = 0; i < count; i++)
        copy[i] = peers[i];
    tn_mutex_unlock(&lock);
    for (size_t i = 0; i < count; i++)
        tn_vendor_wait(vendor, copy[i]);
}

void tn_peers_note_current(const struct tn_vendor *vendor)
{
    void *context = NULL;
    if (vendor->is_complete && tn_vendor_get_context(vendor, &context) == TN_ERROR_SUCCESS &&
        context)
        note(context);
}
