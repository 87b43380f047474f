/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* malloc_peer: a general allocator of the host, as an allocator of the benchmark. */
#include "malloc_peer.h"

#include <stdlib.h>

enum {
    /* While the peer is watched, its statistics are read after so many calls, ... */
    CALLS_BETWEEN_LOOKS = 1024,
    /* ... and when the live bytes have grown by one part in so many. So little is missed of the most it held,
     * which it holds when most is live. */
    GROWTH_BETWEEN_LOOKS = 64
};

struct tn_malloc_peer *tn_malloc_peer_create(const struct tn_malloc_calls *calls,
                                             struct tn_reason *reason_out)
{
    struct tn_malloc_peer *self = calloc(1, sizeof *self);
    if (!self) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return NULL;
    }
    self->calls = *calls;
    self->is_watched = calls->look != NULL;
    return self;
}

static void look(struct tn_malloc_peer *self)
{
    size_t held_bytes = 0;
    size_t metadata_bytes = 0;
    self->calls.look(&self->calls, &held_bytes, &metadata_bytes);
    struct tn_allocator_usage *usage = &self->usage;
    usage->footprint_bytes = held_bytes;
    if (held_bytes > usage->footprint_bytes_max) usage->footprint_bytes_max = held_bytes;
    if (metadata_bytes > usage->metadata_bytes) usage->metadata_bytes = metadata_bytes;
}

static void watch(struct tn_malloc_peer *self)
{
    self->call_count++;
    if (self->live_bytes < self->next_look_bytes && self->call_count % CALLS_BETWEEN_LOOKS != 0)
        return;
    look(self);
    size_t next_bytes = self->live_bytes + self->live_bytes / GROWTH_BETWEEN_LOOKS + 1;
    if (next_bytes > self->next_look_bytes) self->next_look_bytes = next_bytes;
}

tarn_status tn_malloc_peer_alloc(void *state, size_t size_bytes, void **address_out)
{
    struct tn_malloc_peer *self = state;
    void *address = self->calls.alloc(size_bytes);
    if (!address && size_bytes > 0) return TARN_STATUS_OUT_OF_MEMORY;
    *address_out = address;
    if (self->is_watched) {
        self->live_bytes += size_bytes;
        watch(self);
    }
    return TARN_STATUS_OK;
}

tarn_status tn_malloc_peer_free(void *state, void *address, size_t size_bytes)
{
    struct tn_malloc_peer *self = state;
    self->calls.free(address);
    if (self->is_watched) {
        self->live_bytes -= size_bytes;
        watch(self);
    }
    return TARN_STATUS_OK;
}

void tn_malloc_peer_explain(void *state, tarn_status status, struct tn_reason *reason_out)
{
    (void)state;
    tn_reason_set(reason_out, "%s", tarn_status_sentence(status));
}

void tn_malloc_peer_get_usage(void *state, struct tn_allocator_usage *usage_out)
{
    struct tn_malloc_peer *self = state;
    if (self->calls.look && !atomic_load(&self->has_threads)) look(self);
    self->is_watched = false;
    *usage_out = self->usage;
}

tarn_status tn_malloc_peer_trim(void *state)
{
    const struct tn_malloc_peer *self = state;
    if (self->calls.trim) self->calls.trim(&self->calls);
    return TARN_STATUS_OK;
}

void tn_malloc_peer_close(void *state)
{
    struct tn_malloc_peer *self = state;
    if (self->calls.trim) self->calls.trim(&self->calls);
    free(self);
}

/* --- one of several threads ------------------------------------------------------------------------ */

tarn_status tn_malloc_peer_open_thread(void *state, struct tn_allocator_thread *thread_inout,
                                       struct tn_reason *reason_out)
{
    struct tn_malloc_peer *self = state;
    (void)reason_out;
    atomic_store(&self->has_threads, true);
    thread_inout->state = self;
    thread_inout->has_stream = false;
    return TARN_STATUS_OK;
}

tarn_status tn_malloc_peer_alloc_in_thread(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_malloc_peer *self = state;
    void *address = self->calls.alloc(size_bytes);
    if (!address && size_bytes > 0) return TARN_STATUS_OUT_OF_MEMORY;
    *address_out = address;
    return TARN_STATUS_OK;
}

tarn_status tn_malloc_peer_free_in_thread(void *state, void *address, size_t size_bytes)
{
    (void)size_bytes;
    ((const struct tn_malloc_peer *)state)->calls.free(address);
    return TARN_STATUS_OK;
}

void tn_malloc_peer_close_thread(void *state)
{
    (void)state;
}
