/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stream_reuse: when a stream may have memory that was freed on another stream.
 *
 *     stream a    ── kernel on x ── free x ─── kernel ─── ●          an event is recorded here when b wants x,
 *                                                         ╎          not before
 *     stream b    ── kernel ────────────────── alloc ──── ◄ ── kernel on x
 *
 * A pool that has seen one stream has no table: work on one stream runs in order, so the stream may have
 * every free region. With the second stream the pool divides its free regions into those that wait for
 * nothing and those of each stream. See dependency.h.
 *
 * On a callers' stream only a call that names the stream can record. Memory that was freed there is not for
 * other streams until the pool has recorded there, or has waited for the device:
 *
 *     a thread's own stream             the thread records, at its first call after another stream wants it
 *     a stream that ends unannounced    each free records
 *
 * Three files: stream_known.c introduces and retires streams; stream_evict.c makes room for more streams than there are
 * numbers; stream_reuse.c records, polls, and makes streams wait.
 *
 * Requires: growth_lock, except where a function says otherwise. The functions take the pool's lock
 * themselves. They call the vendor without it, because the vendor may wait for a user's function that frees.
 * Cost: that of the vendor's calls.
 */
#ifndef TN_STREAM_REUSE_H
#define TN_STREAM_REUSE_H

#include "../serve/pool_streams.h"

/* The free sets, a bit each, of which a stream may have any region without a wait. */
static inline uint64_t tn_pool_own_sets(uint32_t stream)
{
    const uint64_t idle = TN_FREE_SETS_IDLE;
    return stream == TN_STREAM_NONE ? idle : idle | (uint64_t)1 << tn_free_set_of_stream(stream);
}

/* --- stream_known.c: streams begin and end ------------------------------------------------------ */

/* Makes streams known that the pool does not know, and checks those that may have ended. The caller names the
 * streams, so their handles are good until the call returns. Returns OK; INVALID_ARGUMENT: a stream is of
 * another device; OUT_OF_HOST_MEMORY, also when there are too many streams at once; or the vendor's status.
 * On failure *refused_out is the stream. */
tarn_backend_result tn_stream_reuse_introduce(struct tarn_pool *pool, const tarn_stream *streams,
                                              size_t stream_count, tarn_stream *refused_out);

/* Does so with the streams and with those that the allocation at the address is used on, see pool_uses.h. A use of
 * another thread's own stream is introduced by its name, without a vendor call. */
tarn_backend_result tn_stream_reuse_introduce_users(struct tarn_pool *pool, uintptr_t address,
                                                    const tarn_stream *streams, size_t stream_count,
                                                    tarn_stream *refused_out);

/* Reports why a stream could not be introduced. */
tarn_status tn_stream_reuse_fail(const struct tarn_pool *pool, tarn_stream stream,
                                 tarn_backend_result result);

/* Makes sure that the pool has a table, even with one stream. False: no host memory. */
bool tn_stream_reuse_divide(struct tarn_pool *pool);

/* The handle ends: records memory that was freed on the stream, or is used there. Returns OK; NOT_READY: the stream is being
 * captured; OUT_OF_HOST_MEMORY: nothing has changed; or VENDOR_ERROR: memory that was freed on the stream is
 * lost. */
tarn_backend_result tn_stream_reuse_retire(struct tarn_pool *pool, tarn_stream handle);

/* --- stream_reuse.c: records and waits ---------------------------------------------------------- */

/* Finds out which records have completed. True: some memory waits for less than before. */
bool tn_stream_reuse_poll(struct tarn_pool *pool);

/* Does so for some of the records: as far as they have completed in the order of their times, and in fewer and fewer
 * calls while none has. At most one query of it finds work that is not done. */
bool tn_stream_reuse_poll_sparingly(struct tarn_pool *pool);

/* The number of unnamed frees, as a bit, if records cover all of them; else 0. See any_stream.h. */
uint32_t tn_stream_reuse_any_frees(const struct tarn_pool *pool);

/* The number under which unnamed frees wait, or TN_STREAM_NONE. */
uint32_t tn_stream_reuse_find_unnamed(const struct tarn_pool *pool);

/* Does tn_stream_reuse_poll for unnamed frees alone. */
bool tn_stream_reuse_poll_unnamed(struct tarn_pool *pool);

/* After so many looks in a row, of which none has found anything complete, a thread has waited for some 50 ms. */
#define TN_STREAM_LOOKS_MAX 300

/* Between two looks: if the oldest record of unnamed frees has not completed, the calling thread lets growth_lock go, and
 * sleeps if it has looked often. False: it has completed, or the vendor does not tell, or there is none. */
bool tn_stream_reuse_pause(struct tarn_pool *pool, unsigned look);

/* Records on every known stream that free memory of the pool's own part waits for, and on `streams`, a bit each, and
 * polls. Afterwards nothing of that waits for streams whose work has all completed. Arenas keep what they have, and learn of
 * it by tn_arena_note_completed. */
void tn_stream_reuse_settle(struct tarn_pool *pool, uint32_t streams);

/* Whether the device has done all work that was submitted to it before the call. False: it has not, or the vendor does not
 * tell without a wait, or a capture of the process is under way. */
bool tn_stream_reuse_is_device_idle(struct tarn_pool *pool);

/* Waits for the device, in the calling thread. Afterwards memory that was freed before waits for nothing.
 * False: nothing was pending, a stream is being captured, or the vendor cannot. */
bool tn_stream_reuse_synchronize(struct tarn_pool *pool);

/* The streams, a bit each, that another stream can be made to wait for, whatever was freed there and when.
 * Also requires the pool's lock. */
uint32_t tn_stream_reuse_reachable(const struct tarn_pool *pool);

/* Those of the streams, a bit each, that another stream cannot be made to wait for up to that time: all but
 * callers' streams with a record that covers it. Also requires the pool's lock. */
uint32_t tn_stream_reuse_unrecorded(const struct tarn_pool *pool, uint32_t streams, uint32_t time);

/* Asks for records on all other callers' streams on which memory was freed that is not recorded. Also
 * requires the pool's lock, and the arenas gathered. */
void tn_stream_reuse_want(struct tarn_pool *pool, uint32_t stream);

/* Records on the callers' streams among these where another stream asked for it. After a free of freed_bytes, in a pool
 * whose streams end unannounced, records on all of them. Unnamed frees are recorded when a part of the pool has come
 * together. freed_bytes is 0 if nothing was freed, and SIZE_MAX if the record may not come later. This call has introduced the streams. */
void tn_stream_reuse_record_callers(struct tarn_pool *pool, const tarn_stream *streams,
                                    size_t stream_count, size_t freed_bytes);

/* Records unnamed frees that are not recorded yet, but not while a stream is captured. True: it has recorded. */
bool tn_stream_reuse_record_unnamed(struct tarn_pool *pool);

/* Whether the newest record of unnamed frees was made so, and covers work that was submitted after them. */
bool tn_stream_reuse_is_late(const struct tarn_pool *pool);

/* Makes the stream wait for the dependency, all of whose streams must be reachable or recorded. At most one
 * record and one wait for each stream that it has not waited for yet. Returns OK; NOT_SUPPORTED: the vendor
 * has no events; NOT_READY: times have begun anew, and a record is missing that cannot be made here; or the
 * vendor's status. */
tarn_backend_result tn_stream_reuse_order(struct tarn_pool *pool, tarn_stream handle,
                                          struct tn_dependency dependency);

/* Gives up the table and the events at the end of the pool, even if work is under way. Requires no lock. */
void tn_stream_reuse_fini(struct tarn_pool *pool);

/* Gives up the table at the end of the pool, without a vendor call. Requires no lock. */
void tn_stream_reuse_abandon(struct tarn_pool *pool);

/* --- stream_evict.c, for the other two ----------------------------------------------------------- */

/* Makes room for one more stream or capture: forgets idle streams, or evicts one. Does so with the kept streams last,
 * a bit each, and takes them out then. False: no host memory, or captures have all numbers. */
bool tn_stream_evict_make_room(struct tarn_pool *pool, uint32_t *kept_streams);

/* If the stream was evicted, and nothing could be recorded on it, records now: its handle is good. Does nothing with
 * another thread's own stream. */
void tn_stream_evict_record_named(struct tarn_pool *pool, struct tn_stream_name name);

/* The handle ends. False: memory waits for the stream, and nothing can be recorded on it. */
bool tn_stream_evict_retire(struct tarn_pool *pool, struct tn_stream_name name);

/* Whether a stream can be made to wait for all evicted streams. */
bool tn_stream_evict_are_recorded(const struct tarn_pool *pool);

/* Makes a stream wait for the streams that were evicted up to a time. Returns the vendor's status. */
tarn_backend_result tn_stream_evict_order(struct tarn_pool *pool, tarn_stream handle,
                                          uint32_t stream, uint32_t time);

/* Finds out which evicted streams have completed their work. True: some have. */
bool tn_stream_evict_poll(struct tarn_pool *pool);

/* The device has finished all work. False: there were no evicted streams. */
bool tn_stream_evict_complete_all(struct tarn_pool *pool);

/* Gives the events of evicted streams up. */
void tn_stream_evict_fini(struct tarn_pool *pool);

/* --- stream_reuse.c, for the other two ------------------------------------------------------------ */

/* Whether the vendor has all operations on events. */
bool tn_stream_reuse_has_events(const struct tarn_pool *pool);

/* Takes an event that nothing is recorded on. Returns OK, or the vendor's status. */
tarn_backend_result tn_stream_reuse_take_event(struct tarn_pool *pool, tarn_event *event_out);
void tn_stream_reuse_give_event_back(struct tarn_pool *pool, tarn_event event);

void tn_stream_reuse_forget_records(struct tarn_pool *pool, struct tn_stream_entry *entry);

/* Does tn_stream_reuse_poll, except for evicted streams. */
bool tn_stream_reuse_poll_numbers(struct tarn_pool *pool);

/* If the pool's time has come to its end, all times begin anew. */
void tn_stream_reuse_begin_anew_if_due(struct tarn_pool *pool);

/* Nothing depends on these streams any more, a bit each, up to that time. True: a slice did. Also requires the pool's
 * lock, and the arenas gathered. */
bool tn_stream_reuse_complete(struct tarn_pool *pool, uint32_t streams, uint32_t time);

/* Records on the stream if free memory may depend on it. Returns OK; NOT_SUPPORTED: the vendor has no events;
 * or the vendor's status. */
tarn_backend_result tn_stream_reuse_record_needed(struct tarn_pool *pool, uint32_t stream);

/* The stream has ended. is_recorded: its newest record, if it has one, covers all memory that was freed
 * there; else that memory is lost. Polls the stream. */
void tn_stream_reuse_end(struct tarn_pool *pool, uint32_t stream, bool is_recorded);

/* Gives the number of a stream back, unless free memory may depend on the stream. */
void tn_stream_reuse_forget_idle(struct tarn_pool *pool, uint32_t stream);

#endif
