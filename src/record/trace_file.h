/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * trace_file: a file of text that is written from its beginning to its end, compressed by gzip if its name ends
 * in .gz.
 *
 * The compression is deflate with its fixed code, after RFC 1951: text of a trace becomes half or so. The library
 * links nothing for it; `gzip -9` makes it smaller still.
 *
 * Cost: about 15 ns a byte; 90 KiB of host memory.
 */
#ifndef TN_TRACE_FILE_H
#define TN_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tn_trace_file;

/* NULL: errno says why not. */
struct tn_trace_file *tn_trace_file_create(const char *path);

/* What goes wrong is told at the end. */
void tn_trace_file_write(struct tn_trace_file *file, const char *text, size_t length);

/* Ends and forgets the file. Returns 0, or what went wrong first as in errno; then the file is gone again, if it was a
 * plain one. */
int tn_trace_file_close(struct tn_trace_file *file);

/* Forgets the file, which is gone again likewise. */
void tn_trace_file_abandon(struct tn_trace_file *file);

#endif
