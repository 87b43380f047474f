/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/version.h: the version of these headers, from which the build reads its own, and of the library. */
#ifndef TARN_VERSION_H
#define TARN_VERSION_H

#include "tarn/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TARN_VERSION_MAJOR 0
#define TARN_VERSION_MINOR 1
#define TARN_VERSION_PATCH 0

/* Comparable in #if: 0.1.0 is 100, 1.2.3 is 10203. */
#define TARN_VERSION (TARN_VERSION_MAJOR * 10000 + TARN_VERSION_MINOR * 100 + TARN_VERSION_PATCH)

/* Returns the TARN_VERSION of the library that runs. A shared one may be newer than the headers that a program was
 * compiled with. */
TARN_API int tarn_version(void);

#ifdef __cplusplus
}
#endif

#endif
