/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * opening: the checks of opening a backend, and its messages, for every vendor.
 *
 * All functions return the status that they have reported with tn_fail. `vendor` is the name in the
 * message, "CUDA".
 */
#ifndef TN_OPENING_H
#define TN_OPENING_H

#include <stddef.h>

#include "tarn/backend.h"

/* Checks the arguments, before any call of the vendor, and makes sure that forks are watched.
 * `function` is the name of the public function. */
tarn_status tn_backend_check_open(const char *function, tarn_memory_kind kind,
                                  const tarn_backend *backend_out);

/* How many devices the vendor shows, and which is current in the calling thread; 0 if the vendor has no current device.
 * Each vendor's backend defines them. */
tarn_status tn_vendor_device_count(int *count_out);
tarn_status tn_vendor_current_device(int *device_out);

/* INVALID_DEVICE if there is no device `number` among `count`. */
tarn_status tn_backend_check_number(const char *vendor, int number, int count);

/* The device has no memory of that kind: NOT_SUPPORTED. */
tarn_status tn_backend_fail_kind(const char *vendor, int number, tarn_memory_kind kind);

/* There is no host memory for the state of an open backend: OUT_OF_HOST_MEMORY. */
tarn_status tn_backend_fail_host_memory(const char *vendor, size_t size_bytes);

/* A call of the vendor failed. Reports its status, code and name. `sentence` is the vendor's text for
 * the error, or NULL if it has only the name. */
tarn_status tn_backend_fail_open(const char *vendor, int number, tarn_backend_result result,
                                 const char *sentence);

#endif
