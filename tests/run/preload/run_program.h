/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* run_program: scenarios of both vendors are in run_program.c, those of one in cuda_program.c and hip_program.c. */
#ifndef RUN_PROGRAM_H
#define RUN_PROGRAM_H

#include <stdio.h>
#include <unistd.h>

#include "../../sim/sim_control.h"
#include "program_calls.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

#define EXPECT(left, relation, right)                                                              \
    do {                                                                                           \
        unsigned long long left_ = (unsigned long long)(left),                                     \
                           right_ = (unsigned long long)(right);                                   \
        if (!(left_ relation right_)) {                                                            \
            fprintf(stderr, "%s:%d: %s %s %s is wrong: %#llx, %#llx\n", __FILE__, __LINE__, #left, \
                    #relation, #right, left_, right_);                                             \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

struct scenario {
    const char *name;
    void (*run)(void);
};

/* --- of the vendor ------------------------------------------------------------------------------------ */

/* Ends with one that has no name. */
extern const struct scenario program_scenarios[];

/* --- for both ----------------------------------------------------------------------------------------- */

/* Memory, and a stream, of the current device. */
address alloc(size_t size_bytes);
void *new_stream(void);

/* Allocations by the vendor's usual function. */
size_t vendor_allocs(void);

/* A lean pool takes memory by other calls: see TARN_PRESET in the test's environment. */
bool is_lean(void);

#endif
