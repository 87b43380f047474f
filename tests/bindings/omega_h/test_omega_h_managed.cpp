/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The test for a device, with Omega_h's arrays in memory that the host can access, too. */
#define OMEGA_H_MEM_SPACE_SHARED
#include "test_omega_h_device.cpp"
