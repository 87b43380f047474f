/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * crew: threads that do one thing after another, each begun by all together and ended by all.
 *
 * They live as long as the crew. Between a begin and its end what a member holds is its thread's, and the caller's
 * otherwise; both are ordered by a barrier.
 *
 * Threads: the calls of one crew come from one thread, which is none of its own.
 */
#ifndef TN_CREW_H
#define TN_CREW_H

#include <stddef.h>

#include "../common/reason.h"

struct tn_crew;

/* What a thread does, with what is its own. */
typedef void (*tn_crew_act)(void *member);

/* Starts a thread for each of `count` members, which lie one after the other; all or none. NULL: the reason says what
 * there is not enough of. */
struct tn_crew *tn_crew_create(void *members, size_t member_bytes, size_t count,
                               struct tn_reason *reason_out);

void tn_crew_begin(struct tn_crew *crew, tn_crew_act act);
void tn_crew_end(struct tn_crew *crew);

/* Ends the threads. NULL is allowed. */
void tn_crew_destroy(struct tn_crew *crew);

#endif
