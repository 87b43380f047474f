/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_answers: what Level Zero answers to mistakes and questions, one line each, "what was done: code".
 *
 * Over the simulated devices the lines are compared with ze_answers.txt. scripts/ze_oracle asks Intel's
 * driver the same, and shows where the face differs.
 *
 * What crashes one driver must not end the others' questions, so each is put in a process of its own.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <level_zero/ze_api.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* --- what every question starts with ----------------------------------------------------------- */

static ze_driver_handle_t driver;
static ze_device_handle_t devices[8];
static ze_context_handle_t context;

/* What cannot be had ends the case: its line then tells of the wrong call, and shows a difference. */
static void must(ze_result_t error)
{
    if (error == ZE_RESULT_SUCCESS) return;
    printf("cannot be asked, a call before answers 0x%x\n", (unsigned)error);
    exit(0);
}

static void begin(void)
{
    uint32_t count = 1, device_count = 8;
    const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
    must(zeInit(ZE_INIT_FLAG_GPU_ONLY));
    must(zeDriverGet(&count, &driver));
    must(zeDeviceGet(driver, &device_count, devices));
    must(zeContextCreate(driver, &desc, &context));
}

static ze_context_handle_t other_context(void)
{
    const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
    ze_context_handle_t other;
    must(zeContextCreate(driver, &desc, &other));
    return other;
}

/* --- memory ------------------------------------------------------------------------------------ */

static ze_result_t alloc(size_t size, size_t alignment, const void *extension, void **address)
{
    const ze_device_mem_alloc_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
        .pNext = extension,
    };
    return zeMemAllocDevice(context, &desc, size, alignment, devices[0], address);
}

static void *device_memory(size_t size)
{
    void *address = NULL;
    must(alloc(size, 0, NULL, &address));
    return address;
}

static ze_device_properties_t properties(void)
{
    ze_device_properties_t device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
    must(zeDeviceGetProperties(devices[0], &device));
    return device;
}

static unsigned alloc_of_nothing(void)
{
    void *address;
    return alloc(0, 0, NULL, &address);
}

static unsigned alloc_alignment_3(void)
{
    void *address;
    return alloc(MIB, 3, NULL, &address);
}

static unsigned alloc_alignment_4096(void)
{
    void *address;
    return alloc(MIB, 4096, NULL, &address);
}

static unsigned alloc_larger_than_max(void)
{
    void *address;
    return alloc(properties().maxMemAllocSize + 1, 0, NULL, &address);
}

static const ze_relaxed_allocation_limits_exp_desc_t relaxed = {
    .stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC,
    .flags = ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE,
};

static unsigned alloc_larger_than_the_device_relaxed(void)
{
    ze_device_memory_properties_t memory = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES };
    uint32_t count = 1;
    void *address;
    must(zeDeviceGetMemoryProperties(devices[0], &count, &memory));
    return alloc(2 * memory.totalSize, 0, &relaxed, &address);
}

static unsigned host_alloc_of_nothing(void)
{
    const ze_host_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
    void *address;
    return zeMemAllocHost(context, &desc, 0, 0, &address);
}

static unsigned host_alloc_larger_than_max(void)
{
    const ze_host_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
    void *address;
    return zeMemAllocHost(context, &desc, properties().maxMemAllocSize + 1, 0, &address);
}

static unsigned free_of_host_memory(void)
{
    static char host[16];
    return zeMemFree(context, host);
}

static unsigned free_inside(void)
{
    char *address = device_memory(MIB);
    return zeMemFree(context, address + 4096);
}

static unsigned free_twice(void)
{
    void *address = device_memory(MIB);
    must(zeMemFree(context, address));
    return zeMemFree(context, address);
}

static unsigned free_in_another_context(void)
{
    return zeMemFree(other_context(), device_memory(MIB));
}

static unsigned free_blocking(void *address)
{
    const ze_memory_free_ext_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC,
        .freePolicy = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE,
    };
    return zeMemFreeExt(context, &desc, address);
}

static unsigned free_blocking_once(void)
{
    return free_blocking(device_memory(MIB));
}

static unsigned free_blocking_twice(void)
{
    void *address = device_memory(MIB);
    must((ze_result_t)free_blocking(address));
    return free_blocking(address);
}

static unsigned free_policies_are_reported(void)
{
    ze_driver_memory_free_ext_properties_t freeing = {
        .stype = ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES,
    };
    ze_driver_properties_t vendor = {
        .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES,
        .pNext = &freeing,
    };
    must(zeDriverGetProperties(driver, &vendor));
    return freeing.freePolicies & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE;
}

/* Error codes of the second call: 0x10 more than the type that an address has. */
static unsigned type_of(ze_context_handle_t asked, const void *address)
{
    ze_memory_allocation_properties_t memory = {
        .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
    };
    ze_device_handle_t owner = NULL;
    must(zeMemGetAllocProperties(asked, address, &memory, &owner));
    return 0x10U + memory.type;
}

static unsigned type_of_host_memory(void)
{
    static char host[16];
    return type_of(context, host);
}

static unsigned type_of_device_memory(void)
{
    return type_of(context, device_memory(MIB));
}

static unsigned type_in_another_context(void)
{
    return type_of(other_context(), device_memory(MIB));
}

static unsigned range_of_host_memory(void)
{
    static char host[16];
    void *base;
    size_t size;
    return zeMemGetAddressRange(context, host, &base, &size);
}

static unsigned range_size_of_one_byte(void)
{
    void *base;
    size_t size;
    must(zeMemGetAddressRange(context, device_memory(1), &base, &size));
    return (unsigned)size;
}

static unsigned alignment_of_one_byte(void)
{
    return (unsigned)((uintptr_t)device_memory(1) & 0xFFF);
}

static unsigned resident(void)
{
    return zeContextMakeMemoryResident(context, devices[0], device_memory(MIB), MIB);
}

static unsigned resident_twice(void)
{
    void *address = device_memory(MIB);
    must(zeContextMakeMemoryResident(context, devices[0], address, MIB));
    return zeContextMakeMemoryResident(context, devices[0], address, MIB);
}

static unsigned resident_of_host_memory(void)
{
    static char host[16];
    return zeContextMakeMemoryResident(context, devices[0], host, sizeof host);
}

static unsigned resident_of_too_much(void)
{
    return zeContextMakeMemoryResident(context, devices[0], device_memory(MIB), 64 * MIB);
}

/* --- virtual memory ---------------------------------------------------------------------------- */

static size_t page_size(size_t size)
{
    size_t page = 0;
    must(zeVirtualMemQueryPageSize(context, devices[0], size, &page));
    return page;
}

static unsigned page_size_of_4k(void)
{
    return (unsigned)page_size(4 * KIB);
}

static unsigned page_size_of_2m(void)
{
    return (unsigned)page_size(2 * MIB);
}

static unsigned page_size_of_1g(void)
{
    return (unsigned)page_size(1024 * MIB);
}

static unsigned reserve_of_nothing(void)
{
    void *address;
    return zeVirtualMemReserve(context, NULL, 0, &address);
}

static unsigned reserve_of_one_byte(void)
{
    void *address;
    return zeVirtualMemReserve(context, NULL, 1, &address);
}

static unsigned reserve_of_too_much(void)
{
    void *address;
    return zeVirtualMemReserve(context, NULL, (size_t)1 << 62, &address);
}

static char *range(size_t size)
{
    void *address = NULL;
    must(zeVirtualMemReserve(context, NULL, size, &address));
    return address;
}

static unsigned free_range_of_another_size(void)
{
    return zeVirtualMemFree(context, range(4 * MIB), 2 * MIB);
}

static unsigned free_range_inside(void)
{
    return zeVirtualMemFree(context, range(4 * MIB) + 2 * MIB, 2 * MIB);
}

static unsigned free_range_twice(void)
{
    char *address = range(4 * MIB);
    must(zeVirtualMemFree(context, address, 4 * MIB));
    return zeVirtualMemFree(context, address, 4 * MIB);
}

static ze_result_t create_physical(size_t size, ze_physical_mem_handle_t *physical)
{
    ze_physical_mem_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, .size = size };
    return zePhysicalMemCreate(context, devices[0], &desc, physical);
}

static ze_physical_mem_handle_t physical_of(size_t size)
{
    ze_physical_mem_handle_t physical;
    must(create_physical(size, &physical));
    return physical;
}

static unsigned physical_of_nothing(void)
{
    ze_physical_mem_handle_t physical;
    return create_physical(0, &physical);
}

static unsigned physical_of_one_byte(void)
{
    ze_physical_mem_handle_t physical;
    return create_physical(1, &physical);
}

static unsigned destroy_physical_twice(void)
{
    ze_physical_mem_handle_t physical = physical_of(2 * MIB);
    must(zePhysicalMemDestroy(context, physical));
    return zePhysicalMemDestroy(context, physical);
}

static ze_result_t map(void *address, size_t size, ze_physical_mem_handle_t physical)
{
    return zeVirtualMemMap(context, address, size, physical, 0,
                           ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
}

static unsigned map_once(void)
{
    return map(range(4 * MIB), 2 * MIB, physical_of(2 * MIB));
}

static unsigned map_at_an_odd_address(void)
{
    return map(range(4 * MIB) + 4096, 2 * MIB, physical_of(2 * MIB));
}

static unsigned map_of_an_odd_size(void)
{
    return map(range(4 * MIB), 2 * MIB + 4096, physical_of(4 * MIB));
}

static unsigned map_outside_of_ranges(void)
{
    char *address = range(2 * MIB);
    return map(address + 2 * MIB, 2 * MIB, physical_of(2 * MIB));
}

static unsigned map_a_second_time(void)
{
    char *address = range(4 * MIB);
    ze_physical_mem_handle_t physical = physical_of(2 * MIB);
    must(map(address, 2 * MIB, physical));
    return map(address + 2 * MIB, 2 * MIB, physical);
}

static unsigned map_where_something_is_mapped(void)
{
    char *address = range(4 * MIB);
    must(map(address, 2 * MIB, physical_of(2 * MIB)));
    return map(address, 2 * MIB, physical_of(2 * MIB));
}

static unsigned unmap_where_nothing_is_mapped(void)
{
    return zeVirtualMemUnmap(context, range(4 * MIB), 2 * MIB);
}

/* --- lists and events -------------------------------------------------------------------------- */

static ze_result_t create_list(uint32_t ordinal, ze_command_list_handle_t *list)
{
    const ze_command_queue_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        .ordinal = ordinal,
        .flags = 1 << 1, /* in order, newer than the headers */
        .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
    };
    return zeCommandListCreateImmediate(context, devices[0], &desc, list);
}

static unsigned list_of_no_engines(void)
{
    ze_command_list_handle_t list = NULL;
    return create_list(99, &list);
}

/* Of engines that compute and copy. */
static ze_command_list_handle_t make_list(void)
{
    ze_command_queue_group_properties_t groups[16] = { 0 };
    uint32_t count = 16, i = 0;
    ze_command_list_handle_t list = NULL;
    must(zeDeviceGetCommandQueueGroupProperties(devices[0], &count, groups));
    while (i < count && (groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) == 0)
        i++;
    must(create_list(i, &list));
    return list;
}

static ze_result_t create_pool(uint32_t count, ze_event_pool_handle_t *pool)
{
    const ze_event_pool_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
        .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
        .count = count,
    };
    return zeEventPoolCreate(context, &desc, 1, devices, pool);
}

static unsigned pool_of_nothing(void)
{
    ze_event_pool_handle_t pool;
    return create_pool(0, &pool);
}

static ze_result_t create_event(uint32_t index, ze_event_handle_t *event)
{
    const ze_event_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
        .index = index,
        .signal = ZE_EVENT_SCOPE_FLAG_HOST,
    };
    ze_event_pool_handle_t pool;
    must(create_pool(2, &pool));
    return zeEventCreate(pool, &desc, event);
}

static unsigned event_beyond_the_pool(void)
{
    ze_event_handle_t event;
    return create_event(2, &event);
}

static ze_event_handle_t make_event(void)
{
    ze_event_handle_t event;
    must(create_event(0, &event));
    return event;
}

static unsigned query_of_a_new_event(void)
{
    return zeEventQueryStatus(make_event());
}

static unsigned query_after_the_host_signals(void)
{
    ze_event_handle_t event = make_event();
    must(zeEventHostSignal(event));
    return zeEventQueryStatus(event);
}

static unsigned query_after_a_reset(void)
{
    ze_event_handle_t event = make_event();
    must(zeEventHostSignal(event));
    must(zeEventHostReset(event));
    return zeEventQueryStatus(event);
}

static unsigned barrier(void)
{
    return zeCommandListAppendBarrier(make_list(), make_event(), 0, NULL);
}

static unsigned fill_of_nothing(void)
{
    const unsigned char value = 1;
    return zeCommandListAppendMemoryFill(make_list(), device_memory(MIB), &value, 1, 0, NULL, 0,
                                         NULL);
}

static unsigned copy_of_nothing(void)
{
    char *address = device_memory(MIB);
    return zeCommandListAppendMemoryCopy(make_list(), address, address + 4096, 0, NULL, 0, NULL);
}

static unsigned copy_from_host_memory(void)
{
    static char host[64];
    return zeCommandListAppendMemoryCopy(make_list(), device_memory(MIB), host, sizeof host, NULL,
                                         0, NULL);
}

/* --- all of them ------------------------------------------------------------------------------- */

#define CASES(X)                            \
    X(alloc_of_nothing)                     \
    X(alloc_alignment_3)                    \
    X(alloc_alignment_4096)                 \
    X(alloc_larger_than_max)                \
    X(alloc_larger_than_the_device_relaxed) \
    X(host_alloc_of_nothing)                \
    X(host_alloc_larger_than_max)           \
    X(free_of_host_memory)                  \
    X(free_inside)                          \
    X(free_twice)                           \
    X(free_in_another_context)              \
    X(free_policies_are_reported)           \
    X(free_blocking_once)                   \
    X(free_blocking_twice)                  \
    X(type_of_host_memory)                  \
    X(type_of_device_memory)                \
    X(type_in_another_context)              \
    X(range_of_host_memory)                 \
    X(range_size_of_one_byte)               \
    X(alignment_of_one_byte)                \
    X(resident)                             \
    X(resident_twice)                       \
    X(resident_of_host_memory)              \
    X(resident_of_too_much)                 \
    X(page_size_of_4k)                      \
    X(page_size_of_2m)                      \
    X(page_size_of_1g)                      \
    X(reserve_of_nothing)                   \
    X(reserve_of_one_byte)                  \
    X(reserve_of_too_much)                  \
    X(free_range_of_another_size)           \
    X(free_range_inside)                    \
    X(free_range_twice)                     \
    X(physical_of_nothing)                  \
    X(physical_of_one_byte)                 \
    X(destroy_physical_twice)               \
    X(map_once)                             \
    X(map_at_an_odd_address)                \
    X(map_of_an_odd_size)                   \
    X(map_outside_of_ranges)                \
    X(map_a_second_time)                    \
    X(map_where_something_is_mapped)        \
    X(unmap_where_nothing_is_mapped)        \
    X(list_of_no_engines)                   \
    X(pool_of_nothing)                      \
    X(event_beyond_the_pool)                \
    X(query_of_a_new_event)                 \
    X(query_after_the_host_signals)         \
    X(query_after_a_reset)                  \
    X(barrier)                              \
    X(fill_of_nothing)                      \
    X(copy_of_nothing)                      \
    X(copy_from_host_memory)

static const struct {
    const char *name;
    unsigned (*ask)(void);
} cases[] = {
#define CASE(name) { #name, name },
    CASES(CASE)
#undef CASE
};

static void ask(size_t i)
{
    printf("%s: ", cases[i].name);
    fflush(stdout);
    begin();
    printf("0x%x\n", cases[i].ask());
    fflush(stdout);
    _exit(EXIT_SUCCESS);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pid_t child = fork();
        if (child < 0) return EXIT_FAILURE;
        if (child == 0) ask(i);
        int ended;
        if (waitpid(child, &ended, 0) != child) return EXIT_FAILURE;
        if (WIFSIGNALED(ended)) {
            printf("signal %d\n", WTERMSIG(ended));
            fflush(stdout);
        }
    }
    return EXIT_SUCCESS;
}
