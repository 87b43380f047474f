/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * lookup: what a program gets that asks for a function of the driver by its name.
 *
 * The system is asked first, with the program's own handle. Only if it finds a function of libcuda that the table of
 * intercepted.h has, the program gets the replacement. So a handle of another library, cuDNN's for example, gets what it
 * always got, and a program finds no function that its driver lacks.
 *
 * Threads: any. Cost: that of the system's look-up; names that do not begin with "cu" cost two comparisons more.
 */
#ifndef TN_LOOKUP_H
#define TN_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

/* The answer to the entries of lookup_entry.c, in two registers. */
struct tn_lookup_answer {
    void *symbol;
    uintptr_t is_final; /* 0: the system is to answer */
};

/* Called by the entries alone, which are written in assembly. `caller`: an address in the calling code. */
struct tn_lookup_answer tn_lookup_dlsym(void *handle, const char *name, const void *caller);
struct tn_lookup_answer tn_lookup_dlvsym(void *handle, const char *name, const char *version,
                                         const void *caller);

#endif
