/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hip_program: what programs do with devices, and with what HIP has alone. */
#include "../preload/run_program.h"

#define LEFT_DEVICE 0

/* Each device has a pool. Memory is freed whichever device is current. */
static void devices(void)
{
    int current = 7;
    address x = alloc(MIB);
    EXPECT(vendor.set_device(1), ==, 0);
    address y = alloc(MIB);
    EXPECT(vendor_allocs(), ==, is_lean() ? 0 : 2);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.get_device(&current), ==, 0);
    EXPECT(current, ==, 1);
    EXPECT(vendor.set_device(LEFT_DEVICE), ==, 0);
    EXPECT(vendor.free(y), ==, 0);
    EXPECT(vendor.free(y), ==, 1);
    EXPECT(vendor.get_device(&current), ==, 0);
    EXPECT(current, ==, LEFT_DEVICE);
    EXPECT(sim_call_count("free"), ==, 0);
    x = alloc(MIB);
    EXPECT(vendor_allocs(), ==, is_lean() ? 0 : 2);
    EXPECT(vendor.free(x), ==, 0);
}

/* The pool ends with its memory. Another device's stays. */
static void reset(void)
{
    address x = alloc(MIB);
    EXPECT(vendor.set_device(1), ==, 0);
    address y = alloc(MIB);
    EXPECT(vendor.set_device(LEFT_DEVICE), ==, 0);
    EXPECT(vendor.reset_device(), ==, 0);
    EXPECT(sim_alive(SIM_THING_MEMORY), ==, 1);
    EXPECT(vendor.free(x), ==, 1);
    EXPECT(vendor.free(y), ==, 0);
    EXPECT(vendor.free(alloc(MIB)), ==, 0);
    EXPECT(vendor_allocs(), ==, 3);
}

/* A device that the runtime refuses to reset keeps its pool. */
static void refused_end(void)
{
    address x = alloc(MIB);
    sim_fail_calls("reset_device", 1, 1, SIM_STATUS_UNKNOWN);
    EXPECT(vendor.reset_device(), ==, 999);
    size_t before = vendor_allocs();
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.free(alloc(MIB)), ==, 0);
    EXPECT(vendor_allocs(), ==, before);
}

/* Work of another device that uses the memory is over before the memory is used again. */
static void peers(void)
{
    address x = alloc(MIB);
    EXPECT(vendor.set_device(1), ==, 0);
    void *stream = new_stream();
    EXPECT(vendor.enable_peer(LEFT_DEVICE, 0), ==, 0);
    for (int i = 0; i < 20; i++) {
        unsigned char seen = 0;
        address used = x;
        EXPECT(vendor.set_device(1), ==, 0);
        EXPECT(vendor.fill(x, (unsigned char)(i + 1), MIB, stream), ==, 0);
        EXPECT(vendor.set_device(LEFT_DEVICE), ==, 0);
        EXPECT(vendor.free(x), ==, 0);
        EXPECT(sim_peek(&seen, (void *)used, 1), ==, true);
        EXPECT(seen, ==, i + 1);
        x = alloc(MIB);
    }
    EXPECT(vendor.free(x), ==, 0);
}

/* HIP's functions for memory of other kinds, as far as CUDA's driver does not have them. */
static void kinds(void)
{
    address x = 0;
    size_t pitch = 0;
    void *array = NULL;
    struct program_extent extent = { 100, 20, 3 };
    struct program_pitched pitched = { 0 };
    EXPECT(vendor.alloc_with_flags(&x, MIB, 1), ==, 0);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.alloc_pitch(&x, &pitch, 100, 20), ==, 0);
    EXPECT(pitch, ==, 512);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.alloc_3d(&pitched, extent), ==, 0);
    EXPECT(pitched.pitch, ==, 512);
    EXPECT(pitched.height, ==, 20);
    EXPECT(vendor.free((address)pitched.address), ==, 0);
    EXPECT(vendor.alloc_array(&array, NULL, 100, 0, 0), ==, 0);
    EXPECT(vendor.free((address)array), ==, 0);
    EXPECT(vendor.alloc_array_3d(&array, NULL, extent, 0), ==, 0);
    EXPECT(vendor.free((address)array), ==, 0);
    EXPECT(vendor.alloc_mipmapped_array(&array, NULL, extent, 2, 0), ==, 0);
    EXPECT(vendor.free((address)array), ==, 0);
    EXPECT(vendor_allocs(), ==, 0);
    EXPECT(sim_call_count("free"), ==, 6);
}

/* The size is the allocation's, in a pool and out of it. */
static void size(void)
{
    address x = alloc(3000), y = 0;
    size_t size_bytes = 0;
    EXPECT(vendor.size(x, &size_bytes), ==, 0);
    EXPECT(size_bytes, ==, 3000);
    EXPECT(vendor.alloc_managed(&y, MIB, 1), ==, 0);
    EXPECT(vendor.size(y, &size_bytes), ==, 0);
    EXPECT(size_bytes, ==, MIB);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.free(y), ==, 0);
    EXPECT(vendor.size(12345, &size_bytes), ==, 1);
}

/* The runtime keeps an error until it is asked. A program that looks for those of its kernels does not find a pool's. */
static void last_error(void)
{
    address x = 0;
    sim_fail_calls("alloc", 1, 1, SIM_STATUS_OUT_OF_MEMORY);
    EXPECT(vendor.alloc(&x, MIB), ==, 0); /* the pool lacks memory, and then the runtime has some */
    EXPECT(sim_fault_count(), ==, 1);
    EXPECT(vendor.last_error(), ==, 0);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.last_error(), ==, 0);
    EXPECT(vendor.alloc(&x, 100 * GIB), ==, 2);
    EXPECT(vendor.alloc(&x, MIB), ==, 0);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.last_error(), ==, 2); /* the runtime's own, which calls that succeed leave */
}

const struct scenario program_scenarios[] = {
    { "devices", devices }, { "reset", reset }, { "refused_end", refused_end }, { "peers", peers },
    { "kinds", kinds },     { "size", size },   { "last_error", last_error },   { NULL, NULL },
};
