/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * event_file: a file of events during recording. flock locks it as long as the process writes, so that no
 * other recording takes it for an abandoned file. On file systems without locks, as on some clusters, an
 * existing file is left alone.
 *
 * Room on the disk is reserved before it is mapped: writing a mapped page without room would kill the
 * process. Only the writers' live chunks are mapped, and they stay mapped: touching new pages costs more than
 * a copy, above all on a disk.
 *
 * A program may close descriptors that it does not know, and reuse their numbers. So each write and close
 * first checks that the descriptor is still the file's.
 *
 * Threads: any may add chunks; one at a time may open and close.
 */
#ifndef TN_EVENT_FILE_H
#define TN_EVENT_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/status.h"

#include "event.h"

struct tn_event_file {
    int descriptor;                      /* -1: not open */
    uint64_t device, inode;              /* of the file, to check the descriptor */
    struct tn_event_file_header *header; /* mapped */
    _Atomic uint64_t chunk_count;        /* chunks taken, even if there was no room for them */
    atomic_bool is_full;
};

/* Opens the file. If `path` exists: FILE_ERROR with is_exclusive, otherwise a regular file, or a link to one, that no
 * process writes becomes `path`.old. FILE_ERROR: it cannot be created or mapped, or another recording writes it. */
tarn_status tn_event_file_open(struct tn_event_file *file, const char *path, const char *source,
                               bool is_exclusive);

/* Returns a mapped, empty live chunk for the writer, which forked children do not inherit. NULL, now and from
 * then on: there is no room, or the descriptor is gone. Not a cancellation point. */
struct tn_event_chunk *tn_event_file_add_chunk(struct tn_event_file *file, uint64_t writer);

/* Copies a full chunk to the end of the file and empties it. False, with the chunk unchanged, now and from
 * then on: there is no room, or the descriptor is gone. Not a cancellation point. */
bool tn_event_file_turn_chunk(struct tn_event_file *file, struct tn_event_chunk *chunk);

/* Unmaps a chunk, which stays in the file. NULL is allowed. */
void tn_event_file_leave_chunk(struct tn_event_chunk *chunk);

uint64_t tn_event_file_bytes(const struct tn_event_file *file);

/* Unmaps and closes the file, which stays. */
void tn_event_file_close(struct tn_event_file *file);

/* Forgets the file in a forked child, without touching it: the parent continues it. */
void tn_event_file_forget(struct tn_event_file *file);

#endif
