/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * lookup: what a program gets that asks for a function of the vendor's by its name.
 *
 * The system is asked first, with the program's own handle. Only if it finds a function of the vendor's that the table of
 * intercepted.h has, the program gets the replacement. So a handle of another library, cuDNN's for example, gets what it
 * always got, and a program finds no function that its vendor lacks.
 *
 * Threads: any. Cost: that of the system's look-up; names that do not begin as the vendor's cost two comparisons more.
 */
#ifndef TN_LOOKUP_H
#define TN_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vendor.h"

/* The answer to the entries of lookup_entry.c, in two registers. */
struct tn_lookup_answer {
    void *symbol;
    uintptr_t is_final; /* 0: the system is to answer */
};

/* Called by the entries alone, which are written in assembly. `caller`: an address in the calling code. */
struct tn_lookup_answer tn_lookup_dlsym(void *handle, const char *name, const void *caller);
struct tn_lookup_answer tn_lookup_dlvsym(void *handle, const char *name, const char *version,
                                         const void *caller);

/* A query of the vendor's own look-up. */
struct tn_lookup_query {
    const char *name;
    int version;
    bool is_of_threads; /* for per-thread default streams */
};

/* Follows a successful look-up of the vendor's, whose answer is in *function. */
void tn_lookup_replace(const struct tn_vendor *vendor, const struct tn_lookup_query *query,
                       void **function, const void *caller);

#endif
