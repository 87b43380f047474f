/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* trace_writer: turns ordered events into lines, with tables of live allocations. */
#include "trace_writer.h"

#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host_memory.h"
#include "record/recorder.h"

#include "event_reader.h"
#include "number_map.h"

/* How many passes over the events of one moment. Each pass does the events that are possible by then. */
#define MOMENT_PASSES_MAX 8

/* The longest key is "label: " with a number of 20 digits. */
#define KEY_BYTES_MAX 28

/* An event of the moment that is being written. */
struct pending {
    uint64_t address;
    uint64_t size_bytes;
    uint64_t stream;
    uint64_t thread;
    enum tn_event_kind kind;
    bool is_done;
    char *label; /* or NULL */
};

struct trace_writer {
    struct tn_event_reader reader;
    const struct tn_trace_sink *sink;
    bool is_wanted;               /* the sink takes lines */
    struct tn_number_map live;    /* from addresses to ids */
    bool has_ordered;             /* from the first GONE event on: */
    void *ordered;                /* a tree of the addresses in `live`, of the C library's */
    struct tn_number_map threads; /* from the process's thread numbers to the trace's */
    struct tn_number_map streams; /* from handles to the trace's numbers */
    struct pending *moment;
    uint32_t moment_count;
    uint32_t moment_capacity;
    uint64_t time_ns; /* of the moment */
    uint64_t next_id;
    bool has_memory;
    struct tn_trace_summary summary;
};

/* --- lines ------------------------------------------------------------------------------------------ */

static void give_line(struct trace_writer *writer, const char *line, size_t length)
{
    writer->is_wanted = writer->is_wanted && writer->sink->take(writer->sink->to, line, length);
}

static char *append_number(char *end, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0)
        *end++ = digits[--count];
    return end;
}

static void write_line(struct trace_writer *writer, char kind, const uint64_t *numbers,
                       size_t count)
{
    char line[5 * 21 + 2];
    char *end = line;
    *end++ = kind;
    for (size_t i = 0; i < count; i++) {
        *end++ = ' ';
        end = append_number(end, numbers[i]);
    }
    *end++ = '\n';
    give_line(writer, line, (size_t)(end - line));
}

/* Texts come from outside: control characters, which would end the line or are unreadable, become question
 * marks. */
static void write_key(struct trace_writer *writer, const char *key, const char *text)
{
    char line[KEY_BYTES_MAX + TN_RECORDER_LABEL_BYTES_MAX + 4];
    int length = snprintf(line, sizeof line, "# %s %.*s", key, TN_RECORDER_LABEL_BYTES_MAX, text);
    for (int i = 0; i < length; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f) line[i] = '?';
    line[length++] = '\n';
    give_line(writer, line, (size_t)length);
}

static void write_key_number(struct trace_writer *writer, const char *key, uint64_t number)
{
    char text[21];
    *append_number(text, number) = '\0';
    write_key(writer, key, text);
}

static void write_label(struct trace_writer *writer, uint64_t id, const char *label)
{
    char key[KEY_BYTES_MAX] = "label: ";
    *append_number(key + strlen(key), id) = '\0';
    write_key(writer, key, label);
}

/* --- numbers ---------------------------------------------------------------------------------------- */

static uint64_t small_number(struct trace_writer *writer, struct tn_number_map *map, uint64_t key,
                             uint64_t next)
{
    uint64_t number = next;
    if (!tn_number_map_find(map, key, &number) && !tn_number_map_insert(map, key, next))
        writer->has_memory = false;
    return number;
}

static uint64_t thread_number(struct trace_writer *writer, const struct pending *event)
{
    return small_number(writer, &writer->threads, event->thread, writer->threads.count);
}

/* 0 is the NULL stream, whether it occurs or not. */
static uint64_t stream_number(struct trace_writer *writer, const struct pending *event)
{
    if (event->stream == 0) return 0;
    return small_number(writer, &writer->streams, event->stream, writer->streams.count + 1);
}

/* --- live addresses --------------------------------------------------------------------------------- */

/* A range of addresses has all of them for its equals. */
struct address_range {
    uint64_t address;
    uint64_t size_bytes;
};

/* The keys of the tree are the addresses themselves. */
static int compare_addresses(const void *left, const void *right)
{
    uintptr_t a = (uintptr_t)left, b = (uintptr_t)right;
    return (a > b) - (a < b);
}

static int compare_with_range(const void *left, const void *right)
{
    const struct address_range *range = left;
    uint64_t address = (uintptr_t)right;
    if (address - range->address < range->size_bytes) return 0;
    return address < range->address ? 1 : -1;
}

static void forget_address(void *address)
{
    (void)address;
}

static void add_ordered(struct trace_writer *writer, uint64_t address)
{
    if (!tsearch((const void *)(uintptr_t)address, &writer->ordered, compare_addresses))
        writer->has_memory = false;
}

static void order_live(struct trace_writer *writer)
{
    if (writer->has_ordered) return;
    writer->has_ordered = true;
    for (size_t i = 0; i < writer->live.capacity; i++) {
        const struct tn_number_map_entry *entry = &writer->live.entries[i];
        if (entry->value_plus_one != 0) add_ordered(writer, entry->key);
    }
}

static void add_live(struct trace_writer *writer, uint64_t address, uint64_t id)
{
    if (!tn_number_map_insert(&writer->live, address, id)) writer->has_memory = false;
    if (writer->has_ordered) add_ordered(writer, address);
}

/* False: nothing is live there. */
static bool take_live(struct trace_writer *writer, uint64_t address, uint64_t *id_out)
{
    if (!tn_number_map_take(&writer->live, address, id_out)) return false;
    if (writer->has_ordered)
        tdelete((const void *)(uintptr_t)address, &writer->ordered, compare_addresses);
    return true;
}

/* False: nothing in the range is live. */
static bool find_live_in(const struct trace_writer *writer, const struct address_range *range,
                         uint64_t *address_out)
{
    void *const *found = tfind(range, &writer->ordered, compare_with_range);
    if (found) *address_out = (uintptr_t)*found;
    return found != NULL;
}

/* --- events ----------------------------------------------------------------------------------------- */

static void write_free(struct trace_writer *writer, const struct pending *event, uint64_t id)
{
    const uint64_t numbers[] = { id, stream_number(writer, event), thread_number(writer, event),
                                 writer->time_ns };
    write_line(writer, 'f', numbers, 4);
    writer->summary.free_count++;
}

/* An allocation of no bytes has no address that identifies its free, so it is freed at once. */
static void do_alloc(struct trace_writer *writer, const struct pending *event)
{
    uint64_t id = writer->next_id++;
    const uint64_t numbers[] = { id, event->size_bytes, stream_number(writer, event),
                                 thread_number(writer, event), writer->time_ns };
    if (event->label) write_label(writer, id, event->label);
    write_line(writer, 'a', numbers, 5);
    writer->summary.alloc_count++;
    if (event->address == 0)
        write_free(writer, event, id);
    else
        add_live(writer, event->address, id);
}

/* False: no allocation is live there. */
static bool do_free(struct trace_writer *writer, const struct pending *event)
{
    uint64_t id;
    bool is_live = take_live(writer, event->address, &id);
    if (is_live) write_free(writer, event, id);
    return is_live;
}

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Takes the addresses in the range out of the tree. False: no host memory. */
static bool gather_gone(struct trace_writer *writer, const struct address_range *range,
                        uint64_t **addresses, uint32_t *count)
{
    uint64_t address;
    uint32_t capacity = 0;
    while (find_live_in(writer, range, &address)) {
        void *grown = *addresses;
        bool has_room =
            tn_host_memory_grow_array(&grown, &capacity, *count, *count + 1, sizeof address);
        *addresses = grown;
        if (!has_room) return false;
        (*addresses)[(*count)++] = address;
        tdelete((const void *)(uintptr_t)address, &writer->ordered, compare_addresses);
    }
    return true;
}

/* Frees by address, so that the order does not depend on the tree. */
static void do_gone(struct trace_writer *writer, const struct pending *event)
{
    const struct address_range range = { event->address, event->size_bytes };
    uint64_t *addresses = NULL;
    uint32_t count = 0;
    order_live(writer);
    if (!gather_gone(writer, &range, &addresses, &count)) writer->has_memory = false;
    if (count > 0) qsort(addresses, count, sizeof *addresses, compare_numbers);
    for (uint32_t i = 0; i < count; i++) {
        const struct pending freed = { .address = addresses[i], .thread = event->thread };
        do_free(writer, &freed);
    }
    tn_host_memory_free(addresses);
}

/* False: the event is not possible yet. */
static bool try_event(struct trace_writer *writer, struct pending *event)
{
    uint64_t id;
    switch (event->kind) {
    case TN_EVENT_ALLOC:
        if (tn_number_map_find(&writer->live, event->address, &id)) return false;
        do_alloc(writer, event);
        return true;
    case TN_EVENT_FREE:
        return do_free(writer, event);
    case TN_EVENT_GONE:
        do_gone(writer, event);
        return true;
    case TN_EVENT_NONE:
    case TN_EVENT_THREAD:
    case TN_EVENT_LABEL:
        break;
    }
    return true;
}

/* Writes an event that stayed impossible: its allocation or its free was not recorded. */
static void do_anyway(struct trace_writer *writer, struct pending *event)
{
    if (try_event(writer, event)) return;
    if (event->kind == TN_EVENT_FREE) {
        writer->summary.unknown_count++;
        return;
    }
    const struct pending missing = { .address = event->address,
                                     .stream = event->stream,
                                     .thread = event->thread };
    do_free(writer, &missing);
    do_alloc(writer, event);
}

static void write_moment(struct trace_writer *writer)
{
    bool has_changed = true, is_done = false;
    for (int pass = 0; pass < MOMENT_PASSES_MAX && has_changed && !is_done; pass++) {
        has_changed = false;
        is_done = true;
        for (uint32_t i = 0; i < writer->moment_count; i++) {
            struct pending *event = &writer->moment[i];
            if (event->is_done) continue;
            event->is_done = try_event(writer, event);
            has_changed = has_changed || event->is_done;
            is_done = is_done && event->is_done;
        }
    }
    for (uint32_t i = 0; i < writer->moment_count; i++) {
        if (!writer->moment[i].is_done) do_anyway(writer, &writer->moment[i]);
        tn_host_memory_free(writer->moment[i].label);
    }
    writer->moment_count = 0;
}

/* --- reading ---------------------------------------------------------------------------------------- */

/* Room for the text and a final zero. */
#define LABEL_ROOM (TN_RECORDER_LABEL_BYTES_MAX + TN_EVENT_LABEL_BYTES)

static void append_label(struct trace_writer *writer, struct tn_event_run *run,
                         const struct tn_event *event)
{
    if (!run->label) run->label = tn_host_memory_alloc_zeroed(LABEL_ROOM);
    if (!run->label) {
        writer->has_memory = false;
        return;
    }
    size_t length = strlen(run->label);
    if (length + TN_EVENT_LABEL_BYTES >= LABEL_ROOM) return;
    memcpy(run->label + length, &event->address, 8);
    memcpy(run->label + length + 8, &event->size_bytes, 8);
    memcpy(run->label + length + 16, &event->stream, 8);
}

static struct pending *add_pending(struct trace_writer *writer)
{
    void *moment = writer->moment;
    bool has_room =
        tn_host_memory_grow_array(&moment, &writer->moment_capacity, writer->moment_count,
                                  writer->moment_count + 1, sizeof *writer->moment);
    writer->moment = moment;
    if (!has_room) writer->has_memory = false;
    return has_room ? &writer->moment[writer->moment_count++] : NULL;
}

static void add_to_moment(struct trace_writer *writer, struct tn_event_run *run,
                          const struct tn_event *event, enum tn_event_kind kind)
{
    struct pending *added = add_pending(writer);
    if (!added) return;
    *added = (struct pending){ event->address, event->size_bytes, event->stream, run->thread, kind,
                               false,          run->label };
    run->label = NULL;
}

static void take_event(struct trace_writer *writer, struct tn_event_run *run)
{
    const struct tn_event *event = tn_event_run_at(run, run->next);
    uint64_t stamp = tn_event_stamp_of(event);
    uint64_t time_ns = tn_event_time_ns(stamp);
    if (time_ns > writer->time_ns) {
        write_moment(writer);
        writer->time_ns = time_ns;
    }
    switch (tn_event_kind_of(stamp)) {
    case TN_EVENT_THREAD:
        run->thread = event->address;
        break;
    case TN_EVENT_LABEL:
        append_label(writer, run, event);
        break;
    case TN_EVENT_ALLOC:
    case TN_EVENT_FREE:
    case TN_EVENT_GONE:
        add_to_moment(writer, run, event, tn_event_kind_of(stamp));
        break;
    case TN_EVENT_NONE:
        break;
    }
}

static void write_events(struct trace_writer *writer)
{
    struct tn_event_run *run;
    while (writer->has_memory && writer->is_wanted &&
           (run = tn_event_reader_first(&writer->reader)) != NULL) {
        take_event(writer, run);
        tn_event_reader_advance(&writer->reader);
    }
    write_moment(writer);
}

/* --- the whole trace -------------------------------------------------------------------------------- */

static void write_head(struct trace_writer *writer)
{
    static const char first_line[] = "# tarn-trace 1\n";
    give_line(writer, first_line, sizeof first_line - 1);
    write_key(writer, "name:", writer->reader.header->name);
    write_key(writer, "recorded:", writer->reader.header->source);
}

static void summarize(struct trace_writer *writer)
{
    const struct tn_event_file_header *header = writer->reader.header;
    struct tn_trace_summary *summary = &writer->summary;
    summary->live_count = writer->live.count;
    summary->lost_count = atomic_load(&header->lost_count);
    summary->thread_count = writer->threads.count;
    summary->stream_count = writer->streams.count;
    summary->process = header->process;
}

static void write_tail(struct trace_writer *writer)
{
    const struct tn_trace_summary *summary = &writer->summary;
    if (summary->lost_count > 0) write_key_number(writer, "lost:", summary->lost_count);
    if (summary->unknown_count > 0)
        write_key_number(writer, "frees_of_earlier:", summary->unknown_count);
    write_key_number(writer, "live_at_end:", summary->live_count);
    write_key_number(writer, "events:", summary->alloc_count + summary->free_count);
}

bool tn_trace_is_of_events(const char *path)
{
    static const char magic[] = TN_EVENT_FILE_MAGIC;
    char found[sizeof magic] = "";
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    bool is_read = read(descriptor, found, sizeof found) == (ssize_t)sizeof found;
    close(descriptor);
    return is_read && memcmp(found, magic, sizeof magic) == 0;
}

static void fini(struct trace_writer *writer)
{
    tn_event_reader_close(&writer->reader);
    tn_number_map_fini(&writer->live);
    tdestroy(writer->ordered, forget_address);
    tn_number_map_fini(&writer->threads);
    tn_number_map_fini(&writer->streams);
    tn_host_memory_free(writer->moment);
}

bool tn_trace_write(const char *event_path, const struct tn_trace_sink *sink,
                    struct tn_trace_summary *summary_out, struct tn_failure *failure)
{
    struct trace_writer writer = { .sink = sink, .is_wanted = true, .has_memory = true };
    if (!tn_event_reader_open(&writer.reader, event_path, failure)) return false;
    write_head(&writer);
    write_events(&writer);
    if (writer.has_memory) {
        summarize(&writer);
        write_tail(&writer);
        *summary_out = writer.summary;
    } else {
        tn_failure_set(failure, "the host has no memory to make a trace of %s", event_path);
    }
    fini(&writer);
    return writer.has_memory;
}
