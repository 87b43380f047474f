/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* event_reader: sorts chunks into runs, sorts the events of each run, and merges the runs with a heap. */
#include "event_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host_memory.h"

#include "number_map.h"

static uint64_t time_at(const struct tn_event_run *run, uint64_t index)
{
    return tn_event_time_ns(tn_event_stamp_of(tn_event_run_at(run, index)));
}

/* --- the file --------------------------------------------------------------------------------------- */

/* Without locks this is unknown, and the answer is no. */
static bool is_being_written(int descriptor)
{
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

static bool map_file(struct tn_event_reader *reader, const char *path, int descriptor,
                     struct tn_failure *failure)
{
    struct stat status;
    if (is_being_written(descriptor))
        return tn_failure_set(failure, "%s is still being written by a running process", path);
    if (fstat(descriptor, &status) != 0)
        return tn_failure_set(failure, "%s cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode) || status.st_size < TN_EVENT_FILE_HEADER_BYTES)
        return tn_failure_set(failure, "%s is not a file of events", path);
    reader->content_bytes = (size_t)status.st_size;
    void *content = mmap(NULL, reader->content_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
    if (content == MAP_FAILED)
        return tn_failure_set(failure, "%s cannot be mapped: %s", path, strerror(errno));
    reader->content = content;
    reader->header = content;
    return true;
}

static bool check_header(const struct tn_event_reader *reader, const char *path,
                         struct tn_failure *failure)
{
    const struct tn_event_file_header *header = reader->header;
    if (memcmp(header->magic, TN_EVENT_FILE_MAGIC, sizeof TN_EVENT_FILE_MAGIC) != 0)
        return tn_failure_set(failure, "%s is not a file of events", path);
    if (header->event_bytes != sizeof(struct tn_event) ||
        header->chunk_bytes != TN_EVENT_CHUNK_BYTES ||
        !memchr(header->name, '\0', sizeof header->name) ||
        !memchr(header->source, '\0', sizeof header->source))
        return tn_failure_set(failure, "%s has events of an unknown format", path);
    return true;
}

/* --- runs ------------------------------------------------------------------------------------------- */

/* Returns the writer's run, and creates it if needed. NULL: no memory. */
static struct tn_event_run *run_of(struct tn_event_reader *reader, struct tn_number_map *run_map,
                                   uint64_t writer)
{
    uint64_t index;
    if (tn_number_map_find(run_map, writer, &index)) return &reader->runs[index];
    void *runs = reader->runs;
    bool has_room = tn_host_memory_grow_array(&runs, &reader->run_capacity, reader->run_count,
                                              reader->run_count + 1, sizeof *reader->runs);
    reader->runs = runs;
    if (!has_room || !tn_number_map_insert(run_map, writer, reader->run_count)) return NULL;
    struct tn_event_run *run = &reader->runs[reader->run_count++];
    memset(run, 0, sizeof *run);
    return run;
}

static bool is_ready(const struct tn_event_chunk *chunk)
{
    return atomic_load_explicit(&chunk->ready, memory_order_relaxed) == TN_EVENT_CHUNK_READY;
}

static bool append_chunk(struct tn_event_run *run, struct tn_event_chunk *chunk)
{
    void *chunks = run->chunks;
    bool has_room = tn_host_memory_grow_array(&chunks, &run->chunk_capacity, run->chunk_count,
                                              run->chunk_count + 1, sizeof(void *));
    run->chunks = chunks;
    if (has_room) run->chunks[run->chunk_count++] = chunk;
    return has_room;
}

/* A writer's first chunk is its live one. */
static bool add_chunk(struct tn_event_run *run, struct tn_event_chunk *chunk)
{
    if (!run->live) {
        run->live = chunk;
        return true;
    }
    return chunk->number != run->chunk_count || append_chunk(run, chunk);
}

/* Appends the live chunk to the copies, or replaces an incomplete copy by it, and counts the events. */
static bool end_run(struct tn_event_run *run)
{
    uint64_t number = run->live->number;
    bool is_copied = run->chunk_count > 0 && number == run->chunk_count - 1;
    if (is_ready(run->live) && is_copied) run->chunks[run->chunk_count - 1] = run->live;
    if (is_ready(run->live) && number == run->chunk_count && !append_chunk(run, run->live))
        return false;
    if (run->chunk_count == 0) return true;
    run->count = (uint64_t)(run->chunk_count - 1) * TN_EVENTS_PER_CHUNK;
    const struct tn_event_chunk *last = run->chunks[run->chunk_count - 1];
    for (size_t i = 0; i < TN_EVENTS_PER_CHUNK && tn_event_stamp_of(&last->events[i]) != 0; i++)
        run->count++;
    return true;
}

static bool gather_runs(struct tn_event_reader *reader)
{
    struct tn_number_map run_map = { NULL, 0, 0 };
    bool has_memory = true;
    for (size_t offset = TN_EVENT_FILE_HEADER_BYTES;
         has_memory && offset + TN_EVENT_CHUNK_BYTES <= reader->content_bytes;
         offset += TN_EVENT_CHUNK_BYTES) {
        struct tn_event_chunk *chunk = (void *)(reader->content + offset);
        /* A live chunk may be about to be emptied, but always has its writer. Writers count from 1. */
        if (chunk->writer == 0) continue;
        struct tn_event_run *run = run_of(reader, &run_map, chunk->writer);
        has_memory = run && add_chunk(run, chunk);
    }
    tn_number_map_fini(&run_map);
    for (uint32_t i = 0; has_memory && i < reader->run_count; i++)
        has_memory = end_run(&reader->runs[i]);
    return has_memory;
}

/* --- order in a run --------------------------------------------------------------------------------- */

/* Events are out of order by a few places, so few of them move further. A damaged file may have any order. */
#define MOVES_PER_EVENT 8

/* An event as it is sorted, with its place, which decides among equal times. */
struct sorted_event {
    uint64_t address;
    uint64_t size_bytes;
    uint64_t stream;
    uint64_t stamp;
    uint64_t place;
};

static struct sorted_event take_out(const struct tn_event *event, uint64_t place)
{
    return (struct sorted_event){ event->address, event->size_bytes, event->stream,
                                  tn_event_stamp_of(event), place };
}

static void put_in(struct tn_event *event, const struct sorted_event *sorted)
{
    event->address = sorted->address;
    event->size_bytes = sorted->size_bytes;
    event->stream = sorted->stream;
    atomic_store_explicit(&event->stamp, sorted->stamp, memory_order_relaxed);
}

static int compare_sorted(const void *left, const void *right)
{
    const struct sorted_event *a = left, *b = right;
    uint64_t time_a = tn_event_time_ns(a->stamp), time_b = tn_event_time_ns(b->stamp);
    if (time_a != time_b) return time_a < time_b ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* Insertion sort of the events from `first` to before `end`. False: too many are far from their places. The moves
 * made by then keep events of equal times in their order. */
static bool sort_by_insertion(const struct tn_event_run *run, uint64_t first, uint64_t end)
{
    uint64_t moves_left = MOVES_PER_EVENT * (end - first);
    for (uint64_t i = first + 1; i < end; i++) {
        uint64_t time_ns = time_at(run, i), place = i;
        if (time_ns >= time_at(run, i - 1)) continue;
        const struct sorted_event moved = take_out(tn_event_run_at(run, i), 0);
        for (; place > first && moves_left > 0 && time_ns < time_at(run, place - 1); place--) {
            const struct sorted_event before = take_out(tn_event_run_at(run, place - 1), 0);
            put_in(tn_event_run_at(run, place), &before);
            moves_left--;
        }
        put_in(tn_event_run_at(run, place), &moved);
        if (moves_left == 0) return false;
    }
    return true;
}

/* Sorts copies: O(n log n) whatever the order was. False: no host memory. */
static bool sort_copies(const struct tn_event_run *run, uint64_t first, uint64_t end)
{
    size_t count = (size_t)(end - first);
    struct sorted_event *copies = tn_host_memory_alloc(count * sizeof *copies);
    if (!copies) return false;
    for (size_t i = 0; i < count; i++)
        copies[i] = take_out(tn_event_run_at(run, first + i), i);
    qsort(copies, count, sizeof *copies, compare_sorted);
    for (size_t i = 0; i < count; i++)
        put_in(tn_event_run_at(run, first + i), &copies[i]);
    tn_host_memory_free(copies);
    return true;
}

static bool is_thread(const struct tn_event_run *run, uint64_t index)
{
    return tn_event_kind_of(tn_event_stamp_of(tn_event_run_at(run, index))) == TN_EVENT_THREAD;
}

/* The writer's next thread cannot have begun after its own event. */
static void begin_thread_by(struct tn_event *thread, uint64_t time_ns)
{
    if (tn_event_time_ns(tn_event_stamp_of(thread)) <= time_ns) return;
    atomic_store_explicit(&thread->stamp, tn_event_stamp(time_ns, TN_EVENT_THREAD),
                          memory_order_relaxed);
}

/* After a crash of the machine, pages of the file that were not written are zero. An event there becomes NONE,
 * with the latest time before it. */
static void replace_if_empty(struct tn_event *event, uint64_t time_ns)
{
    if (tn_event_stamp_of(event) != 0) return;
    atomic_store_explicit(&event->stamp, tn_event_stamp(time_ns, TN_EVENT_NONE),
                          memory_order_relaxed);
}

static void replace_empty(const struct tn_event_run *run)
{
    uint64_t latest_ns = 0;
    for (uint64_t i = 0; i < run->count; i++) {
        replace_if_empty(tn_event_run_at(run, i), latest_ns);
        if (time_at(run, i) > latest_ns) latest_ns = time_at(run, i);
    }
}

/* Events stay behind the THREAD event before them. False: no host memory. */
static bool sort_run(const struct tn_event_run *run)
{
    replace_empty(run);
    for (uint64_t first = 0, end; first < run->count; first = end + 1) {
        for (end = first; end < run->count && !is_thread(run, end);)
            end++;
        if (end == first) continue;
        if (!sort_by_insertion(run, first, end) && !sort_copies(run, first, end)) return false;
        if (first > 0) begin_thread_by(tn_event_run_at(run, first - 1), time_at(run, first));
    }
    return true;
}

/* --- heap ------------------------------------------------------------------------------------------- */

static bool comes_before(const struct tn_event_reader *reader, uint32_t left, uint32_t right)
{
    const struct tn_event_run *a = &reader->runs[left], *b = &reader->runs[right];
    uint64_t time_a = time_at(a, a->next), time_b = time_at(b, b->next);
    return time_a != time_b ? time_a < time_b : left < right;
}

static void sift_down(struct tn_event_reader *reader, uint32_t place)
{
    uint32_t *heap = reader->heap;
    for (;;) {
        uint32_t least = place;
        for (uint32_t child = 2 * place + 1; child <= 2 * place + 2; child++) {
            if (child < reader->heap_count && comes_before(reader, heap[child], heap[least]))
                least = child;
        }
        if (least == place) return;
        uint32_t moved = heap[place];
        heap[place] = heap[least];
        heap[least] = moved;
        place = least;
    }
}

static bool build_heap(struct tn_event_reader *reader)
{
    if (reader->run_count == 0) return true;
    reader->heap = tn_host_memory_alloc(reader->run_count * sizeof *reader->heap);
    if (!reader->heap) return false;
    for (uint32_t i = 0; i < reader->run_count; i++)
        if (reader->runs[i].count > 0) reader->heap[reader->heap_count++] = i;
    for (uint32_t place = reader->heap_count / 2; place-- > 0;)
        sift_down(reader, place);
    return true;
}

struct tn_event_run *tn_event_reader_first(struct tn_event_reader *reader)
{
    return reader->heap_count > 0 ? &reader->runs[reader->heap[0]] : NULL;
}

void tn_event_reader_advance(struct tn_event_reader *reader)
{
    struct tn_event_run *run = &reader->runs[reader->heap[0]];
    if (++run->next == run->count) reader->heap[0] = reader->heap[--reader->heap_count];
    sift_down(reader, 0);
}

/* --- open and close --------------------------------------------------------------------------------- */

/* False: no host memory. */
static bool put_in_order(struct tn_event_reader *reader)
{
    bool has_memory = gather_runs(reader);
    for (uint32_t i = 0; has_memory && i < reader->run_count; i++)
        has_memory = sort_run(&reader->runs[i]);
    return has_memory && build_heap(reader);
}

bool tn_event_reader_open(struct tn_event_reader *reader, const char *path,
                          struct tn_failure *failure)
{
    *reader = (struct tn_event_reader){ 0 };
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return tn_failure_set(failure, "%s cannot be read: %s", path, strerror(errno));
    bool is_read = map_file(reader, path, descriptor, failure);
    close(descriptor);
    is_read = is_read && check_header(reader, path, failure);
    if (is_read && !put_in_order(reader))
        is_read = tn_failure_set(failure, "the host has no memory to read %s", path);
    if (!is_read) tn_event_reader_close(reader);
    return is_read;
}

void tn_event_reader_close(struct tn_event_reader *reader)
{
    for (uint32_t i = 0; i < reader->run_count; i++) {
        tn_host_memory_free(reader->runs[i].chunks);
        tn_host_memory_free(reader->runs[i].label);
    }
    tn_host_memory_free(reader->runs);
    tn_host_memory_free(reader->heap);
    if (reader->content) munmap(reader->content, reader->content_bytes);
    *reader = (struct tn_event_reader){ 0 };
}
