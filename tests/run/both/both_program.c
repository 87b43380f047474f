/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* both_program: a process that uses CUDA and HIP, each by dlsym. Each has its own pool. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sim/sim_control.h"
#include "../preload/lookup_checks.h"
#include "../preload/lookup_library.h"

#define SIZE_BYTES ((size_t)1 << 20)
#define COUNT      20

typedef int (*alloc_function)(uintptr_t *, size_t);
typedef int (*free_function)(uintptr_t);

/* Writes the function to the pointer that function_out points to. */
static void find(void *library, const char *symbol, void *function_out)
{
    void *found = dlsym(library, symbol);
    EXPECT(found);
    memcpy(function_out, &found, sizeof found);
}

static void begin_cuda(void *library)
{
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*set)(void *);
    void *context;
    find(library, "cuInit", &init);
    find(library, "cuDevicePrimaryCtxRetain", &retain);
    find(library, "cuCtxSetCurrent", &set);
    EXPECT(init(0) == 0);
    EXPECT(retain(&context, 0) == 0);
    EXPECT(set(context) == 0);
}

/* Allocations of the vendor's until the pools have begun: two. */
static void use(alloc_function cuda_alloc, free_function cuda_free, alloc_function hip_alloc,
                free_function hip_free)
{
    uintptr_t cuda[COUNT], hip[COUNT];
    for (int i = 0; i < COUNT; i++) {
        EXPECT(cuda_alloc(&cuda[i], SIZE_BYTES) == 0);
        EXPECT(hip_alloc(&hip[i], SIZE_BYTES) == 0);
    }
    size_t vendor_allocs = sim_call_count("alloc");
    for (int i = 0; i < COUNT; i++) {
        EXPECT(cuda_free(cuda[i]) == 0);
        EXPECT(hip_free(hip[i]) == 0);
    }
    EXPECT(sim_call_count("free") == 0);
    for (int i = 0; i < COUNT; i++) {
        EXPECT(cuda_alloc(&cuda[i], SIZE_BYTES) == 0);
        EXPECT(hip_alloc(&hip[i], SIZE_BYTES) == 0);
    }
    EXPECT(sim_call_count("alloc") == vendor_allocs);
    /* A vendor cannot free the other's memory. The simulated vendors share theirs, but no piece begins at hip[1]. */
    EXPECT(cuda_free(hip[1]) != 0);
    for (int i = 0; i < COUNT; i++) {
        EXPECT(cuda_free(cuda[i]) == 0);
        EXPECT(hip_free(hip[i]) == 0);
    }
}

int main(void)
{
    alloc_function cuda_alloc, hip_alloc;
    free_function cuda_free, hip_free;
    EXPECT(next_of_library() == NULL); /* the caller is known behind both libraries */
    void *cuda = open_library("libcuda.so.1"), *hip = open_library("libamdhip64.so.6");
    find(cuda, "cuMemAlloc_v2", &cuda_alloc);
    find(cuda, "cuMemFree_v2", &cuda_free);
    find(hip, "hipMalloc", &hip_alloc);
    find(hip, "hipFree", &hip_free);
    begin_cuda(cuda);
    use(cuda_alloc, cuda_free, hip_alloc, hip_free);
    EXPECT(sim_misuse_count() == 0);
    return 0;
}
