/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * finding: how the random program tells of a fault, and how the fault is made to come again.
 *
 * A finding ends the process. Before that it prints its kind, what was expected, the last operations, and the
 * command that repeats the run up to this operation. A kind may be ignored, so that one known fault does not
 * hide the others.
 */
#ifndef CORNERS_FINDING_H
#define CORNERS_FINDING_H

#include <stdbool.h>
#include <stdint.h>

/* Name on the command line, and what it means. */
#define FINDING_TABLE(X)                                                                         \
    X(ORDER, "order", "memory is handed out while earlier work may still use it")                \
    X(OVERLAP, "overlap", "memory is handed out that another allocation or a graph has")         \
    X(REFUSED, "refused", "an allocation is refused that the pool could serve")                  \
    X(INITIAL, "initial", "a pool cannot take at once what its limit and the device allow")      \
    X(MANAGED, "managed", "managed memory is refused although the host has it")                  \
    X(WHOLE_STEPS, "whole_steps", "an empty contiguous pool refuses a request below its limit")  \
    X(SECOND_TRY, "second_try", "an allocation is refused, and served by the next call")         \
    X(NOT_ASKED, "not_asked", "an allocation fails and on_out_of_memory was not called")         \
    X(STATUS, "status", "a call answers a status that nothing has caused")                       \
    X(FOOTPRINT, "footprint", "the footprint is not what the vendor has given")                  \
    X(LOST, "lost", "what the vendor refused to take back is lost, or not counted")              \
    X(LIMIT, "limit", "the pool holds more than its limit")                                      \
    X(STATISTICS, "statistics", "statistics contradict the model")                               \
    X(GRAPH_FREE, "graph_free", "memory of a graph counts as memory that can be had")            \
    X(CAPTURE_CALL, "capture_call", "a call of the vendor is made that a capture does not bear") \
    X(CHECK, "check", "tarn_pool_check finds a fault")                                           \
    X(LEAK, "leak", "something is left after the end of the pool")                               \
    X(CALLBACK, "callback", "a static pool is told of wrongly")                                  \
    X(ENDLESS, "endless", "a call does not come to an end")                                      \
    X(MISUSE, "misuse", "the simulated device was misused")

enum finding {
#define FINDING_ENUMERATOR(name, text, meaning) FINDING_##name,
    FINDING_TABLE(FINDING_ENUMERATOR)
#undef FINDING_ENUMERATOR
    FINDING_COUNT
};

/* Exit statuses of findings begin here. */
enum {
    FINDING_EXIT_FIRST = 10
};

const char *finding_name(enum finding finding);

/* False: there is no such kind. */
bool finding_ignore(const char *name);
bool finding_is_ignored(enum finding finding);

/* A world begins. `command` is what repeats it, but for the number of operations. */
void finding_begin(const char *command, bool is_verbose);

/* The number of the operation that begins. */
void finding_count(uint64_t operation);

bool finding_is_verbose(void);

/* One line of what is done, without an end of line. The last ones are printed with a finding. */
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);

/* Ends the process, unless the kind is ignored. */
__attribute__((format(printf, 2, 3))) void find(enum finding finding, const char *format, ...);

#define FIND_UNLESS(condition, finding, ...)          \
    do {                                              \
        if (!(condition)) find(finding, __VA_ARGS__); \
    } while (0)

#endif
