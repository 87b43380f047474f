/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program_calls: each of the ways. With PROGRAM_IS_LINKED the program links the library, and has that way alone. */
#include "program_calls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program_calls vendor;

#ifdef PROGRAM_IS_LINKED

#define DECLARE(field, symbol, name, has_form, parameters) extern int symbol parameters;
PROGRAM_CALLS(DECLARE)
#undef DECLARE

bool program_calls_find(const char *way)
{
#define SET(field, symbol, name, has_form, parameters) vendor.field = symbol;
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

/* A look-up of the vendor's. */
struct lookup {
    const char *way, *symbol;
    int version;
    uint64_t flags;
    bool has_status; /* it has the last parameter */
};

static const struct lookup lookups[] = { PROGRAM_LOOKUPS };

static int (*get_address)(const char *, void **, int, uint64_t, int *);
static int (*get_address_without)(const char *, void **, int, uint64_t);

static void *ask(const struct lookup *lookup, const char *name, uint64_t flags)
{
    void *found = NULL;
    int status = 7;
    int error = lookup->has_status ? get_address(name, &found, lookup->version, flags, &status)
                                   : get_address_without(name, &found, lookup->version, flags);
    if (error == 0 && found && (!lookup->has_status || status == 0)) return found;
    fprintf(stderr, "%s does not find %s: %d\n", lookup->symbol, name, error);
    exit(1);
}

static void ask_for_all(const struct lookup *lookup)
{
    void *found = find(lookup->symbol);
    if (lookup->has_status)
        memcpy(&get_address, &found, sizeof found);
    else
        memcpy(&get_address_without, &found, sizeof found);
#define SET(field, symbol, name, has_form, parameters)          \
    found = ask(lookup, #name, (has_form) ? lookup->flags : 0); \
    memcpy(&vendor.field, &found, sizeof found);
    PROGRAM_CALLS(SET)
#undef SET
}

static void find_all(void)
{
    void *found;
#define SET(field, symbol, name, has_form, parameters) \
    found = find(#symbol);                             \
    memcpy(&vendor.field, &found, sizeof found);
    PROGRAM_CALLS(SET)
#undef SET
}

bool program_calls_find(const char *way)
{
    library = dlopen(PROGRAM_LIBRARY, RTLD_NOW);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    if (!library) return false;
    if (strcmp(way, "dlsym") == 0) {
        find_all();
        return true;
    }
    for (size_t i = 0; i < sizeof lookups / sizeof *lookups; i++) {
        if (strcmp(way, lookups[i].way) != 0) continue;
        ask_for_all(&lookups[i]);
        return true;
    }
    return false;
}

#endif
