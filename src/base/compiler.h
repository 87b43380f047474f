/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compiler: what differs between compilers. All compiler #ifs of the project are here. */
#ifndef TN_COMPILER_H
#define TN_COMPILER_H

#if defined(__GNUC__)
#define TN_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define TN_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define TN_COLD                __attribute__((cold, noinline))
#define TN_NOINLINE            __attribute__((noinline))
/* In place of `static inline`, on the hot path: where slow paths use a function too, the compiler would not
 * inline it. */
#define TN_HOT                         static inline __attribute__((always_inline))
#define TN_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
/* The address sanitizer does not check this function's reads and writes. */
#define TN_UNCHECKED __attribute__((no_sanitize("address")))
/* The thread sanitizer does not check this function's reads and writes. */
#define TN_UNSYNCHRONIZED __attribute__((no_sanitize("thread")))
/* The function runs at the end of the process, after the functions of atexit and after the program's own destructors;
 * or when the object that it is in leaves the process. 101 is the last that is not the compiler's. */
#define TN_LAST_DESTRUCTOR __attribute__((destructor(101)))
/* For the declaration of a variable of the library that hot code reads: otherwise its address takes a load. */
#define TN_HIDDEN __attribute__((visibility("hidden")))
/* The static analyzer takes it that the function does not return. */
#ifdef __clang_analyzer__
#define TN_ENDS_ANALYSIS __attribute__((analyzer_noreturn))
#else
#define TN_ENDS_ANALYSIS
#endif
/* The return address of the function, or of the one that it is inlined into. */
#define TN_CALLER __builtin_return_address(0)
#else
#error "tarn needs GCC, clang or a compiler that takes their attributes"
#endif

/* Unions in region.h and key_tree.h have the low part of a word first. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "tarn is for machines that store the lowest byte first");

/* GCC defines a macro for a sanitizer, clang has a feature. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TN_HAS_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define TN_HAS_THREAD_SANITIZER 1
#endif
#else
#if defined(__SANITIZE_ADDRESS__)
#define TN_HAS_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__)
#define TN_HAS_THREAD_SANITIZER 1
#endif
#endif
#ifndef TN_HAS_ADDRESS_SANITIZER
#define TN_HAS_ADDRESS_SANITIZER 0
#endif

#ifndef TN_HAS_THREAD_SANITIZER
#define TN_HAS_THREAD_SANITIZER 0
#endif

/* The address of the thread's own variables: a register, if the compiler knows which. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
#define TN_THREAD_POINTER ((uintptr_t)__builtin_thread_pointer())
#endif
#endif
#ifndef TN_THREAD_POINTER
#define TN_THREAD_POINTER ((uintptr_t)pthread_self())
#endif

/* The thread sanitizer does not understand membarrier. */
#if defined(__linux__) && __has_include(<linux/membarrier.h>) && !TN_HAS_THREAD_SANITIZER
#define TN_HAS_MEMBARRIER 1
#else
#define TN_HAS_MEMBARRIER 0
#endif

/* backtrace: glibc, the BSDs and Apple have it; musl does not. */
#if __has_include(<execinfo.h>)
#define TN_HAS_EXECINFO 1
#else
#define TN_HAS_EXECINFO 0
#endif

#endif
