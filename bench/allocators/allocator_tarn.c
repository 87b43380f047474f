/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_tarn: a tarn pool with the default options, and a contiguous one, both with each placement
 * policy and with slack for streams, and one of the lean preset; on the backend that the others use too. */
#include "allocator.h"

#include <stdlib.h>

#include "backing.h"
#include "tarn/tarn.h"

struct tarn_state {
    struct tn_backing backing; /* only opened here: the pool counts for itself */
    tarn_pool *pool;
    bool has_one_stream; /* for all threads */
};

/* How the adapters' pools differ. */
struct variant {
    tarn_fit fit;
    bool is_contiguous;
    bool has_slack; /* for streams */
    bool is_lean;   /* then the preset says the rest */
};

static tarn_pool_options options_of(const struct tn_allocator_settings *settings,
                                    const struct variant *variant)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    const tarn_pool_options lean = TARN_POOL_OPTIONS_LEAN_INIT;
    if (variant->is_lean) return lean;
    options.initial_bytes = settings->initial_bytes;
    options.growth_bytes_max = settings->growth_bytes_max;
    options.contiguous = variant->is_contiguous;
    options.step_bytes = settings->step_bytes;
    options.fit = variant->fit;
    if (variant->has_slack) options.stream_slack = settings->stream_slack;
    return options;
}

static tarn_status create_pool(struct tarn_state *self,
                               const struct tn_allocator_settings *settings,
                               const struct variant *variant, struct tn_reason *reason_out)
{
    tarn_status status = tn_backing_init(&self->backing, settings, reason_out);
    if (status != TARN_STATUS_OK) return status;

    tarn_pool_options options = options_of(settings, variant);
    options.backend = &self->backing.backend;
    if (settings->alignment_bytes > 0) options.alignment_bytes = settings->alignment_bytes;
    status = tarn_pool_create(&options, &self->pool);
    if (status != TARN_STATUS_OK) {
        tn_reason_set(reason_out, "%s", tarn_last_error().message);
        tn_backing_fini(&self->backing);
    }
    return status;
}

/* NOT_SUPPORTED: the pool is to be contiguous, and the device has no ranges. */
static tarn_status open_pool(const struct tn_allocator_settings *settings,
                             const struct variant *variant, void **state_out,
                             struct tn_reason *reason_out)
{
    struct tarn_state *self = malloc(sizeof *self);
    if (!self) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    self->has_one_stream = settings->has_one_stream;
    tarn_status status = create_pool(self, settings, variant, reason_out);
    if (status != TARN_STATUS_OK) {
        free(self);
        return status;
    }
    *state_out = self;
    return TARN_STATUS_OK;
}

static tarn_status alloc_tarn(void *state, size_t size_bytes, void **address_out)
{
    return tarn_pool_alloc(((struct tarn_state *)state)->pool, size_bytes, address_out);
}

static tarn_status free_tarn(void *state, void *address, size_t size_bytes)
{
    (void)size_bytes;
    return tarn_pool_free(((struct tarn_state *)state)->pool, address);
}

static void explain_tarn(void *state, tarn_status status, struct tn_reason *reason_out)
{
    (void)state;
    (void)status;
    tn_reason_set(reason_out, "%s", tarn_last_error().message);
}

static void get_usage_tarn(void *state, struct tn_allocator_usage *usage_out)
{
    *usage_out = (struct tn_allocator_usage){ .footprint_bytes = 0 };
    tarn_stats stats = TARN_STATS_INIT;
    if (tarn_pool_stats(((struct tarn_state *)state)->pool, &stats) != TARN_STATUS_OK) return;
    usage_out->footprint_bytes = stats.footprint_bytes;
    usage_out->footprint_bytes_max = stats.footprint_bytes_max;
    usage_out->vendor_calls = stats.vendor_alloc_count + stats.vendor_free_count;
    usage_out->metadata_bytes = stats.metadata_bytes;
}

static tarn_status trim_tarn(void *state)
{
    return tarn_pool_trim(((struct tarn_state *)state)->pool, 0, NULL);
}

/* --- one of several threads ------------------------------------------------------------------------ */

struct tarn_thread {
    struct tarn_state *shared;
    tarn_stream stream; /* NULL: the default stream */
    bool owns_stream;
};

static tarn_status create_stream(struct tarn_thread *self, struct tn_reason *reason_out)
{
    const tarn_backend *backend = &self->shared->backing.backend;
    if (!backend->operations->stream_create || self->shared->has_one_stream) return TARN_STATUS_OK;
    tarn_backend_result result = backend->operations->stream_create(backend->state, &self->stream);
    self->owns_stream = result.status == TARN_STATUS_OK;
    if (result.status != TARN_STATUS_OK)
        tn_reason_set(reason_out, "no stream: %s", tarn_status_sentence(result.status));
    return result.status;
}

static tarn_status open_tarn_thread(void *state, struct tn_allocator_thread *thread_inout,
                                    struct tn_reason *reason_out)
{
    struct tarn_thread *self = malloc(sizeof *self);
    if (!self) {
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    *self = (struct tarn_thread){ .shared = state, .stream = thread_inout->stream };
    tarn_status status = self->stream ? TARN_STATUS_OK : create_stream(self, reason_out);
    if (status != TARN_STATUS_OK) {
        free(self);
        return status;
    }
    thread_inout->state = self;
    thread_inout->has_stream = self->owns_stream;
    return TARN_STATUS_OK;
}

static tarn_status alloc_in_tarn_thread(void *state, size_t size_bytes, void **address_out)
{
    const struct tarn_thread *self = state;
    return tarn_pool_alloc_on(self->shared->pool, size_bytes, self->stream, address_out);
}

static tarn_status free_in_tarn_thread(void *state, void *address, size_t size_bytes)
{
    const struct tarn_thread *self = state;
    (void)size_bytes;
    return tarn_pool_free_on(self->shared->pool, address, self->stream);
}

static void close_tarn_thread(void *state)
{
    struct tarn_thread *self = state;
    const tarn_backend *backend = &self->shared->backing.backend;
    if (self->stream) tarn_stream_retire(self->stream);
    if (self->owns_stream) {
        backend->operations->stream_destroy(backend->state, self->stream);
    }
    free(self);
}

static void close_tarn(void *state)
{
    struct tarn_state *self = state;
    tarn_pool_destroy_forced(self->pool, NULL);
    tn_backing_fini(&self->backing);
    free(self);
}

/* One adapter, since open is not told which one it is called for. */
#define ADAPTER(variant_, name_, ...)                                                  \
    static tarn_status open_##variant_(const struct tn_allocator_settings *settings,   \
                                       void **state_out, struct tn_reason *reason_out) \
    {                                                                                  \
        static const struct variant variant = { __VA_ARGS__ };                         \
        return open_pool(settings, &variant, state_out, reason_out);                   \
    }                                                                                  \
    const struct tn_allocator tn_allocator_##variant_ = {                              \
        .name = (name_),                                                               \
        .open = open_##variant_,                                                       \
        .alloc = alloc_tarn,                                                           \
        .free = free_tarn,                                                             \
        .explain = explain_tarn,                                                       \
        .get_usage = get_usage_tarn,                                                   \
        .close = close_tarn,                                                           \
        .open_thread = open_tarn_thread,                                               \
        .alloc_in_thread = alloc_in_tarn_thread,                                       \
        .free_in_thread = free_in_tarn_thread,                                         \
        .explain_in_thread = explain_tarn,                                             \
        .close_thread = close_tarn_thread,                                             \
        .free_order = TN_FREE_IS_ORDERED,                                              \
        .trim = trim_tarn,                                                             \
    }

ADAPTER(tarn, "tarn", .fit = TARN_FIT_BEST);
ADAPTER(tarn_first, "tarn:first_fit", .fit = TARN_FIT_FIRST);
ADAPTER(tarn_segregated, "tarn:segregated_fit", .fit = TARN_FIT_SEGREGATED);
ADAPTER(tarn_tlsf, "tarn:tlsf", .fit = TARN_FIT_TLSF);
ADAPTER(tarn_slack, "tarn:slack", .has_slack = true);
ADAPTER(tarn_contiguous, "tarn:contiguous", .is_contiguous = true);
ADAPTER(tarn_lean, "tarn:lean", .is_lean = true);
ADAPTER(tarn_contiguous_first, "tarn:contiguous:first_fit", .fit = TARN_FIT_FIRST,
        .is_contiguous = true);
ADAPTER(tarn_contiguous_segregated, "tarn:contiguous:segregated_fit", .fit = TARN_FIT_SEGREGATED,
        .is_contiguous = true);
ADAPTER(tarn_contiguous_tlsf, "tarn:contiguous:tlsf", .fit = TARN_FIT_TLSF, .is_contiguous = true);
ADAPTER(tarn_contiguous_slack, "tarn:contiguous:slack", .is_contiguous = true, .has_slack = true);
