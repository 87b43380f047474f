/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * assert: what must not happen. What can happen returns a tarn_status instead.
 *
 * TN_CHECK_LEVEL 0 checks nothing (release), 1 checks cheap facts (dev and sanitizer builds). In
 * each the expression is compiled, so that it cannot rot. The library itself never aborts for its
 * users: release builds are at level 0.
 */
#ifndef TN_ASSERT_H
#define TN_ASSERT_H

#include "compiler.h"

#ifndef TN_CHECK_LEVEL
#define TN_CHECK_LEVEL 0
#endif

/* Prints the failed condition with its place and aborts. */
TN_COLD void tn_assert_failed(const char *condition, const char *file, int line);

#define TN_ASSERT(condition)                                \
    ((TN_CHECK_LEVEL) >= 1 && TN_UNLIKELY(!(condition))     \
         ? tn_assert_failed(#condition, __FILE__, __LINE__) \
         : (void)0)

#endif
