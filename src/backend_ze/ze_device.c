/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_device: the locks of lists of commands.
 *
 * They belong to the process, since two backends may use the same list: for example one for device memory and one for
 * pinned. A list of the application has no place for a lock of its own, so lists share a few locks. That costs little
 * waiting, as no append waits for the device.
 */
#include "ze_device.h"

#define FOUR(x) x, x, x, x
static struct tn_mutex list_locks[] = { FOUR(FOUR(TN_MUTEX_INIT)) };

struct tn_mutex *tn_ze_list_lock(tn_ze_command_list_handle_t list)
{
    /* The lowest bits of addresses are alike. */
    uint64_t spread = (uint64_t)(uintptr_t)list * UINT64_C(0x9E3779B97F4A7C15);
    return &list_locks[(spread >> 32) % (sizeof list_locks / sizeof *list_locks)];
}
