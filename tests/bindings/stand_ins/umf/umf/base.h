/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The part of UMF that tarn/umf.h is written against, with the signatures of version 1.1. */
#ifndef TARN_STAND_IN_UMF_BASE_H
#define TARN_STAND_IN_UMF_BASE_H

#include <stddef.h>
#include <stdint.h>

#define UMF_MAKE_VERSION(_major, _minor) ((_major << 16) | (_minor & 0x0000ffff))

typedef enum umf_result_t {
    UMF_RESULT_SUCCESS = 0,
    UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY = 1,
    UMF_RESULT_ERROR_MEMORY_PROVIDER_SPECIFIC = 2,
    UMF_RESULT_ERROR_INVALID_ARGUMENT = 3,
    UMF_RESULT_ERROR_INVALID_ALIGNMENT = 4,
    UMF_RESULT_ERROR_NOT_SUPPORTED = 5,
    UMF_RESULT_ERROR_USER_SPECIFIC = 6,
    UMF_RESULT_ERROR_OUT_OF_RESOURCES = 8
} umf_result_t;

#endif
