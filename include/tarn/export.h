/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/export.h: marks what the library promises to its users. Everything else is hidden. */
#ifndef TARN_EXPORT_H
#define TARN_EXPORT_H

#if defined(__GNUC__)
#define TARN_API __attribute__((visibility("default")))
#else
#define TARN_API
#endif

#endif
