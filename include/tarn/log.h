/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/log.h: what the pools of a process do, told while they do it, and what they have done, at the end.
 *
 * For a user, without a change of the program:
 *
 *     TARN_LOG=info ./mesh          lines on standard error; "warning" tells less, "off" nothing
 *     TARN_STATS=exit ./mesh        a table of all pools on standard error, at the end of the process
 *     TARN_STATS=exit:mesh.txt      the table in a file; in its name %p and %r stand for process and rank
 *
 * For a program that keeps a log of its own:
 *
 *     static void note(void *log, tarn_log_level level, const char *message)
 *     {
 *         append(log, level == TARN_LOG_LEVEL_WARNING, message);
 *     }
 *     ...
 *     tarn_set_log(TARN_LOG_LEVEL_INFO, note, my_log);
 *
 * Messages.
 *  - WARNING: the vendor refuses memory, or refuses to take memory back; an allocation fails for memory.
 *  - INFO: a pool begins or ends, grows, or gives memory back; a capture begins, ends or is released; a pool meets more
 *    streams than it has numbers for.
 * Their text may change with each version. A pool that passes through tells no growth, since each allocation is one.
 *
 * The table has a line for each pool: its allocations, the most that was live and held, its calls of the vendor for memory,
 * its failures, and what is still live. It is written when all functions of atexit and all destructors of the program
 * have run. A process that ends by _exit or a signal writes none. "The table at the end" has the rest.
 *
 * Cost: an allocation or free that the pool serves from what it holds costs nothing more, whatever the level. With the
 * level OFF nothing is formatted. docs/semantics.md, "The log", shows messages.
 */
#ifndef TARN_LOG_H
#define TARN_LOG_H

#include "tarn/export.h"
#include "tarn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How much is told: a level, and all before it. */
typedef enum tarn_log_level {
    TARN_LOG_LEVEL_OFF = 0,
    TARN_LOG_LEVEL_WARNING = 1,
    TARN_LOG_LEVEL_INFO = 2
} tarn_log_level;

/*
 * Takes a message: one line of UTF-8 without a line break, valid until the function returns.
 *
 * The function may call tarn, but must not end a pool. It must return: neither longjmp nor an exception may leave it.
 * Messages that arise in its own calls are dropped.
 * Threads: runs in the thread whose call the message is about, with no lock of tarn held, before that call
 * returns. Several may run at once. The status, the outputs and tarn_last_error() of the call are as without it.
 */
typedef void (*tarn_log_function)(void *user, tarn_log_level level, const char *message);

/*
 * Sets the level, and the function that takes the messages of all pools of the process. NULL: lines on standard error,
 * "tarn: ..." and "tarn: warning: ...". TARN_LOG in the environment has no effect from then on. A forked child goes on
 * with both.
 * Status:
 *  - INVALID_ARGUMENT: there is no such level.
 *  - OUT_OF_HOST_MEMORY: nothing has changed.
 * Threads: other threads may still be in the function that was set before when this call returns.
 */
TARN_API tarn_status tarn_set_log(tarn_log_level level, tarn_log_function function, void *user);

#ifdef __cplusplus
}
#endif

#endif
