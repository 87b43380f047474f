/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/version.h: the version of these headers. The build reads its own version from here. */
#ifndef TARN_VERSION_H
#define TARN_VERSION_H

#define TARN_VERSION_MAJOR 0
#define TARN_VERSION_MINOR 1
#define TARN_VERSION_PATCH 0

/* Comparable in #if: 0.1.0 is 100, 1.2.3 is 10203. */
#define TARN_VERSION (TARN_VERSION_MAJOR * 10000 + TARN_VERSION_MINOR * 100 + TARN_VERSION_PATCH)

#endif
