/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * next_function: the vendor's own function behind one of the same name in this library.
 *
 * It is the next one in the program's libraries; or, where the vendor's library was loaded later and is nobody
 * else's, as with the modules of Python, the one that the caller's own libraries have. That is the one from then on,
 * for all callers, and its library stays in the process when nobody else has it open.
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

/* NULL: there is none. `caller` is an address in who calls. */
tn_function tn_next_function_find(struct tn_next_function *function, const void *caller);

#endif
