/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_program: what programs do with contexts, and with what CUDA has alone. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../preload/run_program.h"

/* The driver's answer without a context. */
static void no_context(void)
{
    address x = 99;
    EXPECT(vendor.context_set(NULL), ==, 0);
    EXPECT(vendor.alloc(&x, 100), ==, 201);
    EXPECT(x, ==, 99);
}

/* libgomp gets the range of its allocation: see gomp_plugin.c. */
static void gomp(void)
{
    void *plugin = dlopen(getenv("GOMP_PLUGIN"), RTLD_NOW);
    EXPECT(plugin, !=, NULL);
    int (*plugin_range)(address *, size_t *, address);
    void *found = dlsym(plugin, "plugin_range");
    memcpy(&plugin_range, &found, sizeof found);
    address x = alloc(KIB), y = alloc(3000), base = 0;
    size_t size_bytes = 0;
    EXPECT(plugin_range(&base, &size_bytes, y), ==, 0);
    EXPECT(base, ==, y);
    EXPECT(size_bytes, ==, 3000);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.free(y), ==, 0);
    address managed = 0;
    EXPECT(vendor.alloc_managed(&managed, MIB, 1), ==, 0);
    EXPECT(plugin_range(&base, &size_bytes, managed), ==, 0);
    EXPECT(base, ==, managed);
    EXPECT(vendor.free(managed), ==, 0);
}

struct plugin {
    int (*alloc)(address *, size_t);
    int (*free)(address);
};

static struct plugin open_plugin(int mode)
{
    struct plugin plugin;
    void *library = dlopen(getenv("LINKED_PLUGIN"), mode);
    EXPECT(library, !=, NULL);
    void *alloc_found = dlsym(library, "plugin_alloc"), *free_found = dlsym(library, "plugin_free");
    memcpy(&plugin.alloc, &alloc_found, sizeof alloc_found);
    memcpy(&plugin.free, &free_found, sizeof free_found);
    return plugin;
}

static void plugin(void)
{
    struct plugin plugin = open_plugin(RTLD_NOW);
    address x = alloc(KIB), y = 0;
    EXPECT(plugin.alloc(&y, KIB), ==, 0);
    EXPECT(vendor_allocs(), ==, 1);
    EXPECT(plugin.free(x), ==, 0);
    EXPECT(vendor.free(y), ==, 0);
    EXPECT(sim_call_count("free"), ==, 0);
}

/* It has the driver's functions. A pool's memory is nothing that the driver could free. */
static void deepbind(void)
{
    struct plugin plugin = open_plugin(RTLD_NOW | RTLD_DEEPBIND);
    address x = alloc(KIB), y = 0;
    EXPECT(plugin.alloc(&y, KIB), ==, 0);
    EXPECT(vendor_allocs(), ==, 2);
    EXPECT(vendor.free(y), ==, 0);
    EXPECT(sim_call_count("free"), ==, 1);
    address interior = alloc(KIB);
    EXPECT(plugin.free(interior), !=, 0);
    EXPECT(vendor.free(interior), ==, 0);
    EXPECT(vendor.free(x), ==, 0);
}

static void contexts(void)
{
    void *first = NULL, *second = NULL;
    EXPECT(vendor.context_create(&first, 0, 0), ==, 0);
    address x = alloc(MIB);
    EXPECT(vendor.context_create(&second, 0, 1), ==, 0);
    address y = alloc(MIB);
    EXPECT(vendor_allocs(), ==, is_lean() ? 0 : 2);
    EXPECT(vendor.free(x), ==, 0); /* whichever context is current */
    EXPECT(vendor.context_set(NULL), ==, 0);
    EXPECT(vendor.free(y), ==, 0);
    EXPECT(sim_call_count("free"), ==, 0);
    EXPECT(vendor.context_set(second), ==, 0);
    y = alloc(MIB);
    EXPECT(vendor.context_destroy(second), ==, 0);
    EXPECT(vendor.free(y), ==, 1);
    EXPECT(vendor.context_destroy(second), ==, 201);
    EXPECT(vendor.context_set(first), ==, 0);
    EXPECT(vendor.free(alloc(MIB)), ==, 0);
    EXPECT(vendor.context_destroy(first), ==, 0);
    EXPECT(sim_alive(SIM_THING_MEMORY), ==, 0);
    for (int i = 0; i < 200; i++) { /* more than there are slots, one after the other */
        EXPECT(vendor.context_create(&first, 0, 0), ==, 0);
        (void)alloc(KIB);
        EXPECT(vendor.context_destroy(first), ==, 0);
    }
    EXPECT(sim_call_count("alloc_async"), ==, 0);
}

/* TARN_RUN_SYNC_FREES is 1: the host sees what was submitted to the context before the free. */
static void sync_frees(void)
{
    void *stream = new_stream(), *second = NULL, *graph = NULL;
    address x = alloc(MIB), y = alloc(MIB), managed = 0;
    unsigned char seen = 0;
    EXPECT(vendor.context_create(&second, 0, 1), ==, 0);
    address other = alloc(MIB);
    EXPECT(vendor.context_set(program_primary), ==, 0);
    EXPECT(vendor.fill(x, 3, MIB, stream), ==, 0);
    EXPECT(vendor.free(y), ==, 0);
    EXPECT(sim_peek(&seen, (void *)x, 1), ==, true);
    EXPECT(seen, ==, 3);
    sim_forget_calls();
    EXPECT(vendor.free(other), ==, 0); /* the wait is for its context */
    EXPECT(sim_call_count("synchronize"), ==, 1);
    EXPECT(vendor.free_async(x, stream), ==, 0);
    EXPECT(vendor.alloc_managed(&managed, MIB, 1), ==, 0);
    EXPECT(vendor.free(managed), ==, 0); /* the driver's free waits itself */
    x = alloc(MIB);
    EXPECT(vendor.begin_capture(stream, 2), ==, 0);
    EXPECT(vendor.free(x), ==, 0); /* held */
    EXPECT(vendor.end_capture(stream, &graph), ==, 0);
    EXPECT(graph, !=, NULL);
    EXPECT(sim_call_count("synchronize"), ==, 1);
    EXPECT(vendor.stream_destroy(stream), ==, 0);
}

/* Memory of a lean pool does not end with its context: see TARN_PRESET in the test's environment. */
static void lean_ends(void)
{
    void *context = NULL;
    EXPECT(vendor.context_create(&context, 0, 0), ==, 0);
    EXPECT(vendor.free(alloc(6 * GIB)), ==, 0);
    EXPECT(vendor.context_destroy(context), ==, 0);
    EXPECT(vendor.context_set(program_primary), ==, 0);
    EXPECT(vendor.free(alloc(7 * GIB)), ==, 0);
    EXPECT(vendor.primary_release(0), ==, 0);
    EXPECT(vendor.primary_retain(&program_primary, 0), ==, 0);
    EXPECT(vendor.free(alloc(7 * GIB)), ==, 0);
}

/* A context that ends leaves the capture of another one valid. */
static void ends_in_capture(void)
{
    void *second = NULL, *stream = new_stream(), *graph = NULL;
    address x = alloc(MIB);
    EXPECT(vendor.context_create(&second, 0, 1), ==, 0);
    EXPECT(vendor.free(alloc(MIB)), ==, 0);
    EXPECT(vendor.context_set(program_primary), ==, 0);
    EXPECT(vendor.begin_capture(stream, 2), ==, 0);
    EXPECT(vendor.context_destroy(second), ==, 0);
    EXPECT(vendor.end_capture(stream, &graph), ==, 0);
    EXPECT(graph, !=, NULL);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.stream_destroy(stream), ==, 0);
}

/* A green context has no pool, since other contexts use its memory. */
static void green(void)
{
    void *context = NULL, *green = NULL;
    EXPECT(vendor.context_create(&context, 0, 0), ==, 0);
    EXPECT(vendor.from_green(&green, context), ==, 0);
    address x = alloc(KIB);
    EXPECT(vendor_allocs(), ==, 1);
    EXPECT(vendor.context_set(program_primary), ==, 0);
    address y = alloc(KIB);
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(sim_call_count("free"), ==, 1);
    EXPECT(vendor.free(y), ==, 0);
    EXPECT(sim_call_count("free"), ==, 1);
}

/* Work of another device that uses the memory is over before the memory is used again. */
static void peers(void)
{
    void *second = NULL;
    address x = alloc(MIB);
    EXPECT(vendor.context_create(&second, 0, 1), ==, 0);
    void *stream = new_stream();
    EXPECT(vendor.enable_peer(program_primary, 0), ==, 0);
    for (int i = 0; i < 20; i++) {
        unsigned char seen = 0;
        address used = x;
        EXPECT(vendor.context_set(second), ==, 0);
        EXPECT(vendor.fill(x, (unsigned char)(i + 1), MIB, stream), ==, 0);
        EXPECT(vendor.context_set(program_primary), ==, 0);
        EXPECT(vendor.free(x), ==, 0);
        EXPECT(sim_peek(&seen, (void *)used, 1), ==, true);
        EXPECT(seen, ==, i + 1);
        x = alloc(MIB);
    }
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.context_destroy(second), ==, 0);
    sim_forget_calls();
    EXPECT(vendor.free(alloc(MIB)), ==, 0);
    EXPECT(sim_call_count("push_context"), ==, 0);
}

/* A context that the driver refuses to end keeps its pool. */
static void refused_end(void)
{
    address x = alloc(MIB);
    sim_fail_calls("reset_primary", 1, 1, SIM_STATUS_UNKNOWN);
    EXPECT(vendor.primary_reset(0), ==, 999);
    size_t before = vendor_allocs();
    EXPECT(vendor.free(x), ==, 0);
    EXPECT(vendor.free(alloc(MIB)), ==, 0);
    EXPECT(vendor_allocs(), ==, before);
}

static void primary_context(void)
{
    address x = alloc(MIB);
    void *again;
    EXPECT(vendor.primary_reset(0), ==, 0);
    EXPECT(sim_alive(SIM_THING_MEMORY), ==, 0);
    EXPECT(vendor.free(x), ==, 1);
    x = alloc(MIB);
    EXPECT(vendor.primary_retain(&again, 0), ==, 0);
    EXPECT(vendor.primary_release(0), ==, 0);
    EXPECT(vendor.free(x), ==, 0); /* the context is still retained once */
    x = alloc(MIB);
    EXPECT(vendor.primary_release(0), ==, 0);
    EXPECT(sim_alive(SIM_THING_MEMORY), ==, 0);
    EXPECT(vendor.primary_retain(&program_primary, 0), ==, 0);
    EXPECT(vendor.free(alloc(MIB)), ==, 0);
}

const struct scenario program_scenarios[] = {
    { "no_context", no_context },
    { "gomp", gomp },
    { "plugin", plugin },
    { "deepbind", deepbind },
    { "contexts", contexts },
    { "sync_frees", sync_frees },
    { "lean_ends", lean_ends },
    { "ends_in_capture", ends_in_capture },
    { "green", green },
    { "peers", peers },
    { "refused_end", refused_end },
    { "primary_context", primary_context },
    { NULL, NULL },
};
