/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * trace_reader: reads a recorded trace of allocations: text, gzip'd text, or events, whose lines are made here.
 *
 * Live ids are kept in the C library's search tree, in records that know their slots. The records of free
 * slots form a list, so that slots stay dense and warm. The recorder's numbers of threads and streams may be
 * any; here they become dense.
 */
#include "trace_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../../recorders/convert/trace_writer.h"
#include "../common/numbers.h"
#include "numbering.h"

enum {
    LINE_BYTES_MAX = 1 << 16,
    FIELD_COUNT_MAX = 6, /* of an allocation, its letter included */
    SHOWN_MAX = 60       /* characters of a bad line or field that a message repeats */
};

static const char first_line[] = "# tarn-trace 1";

struct live_id {
    uint64_t id;
    size_t slot;
    size_t line;
    uint64_t size_bytes;
    struct tn_origin origin; /* of the allocation */
    bool is_live;
    struct live_id *next_free; /* when it is not live: the list of free slots */
};

struct field {
    const char *text;
    size_t length;
};

struct reader {
    const char *path;
    gzFile file;
    char *line; /* without its newline, or carriage return and newline */
    size_t line_length;
    size_t line_number;

    struct tn_trace trace;
    size_t line_capacity; /* of trace.lines and trace.origins */
    struct tn_numbering threads;
    struct tn_numbering streams;
    void *live_tree; /* of live_id, by id */
    struct live_id **slots;
    size_t slot_capacity;
    struct live_id *free_slots;
    uint64_t live_bytes;
    uint64_t first_time_ns;
    uint64_t last_time_ns;
    uint64_t event_count;
    bool has_event_count; /* whether the metadata says how many there are, and */
    uint64_t event_count_promised;

    bool is_refused; /* a line that was made of events, with the reason set */
    struct tn_reason *reason;
};

/* --- messages ------------------------------------------------------------------------------------ */

/* Reports what is wrong with the current line. */
__attribute__((format(printf, 2, 3))) static bool fail_line(struct reader *reader,
                                                            const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tn_reason_set(reader->reason, "%s:%zu: %s", tn_path_show(reader->path).text,
                  reader->line_number, text);
    return false;
}

/* Reports what is wrong with the file as a whole. */
static bool fail_file(struct reader *reader, const char *text)
{
    tn_reason_set(reader->reason, "%s: %s", tn_path_show(reader->path).text, text);
    return false;
}

static bool fail_memory(struct reader *reader)
{
    return fail_file(reader, "there is not enough host memory to read it");
}

static int shown(size_t length)
{
    return length < SHOWN_MAX ? (int)length : SHOWN_MAX;
}

/* --- lines --------------------------------------------------------------------------------------- */

static bool fail_zlib(struct reader *reader)
{
    int code = Z_OK;
    const char *text = gzerror(reader->file, &code);
    if (code == Z_BUF_ERROR) return fail_line(reader, "the gzip'd data end here: the file is cut");
    if (code == Z_ERRNO) return fail_line(reader, "cannot be read: %s", strerror(errno));

    /* zlib's text begins with the path. zlib reads ahead of the lines it gives out, so the damage may lie
     * further on. */
    const char *colon = strrchr(text, ':');
    tn_reason_set(reader->reason, "%s: the gzip'd data are damaged at line %zu or after it:%s",
                  tn_path_show(reader->path).text, reader->line_number, colon ? colon + 1 : text);
    return false;
}

/* Sets *is_end_out when there is no further line. */
static bool read_line(struct reader *reader, bool *is_end_out)
{
    reader->line_number++;
    errno = 0;
    const char *read = gzgets(reader->file, reader->line, LINE_BYTES_MAX);
    size_t length = read ? strlen(reader->line) : 0;
    *is_end_out = !read;
    if (length > 0 && reader->line[length - 1] == '\n') {
        length--;
        if (length > 0 && reader->line[length - 1] == '\r') length--;
        reader->line[length] = '\0';
        reader->line_length = length;
        return true;
    }

    /* zlib reads ahead and may know of an error before it has given out the last good lines. So it is asked
     * only when a line is missing or has no end. */
    int code = Z_OK;
    gzerror(reader->file, &code);
    if (code != Z_OK && code != Z_STREAM_END) return fail_zlib(reader);
    if (!read) return true;
    if (length == LINE_BYTES_MAX - 1)
        return fail_line(reader, "the line is longer than %d bytes", LINE_BYTES_MAX - 2);
    if (gzeof(reader->file))
        return fail_line(reader, "the last line has no newline: the file is cut");
    return fail_line(reader, "the line has a zero byte");
}

/* --- metadata ------------------------------------------------------------------------------------ */

/* The name goes into tables and JSON: all but printable ASCII becomes a question mark. */
static void set_name(struct tn_trace *trace, const char *name)
{
    snprintf(trace->name, sizeof trace->name, "%s", name);
    for (char *letter = trace->name; *letter != '\0'; letter++)
        if (*letter < ' ' || *letter > '~') *letter = '?';
}

static bool take_event_count(struct reader *reader, const char *value)
{
    if (tn_number_parse(value, strlen(value), &reader->event_count_promised) != TN_NUMBER_OK)
        return fail_line(reader, "the number of events '%.*s' is not a number",
                         shown(strlen(value)), value);
    reader->has_event_count = true;
    return true;
}

static bool read_metadata(struct reader *reader)
{
    const char *line = reader->line;
    const char *colon = strchr(line, ':');
    if (strncmp(line, "# ", 2) != 0 || !colon || colon == line + 2)
        return fail_line(reader, "'%.*s' is not a line '# key: value'", shown(reader->line_length),
                         line);
    size_t key_length = (size_t)(colon - (line + 2));
    const char *value = colon + 1 + strspn(colon + 1, " ");
    if (key_length == 4 && memcmp(line + 2, "name", 4) == 0 && *value != '\0')
        set_name(&reader->trace, value);
    if (key_length == 6 && memcmp(line + 2, "events", 6) == 0)
        return take_event_count(reader, value);
    return true;
}

static bool check_first_line(struct reader *reader)
{
    if (strcmp(reader->line, first_line) != 0)
        return fail_line(reader, "the first line of a trace is '%s', and not '%.*s'", first_line,
                         shown(reader->line_length), reader->line);
    return true;
}

/* --- events -------------------------------------------------------------------------------------- */

/* Cuts the line at its spaces. Returns the number of fields, even if not all fit. */
static size_t split_fields(const struct reader *reader, struct field fields[FIELD_COUNT_MAX])
{
    size_t count = 0;
    const char *text = reader->line;
    for (;;) {
        size_t length = strcspn(text, " ");
        if (count < FIELD_COUNT_MAX) fields[count] = (struct field){ text, length };
        count++;
        if (text[length] == '\0') return count;
        text += length + 1;
    }
}

static bool parse_fields(struct reader *reader, const struct field *fields,
                         const char *const *names, size_t count, uint64_t *numbers_out)
{
    for (size_t i = 0; i < count; i++) {
        const struct field *field = &fields[i];
        enum tn_number_result result = tn_number_parse(field->text, field->length, &numbers_out[i]);
        if (result == TN_NUMBER_MALFORMED)
            return fail_line(reader, "the %s '%.*s' is not a number", names[i],
                             shown(field->length), field->text);
        if (result == TN_NUMBER_OVERFLOW)
            return fail_line(reader, "the %s '%.*s' does not fit in 64 bits", names[i],
                             shown(field->length), field->text);
    }
    return true;
}

static bool advance_time(struct reader *reader, uint64_t time_ns)
{
    if (time_ns < reader->last_time_ns)
        return fail_line(reader, "time goes back from %" PRIu64 " to %" PRIu64 " ns",
                         reader->last_time_ns, time_ns);
    if (reader->event_count == 1) reader->first_time_ns = time_ns;
    reader->last_time_ns = time_ns;
    return true;
}

/* The numbers are those of the event: stream, thread, time. */
static bool find_origin(struct reader *reader, const uint64_t *numbers,
                        struct tn_origin *origin_out)
{
    origin_out->time_ns = numbers[2] - reader->first_time_ns;
    return (tn_numbering_find(&reader->streams, numbers[0], &origin_out->stream) &&
            tn_numbering_find(&reader->threads, numbers[1], &origin_out->thread)) ||
           fail_memory(reader);
}

static int compare_ids(const void *left, const void *right)
{
    uint64_t a = ((const struct live_id *)left)->id;
    uint64_t b = ((const struct live_id *)right)->id;
    return (a > b) - (a < b);
}

static bool add_slot(struct reader *reader)
{
    size_t slot = reader->trace.slot_count;
    if (slot == UINT32_MAX)
        return fail_line(reader, "more than %" PRIu32 " blocks are live", UINT32_MAX);
    if (slot == reader->slot_capacity) {
        size_t capacity = slot ? 2 * slot : 1024;
        void *slots = realloc(reader->slots, capacity * sizeof reader->slots[0]);
        if (!slots) return fail_memory(reader);
        reader->slots = slots;
        reader->slot_capacity = capacity;
    }
    struct live_id *added = malloc(sizeof *added);
    if (!added) return fail_memory(reader);
    *added = (struct live_id){ .slot = slot };
    reader->slots[slot] = added;
    reader->free_slots = added;
    reader->trace.slot_count++;
    return true;
}

static bool grow_notes(struct reader *reader)
{
    struct tn_trace *trace = &reader->trace;
    size_t capacity = reader->line_capacity ? 2 * reader->line_capacity : 1024;
    void *lines = realloc(trace->lines, capacity * sizeof trace->lines[0]);
    if (lines) trace->lines = lines;
    void *origins = realloc(trace->origins, capacity * sizeof trace->origins[0]);
    if (origins) trace->origins = origins;
    if (!lines || !origins) return fail_memory(reader);
    reader->line_capacity = capacity;
    return true;
}

/* Notes the origin of the operation that was added last. */
static bool note(struct reader *reader, size_t line, struct tn_origin origin)
{
    size_t index = reader->trace.operations.count - 1;
    if (index == reader->line_capacity && !grow_notes(reader)) return false;
    reader->trace.lines[index] = line;
    reader->trace.origins[index] = origin;
    return true;
}

/* Takes the first free slot for the id. NULL, with the reason set: the id is live, or there is no memory. */
static const struct live_id *begin_life(struct reader *reader, uint64_t id, uint64_t size_bytes,
                                        struct tn_origin origin)
{
    if (!reader->free_slots && !add_slot(reader)) return NULL;
    struct live_id *live = reader->free_slots;
    live->id = id;
    struct live_id **found = tsearch(live, &reader->live_tree, compare_ids);
    if (!found) {
        fail_memory(reader);
        return NULL;
    }
    if (*found != live) {
        fail_line(reader, "allocates id %" PRIu64 ", which is live since line %zu", id,
                  (*found)->line);
        return NULL;
    }
    reader->free_slots = live->next_free;
    live->is_live = true;
    live->line = reader->line_number;
    live->size_bytes = size_bytes;
    live->origin = origin;
    return live;
}

static bool read_alloc(struct reader *reader, const struct field *fields)
{
    static const char *const names[] = { "id", "size", "stream", "thread", "time" };
    uint64_t numbers[5];
    if (!parse_fields(reader, fields, names, 5, numbers) || !advance_time(reader, numbers[4]))
        return false;
    uint64_t size_bytes = numbers[1];
    if (__builtin_add_overflow(reader->live_bytes, size_bytes, &reader->live_bytes))
        return fail_line(reader,
                         "with these %" PRIu64 " bytes, more are live than 64 bits can count",
                         size_bytes);

    struct tn_origin origin;
    if (!find_origin(reader, &numbers[2], &origin)) return false;
    const struct live_id *live = begin_life(reader, numbers[0], size_bytes, origin);
    if (!live) return false;
    if (!tn_operations_add_alloc(&reader->trace.operations, live->slot, size_bytes))
        return fail_memory(reader);
    return note(reader, reader->line_number, origin);
}

static bool read_free(struct reader *reader, const struct field *fields)
{
    static const char *const names[] = { "id", "stream", "thread", "time" };
    uint64_t numbers[4];
    if (!parse_fields(reader, fields, names, 4, numbers) || !advance_time(reader, numbers[3]))
        return false;

    struct live_id wanted = { .id = numbers[0] };
    struct live_id **found = tfind(&wanted, &reader->live_tree, compare_ids);
    if (!found) return fail_line(reader, "frees id %" PRIu64 ", which is not live", numbers[0]);
    struct tn_origin origin;
    if (!find_origin(reader, &numbers[1], &origin)) return false;
    struct live_id *live = *found;
    tdelete(live, &reader->live_tree, compare_ids);
    reader->live_bytes -= live->size_bytes;
    live->is_live = false;
    live->next_free = reader->free_slots;
    reader->free_slots = live;
    if (!tn_operations_add_free(&reader->trace.operations, live->slot)) return fail_memory(reader);
    return note(reader, reader->line_number, origin);
}

static bool read_event(struct reader *reader)
{
    struct field fields[FIELD_COUNT_MAX];
    size_t count = split_fields(reader, fields);
    bool is_alloc = fields[0].length == 1 && fields[0].text[0] == 'a';
    bool is_free = fields[0].length == 1 && fields[0].text[0] == 'f';
    if (!is_alloc && !is_free)
        return fail_line(reader, "'%.*s' is no event: they are 'a' and 'f'",
                         shown(fields[0].length), fields[0].text);

    size_t wanted = is_alloc ? 6 : 5;
    if (count != wanted)
        return fail_line(reader, "has %zu fields where '%s' has %zu", count,
                         is_alloc ? "a id bytes stream thread time" : "f id stream thread time",
                         wanted);
    reader->event_count++;
    return is_alloc ? read_alloc(reader, fields + 1) : read_free(reader, fields + 1);
}

/* --- the whole file ------------------------------------------------------------------------------ */

static bool has_suffix(const char *text, const char *suffix)
{
    size_t length = strlen(text);
    size_t suffix_length = strlen(suffix);
    return length >= suffix_length && strcmp(text + length - suffix_length, suffix) == 0;
}

static bool take_line(struct reader *reader)
{
    if (reader->line_number == 1) return check_first_line(reader);
    return reader->line[0] == '#' ? read_metadata(reader) : read_event(reader);
}

static bool read_text(struct reader *reader)
{
    errno = 0;
    reader->file = gzopen(reader->path, "rb");
    if (!reader->file)
        return fail_file(reader, errno ? strerror(errno) : "there is not enough host memory");
    gzbuffer(reader->file, 1 << 17);
    if (has_suffix(reader->path, ".gz") && gzdirect(reader->file))
        return fail_file(reader, "is not gzip'd, though its name ends in .gz");
    for (;;) {
        bool is_end;
        if (!read_line(reader, &is_end)) return false;
        if (is_end) return reader->line_number > 1 || fail_file(reader, "the file is empty");
        if (!take_line(reader)) return false;
    }
}

/* Takes a line that was made of events; it is shorter than LINE_BYTES_MAX. */
static bool take_made_line(void *to, const char *line, size_t length)
{
    struct reader *reader = to;
    reader->line_number++;
    reader->line_length = length - 1;
    memcpy(reader->line, line, length - 1);
    reader->line[length - 1] = '\0';
    reader->is_refused = !take_line(reader);
    return !reader->is_refused;
}

static bool read_events(struct reader *reader)
{
    const struct tn_trace_sink sink = { take_made_line, reader };
    struct tn_trace_summary summary;
    struct tn_failure failure;
    if (tn_trace_write(reader->path, &sink, &summary, &failure)) return !reader->is_refused;
    tn_reason_set(reader->reason, "%s", failure.text);
    return false;
}

static bool free_what_is_left(struct reader *reader)
{
    for (size_t slot = 0; slot < reader->trace.slot_count; slot++) {
        if (!reader->slots[slot]->is_live) continue;
        if (!tn_operations_add_free(&reader->trace.operations, slot)) return fail_memory(reader);
        struct tn_origin origin = reader->slots[slot]->origin;
        origin.time_ns = reader->last_time_ns - reader->first_time_ns;
        if (!note(reader, 0, origin)) return false;
        reader->trace.left_live_count++;
    }
    return true;
}

static bool check_counts(struct reader *reader)
{
    if (reader->has_event_count && reader->event_count != reader->event_count_promised) {
        tn_reason_set(reader->reason,
                      "%s: has %" PRIu64 " events and not %" PRIu64
                      " as its metadata says: the file is cut or was changed",
                      tn_path_show(reader->path).text, reader->event_count,
                      reader->event_count_promised);
        return false;
    }
    if (reader->event_count == 0) return fail_file(reader, "the trace has no events");
    return true;
}

static bool read_file(struct reader *reader)
{
    reader->line = malloc(LINE_BYTES_MAX);
    if (!reader->line) return fail_memory(reader);
    const char *base = strrchr(reader->path, '/');
    set_name(&reader->trace, base ? base + 1 : reader->path);
    bool is_read = tn_trace_is_of_events(reader->path) ? read_events(reader) : read_text(reader);
    if (!is_read || !check_counts(reader) || !free_what_is_left(reader)) return false;
    reader->trace.thread_count = reader->threads.count;
    reader->trace.stream_count = reader->streams.count;
    return true;
}

static void forget_live_id(void *live)
{
    (void)live; /* its slot owns it */
}

static void reader_fini(struct reader *reader)
{
    if (reader->file) gzclose_r(reader->file);
    tdestroy(reader->live_tree, forget_live_id);
    for (size_t slot = 0; slot < reader->trace.slot_count; slot++)
        free(reader->slots[slot]);
    free(reader->slots);
    free(reader->line);
    tn_numbering_fini(&reader->threads);
    tn_numbering_fini(&reader->streams);
}

bool tn_trace_read(const char *path, struct tn_trace *trace_out, struct tn_reason *reason_out)
{
    struct reader reader = { .path = path, .reason = reason_out };
    bool is_read = read_file(&reader);
    reader_fini(&reader);
    if (is_read)
        *trace_out = reader.trace;
    else
        tn_trace_fini(&reader.trace);
    return is_read;
}

void tn_trace_fini(struct tn_trace *trace)
{
    free(trace->operations.items);
    free(trace->lines);
    free(trace->origins);
    *trace = (struct tn_trace){ .name = "" };
}
