/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lookup_library: the libraries of lookup_program. */
#ifndef LOOKUP_LIBRARY_H
#define LOOKUP_LIBRARY_H

#define CUDNN_LIKE 4711 /* the answer of each function of libcudnn_like.so */

/* Looks for its own symbol in the libraries that come after its own. */
void *next_of_library(void);

#endif
