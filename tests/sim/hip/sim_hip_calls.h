/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_hip_calls: the table of calls of the platform that HIP is built for. */
#ifndef SIM_HIP_CALLS_H
#define SIM_HIP_CALLS_H

#include "../sim_vendor.h"

extern const struct sim_vendor_calls sim_hip_calls[];

#endif
