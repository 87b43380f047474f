/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * killed_program: uses tarn, and is killed in the middle of it, after its argument's number of allocations; with another
 * argument it goes on to live for a while.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tarn/tarn.h"

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    for (long i = 0; i < count; i++) {
        void *address;
        if (tarn_malloc((size_t)i, &address) != TARN_STATUS_OK) return 1;
        if (i % 2 == 0 && tarn_free(address) != TARN_STATUS_OK) return 1;
    }
    if (argc > 2) {
        if (write(STDOUT_FILENO, "+", 1) != 1) return 1;
        sleep(60);
    }
    kill(getpid(), SIGKILL);
    return 1;
}
