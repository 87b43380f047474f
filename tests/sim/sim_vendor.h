/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_vendor: what the tests over the simulated devices must know of the vendor.
 *
 * The tests are one source for all vendors; each vendor fills in one of these, in a file
 * VENDOR/sim_vendor_VENDOR.c, and the build takes one of them.
 */
#ifndef SIM_VENDOR_H
#define SIM_VENDOR_H

#include <stdbool.h>
#include <stddef.h>

#include "sim_control.h"

/* The vendor's code and name of what the simulation calls `status`. */
struct sim_vendor_error {
    sim_status status;
    int code;
    const char *name;
};

/* How many calls a step of test_call_counts makes, as sim_describe_calls tells it. */
struct sim_vendor_calls {
    const char *step;
    const char *calls;
};

struct sim_vendor {
    const char *name; /* as tarn_backend_name() tells it */

    /* Ends with an entry whose name is NULL. */
    const struct sim_vendor_error *errors;

    /* The calls whose failure may be no failure of the operation, since they only ask for what the
     * backend can do without, or put back what it has changed. "cudaSetDevice" anywhere, "open:
     * cudaSetDevice" in a step whose text has "open" in it. Ends with NULL. */
    const char *const *optional_calls;

    /* Ends with an entry whose step is NULL. */
    const struct sim_vendor_calls *calls;

    /* The error that was left behind for the application, which is taken out; NULL: none. */
    const char *(*take_last_error)(void);

    /* Whether this loader and driver tell whose a stream is, so that the backend can compare. NULL: the
     * vendor itself refuses one of another device. */
    bool (*tells_streams_apart)(void);

    /* Memory of ranges has file descriptors with any loader and driver. */
    bool shares;

    /* There is a call that waits for the whole device. */
    bool synchronizes;

    /* Creating and destroying an event is no call of the vendor's. */
    bool events_are_tarns_own;

    /* The calling thread's current device; setting one gives it a context. NULL when threads have no
     * current device. */
    void (*set_current_device)(int device);
    int (*current_device)(void);
};

extern const struct sim_vendor sim_vendor;

/* The vendor's code and name; fails the test when the vendor's file lacks them. */
const struct sim_vendor_error *sim_vendor_error_of(sim_status status);

/* `step` is the step's text. */
bool sim_vendor_is_optional(const char *step, const char *call);

/* What tarn makes of it, the same for all vendors: UNKNOWN is VENDOR_ERROR, and so on. */
int sim_vendor_tarn_status_of(sim_status status);

#endif
