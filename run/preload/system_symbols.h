/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * system_symbols: the system's own dlsym and dlvsym, in a library that exports functions with these names. If another library
 * of tarn's is preloaded behind this one, its functions come in between:
 *
 *     program ──► dlsym of libtarn_run_cuda.so ──► dlsym of libtarn_run_hip.so ──► dlsym of the system
 *
 * Each has answers for its own vendor's functions, and passes on what else is asked for.
 *
 * Neither can be asked for the other one: a call by name would reach our own. So the symbol table of the C library is
 * read, as the loader does it. That needs no memory and no lock, and so works in a program's first moments.
 *
 * Requires glibc, 2.17 or newer, on a machine whose addresses in a dynamic section are relocated in place, or are offsets.
 * Threads: any. Cost: a load, after the first call.
 */
#ifndef TN_SYSTEM_SYMBOLS_H
#define TN_SYSTEM_SYMBOLS_H

#include <stdbool.h>

struct tn_system_symbols {
    void *(*dlsym)(void *handle, const char *name);
    void *(*dlvsym)(void *handle, const char *name, const char *version);
    void *next_dlsym, *next_dlvsym; /* those of tarn's next library, or the system's */
};

/* For the entries in lookup_entry.c, which jump there. Valid after tn_system_symbols_find has returned true. */
extern struct tn_system_symbols tn_system_symbols;

/* False: the C library has no such symbols. */
bool tn_system_symbols_find(void);

#endif
