/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * event_file: a file of events while it is written. It is locked, by flock, for as long as the process writes, so
 * that nobody takes it for one that was left behind. Where there are no locks, as on some clusters' disks, one that is
 * there already is left alone.
 *
 * Room on the disk is reserved before it is mapped: a mapped page for which there is none would end the process
 * when it is written. What is mapped is the chunks that writers are at, and stays so: pages that are touched for the
 * first time cost more than a copy, the more so on a disk.
 *
 * A program may close all descriptors that it does not know, and open others in their places. So nothing is written
 * or closed by the descriptor that has not been seen to be still the file's.
 *
 * Threads: any may add chunks; opening and closing is for one at a time.
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
    uint64_t device, inode;              /* that the descriptor has to be of */
    struct tn_event_file_header *header; /* mapped */
    _Atomic uint64_t chunk_count;        /* those taken, whether there was room for them or not */
    atomic_bool is_full;
};

/* FILE_ERROR. With is_exclusive a file that is there already is an error; otherwise one that
 * nobody writes any more becomes `path`.old. */
tarn_status tn_event_file_open(struct tn_event_file *file, const char *path, const char *source,
                               bool is_exclusive);

/* A live chunk for the writer, mapped and empty, and not for forked children; NULL when there is no room or the
 * descriptor is gone, and from then on. No point at which the thread can be cancelled, as the next. */
struct tn_event_chunk *tn_event_file_add_chunk(struct tn_event_file *file, uint64_t writer);

/* Copies what is full to the end of the file, and empties it. False as above: it stays as it is. */
bool tn_event_file_turn_chunk(struct tn_event_file *file, struct tn_event_chunk *chunk);

/* Unmaps a chunk, which stays in the file. NULL is allowed. */
void tn_event_file_leave_chunk(struct tn_event_chunk *chunk);

uint64_t tn_event_file_bytes(const struct tn_event_file *file);

/* Lets go of it; the file stays. */
void tn_event_file_close(struct tn_event_file *file);

/* The same in a forked child, whose parent goes on with it: nothing of the file is touched. */
void tn_event_file_forget(struct tn_event_file *file);

#endif
