/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scratch: files for one test program, in a folder of its own that goes away with it. A call that
 * fails ends the program: the machine is then unfit for the test. */
#ifndef TN_SCRATCH_H
#define TN_SCRATCH_H

#include <stddef.h>

/* A group setup and teardown for cmocka. */
int scratch_create(void **state);
int scratch_destroy(void **state);

/* The path of a file in the folder. Valid until the folder goes. */
const char *scratch_path(const char *name);

/* Writes a file and returns its path, as above. */
const char *scratch_write(const char *name, const char *text, size_t length);
const char *scratch_write_text(const char *name, const char *text);
const char *scratch_write_gzip(const char *name, const char *text);

/* Cuts `bytes` off the end of a file. */
void scratch_cut(const char *path, size_t bytes);

/* Changes the byte that lies `bytes` before the end. */
void scratch_damage(const char *path, size_t bytes);

/* The whole file as text. The caller frees it. */
char *scratch_read(const char *path);

#endif
