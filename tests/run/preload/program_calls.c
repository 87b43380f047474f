/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program_calls: each of the ways. With PROGRAM_IS_LINKED the program links libcuda, and has that way alone. */
#include "program_calls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program_calls cuda;

#ifdef PROGRAM_IS_LINKED

#define DECLARE(field, symbol, name, has_form, parameters) extern int symbol parameters;
PROGRAM_CALLS(DECLARE)
#undef DECLARE

bool program_calls_find(const char *way)
{
#define SET(field, symbol, name, has_form, parameters) cuda.field = symbol;
    PROGRAM_CALLS(SET)
#undef SET
    return strcmp(way, "linked") == 0;
}

#else

static void *library;

static void *find(const char *symbol)
{
    void *found = dlsym(library, symbol);
    if (found) return found;
    fprintf(stderr, "no %s: %s\n", symbol, dlerror());
    exit(1);
}

static int (*get_address)(const char *, void **, int, uint64_t, int *);
static int (*get_address_11)(const char *, void **, int, uint64_t);

static void *ask(const char *name, int version, uint64_t flags)
{
    void *found = NULL;
    int is_found = 7;
    int error = get_address ? get_address(name, &found, version, flags, &is_found)
                            : get_address_11(name, &found, version, flags);
    if (error == 0 && found && (!get_address || is_found == 0)) return found;
    fprintf(stderr, "cuGetProcAddress does not find %s: %d\n", name, error);
    exit(1);
}

static void ask_for_all(int version, uint64_t flags)
{
    void *found;
#define SET(field, symbol, name, has_form, parameters)   \
    found = ask(#name, version, (has_form) ? flags : 0); \
    memcpy(&cuda.field, &found, sizeof found);
    PROGRAM_CALLS(SET)
#undef SET
}

bool program_calls_find(const char *way)
{
    void *found;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    if (!library) return false;
    if (strcmp(way, "dlsym") == 0) {
#define SET(field, symbol, name, has_form, parameters) \
    found = find(#symbol);                             \
    memcpy(&cuda.field, &found, sizeof found);
        PROGRAM_CALLS(SET)
#undef SET
        return true;
    }
    bool is_11 = strcmp(way, "proc11") == 0, is_of_threads = strcmp(way, "proc_of_threads") == 0;
    found = find(is_11 ? "cuGetProcAddress" : "cuGetProcAddress_v2");
    if (is_11)
        memcpy(&get_address_11, &found, sizeof found);
    else
        memcpy(&get_address, &found, sizeof found);
    ask_for_all(is_11 ? 12040 : 13000, is_of_threads ? 2 : 0);
    return is_11 || is_of_threads || strcmp(way, "proc") == 0;
}

#endif
