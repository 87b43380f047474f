/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* machine: the facts about the machine that a result depends on. The machine's name is not among them. */
#ifndef TN_MACHINE_H
#define TN_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reason.h"

struct tn_machine {
    char cpu_model[128];
    size_t core_count;
    char kernel[128]; /* name and release */
    char c_library[64];
    const char *compiler; /* of the benchmark and of the library built along with it */
    const char *build_type;
    const char *commit;  /* "unknown" where git did not tell */
    const char *backend; /* "host", "cuda" */
    char device_name[128];
    int driver_version;
    int runtime_version;
    size_t device_total_bytes;
    size_t device_free_bytes; /* at the start */
    bool is_host;             /* the device is the host: memory that is not touched costs nothing */
    uint64_t clock_cost_ns;
};

/* Looks at the machine and at device number `device`. False: there is no such device; the reason
 * says so. */
bool tn_machine_look(int device, struct tn_machine *machine_out, struct tn_reason *reason_out);

#endif
