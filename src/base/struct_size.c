/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* struct_size: one check, one message. */
#include "struct_size.h"

#include <stdbool.h>

#include "error.h"

tarn_status tn_check_struct_bytes(const char *name, size_t struct_bytes, size_t first_bytes,
                                  size_t today_bytes, tarn_status refusal)
{
    bool is_whole = struct_bytes % _Alignof(size_t) == 0; /* it ends where a field ends */
    if (is_whole && struct_bytes >= first_bytes && struct_bytes <= today_bytes)
        return TARN_STATUS_OK;
    return tn_fail(refusal,
                   "struct_bytes is %zu in %s, not %zu: set the struct to its initial values, and "
                   "use no newer header than this library's",
                   struct_bytes, name, today_bytes);
}
