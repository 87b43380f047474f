/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * kokkos_tool: a library of Kokkos Tools. Kokkos calls it after each allocation and before each deallocation,
 * with the label of the view and the name of the memory space.
 *
 * It writes events: under tarn-record, which makes the traces, or alone into the file of TARN_KOKKOS_TRACE, or
 * kokkos-<process>.trace.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sync.h"
#include "base/text/escape.h"
#include "record/recorder.h"
#include "record/trace_path.h"

#include "process_recording.h"

#define EXPORT __attribute__((visibility("default")))

#define SPACES_MAX 16

/* The layout of Kokkos's own type. */
struct SpaceHandle {
    char name[64];
};

struct space {
    char name[64];
    bool is_recorded;
    _Atomic uint64_t alloc_count;
};

static const char source[] = "allocations and deallocations of Kokkos, by its tools interface";

static struct tn_mutex lock = TN_MUTEX_INIT; /* for adding spaces */
static struct space spaces[SPACES_MAX];
static atomic_uint space_count;
static char *own_path; /* of the events, without tarn-record; never freed */

EXPORT void kokkosp_init_library(int load_number, uint64_t interface_version, uint32_t device_count,
                                 void *devices);
EXPORT void kokkosp_finalize_library(void);
EXPORT void kokkosp_allocate_data(struct SpaceHandle space, const char *label, const void *address,
                                  uint64_t size_bytes);
EXPORT void kokkosp_deallocate_data(struct SpaceHandle space, const char *label,
                                    const void *address, uint64_t size_bytes);

/* --- spaces ------------------------------------------------------------------------------------------- */

static bool is_in_list(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* By default, device spaces: no host memory, page-locked or not. */
static bool is_wanted(const char *name)
{
    const char *list = getenv("TARN_KOKKOS_SPACES");
    if (!list || list[0] == '\0') return !strstr(name, "Host");
    return strcmp(list, "all") == 0 || is_in_list(list, name);
}

static struct space *find_space(const char *name)
{
    unsigned count = atomic_load_explicit(&space_count, memory_order_acquire);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(spaces[i].name, name) == 0) return &spaces[i];
    return NULL;
}

/* NULL: there are too many. */
static struct space *find_or_add_space(const struct SpaceHandle *handle)
{
    char name[sizeof handle->name];
    snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1, handle->name);
    struct space *found = find_space(name);
    if (found) return found;
    tn_mutex_lock(&lock);
    found = find_space(name);
    unsigned count = atomic_load(&space_count);
    if (!found && count < SPACES_MAX) {
        found = &spaces[count];
        memcpy(found->name, name, sizeof name);
        found->is_recorded = is_wanted(name);
        atomic_store_explicit(&space_count, count + 1, memory_order_release);
    }
    tn_mutex_unlock(&lock);
    return found;
}

/* --- without tarn-record -------------------------------------------------------------------------------- */

static void begin_alone(void)
{
    const char *pattern = getenv("TARN_KOKKOS_TRACE");
    bool is_set = pattern && pattern[0] != '\0';
    own_path = tn_trace_path_expand(is_set ? pattern : "kokkos-%p.trace");
    if (!own_path)
        fprintf(stderr, "tarn: nothing is recorded: the host has no memory to record\n");
    else if (tn_recorder_start(own_path, source, false) != TARN_STATUS_OK)
        fprintf(stderr, "tarn: nothing is recorded: %s\n", tarn_last_error().message);
}

static void end_alone(void)
{
    struct tn_recorder_counts counts = tn_recorder_count();
    fprintf(stderr, "tarn: %s has %llu allocations and frees of Kokkos\n", own_path,
            (unsigned long long)counts.event_count);
}

/* --- the interface for Kokkos ------------------------------------------------------------------------- */

void kokkosp_init_library(int load_number, uint64_t interface_version, uint32_t device_count,
                          void *devices)
{
    (void)load_number;
    (void)interface_version;
    (void)device_count;
    (void)devices;
    if (getenv(TN_RECORD_FILE_VARIABLE))
        tn_process_recording_begin(source);
    else
        begin_alone();
}

static void tell_what_was_left_out(void)
{
    unsigned count = atomic_load(&space_count);
    for (unsigned i = 0; i < count; i++) {
        if (spaces[i].is_recorded) continue;
        char name[4 * sizeof spaces[i].name];
        tn_escape_text(name, sizeof name, spaces[i].name);
        fprintf(stderr,
                "tarn: %llu allocations in space %s were not recorded; TARN_KOKKOS_SPACES=%s would "
                "record them\n",
                (unsigned long long)atomic_load(&spaces[i].alloc_count), name, name);
    }
}

void kokkosp_finalize_library(void)
{
    if (own_path && tn_recorder_stop()) end_alone();
    tell_what_was_left_out();
}

void kokkosp_allocate_data(struct SpaceHandle space, const char *label, const void *address,
                           uint64_t size_bytes)
{
    struct space *found = find_or_add_space(&space);
    if (!found) return;
    atomic_fetch_add_explicit(&found->alloc_count, 1, memory_order_relaxed);
    if (found->is_recorded && tn_recorder_is_on())
        tn_recorder_note_alloc(address, size_bytes, NULL, label ? label : "");
}

void kokkosp_deallocate_data(struct SpaceHandle space, const char *label, const void *address,
                             uint64_t size_bytes)
{
    (void)label;
    (void)size_bytes;
    const struct space *found = find_or_add_space(&space);
    if (found && found->is_recorded && tn_recorder_is_on())
        tn_recorder_note_free(address, NULL, tn_recorder_now());
}
