/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * program_check: programs that the loader would start without the preloaded library. It is silent about that, so such a
 * program would run without tarn, and the user would not know.
 *
 * Threads: one.
 */
#ifndef TN_PROGRAM_CHECK_H
#define TN_PROGRAM_CHECK_H

/*
 * Returns a sentence from malloc that says why the library cannot be preloaded into a command. NULL: nothing is known
 * against it. That is so, too, for a command that cannot be run; running it tells why.
 *
 * The command is searched for in PATH, as by execvp. Of a script its interpreter counts. The library is the path of the
 * one to preload. These are refused:
 * - programs without a dynamic loader: they are statically linked;
 * - programs of another processor or word size than the library's;
 * - programs that run with more rights than the user's, for which the loader ignores LD_PRELOAD.
 *
 * If the program starts other programs, those are not checked.
 */
char *tn_program_check(const char *command, const char *library);

#endif
