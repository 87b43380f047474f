/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_options: turns options into a growth policy for one device, in bytes.
 *
 * Threads: any. Cost: a query of the vendor for an option that depends on the device's memory.
 */
#ifndef TN_POOL_OPTIONS_H
#define TN_POOL_OPTIONS_H

#include "tarn/tarn.h"

#include "../parts/growth.h"

/* Requires options that are each valid by itself. Errors, reported: INVALID_OPTIONS (they make no sense on
 * this device); NOT_SUPPORTED (the backend does not tell how much memory there is, or does not number
 * streams); and the backend's other errors. */
tarn_status tn_pool_options_resolve(const tarn_pool_options *options, const tarn_backend *backend,
                                    const tarn_device_properties *properties,
                                    struct tn_growth_policy *policy_out);

/* Total and free bytes of the device. NOT_SUPPORTED: the backend cannot tell, or lacks the operation. */
tarn_backend_result tn_query_memory(const tarn_backend *backend, tarn_memory_info *info_out);

/* So many per cent of the bytes, rounded down. */
size_t tn_percent_of(size_t bytes, unsigned percent);

#endif
