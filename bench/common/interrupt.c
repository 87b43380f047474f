/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* interrupt: Ctrl-C and SIGTERM ask the program to end. */
#include "interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

/* A handler may write a lock-free atomic, and threads may read it. Signals are the process's. */
static atomic_bool is_wanted;
_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a signal's handler writes this");

static void handle_both(void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Restores the default of both, so that the second signal ends the program, whichever it is. */
static void note_wish(int number)
{
    (void)number;
    atomic_store(&is_wanted, true);
    handle_both(SIG_DFL);
}

static void note_that_nobody_reads(int number)
{
    (void)number;
    atomic_store(&is_wanted, true);
}

void tn_interrupt_watch(void)
{
    struct sigaction action = { .sa_handler = note_that_nobody_reads };
    sigemptyset(&action.sa_mask);
    sigaction(SIGPIPE, &action, NULL);
    handle_both(note_wish);
}

bool tn_interrupt_is_wanted(void)
{
    return atomic_load_explicit(&is_wanted, memory_order_relaxed);
}
