/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* process: two numbers that system handlers change. */
#include "process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "sync.h"

static atomic_uint_least32_t generation;
static atomic_bool is_ending;

static struct tn_once forks_once = TN_ONCE_INIT;
static struct tn_once end_once = TN_ONCE_INIT;
static bool watches_forks;

static void begin_generation(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

static void watch_forks(void)
{
    watches_forks = tn_process_call_around_forks(NULL, NULL, begin_generation);
}

bool tn_process_watch_forks(void)
{
    tn_once_call(&forks_once, watch_forks);
    return watches_forks;
}

uint32_t tn_process_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

bool tn_process_call_around_forks(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return pthread_atfork(prepare, parent, child) == 0;
}

static void begin_end(void)
{
    atomic_store_explicit(&is_ending, true, memory_order_relaxed);
}

/* If atexit has no room, tarn calls the vendor to the very end, and the vendor reports the failures. */
static void watch_end(void)
{
    (void)atexit(begin_end);
}

void tn_process_watch_end(void)
{
    tn_once_call(&end_once, watch_end);
}

bool tn_process_is_ending(void)
{
    return atomic_load_explicit(&is_ending, memory_order_relaxed);
}
