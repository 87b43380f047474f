/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_memory: memory that the host cannot touch, and what an address means.
 *
 *     the user's address   ├── place ──┤         PROT_NONE, no memory behind it
 *                              │
 *     content                  └──► bytes        the simulation's own view, committed by touch
 *
 * A device finds the bytes by the address, through a list of places that stands for its page table.
 * So memory that is mapped at two addresses is the same memory, memory of any size costs nothing
 * before it is used, and a host that follows a device's pointer dies at once. Pinned and shared
 * memory is the same with both views in one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim_state.h"

/* In the order of their addresses; they never overlap. */
static struct {
    struct sim_place **items;
    size_t count;
    size_t capacity;
} places;

static uint64_t next_id = 1;

/* --- sizes ------------------------------------------------------------------------------------- */

size_t sim_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

bool sim_is_power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static size_t round_up(size_t value, size_t power_of_two)
{
    return (value + power_of_two - 1) & ~(power_of_two - 1);
}

/* --- addresses --------------------------------------------------------------------------------- */

static void *map_system(const void *hint, size_t size_bytes, int protection)
{
    void *address = mmap((void *)(uintptr_t)hint, size_bytes, protection,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return address == MAP_FAILED ? NULL : address;
}

/* The first multiple of the alignment that is not one of twice the alignment. */
static uintptr_t least_aligned(uintptr_t address, size_t alignment)
{
    address = round_up(address, alignment);
    return (address & alignment) != 0 ? address : address + alignment;
}

void *sim_take_addresses(const void *hint, size_t size_bytes, size_t alignment,
                         void **system_address_out, size_t *system_bytes_out)
{
    size_t page_bytes = sim_page_bytes();
    size_t system_bytes = round_up(size_bytes, page_bytes);
    if (hint && ((uintptr_t)hint & ((alignment | page_bytes) - 1)) == 0) {
        void *wished = map_system(hint, system_bytes, PROT_NONE);
        *system_address_out = wished;
        *system_bytes_out = system_bytes;
        if (wished == hint) return wished;
        if (wished) munmap(wished, system_bytes);
    }
    system_bytes += 2 * round_up(alignment, page_bytes);
    void *system_address = map_system(NULL, system_bytes, PROT_NONE);
    if (!system_address) return NULL;
    *system_address_out = system_address;
    *system_bytes_out = system_bytes;
    return (void *)least_aligned((uintptr_t)system_address, alignment);
}

/* --- content ----------------------------------------------------------------------------------- */

static size_t *held_bytes_of(const struct sim_content *content)
{
    if (content->kind == SIM_MEMORY_KIND_DEVICE)
        return &sim_machine.device_held_bytes[content->device];
    return &sim_machine.host_held_bytes[content->kind];
}

/* Devices that cannot fetch single pages hold all of their shared memory at once. */
static bool may_lie_on_device(const struct sim_content *content)
{
    const sim_settings *settings = &sim_machine.settings;
    if (content->kind != SIM_MEMORY_KIND_SHARED || settings->spills_to_host) return true;
    size_t held = sim_machine.host_held_bytes[SIM_MEMORY_KIND_SHARED];
    return held <= settings->memory_bytes &&
           content->counted_bytes <= settings->memory_bytes - held;
}

static sim_status count_content(struct sim_content *content, size_t size_bytes)
{
    const sim_settings *settings = &sim_machine.settings;
    bool is_device = content->kind == SIM_MEMORY_KIND_DEVICE;
    content->counted_bytes =
        round_up(size_bytes, is_device ? settings->granularity_bytes : sim_page_bytes());
    size_t limit = is_device ? settings->memory_bytes : settings->host_memory_bytes;
    size_t held = is_device ? sim_machine.device_held_bytes[content->device]
                            : sim_machine.host_held_bytes[SIM_MEMORY_KIND_PINNED] +
                                  sim_machine.host_held_bytes[SIM_MEMORY_KIND_SHARED];
    if (content->counted_bytes > limit - held)
        return is_device ? SIM_STATUS_OUT_OF_MEMORY : SIM_STATUS_OUT_OF_HOST_MEMORY;
    if (!may_lie_on_device(content)) return SIM_STATUS_OUT_OF_MEMORY;
    *held_bytes_of(content) += content->counted_bytes;
    return SIM_STATUS_OK;
}

sim_status sim_content_create_locked(int device, sim_memory_kind kind, size_t size_bytes,
                                     struct sim_content **content_out)
{
    struct sim_content content = { .kind = kind, .device = device };
    sim_status status = count_content(&content, size_bytes);
    if (status != SIM_STATUS_OK) return status;
    *content_out = sim_allocate(sizeof content);
    **content_out = content;
    return SIM_STATUS_OK;
}

/* Content that is not zero, where it costs no more than a page. */
static void soil(unsigned char *bytes, size_t size_bytes)
{
    size_t page_bytes = sim_page_bytes();
    memset(bytes, 0xD7, size_bytes < page_bytes ? size_bytes : page_bytes);
}

/* Device memory gets a view of its own when it is first used. */
static unsigned char *bytes_of(struct sim_content *content)
{
    if (!content->bytes) {
        content->mapped_bytes = content->counted_bytes;
        content->bytes = map_system(NULL, content->mapped_bytes, PROT_READ | PROT_WRITE);
        if (content->bytes) soil(content->bytes, content->mapped_bytes);
    }
    return content->bytes;
}

void sim_content_destroy_locked(struct sim_content *content)
{
    if (content->mapped_bytes > 0) munmap(content->bytes, content->mapped_bytes);
    *held_bytes_of(content) -= content->counted_bytes;
    free(content);
}

/* --- places ------------------------------------------------------------------------------------ */

/* How many places begin at or before the address. */
static size_t places_up_to(uintptr_t address)
{
    size_t low = 0, high = places.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places.items[middle]->start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct sim_place *sim_place_find_locked(const void *address)
{
    size_t position = places_up_to((uintptr_t)address);
    if (position == 0) return NULL;
    struct sim_place *place = places.items[position - 1];
    return (uintptr_t)address - place->start < place->size_bytes ? place : NULL;
}

struct sim_place *sim_place_from_locked(uintptr_t address)
{
    size_t position = address == 0 ? 0 : places_up_to(address - 1);
    return position < places.count ? places.items[position] : NULL;
}

void sim_place_insert_locked(struct sim_place *place)
{
    if (places.count == places.capacity) {
        places.capacity = places.capacity ? 2 * places.capacity : 64;
        places.items = sim_reallocate(places.items, places.capacity * sizeof *places.items);
    }
    size_t position = places_up_to(place->start);
    memmove(&places.items[position + 1], &places.items[position],
            (places.count++ - position) * sizeof *places.items);
    places.items[position] = place;
    place->id = next_id++;
}

void sim_place_remove_locked(struct sim_place *place)
{
    size_t position = places_up_to(place->start) - 1;
    memmove(&places.items[position], &places.items[position + 1],
            (--places.count - position) * sizeof *places.items);
}

size_t sim_place_count_locked(bool mappings)
{
    size_t count = 0;
    for (size_t i = 0; i < places.count; i++) {
        const struct sim_place *place = places.items[i];
        count += !place->is_gone && (place->physical != NULL) == mappings;
    }
    return count;
}

void sim_places_mark_gone_locked(int device, bool with_mappings)
{
    for (size_t i = 0; i < places.count; i++) {
        struct sim_place *place = places.items[i];
        if (place->content->device != device) continue;
        if (!place->physical || with_mappings) place->is_gone = true;
    }
}

/* --- what an address means --------------------------------------------------------------------- */

/* Asks the system, by letting it read a byte: a pointer of the application's may lead anywhere. */
static bool host_may_read(uintptr_t address)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    bool may = write(ends[1], (const void *)address, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return may;
}

/* Host memory up to where simulated memory begins. */
static size_t translate_host(uintptr_t address, size_t size_bytes, unsigned char **bytes_out)
{
    const struct sim_place *next = sim_place_from_locked(address);
    if (next && next->start - address < size_bytes) size_bytes = next->start - address;
    if (!host_may_read(address) || !host_may_read(address + size_bytes - 1)) return 0;
    *bytes_out = (unsigned char *)address;
    return size_bytes;
}

size_t sim_translate_locked(int device, bool writes, uintptr_t address, size_t size_bytes,
                            unsigned char **bytes_out)
{
    struct sim_place *place = sim_place_find_locked((const void *)address);
    if (!place) return translate_host(address, size_bytes, bytes_out);
    if (place->physical && device >= 0 &&
        place->access[device] < (writes ? SIM_ACCESS_READ_WRITE : SIM_ACCESS_READ))
        return 0;
    unsigned char *bytes = bytes_of(place->content);
    if (!bytes) return 0;
    size_t offset = address - place->start;
    size_t rest = place->size_bytes - offset;
    *bytes_out = bytes + place->offset_bytes + offset;
    return size_bytes < rest ? size_bytes : rest;
}

static bool move_bytes(unsigned char *host, uintptr_t address, size_t size_bytes, bool writes)
{
    sim_lock();
    size_t done = 0;
    while (done < size_bytes) {
        unsigned char *bytes;
        size_t piece = sim_translate_locked(-1, writes, address + done, size_bytes - done, &bytes);
        if (piece == 0) break;
        memcpy(writes ? bytes : host + done, writes ? host + done : bytes, piece);
        done += piece;
    }
    sim_unlock();
    return done == size_bytes;
}

bool sim_peek(void *host_destination, const void *address, size_t size_bytes)
{
    return move_bytes(host_destination, (uintptr_t)address, size_bytes, false);
}

bool sim_poke(void *address, const void *host_source, size_t size_bytes)
{
    return move_bytes((unsigned char *)(uintptr_t)host_source, (uintptr_t)address, size_bytes,
                      true);
}

/* --- allocations ------------------------------------------------------------------------------- */

static sim_status check_request(int device, sim_memory_kind kind, size_t size_bytes,
                                size_t alignment)
{
    const sim_settings *settings = &sim_machine.settings;
    sim_status status = sim_device_check_locked(device);
    if (status != SIM_STATUS_OK) return status;
    if (!settings->has_kind[kind]) return SIM_STATUS_NOT_SUPPORTED;
    if (!sim_is_power_of_two(alignment)) return SIM_STATUS_INVALID_ALIGNMENT;
    bool is_limited = kind == SIM_MEMORY_KIND_DEVICE;
    if (size_bytes == 0 || (is_limited && size_bytes > settings->allocation_bytes_max) ||
        size_bytes > SIZE_MAX / 4 || alignment > SIZE_MAX / 8)
        return SIM_STATUS_INVALID_SIZE;
    return SIM_STATUS_OK;
}

/* Pinned and shared memory is what the host sees, too. */
static bool open_for_host(struct sim_place *place)
{
    if (mprotect(place->system_address, place->system_bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    place->content->bytes = (unsigned char *)place->start;
    soil(place->content->bytes, place->size_bytes);
    return true;
}

static sim_status alloc_locked(int device, sim_memory_kind kind, size_t size_bytes,
                               size_t alignment, void **address_out)
{
    if (alignment == 0) alignment = sim_machine.settings.alignment_bytes;
    sim_status status = check_request(device, kind, size_bytes, alignment);
    if (status != SIM_STATUS_OK) return status;
    struct sim_content *content;
    status = sim_content_create_locked(device, kind, size_bytes, &content);
    if (status != SIM_STATUS_OK) return status;

    struct sim_place place = { .size_bytes = size_bytes, .content = content };
    void *address =
        sim_take_addresses(NULL, size_bytes, alignment, &place.system_address, &place.system_bytes);
    place.start = (uintptr_t)address;
    if (!address || (kind != SIM_MEMORY_KIND_DEVICE && !open_for_host(&place))) {
        if (address) munmap(place.system_address, place.system_bytes);
        sim_content_destroy_locked(content);
        return SIM_STATUS_OUT_OF_HOST_MEMORY;
    }
    struct sim_place *kept = sim_allocate(sizeof *kept);
    *kept = place;
    sim_place_insert_locked(kept);
    *address_out = address;
    return SIM_STATUS_OK;
}

sim_status sim_alloc(int device, sim_memory_kind kind, size_t size_bytes, size_t alignment_bytes,
                     void **address_out)
{
    sim_lock();
    sim_status status = alloc_locked(device, kind, size_bytes, alignment_bytes, address_out);
    sim_unlock();
    return status;
}

static void place_destroy_locked(struct sim_place *place)
{
    sim_place_remove_locked(place);
    sim_content_destroy_locked(place->content);
    munmap(place->system_address, place->system_bytes);
    free(place);
}

static sim_status free_locked(void *address)
{
    struct sim_place *place = sim_place_find_locked(address);
    if (!place || place->start != (uintptr_t)address || place->physical)
        return SIM_STATUS_INVALID_ADDRESS;
    sim_status status = sim_device_check_locked(place->content->device);
    if (status != SIM_STATUS_OK) return status;
    if (sim_spoil_work_on_locked(place->start, place->size_bytes))
        sim_misuse_locked("memory was freed under pending work");
    place_destroy_locked(place);
    return SIM_STATUS_OK;
}

sim_status sim_free(void *address)
{
    sim_lock();
    sim_status status = free_locked(address);
    sim_unlock();
    return status;
}

bool sim_memory_find(const void *address, sim_memory *memory_out)
{
    sim_lock();
    const struct sim_place *place = sim_place_find_locked(address);
    if (place) {
        *memory_out = (sim_memory){
            .kind = place->content->kind,
            .device = place->content->device,
            .address = (void *)place->start,
            .size_bytes = place->size_bytes,
            .id = place->id,
            .is_mapping = place->physical != NULL,
            .owner = place->owner,
        };
    }
    sim_unlock();
    return place != NULL;
}

sim_status sim_memory_set_owner(void *address, const void *owner)
{
    sim_lock();
    struct sim_place *place = sim_place_find_locked(address);
    if (place) place->owner = owner;
    sim_unlock();
    return place ? SIM_STATUS_OK : SIM_STATUS_INVALID_ADDRESS;
}

/* --- the end ----------------------------------------------------------------------------------- */

/* Mappings have gone before, with their ranges. */
void sim_memory_reset_locked(void)
{
    while (places.count > 0)
        place_destroy_locked(places.items[places.count - 1]);
    free(places.items);
    places.items = NULL;
    places.capacity = 0;
}
