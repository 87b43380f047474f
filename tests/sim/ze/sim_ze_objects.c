/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_ze_objects: what handles stand for. A real driver's handles are pointers, and one that was
 * destroyed is followed all the same; here it is found out.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim_ze.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_ze_object *objects; /* the newest first */
static uintptr_t next_number = 0x5E000000;
static unsigned generation; /* of the simulation that the objects belong to */

static void lock_objects(void)
{
    unsigned now = sim_generation();
    pthread_mutex_lock(&lock);
    if (generation == now) return;
    generation = now;
    while (objects) {
        struct sim_ze_object *object = objects;
        objects = object->next;
        free(object);
    }
}

struct sim_ze_object *sim_ze_object_create(enum sim_ze_kind kind, uintptr_t parent, int device)
{
    struct sim_ze_object *object = calloc(1, sizeof *object);
    if (!object) {
        fprintf(stderr, "sim: no memory\n");
        abort();
    }
    lock_objects();
    next_number += 16;
    object->number = next_number;
    object->kind = kind;
    object->parent = parent;
    object->device = device;
    object->next = objects;
    objects = object;
    pthread_mutex_unlock(&lock);
    return object;
}

struct sim_ze_object *sim_ze_object_find(enum sim_ze_kind kind, const void *handle)
{
    lock_objects();
    struct sim_ze_object *object = objects;
    while (object && (object->number != (uintptr_t)handle || object->kind != kind))
        object = object->next;
    pthread_mutex_unlock(&lock);
    return object;
}

void sim_ze_object_destroy(struct sim_ze_object *object)
{
    lock_objects();
    struct sim_ze_object **link = &objects;
    while (*link && *link != object)
        link = &(*link)->next;
    if (*link) *link = object->next;
    pthread_mutex_unlock(&lock);
    free(object);
}

sim_status sim_ze_enter_destroy(const char *name, enum sim_ze_kind kind, const void *handle,
                                struct sim_ze_object **object_out)
{
    sim_status status = sim_ze_enter(name);
    struct sim_ze_object *object = sim_ze_object_find(kind, handle);
    if (object && status != SIM_STATUS_OK) object->is_refused = true;
    *object_out = object;
    return status == SIM_STATUS_OK && !object ? SIM_STATUS_INVALID_HANDLE : status;
}

size_t sim_ze_object_count_children(uintptr_t parent, const uint32_t *index)
{
    size_t count = 0;
    lock_objects();
    for (const struct sim_ze_object *object = objects; object; object = object->next)
        count +=
            object->parent == parent && !object->is_refused && (!index || object->index == *index);
    pthread_mutex_unlock(&lock);
    return count;
}

void sim_ze_object_begin(struct sim_ze_object *object)
{
    lock_objects();
    bool was_busy = object->is_busy;
    object->is_busy = true;
    pthread_mutex_unlock(&lock);
    if (was_busy) sim_misuse("two threads used a list or a pool of events at once");
}

void sim_ze_object_end(struct sim_ze_object *object)
{
    lock_objects();
    object->is_busy = false;
    pthread_mutex_unlock(&lock);
}
