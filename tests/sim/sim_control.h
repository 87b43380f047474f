/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_control: what tests say to the simulated devices, and what they learn from them.
 *
 * A test links libtarn_sim.so, and the vendor's library that it runs over, a face, links the same
 * one: so the test scripts what the backend will meet, and counts what the backend did.
 *
 *     sim_reset();                                       as at the start of the process
 *     sim_fail_calls(NULL, 7, 1, SIM_STATUS_UNKNOWN);    the 7th call from now on fails
 *     ... the scenario ...
 *     assert_int_equal(sim_alive_total(), 0);            nothing has leaked
 *
 * Names of calls are the vendor's own, "cudaMalloc". Numbers count from 1.
 *
 * Threads: any, but sim_reset and sim_set_settings while no other thread is in a face.
 */
#ifndef SIM_CONTROL_H
#define SIM_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_API __attribute__((visibility("default")))

/* What happened, in no vendor's words. A face translates each by a table of its own. */
#define SIM_STATUS_TABLE(X)                                                                        \
    X(OK)                                                                                          \
    X(NOT_READY)          /* the work that was asked about is not done */                          \
    X(OUT_OF_MEMORY)      /* the device's */                                                       \
    X(OUT_OF_HOST_MEMORY) /* the host's: pinned and shared memory */                               \
    X(INVALID_VALUE)      /* an argument that none of the next four names better */                \
    X(INVALID_SIZE)       /* zero, no multiple of the granularity, above the largest allocation */ \
    X(INVALID_ALIGNMENT)  /* no power of two, or an address that is no multiple */                 \
    X(INVALID_ADDRESS)    /* nothing is there, or nothing starts there */                          \
    X(INVALID_HANDLE)     /* no such stream, event or physical object, or no longer */             \
    X(INVALID_DEVICE)     /* no device has this number */                                          \
    X(WRONG_DEVICE)       /* two handles, or a handle and the device, do not go together */        \
    X(NOT_SUPPORTED)      /* the device lacks it; see sim_settings */                              \
    X(ALREADY_MAPPED)     /* something is mapped there */                                          \
    X(NOT_MAPPED)         /* nothing is, or the ends of what is are elsewhere */                   \
    X(STILL_MAPPED)       /* a range is freed with something mapped in it */                       \
    X(NO_DRIVER)          /* the vendor's library is there and no driver is */                     \
    X(NO_DEVICE)          /* the driver is there and no device is */                               \
    X(DRIVER_TOO_OLD)     /* for the vendor's library */                                           \
    X(UNLOADING)          /* the process ends and the vendor's library is gone */                  \
    X(DEVICE_LOST)        /* sim_lose_device */                                                    \
    X(CONTEXT_DESTROYED)  /* sim_destroy_context */                                                \
    X(ACCESS_FAULT)       /* work on the device touched memory that is not there; stays */         \
    X(CAPTURING)          /* a stream is being captured, which is no time for this call */         \
    X(HANG)               /* waits for what nothing that was submitted will bring about */         \
    X(UNKNOWN)            /* any other failure */

typedef enum sim_status {
#define SIM_STATUS_ENUMERATOR(name) SIM_STATUS_##name,
    SIM_STATUS_TABLE(SIM_STATUS_ENUMERATOR)
#undef SIM_STATUS_ENUMERATOR
    SIM_STATUS_COUNT
} sim_status;

/* A code of the vendor's own, for sim_fail_calls: CUDA's and HIP's faces answer with it. */
#define SIM_STATUS_OF_VENDOR(code) ((sim_status)((int)SIM_STATUS_COUNT + (int)(code)))

/* "OUT_OF_MEMORY". Static text. */
SIM_API const char *sim_status_name(sim_status status);

/* --- settings ---------------------------------------------------------------------------------- */

typedef enum sim_memory_kind {
    SIM_MEMORY_KIND_DEVICE, /* faults when the host touches it */
    SIM_MEMORY_KIND_PINNED,
    SIM_MEMORY_KIND_SHARED,
    SIM_MEMORY_KIND_COUNT
} sim_memory_kind;

typedef enum sim_driver {
    SIM_DRIVER_PRESENT,
    SIM_DRIVER_ABSENT,         /* calls answer NO_DRIVER */
    SIM_DRIVER_TOO_OLD,        /* calls answer DRIVER_TOO_OLD */
    SIM_DRIVER_WITHOUT_EXTRAS, /* lacks what vendors added late: ranges, states of contexts */
    SIM_DRIVER_COUNT
} sim_driver;

/* What the simulated machine is like. All devices are alike, but for the poor one. */
typedef struct sim_settings {
    int device_count;         /* TARN_SIM_DEVICES, default 2, at most 8 */
    size_t memory_bytes;      /* TARN_SIM_MEMORY, of each device, default 8 GiB */
    size_t host_memory_bytes; /* TARN_SIM_HOST_MEMORY, pinned and shared of all; 64 GiB */
    bool spills_to_host;      /* shared memory may be larger than the device's; true */
    size_t
        allocation_bytes_max; /* TARN_SIM_ALLOCATION_MAX; default: memory_bytes. Of device memory;
                                    Level Zero's face has it for all kinds */
    size_t alignment_bytes;   /* TARN_SIM_ALIGNMENT, where a face asks for none; 4096 */
    size_t granularity_bytes; /* what device memory is counted in; 2 MiB */
    size_t
        range_granularity_bytes; /* ranges and mappings are multiples of it; 2 MiB. With what is no
                                       power of two nothing can be reserved */
    bool has_kind[SIM_MEMORY_KIND_COUNT]; /* all true */
    bool has_ranges;                      /* true */
    bool has_sharing;     /* TARN_SIM_SHARING=0: physical objects have no descriptors; true */
    bool has_rdma;        /* memory of ranges can be had for GPUDirect RDMA; false */
    bool has_pools;       /* TARN_SIM_POOLS=0: the vendor's own pool is missing; true */
    bool has_one_address; /* pinned memory has the host's on the device, too; true */
    int poor_device;   /* says that it has no ranges and no memory but its own; -1: there is none */
    sim_driver driver; /* TARN_SIM_DRIVER=present, absent, too_old or without_extras */
    uint64_t seed;     /* TARN_SIM_SEED, of the order between streams; 1 */
    unsigned
        event_delay_polls; /* TARN_SIM_EVENT_DELAY: a query is NOT_READY at least so often; 1 */
    /* A handle is given to the next stream when its stream is destroyed, whatever work is left, and
     * whoever uses it before is guilty of misuse: devices crash. TARN_SIM_REUSE_STREAMS=1; false */
    bool reuses_streams;
    bool unloads_at_exit; /* TARN_SIM_UNLOAD_AT_EXIT=1: UNLOADING after exit() began; false */
} sim_settings;

SIM_API sim_settings sim_get_settings(void);

/* Replaces them. While anything is alive the counts, sizes and granularities of memory stay. */
SIM_API void sim_set_settings(const sim_settings *settings);

/* One of them: SIM_SET(device_count, 0). */
#define SIM_SET(setting, value)                      \
    do {                                             \
        sim_settings settings_ = sim_get_settings(); \
        settings_.setting = (value);                 \
        sim_set_settings(&settings_);                \
    } while (0)

/* The settings of the environment, nothing alive, nothing counted, no faults, all devices well, no
 * device with a context. Streams are emptied without running. Every handle becomes invalid. */
SIM_API void sim_reset(void);

/* --- calls, and making them fail --------------------------------------------------------------- */

/* How often the call was made since the last reset or sim_forget_calls; NULL: all calls together. */
SIM_API size_t sim_call_count(const char *name);
SIM_API void sim_forget_calls(void);

/* The same in one line by name, "cudaGetDevice 1, cudaMalloc 1"; "none". The thread's own text. */
SIM_API const char *sim_describe_calls(void);

/* Prints the name of every call to stderr from now on. TARN_SIM_TRACE=1 does it from the start. */
SIM_API void sim_trace_calls(bool is_on);

/*
 * The calls number first to first + count - 1 from now on of this name, or of any with NULL, answer
 * `status` and do nothing else. Several such scripts may wait side by side, at most 16. Calls that
 * cannot fail (the last error, the name of an error) are not counted among the "any".
 * TARN_SIM_FAIL=7 or TARN_SIM_FAIL=cudaMalloc:7 scripts one failure with UNKNOWN.
 */
SIM_API void sim_fail_calls(const char *name, size_t first, size_t count, sim_status status);
SIM_API void sim_forget_faults(void);

/* How many calls were made to fail since the last sim_fail_calls, and the name of the last; "" when
 * there was none. A debugger may break on sim_fault_happens. */
SIM_API size_t sim_fault_count(void);
SIM_API const char *sim_fault_name(void);

/* --- bad days ---------------------------------------------------------------------------------- */

/* All calls that need the device answer DEVICE_LOST from now on. What is alive on it can no longer
 * be given back one by one, so it counts as gone. */
SIM_API void sim_lose_device(int device);

/* Somebody else destroyed the device's context: memory, streams and events on it are gone, and
 * calls that need the device answer CONTEXT_DESTROYED. */
SIM_API void sim_destroy_context(int device);

/* The device's context ends with all that is in it, and the next call that needs one makes another. */
SIM_API void sim_reset_device(int device);

/* The process ends: all calls answer UNLOADING from now on. */
SIM_API void sim_unload_driver(void);

/* --- captures ---------------------------------------------------------------------------------- */

typedef enum sim_capture_mode {
    SIM_CAPTURE_MODE_GLOBAL, /* every thread's at first */
    SIM_CAPTURE_MODE_THREAD_LOCAL,
    SIM_CAPTURE_MODE_RELAXED
} sim_capture_mode;

typedef enum sim_capture_state {
    SIM_CAPTURE_NONE,
    SIM_CAPTURE_VALID,
    SIM_CAPTURE_SPOILT /* a call was made that is prohibited meanwhile, and answered CAPTURING */
} sim_capture_state;

/* As if the calling thread began to capture a stream. False: it or another does already. */
SIM_API bool sim_capture_begin(sim_capture_mode mode);

/* Tells what came of it. */
SIM_API sim_capture_state sim_capture_end(void);
SIM_API sim_capture_state sim_capture_get(void);

/* Which captures the calling thread minds. Returns the mode before. */
SIM_API sim_capture_mode sim_capture_exchange_mode(sim_capture_mode mode);

/* --- what is alive ----------------------------------------------------------------------------- */

typedef enum sim_thing {
    SIM_THING_MEMORY,
    SIM_THING_RANGE,
    SIM_THING_PHYSICAL, /* physical objects whose handle was not released */
    SIM_THING_MAPPING,
    SIM_THING_STREAM,
    SIM_THING_EVENT,
    SIM_THING_CONTEXT,    /* explicit ones; a primary context that a call made stays, and is none */
    SIM_THING_EVENT_POOL, /* Level Zero's */
    SIM_THING_POOL,       /* the vendor's own, of memory */
    SIM_THING_COUNT
} sim_thing;

SIM_API size_t sim_alive(sim_thing thing);
SIM_API size_t sim_alive_total(void);

/* Bytes of a kind that are held on a device, as counted: whole granules. Pinned and shared memory is
 * counted in pages, for all devices together. */
SIM_API size_t sim_held_bytes(int device, sim_memory_kind kind);

/* One line of what is alive, "memory 2, events 1"; "nothing". Static text, the thread's own. */
SIM_API const char *sim_describe_alive(void);

/* Tasks that were submitted and have not run. */
SIM_API size_t sim_pending_count(void);

/* --- misuse ------------------------------------------------------------------------------------ */

/* What a vendor does not check and a backend must not do: memory freed or unmapped under pending
 * work, a Level Zero event reset before its signal. How often, and the first in words, or "". */
SIM_API size_t sim_misuse_count(void);
SIM_API const char *sim_first_misuse(void);

/* --- looking into memory ----------------------------------------------------------------------- */

/* Copies at once, past all streams, between host memory and simulated memory of any kind. False:
 * not all of it is there. */
SIM_API bool sim_peek(void *host_destination, const void *address, size_t size_bytes);
SIM_API bool sim_poke(void *address, const void *host_source, size_t size_bytes);

#endif
