/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * plain_host_backend: the system's mmap and munmap as a backend, and nothing around them.
 *
 * The benchmark runs on it where there is no device. tarn's own host backend is not used, since it keeps a
 * list of its pieces, locks, and refuses more memory than the machine has. Here the raw calls are timed; and
 * as no memory is touched, a workload may hold more than the machine has. Nothing runs on its streams, so no
 * wait takes time.
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
