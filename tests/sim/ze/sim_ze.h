/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_ze: Level Zero's face of the simulated devices.
 *
 *     sim_ze_objects.c   handles: contexts, lists, pools of events, events
 *     sim_ze_device.c    drivers, devices, contexts; what the driver has
 *     sim_ze_memory.c    memory, virtual memory
 *     sim_ze_list.c      lists of commands, events
 *     sim_ze_driver.c    the tables of functions that a loader asks a driver for
 *     sim_ze_loader.c    the same functions as a loader's own, with those that newer loaders have
 *
 * The functions have the vendor's names and are compiled against its headers, so that prototypes are
 * checked. The library is used in two ways: as a driver under the vendor's loader
 * (ZE_ENABLE_ALT_DRIVERS), where nothing but the tables is exported; and in the loader's place, to run
 * what the loader of this machine is too old for.
 */
#ifndef SIM_ZE_H
#define SIM_ZE_H

#include <level_zero/ze_api.h>

#include "../sim_device.h"

/* --- what the driver has ------------------------------------------------------------------------- */

/* TARN_SIM_ZE_LACKS is a list of these names; SIM_DRIVER_WITHOUT_EXTRAS lacks all but usable memory,
 * which is no matter of age. */
enum sim_ze_feature {
    SIM_ZE_ORDER,          /* "order": lists that run in order */
    SIM_ZE_BLOCKING_FREE,  /* "blocking_free": a free that waits */
    SIM_ZE_USABLE_MEMORY,  /* "usable_memory": how much memory is left */
    SIM_ZE_RELAXED_LIMITS, /* "relaxed_limits": pieces larger than TARN_SIM_ZE_ALLOCATION_MAX */
    SIM_ZE_COUNTERS,       /* "counters": counter-based events */
    SIM_ZE_NEWER,          /* "newer": all functions of sim_ze_loader.c */
    SIM_ZE_FEATURE_COUNT
};

bool sim_ze_has(enum sim_ze_feature feature);

/*
 * TARN_SIM_ZE_DRIVERS         how many drivers share the devices; 1
 * TARN_SIM_ZE_OTHERS          how many of the devices, the first, are no GPUs; 0
 * TARN_SIM_ZE_USABLE_MEMORY   what is said to be left, whatever there is
 */

/* The largest piece without relaxed limits: TARN_SIM_ZE_ALLOCATION_MAX, or the devices' own limit. */
size_t sim_ze_allocation_bytes_max(void);

/* --- answers -------------------------------------------------------------------------------------- */

ze_result_t sim_ze_answer(sim_status status);

/* First in every function but zeInit: sim_enter, and UNINITIALIZED before zeInit. */
sim_status sim_ze_enter(const char *name);

/* --- handles -------------------------------------------------------------------------------------- */

/* A device, or a part of one. Parts share the device's memory. Static, so its address is the handle. */
struct sim_ze_device {
    int number; /* of the simulated device */
    int part;   /* -1: the whole; 0, 1: its parts; 2 to 5: theirs */
};

ze_device_handle_t sim_ze_device_handle(int number, int part);

/* NULL: it is no device. */
const struct sim_ze_device *sim_ze_device_of(ze_device_handle_t handle);

enum sim_ze_kind {
    SIM_ZE_CONTEXT,
    SIM_ZE_LIST,
    SIM_ZE_POOL,
    SIM_ZE_EVENT
};

enum {
    SIM_ZE_LANE_COUNT = 2
};

/* What a handle stands for. Handles are numbers that are never used again. */
struct sim_ze_object {
    struct sim_ze_object *next;
    uintptr_t number;
    enum sim_ze_kind kind;
    uintptr_t parent; /* the context of a list, pool or counter-based event; the pool of an event */
    int device;       /* of a context: the driver */
    int part;         /* of a list's device */
    bool
        is_refused; /* to be destroyed, by a scripted fault; whoever asked can do no more about it */
    bool is_busy;   /* in a call that no other thread may make at the same time */

    /* A list in order has one lane. One without takes lanes in turn, and one more for its barriers. */
    sim_stream *lanes[SIM_ZE_LANE_COUNT + 1];
    sim_event *lane_ends[SIM_ZE_LANE_COUNT + 1];
    bool is_in_order;
    bool is_held_back[SIM_ZE_LANE_COUNT]; /* by the last barrier, which it does not wait for yet */
    unsigned turn;

    /* A pool. */
    uint32_t count;
    uint32_t used_count;

    /* An event. */
    sim_event *event;
    uint32_t index;
    bool is_counter_based;
};

/* A new object; its handle is its number. */
struct sim_ze_object *sim_ze_object_create(enum sim_ze_kind kind, uintptr_t parent, int device);

/* NULL: there is none of that kind. */
struct sim_ze_object *sim_ze_object_find(enum sim_ze_kind kind, const void *handle);
void sim_ze_object_destroy(struct sim_ze_object *object);

/* First in every function that destroys: sim_ze_enter, the object, and a note when it is refused. */
sim_status sim_ze_enter_destroy(const char *name, enum sim_ze_kind kind, const void *handle,
                                struct sim_ze_object **object_out);

/* How many objects belong to this one. With `index`, how many of them have it. */
size_t sim_ze_object_count_children(uintptr_t parent, const uint32_t *index);

/* Around a call that only one thread may make on the object; two at once are misuse. */
void sim_ze_object_begin(struct sim_ze_object *object);
void sim_ze_object_end(struct sim_ze_object *object);

sim_status sim_ze_event_create(uintptr_t parent, int device, sim_event_form form, uint32_t index,
                               ze_event_handle_t *created);

/* The context in what an allocation has as its owner. */
ze_context_handle_t sim_ze_context_of(const void *owner);

/* OK, or DEVICE_LOST: what Intel's driver says of a context that does not know the device. */
sim_status sim_ze_check_context(ze_context_handle_t handle);
sim_status sim_ze_check_context_of(ze_context_handle_t handle, const struct sim_ze_device *device);

/* Fills in what an extension of the properties of physical memory asks for. */
sim_status sim_ze_physical_export(ze_physical_mem_handle_t physical, void *extension);

#endif
