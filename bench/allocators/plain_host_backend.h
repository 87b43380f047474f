/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * plain_host_backend: the system's mmap and munmap as a backend, and nothing around them.
 *
 * What the benchmark runs on where there is no device. tarn's own host backend keeps a list of its
 * pieces, locks, and holds back what the machine does not have; here the raw calls are to be timed,
 * by the hundred thousand, and since the memory is never touched a workload may hold more than the
 * machine has. Nothing runs on its streams, so whoever waits for one need not wait.
 */
#ifndef TN_PLAIN_HOST_BACKEND_H
#define TN_PLAIN_HOST_BACKEND_H

#include "tarn/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Never fails; nothing needs to be closed. */
tarn_backend tn_plain_host_backend(void);

#ifdef __cplusplus
}
#endif

#endif
