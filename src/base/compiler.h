/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compiler: what differs between compilers. The only compiler #ifs of the project stand here. */
#ifndef TN_COMPILER_H
#define TN_COMPILER_H

#if defined(__GNUC__)
#define TN_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define TN_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define TN_COLD                __attribute__((cold, noinline))
/* In place of `static inline`, for the parts of the hot path that the compiler would leave as calls
 * because the slow paths use them too. */
#define TN_HOT                         static inline __attribute__((always_inline))
#define TN_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#else
#error "tarn needs GCC, clang or a compiler that takes their attributes"
#endif

#endif
