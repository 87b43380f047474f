/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_calls: a function that is not in the table. */
#ifndef TN_CUDA_CALLS_H
#define TN_CUDA_CALLS_H

#include "../preload/vendor.h"

/* The range of an allocation, where the driver tells that of the static pool around it. */
tn_vendor_error tn_cuda_range_of_allocation(tn_vendor_address *base, size_t *size_bytes,
                                            tn_vendor_address address);

#endif
