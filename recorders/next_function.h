/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * next_function: finds the vendor's function that an interposed function of the same name calls.
 *
 * This is the next function of that name in the program's libraries. If the vendor's library was loaded later
 * and privately, as by Python modules, it is the one in the caller's own libraries. All callers use the
 * function found first, and its library is never unloaded.
 *
 * Threads: any. Cost: a load, after the first call.
 */
#ifndef TN_NEXT_FUNCTION_H
#define TN_NEXT_FUNCTION_H

typedef void (*tn_function)(void);

struct tn_next_function {
    const char *name;
    tn_function _Atomic found;
};

/* Returns the function, or NULL: there is none. `caller`: an address in the calling code. */
tn_function tn_next_function_find(struct tn_next_function *function, const void *caller);

#endif
