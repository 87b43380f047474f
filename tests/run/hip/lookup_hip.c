/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * lookup_hip: looks functions up in all ways, with libtarn_run_hip.so preloaded. What is no function of the runtime's is
 * found as without.
 *
 *     lookup_hip FOLDER         the folder of the libraries beside it
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../preload/lookup_checks.h"
#include "../preload/lookup_library.h"

typedef int (*entry_point)(const char *, void **, uint64_t, int *);
typedef int (*look_up)(const char *, void **, int, uint64_t, int *);

static void *runtime;

static look_up find_look_up(const char *symbol)
{
    look_up function;
    void *found = dlsym(runtime, symbol);
    EXPECT(found);
    memcpy(&function, &found, sizeof found);
    return function;
}

static void *ask(look_up function, const char *name)
{
    void *found = NULL;
    int status = 7;
    EXPECT(function(name, &found, 60300000, 0, &status) == 0);
    EXPECT(status == 0);
    return found;
}

static bool is_in(const void *address, const char *library)
{
    Dl_info info;
    return dladdr(address, &info) && strstr(info.dli_fname, library);
}

/* Another library may have functions with these names. Its handle finds its own. */
static void expect_others_untouched(const char *folder)
{
    void *other = open_beside(folder, "libhiprtc_like.so");
    expect_answer(other, "hipMalloc", HIPRTC_LIKE);
    expect_none(other, "hipFree");
}

static void expect_symbols(void)
{
    void *alloc = dlsym(runtime, "hipMalloc");
    EXPECT(is_in(alloc, "tarn_run_hip"));
    EXPECT(dlvsym(runtime, "hipMalloc", "hip_4.2") == alloc);
    EXPECT(dlvsym(runtime, "hipMallocAsync", "hip_5.1") == dlsym(runtime, "hipMallocAsync"));
    EXPECT(is_in(dlvsym(runtime, "hipInit", "hip_4.2"), "libamdhip64.so"));
    EXPECT(!dlvsym(runtime, "hipMalloc", "hip_9.9"));
    EXPECT(dlerror());
    EXPECT(is_in(dlsym(RTLD_DEFAULT, "hipMalloc"), "tarn_run_hip"));
    EXPECT(is_in(dlsym(runtime, "hipInit"), "libamdhip64.so"));
}

/* A form for per-thread default streams has a name of its own, and another look-up that finds it without. */
static void expect_look_ups(void)
{
    look_up usual = find_look_up("hipGetProcAddress"),
            of_thread = find_look_up("hipGetProcAddress_spt");
    void *found = NULL;
    int status = 7;
    EXPECT(ask(usual, "hipMalloc") == dlsym(runtime, "hipMalloc"));
    EXPECT(ask(of_thread, "hipMalloc") == dlsym(runtime, "hipMalloc"));
    EXPECT(ask(usual, "hipStreamBeginCapture") == dlsym(runtime, "hipStreamBeginCapture"));
    EXPECT(ask(usual, "hipStreamBeginCapture_spt") == dlsym(runtime, "hipStreamBeginCapture_spt"));
    EXPECT(ask(of_thread, "hipStreamBeginCapture") == dlsym(runtime, "hipStreamBeginCapture_spt"));
    EXPECT(is_in(ask(usual, "hipStreamBeginCapture_spt"), "tarn_run_hip"));
    EXPECT(is_in(ask(usual, "hipInit"), "libamdhip64.so"));
    EXPECT(usual("hipNothing", &found, 60300000, 0, &status) == 1);
    EXPECT(!found && status == 1);
}

static void expect_entry_point(const char *symbol, const char *name, const char *expected)
{
    entry_point function;
    void *answer = NULL, *found = dlsym(runtime, symbol);
    int status = 7;
    EXPECT(is_in(found, "tarn_run_hip"));
    memcpy(&function, &found, sizeof found);
    EXPECT(function(name, &answer, 0, &status) == 0);
    EXPECT(status == 0);
    EXPECT(answer && answer == dlsym(runtime, expected));
}

int main(int argc, char **argv)
{
    EXPECT(argc == 2);
    expect_nothing_without("libamdhip64.so.6", "hipMalloc");
    expect_others_untouched(argv[1]);
    EXPECT(next_of_library() == NULL); /* the library is the last that has it */
    runtime = dlopen("libamdhip64.so.6", RTLD_NOW);
    EXPECT(runtime);
    expect_symbols();
    expect_look_ups();
    expect_entry_point("hipGetDriverEntryPoint", "hipMalloc", "hipMalloc");
    expect_entry_point("hipGetDriverEntryPoint_spt", "hipStreamEndCapture",
                       "hipStreamEndCapture_spt");
    setenv("TARN_FAKE_DRIVER", "direct", 1);
    expect_look_ups();
    expect_others_untouched(argv[1]);
    return 0;
}
