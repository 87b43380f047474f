/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* include_header: includes the one header named on the command line, before anything else could
 * have included what it forgot. Compiled as C and as C++, never linked. */
#include TARN_API_HEADER

/* Plain C wants at least one declaration in a file, and some headers have only macros. */
extern int tarn_api_not_empty;
