/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * variable_names: all names of environment variables that begin with TARN_ and mean something: to the library, or to
 * tarn's tools, tests and build. A variable that is read for the first time must be added to the list in
 * variable_names.c; the test api.known_variables finds names that are missing there.
 *
 * Threads: any, while no other thread changes the environment. Cost: the check looks at all of the environment, once.
 */
#ifndef TN_VARIABLE_NAMES_H
#define TN_VARIABLE_NAMES_H

#include <stdbool.h>

/* Whether a variable of that name means something, or may belong to an installation: TARN_ROOT and the like. */
bool tn_variable_name_is_known(const char *name);

/* The variable of a process with pools whose name is nearest to a misspelt one. NULL: none is near. */
const char *tn_variable_name_nearest(const char *name);

/* At the first call in a process, names on standard error each variable that is set, begins with TARN_ and is not known;
 * but not with TARN_LOG=off. */
void tn_variable_names_check(void);

#endif
