/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * lookup_program: looks functions up in all ways, with libtarn_run_cuda.so preloaded. What is no function of the driver's
 * is found as without.
 *
 *     lookup_program FOLDER         the folder of the libraries beside it
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../preload/lookup_checks.h"
#include "../preload/lookup_library.h"

static void *driver;
static int (*get_address)(const char *, void **, int, uint64_t, int *);

static void *ask(const char *name, int version, uint64_t flags)
{
    void *found = NULL;
    int is_found = 7;
    EXPECT(get_address(name, &found, version, flags, &is_found) == 0);
    EXPECT(is_found == 0);
    return found;
}

/* Another library may have functions with these names. Its handle finds its own. */
static void expect_others_untouched(const char *folder)
{
    void *other = open_beside(folder, "libcudnn_like.so");
    expect_answer(other, "cuMemAlloc_v2", CUDNN_LIKE);
    expect_answer(other, "cuGetProcAddress_v2", CUDNN_LIKE);
    expect_none(other, "cuMemFree_v2");
}

static void expect_symbols(void)
{
    void *alloc = dlsym(driver, "cuMemAlloc_v2");
    EXPECT(alloc);
    EXPECT(dlsym(driver, "cuMemAlloc_v2") == alloc);
    EXPECT(dlvsym(driver, "cuMemAlloc_v2", "FAKE_1") == alloc);
    EXPECT(dlvsym(driver, "cuInit", "FAKE_1") == dlsym(driver, "cuInit"));
    EXPECT(!dlvsym(driver, "cuMemAlloc_v2", "FAKE_2"));
    EXPECT(dlerror());
    EXPECT(!dlsym(driver, "cuMemAlloc_v9"));
    EXPECT(dlerror());
    EXPECT(!dlerror());
    EXPECT(!dlsym(driver, ""));
    EXPECT(dlsym(RTLD_DEFAULT, "printf"));
    EXPECT(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
    Dl_info info;
    EXPECT(dladdr(alloc, &info) && strstr(info.dli_fname, "tarn_run_cuda"));
    EXPECT(dladdr(dlsym(driver, "cuInit"), &info) && strstr(info.dli_fname, "libcuda.so"));
}

static void expect_versions(void)
{
    void *found = &found;
    int is_found = 7;
    EXPECT(ask("cuMemAlloc", 13000, 0) == dlsym(driver, "cuMemAlloc_v2"));
    EXPECT(ask("cuMemAlloc", 2000, 0) == dlsym(driver, "cuMemAlloc"));
    EXPECT(ask("cuMemAlloc", 3010, 0) == dlsym(driver, "cuMemAlloc"));
    EXPECT(ask("cuMemAlloc", 3020, 0) == dlsym(driver, "cuMemAlloc_v2"));
    EXPECT(ask("cuMemAllocAsync", 12000, 0) == dlsym(driver, "cuMemAllocAsync"));
    EXPECT(ask("cuMemAllocAsync", 12000, 1) == dlsym(driver, "cuMemAllocAsync"));
    EXPECT(ask("cuMemAllocAsync", 12000, 2) == dlsym(driver, "cuMemAllocAsync_ptsz"));
    EXPECT(ask("cuStreamBeginCapture", 10000, 2) == dlsym(driver, "cuStreamBeginCapture_ptsz"));
    EXPECT(ask("cuStreamBeginCapture", 10010, 1) == dlsym(driver, "cuStreamBeginCapture_v2"));
    EXPECT(ask("cuGetProcAddress", 11030, 0) == dlsym(driver, "cuGetProcAddress"));
    EXPECT(ask("cuGetProcAddress", 12000, 0) == dlsym(driver, "cuGetProcAddress_v2"));
    EXPECT(get_address("cuMemAlloc", &found, 1000, 0, &is_found) == 500);
    EXPECT(!found && is_found == 1);
    EXPECT(get_address("cuMemAllocAsync", &found, 11010, 0, NULL) == 500);
    EXPECT(get_address("cuNothing", &found, 13000, 0, &is_found) == 500);
}

/* A later version may have another function under the name. Only the driver's symbol can tell that it has not. */
static void expect_unknown_version_untouched(void)
{
    Dl_info info;
    setenv("TARN_FAKE_DRIVER", "thunks", 1);
    EXPECT(ask("cuMemAlloc", 13000, 0) == dlsym(driver, "cuMemAlloc_v2"));
    EXPECT(dladdr(ask("cuMemAlloc", 14000, 0), &info) && strstr(info.dli_fname, "libcuda.so"));
    EXPECT(ask("cuMemFree", 14000, 0) == dlsym(driver, "cuMemFree_v2"));
}

int main(int argc, char **argv)
{
    EXPECT(argc == 2);
    expect_nothing_without("libcuda.so.1", "cuMemAlloc_v2");
    expect_others_untouched(argv[1]);
    EXPECT(next_of_library() ==
           NULL); /* the library is the last that has it; the program is not asked again */
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    EXPECT(driver);
    void *found = dlsym(driver, "cuGetProcAddress_v2");
    memcpy(&get_address, &found, sizeof found);
    expect_symbols();
    expect_versions();
    expect_unknown_version_untouched();
    expect_others_untouched(argv[1]);
    return 0;
}
