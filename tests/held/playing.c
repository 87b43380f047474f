/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* playing: a workload on a pool, beside a model of the pool's pieces. */
#include "playing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocators/late_backend.h"
#include "sim/sim_control.h"
#include "tarn/host.h"

enum {
    STREAMS_MAX = 16
};

/* Vendors give memory in multiples of so much. */
static const size_t granule_bytes = (size_t)2 << 20;

struct piece {
    char *base;
    size_t size_bytes;
    size_t live_count; /* blocks of which a part lies in it */
};

struct block {
    void *address;
    size_t size_bytes;
};

struct session {
    const struct tn_workload *workload;
    const struct setting *setting;
    tarn_backend backend; /* that the pool has: perhaps a late one */
    tarn_pool *pool;
    tarn_stream streams[STREAMS_MAX]; /* of the workload's; without any NULL, the default stream */
    struct block *blocks;             /* by slot */

    struct piece *pieces; /* by address; of several threads none */
    size_t piece_count;
    bool has_grown; /* in the allocation under way */

    atomic_size_t live_bytes; /* of several threads, in whole chunks, calls under way included */
    atomic_size_t live_bytes_max;
    struct played out;
};

static void stop(const char *what)
{
    printf("%s: %s\n", what, tarn_last_error().message);
    exit(1);
}

/* --- the model ---------------------------------------------------------------------------------- */

/* The first piece that ends behind the address. */
static size_t find_piece(const struct session *session, const char *address)
{
    size_t first = 0;
    size_t count = session->piece_count;
    while (count > 0) {
        const struct piece *middle = &session->pieces[first + count / 2];
        bool is_behind = middle->base + middle->size_bytes <= address;
        first = is_behind ? first + count / 2 + 1 : first;
        count = is_behind ? count - count / 2 - 1 : count / 2;
    }
    return first;
}

static void piece_came(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct session *session = user;
    (void)id;
    size_t place = find_piece(session, base);
    session->pieces =
        realloc(session->pieces, (session->piece_count + 1) * sizeof session->pieces[0]);
    if (!session->pieces) stop("no host memory for the model");
    memmove(&session->pieces[place + 1], &session->pieces[place],
            (session->piece_count - place) * sizeof session->pieces[0]);
    session->pieces[place] = (struct piece){ base, size_bytes, 0 };
    session->piece_count++;
    session->has_grown = true;
}

static void piece_goes(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct session *session = user;
    (void)size_bytes;
    (void)id;
    size_t place = find_piece(session, base);
    if (place == session->piece_count || session->pieces[place].base != (char *)base)
        stop("a piece goes that never came");
    if (session->pieces[place].live_count > 0) stop("a piece goes in which blocks live");
    session->piece_count--;
    memmove(&session->pieces[place], &session->pieces[place + 1],
            (session->piece_count - place) * sizeof session->pieces[0]);
}

/* In one range a block may lie in several pieces. */
static void count_block(struct session *session, const struct block *block, size_t change)
{
    const char *end = (const char *)block->address + block->size_bytes;
    for (size_t i = find_piece(session, block->address);
         i < session->piece_count && session->pieces[i].base < end; i++)
        session->pieces[i].live_count += change;
}

/* Bytes of the pieces that live blocks keep. */
static size_t kept_bytes(const struct session *session)
{
    size_t bytes = 0;
    for (size_t i = 0; i < session->piece_count; i++)
        if (session->pieces[i].live_count > 0) bytes += session->pieces[i].size_bytes;
    return bytes;
}

/* --- what is looked at -------------------------------------------------------------------------- */

static tarn_stats stats_of(struct session *session)
{
    tarn_stats stats = TARN_STATS_INIT;
    if (tarn_pool_stats(session->pool, &stats) != TARN_STATUS_OK) stop("no statistics");
    return stats;
}

static void raise_to(double *worst, double part)
{
    if (part > *worst) *worst = part;
}

/* The bytes that live blocks keep, with those of the request that made the pool grow. In one range the request may lie on wholly free
 * steps too, and then keeps all of each. */
static size_t shut_in_bytes(struct session *session, const struct block *block)
{
    size_t before_bytes = kept_bytes(session);
    count_block(session, block, 1);
    size_t after_bytes =
        session->setting->is_lean ? kept_bytes(session) : before_bytes + block->size_bytes;
    return after_bytes + granule_bytes;
}

/* The pool has grown for the block. */
static void look_at_growth(struct session *session, double shut_in)
{
    const tarn_stats stats = stats_of(session);
    size_t waits = session->workload->lag_bytes > 0 ? stats.pending_bytes : 0;
    double beyond_first =
        (double)stats.footprint_bytes - (double)waits - (double)session->setting->first_bytes;
    raise_to(&session->out.held_by_used, beyond_first / (double)stats.used_bytes_max);

    double peak = session->setting->peak_factor * (double)stats.used_bytes_max +
                  (double)session->setting->first_bytes;
    raise_to(&session->out.held_by_allowed,
             (double)stats.footprint_bytes / (peak > shut_in ? peak : shut_in));
}

static void look_at_refusal(struct session *session, tarn_status status, size_t size_bytes)
{
    const struct setting *setting = session->setting;
    if (status != TARN_STATUS_OUT_OF_MEMORY && status != TARN_STATUS_OVER_LIMIT) {
        session->out.status = status;
        return;
    }
    size_t limit_bytes = setting->limit_bytes > 0 ? setting->limit_bytes : setting->memory_bytes;
    double part = (double)(stats_of(session).used_bytes + size_bytes) / (double)limit_bytes;
    if (session->out.refused_part == 0 || part < session->out.refused_part)
        session->out.refused_part = part;
}

/* --- one thread --------------------------------------------------------------------------------- */

static tarn_stream stream_of(const struct session *session, size_t operation)
{
    const struct tn_origin *origins = session->workload->origins;
    return origins ? session->streams[origins[operation].stream] : NULL;
}

static void alloc_block(struct session *session, size_t operation)
{
    const struct tn_operation *what = &session->workload->body.items[operation];
    struct block *block = &session->blocks[what->slot];
    *block = (struct block){ NULL, what->size_bytes };
    session->has_grown = false;
    tarn_status status = tarn_pool_alloc_on(session->pool, block->size_bytes,
                                            stream_of(session, operation), &block->address);
    if (status != TARN_STATUS_OK) {
        look_at_refusal(session, status, block->size_bytes);
        return;
    }
    if (session->has_grown)
        look_at_growth(session, (double)shut_in_bytes(session, block));
    else
        count_block(session, block, 1);
    if (session->workload->lag_bytes > 0) tn_late_backend_advance(block->size_bytes);
}

static void free_block(struct session *session, size_t operation)
{
    struct block *block = &session->blocks[session->workload->body.items[operation].slot];
    if (!block->address) return; /* it was refused */
    count_block(session, block, (size_t)-1);
    tarn_status status =
        tarn_pool_free_on(session->pool, block->address, stream_of(session, operation));
    if (status != TARN_STATUS_OK) session->out.status = status;
}

static void play_alone(struct session *session)
{
    for (size_t i = 0; i < session->workload->body.count; i++)
        if (session->workload->body.items[i].is_alloc)
            alloc_block(session, i);
        else
            free_block(session, i);
}

/* --- several threads, each as fast as it can ---------------------------------------------------- */

struct member {
    struct session *session;
    uint32_t number;
    tarn_status status;
};

static void count_live(struct session *session, size_t size_bytes)
{
    size_t live = atomic_fetch_add(&session->live_bytes, size_bytes) + size_bytes;
    size_t max = atomic_load(&session->live_bytes_max);
    while (live > max && !atomic_compare_exchange_weak(&session->live_bytes_max, &max, live))
        ;
}

static tarn_status play_operation(struct session *session, size_t operation)
{
    const struct tn_operation *what = &session->workload->body.items[operation];
    struct block *block = &session->blocks[what->slot];
    tarn_stream stream = stream_of(session, operation);
    if (!what->is_alloc) {
        tarn_status status = tarn_pool_free_on(session->pool, block->address, stream);
        atomic_fetch_sub(&session->live_bytes, block->size_bytes);
        return status;
    }
    const size_t chunk = TARN_CHUNK_BYTES_DEFAULT;
    *block = (struct block){ NULL, (what->size_bytes + chunk - 1) / chunk * chunk };
    count_live(session, block->size_bytes);
    return tarn_pool_alloc_on(session->pool, what->size_bytes, stream, &block->address);
}

static void *play_part(void *argument)
{
    struct member *member = argument;
    const struct tn_workload *workload = member->session->workload;
    for (size_t i = 0; i < workload->body.count && member->status == TARN_STATUS_OK; i++)
        if (workload->origins[i].thread == member->number)
            member->status = play_operation(member->session, i);
    return NULL;
}

static void play_together(struct session *session)
{
    struct member members[STREAMS_MAX];
    pthread_t threads[STREAMS_MAX];
    size_t count = session->workload->origin_thread_count;
    for (size_t i = 0; i < count; i++) {
        members[i] = (struct member){ session, (uint32_t)i, TARN_STATUS_OK };
        if (pthread_create(&threads[i], NULL, play_part, &members[i]) != 0) stop("no thread");
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        if (members[i].status != TARN_STATUS_OK) session->out.status = members[i].status;
    }
    double beyond_first =
        (double)stats_of(session).footprint_bytes_max - (double)session->setting->first_bytes;
    raise_to(&session->out.held_by_used,
             beyond_first / (double)atomic_load(&session->live_bytes_max));
}

/* --- the whole ---------------------------------------------------------------------------------- */

static bool is_of_threads(const struct session *session)
{
    return session->workload->origin_thread_count > 1;
}

static tarn_status open_backend(const struct setting *setting, tarn_backend *backend_out)
{
    if (setting->is_over_vendor) {
        sim_reset();
        SIM_SET(memory_bytes, setting->memory_bytes);
        SIM_SET(allocation_bytes_max, setting->memory_bytes);
        return tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, backend_out);
    }
    tarn_host_options options = TARN_HOST_OPTIONS_INIT;
    options.memory_bytes = setting->memory_bytes;
    return tarn_host_backend_open(&options, backend_out);
}

static tarn_status create_pool(struct session *session)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    const tarn_pool_options lean = TARN_POOL_OPTIONS_LEAN_INIT;
    if (session->setting->is_lean) options = lean;
    options.backend = &session->backend;
    options.initial_bytes = session->setting->initial_bytes;
    options.limit_bytes = session->setting->limit_bytes;
    if (!is_of_threads(session)) {
        options.on_static_pool_created = piece_came;
        options.on_static_pool_destroyed = piece_goes;
        options.user = session;
    }
    return tarn_pool_create(&options, &session->pool);
}

static void open_streams(struct session *session)
{
    for (size_t i = 0; i < session->workload->origin_stream_count; i++)
        if (session->backend.operations->stream_create(session->backend.state, &session->streams[i])
                .status != TARN_STATUS_OK)
            stop("no stream");
}

static void close_streams(struct session *session)
{
    for (size_t i = 0; i < session->workload->origin_stream_count; i++) {
        tarn_stream_retire(session->streams[i]);
        session->backend.operations->stream_destroy(session->backend.state, session->streams[i]);
    }
}

static uint64_t calls_of(struct session *session)
{
    const tarn_stats stats = stats_of(session);
    return stats.vendor_alloc_count + stats.vendor_free_count;
}

static void repeat(struct session *session)
{
    uint64_t calls_before = 0;
    for (size_t i = 1; i <= session->setting->repetitions; i++) {
        if (i == STEADY_REPETITION) calls_before = calls_of(session);
        if (is_of_threads(session))
            play_together(session);
        else
            play_alone(session);
        session->out.operation_count += session->workload->body.count;
    }
    if (session->setting->repetitions >= STEADY_REPETITION)
        session->out.late_call_count = calls_of(session) - calls_before;
}

struct played play(const struct tn_workload *workload, const struct setting *setting)
{
    struct session session = { .workload = workload, .setting = setting };
    tarn_backend device;
    session.out.status = open_backend(setting, &device);
    if (session.out.status != TARN_STATUS_OK) return session.out;
    session.backend =
        workload->lag_bytes > 0 ? tn_late_backend_begin(&device, workload->lag_bytes) : device;
    session.out.status = create_pool(&session);
    if (session.out.status == TARN_STATUS_OK) {
        session.blocks = calloc(workload->slot_count, sizeof session.blocks[0]);
        if (!session.blocks) stop("no host memory for the blocks");
        open_streams(&session);
        repeat(&session);
        close_streams(&session);
        tarn_pool_destroy_forced(session.pool, NULL);
    }
    tarn_backend_close(&device);
    free(session.blocks);
    free(session.pieces);
    return session.out;
}
