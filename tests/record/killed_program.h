/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* killed_program: how many threads it has that count. */
#ifndef TEST_KILLED_PROGRAM_H
#define TEST_KILLED_PROGRAM_H

#define KILLED_THREADS 3

#endif
