/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_ze_empty_loader: a loader that has nothing but zeInit. */
int zeInit(unsigned flags);

int zeInit(unsigned flags)
{
    (void)flags;
    return 0;
}
