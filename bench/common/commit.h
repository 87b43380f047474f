/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* commit: the commit that this was built from. commit.cmake looks it up in every build. */
#ifndef TN_COMMIT_H
#define TN_COMMIT_H

/* The commit's short name; with "-dirty" where files that git knows differ from it; "unknown" without git. */
extern const char *const tn_bench_commit;

#endif
