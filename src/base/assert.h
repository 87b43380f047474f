/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * assert: conditions that must hold. Failures that can happen return a tarn_status instead.
 *
 * TN_CHECK_LEVEL 0 checks nothing (release); 1 checks (dev and sanitizer builds). Both compile the
 * expression, so that it cannot rot. Release builds use level 0, so the library never aborts a user's
 * program.
 */
#ifndef TN_ASSERT_H
#define TN_ASSERT_H

#include "compiler.h"

#ifndef TN_CHECK_LEVEL
#define TN_CHECK_LEVEL 0
#endif

/* Prints the failed condition with its place and aborts. */
TN_ENDS_ANALYSIS TN_COLD void tn_assert_failed(const char *condition, const char *file, int line);

#define TN_ASSERT(condition)                                \
    ((TN_CHECK_LEVEL) >= 1 && TN_UNLIKELY(!(condition))     \
         ? tn_assert_failed(#condition, __FILE__, __LINE__) \
         : (void)0)

#endif
