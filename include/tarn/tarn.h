/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/tarn.h: a portable pool of GPU memory.
 *
 * Device allocations by the vendor are slow and stop the device. tarn takes a few large pieces and
 * hands out parts of them in tens of nanoseconds, by bookkeeping on the host alone: it never reads
 * or writes the memory that it manages, so the same code serves every vendor and plain host memory.
 *
 *     #include <tarn/tarn.h>
 *
 *     void *field;
 *     if (tarn_malloc(1000 * sizeof(double), &field) != TARN_STATUS_OK) {
 *         fprintf(stderr, "%s\n", tarn_last_error().message);
 *     }
 *     ...                                      launch kernels on field
 *     tarn_free(field);
 *
 * That used the process-wide pool. With a pool of your own:
 *
 *     tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
 *     options.initial_bytes = (size_t)256 << 20;
 *     options.limit_bytes = (size_t)8 << 30;
 *
 *     tarn_pool *pool;
 *     tarn_pool_create(&options, &pool);
 *     tarn_pool_alloc(pool, 1000 * sizeof(double), &field);
 *     tarn_pool_free(pool, field);
 *     tarn_pool_destroy(pool);
 *
 * Such a pool is on device 0. On another device, or over another kind of memory, pinned for example,
 * open the backend yourself:
 *
 *     tarn_backend backend;
 *     tarn_backend_open(local_rank, TARN_MEMORY_KIND_DEVICE, &backend);
 *     options.backend = &backend;
 *     tarn_pool_create(&options, &pool);
 *     ...
 *     tarn_pool_destroy(pool);
 *     tarn_backend_close(&backend);
 *
 * Words. A chunk is the smallest unit, 1024 bytes unless chosen otherwise; for small requests chunks are cut
 * into slices. A region is a run of chunks, free or live. A static pool is one piece of vendor memory cut into chunks. A pool is what
 * you hold: a list of static pools that grows.
 *
 * Rules for every function.
 *  - Any thread may call it at any time, on the same pool too, and may free what another allocated.
 *    Threads that wait for each other at a pool get parts of it of their own, for as long as it takes; then
 *    best fit is that of the part, and the pool grows for them as long as a third of what it holds is used.
 *    The exceptions are what ends something that others may still use: destroying a pool, closing a
 *    backend.
 *  - If it can fail it returns a status, and writes its outputs only on TARN_STATUS_OK. A call that
 *    fails has changed no allocation, but for tarn_pool_free_many, which frees what it can; one that found
 *    no memory may have given wholly free static pools back, trying to make room. tarn_last_error() then
 *    has a sentence with the values involved.
 *  - It never aborts, throws or prints. A pointer that never was a pool is beyond its help.
 *  - Sizes and addresses are in bytes.
 *
 * When memory may be freed. At once, though the device still works on it, as long as all that work is
 * on one stream: what uses the memory next runs later anyway. A program with several streams says
 * which, by the calls under "streams" below.
 *
 * Life and death. Nothing needs to be destroyed at the end of a program.
 *  - When the process ends, pools may be used to the last, in destructors of static objects and in
 *    functions registered with atexit. Once it has begun to end, a vendor's backend calls its vendor no
 *    more, which could crash: memory, streams and events that are given back are left to the system, without
 *    an error, and a pool that would have to grow fails. What was registered after the first backend was
 *    opened runs before that, and finds all as it was.
 *  - In a child that was forked, pools and backends from before the fork are the parent's. To allocate
 *    from them or resize answers FORKED, and so does asking about them; to free, trim, destroy or close does nothing
 *    and is no error. tarn_malloc makes a new process-wide pool; where the parent had opened a vendor's
 *    backend that answers FORKED, since no vendor's driver survives a fork. A fork is safe whatever
 *    other threads are doing here.
 *  - A thread may end whatever it has allocated or freed.
 *  - A shared libtarn stays in the process when it is closed by dlclose.
 */
#ifndef TARN_TARN_H
#define TARN_TARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/backend.h"
#include "tarn/debug.h"
#include "tarn/export.h"
#include "tarn/init.h"
#include "tarn/record.h"
#include "tarn/stats.h"
#include "tarn/status.h"
#include "tarn/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------ pool ----- */

#define TARN_CHUNK_BYTES_DEFAULT      1024
#define TARN_CHUNK_BYTES_MIN          256
#define TARN_CHUNK_BYTES_MAX          ((size_t)32 << 20)
#define TARN_INITIAL_BYTES_DEFAULT    ((size_t)64 << 20)
#define TARN_GROWTH_FACTOR_DEFAULT    2.0
#define TARN_GROWTH_BYTES_MAX_DEFAULT ((size_t)1 << 30)

#define TARN_QUARANTINE_BYTES_DEFAULT ((size_t)64 << 20)

/* As initial_bytes: all that the device has free. */
#define TARN_INITIAL_ALL SIZE_MAX

/* Tells that a static pool comes or goes: its memory as the vendor gave it, and its id, which is never used
 * twice in a process. See on_static_pool_created. */
typedef void (*tarn_static_pool_callback)(void *user, void *base, size_t size_bytes, uint64_t id);

/*
 * The last resort before a pool fails: it may free allocations, of this pool or another, or anything else
 * of the device, and returns whether it is worth another try. `attempt` counts its calls for one
 * allocation, from 0. Called with no lock held, in the thread that allocates; it may call anything. An
 * allocation that it makes itself and that fails does not call it again.
 */
typedef bool (*tarn_out_of_memory_function)(void *user, tarn_pool *pool, size_t size_bytes,
                                            unsigned attempt);

/*
 * Which of the free regions that are large enough a request is cut from. Whatever the policy, an allocation is
 * served if any region holds it. docs/policies.md has figures.
 */
typedef enum tarn_fit {
    /* The smallest, among equals the one at the lowest index: best_fit. The default: it held least memory, or
     * nearly so, in all that was measured, and what is live decides where the next allocation lies. */
    TARN_FIT_BEST = 0,
    /* The one at the lowest index: first_fit. Gathers what is live at low indexes. Small requests may cut large
     * regions. It takes up to twice the time of best fit, and mostly held more. */
    TARN_FIT_FIRST = 1,
    /* One of a class of sizes, a class for each power of two: segregated_fit. For comparing with pools that do
     * so; it held up to half as much again as best fit. */
    TARN_FIT_SEGREGATED = 2,
    /* The same with 32 classes for each power of two: tlsf. Constant time, unless only the request's own class
     * can serve it, which is searched then. Regions within a 32nd of each other are not told apart, and of those
     * within a 32nd of the request most are passed over, so it may cut a larger one than it must. */
    TARN_FIT_TLSF = 3
} tarn_fit;

typedef struct tarn_pool_options {
    size_t struct_bytes; /* sizeof(tarn_pool_options), as TARN_POOL_OPTIONS_INIT sets it */

    /* Where the memory comes from. NULL: the backend that tarn was built for, on device 0 whatever
     * the thread's current device, opened and closed by the pool. Otherwise the two words are copied; what
     * they refer to must stay until the pool is destroyed. */
    const tarn_backend *backend;

    /* Smallest unit: a power of two from TARN_CHUNK_BYTES_MIN to TARN_CHUNK_BYTES_MAX. */
    size_t chunk_bytes;

    /* The first static pool, taken at the first allocation and not before. Less where the limit or
     * the device is smaller, and halved while the vendor refuses. 0: as much as that
     * allocation needs. TARN_INITIAL_ALL: all that the device has free at that moment; while the vendor
     * refuses, a 64th of it less each time. Leave something to others by a limit: the vendor's runtime and
     * libraries need device memory too. NOT_SUPPORTED where the backend does not tell what is free. */
    size_t initial_bytes;

    /* A further static pool is this many times as large as the largest that the pool holds, or as
     * large as the request if that is more; less in the same cases, and by the cap. 1 or more. */
    double growth_factor;

    /* No further static pool is made larger than this, unless one request alone needs it; how large the
     * first one is, initial_bytes says. 0: no cap. Doubling without end may hold twice of what is live; with
     * 256 MiB two neural networks of 3 GB held 1.07 and 1.09 times their peak, at a dozen calls of the vendor
     * instead of six. */
    size_t growth_bytes_max;

    /* The pool never holds more than this. 0: no limit. An allocation lies in one static pool, so what
     * is left under the limit and what is free in the static pools do not add up; to be able to use
     * the limit to the last byte, make initial_bytes as large. */
    size_t limit_bytes;

    /* The same in per cent of the device's memory, be it free or not: 1 to 100. 0: no limit. The smaller
     * one holds where both are set. NOT_SUPPORTED where the backend does not tell how much there is. */
    unsigned limit_percent;

    /* When a free leaves wholly free static pools of more than this in all, they go back to the vendor,
     * the newest first, until it is no more than this or one is left, which is kept as a spare. So 1 keeps
     * the spare alone, and SIZE_MAX everything. 0: a free gives nothing back; only tarn_pool_trim does,
     * and an allocation that needs room. With any other value a free may call the vendor, which may wait
     * for the device; where another thread is growing or trimming the pool at that moment, a later free
     * sees to it. */
    size_t release_threshold_bytes;

    /* The first static pool is taken when the pool is created, all initial_bytes of it or the creation
     * fails: OVER_LIMIT, OUT_OF_MEMORY, SIZE_TOO_LARGE, VENDOR_ERROR. With TARN_INITIAL_ALL as much as
     * can be had. */
    bool takes_initial_at_once;

    /* With the last free all static pools go back to the vendor, the spare too, and the next allocation
     * begins with initial_bytes again. What was said of the threshold holds: such a free calls the vendor,
     * and waits for no other thread. */
    bool returns_when_empty;

    /*
     * The pool's memory lies in one range of addresses. There are no static pools one by one: memory is mapped
     * into the range in steps, exactly those that a request misses beside the free memory that is there already. So
     * free memory merges whenever it came, and the pool holds little more than is live. Holes are filled
     * first. Steps that are wholly free go back wherever static pools would: by a trim, for an allocation that needs
     * room, by the threshold (the spare is one step), with the last free; the highest ones first. The addresses
     * stay reserved, eight times as many as the limit or the device allow, and are used again.
     * growth_factor and growth_bytes_max mean nothing here; initial_bytes, limits and the threshold hold
     * for what is mapped, in whole steps. The functions below are told of each step, with an id of its own;
     * tarn_pool_find names the range. The calls that share plain allocations with other processes
     * (cudaIpcGetMemHandle and the like) do not take such memory. Where it is to be shared, by an MPI
     * library for example, set is_shareable, or leave this out.
     * NOT_SUPPORTED where the backend has no ranges (range_granularity_bytes), as for kinds other than DEVICE.
     */
    bool contiguous;

    /* The size of a step, a power of two; more where the device maps no less, or a chunk is larger. Mapping costs
     * about the same for every size up to 64 MiB, and on average half a step or so is held in vain. 0: a 512th
     * of the device's memory, or a 16th of limit_bytes if that is less, from 2 to 64 MiB. */
    size_t step_bytes;

    /*
     * The memory of a contiguous pool can be given to other processes: each step is made so that it has a file
     * descriptor, which tarn_pool_export gives. Libraries that share memory themselves, as MPI does, need no more
     * than this: from an address they find what lies there (cuMemRetainAllocationHandle), and make the descriptor.
     * Steps of host memory, and HIP's, then take a file descriptor each, of which a process often has no more
     * than 1024; and a forked child of a process with such host memory does not get a copy of it, but shares it.
     * NOT_SUPPORTED where device or driver cannot (has_shareable_ranges). INVALID_OPTIONS without contiguous:
     * plain allocations of a device are shared by the vendor's own handles of a static pool's base, see
     * tarn_pool_find.
     */
    bool is_shareable;

    /*
     * Pass-through, to find out whether the pool has a part in a bug, and to let memory checkers (compute-sanitizer,
     * valgrind, the address sanitizer of a backend of your own) see each allocation: every allocation is one of the
     * backend, of just its size or, where it is to be aligned to more than the backend promises, as much more as that
     * may take; and every free gives it back at once, which waits for the work on it as the backend's release
     * does. All else is as ever: statistics, limits, checks, what is told and what is refused. What was freed in a
     * capture goes back when the graph is gone. initial_bytes, the options of growth and of giving back, contiguous,
     * is_shareable, and of debug all but TARN_DEBUG_SITES mean nothing then. TARN_DISABLE=1 in the environment sets
     * this for all pools of the process, but for those over memory of the caller's.
     */
    bool passes_through;

    /*
     * Streams end unannounced: for a program that cannot call tarn_stream_retire before a handle ends, since
     * others destroy the streams. Each call that names a stream asks the vendor for the stream's number, so that
     * a new stream with an old one's handle is taken for a new one, and each free is recorded at once, while
     * the stream is certainly there. Outside calls that name it, the pool never uses a handle. The default
     * stream never ends, and costs nothing more.
     * That is a call of the vendor for each allocation and two for each free, and both wait for another thread
     * that grows the pool at that moment. Streams cannot be captured.
     * NOT_SUPPORTED where the vendor does not number streams: before CUDA 12 and HIP 7.2, and with Level Zero.
     */
    bool identifies_streams;

    /*
     * For who has to register memory with somebody: MPI, RDMA, NCCL. Both may be NULL; `user` is handed
     * to them.
     *
     * Created: the static pool is there, and nothing of it has been handed out. Destroyed: nothing of it
     * is handed out any more, and the vendor gets it back when the function returns. Each created one is
     * destroyed once, at the end of the pool at the latest.
     *
     * They run in the thread whose call made the static pool come or go, with no lock held, several at
     * once where several threads need memory. They may use the pool and wait for other threads that do.
     * What counts as held meanwhile: the static pool, so that a limit is kept. Another thread that finds
     * nothing while a function runs takes just what it needs from the vendor; where it cannot have that,
     * it waits for the function to return, and only then fails. A call from within a function never
     * waits so. Hence the one thing that a function must not wait for: another thread's allocation which
     * only this static pool could serve. And it must not destroy the pool. While a pool is created or
     * destroyed it cannot be used yet, or any more.
     */
    tarn_static_pool_callback on_static_pool_created;
    tarn_static_pool_callback on_static_pool_destroyed;

    /* Called when all else has failed; see tarn_out_of_memory_function. NULL: nobody is asked. */
    tarn_out_of_memory_function on_out_of_memory;

    /* Serves what this pool cannot, after everybody was asked: over another kind of memory, for example.
     * Its memory is freed through either. It must stay open until this pool is destroyed. NULL: none. */
    tarn_pool *fallback;

    void *user; /* handed to these functions */

    /* Debug mode: the sum of TARN_DEBUG_ flags, as tarn/debug.h tells. 0: none. NOT_SUPPORTED where the
     * backend lacks what a flag needs. */
    unsigned debug;

    /* With TARN_DEBUG_QUARANTINE: as long as what was freed and is held back is more than so many bytes, whole
     * chunks counted, what was freed first is let go. Not 0 then. */
    size_t quarantine_bytes;

    /* The placement policy. Means nothing with passes_through. */
    tarn_fit fit;
    /*
     * Requests of at most half a chunk have slices: a chunk is cut into slices of one size, a power of two from 16
     * bytes, or a 64th of the chunk, to half of it. So 100 000 allocations of 8 bytes take 1.6 MB. A slice is aligned
     * to its size; for an alignment beyond that there is a larger slice, or a chunk.
     * A chunk that is cut is one stream's, the one for which it was cut. What was freed on that stream serves it at
     * once; what other streams have freed of it does when they are done, or it has waited for them. Where the pool
     * has no chunk left, the stream has larger slices, and those of others, after a wait. With its last slice
     * the chunk is free.
     * Whole chunks are what captured streams have, as a graph keeps its memory; pools in debug mode, where
     * each block has its zones; pools that pass through; and pools with chunks of more than 64 KiB. false: all.
     */
    bool slices;
} tarn_pool_options;

#define TARN_POOL_OPTIONS_COMMON_VALUES(SET)             \
    SET(struct_bytes, sizeof(tarn_pool_options))         \
    SET(chunk_bytes, TARN_CHUNK_BYTES_DEFAULT)           \
    SET(growth_factor, TARN_GROWTH_FACTOR_DEFAULT)       \
    SET(quarantine_bytes, TARN_QUARANTINE_BYTES_DEFAULT) \
    SET(slices, true)

#define TARN_POOL_OPTIONS_VALUES(SET)              \
    TARN_POOL_OPTIONS_COMMON_VALUES(SET)           \
    SET(initial_bytes, TARN_INITIAL_BYTES_DEFAULT) \
    SET(growth_bytes_max, TARN_GROWTH_BYTES_MAX_DEFAULT)
TARN_DEFINE_INIT(tarn_pool_options_init, tarn_pool_options, TARN_POOL_OPTIONS_VALUES)
#define TARN_POOL_OPTIONS_INIT TARN_LISTED_INIT(tarn_pool_options_init, TARN_POOL_OPTIONS_VALUES)

/* As Omega_h's own pool: 700 MB at first, then twice the largest, without a cap. */
#define TARN_POOL_OPTIONS_OMEGA_H_VALUES(SET) \
    TARN_POOL_OPTIONS_COMMON_VALUES(SET)      \
    SET(initial_bytes, 700000000)
TARN_DEFINE_INIT(tarn_pool_options_omega_h_init, tarn_pool_options,
                 TARN_POOL_OPTIONS_OMEGA_H_VALUES)
#define TARN_POOL_OPTIONS_OMEGA_H_INIT \
    TARN_LISTED_INIT(tarn_pool_options_omega_h_init, TARN_POOL_OPTIONS_OMEGA_H_VALUES)

/*
 * Creates a pool. `options` may be NULL for the defaults. No memory is taken from the vendor yet,
 * unless takes_initial_at_once says so. Reads TARN_DISABLE from the environment, see passes_through, and the first
 * pool TARN_TRACE, see tarn_malloc.
 * Errors: INVALID_ARGUMENT (pool_out is NULL); INVALID_OPTIONS (the message names the field);
 * INVALID_ENVIRONMENT (TARN_DISABLE is neither 0 nor 1; TARN_TRACE cannot be written); NOT_SUPPORTED (an option that the backend cannot
 * have, likewise); OUT_OF_HOST_MEMORY; what the backend answers when asked for its properties; and those of
 * tarn_backend_open when options->backend is NULL.
 */
TARN_API tarn_status tarn_pool_create(const tarn_pool_options *options, tarn_pool **pool_out);

/*
 * Creates a pool over memory that the caller has: any kind, from anywhere, also an allocation of another
 * pool. It is one static pool: it never grows, nothing of it goes back before the end, and then it is the
 * caller's again. The memory is never read or written, and must stay until the pool is destroyed. Where
 * address or end is not a multiple of the chunk size, what lies beside whole chunks is not used.
 * Of the options, which may be NULL, chunk_bytes, fit, slices, debug (call sites alone: the rest is NOT_SUPPORTED)
 * and the functions that are told of static pools mean something here. backend must be NULL; the others do nothing.
 * Without a backend there are no events. On one stream the pool works as any other. What was freed on one
 * stream is never free for another, unless it was freed by tarn_pool_free_after with no streams, when the
 * work is done; and all that is free when the pool sees a second stream counts as freed on the first, if that
 * has freed anything; and tarn_stream_retire answers VENDOR_ERROR for a stream on which something was freed.
 * What does not fit is OVER_LIMIT.
 * Errors: INVALID_ARGUMENT (address or pool_out is NULL; no whole chunk; the end is beyond the last address);
 * INVALID_OPTIONS (the message names the field); INVALID_ENVIRONMENT (TARN_TRACE, as of tarn_pool_create);
 * OUT_OF_HOST_MEMORY.
 */
TARN_API tarn_status tarn_pool_create_over(void *address, size_t size_bytes,
                                           const tarn_pool_options *options, tarn_pool **pool_out);

/*
 * Destroys a pool and gives its memory back. Refused while allocations are live. NULL is allowed.
 * Afterwards every call on this pool answers INVALID_POOL, until 64 other pools have been destroyed:
 * then its handle may be that of a new pool.
 * Errors: LIVE_REGIONS (the message counts them; nothing has changed); INVALID_POOL;
 * INVALID_ARGUMENT (it is the process-wide pool, which tarn_default_pool_destroy destroys).
 * A piece that the vendor refuses to take back is not an error of this call: there is nothing that
 * the caller could do about it.
 */
TARN_API tarn_status tarn_pool_destroy(tarn_pool *pool);

/* What was still live when a pool was destroyed. */
typedef struct tarn_leaks {
    size_t struct_bytes; /* in: sizeof(tarn_leaks), as TARN_LEAKS_INIT sets it */
    size_t allocation_count;
    size_t requested_bytes; /* what was asked for */
    size_t used_bytes;      /* the same in whole chunks, see tarn_stats */
} tarn_leaks;

#define TARN_LEAKS_INIT TARN_SIZED_INIT(tarn_leaks)

/*
 * The same, whatever is still live: those addresses become invalid. For the end of a program that
 * does not free everything. Says in *leaks_out, which may be NULL, what was live; all zero when nothing
 * was, and for a pool of the process before a fork, where nothing is lost.
 * Errors: INVALID_POOL; INVALID_ARGUMENT (it is the process-wide pool; leaks_out->struct_bytes is wrong).
 */
TARN_API tarn_status tarn_pool_destroy_forced(tarn_pool *pool, tarn_leaks *leaks_out);

/*
 * Gives a pool up without a call of the vendor, whatever is still live. For when its memory has gone
 * with the device, by cudaDeviceReset or the like: then destroying it would hand addresses to the vendor
 * that are nobody's, or by now somebody else's. Only the host memory of the metadata is freed; what the
 * vendor may still hold it keeps, so does a backend what it needs for events, some bytes each, and a
 * backend that the pool opened itself stays open. Closing the backend that the pool was created over may
 * call the vendor, so leave that too, and open a new one. Functions that are told of static pools are not
 * called.
 * Afterwards as after tarn_pool_destroy. NULL is allowed.
 * Errors: INVALID_POOL; INVALID_ARGUMENT (it is the process-wide pool, which tarn_default_pool_abandon
 * gives up).
 */
TARN_API tarn_status tarn_pool_abandon(tarn_pool *pool);

/* -------------------------------------------------------------------------- alloc and free ----- */

/*
 * Allocates size_bytes. The address is a multiple of 256; of up to 128 bytes, which may have a slice, of the size
 * rounded up to a power of two, and at least of 16: see `slices` of the options. Zero bytes succeed with a NULL
 * address.
 * A small request takes the first free slice of a chunk that is cut already, if there is one. Anything else
 * takes the smallest free region that is large enough, among equals the one at the lowest index (best
 * fit), unless the pool has another policy: see tarn_fit. Indexes run through the static pools in the order
 * in which they were made, but for one that takes the place of one given back. So where the backends round
 * sizes alike, the same sequence of calls gives the same offsets; statistics and other looks at the pool are calls, too,
 * since with them an empty chunk that is kept for small requests is free. When no free region is large enough the
 * pool grows, which is when the vendor is called.
 * Errors: INVALID_POOL; INVALID_ARGUMENT (address_out is NULL); SIZE_TOO_LARGE; OVER_LIMIT;
 * OUT_OF_MEMORY (also for what is more than the backend's largest allocation); OUT_OF_HOST_MEMORY;
 * VENDOR_ERROR.
 * Cost: O(log n) in free regions, tens of nanoseconds; with TARN_FIT_SEGREGATED and TARN_FIT_TLSF O(1), but
 * O(n) for a request that only regions of its own class of sizes can serve; growth costs what the vendor's
 * call costs.
 */
TARN_API tarn_status tarn_pool_alloc(tarn_pool *pool, size_t size_bytes, void **address_out);

/*
 * The same, at an address that is a multiple of alignment_bytes, any power of two. The best by the
 * pool's policy of the regions that can hold the request so aligned; what is left before and after it stays
 * free.
 * Errors: besides those of tarn_pool_alloc, INVALID_ALIGNMENT.
 * Cost: that of tarn_pool_alloc, plus a step for each region that only the alignment rules out.
 */
TARN_API tarn_status tarn_pool_alloc_aligned(tarn_pool *pool, size_t size_bytes,
                                             size_t alignment_bytes, void **address_out);

/*
 * Frees what tarn_pool_alloc or tarn_pool_alloc_aligned gave. Freeing NULL does nothing.
 * Never allocates host memory, and never calls the vendor unless the pool was told to give memory back
 * by itself (release_threshold_bytes, returns_when_empty, passes_through); so a correct free cannot fail.
 * Errors, all detected from the pool's own metadata and none of them changing anything:
 * INVALID_POOL; NOT_LIVE (freed twice, or never handed out); INTERIOR_ADDRESS; WRONG_POOL;
 * FOREIGN_ADDRESS (also freed twice, when the memory has gone back to the vendor meanwhile).
 * A second free is told from a first one for as long as nothing else lies there: when the address has
 * been handed out again it is the new allocation that is freed, and only the free of that one fails.
 * Cost: O(log n) in free regions, tens of nanoseconds.
 */
TARN_API tarn_status tarn_pool_free(tarn_pool *pool, void *address);

/*
 * The same by a caller who knows how many bytes were asked for: at the allocation, or by the last resize. Another
 * size frees nothing, in every build: either the address or the size is not what the caller takes it for.
 * NULL with 0 bytes does nothing.
 * Errors: besides those of tarn_pool_free, WRONG_SIZE (the message has both sizes; NULL with another size than 0
 * too).
 * Cost: that of tarn_pool_free, and one look-up more.
 */
TARN_API tarn_status tarn_pool_free_sized(tarn_pool *pool, void *address, size_t size_bytes);

/*
 * Allocates `count` times, all or nothing: sizes_bytes[i] bytes at addresses_out[i], with the same places as of so
 * many calls of tarn_pool_alloc one after the other, and NULL for zero bytes. As long as what the pool holds
 * serves, all of it is done at once under one lock: other threads see all of the batch or nothing of it. An entry
 * that needs more, growth for example, is served as by tarn_pool_alloc, and others may come in between; so it is
 * with each entry of a pool in debug mode or passing through.
 * Where an entry fails, those before it are freed again, and nothing is written. They count as allocated and freed
 * in the statistics, and their memory waits for the stream as after any free; the pool may have grown for them.
 * With count 0 nothing is done, and the arrays may be NULL.
 * Errors: those of tarn_pool_alloc, where the message begins with the entry, "entry 3 of 8: ..."; SIZE_TOO_LARGE is
 * told before anything else is done; INVALID_ARGUMENT (an array is NULL and count not 0); OUT_OF_HOST_MEMORY also
 * where a batch of more than 64 finds no host memory for its addresses.
 * Cost: that of `count` calls, less the locks. Other threads wait for the pool meanwhile.
 */
TARN_API tarn_status tarn_pool_alloc_many(tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                                          void **addresses_out);

/*
 * Frees `count` addresses as tarn_pool_free does, in their order and under one lock, however many of them fail to be
 * live: what is live is freed. An entry that is NULL does nothing. An address that stands twice in the array is
 * freed twice: the second one fails. With count 0 nothing is done, and the array may be NULL.
 * Errors: those of tarn_pool_free, of the first entry that failed, where the message begins with the entry,
 * "entry 3 of 8: ..."; INVALID_ARGUMENT (addresses is NULL and count not 0; nothing is freed). The lock is let go
 * for each entry that fails, or that a fallback frees; in debug mode for each.
 * Cost: that of `count` calls, less the locks. Allocates no host memory.
 */
TARN_API tarn_status tarn_pool_free_many(tarn_pool *pool, size_t count, void *const *addresses);

/*
 * Makes a live allocation larger or smaller where it lies: the address stays, with whatever alignment it has, and
 * nothing is moved or copied. Where that cannot be, nothing has changed, and the answer is NOT_IN_PLACE:
 *
 *     if (tarn_pool_resize(pool, field, larger_bytes) == TARN_STATUS_NOT_IN_PLACE) {
 *         ...                              allocate, copy on the stream, free
 *     }
 *
 * Larger: it takes what is missing from the free region right behind it, if that is large enough and could be
 * allocated without waiting for anybody. It never grows the pool, and no vendor is called. What comes on top has
 * whatever content.
 * Smaller: the chunks that are needed no more are freed, as by tarn_pool_free. Always possible, but for the cases
 * below. Within the allocation's last chunk either is always possible, with the same exceptions.
 * Statistics have the new size at once; a resize counts as no allocation, no free and no failure. From now on
 * tarn_pool_free_sized wants the new size.
 * NOT_IN_PLACE besides, whatever the size, unless it stays the same:
 *  - in debug mode with zones, poison or quarantine, or where a tool such as compute-sanitizer watches the pool: the
 *    ends of an allocation are looked at where they were. With call sites alone it is as without.
 *  - in a pool that passes through, but within the last chunk of the allocation and what was asked for at first.
 *  - beyond its slice, of a small allocation that has one: see `slices` of the options. Within it, it stays there.
 * In a contiguous pool it takes what is mapped already, and maps nothing. What a fallback has served is resized there.
 * Errors: INVALID_POOL, FORKED; INVALID_ARGUMENT (address is NULL, or size_bytes 0); NOT_IN_PLACE;
 * SIZE_TOO_LARGE; OUT_OF_HOST_MEMORY (to describe what is freed); NOT_LIVE, INTERIOR_ADDRESS, WRONG_POOL and
 * FOREIGN_ADDRESS as of tarn_pool_free.
 * Cost: O(log n) in free regions.
 */
TARN_API tarn_status tarn_pool_resize(tarn_pool *pool, void *address, size_t size_bytes);

/*
 * When no free region is large enough and the pool cannot grow, it tries these in turn, and each frees
 * or finds memory that the next attempt may use:
 *     what other streams have freed and is done with       asks events
 *     what other streams have freed                        makes the stream wait for them
 *     wholly free static pools of its own                  gives them back, and grows by the exact need
 *     what nobody can be made to wait for                  waits for the device, with the calling thread
 *     wholly free static pools of other pools              on the same memory; gives them back
 *     options.on_out_of_memory                             asks the user, as often as the answer is yes
 *     options.fallback                                     takes it from there
 * Then the allocation fails, and tarn_last_shortage tells how things stood.
 */
typedef struct tarn_shortage {
    size_t struct_bytes; /* in: sizeof(tarn_shortage), as TARN_SHORTAGE_INIT sets it */
    tarn_status status;  /* what the allocation answered; OK: none has failed in this thread */
    size_t size_bytes;   /* what was asked for */
    size_t alignment_bytes;
    tarn_stream stream;
    size_t footprint_bytes;    /* held by the pool */
    size_t limit_bytes;        /* 0: none */
    size_t used_bytes;         /* in live allocations */
    size_t free_bytes;         /* in free regions */
    size_t pending_bytes;      /* of these, what waits for the work of a stream */
    size_t private_bytes;      /* of these, what belongs to captures */
    size_t largest_free_bytes; /* the largest free region */
    size_t wholly_free_bytes; /* in static pools of which nothing is live: they can be given back */
    size_t other_pools_bytes; /* held by other pools on the same memory */
    size_t device_free_bytes; /* what the device has left, and what it has; 0 where nobody tells */
    size_t device_total_bytes;
    bool fits_if_in_one_piece; /* free_bytes would do, were they not scattered */
    bool fits_without_limit;   /* the device has enough left, and the pool's limit forbids it */
} tarn_shortage;

#define TARN_SHORTAGE_INIT TARN_SIZED_INIT(tarn_shortage)

/* How things stood when an allocation last failed for memory in the calling thread. Errors:
 * INVALID_ARGUMENT (shortage_out is NULL or its struct_bytes is wrong). */
TARN_API tarn_status tarn_last_shortage(tarn_shortage *shortage_out);

/* -------------------------------------------------------------------------------- streams ------ */

/*
 * Work on a device runs late: when memory is freed, the kernel that uses it may not have begun. So each
 * free says on which stream the memory was used last, and each allocation on which it is used first:
 *
 *     tarn_pool_alloc_on(pool, size_bytes, a, &x);
 *     kernel<<<..., a>>>(x);
 *     tarn_pool_free_on(pool, x, a);             at once, while the kernel still runs
 *     tarn_pool_alloc_on(pool, size_bytes, a, &y);     may be the same memory: its use on a comes later
 *     tarn_pool_alloc_on(pool, size_bytes, b, &z);     is not; or b was made to wait for a
 *
 * Memory that was freed on a stream is free for that stream at once, with no call of the vendor. For
 * another stream it is free when all that had been submitted to the first one before the free is done.
 * Where that is not known yet, and nothing else fits, the pool records an event on the first stream and
 * makes the other wait for it, on the device: no thread waits. One record and one wait serve for all that
 * was freed on the first stream before.
 *
 * tarn_pool_alloc and tarn_pool_free are the same on the device's default stream, NULL. Memory that is
 * used on a stream must not be freed by them, unless that stream is done with it.
 *
 * A stream is known by its handle. Before a handle ends (cudaStreamDestroy and the like), tell by
 * tarn_stream_retire: the vendor may give the same handle to the next stream, which would be taken for
 * the old one. As long as it is not retired, the pool may record an event on it. A program that cannot tell
 * has the option identifies_streams. Two names of the default stream, NULL and cudaStreamLegacy, are one stream.
 *
 * A handle that stands for a stream of each thread's own, such as cudaStreamPerThread, means the calling
 * thread's, in each of these functions. Nobody else can record an event on that, so what a thread freed there
 * serves others only after the thread's next call of the pool that follows their wish: that call records. Until
 * then they do with other memory, or the pool grows; where it cannot, it waits for the device. So a thread has
 * what it freed itself at once, and with no call of the vendor; a record at each free would have cost it that,
 * and would have had frees wait for threads that grow the pool. Before a thread ends it should retire the handle:
 * what it freed there serves others by a wait for the device alone otherwise. With identifies_streams each free
 * is recorded, here too.
 *
 * A pool knows 30 streams at a time. For one more it forgets one of which nothing free is left, after a wait
 * for the device if need be.
 */

/*
 * Allocates as tarn_pool_alloc does, for use on `stream`, the vendor's own handle, of the pool's device.
 * The best by the pool's policy of what is free for the stream without waiting; if nothing fits there, of
 * what it can wait for; then the pool grows. Good fit, which has no order among all regions, takes the smaller
 * one of what was free for everybody and what was freed on the stream.
 * Errors: besides those of tarn_pool_alloc, INVALID_ARGUMENT (a stream of another device; told when the
 * pool sees it first), and with identifies_streams VENDOR_ERROR (the vendor did not tell which stream it is);
 * OUT_OF_HOST_MEMORY also when the pool knows 30 streams and can forget none.
 * Cost: that of tarn_pool_alloc; besides, where the stream has to wait for others, a record and a wait
 * for each of them.
 */
TARN_API tarn_status tarn_pool_alloc_on(tarn_pool *pool, size_t size_bytes, tarn_stream stream,
                                        void **address_out);

/* The same, aligned as by tarn_pool_alloc_aligned. */
TARN_API tarn_status tarn_pool_alloc_aligned_on(tarn_pool *pool, size_t size_bytes,
                                                size_t alignment_bytes, tarn_stream stream,
                                                void **address_out);

/*
 * Frees as tarn_pool_free does what was used on `stream` last; on which stream it was allocated does
 * not matter. What was not used at all is freed on the stream that it was allocated on, because another
 * may still use it for which that stream was made to wait.
 * Calls the vendor besides when the pool sees the stream for the first time: to look whether it is of the
 * device, and to wait for it should the pool have no room for one more stream. Where the stream is the calling
 * thread's own, and others want what was freed there, it records.
 * Errors: besides those of tarn_pool_free, INVALID_ARGUMENT as of tarn_pool_alloc_on; VENDOR_ERROR. The
 * memory then stays allocated.
 */
TARN_API tarn_status tarn_pool_free_on(tarn_pool *pool, void *address, tarn_stream stream);

/*
 * The same for memory that several streams use: it is free for a stream, even for one of these, when
 * it has waited for all the others. With no streams at all nothing uses the memory any more, because the
 * caller has waited itself, and everybody can have it.
 * Errors: besides those of tarn_pool_free_on, INVALID_ARGUMENT (streams is NULL and stream_count not 0).
 */
TARN_API tarn_status tarn_pool_free_after(tarn_pool *pool, void *address,
                                          const tarn_stream *streams, size_t stream_count);

/* As tarn_pool_free_sized, of what was used on `stream` last. Errors: besides those of tarn_pool_free_on,
 * WRONG_SIZE. */
TARN_API tarn_status tarn_pool_free_sized_on(tarn_pool *pool, void *address, size_t size_bytes,
                                             tarn_stream stream);

/* As tarn_pool_alloc_many, for use on `stream`. Errors: besides those of tarn_pool_alloc_many, those of
 * tarn_pool_alloc_on. With identifies_streams each entry costs what a call would, and one that is freed again
 * though the vendor does not tell which stream it is serves the same stream alone. */
TARN_API tarn_status tarn_pool_alloc_many_on(tarn_pool *pool, size_t count,
                                             const size_t *sizes_bytes, tarn_stream stream,
                                             void **addresses_out);

/* As tarn_pool_free_many, of what was used on `stream` last. Errors: besides those of tarn_pool_free_many, those
 * of tarn_pool_free_on; with identifies_streams each entry costs what a call would. */
TARN_API tarn_status tarn_pool_free_many_on(tarn_pool *pool, size_t count, void *const *addresses,
                                            tarn_stream stream);

/*
 * As tarn_pool_resize, in the order of `stream`. What comes on top is for use on it, as if it had been allocated
 * there: from memory that waits for nothing, that was freed on this stream, or on others that it has waited for
 * since. What is given back is freed on it, so it must have been used there last, or on streams that this one has
 * waited for.
 * Captured streams: what was allocated in a capture becomes larger on that stream while it is captured, and what was
 * not becomes larger on others; everything else is NOT_IN_PLACE. What is given back goes where a free on the stream
 * would bring it.
 * Errors: besides those of tarn_pool_resize, those of a stream as of tarn_pool_free_on, and OUT_OF_HOST_MEMORY also
 * when the pool knows 30 streams and can forget none.
 * Cost: that of tarn_pool_resize; calls the vendor only where tarn_pool_free_on would, to look at the stream.
 */
TARN_API tarn_status tarn_pool_resize_on(tarn_pool *pool, void *address, size_t size_bytes,
                                         tarn_stream stream);

/*
 * Tells all pools that a handle is about to end. What was freed on the stream becomes free for others
 * when the work is done that has been submitted to it by now. Pools that do not know it do nothing.
 * Afterwards the handle is that of a stream which no pool has seen. A handle of each thread's own stream means
 * the calling thread's alone.
 * Errors: VENDOR_ERROR (an event could not be recorded; what was freed on the stream is not handed out
 * any more, and goes back to the vendor with the static pools that it is in); OUT_OF_HOST_MEMORY.
 * Cost: at most one record for each pool.
 */
TARN_API tarn_status tarn_stream_retire(tarn_stream stream);

/* ------------------------------------------------------------------------- captured streams ---- */

/*
 * A stream that is captured into a graph (cudaStreamBeginCapture, hipStreamBeginCapture) runs nothing: its
 * work runs later, each time that the graph is launched, with the addresses that it was captured with.
 * So what is allocated on the stream meanwhile must be nobody else's for as long as there is the graph:
 *
 *     tarn_capture capture = 0;
 *     tarn_capture_begin(pool, s, &capture);
 *     cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
 *     ...                        allocate and free on s, launch kernels
 *     cudaStreamEndCapture(s, &graph);
 *     tarn_capture_end(pool, capture);
 *     ...                        instantiate the graph and launch it, again and again
 *     cudaGraphExecDestroy(executable);
 *     tarn_capture_release(pool, capture, &launched_on, 1);
 *
 * Between begin and end the pool gives the stream memory that waits for nothing, or grows; what is freed
 * there serves the same stream in the same capture again. From end to release it stays the capture's, free
 * or live. While any stream of a pool is being captured the pool asks no events, lets no stream wait for
 * another, and gives nothing back to the vendor, all of which would spoil the capture.
 * A capture is known by its number, which no other capture of the process has; 0 is none.
 */
typedef uint64_t tarn_capture;

/*
 * Begins to serve the stream out of memory of its own, before the vendor's call that begins the
 * capture. What was freed before and is done with can serve it; so it is well to wait for the device first.
 * With *capture 0 it is a new capture, and its number is written; else one more stream of the same capture,
 * or one more graph in the same memory: for graphs that never run at the same time.
 * Where each thread has a stream of that handle, it is the calling thread's that is captured.
 * Errors: INVALID_POOL; INVALID_ARGUMENT (capture is NULL, a number that is none or has been released, or
 * the stream is being captured already); NOT_SUPPORTED (the pool has identifies_streams: what is freed during a
 * capture cannot be recorded); OUT_OF_HOST_MEMORY (also when the pool knows 30 streams and captures).
 */
TARN_API tarn_status tarn_capture_begin(tarn_pool *pool, tarn_stream stream, tarn_capture *capture);

/* Ends it, after the vendor's call, for all streams of the capture. Its memory stays its own. Errors:
 * INVALID_POOL; INVALID_ARGUMENT (the capture is not under way). */
TARN_API tarn_status tarn_capture_end(tarn_pool *pool, tarn_capture capture);

/*
 * The graph, or the graphs, will not be launched any more: their memory is everybody's again, once the
 * streams on which they were launched last have done their work. With no streams the caller has waited.
 * What is still live stays so.
 * Errors: INVALID_POOL; INVALID_ARGUMENT (the capture is still under way, is none, or has been released;
 * streams is NULL and stream_count not 0; a stream of another device); those of introducing a stream.
 * Cost: O(regions of the pool).
 */
TARN_API tarn_status tarn_capture_release(tarn_pool *pool, tarn_capture capture,
                                          const tarn_stream *streams, size_t stream_count);

/* ----------------------------------------------------------------------------------- trim ------ */

/*
 * Gives static pools that are wholly free back to the vendor, the newest first, as long as the pool
 * then still holds keep_bytes or more. What cannot be given back stays as it is. released_bytes_out
 * may be NULL.
 * Errors: INVALID_POOL; VENDOR_ERROR when the vendor refused a piece (it is lost to the pool, and
 * the others were still given back).
 * Cost: that of the vendor's frees, which are made with no lock of the hot path held.
 */
TARN_API tarn_status tarn_pool_trim(tarn_pool *pool, size_t keep_bytes, size_t *released_bytes_out);

/* -------------------------------------------------------------------- process-wide pool -------- */

/*
 * One pool for the whole process, for programs that want no handle. It is created by the first call
 * that needs it, with the default options, changed by the environment:
 *     TARN_INITIAL   first static pool: bytes, or with a suffix K, M, G, T (powers of 1024); or "all",
 *                    what the device has free, up to this rank's share where several ranks share it
 *     TARN_LIMIT     most that it ever holds: the same, a chunk or more, or per cent of the device's
 *                    memory, "1%" to "100%"; where several ranks share the device, of this rank's share
 *     TARN_GROWTH    growth factor, 1 or more
 *     TARN_GROWTH_MAX  no further static pool is larger, unless a request needs it: like TARN_INITIAL
 *     TARN_RELEASE   threshold above which free memory goes back by itself: like TARN_INITIAL; 0: none
 *     TARN_VANISH    "1": with the last free everything goes back; "0": it does not
 *     TARN_CHUNK     chunk size: like TARN_INITIAL
 *     TARN_CONTIGUOUS   "1": all in one range of addresses; "0": not
 *     TARN_STEP      what is mapped into that range at a time: like TARN_INITIAL, a power of two; 0: chosen
 *     TARN_SHAREABLE "1": that range's memory can be given to other processes; "0": it cannot
 *     TARN_DISABLE   "1": every allocation is one of the vendor's, and every free gives it back; "0": not.
 *                    It holds for every pool of the process: see passes_through
 *     TARN_IDENTIFY_STREAMS   "1": streams end unannounced, see identifies_streams; "0": they do not
 *     TARN_DEVICE    number of the device
 *     TARN_KIND      kind of memory: "device", "pinned", "shared" or "managed", which are the same, or
 *                    "host", which is there with every vendor and on no device
 *     TARN_RANKS     how many ranks of a parallel program share the device, 1 or more. Not set: what the
 *                    launcher says (Open MPI, MPICH, Intel MPI, MVAPICH2, Cray, PALS, jsrun, srun, Flux,
 *                    torchrun) of the ranks on the node. If TARN_DEVICE is set, or one device alone is
 *                    visible, the ranks count as spread over the node's devices, where Slurm tells how
 *                    many there are; otherwise such a rank has its device for itself. MPI is not asked
 *     TARN_FIT       placement policy: "best_fit", "first_fit", "segregated_fit" or "tlsf"; see tarn_fit
 *     TARN_DEBUG     debug mode: a list, with commas, of "sites", "zones", "poison" and "quarantine"; see
 *                    tarn/debug.h
 *     TARN_QUARANTINE  quarantine_bytes: like TARN_INITIAL
 *     TARN_SLICES    "0": small requests have chunks of their own; "1": slices
 *     TARN_TRACE     a file, which becomes a trace of all that the process allocates and frees, in this pool and
 *                    others, from the first pool to the end: see tarn/record.h. %p in its name is the process's number
 * A variable that is empty counts as not set. A value that does not parse makes every call that would create
 * the pool answer INVALID_ENVIRONMENT, and the message names it.
 * At the end of the process its memory is left to the system and the driver.
 * Errors: those of tarn_pool_alloc, and, while there is no process-wide pool, INVALID_ENVIRONMENT and
 * those of tarn_pool_create and tarn_backend_open (NO_DEVICE, INVALID_DEVICE, NOT_SUPPORTED).
 */
TARN_API tarn_status tarn_malloc(size_t size_bytes, void **address_out);

/* As tarn_pool_free. Without a process-wide pool nothing is its own: FOREIGN_ADDRESS, WRONG_POOL. In a
 * child of a process that had one, what is in no pool counts as the parent's: nothing happens. */
TARN_API tarn_status tarn_free(void *address);

/* The process-wide pool itself, for statistics and the like; created if need be. Errors: as of
 * tarn_malloc where it is created; INVALID_ARGUMENT. */
TARN_API tarn_status tarn_default_pool(tarn_pool **pool_out);

/*
 * Destroys the process-wide pool, as tarn_pool_destroy does, if there is one. The next tarn_malloc
 * creates it anew. No other thread may be using it.
 */
TARN_API tarn_status tarn_default_pool_destroy(void);

/* Gives the process-wide pool up, as tarn_pool_abandon does, if there is one. Likewise. */
TARN_API tarn_status tarn_default_pool_abandon(void);

/* --------------------------------------------------------------------------------- finding ----- */

/*
 * What lies at an address. The base of the static pool is what RDMA registrations are made of, and
 * what the vendor's IPC handles of a device's memory name (cudaIpcGetMemHandle, hipIpcGetMemHandle,
 * zeMemGetIpcHandle): another process opens the handle, and finds the allocation as far behind the
 * base as it is here. Of a contiguous pool there are none: see tarn_pool_export.
 * `static_pool_id` is never used twice in a process.
 */
typedef struct tarn_allocation {
    size_t struct_bytes; /* in: sizeof(tarn_allocation), as TARN_ALLOCATION_INIT sets it */
    tarn_pool *pool;
    void *address;       /* where the allocation starts */
    size_t size_bytes;   /* what was asked for */
    size_t usable_bytes; /* of its slice or its whole chunks, if there are; all of it may be used */
    void *static_pool_base;   /* what the backend gave */
    size_t static_pool_bytes; /* how much; of a contiguous pool the whole range */
    uint64_t static_pool_id;
} tarn_allocation;

#define TARN_ALLOCATION_INIT TARN_SIZED_INIT(tarn_allocation)

/*
 * Finds the live allocation that `address` lies in, at its start or anywhere inside, in any pool of
 * the process.
 * Errors: INVALID_ARGUMENT (found_out is NULL or its struct_bytes is wrong); NOT_LIVE (the address
 * is in a pool but in no live allocation); FOREIGN_ADDRESS (in no pool).
 * Cost: up to some microseconds: a search of each pool's static pools, then of where the allocation
 * starts; under each pool's lock in turn.
 */
TARN_API tarn_status tarn_pool_find(const void *address, tarn_allocation *found_out);

/*
 * Writes the backend that a pool has its memory from: two words, for its fill and copy for example, where the pool
 * opened it itself. It may be used as long as there is the pool, and must not be closed unless the caller opened it.
 * Errors: INVALID_POOL; FORKED; INVALID_ARGUMENT (backend_out is NULL); NOT_SUPPORTED (a pool over memory of the
 * caller's has none).
 * Cost: none.
 */
TARN_API tarn_status tarn_pool_get_backend(const tarn_pool *pool, tarn_backend *backend_out);

/* ------------------------------------------------------------------------ other processes ------ */

/*
 * A step of a contiguous pool, for another process. That process gets the file descriptor, through a
 * local socket, or by a fork after this call, and maps the whole step with its vendor's calls:
 *     host memory   mmap, MAP_SHARED
 *     CUDA          cuMemImportFromShareableHandle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR; then as for
 *                   memory of its own: cuMemAddressReserve, cuMemMap, cuMemSetAccess
 *     HIP           hipMemImportFromShareableHandle, likewise; some versions of ROCm take the descriptor's address
 *     Level Zero    zePhysicalMemCreate with a ze_external_memory_import_fd_t, OPAQUE_FD; then
 *                   zeVirtualMemReserve, zeVirtualMemMap
 */
typedef struct tarn_exported_step {
    size_t struct_bytes; /* in: sizeof(tarn_exported_step), as TARN_EXPORTED_STEP_INIT sets it */
    int file_descriptor; /* the caller's, who closes it */
    void *base;          /* where the step starts in this process */
    size_t size_bytes;   /* of the step: all that the descriptor stands for */
    size_t offset_bytes; /* of the address that was asked for, in the step */
    uint64_t id;         /* the step's, as on_static_pool_created was told it */
} tarn_exported_step;

#define TARN_EXPORTED_STEP_VALUES(SET)            \
    SET(struct_bytes, sizeof(tarn_exported_step)) \
    SET(file_descriptor, -1)
TARN_DEFINE_INIT(tarn_exported_step_init, tarn_exported_step, TARN_EXPORTED_STEP_VALUES)
#define TARN_EXPORTED_STEP_INIT TARN_LISTED_INIT(tarn_exported_step_init, TARN_EXPORTED_STEP_VALUES)

/*
 * Gives a file descriptor of the step that an address of a shareable pool lies in: an address anywhere in a live
 * allocation, or in a step that on_static_pool_created or on_static_pool_destroyed is just being told of.
 * An allocation may lie in several steps, and then has several descriptors:
 *
 *     for (char *at = field; at < (char *)field + size_bytes; at = (char *)step.base + step.size_bytes) {
 *         tarn_pool_export(pool, at, &step);
 *         ...                              send step.file_descriptor, step.id and step.offset_bytes
 *         close(step.file_descriptor);
 *     }
 *
 * A step keeps its id for as long as it is mapped, so one descriptor for each id is enough for all allocations in it.
 * The other process sees the whole step: what else lies there, and what will. A step that the pool gives back goes
 * on to hold its memory until the descriptors are closed and nobody maps it, and counts no longer as the pool's.
 * Errors: INVALID_POOL; FORKED; INVALID_ARGUMENT (step_out is NULL or its struct_bytes is wrong);
 * NOT_SUPPORTED (the pool was created without is_shareable, or passes through); NOT_LIVE, FOREIGN_ADDRESS,
 * WRONG_POOL; VENDOR_ERROR (the process may have no more file descriptors); OUT_OF_HOST_MEMORY.
 * Cost: a call of the vendor's, under the lock of those who grow or trim the pool.
 */
TARN_API tarn_status tarn_pool_export(tarn_pool *pool, const void *address,
                                      tarn_exported_step *step_out);

/* --------------------------------------------------------------------------- statistics -------- */
/* tarn_pool_stats, tarn_pool_available: tarn/stats.h.  tarn_pool_check, tarn_pool_dump, debug mode:
 * tarn/debug.h.  Traces of what a program allocates: tarn/record.h. */

#ifdef __cplusplus
}
#endif

#endif
