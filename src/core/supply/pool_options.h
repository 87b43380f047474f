/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_options: what options mean on one device: a growth policy, all of it in bytes.
 *
 * Threads: any. Cost: a query of the vendor where an option speaks of the device's memory.
 */
#ifndef TN_POOL_OPTIONS_H
#define TN_POOL_OPTIONS_H

#include "tarn/tarn.h"

#include "../parts/growth.h"

/* The options are checked one by one. Errors: INVALID_OPTIONS (on this device they make no sense);
 * NOT_SUPPORTED (the backend does not tell how much memory there is), and what else it answers. */
tarn_status tn_pool_options_resolve(const tarn_pool_options *options, const tarn_backend *backend,
                                    const tarn_device_properties *properties,
                                    struct tn_growth_policy *policy_out);

/* NOT_SUPPORTED also where the backend lacks the operation. */
tarn_backend_result tn_query_memory(const tarn_backend *backend, tarn_memory_info *info_out);

/* Per cent of so many bytes, rounded down. */
size_t tn_percent_of(size_t bytes, unsigned percent);

#endif
