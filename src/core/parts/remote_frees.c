/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* remote_frees: the table, and the ring of a mailbox. */
#include "remote_frees.h"

#include "../../base/arith.h"
#include "../../base/assert.h"
#include "../../base/host_memory.h"

_Static_assert(sizeof(struct tn_mail) == 16 && offsetof(struct tn_mailbox, places) % 64 == 0,
               "four places share a cache line");

void tn_remote_frees_init(struct tn_remote_frees *frees)
{
    frees->chunk_count = 0;
    frees->starts = NULL;
    frees->mailboxes = NULL;
    frees->memory = NULL;
    frees->mailbox_count = 0;
    frees->missed_count = 0;
    atomic_init(&frees->are_wanted, false);
}

void tn_remote_frees_fini(struct tn_remote_frees *frees)
{
    tn_host_memory_free(frees->memory);
    tn_remote_frees_init(frees);
}

static size_t memory_bytes(uint32_t chunk_count, uint32_t mailbox_count)
{
    return mailbox_count * sizeof(struct tn_mailbox) + alignof(struct tn_mailbox) + chunk_count;
}

bool tn_remote_frees_cover(struct tn_remote_frees *frees, uint32_t chunk_count,
                           uint32_t mailbox_count)
{
    atomic_store_explicit(&frees->are_wanted, false, memory_order_relaxed);
    void *memory = tn_host_memory_alloc_zeroed(memory_bytes(chunk_count, mailbox_count));
    if (!memory) return false;
    /* Other threads may read are_wanted meanwhile. */
    tn_host_memory_free(frees->memory);
    frees->missed_count = 0;
    size_t alignment = alignof(struct tn_mailbox);
    frees->memory = memory;
    frees->mailboxes =
        (struct tn_mailbox *)tn_round_down((uintptr_t)memory + alignment - 1, alignment);
    frees->mailbox_count = mailbox_count;
    frees->starts = (_Atomic uint8_t *)&frees->mailboxes[mailbox_count];
    frees->chunk_count = chunk_count;
    for (uint32_t i = 0; i < mailbox_count; i++) {
        for (uint32_t place = 0; place < TN_MAILBOX_PLACES; place++)
            atomic_init(&frees->mailboxes[i].places[place].turn, place);
    }
    return true;
}

void tn_remote_frees_note_miss(struct tn_remote_frees *frees)
{
    if (++frees->missed_count % TN_REMOTE_FREES_MISSES != 0) return;
    atomic_store_explicit(&frees->are_wanted, true, memory_order_relaxed);
}

size_t tn_remote_frees_bytes(const struct tn_remote_frees *frees)
{
    return frees->memory ? memory_bytes(frees->chunk_count, frees->mailbox_count) : 0;
}

const char *tn_remote_frees_check(const struct tn_remote_frees *frees)
{
    for (uint32_t chunk = 0; chunk < frees->chunk_count; chunk++) {
        if (tn_remote_frees_who_has(frees, chunk) != TN_START_NOBODYS)
            return "a chunk's byte names an arena though none is active";
    }
    for (uint32_t i = 0; i < frees->mailbox_count; i++) {
        if (atomic_load(&frees->mailboxes[i].posted_count) != frees->mailboxes[i].taken_count)
            return "there is mail though no arena is active";
    }
    return NULL;
}

bool tn_mailbox_post(struct tn_mailbox *mailbox, uint32_t chunk, struct tn_dependency dependency)
{
    uint32_t number = atomic_load_explicit(&mailbox->posted_count, memory_order_relaxed);
    for (;;) {
        struct tn_mail *mail = &mailbox->places[number % TN_MAILBOX_PLACES];
        uint32_t turn = atomic_load_explicit(&mail->turn, memory_order_acquire);
        if (turn == number) {
            if (!atomic_compare_exchange_weak_explicit(&mailbox->posted_count, &number, number + 1,
                                                       memory_order_relaxed, memory_order_relaxed))
                continue;
            mail->chunk = chunk;
            mail->dependency = dependency;
            atomic_store_explicit(&mail->turn, number + 1, memory_order_release);
            return true;
        }
        /* An earlier turn: the place still has mail of the round before, so the mailbox is full. A later one:
         * another thread has posted meanwhile, so try the next place. */
        if ((int32_t)(turn - number) < 0) return false;
        number = atomic_load_explicit(&mailbox->posted_count, memory_order_relaxed);
    }
}

bool tn_mailbox_take(struct tn_mailbox *mailbox, uint32_t *chunk_out,
                     struct tn_dependency *dependency_out)
{
    uint32_t number = mailbox->taken_count;
    struct tn_mail *mail = &mailbox->places[number % TN_MAILBOX_PLACES];
    if (atomic_load_explicit(&mail->turn, memory_order_acquire) != number + 1) return false;
    *chunk_out = mail->chunk;
    *dependency_out = mail->dependency;
    atomic_store_explicit(&mail->turn, number + TN_MAILBOX_PLACES, memory_order_release);
    mailbox->taken_count = number + 1;
    return true;
}
