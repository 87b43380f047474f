/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#define _XOPEN_SOURCE 700 /* nftw */

#include "harness/scratch_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char name[512];

int enter_scratch_folder(void **state)
{
    const char *parent = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/tarn-test-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(name) && chdir(name) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    return remove(path);
}

int leave_scratch_folder(void **state)
{
    return chdir("/") == 0 && nftw(name, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0 ? 0 : -1;
}
