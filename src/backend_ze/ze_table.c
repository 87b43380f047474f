/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_table: finds the loader's functions by name.
 *
 * Each open backend has a table of its own, so threads that open at the same time share nothing. The system loads the
 * library once. It is never unloaded: its drivers have threads, and functions that run at the exit.
 *
 * Functions are looked up as if the program were linked with the loader. So a library that is preloaded to watch the
 * calls, such as tarn-record's, is asked first.
 */
#include "ze_table.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "../backend_common/opening.h"
#include "../backend_common/operation.h"

#define LOADER "libze_loader.so.1"

/* Writes the function's address, or NULL, to the pointer to a function that function_out points to. C has no conversion
 * from an object pointer. */
static bool find_function(const char *name, void *function_out)
{
    void *entry = dlsym(RTLD_DEFAULT, name);
    memcpy(function_out, &entry, sizeof entry);
    return entry;
}

/* The name of a required function that is missing. NULL: all are there. */
static const char *find_functions(struct tn_ze_table *table)
{
#define IS_REQUIRED true
#define IS_NEWER    false
#define FIND(need, name, parameters) \
    if (!find_function("ze" #name, &table->name) && IS_##need) return "ze" #name;
    TN_ZE_FUNCTIONS(FIND)
    return NULL;
}

static tarn_status fail(int number, const char *sentence)
{
    return tn_backend_fail_open("Level Zero", number, tn_backend_result(TARN_STATUS_NO_DEVICE),
                                sentence);
}

tarn_status tn_ze_table_load(int number, struct tn_ze_table *table_out)
{
    void *loader = dlopen(LOADER, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (!loader) return fail(number, dlerror());
    const char *missing = find_functions(table_out);
    dlclose(loader);
    if (!missing) return TARN_STATUS_OK;
    char sentence[128];
    snprintf(sentence, sizeof sentence, "%s is older than Level Zero 1.4: it has no %s", LOADER,
             missing);
    return fail(number, sentence);
}
