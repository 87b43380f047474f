/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_settings: what the simulated machine is like, its bad days, and what is alive on it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim_state.h"

struct sim_machine sim_machine;

/* --- small helps ------------------------------------------------------------------------------- */

static void stop(const char *what, const char *value)
{
    fprintf(stderr, "sim: %s%s\n", what, value);
    abort();
}

void *sim_allocate(size_t size_bytes)
{
    void *address = calloc(1, size_bytes);
    if (!address) stop("no host memory left for the simulation", "");
    return address;
}

void *sim_reallocate(void *old, size_t size_bytes)
{
    void *address = realloc(old, size_bytes);
    if (!address) stop("no host memory left for the simulation", "");
    return address;
}

/* splitmix64 */
uint64_t sim_random_locked(void)
{
    uint64_t z = sim_machine.random += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

const char *sim_status_name(sim_status status)
{
    static const char *const names[] = {
#define SIM_STATUS_TEXT(name) #name,
        SIM_STATUS_TABLE(SIM_STATUS_TEXT)
#undef SIM_STATUS_TEXT
    };
    return (unsigned)status < SIM_STATUS_COUNT ? names[status] : "no status";
}

/* --- the environment --------------------------------------------------------------------------- */

/* A number, with K, M, G or T behind it for powers of 1024. */
static size_t bytes_of_environment(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    if (!text) return otherwise;
    char *end;
    unsigned long long value = strtoull(text, &end, 0);
    const char *suffixes = "KMGT", *suffix = *end ? strchr(suffixes, *end) : NULL;
    if (suffix) {
        value <<= 10 * (suffix - suffixes + 1);
        end++;
    }
    if (end == text || *end != '\0') stop("no number: ", name);
    return (size_t)value;
}

static bool is_set(const char *name)
{
    const char *text = getenv(name);
    return text && strcmp(text, "0") != 0;
}

static sim_driver driver_of_environment(void)
{
    static const char *const names[] = { "present", "absent", "too_old", "without_extras" };
    const char *text = getenv("TARN_SIM_DRIVER");
    if (!text) return SIM_DRIVER_PRESENT;
    for (int i = 0; i < SIM_DRIVER_COUNT; i++) {
        if (strcmp(text, names[i]) == 0) return (sim_driver)i;
    }
    stop("TARN_SIM_DRIVER is none of present, absent, too_old, without_extras: ", text);
    return SIM_DRIVER_PRESENT;
}

static void expect_sane(const sim_settings *settings)
{
    if (settings->device_count < 0 || settings->device_count > SIM_DEVICES_MAX)
        stop("there may be 0 to 8 devices", "");
    if (!sim_is_power_of_two(settings->alignment_bytes) ||
        !sim_is_power_of_two(settings->granularity_bytes))
        stop("alignment and granularity are powers of two", "");
}

static sim_settings settings_of_environment(void)
{
    sim_settings settings = {
        .device_count = (int)bytes_of_environment("TARN_SIM_DEVICES", 2),
        .memory_bytes = bytes_of_environment("TARN_SIM_MEMORY", (size_t)8 << 30),
        .host_memory_bytes = bytes_of_environment("TARN_SIM_HOST_MEMORY", (size_t)64 << 30),
        .spills_to_host = true,
        .alignment_bytes = bytes_of_environment("TARN_SIM_ALIGNMENT", 4096),
        .granularity_bytes = (size_t)2 << 20,
        .range_granularity_bytes = (size_t)2 << 20,
        .has_kind = { true, true, true },
        .has_ranges = true,
        .has_sharing = bytes_of_environment("TARN_SIM_SHARING", 1) != 0,
        .has_pools = bytes_of_environment("TARN_SIM_POOLS", 1) != 0,
        .has_one_address = true,
        .poor_device = -1,
        .driver = driver_of_environment(),
        .seed = bytes_of_environment("TARN_SIM_SEED", 1),
        .event_delay_polls = (unsigned)bytes_of_environment("TARN_SIM_EVENT_DELAY", 1),
        .reuses_streams = is_set("TARN_SIM_REUSE_STREAMS"),
        .unloads_at_exit = is_set("TARN_SIM_UNLOAD_AT_EXIT"),
    };
    settings.allocation_bytes_max =
        bytes_of_environment("TARN_SIM_ALLOCATION_MAX", settings.memory_bytes);
    expect_sane(&settings);
    return settings;
}

/* --- the lock, and the first use ---------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void reset_locked(void)
{
    unsigned generation = sim_machine.generation;
    sim_stream_reset_locked();
    sim_pool_reset_locked();
    sim_range_reset_locked();
    sim_memory_reset_locked();
    sim_machine = (struct sim_machine){
        .settings = settings_of_environment(),
        .generation = generation + 1,
    };
    sim_machine.random = sim_machine.settings.seed;
    sim_capture_reset_locked();
    sim_calls_reset_locked();
}

/* After main, and after what the program itself does at its exit. */
static void at_exit(void)
{
    sim_lock();
    sim_machine.is_unloading = sim_machine.settings.unloads_at_exit;
    sim_unlock();
}

/* Later than all of at_exit's fellows: whoever gives something back at the exit has done so. */
static void __attribute__((destructor)) expect_clean_end(void)
{
    if (!is_set("TARN_SIM_EXPECT_CLEAN")) return;
    if (sim_alive_total() == 0 && sim_misuse_count() == 0) return;
    fprintf(stderr, "sim: at the end there is alive: %s; misuse: %zu, first: %s\n",
            sim_describe_alive(), sim_misuse_count(), sim_first_misuse());
    fflush(NULL);
    _exit(99);
}

static void begin(void)
{
    reset_locked();
    atexit(at_exit);
}

void sim_lock(void)
{
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
}

void sim_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* --- settings ---------------------------------------------------------------------------------- */

sim_settings sim_get_settings(void)
{
    sim_lock();
    sim_settings settings = sim_machine.settings;
    sim_unlock();
    return settings;
}

void sim_set_settings(const sim_settings *settings)
{
    expect_sane(settings);
    size_t alive = sim_alive_total();
    sim_lock();
    const sim_settings *old = &sim_machine.settings;
    if (alive > 0 && (settings->device_count != old->device_count ||
                      settings->memory_bytes != old->memory_bytes ||
                      settings->host_memory_bytes != old->host_memory_bytes ||
                      settings->granularity_bytes != old->granularity_bytes ||
                      settings->range_granularity_bytes != old->range_granularity_bytes))
        stop("the machine cannot change while something is alive on it", "");
    if (settings->seed != old->seed) sim_machine.random = settings->seed;
    sim_machine.settings = *settings;
    sim_unlock();
}

void sim_reset(void)
{
    sim_lock();
    reset_locked();
    sim_unlock();
}

unsigned sim_generation(void)
{
    sim_lock();
    unsigned generation = sim_machine.generation;
    sim_unlock();
    return generation;
}

/* --- devices ----------------------------------------------------------------------------------- */

int sim_device_count(void)
{
    return sim_get_settings().device_count;
}

sim_status sim_device_check_locked(int device)
{
    if (device < 0 || device >= sim_machine.settings.device_count) return SIM_STATUS_INVALID_DEVICE;
    return sim_machine.device_state[device];
}

sim_status sim_device_check(int device)
{
    sim_lock();
    sim_status status = sim_device_check_locked(device);
    sim_unlock();
    return status;
}

sim_status sim_context_activate(int device)
{
    sim_lock();
    sim_status status = sim_device_check_locked(device);
    if (status == SIM_STATUS_OK) sim_machine.has_context[device] = true;
    sim_unlock();
    return status;
}

void sim_context_deactivate(int device)
{
    sim_lock();
    sim_machine.has_context[device] = false;
    sim_unlock();
}

bool sim_context_is_active(int device)
{
    sim_lock();
    bool is_active = sim_device_check_locked(device) != SIM_STATUS_INVALID_DEVICE &&
                     sim_machine.has_context[device];
    sim_unlock();
    return is_active;
}

sim_status sim_memory_info(int device, size_t *total_bytes_out, size_t *free_bytes_out)
{
    sim_lock();
    sim_status status = sim_device_check_locked(device);
    if (status == SIM_STATUS_OK) {
        *total_bytes_out = sim_machine.settings.memory_bytes;
        *free_bytes_out = sim_machine.settings.memory_bytes - sim_machine.device_held_bytes[device];
    }
    sim_unlock();
    return status;
}

/* --- bad days ---------------------------------------------------------------------------------- */

static void break_device(int device, sim_status state)
{
    sim_lock();
    if (sim_device_check_locked(device) == SIM_STATUS_INVALID_DEVICE)
        stop("there is no such device to break", "");
    bool is_lost = state == SIM_STATUS_DEVICE_LOST;
    sim_drop_work_locked(device);
    sim_places_mark_gone_locked(device, is_lost);
    if (is_lost) sim_physicals_mark_gone_locked(device);
    sim_streams_mark_gone_locked(device);
    sim_pools_mark_gone_locked(device);
    sim_machine.device_state[device] = state;
    sim_machine.has_context[device] = false;
    sim_unlock();
}

void sim_lose_device(int device)
{
    break_device(device, SIM_STATUS_DEVICE_LOST);
}

void sim_reset_device(int device)
{
    break_device(device, SIM_STATUS_OK);
}

void sim_destroy_context(int device)
{
    break_device(device, SIM_STATUS_CONTEXT_DESTROYED);
}

void sim_unload_driver(void)
{
    sim_lock();
    sim_machine.is_unloading = true;
    sim_unlock();
}

/* --- what is alive ----------------------------------------------------------------------------- */

static size_t alive_locked(sim_thing thing)
{
    switch (thing) {
    case SIM_THING_MEMORY:
        return sim_place_count_locked(false);
    case SIM_THING_RANGE:
        return sim_range_count_locked();
    case SIM_THING_PHYSICAL:
        return sim_physical_count_locked();
    case SIM_THING_MAPPING:
        return sim_place_count_locked(true);
    case SIM_THING_STREAM:
        return sim_stream_count_locked();
    case SIM_THING_EVENT:
        return sim_event_count_locked();
    case SIM_THING_POOL:
        return sim_pool_count_locked();
    case SIM_THING_CONTEXT:
    case SIM_THING_EVENT_POOL:
        return sim_machine.face_alive[thing];
    case SIM_THING_COUNT:
        break;
    }
    return 0;
}

size_t sim_alive(sim_thing thing)
{
    sim_lock();
    size_t count = alive_locked(thing);
    sim_unlock();
    return count;
}

size_t sim_alive_total(void)
{
    size_t count = 0;
    sim_lock();
    for (int thing = 0; thing < SIM_THING_COUNT; thing++)
        count += alive_locked((sim_thing)thing);
    sim_unlock();
    return count;
}

void sim_alive_change(sim_thing thing, int change)
{
    sim_lock();
    if (change < 0 && sim_machine.face_alive[thing] < (size_t)-change)
        stop("a face gave back more than there was", "");
    sim_machine.face_alive[thing] += (size_t)change;
    sim_unlock();
}

size_t sim_held_bytes(int device, sim_memory_kind kind)
{
    sim_lock();
    size_t bytes = kind == SIM_MEMORY_KIND_DEVICE ? sim_machine.device_held_bytes[device]
                                                  : sim_machine.host_held_bytes[kind];
    sim_unlock();
    return bytes;
}

const char *sim_describe_alive(void)
{
    static const char *const names[] = { "memory", "ranges",   "physical",    "mappings", "streams",
                                         "events", "contexts", "event pools", "pools" };
    static _Thread_local char text[256];
    size_t length = 0;
    snprintf(text, sizeof text, "nothing");
    for (int thing = 0; thing < SIM_THING_COUNT; thing++) {
        size_t count = sim_alive((sim_thing)thing);
        if (count == 0) continue;
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s %zu",
                                   length > 0 ? ", " : "", names[thing], count);
    }
    return text;
}

size_t sim_pending_count(void)
{
    sim_lock();
    size_t count = sim_pending_count_locked();
    sim_unlock();
    return count;
}

/* --- misuse ------------------------------------------------------------------------------------ */

void sim_misuse_locked(const char *text)
{
    if (sim_machine.misuse_count++ == 0)
        snprintf(sim_machine.first_misuse, sizeof sim_machine.first_misuse, "%s", text);
    if (sim_machine.prints_calls) fprintf(stderr, "sim: misuse: %s\n", text);
}

void sim_misuse(const char *text)
{
    sim_lock();
    sim_misuse_locked(text);
    sim_unlock();
}

size_t sim_misuse_count(void)
{
    sim_lock();
    size_t count = sim_machine.misuse_count;
    sim_unlock();
    return count;
}

const char *sim_first_misuse(void)
{
    return sim_machine.first_misuse;
}

/* --- handles ----------------------------------------------------------------------------------- */

/* No address that a program can have, so that whoever follows one dies at once. */
#define HANDLE_MARK ((uintptr_t)0x51AD000000000000u)

static uint64_t next_number = 1;

void *sim_handle_of(const struct sim_handle *item)
{
    return (void *)(HANDLE_MARK | (uintptr_t)item->number << 4);
}

/* Where the number is or would be. */
static size_t position_of(const struct sim_table *table, uint64_t number)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->items[middle]->number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Where the number belongs. */
static void *insert_at(struct sim_table *table, struct sim_handle *item, uint64_t number)
{
    if (table->count == table->capacity) {
        table->capacity = table->capacity ? 2 * table->capacity : 64;
        table->items = sim_reallocate(table->items, table->capacity * sizeof *table->items);
    }
    size_t position = position_of(table, number);
    memmove(&table->items[position + 1], &table->items[position],
            (table->count++ - position) * sizeof *table->items);
    table->items[position] = item;
    item->number = number;
    return sim_handle_of(item);
}

void *sim_table_insert_locked(struct sim_table *table, struct sim_handle *item, int device)
{
    item->device = device;
    return insert_at(table, item, next_number++);
}

void sim_table_renumber_locked(struct sim_table *table, struct sim_handle *item, uint64_t number)
{
    sim_table_remove_locked(table, item);
    insert_at(table, item, number != 0 ? number : next_number++);
}

void *sim_table_find_locked(const struct sim_table *table, const void *handle)
{
    uintptr_t value = (uintptr_t)handle;
    if ((value & HANDLE_MARK) != HANDLE_MARK || (value & 15) != 0) return NULL;
    uint64_t number = (value & ~HANDLE_MARK) >> 4;
    size_t position = position_of(table, number);
    if (position == table->count || table->items[position]->number != number) return NULL;
    return table->items[position];
}

void sim_table_remove_locked(struct sim_table *table, const struct sim_handle *item)
{
    size_t position = position_of(table, item->number);
    memmove(&table->items[position], &table->items[position + 1],
            (--table->count - position) * sizeof *table->items);
}

size_t sim_table_count_alive_locked(const struct sim_table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++)
        count += !table->items[i]->is_gone;
    return count;
}

void sim_table_mark_gone_locked(struct sim_table *table, int device)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->items[i]->device == device) table->items[i]->is_gone = true;
    }
}
