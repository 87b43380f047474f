/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * trace_file: a text file written from beginning to end, compressed by gzip if its name ends in .gz.
 *
 * The compression is deflate with its fixed code (RFC 1951), which halves the text of a trace. The library
 * needs no other library for it; `gzip -9` makes smaller files.
 *
 * Cost: about 15 ns a byte; 90 KiB of host memory.
 */
#ifndef TN_TRACE_FILE_H
#define TN_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tn_trace_file;

/* NULL: see errno. */
struct tn_trace_file *tn_trace_file_create(const char *path);

/* Errors are reported by close. */
void tn_trace_file_write(struct tn_trace_file *file, const char *text, size_t length);

/* Ends and frees the file. Returns 0, or the errno of the first error, after which a regular file is removed.
 */
int tn_trace_file_close(struct tn_trace_file *file);

/* Frees the file; a regular file is removed. */
void tn_trace_file_abandon(struct tn_trace_file *file);

#endif
