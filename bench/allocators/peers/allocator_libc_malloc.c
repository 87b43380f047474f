/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator_libc_malloc: the C library's malloc and free.
 *
 * The benchmark's own memory comes from it too, so its statistics do not tell how much it holds for a
 * workload.
 */
#include <malloc.h>
#include <stdlib.h>

#include "malloc_peer.h"

static void trim_libc(const struct tn_malloc_calls *calls)
{
    (void)calls;
    malloc_trim(0);
}

static tarn_status open_libc_malloc(const struct tn_allocator_settings *settings, void **state_out,
                                    struct tn_reason *reason_out)
{
    static const struct tn_malloc_calls calls = { .alloc = malloc,
                                                  .free = free,
                                                  .trim = trim_libc };
    (void)settings;
    *state_out = tn_malloc_peer_create(&calls, reason_out);
    return *state_out ? TARN_STATUS_OK : TARN_STATUS_OUT_OF_HOST_MEMORY;
}

const struct tn_allocator tn_allocator_libc_malloc =
    TN_MALLOC_PEER("libc-malloc", open_libc_malloc);
