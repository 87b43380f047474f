/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lookup_checks: checks that programs of either vendor make of look-ups. A check that fails ends the program. */
#ifndef LOOKUP_CHECKS_H
#define LOOKUP_CHECKS_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                           \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

static inline void *open_library(const char *name)
{
    void *library = dlopen(name, RTLD_NOW);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    EXPECT(library);
    return library;
}

static inline void *open_beside(const char *folder, const char *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return open_library(path);
}

static inline void expect_none(void *library, const char *symbol)
{
    EXPECT(!dlsym(library, symbol));
    EXPECT(dlerror());
}

/* The preloaded library has the vendor's symbols, but exists without it. */
static inline void expect_nothing_without(const char *vendor_library, const char *symbol)
{
    EXPECT(!dlopen(vendor_library, RTLD_NOW | RTLD_NOLOAD));
    (void)dlerror();
    expect_none(RTLD_DEFAULT, symbol);
    expect_none(dlopen(NULL, RTLD_NOW), symbol);
}

/* Another library may have a function with the name of one of the vendor's. */
static inline void expect_answer(void *library, const char *symbol, int answer)
{
    int (*function)(void);
    void *found = dlsym(library, symbol);
    EXPECT(found);
    memcpy(&function, &found, sizeof found);
    EXPECT(function() == answer);
}

#endif
