/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* interrupt: Ctrl-C and SIGTERM ask the program to end. */
#include "interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

/* A handler may write a lock-free atomic, and threads may read it. Signals are the process's. */
static atomic_int wanted_by; /* the signal, or 0 */
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal's handler writes this");

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
    atomic_store(&wanted_by, number);
    handle_both(SIG_DFL);
}

static void note_that_nobody_reads(int number)
{
    atomic_store(&wanted_by, number);
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
    return tn_interrupt_signal() != 0;
}

int tn_interrupt_signal(void)
{
    return atomic_load_explicit(&wanted_by, memory_order_relaxed);
}
