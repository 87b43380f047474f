/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_calls: counts every call of a vendor by its name, and makes scripted ones fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_state.h"

enum {
    NAMES_MAX = 256,
    SCRIPTS_MAX = 16
};

static struct {
    const char *name;
    size_t count;
} names[NAMES_MAX];

static size_t name_count;

/* A failure that waits for its call. */
static struct script {
    char name[64]; /* "": any */
    size_t first;
    size_t count;
    size_t seen; /* how many calls of the name came since */
    sim_status status;
} scripts[SCRIPTS_MAX];

static size_t script_count;
static size_t fault_count;
static const char *fault_name = "";

/* --- counting ---------------------------------------------------------------------------------- */

static size_t *counter_of(const char *name)
{
    for (size_t i = 0; i < name_count; i++) {
        if (strcmp(names[i].name, name) == 0) return &names[i].count;
    }
    if (name_count == NAMES_MAX) {
        fprintf(stderr, "sim: more than %d names of calls\n", NAMES_MAX);
        abort();
    }
    names[name_count].name = name;
    return &names[name_count++].count;
}

static void count_locked(const char *name)
{
    ++*counter_of(name);
    if (sim_machine.prints_calls) fprintf(stderr, "sim: %s\n", name);
}

size_t sim_call_count(const char *name)
{
    sim_lock();
    size_t count = 0;
    for (size_t i = 0; i < name_count; i++) {
        if (!name || strcmp(names[i].name, name) == 0) count += names[i].count;
    }
    sim_unlock();
    return count;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *sim_describe_calls(void)
{
    static _Thread_local char text[2048];
    const char *made[NAMES_MAX];
    size_t made_count = 0, length = 0;
    sim_lock();
    for (size_t i = 0; i < name_count; i++) {
        if (names[i].count > 0) made[made_count++] = names[i].name;
    }
    qsort(made, made_count, sizeof *made, compare_names);
    snprintf(text, sizeof text, "none");
    for (size_t i = 0; i < made_count && length < sizeof text; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s %zu",
                                   i > 0 ? ", " : "", made[i], *counter_of(made[i]));
    }
    sim_unlock();
    return text;
}

void sim_forget_calls(void)
{
    sim_lock();
    for (size_t i = 0; i < name_count; i++)
        names[i].count = 0;
    sim_unlock();
}

void sim_trace_calls(bool is_on)
{
    sim_lock();
    sim_machine.prints_calls = is_on;
    sim_unlock();
}

/* --- failing ----------------------------------------------------------------------------------- */

/* For a debugger to break on. */
static void __attribute__((noinline)) sim_fault_happens(const char *name)
{
    fault_count++;
    fault_name = name;
    if (sim_machine.prints_calls) fprintf(stderr, "sim: %s fails, as scripted\n", name);
}

/* Each script counts the calls that it is about, whether or not another one makes them fail. */
static sim_status scripted_locked(const char *name)
{
    sim_status status = SIM_STATUS_OK;
    for (size_t i = 0; i < script_count; i++) {
        struct script *script = &scripts[i];
        if (script->name[0] != '\0' && strcmp(script->name, name) != 0) continue;
        script->seen++;
        if (script->seen < script->first || script->seen - script->first >= script->count) continue;
        if (status == SIM_STATUS_OK) status = script->status;
    }
    if (status != SIM_STATUS_OK) sim_fault_happens(name);
    return status;
}

static sim_status driver_status_locked(void)
{
    switch (sim_machine.settings.driver) {
    case SIM_DRIVER_ABSENT:
        return SIM_STATUS_NO_DRIVER;
    case SIM_DRIVER_TOO_OLD:
        return SIM_STATUS_DRIVER_TOO_OLD;
    case SIM_DRIVER_PRESENT:
    case SIM_DRIVER_WITHOUT_EXTRAS:
    case SIM_DRIVER_COUNT:
        break;
    }
    return SIM_STATUS_OK;
}

static sim_status enter(const char *name, bool needs_driver)
{
    sim_lock();
    count_locked(name);
    sim_status status = scripted_locked(name);
    if (status == SIM_STATUS_OK && sim_machine.is_unloading) status = SIM_STATUS_UNLOADING;
    if (status == SIM_STATUS_OK && needs_driver) status = driver_status_locked();
    sim_unlock();
    return status;
}

sim_status sim_enter(const char *name)
{
    return enter(name, true);
}

sim_status sim_enter_without_driver(const char *name)
{
    return enter(name, false);
}

void sim_note(const char *name)
{
    sim_lock();
    count_locked(name);
    sim_unlock();
}

static void script_locked(const char *name, size_t first, size_t count, sim_status status)
{
    if (script_count == SCRIPTS_MAX) {
        fprintf(stderr, "sim: more than %d scripted faults\n", SCRIPTS_MAX);
        abort();
    }
    struct script *script = &scripts[script_count++];
    *script = (struct script){ .first = first, .count = count, .status = status };
    if (name) snprintf(script->name, sizeof script->name, "%s", name);
    fault_count = 0;
    fault_name = "";
}

void sim_fail_calls(const char *name, size_t first, size_t count, sim_status status)
{
    sim_lock();
    script_locked(name, first, count, status);
    sim_unlock();
}

void sim_forget_faults(void)
{
    sim_lock();
    script_count = 0;
    sim_unlock();
}

size_t sim_fault_count(void)
{
    sim_lock();
    size_t count = fault_count;
    sim_unlock();
    return count;
}

const char *sim_fault_name(void)
{
    sim_lock();
    const char *name = fault_name;
    sim_unlock();
    return name;
}

/* --- the start --------------------------------------------------------------------------------- */

/* "7" or "cudaMalloc:7". */
static void script_of_environment_locked(void)
{
    const char *text = getenv("TARN_SIM_FAIL");
    if (!text) return;
    char name[64] = "";
    const char *number = strchr(text, ':');
    if (number) {
        snprintf(name, sizeof name, "%.*s", (int)(number - text), text);
        number++;
    } else {
        number = text;
    }
    char *end;
    unsigned long first = strtoul(number, &end, 10);
    if (first == 0 || *end != '\0') {
        fprintf(stderr, "sim: TARN_SIM_FAIL=%s is neither NUMBER nor NAME:NUMBER\n", text);
        abort();
    }
    script_locked(name[0] ? name : NULL, first, 1, SIM_STATUS_UNKNOWN);
}

void sim_calls_reset_locked(void)
{
    for (size_t i = 0; i < name_count; i++)
        names[i].count = 0;
    script_count = 0;
    fault_count = 0;
    fault_name = "";
    sim_machine.prints_calls = getenv("TARN_SIM_TRACE") != NULL;
    script_of_environment_locked();
}
