/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * crew: threads that do one act after another. All begin an act together, and the act ends when all have done
 * it.
 *
 * The threads live as long as the crew. During an act a member belongs to its thread, otherwise to the
 * caller; a barrier orders both.
 *
 * Threads: the calls of one crew come from one thread outside the crew.
 */
#ifndef TN_CREW_H
#define TN_CREW_H

#include <stddef.h>

#include "../common/reason.h"

struct tn_crew;

/* The function that each thread runs, with its own member. */
typedef void (*tn_crew_act)(void *member);

/* Starts a thread for each of `count` members, which lie one after the other; all or none. NULL: the reason
 * says what is short. */
struct tn_crew *tn_crew_create(void *members, size_t member_bytes, size_t count,
                               struct tn_reason *reason_out);

void tn_crew_begin(struct tn_crew *crew, tn_crew_act act);
void tn_crew_end(struct tn_crew *crew);

/* Ends the threads. NULL is allowed. */
void tn_crew_destroy(struct tn_crew *crew);

#endif
