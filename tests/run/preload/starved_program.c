/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * starved_program: each allocation of host memory by a library of tarn's fails once, in turn. The program still gets
 * memory of the device, from a pool or the vendor, and can free it.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sim/sim_control.h"
#include "program_calls.h"

#define EXPECT(condition)                                                                 \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: not so, with allocation %zu failing: %s\n", __FILE__, \
                    __LINE__, failing, #condition);                                       \
            _exit(1);                                                                     \
        }                                                                                 \
    } while (0)

/* --- an allocator that fails -------------------------------------------------------------------------- */

void *__libc_malloc(size_t size_bytes);
void *__libc_calloc(size_t count, size_t size_bytes);

static uintptr_t library_begin, library_end;
static size_t failing; /* the number of the allocation that fails; 0: none */
static size_t allocation_count;

static bool must_fail(const void *caller)
{
    if ((uintptr_t)caller < library_begin || (uintptr_t)caller >= library_end) return false;
    return failing != 0 && ++allocation_count == failing;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
void *malloc(size_t size_bytes)
{
    return must_fail(__builtin_return_address(0)) ? NULL : __libc_malloc(size_bytes);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
void *calloc(size_t count, size_t size_bytes)
{
    return must_fail(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size_bytes);
}

static int find_library(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    (void)bytes, (void)argument;
    if (!strstr(info->dlpi_name, "libtarn_run_")) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
        library_begin = info->dlpi_addr + part->p_vaddr;
        library_end = library_begin + part->p_memsz;
    }
    return 1;
}

/* --- the program -------------------------------------------------------------------------------------- */

#define BLOCKS 100

static void *stream;

/* Frees during a capture are held, which takes host memory. One that fails leaves the block allocated. */
static void free_in_capture(address *block)
{
    void *graph;
    EXPECT(vendor.begin_capture(stream, 2) == 0);
    sim_capture_exchange_mode(SIM_CAPTURE_MODE_RELAXED);
    if (vendor.free(*block) == 0) *block = 0;
    EXPECT(vendor.end_capture(stream, &graph) == 0);
}

static void work(void)
{
    address blocks[BLOCKS] = { 0 };
    EXPECT(vendor.stream_create(&stream, 1) == 0);
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t size_bytes = (i % 10 + 1) * 1000;
        int error = i % 2 ? vendor.alloc(&blocks[i], size_bytes)
                          : vendor.alloc_async(&blocks[i], size_bytes, stream);
        EXPECT(error == 0 && blocks[i]);
    }
    free_in_capture(&blocks[0]);
    for (size_t i = 0; i < BLOCKS; i++) {
        if (!blocks[i]) continue;
        int error = i % 3 ? vendor.free(blocks[i]) : vendor.free_async(blocks[i], stream);
        if (error != 0) EXPECT(vendor.free(blocks[i]) == 0);
    }
    EXPECT(vendor.stream_destroy(stream) == 0);
    EXPECT(program_reset() == 0);
    EXPECT(sim_alive(SIM_THING_MEMORY) == 0);
    EXPECT(sim_misuse_count() == 0);
}

int main(void)
{
    EXPECT(dl_iterate_phdr(find_library, NULL) == 1);
    EXPECT(program_calls_find("proc"));
    program_start();
    do {
        failing++;
        allocation_count = 0;
        work();
    } while (allocation_count >= failing);
    EXPECT(failing > 10); /* it has seen the library's allocations */
    return 0;
}
