/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/status.h: the status that every tarn function returns, and the last error.
 *
 * A status says what kind of failure it was. tarn_last_error() has a sentence with the values involved, and
 * the vendor's own error code if a call of the vendor was the cause.
 */
#ifndef TARN_STATUS_H
#define TARN_STATUS_H

#include "tarn/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One line for each status: name, number, sentence. Numbers never change; new ones come at the end. */
#define TARN_STATUS_TABLE(X)                                                                  \
    X(OK, 0, "success")                                                                       \
    X(INVALID_ARGUMENT, 1, "an argument has a value that this function does not take")        \
    X(INVALID_OPTIONS, 2, "an option has a value that no pool can have")                      \
    X(INVALID_POOL, 3, "the pool is NULL or has been destroyed")                              \
    X(INVALID_ALIGNMENT, 4, "the alignment is not a power of two")                            \
    X(INVALID_ENVIRONMENT, 5, "an environment variable has a value that does not parse")      \
    X(SIZE_TOO_LARGE, 6, "the size is larger than any static pool can be")                    \
    X(OUT_OF_MEMORY, 7, "the device has no memory left that could serve the request")         \
    X(OUT_OF_HOST_MEMORY, 8, "the host has no memory left for the pool's metadata")           \
    X(OVER_LIMIT, 9, "the request does not fit under the pool's limit")                       \
    X(FOREIGN_ADDRESS, 10, "the address belongs to no pool")                                  \
    X(WRONG_POOL, 11, "the address belongs to another pool")                                  \
    X(INTERIOR_ADDRESS, 12, "the address lies inside an allocation, not at its start")        \
    X(NOT_LIVE, 13, "the address is not allocated: it was freed before, or never handed out") \
    X(LIVE_REGIONS, 14, "the pool still has live allocations")                                \
    X(NOT_READY, 15, "the work that was asked about has not completed yet")                   \
    X(NOT_SUPPORTED, 16, "the backend does not offer this")                                   \
    X(NO_DEVICE, 17, "there is no device, or no driver for one")                              \
    X(INVALID_DEVICE, 18, "there is no device with this number")                              \
    X(VENDOR_ERROR, 19, "a call of the vendor's runtime failed")                              \
    X(CORRUPT, 20, "a check found damage: in a pool's metadata, or in debug mode its memory") \
    X(FORKED, 21, "it belongs to the process before the fork")                                \
    X(WRONG_SIZE, 22, "the size is not that of the allocation")                               \
    X(NOT_IN_PLACE, 23, "the allocation cannot have that size where it lies")                 \
    X(FILE_ERROR, 24, "a file cannot be opened, read or written")

typedef enum tarn_status {
#define TARN_STATUS_ENUMERATOR(name, number, sentence) TARN_STATUS_##name = (number),
    TARN_STATUS_TABLE(TARN_STATUS_ENUMERATOR)
#undef TARN_STATUS_ENUMERATOR
} tarn_status;

/* The status's name, "TARN_STATUS_OUT_OF_MEMORY" for example. Static text; "TARN_STATUS_UNKNOWN" for a
 * number that is no status. */
TARN_API const char *tarn_status_name(tarn_status status);

/* The meaning of the status, as a sentence without a full stop. Static text, never NULL. */
TARN_API const char *tarn_status_sentence(tarn_status status);

/* The last failure in the calling thread. */
typedef struct tarn_error {
    tarn_status status; /* TARN_STATUS_OK: nothing has failed in this thread yet */
    int vendor_code;    /* the vendor's error number; 0: no call of the vendor was the cause */
    const char
        *vendor_name; /* its name, "CUDA_ERROR_OUT_OF_MEMORY" for example; "" if there is none */
    /* One line with the values involved; "" if nothing has failed yet. It is UTF-8. Control characters, and other bytes
     * that are not UTF-8, in a path for example, are written \xNN. */
    const char *message;
} tarn_error;

/*
 * Returns the calling thread's last failure. Ask after a call that failed: a success does not clear it, and
 * may itself leave a failure that it has overcome. The texts are valid until the next failure in this
 * thread.
 * Cost: a copy of four words.
 */
TARN_API tarn_error tarn_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
