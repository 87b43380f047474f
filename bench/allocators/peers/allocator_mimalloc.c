/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator_mimalloc: mi_malloc and mi_free of mimalloc.
 *
 * Its library exports malloc too, so it is loaded at run time, hidden from the rest of the program.
 *
 * Its held memory is not reported: the committed bytes in its statistics grow by 4 MB with every freed
 * block of hundreds of MB (2.0.9).
 */
#include <dlfcn.h>
#include <string.h>

#include "malloc_peer.h"

/* A function of the library; NULL if it has none of this name. */
static void find(void *library, const char *name, void *function_out, size_t function_bytes)
{
    void *symbol = dlsym(library, name);
    memcpy(function_out, &symbol, function_bytes); /* ISO C has no cast from one to the other */
}

static void trim_mimalloc(const struct tn_malloc_calls *calls)
{
    void (*collect)(bool is_forced);
    find(calls->library, "mi_collect", &collect, sizeof collect);
    collect(true);
}

static bool load(struct tn_malloc_calls *calls, struct tn_reason *reason_out)
{
    /* It stays loaded: it has handlers for the end of threads and of the process. */
    calls->library = dlopen(TN_MIMALLOC_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!calls->library) {
        tn_reason_set(reason_out, "%s", dlerror());
        return false;
    }
    find(calls->library, "mi_malloc", &calls->alloc, sizeof calls->alloc);
    find(calls->library, "mi_free", &calls->free, sizeof calls->free);
    if (calls->alloc && calls->free && dlsym(calls->library, "mi_collect")) return true;
    tn_reason_set(reason_out, "%s lacks mi_malloc, mi_free or mi_collect", TN_MIMALLOC_LIBRARY);
    return false;
}

static tarn_status open_mimalloc(const struct tn_allocator_settings *settings, void **state_out,
                                 struct tn_reason *reason_out)
{
    struct tn_malloc_calls calls = { .trim = trim_mimalloc };
    (void)settings;
    if (!load(&calls, reason_out)) return TARN_STATUS_NOT_SUPPORTED;
    *state_out = tn_malloc_peer_create(&calls, reason_out);
    return *state_out ? TARN_STATUS_OK : TARN_STATUS_OUT_OF_HOST_MEMORY;
}

const struct tn_allocator tn_allocator_mimalloc = TN_MALLOC_PEER("mimalloc", open_mimalloc);
