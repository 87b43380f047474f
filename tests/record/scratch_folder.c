/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "scratch_folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char name[512];

int enter_scratch_folder(void **state)
{
    const char *parent = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/tarn-record-test-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(name) && chdir(name) == 0 ? 0 : -1;
}

/* It has files alone. */
int leave_scratch_folder(void **state)
{
    DIR *folder = opendir(name);
    if (!folder || chdir(name) != 0) return -1;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        (void)unlink(entry->d_name);
    closedir(folder);
    return chdir("/") == 0 && rmdir(name) == 0 ? 0 : -1;
}
