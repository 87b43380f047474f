/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* shell: commands of a test and what they print, which is in the file `output` of the current folder. */
#ifndef TEST_SHELL_H
#define TEST_SHELL_H

/* Sets what stands before each command: assignments such as "p='/folder'; ". The text must stay. */
void begin_commands_with(const char *assignments);

/* Runs a command in sh, and expects this exit status. A command that was killed has 128 + the signal's number. */
void expect_exit(int status, const char *command);

/* What the last command printed. */
const char *read_output(void);
void expect_output(const char *part);
void expect_no_output(const char *part);

#endif
