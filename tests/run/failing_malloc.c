/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * failing_malloc: a library to preload into tarn-run. The call of malloc, calloc or realloc with the number in
 * TEST_FAIL_MALLOC fails. If the process makes fewer calls, it leaves the file TEST_ENOUGH.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size_bytes);
extern void *__libc_calloc(size_t count, size_t element_bytes);
extern void *__libc_realloc(void *address, size_t size_bytes);

static long call_count, failing_call;

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("TEST_FAIL_MALLOC");
    call_count = 0; /* the loader's do not count */
    if (number && strcmp(program_invocation_short_name, "tarn-run") == 0)
        failing_call = strtol(number, NULL, 10);
}

__attribute__((destructor)) static void end(void)
{
    if (failing_call > call_count) close(open("TEST_ENOUGH", O_WRONLY | O_CREAT, 0600));
}

static bool fails(void)
{
    if (++call_count != failing_call) return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t nmemb, size_t size)
{
    return fails() ? NULL : __libc_calloc(nmemb, size);
}

void *realloc(void *ptr, size_t size)
{
    return fails() ? NULL : __libc_realloc(ptr, size);
}
