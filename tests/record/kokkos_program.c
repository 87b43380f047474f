/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kokkos_program: loads a library of Kokkos Tools and calls it, as Kokkos does, and goes to another folder meanwhile. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct SpaceHandle {
    char name[64];
};

typedef void init_function(int load_number, uint64_t version, uint32_t device_count, void *devices);
typedef void end_function(void);
typedef void data_function(struct SpaceHandle space, const char *label, const void *address,
                           uint64_t size_bytes);

static void *tool;

static void find(const char *name, void *function_out)
{
    void *symbol = dlsym(tool, name);
    if (!symbol) exit(1);
    memcpy(function_out, &symbol, sizeof symbol);
}

int main(void)
{
    const struct SpaceHandle device = { "Cuda" }, host = { "Host" };
    init_function *init;
    end_function *end;
    data_function *allocate, *deallocate;
    const char *path = getenv("KOKKOS_TOOLS_LIBS");
    tool = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (!tool) return 1;
    find("kokkosp_init_library", &init);
    find("kokkosp_finalize_library", &end);
    find("kokkosp_allocate_data", &allocate);
    find("kokkosp_deallocate_data", &deallocate);
    init(0, 20171029, 0, NULL);
    if (chdir("/") != 0) return 1;
    allocate(device, "coordinates", (void *)0x1000, 800);
    allocate(host, "coordinates_mirror", (void *)0x2000, 800);
    allocate(device, "a label of more than twenty-four letters", (void *)0x3000, 1600);
    allocate(device, "", (void *)0x4000, 8);
    deallocate(device, "coordinates", (void *)0x1000, 800);
    deallocate(host, "coordinates_mirror", (void *)0x2000, 800);
    end();
    return 0;
}
