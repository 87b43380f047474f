/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* flags: from one flag an element to the list of those that are set. */
#include "flags.h"

static int32_t flag_count(const struct array *flags)
{
    return (int32_t)(flags->size_bytes / sizeof(uint8_t));
}

struct array flags_prefix_sum(struct array_space *space, const struct array *flags)
{
    int32_t count = flag_count(flags);
    struct array sums = array_alloc(space, count + 1, sizeof(int32_t));
    const uint8_t *flag = flags->host;
    int32_t *sum = sums.host;
    sum[0] = 0;
    for (int32_t i = 0; i < count; i++) {
        sum[i + 1] = sum[i] + flag[i];
    }
    array_upload(space, &sums);
    return sums;
}

struct array flags_list(struct array_space *space, const struct array *flags, int32_t *count_out)
{
    int32_t count = flag_count(flags);
    struct array sums = flags_prefix_sum(space, flags);
    const uint8_t *flag = flags->host;
    const int32_t *sum = sums.host;

    struct array list = array_alloc(space, sum[count], sizeof(int32_t));
    int32_t *number = list.host;
    for (int32_t i = 0; i < count; i++) {
        if (flag[i]) number[sum[i]] = i;
    }
    array_upload(space, &list);
    *count_out = sum[count];
    array_free(space, &sums);
    return list;
}
