/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * opening: what opening a backend checks, and the words for what goes wrong, the same for every
 * vendor. All return the status that they have reported with tn_fail; `vendor` is the name in that
 * message, "CUDA".
 */
#ifndef TN_OPENING_H
#define TN_OPENING_H

#include <stddef.h>

#include "tarn/backend.h"

/* The arguments, before the vendor is asked anything, and that forks are watched; `function` is the public function's name. */
tarn_status tn_backend_check_open(const char *function, tarn_memory_kind kind,
                                  const tarn_backend *backend_out);

/* INVALID_DEVICE when there is no device `number` among `count`. */
tarn_status tn_backend_check_number(const char *vendor, int number, int count);

/* The device has no memory of that kind: NOT_SUPPORTED. */
tarn_status tn_backend_fail_kind(const char *vendor, int number, tarn_memory_kind kind);

/* No host memory for what describes an open backend: OUT_OF_HOST_MEMORY. */
tarn_status tn_backend_fail_host_memory(const char *vendor, size_t size_bytes);

/* A call of the vendor failed: its own status, code and name. `sentence` is what the vendor has to
 * say of the error; NULL when it says no more than the name. */
tarn_status tn_backend_fail_open(const char *vendor, int number, tarn_backend_result result,
                                 const char *sentence);

#endif
