/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* backend_choice: prints which backend the process uses, and what comes of opening it. Several threads ask at once. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tarn/tarn.h"

enum {
    THREAD_COUNT = 4
};

static void *ask(void *argument)
{
    *(const char **)argument = tarn_backend_name();
    return NULL;
}

int main(void)
{
    pthread_t threads[THREAD_COUNT];
    const char *names[THREAD_COUNT];
    int count = -1;
    for (int i = 0; i < THREAD_COUNT; i++)
        if (pthread_create(&threads[i], NULL, ask, &names[i]) != 0) return 1;
    for (int i = 0; i < THREAD_COUNT; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < THREAD_COUNT; i++)
        if (strcmp(names[i], names[0]) != 0) return 1;
    tarn_backend backend = { NULL, NULL };
    tarn_status counted = tarn_backend_device_count(&count);
    tarn_status opened = tarn_backend_open(TARN_DEVICE_CURRENT, TARN_MEMORY_KIND_DEVICE, &backend);
    printf(
        "%s, %d: %s, %s%s%s\n", names[0], count, tarn_status_name(counted) + strlen("TARN_STATUS_"),
        tarn_status_name(opened) + strlen("TARN_STATUS_"), opened == TARN_STATUS_OK ? ", " : "; ",
        opened == TARN_STATUS_OK ? backend.operations->name : tarn_last_error().message);
    tarn_backend_close(&backend);
    return 0;
}
