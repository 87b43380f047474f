/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/tarn.h: a portable pool of GPU memory.
 *
 * The vendors' calls for device memory are slow, and some of them stop the device. tarn takes a few large
 * pieces and hands out parts of them. It keeps its books on the host and, outside debug mode, never reads
 * or writes the memory that it manages. So the same code serves every vendor and plain host memory.
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
 * This used the process-wide pool of the calling thread's current device. A pool of your own:
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
 * Such a pool is on the current device, too. For pinned or managed memory, or a device by its number, there are
 * tarn_device_pool and, with a pool of your own, tarn_backend_open:
 *
 *     tarn_backend backend;
 *     tarn_backend_open(TARN_DEVICE_CURRENT, TARN_MEMORY_KIND_PINNED, &backend);
 *     options.backend = &backend;
 *     tarn_pool_create(&options, &pool);
 *     ...
 *     tarn_pool_destroy(pool);
 *     tarn_backend_close(&backend);
 *
 * Words.
 *     chunk         the smallest unit of a pool, 1024 bytes by default
 *     slice         a part of a chunk, for a small request
 *     region        a run of chunks: live (handed out) or free; a free one is pending while the stream
 *                   that it was freed on may still use it
 *     static pool   one piece of vendor memory, cut into chunks; its size never changes
 *     pool          a list of static pools that grows
 *
 * Rules for every function, unless its own text says otherwise.
 *  - Threads. Any thread may call it at any time, also on the same pool. Any thread may free memory that
 *    another thread allocated. A pool may be destroyed, and a backend closed, only while no other thread
 *    uses it.
 *  - Outcome. A function that can fail returns a status. It writes its outputs only on TARN_STATUS_OK.
 *    After a failure tarn_last_error() has a sentence with the values involved.
 *  - Failure. A call that fails changes no allocation. It may have given wholly free static pools back to
 *    the vendor while it looked for memory.
 *  - Handles. A pool that is NULL or destroyed answers INVALID_POOL. A pointer that never was a pool is
 *    undefined behaviour.
 *  - Structs. struct_bytes must be as the struct's initialiser sets it, in this version of the header or an older
 *    one. Another value, like a NULL output, answers INVALID_ARGUMENT; in tarn_pool_options it answers
 *    INVALID_OPTIONS.
 *  - Output. Nothing is thrown. Nothing is printed unless the program or the environment asks for it: see
 *    tarn/log.h. Three exceptions go to standard error. A recording by TARN_TRACE that cannot begin, a
 *    table by TARN_STATS or a map by TARN_MAP that cannot be written is one line. So is, once in a process, each variable of the
 *    environment that begins with TARN_ and is unknown, because its name may be misspelt. A build of the library with
 *    assertions prints the condition that broke, and aborts.
 *  - Sizes are in bytes. A title in quotes is a section of docs/semantics.md.
 *
 * When to free. cudaFree waits for the device; tarn_free does not. Memory may be freed while the device still works on it,
 * if all work on tarn's memory is on one stream: the next use of the memory comes later on that stream. This holds for
 * any one stream, the default stream or another one, also if the calls name none. Debug mode is an exception: there the
 * calls must name the stream.
 *
 * A program with several streams must name them, with tarn_malloc_on, tarn_free_on and the calls under "streams" below.
 * Otherwise memory that one stream still uses is handed out for another one, and contents are wrong. A program that cannot
 * name its streams sets the option free_waits, or TARN_FREE=waits for the process-wide pools.
 *
 * The life of a process, "Life and death".
 *  - Nothing has to be destroyed at exit, and everything may be used until the very end. Once the process
 *    has begun to end, vendors are not called any more, so a pool cannot grow.
 *  - In a forked child, pools from before the fork are the parent's. Allocations, resizes and queries
 *    answer FORKED. Calls that free, trim, destroy or abandon, and those that end an observer or a hold, or end or
 *    release a capture, do nothing and are OK. tarn_malloc makes a new pool; it answers FORKED if the parent had opened a
 *    vendor's backend.
 *  - A thread may end whatever it has allocated. A shared libtarn stays in the process after dlclose.
 */
#ifndef TARN_TARN_H
#define TARN_TARN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/backend.h"
#include "tarn/debug.h"
#include "tarn/export.h"
#include "tarn/init.h"
#include "tarn/log.h"
#include "tarn/record.h"
#include "tarn/stats.h"
#include "tarn/status.h"
#include "tarn/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------- the first calls ---- */

/*
 * Allocates size_bytes from the process-wide pool of the calling thread's current device, which cudaSetDevice or
 * hipSetDevice has set. The first call creates that pool, with the default options as the environment changes them: see
 * "process-wide pools" below. TARN_DEVICE in the environment names another device, for the whole process.
 *
 * Memory: the pool is a list of pieces, which IPC and MPI expect. Where arrays of one stream grow, shrink or come in phases it
 * holds at most 2.25 times the most bytes in use. With TARN_PRESET=lean, on a device that has ranges, it holds 1.36 times.
 * Its first piece comes on top. "Memory held" says for which programs, and tests/held draws them. Lean is not for memory that
 * MPI, IPC or another device touches: "Lean pools".
 * Status: those of tarn_pool_alloc. The call that creates the pool also answers
 *  - INVALID_ENVIRONMENT: a variable has a value that does not parse, or that another variable forbids; the
 *    message names it.
 *  - Those of tarn_pool_create and tarn_backend_open. If an option or device is refused, the message ends with the
 *    variables that are set.
 * Cost: that of tarn_pool_alloc; if the process sees several devices, also the vendor's query for the current device,
 * 12 to 36 ns with CUDA 12 and newer. Without such a query an answer could be wrong, because a thread may set another device at
 * any moment.
 */
TARN_API tarn_status tarn_malloc(size_t size_bytes, void **address_out);

/* Allocates like tarn_malloc, for use on `stream`, a stream of the current device. Status: also those of
 * tarn_pool_alloc_on. */
TARN_API tarn_status tarn_malloc_on(size_t size_bytes, tarn_stream stream, void **address_out);

/*
 * Frees memory of any process-wide pool, whichever device is current. NULL is allowed.
 * Status: those of tarn_pool_free. Without a process-wide pool, FOREIGN_ADDRESS or WRONG_POOL. In a child
 * whose parent had a process-wide pool, an address that is in no pool counts as the parent's: nothing
 * happens, and the answer is OK.
 * Cost: that of tarn_pool_free; with several process-wide pools also a look-up in each until the address is found, the
 * pool that served the thread last being the first.
 */
TARN_API tarn_status tarn_free(void *address);

/* Frees like tarn_free what was used last on `stream`. Status: also those of tarn_pool_free_on. */
TARN_API tarn_status tarn_free_on(void *address, tarn_stream stream);

/* ------------------------------------------------------------------------------------ pool ----- */

#define TARN_CHUNK_BYTES_DEFAULT      1024
#define TARN_CHUNK_BYTES_MIN          256
#define TARN_CHUNK_BYTES_MAX          ((size_t)32 << 20)
#define TARN_ALIGNMENT_BYTES_DEFAULT  256
#define TARN_ALIGNMENT_BYTES_MIN      16
#define TARN_INITIAL_BYTES_DEFAULT    ((size_t)8 << 20)
#define TARN_GROWTH_FACTOR_DEFAULT    2.0
#define TARN_GROWTH_BYTES_MAX_DEFAULT ((size_t)512 << 20)
#define TARN_STREAM_SLACK_MAX         8

/* For pending_factor_max: as much as is in use. Less than 0 would be no bound. */
#define TARN_PENDING_FACTOR_MAX_DEFAULT 1.0

#define TARN_QUARANTINE_BYTES_DEFAULT ((size_t)64 << 20)

/* For rank_count: MPI is never asked, since it may not be initialised yet. "Several ranks on one device" has the rule. */
#define TARN_RANKS_BY_LAUNCHER UINT_MAX

/* For initial_bytes: all that the device has free. */
#define TARN_INITIAL_ALL SIZE_MAX

/*
 * Tells that a static pool has come or is about to go: its memory as the vendor gave it, and its id, which
 * is never used twice in a process. For programs that register memory with MPI, RDMA or NCCL.
 *
 * The function may use the pool and wait for other threads that do. It must not destroy the pool, nor use
 * it while it is being created or destroyed, unless it is a process-wide pool that is being created. It must not wait for another thread's allocation that only
 * this static pool could serve: that can deadlock. It must return. While it is told of a static pool that has come,
 * tarn_pool_trim gives nothing back. "Static pools come and go" has the rest.
 * Threads: runs in the thread whose call made the static pool come or go, with no lock held. Several may
 * run at once.
 */
typedef void (*tarn_static_pool_callback)(void *user, void *base, size_t size_bytes, uint64_t id);

/*
 * Called when the pool can neither serve an allocation nor grow; the fallback is asked after it. The function may
 * free allocations of this pool or of another one, or anything else on the device. It returns whether
 * another try is worth while: then the pool tries everything again, and calls it again if memory is still short.
 * `attempt` counts its calls for one allocation, from 0.
 *
 * It may call anything. While it runs, allocations of its thread from the same pool do not call it. It may be left by
 * longjmp or by an exception: then the allocation has not happened.
 * Threads: runs in the thread that allocates, with no lock held.
 */
typedef bool (*tarn_out_of_memory_function)(void *user, tarn_pool *pool, size_t size_bytes,
                                            unsigned attempt);

/*
 * The placement policy: which free region a request is cut from. Every policy serves a request if any free
 * region holds it. docs/policies.md has figures.
 */
typedef enum tarn_fit {
    TARN_FIT_BEST = 0,       /* best_fit: the smallest; among equals the lowest */
    TARN_FIT_FIRST = 1,      /* first_fit: the lowest */
    TARN_FIT_SEGREGATED = 2, /* segregated_fit: one of a class, a class for each power of two */
    TARN_FIT_TLSF = 3        /* tlsf: one of a class, 32 classes for each power of two */
} tarn_fit;

typedef struct tarn_pool_options {
    size_t struct_bytes; /* sizeof(tarn_pool_options) */

    /* Source of the memory. NULL: the backend that tarn was built for, on the calling thread's current device, which
     * the pool opens and closes. Otherwise the two words are copied, and the backend must stay open until the pool is
     * destroyed. */
    const tarn_backend *backend;

    /* --- how much memory, "When memory is taken", "The limit" */

    /* Bytes of the first static pool, taken at the first allocation; less if the device or the limit has
     * less. Default 8 MiB. 0: what that allocation needs. TARN_INITIAL_ALL: all that the device has free,
     * NOT_SUPPORTED if the backend cannot tell how much that is. */
    size_t initial_bytes;

    /* Take initial_bytes when the pool is created. Default false. If they cannot be had in full, the
     * creation fails with OVER_LIMIT, OUT_OF_MEMORY, SIZE_TOO_LARGE or VENDOR_ERROR. */
    bool takes_initial_at_once;

    /* The most bytes that the pool ever holds, without what the vendor rounds up. A chunk or more; twice a chunk
     * is always enough, see "The limit". Default 0: no limit. */
    size_t limit_bytes;

    /* The same in per cent of the device's memory, free or not: 1 to 100. Default 0: no limit. The smaller
     * limit holds. NOT_SUPPORTED if the backend cannot tell how much memory there is. */
    unsigned limit_percent;

    /* With a further static pool, the pool holds so many times the bytes in use, or what the request needs; near the
     * end of the limit or the device it grows by less. Before that its wholly free static pools go back, but those that
     * wait for work only where it would hold more than so many times the most that was in use. 1 or more, default 2. */
    double growth_factor;

    /* Cap on the size of a further static pool, in bytes, unless one request alone needs more. Default 512
     * MiB. 0: no cap. */
    size_t growth_bytes_max;

    /* --- when memory goes back, "When memory goes back" */

    /* If a free leaves wholly free static pools of more than this many bytes, the newest go back to the vendor
     * until no more than this is left; one stays as a spare in any case. Such a free may wait for the
     * device. Default 0: a free gives nothing back. */
    size_t release_threshold_bytes;

    /* The last free gives all static pools back, the spare too, and so may wait for the device. Default
     * false. */
    bool returns_when_empty;

    /* --- placement, "Small requests" */

    /* Bytes of a chunk: a power of two from TARN_CHUNK_BYTES_MIN to TARN_CHUNK_BYTES_MAX. Default 1024. */
    size_t chunk_bytes;

    /* Requests of at most half a chunk share chunks, which are cut into slices. Default true. Of no effect for captured
     * streams, in debug mode, with passes_through, and with chunks of more than 64 KiB. */
    bool slices;

    /* The placement policy. Default TARN_FIT_BEST. Of no effect with passes_through. */
    tarn_fit fit;

    /* --- memory in one range, "One range of addresses", "Memory for other processes" */

    /* All memory in one range of addresses, mapped in steps. Default false. Free steps go back before the pool would hold more
     * than 1.35 times its most used bytes, and initial_bytes. Not for memory that MPI, IPC or another device touches.
     * growth_factor has no effect then, and growth_bytes_max is the cap on a step. NOT_SUPPORTED if the backend has no
     * ranges. */
    bool contiguous;

    /* Bytes of each step, a power of two; more if the device or a chunk needs more. Default 0: steps follow the size of the
     * pool, from 2 MiB on, and each is at most a 32nd of what the pool then holds. */
    size_t step_bytes;

    /* Other processes can map the memory, see tarn_pool_export. Default false. INVALID_OPTIONS without
     * contiguous, NOT_SUPPORTED if the device or driver cannot. */
    bool is_shareable;

    /* --- streams, "The end of a stream" */

    /* Streams may end without a call of tarn_stream_retire. Default false. Costs a call of the vendor for
     * each allocation and two for each free, except on the default stream and on threads' own streams. Excludes
     * captures. NOT_SUPPORTED if the vendor does not
     * number streams. */
    bool identifies_streams;

    /* --- functions of yours, "Static pools come and go", "Out of memory" */

    /* Called when a static pool has come, and before it goes; with contiguous, for each step. Default NULL. */
    tarn_static_pool_callback on_static_pool_created;
    tarn_static_pool_callback on_static_pool_destroyed;

    /* Called when neither the pool nor growth can serve an allocation. Default NULL. */
    tarn_out_of_memory_function on_out_of_memory;

    /* Passed to these three. Default NULL. */
    void *user;

    /* Serves what this pool cannot, as the very last resort; over pinned memory, for example. Its memory
     * may be freed through either pool. It must outlive this pool. Default NULL. */
    tarn_pool *fallback;

    /* --- looking for errors, "Debug mode", "Pass-through" */

    /* The sum of TARN_DEBUG_ flags, see tarn/debug.h. Default 0. NOT_SUPPORTED if the backend lacks what a
     * flag needs. */
    unsigned debug;

    /* With TARN_DEBUG_QUARANTINE: the most bytes of freed memory, in whole chunks, that are held back.
     * Default 64 MiB. 0 is refused. */
    size_t quarantine_bytes;

    /* Every allocation is one of the backend, and every free gives it back. Default false. These then have
     * no effect: initial_bytes; the options of growth, giving back, ranges and placement; all debug flags but
     * TARN_DEBUG_SITES. TARN_DISABLE=1 in the environment sets it for every pool of the process. */
    bool passes_through;

    /* --- newer options; they come at the end, so that older programs run with newer libraries */

    /* Name of the pool in messages, dumps and reports; copied, and cut to TARN_LABEL_BYTES_MAX bytes. Default
     * NULL: none. */
    const char *name;

    /* Every address is a multiple of so many bytes, a power of two from 16 to chunk_bytes. Default 256, as the vendors'
     * calls promise. No slice is smaller: 100 000 allocations of 8 bytes take 26 MB with 256, and 1.6 MB with 16. */
    size_t alignment_bytes;

    /* The ranks of a parallel program that share the device: this one has its share of initial_bytes, growth_bytes_max
     * and limit_percent, which are then for all ranks together. TARN_RANKS_BY_LAUNCHER: as many as the launcher's
     * environment tells. Default 0: of a process-wide pool by launcher, of other pools 1. */
    unsigned rank_count;

    /* The variables of the environment change the options: see "The environment". TARN_DEVICE and TARN_KIND do so if
     * backend is NULL. Default false; process-wide pools always do. */
    bool reads_environment;

    /* An allocation of zero bytes has an address that no other live one has, and is freed like any other. It counts as
     * one byte everywhere: in statistics, tarn_pool_find and labels; a free that tells its size may say 0 or 1. Default
     * false: it is NULL. */
    bool zero_has_address;

    /* Calls that name no stream mean TARN_STREAM_ANY: a free is as cudaFree, its memory is handed out again only after all
     * work that was submitted to the device before, on any stream. For programs that do not name their streams. Default
     * false. NOT_SUPPORTED if the backend has no events. "Frees that wait" */
    bool free_waits;

    /* If only memory that other streams may still use would serve a request, the pool grows instead of making the stream
     * wait. It then holds at most 1 + stream_slack times the most bytes in use. 0 to TARN_STREAM_SLACK_MAX, default 0: the
     * stream waits. "Slack for streams" */
    double stream_slack;

    /* For programs that run ahead of the device, with free_waits or TARN_STREAM_ANY. If the work of frees that name no
     * stream is not done, and their memory is more than so many times the bytes in use, a free waits for the oldest: at
     * most some 50 ms, and where the pool holds more than it needs. Default 0: TARN_PENDING_FACTOR_MAX_DEFAULT. Less than
     * 0: no free waits for that. "Frees that wait" */
    double pending_factor_max;
} tarn_pool_options;

#define TARN_POOL_OPTIONS_COMMON_VALUES(SET)           \
    SET(struct_bytes, sizeof(tarn_pool_options))       \
    SET(growth_factor, TARN_GROWTH_FACTOR_DEFAULT)     \
    SET(chunk_bytes, TARN_CHUNK_BYTES_DEFAULT)         \
    SET(alignment_bytes, TARN_ALIGNMENT_BYTES_DEFAULT) \
    SET(slices, true)                                  \
    SET(quarantine_bytes, TARN_QUARANTINE_BYTES_DEFAULT)

#define TARN_POOL_OPTIONS_VALUES(SET)              \
    TARN_POOL_OPTIONS_COMMON_VALUES(SET)           \
    SET(initial_bytes, TARN_INITIAL_BYTES_DEFAULT) \
    SET(growth_bytes_max, TARN_GROWTH_BYTES_MAX_DEFAULT)
TARN_DEFINE_INIT(tarn_pool_options_init, tarn_pool_options, TARN_POOL_OPTIONS_VALUES)
#define TARN_POOL_OPTIONS_INIT TARN_LISTED_INIT(tarn_pool_options_init, TARN_POOL_OPTIONS_VALUES)

/* Like Omega_h's own pool: 700 MB at first, then growth by two, without a cap. That pool takes twice its largest piece;
 * this one takes as much as is in use, so it may hold less. */
#define TARN_POOL_OPTIONS_OMEGA_H_VALUES(SET) \
    TARN_POOL_OPTIONS_COMMON_VALUES(SET)      \
    SET(initial_bytes, 700000000)
TARN_DEFINE_INIT(tarn_pool_options_omega_h_init, tarn_pool_options,
                 TARN_POOL_OPTIONS_OMEGA_H_VALUES)
#define TARN_POOL_OPTIONS_OMEGA_H_INIT \
    TARN_LISTED_INIT(tarn_pool_options_omega_h_init, TARN_POOL_OPTIONS_OMEGA_H_VALUES)

/* To hold little more than is live: all memory in one range of addresses, in steps that follow the pool's size from the
 * first allocation's need on. Up to a quarter more where streams would wait for each other. Only on a device with ranges.
 * Not for device memory that MPI, IPC or another device touches: only the pool's own device can use it. "Lean pools" */
#define TARN_POOL_OPTIONS_LEAN_VALUES(SET) \
    TARN_POOL_OPTIONS_COMMON_VALUES(SET)   \
    SET(contiguous, true)                  \
    SET(stream_slack, 0.25)                \
    SET(growth_bytes_max, TARN_GROWTH_BYTES_MAX_DEFAULT)
TARN_DEFINE_INIT(tarn_pool_options_lean_init, tarn_pool_options, TARN_POOL_OPTIONS_LEAN_VALUES)
#define TARN_POOL_OPTIONS_LEAN_INIT \
    TARN_LISTED_INIT(tarn_pool_options_lean_init, TARN_POOL_OPTIONS_LEAN_VALUES)

/*
 * Creates a pool. `options` may be NULL: the defaults. Takes no memory from the vendor, unless
 * takes_initial_at_once is set. Reads TARN_DISABLE, TARN_LOG, TARN_STATS and TARN_MAP from the environment; the
 * first pool of a process also reads TARN_TRACE.
 * Status:
 *  - INVALID_OPTIONS: a field has a value that no pool can have; the message names it.
 *  - NOT_SUPPORTED: the backend cannot do what an option asks for; the message names the option.
 *  - INVALID_ENVIRONMENT: TARN_DISABLE, TARN_LOG, TARN_STATS, TARN_MAP or, with reads_environment, another variable
 *    has a value that does not parse; the message names it.
 *  - OUT_OF_HOST_MEMORY.
 *  - Those of the backend's get_properties.
 *  - Those of tarn_backend_open, if options->backend is NULL.
 *  - OUT_OF_MEMORY, OVER_LIMIT, SIZE_TOO_LARGE, VENDOR_ERROR: with takes_initial_at_once.
 */
TARN_API tarn_status tarn_pool_create(const tarn_pool_options *options, tarn_pool **pool_out);

/*
 * Destroys a pool and gives its memory back to the vendor. NULL is allowed. Later calls on the pool answer
 * INVALID_POOL, until 64 other pools have been destroyed: then a new pool may have its handle. Memory that the vendor
 * refuses twice is lost. While a stream of the process is captured, a pool that opened its backend itself gives its
 * memory back when that has ended.
 * Status:
 *  - LIVE_REGIONS: allocations are still live; the message counts them. Nothing has changed.
 *  - INVALID_ARGUMENT: it is the process-wide pool; use tarn_default_pool_destroy.
 */
TARN_API tarn_status tarn_pool_destroy(tarn_pool *pool);

/* Allocations that were still live when a pool was destroyed. */
typedef struct tarn_leaks {
    size_t struct_bytes; /* in: sizeof(tarn_leaks) */
    size_t allocation_count;
    size_t requested_bytes; /* bytes that the program asked for */
    size_t used_bytes;      /* bytes of their chunks, see tarn_stats */
} tarn_leaks;

#define TARN_LEAKS_INIT TARN_SIZED_INIT(tarn_leaks)

/*
 * Destroys a pool even though allocations are live; their addresses become invalid. For the end of a
 * program that does not free everything. Writes to *leaks_out, which may be NULL, what was live; all zero
 * in a forked child, where the parent's pool loses nothing.
 * Status: INVALID_ARGUMENT: it is the process-wide pool, or leaks_out->struct_bytes is wrong.
 */
TARN_API tarn_status tarn_pool_destroy_forced(tarn_pool *pool, tarn_leaks *leaks_out);

/* -------------------------------------------------------------------------- alloc and free ----- */

/*
 * Allocates size_bytes for use on the device's default stream. Zero bytes succeed with a NULL address, unless the pool
 * has zero_has_address.
 *
 * Alignment: the address is a multiple of the pool's alignment_bytes, 256 by default.
 *
 * Placement: by the pool's policy; a small request prefers a chunk that is cut already. Calls the vendor only if
 * nothing fits, to wait for other streams or to grow, or if the stream is new to the pool. One thread that
 * uses one stream gets the same offsets from the same calls; see "Where memory goes".
 * Status:
 *  - OUT_OF_MEMORY: the device has no memory left that could serve the request, or the request is larger
 *    than the backend's largest allocation. tarn_last_shortage has the figures.
 *  - OVER_LIMIT: the request does not fit under the pool's limit. tarn_last_shortage as well.
 *  - SIZE_TOO_LARGE: the request has more chunks than a static pool can number, whatever the device has.
 *  - OUT_OF_HOST_MEMORY: the host has no memory to describe the allocation.
 *  - VENDOR_ERROR: a call of the vendor failed for another reason.
 * Cost: tens of nanoseconds, O(log n) in free regions. With TARN_FIT_SEGREGATED and TARN_FIT_TLSF O(1), but
 * O(n) if only the request's own class can serve it. Growth costs what the vendor's calls cost, and O(static pools):
 * 40 us when there are 16 000.
 */
TARN_API tarn_status tarn_pool_alloc(tarn_pool *pool, size_t size_bytes, void **address_out);

/*
 * Allocates like tarn_pool_alloc, at a multiple of alignment_bytes, which is any power of two, and of the pool's
 * alignment_bytes. Of the regions that can hold the request so aligned, the policy chooses. The rest of the region
 * stays free.
 * Status: those of tarn_pool_alloc, and INVALID_ALIGNMENT: alignment_bytes is no power of two.
 * Cost: that of tarn_pool_alloc. For alignments above a chunk also a step for each region that only the alignment
 * rules out, so that a request fails only if none fits: 3 ms for 64 000 such regions.
 */
TARN_API tarn_status tarn_pool_alloc_aligned(tarn_pool *pool, size_t size_bytes,
                                             size_t alignment_bytes, void **address_out);

/*
 * Frees memory that this pool allocated and that was used last on the device's default stream. NULL is
 * allowed.
 *
 * Outside debug mode, a free of a live address cannot fail if the pool knows the stream. It needs no host
 * memory, and calls the vendor only to give memory back (release_threshold_bytes, returns_when_empty,
 * passes_through). If the pool has served other streams only, the default stream is new to it: see
 * tarn_pool_free_on.
 * Status, all from the pool's own metadata:
 *  - NOT_LIVE: the address was freed before, or never handed out.
 *  - INTERIOR_ADDRESS: the address lies inside an allocation, not at its start.
 *  - WRONG_POOL: the address is another pool's. A fallback of this pool is no other pool.
 *  - FOREIGN_ADDRESS: the address is in no pool. A second free answers this, too, if the memory has gone
 *    back to the vendor.
 *  - CORRUPT: debug mode found damage; the memory counts as freed. See tarn/debug.h.
 * A second free is told from a first one only until the address is handed out again: then it frees the new
 * allocation.
 * Cost: tens of nanoseconds, O(log n) in free regions.
 */
TARN_API tarn_status tarn_pool_free(tarn_pool *pool, void *address);

/* -------------------------------------------------------------------------------- streams ------ */

/*
 * Work on a device runs late: when memory is freed, the kernel that uses it may not have begun. So each
 * free names the stream that used the memory last, and each allocation the stream that uses it first:
 *
 *     tarn_pool_alloc_on(pool, size_bytes, a, &x);
 *     kernel<<<..., a>>>(x);
 *     tarn_pool_free_on(pool, x, a);                 at once, while the kernel still runs
 *     tarn_pool_alloc_on(pool, size_bytes, a, &y);   may be the same memory
 *     tarn_pool_alloc_on(pool, size_bytes, b, &z);   is other memory, or b was made to wait for a
 *
 *  - Memory that was freed on a stream is free for that stream at once, without a call of the vendor.
 *  - For another stream it is free when all work is done that was submitted to the first stream before the
 *    free. If nothing else fits, the pool records an event on the first stream and makes the second stream
 *    wait for it, on the device. No thread waits. One record and one wait cover all earlier frees on the
 *    first stream.
 *  - tarn_pool_alloc and tarn_pool_free name the device's default stream, NULL. If all work on the pool's memory is on
 *    one other stream, and no call names a stream, NULL stands for that one. If there are more, memory that another
 *    stream uses must not be freed by tarn_pool_free before that stream is done with it.
 *  - TARN_STREAM_ANY instead of a stream: any stream of the device may use the memory. A free waits for all work that was
 *    submitted to the device before, as cudaFree does; an allocation gets memory that waits for nothing, and its thread
 *    waits if there is no other. With free_waits, calls that name no stream mean this. "Frees that wait"
 *
 * Handles of streams.
 *  - A pool may record an event on a stream long after the last free there. So before a handle ends
 *    (cudaStreamDestroy and the like), call tarn_stream_retire: the vendor may give the same handle to the
 *    next stream. A program that cannot do so has the option identifies_streams.
 *  - NULL and cudaStreamLegacy are one stream. cudaStreamPerThread, and any handle like it, means the
 *    calling thread's own stream in every function here. A thread that ends should retire it before.
 *  - There may be any number of streams. A pool has numbers for 29 streams and captures at a time. A further stream
 *    gets the number of one that has no pending memory, or of one on which the pool records an event. The memory of
 *    that one then waits for this event, even for the same stream. Without events, such memory serves nobody until the
 *    pool has waited for the device. Captures keep their numbers until they are released.
 *  - When a pool meets a stream, it asks the vendor whether the stream is of its device. So every call that
 *    allocates, frees or resizes on a stream, and tarn_capture_release, may also have a stream status:
 *    INVALID_ARGUMENT: the stream is of another device; or VENDOR_ERROR: the vendor failed to look at it.
 *    With identifies_streams the vendor is asked in each call, except for the default stream and for
 *    threads' own streams.
 * "Streams" has drawings and examples.
 */

/* Stands for all streams of the device in calls that allocate, free or resize, and in tarn_capture_release.
 * INVALID_ARGUMENT elsewhere, and in pools whose backend has no events. */
#define TARN_STREAM_ANY ((tarn_stream)UINTPTR_MAX)

/*
 * Allocates like tarn_pool_alloc, for use on `stream`, a handle of the vendor's on the pool's device.
 * Chooses from what the stream can have without waiting, then from what it can be made to wait for; then
 * the pool grows.
 * Status: those of tarn_pool_alloc, and a stream status. OUT_OF_HOST_MEMORY: also if captures have
 * all numbers of the pool.
 * Cost: that of tarn_pool_alloc. If the stream has to wait for others, a record and a wait for each of
 * them. The first call on a pool's second stream takes a step for each free region: 0.3 us.
 */
TARN_API tarn_status tarn_pool_alloc_on(tarn_pool *pool, size_t size_bytes, tarn_stream stream,
                                        void **address_out);

/* Allocates like tarn_pool_alloc_on, aligned like tarn_pool_alloc_aligned. */
TARN_API tarn_status tarn_pool_alloc_aligned_on(tarn_pool *pool, size_t size_bytes,
                                                size_t alignment_bytes, tarn_stream stream,
                                                void **address_out);

/*
 * Frees memory that was used last on `stream`; it may have been allocated on another one. Memory that was
 * not used at all must be freed on the stream that it was allocated on, since that stream may have been
 * made to wait for an earlier user.
 *
 * On a stream that the pool knows, the free of a live address cannot fail, except with identifies_streams
 * (VENDOR_ERROR) and in debug mode (CORRUPT: the memory was damaged, and is freed). A new stream is described
 * in host memory. If that is lacking, or captures have all numbers, the calling thread waits for the stream, and the
 * free succeeds if that wait does. The pool does not wait while a capture of the process is under way: then the answer
 * is OUT_OF_HOST_MEMORY.
 * Status: those of tarn_pool_free, OUT_OF_HOST_MEMORY, and a stream status. VENDOR_ERROR: also if the vendor failed to
 * wait for the stream. After these the memory is still allocated, and the call may be repeated.
 * Cost: that of tarn_pool_free. A stream that is new to the pool costs calls of the vendor. With 29 streams or more it
 * may take a number from another one: a record, and O(regions that wait for that stream). If the stream is the calling thread's own, and another stream has wanted memory
 * that was freed there, this free records an event for it; if that fails, the free succeeds all the same.
 */
TARN_API tarn_status tarn_pool_free_on(tarn_pool *pool, void *address, tarn_stream stream);

/*
 * Frees memory that several streams use. It is free for a stream, even for one of these, when that stream
 * has waited for all the others. With stream_count 0 the caller has waited itself, and the memory is free
 * for all.
 * Status: those of tarn_pool_free_on, and INVALID_ARGUMENT: streams is NULL and stream_count not 0.
 * Cost: that of tarn_pool_free_on for each stream.
 */
TARN_API tarn_status tarn_pool_free_after(tarn_pool *pool, void *address,
                                          const tarn_stream *streams, size_t stream_count);

/*
 * Says that a live allocation is also used on `stream`. Its free, by whatever call, then also waits for all work that was
 * submitted to that stream until the free, as if tarn_pool_free_after named the stream, too:
 *
 *     tarn_pool_alloc_on(pool, size_bytes, a, &x);
 *     kernel<<<..., b>>>(x);                         b was made to wait for a
 *     tarn_pool_use_on(pool, x, b);
 *     tarn_pool_free_on(pool, x, a);                 the next user of x comes after both streams
 *
 *  - Each stream counts once, however often it is named. Address NULL is allowed: nothing happens. The allocation may be
 *    a fallback's.
 *  - Chunks that tarn_pool_resize gives back wait, too. The rest of the last chunk, or of the slice, stays the allocation's:
 *    if it grows again, its new bytes there may still be in use on these streams.
 *  - tarn_stream_retire may end the stream before the free. It then records an event, and the handle is not used any more.
 *  - A thread's own stream is that of the thread that calls this function. If another thread frees, the memory is for
 *    others when the first thread has called the pool again, or has retired its stream, or the pool has waited for the
 *    device.
 *  - A free while the stream is captured gives the memory to the capture. A free after tarn_capture_end does not, and does
 *    not wait for launches of the graph.
 *  - As long as a pool has such allocations, its calls take a slower path, and tarn_pool_free_many takes the lock for each
 *    entry. In debug mode the free of such an allocation waits for the device.
 * Status:
 *  - NOT_LIVE, INTERIOR_ADDRESS, WRONG_POOL, FOREIGN_ADDRESS: as of tarn_pool_free.
 *  - NOT_SUPPORTED: the pool has identifies_streams, and the stream is not the default stream. It may end before the free,
 *    and nobody would tell.
 *  - OUT_OF_HOST_MEMORY: also if captures have all numbers of the pool.
 *  - A stream status.
 * Cost: a look-up, as of tarn_pool_free, and 48 bytes of host memory until the free. The free needs none, unless the pool
 * had to forget the stream since: then it is as on a stream that is new to the pool, see tarn_pool_free_on.
 */
TARN_API tarn_status tarn_pool_use_on(tarn_pool *pool, void *address, tarn_stream stream);

/*
 * Tells all pools of the process that a handle is about to end. Memory that was freed on the stream becomes
 * free for others when the work that was submitted to it so far is done. So does memory that is still allocated and
 * is used on the stream, see tarn_pool_use_on. Afterwards the handle means a stream that no pool has seen. Pools that do
 * not know the handle do nothing.
 * Status: of several pools that fail, that of the last.
 *  - VENDOR_ERROR: an event could not be recorded. Memory that was freed on the stream, or is used there, is not handed
 *    out any more. It goes back to the vendor with its static pools.
 *  - INVALID_ARGUMENT: a pool is serving the stream's capture, see tarn_capture_begin. In that pool nothing has
 *    changed.
 *  - OUT_OF_HOST_MEMORY: nothing has changed.
 * Cost: at most one record for each pool, and a step for each use that tarn_pool_use_on has noted. If a pool has uses of
 * the stream and no room to record its end, the calling thread waits for the stream.
 */
TARN_API tarn_status tarn_stream_retire(tarn_stream stream);

/* ------------------------------------------------------------------------ shortage and trim ---- */

/* How things stood when an allocation failed for memory. "Out of memory" lists what a pool tries first. */
typedef struct tarn_shortage {
    size_t struct_bytes; /* in: sizeof(tarn_shortage) */
    tarn_status status;  /* of the allocation; OK: none has failed for memory in this thread */
    size_t size_bytes;   /* that were asked for */
    size_t alignment_bytes;
    tarn_stream stream;
    size_t footprint_bytes;    /* held by the pool */
    size_t limit_bytes;        /* 0: none */
    size_t used_bytes;         /* in live allocations */
    size_t free_bytes;         /* in free regions, without captured_bytes */
    size_t pending_bytes;      /* of free_bytes: waiting for a stream's work */
    size_t captured_bytes;     /* in free regions that belong to captures, see tarn_stats */
    size_t largest_free_bytes; /* the largest free region */
    size_t wholly_free_bytes;  /* in static pools without a live allocation that nobody holds */
    size_t other_pools_bytes;  /* held by other pools on the same memory */
    size_t device_free_bytes;  /* on the device; 0: unknown */
    size_t device_total_bytes; /* of the device; 0: unknown */
    bool fits_if_in_one_piece; /* free_bytes would do if they were not scattered */
    bool fits_without_limit;   /* the device has enough, and only the pool's limit forbids it */
} tarn_shortage;

#define TARN_SHORTAGE_INIT TARN_SIZED_INIT(tarn_shortage)

/* Writes how things stood when an allocation last failed for memory in the calling thread. */
TARN_API tarn_status tarn_last_shortage(tarn_shortage *shortage_out);

/*
 * Gives wholly free static pools back to the vendor, from the newest to the oldest; of a contiguous pool,
 * wholly free steps. Skips one if the pool would then hold less than keep_bytes. In debug mode it empties
 * the quarantine first. Memory of captures stays, and memory that is held (tarn_static_pool_hold). While a stream of the
 * process is captured, and while the pool tells of a static pool that has come, nothing goes back.
 * released_bytes_out may be NULL.
 * Status: VENDOR_ERROR: the vendor refused a piece. The pool keeps it, counts it (unreleased_bytes in tarn_stats), and
 * gives it back, or uses it, later. The others were given back; the message says how much, since released_bytes_out is
 * not written.
 * Cost: that of the vendor's calls. Other threads can allocate and free meanwhile.
 */
TARN_API tarn_status tarn_pool_trim(tarn_pool *pool, size_t keep_bytes, size_t *released_bytes_out);

/* ----------------------------------------------------------------------- sizes and batches ----- */

/*
 * Frees like tarn_pool_free, and checks the size: size_bytes is what was asked for, at the allocation or at
 * the last resize. If the allocation has another size, nothing is freed. NULL with 0 bytes does nothing. In a pool with
 * zero_has_address, 0 bytes and 1 byte are the same.
 * Status: those of tarn_pool_free, and WRONG_SIZE: the message has both sizes.
 * Cost: that of tarn_pool_free.
 */
TARN_API tarn_status tarn_pool_free_sized(tarn_pool *pool, void *address, size_t size_bytes);

/* Frees like tarn_pool_free_sized what was used last on `stream`. Status: also those of tarn_pool_free_on. */
TARN_API tarn_status tarn_pool_free_sized_on(tarn_pool *pool, void *address, size_t size_bytes,
                                             tarn_stream stream);

/*
 * Allocates `count` blocks, all or nothing: sizes_bytes[i] bytes at addresses_out[i], zero bytes as in
 * tarn_pool_alloc, placed like `count` calls of it in a row. With count 0 it does nothing, and the arrays may
 * be NULL.
 *  - While the pool's own memory serves, other threads see the whole batch or nothing of it. An entry that
 *    needs more, growth for example, is served by itself, and other threads may come between. So is every
 *    entry in debug mode, with passes_through, and while threads have arenas.
 *  - If an entry fails, the entries before it are freed again, in stream order, and nothing is written.
 *    Statistics count them as allocated and freed. The pool may have grown for them.
 * Status: those of tarn_pool_alloc; the message begins with the entry, "entry 3 of 8: ...".
 *  - SIZE_TOO_LARGE: told before anything else is done.
 *  - INVALID_ARGUMENT: an array is NULL and count not 0.
 *  - OUT_OF_HOST_MEMORY: also if a batch of more than 64 finds no host memory for its addresses.
 * Cost: that of the calls, with one lock for all; while threads have arenas, with a lock for each.
 */
TARN_API tarn_status tarn_pool_alloc_many(tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                                          void **addresses_out);

/* Allocates like tarn_pool_alloc_many, for use on `stream`. Status: also those of tarn_pool_alloc_on. With
 * identifies_streams each entry costs what a call costs. If the vendor cannot identify the stream,
 * the call fails, and what it had allocated by then can serve only that stream again. */
TARN_API tarn_status tarn_pool_alloc_many_on(tarn_pool *pool, size_t count,
                                             const size_t *sizes_bytes, tarn_stream stream,
                                             void **addresses_out);

/*
 * Frees `count` addresses in their order, each like tarn_pool_free. Goes on after an entry that fails:
 * every live one is freed. NULL entries do nothing. An address that stands twice is freed twice, and the
 * second free fails. With count 0 it does nothing, and the array may be NULL.
 * Status: that of the first entry that failed; the message begins with the entry.
 *  - INVALID_ARGUMENT: addresses is NULL and count not 0. Nothing is freed.
 * Cost: that of the calls, with one lock for all. The lock is released after each entry that fails or that
 * a fallback frees; in debug mode, and while threads have arenas, after each entry.
 */
TARN_API tarn_status tarn_pool_free_many(tarn_pool *pool, size_t count, void *const *addresses);

/* Frees like tarn_pool_free_many what was used last on `stream`. Status: also those of tarn_pool_free_on.
 * With identifies_streams each entry costs what a call costs. */
TARN_API tarn_status tarn_pool_free_many_on(tarn_pool *pool, size_t count, void *const *addresses,
                                            tarn_stream stream);

/*
 * Makes a live allocation larger or smaller where it lies. The address and its alignment stay, and nothing
 * is moved or copied. If that cannot be done, nothing changes:
 *
 *     if (tarn_pool_resize(pool, field, larger_bytes) == TARN_STATUS_NOT_IN_PLACE) {
 *         ...                              allocate, copy on the stream, free
 *     }
 *
 *  - Larger: takes the missing chunks from the free region right behind, if the default stream could have
 *    them without waiting. Never grows the pool. Calls the vendor only if the stream is new to the pool. The new
 *    bytes have any content.
 *  - Smaller: frees the chunks that are not needed any more.
 *  - A smaller size is possible while the host has memory. So is a larger one within the last chunk, or within
 *    the slice of a small allocation. NOT_IN_PLACE below names pools that are exceptions.
 *  - Statistics have the new size at once. A resize counts as no allocation, free or failure.
 * Status:
 *  - NOT_IN_PLACE: the chunks behind are not free, or the allocation is a slice and the new size does not fit
 *    into it. Also in a pool with zones, poison or quarantine, or under a tool such as compute-sanitizer. In a
 *    pool that passes through, only sizes up to the end of the last chunk are possible. The size that it has
 *    already is always OK.
 *  - INVALID_ARGUMENT: address is NULL, or size_bytes is 0.
 *  - SIZE_TOO_LARGE.
 *  - OUT_OF_HOST_MEMORY: the host has no memory to describe what is freed.
 *  - NOT_LIVE, INTERIOR_ADDRESS, WRONG_POOL, FOREIGN_ADDRESS: as of tarn_pool_free.
 * Cost: that of tarn_pool_free. Takes back the arenas of several threads only if memory right behind the
 * allocation may be another thread's.
 */
TARN_API tarn_status tarn_pool_resize(tarn_pool *pool, void *address, size_t size_bytes);

/*
 * Resizes like tarn_pool_resize, in the order of `stream`. New bytes are for use on it, as if they had been
 * allocated there. Bytes that are given back are freed on it; so it must have used them last, or have
 * waited for the streams that did.
 *
 * A capture's memory becomes larger only on its own stream while that is captured, other memory only on
 * other streams; any other growth is NOT_IN_PLACE.
 * Status: those of tarn_pool_resize, and a stream status. OUT_OF_HOST_MEMORY: also if captures have
 * all numbers of the pool.
 * Cost: that of tarn_pool_resize. A stream that is new to the pool costs calls of the vendor.
 */
TARN_API tarn_status tarn_pool_resize_on(tarn_pool *pool, void *address, size_t size_bytes,
                                         tarn_stream stream);

/* --------------------------------------------------------------------------------- finding ----- */

/* The allocation that an address lies in. */
typedef struct tarn_allocation {
    size_t struct_bytes; /* in: sizeof(tarn_allocation) */
    tarn_pool *pool;
    void *address;     /* where the allocation starts */
    size_t size_bytes; /* that were asked for */
    /* Of its slice or its chunks; all of them may be used. size_bytes if a tool watches what lies behind these: the
     * zones of debug mode, compute-sanitizer, or, with host memory, the address sanitizer. */
    size_t usable_bytes;
    void *static_pool_base;   /* as the backend gave it */
    size_t static_pool_bytes; /* of a contiguous pool the whole range */
    uint64_t static_pool_id;  /* never used twice in a process; a range has one for all steps */
} tarn_allocation;

#define TARN_ALLOCATION_INIT TARN_SIZED_INIT(tarn_allocation)

/*
 * Finds the live allocation that `address` lies in, at its start or inside, in any pool of the process.
 * RDMA registrations and the vendors' IPC handles are made of static_pool_base: see "Memory for other
 * processes".
 * Status:
 *  - NOT_LIVE: the address is in a pool but in no live allocation.
 *  - FOREIGN_ADDRESS: the address is in no pool.
 * Cost: up to some microseconds, under the lock of each pool in turn.
 */
TARN_API tarn_status tarn_pool_find(const void *address, tarn_allocation *found_out);

/*
 * Writes how many bytes may be used of the allocation that starts at `address`, of this pool or of a fallback: those
 * of its slice or of its chunks, at least as many as were asked for. With TARN_DEBUG_ZONES just as many. NULL has 0.
 * Status:
 *  - INVALID_ARGUMENT: usable_bytes_out is NULL.
 *  - NOT_LIVE, INTERIOR_ADDRESS, WRONG_POOL, FOREIGN_ADDRESS: as of tarn_pool_free.
 * Cost: one look-up, as of tarn_pool_free.
 */
TARN_API tarn_status tarn_pool_usable_size(tarn_pool *pool, const void *address,
                                           size_t *usable_bytes_out);

/*
 * Writes the backend that a pool has its memory from, for its fill and copy for example. The two words are
 * valid as long as the pool is. Only who opened the backend may close it.
 * Status: NOT_SUPPORTED: a pool over memory of the caller's has no backend.
 */
TARN_API tarn_status tarn_pool_get_backend(const tarn_pool *pool, tarn_backend *backend_out);

/* tarn_pool_stats, tarn_pool_available, peaks, labels: tarn/stats.h. tarn_pool_check, tarn_pool_dump, debug mode:
 * tarn/debug.h. Messages about what pools do: tarn/log.h. Traces of what a program allocates: tarn/record.h. */

/* -------------------------------------------------------------------- process-wide pools ------- */

/*
 * There is one for each device and kind of memory that has been asked for. tarn_malloc uses that of the calling thread's
 * current device, or of TARN_DEVICE, and of the kind in TARN_KIND: device memory if that is not set. At the end of the
 * process their memory is left to the system and the driver. Variables of the environment set their options,
 * TARN_INITIAL and TARN_LIMIT for example. Five variables are for all pools of the process: TARN_DISABLE=1 sets
 * passes_through, TARN_TRACE=FILE records a trace (tarn/record.h), TARN_LOG=info and TARN_STATS=exit tell what pools do
 * (tarn/log.h), TARN_MAP=FILE leaves their maps (tarn/debug.h). "The environment" lists all variables.
 */

/* Writes the pool that tarn_malloc would use now, for statistics for example. Creates it if there is none; then the
 * statuses are those of tarn_malloc. */
TARN_API tarn_status tarn_default_pool(tarn_pool **pool_out);

/*
 * Writes the process-wide pool for memory of `kind` on device number `device`, or TARN_DEVICE_CURRENT, whatever
 * TARN_DEVICE and TARN_KIND say. Creates it if there is none. tarn_free frees its memory too. Plain host memory is on no
 * device: one pool.
 * Status: those of tarn_malloc, and INVALID_ARGUMENT: pool_out is NULL, or the kind is unknown.
 * Cost: a step for each process-wide pool.
 */
TARN_API tarn_status tarn_device_pool(int device, tarn_memory_kind kind, tarn_pool **pool_out);

/*
 * Sets the options that process-wide pools are created with from now on; NULL: the defaults. Variables of the environment
 * go first. The name is copied; the fallback, and the functions' data, must stay. Their backend must be NULL.
 * Their functions run with no lock held, also while a process-wide pool is created (takes_initial_at_once) or destroyed.
 * They may call tarn_malloc, ask for any process-wide pool, and wait for threads that do. "Static pools come and go" tells
 * which pool they get.
 * Status: INVALID_OPTIONS: the message names the field. INVALID_ARGUMENT: there is a process-wide pool already.
 */
TARN_API tarn_status tarn_default_pool_configure(const tarn_pool_options *options);

/* Destroys all process-wide pools, like tarn_pool_destroy: LIVE_REGIONS, and nothing has changed, if one has live
 * allocations. The next tarn_malloc creates a new one, also if a function that is told of a static pool calls it meanwhile;
 * such a pool stays. No other thread may be using them. */
TARN_API tarn_status tarn_default_pool_destroy(void);

/*
 * Destroys all process-wide pools even though allocations are live; their addresses become invalid. Before that it writes
 * the live ones to `report` like tarn_pool_report_leaks; NULL: no report. Writes to *leaks_out, which may be NULL, how
 * much was live. No other thread may be using the pools.
 * Status: INVALID_ARGUMENT: leaks_out->struct_bytes is wrong, and nothing has changed. Those of tarn_pool_report_leaks:
 * the report is not whole, and the pools are destroyed all the same.
 */
TARN_API tarn_status tarn_default_pool_destroy_forced(FILE *report, tarn_leaks *leaks_out);

/* Gives all process-wide pools up, like tarn_pool_abandon. No other thread may be using them. */
TARN_API tarn_status tarn_default_pool_abandon(void);

/* ------------------------------------------------------------------------- captured streams ---- */

/*
 * A stream that is captured into a graph (cudaStreamBeginCapture, hipStreamBeginCapture) runs nothing. Its
 * work runs later, at each launch of the graph, with the addresses of the capture. So memory that is
 * allocated on the stream meanwhile must stay the graph's until the graph is gone. "Captured streams" has
 * an example.
 *  - From begin to end the stream gets memory that waits for nothing, or the pool grows. Memory that is
 *    freed there serves the same stream in the same capture.
 *    It does not get memory that was used before the capture, on whatever stream, and freed in it.
 *  - From end to release that memory stays the capture's, whether free or live. Free, it counts as
 *    captured_bytes in tarn_stats.
 *  - While a stream is captured that any pool was told of, no pool of the process queries an event, makes a stream
 *    wait, or gives memory back to the vendor: each of these could invalidate the capture. They do it later. Exceptions:
 *    a pool on a backend of yours that is destroyed meanwhile, and a pool whose creation fails. A pool
 *    whose memory the captured stream does not use need not be told.
 * A capture has a number that no other capture of the process has. 0 is none.
 */
typedef uint64_t tarn_capture;

/*
 * Begins to serve the stream from memory of its own. Call it before the vendor's call that begins the
 * capture. To let memory that was freed earlier serve the capture, wait for the device first.
 * *capture in: 0 begins a new capture, whose number is written. The number of a capture adds a stream to it,
 * or one more graph that uses the same memory. Such graphs must never run at the same time.
 * Status:
 *  - INVALID_ARGUMENT: capture is NULL; *capture is no capture of the pool, or was released; or the stream
 *    is being captured already.
 *  - NOT_SUPPORTED: the pool has identifies_streams.
 *  - A stream status; OUT_OF_HOST_MEMORY also if the pool has no number left for the capture.
 */
TARN_API tarn_status tarn_capture_begin(tarn_pool *pool, tarn_stream stream, tarn_capture *capture);

/*
 * Ends a capture, for all its streams, after the vendor's call. Its memory stays its own. With the last capture of the
 * process, all pools give back what they have put off.
 * Status: INVALID_ARGUMENT: the capture is not under way.
 */
TARN_API tarn_status tarn_capture_end(tarn_pool *pool, tarn_capture capture);

/*
 * Says that the graphs of a capture will not be launched any more. `streams` are all on which a launch may
 * still run: when they have done their work, the memory becomes free for all. With stream_count 0 the
 * caller has waited itself. Live allocations stay live.
 * Status: a stream status, OUT_OF_HOST_MEMORY, and INVALID_ARGUMENT: the capture is still under way, is
 * none, or was released; or streams is NULL and stream_count not 0.
 * Cost: O(regions of the pool).
 */
TARN_API tarn_status tarn_capture_release(tarn_pool *pool, tarn_capture capture,
                                          const tarn_stream *streams, size_t stream_count);

/* ------------------------------------------------------ memory of the caller's, lost devices --- */

/*
 * Creates a pool over memory that the caller has: of any kind, also an allocation of another pool. The pool
 * is one static pool. It never grows, and never reads or writes the memory, which must stay until the pool
 * is destroyed. Only whole chunks at multiples of the chunk size are used.
 *  - Of the options, which may be NULL, these have an effect: chunk_bytes, alignment_bytes, zero_has_address, fit, slices,
 *    TARN_DEBUG_SITES of debug, on_static_pool_created, on_static_pool_destroyed, user and name.
 *  - The pool has no backend, and so no events: memory that was freed on one stream does not serve another.
 *    "Memory that the caller has" tells what that means for several streams.
 *  - A request that does not fit is OVER_LIMIT.
 * Status:
 *  - INVALID_ARGUMENT: address is NULL; there is no whole chunk; or the end is beyond the last address.
 *  - INVALID_OPTIONS: the message names the field. options->backend must be NULL.
 *  - NOT_SUPPORTED: debug has flags besides TARN_DEBUG_SITES.
 *  - INVALID_ENVIRONMENT: TARN_LOG, TARN_STATS or TARN_MAP has a value that does not parse.
 *  - OUT_OF_HOST_MEMORY.
 */
TARN_API tarn_status tarn_pool_create_over(void *address, size_t size_bytes,
                                           const tarn_pool_options *options, tarn_pool **pool_out);

/*
 * Gives a pool up without a call of the vendor, whatever is live. NULL is allowed. For use after
 * cudaDeviceReset and the like: destroying the pool would then hand addresses to the vendor that may belong
 * to others by now. Leave the backend open, too, and open a new one: closing it may call the vendor.
 * Functions that are told of static pools are not called. "The end of a device" tells what stays behind.
 * Status: INVALID_ARGUMENT: it is the process-wide pool; use tarn_default_pool_abandon.
 */
TARN_API tarn_status tarn_pool_abandon(tarn_pool *pool);

/* ------------------------------------------------------------------- observers of static pools ---- */

/*
 * Further functions that are told of static pools, besides those of the options. For a library that registers memory with
 * MPI, RDMA or NCCL, and that comes to a pool which another part of the program has made:
 *
 *     tarn_pool_observe(pool, register_memory, forget_memory, &library, &observer);
 *     ...                                        each static pool is registered, also those from before
 *     tarn_pool_unobserve(pool, observer);
 *
 * An observer has a number that no other observer of the process has. 0 is none.
 */
typedef uint64_t tarn_observer;

/*
 * Begins to tell of static pools. Before it returns, on_created is told in the calling thread of each static pool that is
 * there; with contiguous, of each step. From then on the functions are told as those of the options are, see
 * tarn_static_pool_callback; those that came first are told first. One of the functions may be NULL.
 *  - Each static pool is told to on_created once, whoever comes or goes meanwhile. on_destroyed is told of it once, later.
 *  - While on_created is told of those that are there, the pool gives no static pool back. So the function must not wait
 *    for an allocation of another thread that needs that.
 *  - The observer ends with the pool, after on_destroyed was told of all. tarn_pool_abandon tells nothing.
 * Status: INVALID_ARGUMENT: both functions are NULL, or observer_out is; OUT_OF_HOST_MEMORY.
 * Cost: that of the functions.
 */
TARN_API tarn_status tarn_pool_observe(tarn_pool *pool, tarn_static_pool_callback on_created,
                                       tarn_static_pool_callback on_destroyed, void *user,
                                       tarn_observer *observer_out);

/*
 * Ends an observer. Its functions are not told of the static pools that are still there. When this call returns, none of
 * its functions runs, and none will. Inside a function that is told of static pools, of any observer and any pool, it does
 * not wait: there calls that have begun may still run when it returns.
 * Status: INVALID_ARGUMENT: the pool has no such observer.
 */
TARN_API tarn_status tarn_pool_unobserve(tarn_pool *pool, tarn_observer observer);

/*
 * Holds a static pool, for as long as another process has it open, for example. While it is held the pool does not give it
 * back to the vendor: not by tarn_pool_trim, not after a free, and not when memory is short. Allocations go on using it.
 * Held memory does not count where a pool looks for memory that can go back.
 *  - `id` is the one that on_created was told. tarn_pool_find tells it, too; of a contiguous pool, whose steps are held, it
 *    is tarn_pool_export that does.
 *  - Holds are counted: the one that ends last lets it go. Inside on_created it can be held at once.
 *  - The end of the pool gives everything back, whatever is held. A static pool that cannot join, since the host has no
 *    memory to describe it, goes back too: on_destroyed tells.
 * Status: INVALID_ARGUMENT: the pool has no such static pool or step, or is about to give it back; or it is held 4 billion
 * times.
 * Cost: O(static pools).
 */
TARN_API tarn_status tarn_static_pool_hold(tarn_pool *pool, uint64_t id);

/*
 * Ends a hold. If it was the last one, what the options let go is given back now (release_threshold_bytes,
 * returns_when_empty, passes_through); other memory goes back with the next trim or shortage.
 * Status: INVALID_ARGUMENT: the pool has no such static pool or step, or it is not held.
 * Cost: O(static pools), and the vendor's calls.
 */
TARN_API tarn_status tarn_static_pool_unhold(tarn_pool *pool, uint64_t id);

/* ------------------------------------------------------------------------ other processes ------ */

/* A step of a contiguous pool, for another process, which maps it with its vendor's calls: see "Memory for
 * other processes". */
typedef struct tarn_exported_step {
    size_t struct_bytes; /* in: sizeof(tarn_exported_step) */
    int file_descriptor; /* the caller's, to be closed */
    void *base;          /* where the step starts in this process */
    size_t size_bytes;   /* of the step, which is all that the descriptor stands for */
    size_t offset_bytes; /* of the address in the step */
    uint64_t id;         /* the step's, as on_static_pool_created was told it */
} tarn_exported_step;

#define TARN_EXPORTED_STEP_VALUES(SET)            \
    SET(struct_bytes, sizeof(tarn_exported_step)) \
    SET(file_descriptor, -1)
TARN_DEFINE_INIT(tarn_exported_step_init, tarn_exported_step, TARN_EXPORTED_STEP_VALUES)
#define TARN_EXPORTED_STEP_INIT TARN_LISTED_INIT(tarn_exported_step_init, TARN_EXPORTED_STEP_VALUES)

/*
 * Gives a file descriptor of the step that an address lies in, of a pool with is_shareable. The address
 * lies in a live allocation, or in a step that a callback is being told of. An allocation may lie in
 * several steps, and then has several descriptors. The other process sees all that lies in the step, now
 * and later.
 * Status:
 *  - NOT_SUPPORTED: the pool was created without is_shareable, or passes through.
 *  - NOT_LIVE, FOREIGN_ADDRESS, WRONG_POOL: the address does not lie there.
 *  - VENDOR_ERROR: for example, the process may have no more file descriptors.
 *  - OUT_OF_HOST_MEMORY.
 * Cost: a call of the vendor, during which no other thread can grow or trim the pool.
 */
TARN_API tarn_status tarn_pool_export(tarn_pool *pool, const void *address,
                                      tarn_exported_step *step_out);

#ifdef __cplusplus
}
#endif

#endif
