/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_state: what the files of the simulated devices share, and no face sees.
 *
 *     sim_settings.c   the machine: settings, reset, bad days, what is alive
 *     sim_calls.c      counting calls and making them fail
 *     sim_memory.c     memory, and what an address means
 *     sim_range.c      ranges, physical objects, mappings
 *     sim_stream.c     streams, events, and the tasks on them
 *     sim_pool.c       the vendor's own pools
 *     sim_capture.c    streams that are being captured
 *
 * Threads: everything under the one lock. Functions named _locked are called with it held.
 */
#ifndef SIM_STATE_H
#define SIM_STATE_H

#include "sim_device.h"

enum {
    SIM_DEVICES_MAX = 8
};

/* --- the machine: sim_settings.c ---------------------------------------------------------------- */

struct sim_machine {
    sim_settings settings;
    unsigned generation;
    bool is_unloading;
    bool prints_calls;
    sim_status device_state[SIM_DEVICES_MAX]; /* OK, or why the device can no longer be used */
    bool has_context[SIM_DEVICES_MAX];
    size_t device_held_bytes[SIM_DEVICES_MAX];
    size_t host_held_bytes[SIM_MEMORY_KIND_COUNT]; /* pinned and shared memory */
    size_t face_alive[SIM_THING_COUNT];            /* what faces count themselves */
    uint64_t random;
    size_t misuse_count;
    char first_misuse[160];
};

extern struct sim_machine sim_machine;

/* The first lock of a process reads the environment. */
void sim_lock(void);
void sim_unlock(void);

/* malloc and realloc of a test tool: stops the program when there is none. */
void *sim_allocate(size_t size_bytes);
void *sim_reallocate(void *old, size_t size_bytes);

uint64_t sim_random_locked(void);
sim_status sim_device_check_locked(int device);
void sim_misuse_locked(const char *text);

/* --- handles: numbers that look like pointers, of which no two are ever the same, but for streams' if
 * that is set -------------------------------------------------------------------------------------- */

struct sim_handle {
    uint64_t number;
    int device;
    bool is_gone; /* with its device or context: it counts no longer, and is only found */
    unsigned flags;
};

/* All handles of one form, in the order of their numbers. Items begin with a sim_handle. */
struct sim_table {
    struct sim_handle **items;
    size_t count;
    size_t capacity;
};

void *sim_table_insert_locked(struct sim_table *table, struct sim_handle *item, int device);
/* Gives it a number that no other has, or with 0 one that none ever had. */
void sim_table_renumber_locked(struct sim_table *table, struct sim_handle *item, uint64_t number);
/* NULL when there is none. */
void *sim_table_find_locked(const struct sim_table *table, const void *handle);
void sim_table_remove_locked(struct sim_table *table, const struct sim_handle *item);
size_t sim_table_count_alive_locked(const struct sim_table *table);
void sim_table_mark_gone_locked(struct sim_table *table, int device);
void *sim_handle_of(const struct sim_handle *item);

/* --- memory: sim_memory.c ----------------------------------------------------------------------- */

/* The bytes themselves, at an address of the simulation's own. */
struct sim_content {
    unsigned char *bytes;
    size_t mapped_bytes;
    size_t counted_bytes;
    sim_memory_kind kind;
    int device;
};

/* An address area behind which there is content: an allocation or a mapping. */
struct sim_place {
    uintptr_t start;
    size_t size_bytes;
    uint64_t id;
    struct sim_content *content;
    size_t offset_bytes; /* of the area in the content */
    const void *owner;
    bool is_gone; /* see sim_handle */
    /* Of an allocation: the addresses taken from the system. */
    void *system_address;
    size_t system_bytes;
    /* Of a mapping. */
    sim_physical *physical; /* NULL: an allocation */
    sim_access access[SIM_DEVICES_MAX];
};

size_t sim_page_bytes(void);
bool sim_is_power_of_two(size_t value);

/* Takes address space that nobody can touch, at a multiple of `alignment` and not of twice that.
 * NULL: the system has none. */
void *sim_take_addresses(const void *hint, size_t size_bytes, size_t alignment,
                         void **system_address_out, size_t *system_bytes_out);

sim_status sim_content_create_locked(int device, sim_memory_kind kind, size_t size_bytes,
                                     struct sim_content **content_out);
void sim_content_destroy_locked(struct sim_content *content);

struct sim_place *sim_place_find_locked(const void *address);
/* The first place that begins at or after the address; NULL: none. */
struct sim_place *sim_place_from_locked(uintptr_t address);
void sim_place_insert_locked(struct sim_place *place);
void sim_place_remove_locked(struct sim_place *place);
size_t sim_place_count_locked(bool mappings);
void sim_places_mark_gone_locked(int device, bool with_mappings);

/* What a device finds at an address: a piece that can be read, or written, in one go. 0: nothing
 * that it may touch. device -1 may touch everything. */
size_t sim_translate_locked(int device, bool writes, uintptr_t address, size_t size_bytes,
                            unsigned char **bytes_out);

void sim_memory_reset_locked(void);

/* --- ranges: sim_range.c ------------------------------------------------------------------------ */

size_t sim_range_count_locked(void);
size_t sim_physical_count_locked(void);
void sim_physicals_mark_gone_locked(int device);
void sim_range_reset_locked(void);

/* --- streams: sim_stream.c ---------------------------------------------------------------------- */

/* Work that has not run and touches the area will fault when it runs. Whether there is any. */
bool sim_spoil_work_on_locked(uintptr_t start, size_t size_bytes);

/* What is pending on the device's streams is dropped. */
void sim_drop_work_locked(int device);

size_t sim_pending_count_locked(void);
size_t sim_stream_count_locked(void);
size_t sim_event_count_locked(void);
void sim_streams_mark_gone_locked(int device);
void sim_stream_reset_locked(void);

/* --- pools: sim_pool.c --------------------------------------------------------------------------- */

size_t sim_pool_count_locked(void);
void sim_pools_mark_gone_locked(int device);
void sim_pool_reset_locked(void);

/* --- captures: sim_capture.c --------------------------------------------------------------------- */

void sim_capture_reset_locked(void);

/* --- calls: sim_calls.c -------------------------------------------------------------------------- */

void sim_calls_reset_locked(void);

#endif
