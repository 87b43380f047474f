/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor_program: a program that knows nothing of tarn. Its argument says which calls it makes, and how it ends. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vendor_calls.h"

#define STREAM ((void *)(size_t)0x5000)

static void must(int error)
{
    if (error != 0) exit(9);
}

static void use_cuda(void)
{
    void *a[9];
    size_t pitch;
    void *failed = NULL;
    must(cuMemFree_v2(NULL));
    must(cuMemAlloc_v2(&a[0], 100));
    must(cuMemAllocManaged(&a[1], 200, 1));
    must(cuMemAllocPitch_v2(&a[2], &pitch, 100, 3, 4));
    must(cuMemAllocAsync(&a[3], 300, STREAM));
    must(cuMemAllocAsync_ptsz(&a[4], 400, NULL));
    must(cuMemAllocFromPoolAsync(&a[5], 500, NULL, STREAM));
    must(cuMemAllocHost_v2(&a[6], 600));
    must(cuMemHostAlloc(&a[7], 700, 0));
    must(cuMemAlloc_v2(&a[8], 0));
    if (cuMemAlloc_v2(&failed, (size_t)1 << 40) == 0 || failed) exit(8);
    must(cuMemFree_v2(a[0]));
    must(cuMemFree_v2(a[2]));
    must(cuMemFreeAsync(a[3], STREAM));
    must(cuMemFreeAsync_ptsz(a[4], NULL));
    must(cuMemFreeHost(a[6]));
    must(cuMemFreeHost(a[7]));
    must(cuMemFree_v2(a[8]));
}

static void use_hip(void)
{
    void *a[5];
    must(hipMalloc(&a[0], 100));
    must(hipExtMallocWithFlags(&a[1], 200, 1));
    must(hipMallocManaged(&a[2], 300, 1));
    must(hipMallocAsync(&a[3], 400, STREAM));
    must(hipHostMalloc(&a[4], 500, 0));
    must(hipFree(a[0]));
    must(hipFree(a[1]));
    must(hipFree(a[2]));
    must(hipFreeAsync(a[3], STREAM));
    must(hipHostFree(a[4]));
}

static void use_ze(void)
{
    void *a[3];
    must(zeMemAllocDevice(NULL, NULL, 100, 64, NULL, &a[0]));
    must(zeMemAllocShared(NULL, NULL, NULL, 200, 64, NULL, &a[1]));
    must(zeMemAllocHost(NULL, NULL, 300, 64, &a[2]));
    must(zeMemFree(NULL, a[0]));
    must(zeMemFreeExt(NULL, NULL, a[1]));
    must(zeMemFree(NULL, a[2]));
}

static void *allocate_often(void *argument)
{
    for (int i = 0; i < 5000; i++) {
        void *a, *b;
        must(cuMemAlloc_v2(&a, 64));
        must(cuMemAlloc_v2(&b, 128));
        must(cuMemFree_v2(a));
        must(cuMemFree_v2(b));
    }
    return NULL;
}

static void use_threads(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        must(pthread_create(&threads[i], NULL, allocate_often, NULL));
    for (int i = 0; i < 4; i++)
        must(pthread_join(threads[i], NULL));
}

static void *use_its_own_stream(void *argument)
{
    void *a, *b;
    must(cuMemAllocAsync_ptsz(&a, 200, NULL));
    must(cuMemAllocAsync(&b, 300, (void *)2));
    must(cuMemFreeAsync(a, (void *)2));
    must(cuMemFreeAsync_ptsz(b, NULL));
    return argument;
}

/* One thread after the other; and the default stream by its other name. */
static void use_streams(void)
{
    void *a;
    must(cuMemAllocAsync(&a, 100, (void *)1));
    must(cuMemFreeAsync(a, NULL));
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        must(pthread_create(&thread, NULL, use_its_own_stream, NULL));
        must(pthread_join(thread, NULL));
    }
}

/* A child executes this program again, which allocates more. */
static void use_processes(void)
{
    pid_t child = fork();
    int ended;
    if (child == 0) {
        execl("/proc/self/exe", "vendor_program", "threads", (char *)NULL);
        _exit(7);
    }
    void *a;
    must(cuMemAlloc_v2(&a, 100));
    must(waitpid(child, &ended, 0) == child ? ended : 6);
    must(cuMemFree_v2(a));
}

/* The same process becomes another program, and that once more. */
static void use_exec(void)
{
    void *a;
    must(cuMemAlloc_v2(&a, 4242));
    execl("/proc/self/exe", "vendor_program", "hip", (char *)NULL);
    exit(7);
}

static void use_cuda_and_be_killed(void)
{
    allocate_often(NULL);
    kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*use)(void);
    } uses[] = {
        { "cuda", use_cuda },       { "hip", use_hip },
        { "ze", use_ze },           { "streams", use_streams },
        { "threads", use_threads }, { "processes", use_processes },
        { "exec", use_exec },       { "killed", use_cuda_and_be_killed },
    };
    for (size_t i = 0; argc > 1 && i < sizeof uses / sizeof *uses; i++)
        if (strcmp(argv[1], uses[i].name) == 0) uses[i].use();
    return argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
}
