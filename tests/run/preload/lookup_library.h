/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lookup_library: the libraries of lookup_program and lookup_hip. */
#ifndef LOOKUP_LIBRARY_H
#define LOOKUP_LIBRARY_H

/* The answer of each function of libcudnn_like.so and of libhiprtc_like.so. */
#define CUDNN_LIKE  4711
#define HIPRTC_LIKE 4712

/* Looks for its own symbol in the libraries that come after its own. */
void *next_of_library(void);

#endif
