/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* batch: an alloc serves all entries or none, a free as many as it can. */
#include "batch.h"

#include <string.h>

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../../base/host_memory.h"
#include "../pool/ladder.h"
#include "../pool/pool_batch.h"
#include "../arenas/pool_uses.h"

#include "careful.h"
#include "debug_pool.h"
#include "elsewhere.h"
#include "out_of_memory.h"
#include "recording.h"

/* A batch of no more than these needs no host memory. */
#define FEW_ENTRIES 64

/* Reports the last error again, with the entry's number before its message. */
static TN_COLD tarn_status fail_at(size_t entry, size_t count, tarn_status status)
{
    struct tn_saved_error saved = tn_error_save();
    return tn_fail_vendor(status, saved.error.vendor_code, saved.error.vendor_name,
                          "entry %zu of %zu: %s", entry, count, saved.message);
}

/* --- free ---------------------------------------------------------------------------------------- */

/* Whether a free needs more than the pool's metadata. */
static bool is_freed_alone(const struct tarn_pool *pool)
{
    return tn_pool_needs_care(pool) && (pool->debug || tn_pool_has_uses(pool));
}

/* Frees entries up to the first that cannot be freed. */
static tarn_status free_run(struct tarn_pool *pool, size_t count, void *const *addresses,
                            const tarn_stream *stream, size_t *freed_count_out)
{
    if (!is_freed_alone(pool))
        return tn_pool_free_many(pool, count, addresses, stream, 1, freed_count_out);
    tarn_status status = TARN_STATUS_OK;
    size_t freed_count = 0;
    while (freed_count < count && status == TARN_STATUS_OK) {
        if (addresses[freed_count]) {
            status = tn_pool_free_any(pool, addresses[freed_count], NULL, stream, 1);
        } else {
            tn_pool_count_empty_free(pool);
        }
        if (status == TARN_STATUS_OK) freed_count++;
    }
    *freed_count_out = freed_count;
    return status;
}

static void note_frees(const struct tarn_pool *pool, size_t count, void *const *addresses,
                       tarn_stream stream, uint64_t begun_ns)
{
    if (begun_ns == 0) return;
    for (size_t i = 0; i < count; i++)
        tn_recorder_note_free(addresses[i], tn_recording_stream(pool, stream), begun_ns);
}

/* begun_ns: when the call began, for a recording; 0: do not record. */
static tarn_status free_all(struct tarn_pool *pool, size_t count, void *const *addresses,
                            tarn_stream stream, uint64_t begun_ns)
{
    tarn_status first = TARN_STATUS_OK;
    struct tn_saved_error said = { .error = { TARN_STATUS_OK, 0, "", "" } };
    for (size_t i = 0; i < count; i++) {
        size_t freed_count;
        tarn_status status = free_run(pool, count - i, addresses + i, &stream, &freed_count);
        note_frees(pool, freed_count, addresses + i, stream, begun_ns);
        i += freed_count;
        if (status == TARN_STATUS_NOT_LIVE) {
            status = tn_free_elsewhere(pool, addresses[i], NULL, &stream, 1);
            note_frees(pool, status == TARN_STATUS_OK, addresses + i, stream, begun_ns);
        }
        if (status == TARN_STATUS_OK || first != TARN_STATUS_OK) continue;
        first = fail_at(i, count, status);
        said = tn_error_save();
    }
    if (first != TARN_STATUS_OK) tn_error_restore(&said);
    return first;
}

tarn_status tn_batch_free(struct tarn_pool *pool, size_t count, void *const *addresses,
                          tarn_stream stream)
{
    return free_all(pool, count, addresses, stream, tn_recorder_is_on() ? tn_recorder_now() : 0);
}

/* --- alloc --------------------------------------------------------------------------------------- */

/* Serves an entry by itself. */
static tarn_status alloc_entry(struct tarn_pool *pool, size_t size_bytes, tarn_stream stream,
                               void **address_out)
{
    size_bytes = tn_pool_served_bytes(pool, size_bytes);
    if (size_bytes == 0) {
        tn_pool_count_empty_alloc(pool);
        *address_out = NULL;
        return TARN_STATUS_OK;
    }
    return tn_alloc(pool, size_bytes, 1, stream, address_out);
}

/* Frees entries that neither the program nor a recording has seen. If the vendor can no longer identify the
 * stream, frees without asking it. */
static TN_COLD void undo(struct tarn_pool *pool, size_t count, void *const *addresses,
                         tarn_stream stream)
{
    struct tn_saved_error saved = tn_error_save();
    for (size_t i = 0; i < count; i++) {
        tarn_status status = free_all(pool, 1, &addresses[i], stream, 0);
        if (status == TARN_STATUS_VENDOR_ERROR && !pool->debug)
            tn_pool_undo_alloc(pool, addresses[i], stream);
    }
    tn_error_restore(&saved);
}

static tarn_status alloc_all(struct tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                             tarn_stream stream, void **addresses_out)
{
    tarn_status status = TARN_STATUS_OK;
    size_t done = 0;
    while (done < count) {
        if (!pool->debug)
            done += tn_pool_serve_many(pool, count - done, sizes_bytes + done, stream,
                                       addresses_out + done);
        if (done == count) break;
        status = alloc_entry(pool, sizes_bytes[done], stream, &addresses_out[done]);
        if (status != TARN_STATUS_OK) goto not_all;
        done++;
    }
    return status;

not_all:
    status = fail_at(done, count, status);
    undo(pool, done, addresses_out, stream);
    return status;
}

/* Refuses sizes that no static pool can have, before anything is allocated. */
static tarn_status check_sizes(struct tarn_pool *pool, size_t count, const size_t *sizes_bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (tn_count_units(sizes_bytes[i], pool->chunk_log2) <= TN_CHUNK_COUNT_MAX) continue;
        tn_pool_count_failure(pool);
        return fail_at(i, count, tn_pool_fail_for_size(pool, sizes_bytes[i]));
    }
    return TARN_STATUS_OK;
}

tarn_status tn_batch_alloc(struct tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                           tarn_stream stream, void **addresses_out)
{
    void *few[FEW_ENTRIES];
    void **addresses = few;
    size_t array_bytes;
    tarn_status status = check_sizes(pool, count, sizes_bytes);
    if (status != TARN_STATUS_OK) return status;
    if (count > FEW_ENTRIES) {
        bool fits = tn_multiply_fits(count, sizeof *addresses, &array_bytes);
        addresses = fits ? tn_host_memory_alloc(array_bytes) : NULL;
    }
    if (!addresses) {
        tn_pool_count_failure(pool);
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "the host has no memory for a batch of %zu addresses", count);
    }
    status = alloc_all(pool, count, sizes_bytes, stream, addresses);
    if (status == TARN_STATUS_OK) {
        memcpy(addresses_out, addresses, count * sizeof *addresses);
        for (size_t i = 0; i < count && tn_recorder_is_on(); i++)
            tn_recording_note_alloc(pool, addresses[i], sizes_bytes[i], stream);
    }
    if (addresses != few) tn_host_memory_free(addresses);
    return status;
}
