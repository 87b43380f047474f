/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* order_checker: vector clocks around another backend's streams and events. */
#include "order_checker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/random.h"
#include "tarn/host.h"

#define STREAMS_MAX ORDER_CHECKER_STREAMS_MAX

/* How many steps of each stream come before. */
struct clock {
    uint64_t steps[STREAMS_MAX];
};

struct checked_stream {
    tarn_stream handle;
    tarn_stream inner;
    uint64_t thread; /* whose own it is, or 0 */
    uint64_t id;     /* which no other stream has or had */
    bool is_there;
    struct clock clock;
};

/* A tarn_event of the checker's points to one. */
struct checked_event {
    tarn_event inner;
    struct clock clock;
};

/* The latest step of one stream that uses a piece of memory. */
struct use {
    uintptr_t start, end;
    unsigned stream;
    uint64_t step;
};

struct owned {
    uintptr_t start, end;
};

struct order_checker {
    struct order_checker_options options;
    tarn_backend_operations operations;
    pthread_mutex_t lock; /* guards what follows */
    struct random random;
    struct checked_stream streams[STREAMS_MAX];
    unsigned stream_count;
    uint64_t last_id;
    struct clock host;
    struct use *uses;
    size_t use_count, use_capacity;
    struct owned *owned;
    size_t owned_count, owned_capacity;
    struct order_checker_counts counts;
    size_t fault_count;
    char first_fault[200];
};

static void unite(struct clock *clock, const struct clock *other)
{
    for (unsigned i = 0; i < STREAMS_MAX; i++) {
        if (clock->steps[i] < other->steps[i]) clock->steps[i] = other->steps[i];
    }
}

static bool happens(struct order_checker *checker, unsigned permille)
{
    if (permille == 0 || random_below(&checker->random, 1000) >= permille) return false;
    checker->counts.faked_failures++;
    return true;
}

static uint64_t this_thread(void)
{
    static _Atomic uint64_t last;
    static _Thread_local uint64_t number;
    if (number == 0) number = ++last;
    return number;
}

/* That of a stream which has ended, if the host has waited for all its steps: then they are before any other's. */
static unsigned unused_number(const struct order_checker *checker)
{
    unsigned i = 0;
    while (i < checker->stream_count &&
           (checker->streams[i].is_there ||
            checker->streams[i].clock.steps[i] > checker->host.steps[i]))
        i++;
    return i;
}

static unsigned add_stream(struct order_checker *checker, tarn_stream handle, tarn_stream inner,
                           uint64_t thread)
{
    unsigned number = unused_number(checker);
    if (number == STREAMS_MAX) abort();
    uint64_t steps = 0; /* go on where those of the stream before have ended */
    if (number == checker->stream_count) {
        checker->stream_count++;
    } else {
        steps = checker->streams[number].clock.steps[number];
    }
    checker->streams[number] = (struct checked_stream){ .handle = handle,
                                                        .inner = inner,
                                                        .thread = thread,
                                                        .id = ++checker->last_id,
                                                        .is_there = true };
    checker->streams[number].clock.steps[number] = steps;
    return number;
}

/* Stands for any stream, or for none. */
#define NO_NUMBER STREAMS_MAX

/* NO_NUMBER: it is none. */
static unsigned find_number(struct order_checker *checker, tarn_stream stream)
{
    uint64_t thread = stream == ORDER_CHECKER_PER_THREAD ? this_thread() : 0;
    for (unsigned i = checker->stream_count; i-- > 0;) {
        const struct checked_stream *known = &checker->streams[i];
        if (known->is_there && known->handle == stream && known->thread == thread) return i;
    }
    if (thread == 0) return NO_NUMBER;
    return add_stream(checker, stream, TARN_HOST_STREAM_PER_THREAD, thread);
}

static unsigned number_of(struct order_checker *checker, tarn_stream stream)
{
    unsigned number = find_number(checker, stream);
    if (number != NO_NUMBER || stream == ORDER_CHECKER_ANY) return number;
    fprintf(stderr, "order_checker: %p is no stream\n", stream);
    abort();
}

static tarn_stream inner_of(struct order_checker *checker, tarn_stream stream)
{
    pthread_mutex_lock(&checker->lock);
    tarn_stream inner = checker->streams[number_of(checker, stream)].inner;
    pthread_mutex_unlock(&checker->lock);
    return inner;
}

/* The lowest that no stream has. */
static tarn_stream unused_handle(const struct order_checker *checker)
{
    for (uintptr_t value = 0x1000;; value += 16) {
        bool is_used = false;
        for (unsigned i = 0; i < checker->stream_count; i++)
            is_used |=
                checker->streams[i].is_there && checker->streams[i].handle == (tarn_stream)value;
        if (!is_used) return (tarn_stream)value;
    }
}

/* One more step of a stream, which comes after all that the host has waited for. */
static struct clock *step(struct order_checker *checker, unsigned stream)
{
    struct clock *clock = &checker->streams[stream].clock;
    unite(clock, &checker->host);
    clock->steps[stream]++;
    return clock;
}

static void *grown(void *array, size_t count, size_t *capacity, size_t element_bytes)
{
    if (count < *capacity) return array;
    *capacity = *capacity ? 2 * *capacity : 64;
    array = realloc(array, *capacity * element_bytes);
    if (!array) abort();
    return array;
}

/* --- what the pool calls ------------------------------------------------------------------------ */

#define INNER(checker) ((checker)->options.inner.operations)
#define STATE(checker) ((checker)->options.inner.state)

static const tarn_backend_result failure = { TARN_STATUS_VENDOR_ERROR, 4711, "made up" };
static const tarn_backend_result done = { TARN_STATUS_OK, 0, NULL };

static void checker_close(void *state)
{
    struct order_checker *checker = state;
    INNER(checker)->close(STATE(checker));
    pthread_mutex_destroy(&checker->lock);
    free(checker->uses);
    free(checker->owned);
    free(checker);
}

static tarn_backend_result checker_acquire(void *state, size_t size_bytes, void **address_out)
{
    struct order_checker *checker = state;
    return INNER(checker)->acquire(STATE(checker), size_bytes, address_out);
}

/* As every backend does that takes memory back, so that nothing uses it any more. */
void order_checker_give_back(struct order_checker *checker, const void *address, size_t size_bytes)
{
    uintptr_t start = (uintptr_t)address, end = start + size_bytes;
    size_t kept = 0;
    pthread_mutex_lock(&checker->lock);
    checker->counts.releases++;
    for (unsigned i = 0; i < checker->stream_count; i++)
        unite(&checker->host, &checker->streams[i].clock);
    for (size_t i = 0; i < checker->use_count; i++) {
        struct use use = checker->uses[i];
        if (use.start < start || end < use.end) checker->uses[kept++] = use;
    }
    checker->use_count = kept;
    pthread_mutex_unlock(&checker->lock);
}

static tarn_backend_result checker_release(void *state, void *address, size_t size_bytes)
{
    struct order_checker *checker = state;
    order_checker_give_back(checker, address, size_bytes);
    return INNER(checker)->release(STATE(checker), address, size_bytes);
}

static tarn_backend_result checker_range_reserve(void *state, size_t size_bytes, void **address_out)
{
    struct order_checker *checker = state;
    return INNER(checker)->range_reserve(STATE(checker), size_bytes, address_out);
}

static tarn_backend_result checker_range_release(void *state, void *address, size_t size_bytes)
{
    struct order_checker *checker = state;
    return INNER(checker)->range_release(STATE(checker), address, size_bytes);
}

static tarn_backend_result checker_range_map(void *state, void *address, size_t size_bytes,
                                             tarn_mapping *mapping_out)
{
    struct order_checker *checker = state;
    return INNER(checker)->range_map(STATE(checker), address, size_bytes, mapping_out);
}

static tarn_backend_result checker_range_unmap(void *state, void *address, size_t size_bytes,
                                               tarn_mapping mapping)
{
    struct order_checker *checker = state;
    order_checker_give_back(checker, address, size_bytes);
    return INNER(checker)->range_unmap(STATE(checker), address, size_bytes, mapping);
}

static void check_unmapped(struct order_checker *checker, uintptr_t start, uintptr_t end);

static tarn_backend_result checker_range_unmap_idle(void *state, void *address, size_t size_bytes,
                                                    tarn_mapping mapping)
{
    struct order_checker *checker = state;
    check_unmapped(checker, (uintptr_t)address, (uintptr_t)address + size_bytes);
    return INNER(checker)->range_unmap(STATE(checker), address, size_bytes, mapping);
}

static tarn_backend_result checker_get_properties(void *state,
                                                  tarn_device_properties *properties_out)
{
    struct order_checker *checker = state;
    tarn_backend_result result = INNER(checker)->get_properties(STATE(checker), properties_out);
    properties_out->thread_stream = ORDER_CHECKER_PER_THREAD;
    return result;
}

static tarn_backend_result checker_synchronize(void *state)
{
    struct order_checker *checker = state;
    pthread_mutex_lock(&checker->lock);
    for (unsigned i = 0; i < checker->stream_count; i++)
        unite(&checker->host, &checker->streams[i].clock);
    tarn_backend_result result = INNER(checker)->synchronize(STATE(checker));
    pthread_mutex_unlock(&checker->lock);
    return result;
}

static tarn_backend_result checker_stream_create(void *state, tarn_stream *stream_out)
{
    struct order_checker *checker = state;
    tarn_stream inner;
    tarn_backend_result result = INNER(checker)->stream_create(STATE(checker), &inner);
    if (result.status != TARN_STATUS_OK) return result;
    pthread_mutex_lock(&checker->lock);
    *stream_out = unused_handle(checker);
    add_stream(checker, *stream_out, inner, 0);
    pthread_mutex_unlock(&checker->lock);
    return result;
}

/* The vendors' destroys do not wait, so this one does not count as waiting, though the host's does. */
static tarn_backend_result checker_stream_destroy(void *state, tarn_stream stream)
{
    struct order_checker *checker = state;
    tarn_stream inner = inner_of(checker, stream);
    pthread_mutex_lock(&checker->lock);
    checker->streams[number_of(checker, stream)].is_there = false;
    pthread_mutex_unlock(&checker->lock);
    return INNER(checker)->stream_destroy(STATE(checker), inner);
}

static tarn_backend_result checker_stream_check(void *state, tarn_stream stream)
{
    struct order_checker *checker = state;
    pthread_mutex_lock(&checker->lock);
    bool is_there = find_number(checker, stream) != NO_NUMBER;
    pthread_mutex_unlock(&checker->lock);
    return (tarn_backend_result){ is_there ? TARN_STATUS_OK : TARN_STATUS_INVALID_ARGUMENT, 0,
                                  NULL };
}

static tarn_backend_result checker_stream_id(void *state, tarn_stream stream, uint64_t *id_out)
{
    struct order_checker *checker = state;
    pthread_mutex_lock(&checker->lock);
    bool fails = happens(checker, checker->options.fail_permille);
    if (!fails) *id_out = checker->streams[number_of(checker, stream)].id;
    pthread_mutex_unlock(&checker->lock);
    return fails ? failure : done;
}

static tarn_backend_result checker_stream_synchronize(void *state, tarn_stream stream)
{
    struct order_checker *checker = state;
    pthread_mutex_lock(&checker->lock);
    struct clock clock = checker->streams[number_of(checker, stream)].clock;
    tarn_stream inner = checker->streams[number_of(checker, stream)].inner;
    pthread_mutex_unlock(&checker->lock);
    tarn_backend_result result = INNER(checker)->stream_synchronize(STATE(checker), inner);
    pthread_mutex_lock(&checker->lock);
    if (result.status == TARN_STATUS_OK) unite(&checker->host, &clock);
    pthread_mutex_unlock(&checker->lock);
    return result;
}

static tarn_backend_result checker_stream_wait_event(void *state, tarn_stream stream,
                                                     tarn_event event)
{
    struct order_checker *checker = state;
    struct checked_event *waited = event;
    tarn_backend_result result = failure;
    pthread_mutex_lock(&checker->lock);
    checker->counts.waits++;
    if (checker->options.drops_waits) {
        result = done;
    } else if (!happens(checker, checker->options.fail_permille)) {
        unsigned number = number_of(checker, stream);
        result = INNER(checker)->stream_wait_event(STATE(checker), checker->streams[number].inner,
                                                   waited->inner);
        if (result.status == TARN_STATUS_OK) unite(step(checker, number), &waited->clock);
    }
    pthread_mutex_unlock(&checker->lock);
    return result;
}

static tarn_backend_result checker_event_create(void *state, tarn_event *event_out)
{
    struct order_checker *checker = state;
    struct checked_event *event = calloc(1, sizeof *event);
    if (!event) return (tarn_backend_result){ TARN_STATUS_OUT_OF_HOST_MEMORY, 0, NULL };
    tarn_backend_result result = INNER(checker)->event_create(STATE(checker), &event->inner);
    if (result.status == TARN_STATUS_OK) {
        *event_out = event;
    } else {
        free(event);
    }
    return result;
}

static tarn_backend_result checker_event_destroy(void *state, tarn_event event)
{
    struct order_checker *checker = state;
    struct checked_event *destroyed = event;
    tarn_backend_result result = INNER(checker)->event_destroy(STATE(checker), destroyed->inner);
    free(destroyed);
    return result;
}

static tarn_backend_result checker_event_record(void *state, tarn_event event, tarn_stream stream)
{
    struct order_checker *checker = state;
    struct checked_event *recorded = event;
    tarn_backend_result result = failure;
    pthread_mutex_lock(&checker->lock);
    checker->counts.records++;
    if (checker->options.drops_records) {
        result = done;
    } else if (!happens(checker, checker->options.fail_permille)) {
        unsigned number = number_of(checker, stream);
        result = INNER(checker)->event_record(STATE(checker), recorded->inner,
                                              checker->streams[number].inner);
        if (result.status == TARN_STATUS_OK) recorded->clock = *step(checker, number);
    }
    pthread_mutex_unlock(&checker->lock);
    return result;
}

static tarn_backend_result checker_event_record_device(void *state, tarn_event event)
{
    struct order_checker *checker = state;
    struct checked_event *recorded = event;
    tarn_backend_result result = failure;
    pthread_mutex_lock(&checker->lock);
    checker->counts.records++;
    if (!happens(checker, checker->options.fail_permille)) {
        /* The inner one need not be late: the clock is what counts. */
        result = INNER(checker)->event_record(STATE(checker), recorded->inner, NULL);
        recorded->clock = checker->host;
        for (unsigned i = 0; i < checker->stream_count; i++)
            unite(&recorded->clock, &checker->streams[i].clock);
    }
    pthread_mutex_unlock(&checker->lock);
    return result;
}

static tarn_backend_result checker_event_synchronize(void *state, tarn_event event)
{
    struct order_checker *checker = state;
    const struct checked_event *waited = event;
    tarn_backend_result result = failure;
    pthread_mutex_lock(&checker->lock);
    checker->counts.waits++;
    if (!happens(checker, checker->options.fail_permille)) {
        result = INNER(checker)->event_synchronize(STATE(checker), waited->inner);
        if (result.status == TARN_STATUS_OK) unite(&checker->host, &waited->clock);
    }
    pthread_mutex_unlock(&checker->lock);
    return result;
}

static tarn_backend_result checker_event_query(void *state, tarn_event event)
{
    struct order_checker *checker = state;
    const struct checked_event *queried = event;
    tarn_backend_result result = { TARN_STATUS_NOT_READY, 0, NULL };
    pthread_mutex_lock(&checker->lock);
    checker->counts.queries++;
    if (happens(checker, checker->options.fail_permille)) {
        result = checker->options.takes_errors_for_completion ? done : failure;
    } else if (!happens(checker, checker->options.late_permille)) {
        result = INNER(checker)->event_query(STATE(checker), queried->inner);
        if (result.status == TARN_STATUS_OK) unite(&checker->host, &queried->clock);
    }
    pthread_mutex_unlock(&checker->lock);
    return result;
}

/* Data is not the checker's business. */
static tarn_backend_result checker_fill(void *state, void *address, unsigned char value,
                                        size_t size_bytes, tarn_stream stream)
{
    struct order_checker *checker = state;
    return INNER(checker)->fill(STATE(checker), address, value, size_bytes,
                                inner_of(checker, stream));
}

static tarn_backend_result checker_copy(void *state, void *destination, const void *source,
                                        size_t size_bytes, tarn_stream stream)
{
    struct order_checker *checker = state;
    return INNER(checker)->copy(STATE(checker), destination, source, size_bytes,
                                inner_of(checker, stream));
}

/* --- life --------------------------------------------------------------------------------------- */

struct order_checker *order_checker_create(const struct order_checker_options *options)
{
    struct order_checker *checker = calloc(1, sizeof *checker);
    if (!checker) return NULL;
    checker->options = *options;
    checker->random = random_init(options->seed);
    pthread_mutex_init(&checker->lock, NULL);
    add_stream(checker, NULL, NULL, 0);
    checker->operations = (tarn_backend_operations){
        .struct_bytes = sizeof checker->operations,
        .name = "order_checker",
        .close = checker_close,
        .acquire = checker_acquire,
        .release = checker_release,
        .range_reserve = checker_range_reserve,
        .range_release = checker_range_release,
        .range_map = checker_range_map,
        .range_unmap = checker_range_unmap,
        .range_unmap_idle = options->has_idle_unmaps ? checker_range_unmap_idle : NULL,
        .get_properties = checker_get_properties,
        .stream_create = checker_stream_create,
        .stream_destroy = checker_stream_destroy,
        .synchronize = options->has_synchronize ? checker_synchronize : NULL,
        .stream_check = checker_stream_check,
        .stream_id = checker_stream_id,
        .stream_synchronize = checker_stream_synchronize,
        .stream_wait_event = checker_stream_wait_event,
        .event_create = checker_event_create,
        .event_destroy = checker_event_destroy,
        .event_record = checker_event_record,
        .event_query = checker_event_query,
        .event_synchronize = checker_event_synchronize,
        .event_record_device = options->has_device_events ? checker_event_record_device : NULL,
        .fill = checker_fill,
        .copy = checker_copy,
    };
    return checker;
}

tarn_backend order_checker_backend(struct order_checker *checker)
{
    return (tarn_backend){ &checker->operations, checker };
}

/* --- memory ------------------------------------------------------------------------------------- */

static tarn_stream handle_of(const struct order_checker *checker, unsigned number)
{
    return number == NO_NUMBER ? ORDER_CHECKER_ANY : checker->streams[number].handle;
}

static void report(struct order_checker *checker, const char *what, uintptr_t start, uintptr_t end,
                   unsigned stream, unsigned other)
{
    if (checker->fault_count++ > 0) return;
    snprintf(checker->first_fault, sizeof checker->first_fault,
             "bytes 0x%zx to 0x%zx: %s (stream number %u, %p, the other %u, %p)", (size_t)start,
             (size_t)end, what, stream, handle_of(checker, stream), other,
             handle_of(checker, other));
}

void order_checker_use(struct order_checker *checker, tarn_stream stream, const void *address,
                       size_t size_bytes)
{
    uintptr_t start = (uintptr_t)address;
    pthread_mutex_lock(&checker->lock);
    unsigned number = number_of(checker, stream);
    uint64_t at = step(checker, number)->steps[number];
    struct use *same = NULL;
    for (size_t i = 0; i < checker->use_count && !same; i++) {
        struct use *use = &checker->uses[i];
        bool is_same = use->start == start && use->end == start + size_bytes;
        if (is_same && use->stream == number) same = use;
    }
    if (same) {
        same->step = at;
    } else {
        checker->uses =
            grown(checker->uses, checker->use_count, &checker->use_capacity, sizeof *checker->uses);
        checker->uses[checker->use_count++] = (struct use){ start, start + size_bytes, number, at };
    }
    pthread_mutex_unlock(&checker->lock);
}

/* Looks at all uses of the bytes by others, and forgets those that lie wholly within. */
static void check_uses(struct order_checker *checker, const char *what, unsigned number,
                       uintptr_t start, uintptr_t end)
{
    const struct clock *clock =
        number == NO_NUMBER ? &checker->host : &checker->streams[number].clock;
    size_t kept = 0;
    for (size_t i = 0; i < checker->use_count; i++) {
        struct use use = checker->uses[i];
        bool overlaps = use.start < end && start < use.end;
        bool is_before = use.stream == number || use.step <= clock->steps[use.stream] ||
                         use.step <= checker->host.steps[use.stream];
        if (overlaps && !is_before) {
            report(checker, what, start, end, number, use.stream);
        }
        if (overlaps && start <= use.start && use.end <= end) continue;
        checker->uses[kept++] = use;
    }
    checker->use_count = kept;
}

/* Looks at memory that was given for use on a stream. */
static void check_taken(struct order_checker *checker, unsigned number, uintptr_t start,
                        uintptr_t end)
{
    for (size_t i = 0; i < checker->owned_count; i++) {
        const struct owned *owned = &checker->owned[i];
        if (owned->start < end && start < owned->end)
            report(checker, "handed out twice", start, end, number, number);
    }
    check_uses(checker, "handed out while they may still be used", number, start, end);
}

/* The pool says that no work uses the memory. */
static void check_unmapped(struct order_checker *checker, uintptr_t start, uintptr_t end)
{
    pthread_mutex_lock(&checker->lock);
    checker->counts.idle_unmaps++;
    check_uses(checker, "unmapped while they may still be used", NO_NUMBER, start, end);
    pthread_mutex_unlock(&checker->lock);
}

void order_checker_take(struct order_checker *checker, tarn_stream stream, const void *address,
                        size_t size_bytes)
{
    uintptr_t start = (uintptr_t)address, end = start + size_bytes;
    pthread_mutex_lock(&checker->lock);
    check_taken(checker, number_of(checker, stream), start, end);
    checker->owned = grown(checker->owned, checker->owned_count, &checker->owned_capacity,
                           sizeof *checker->owned);
    checker->owned[checker->owned_count++] = (struct owned){ start, end };
    pthread_mutex_unlock(&checker->lock);
}

void order_checker_drop(struct order_checker *checker, const void *address)
{
    pthread_mutex_lock(&checker->lock);
    for (size_t i = 0; i < checker->owned_count; i++) {
        if (checker->owned[i].start != (uintptr_t)address) continue;
        checker->owned[i] = checker->owned[--checker->owned_count];
        break;
    }
    pthread_mutex_unlock(&checker->lock);
}

static struct owned *find_owned(struct order_checker *checker, const void *address)
{
    for (size_t i = 0; i < checker->owned_count; i++) {
        if (checker->owned[i].start == (uintptr_t)address) return &checker->owned[i];
    }
    abort();
}

void order_checker_shorten(struct order_checker *checker, const void *address, size_t size_bytes)
{
    pthread_mutex_lock(&checker->lock);
    find_owned(checker, address)->end = (uintptr_t)address + size_bytes;
    pthread_mutex_unlock(&checker->lock);
}

void order_checker_extend(struct order_checker *checker, tarn_stream stream, const void *address,
                          size_t old_bytes, size_t size_bytes)
{
    uintptr_t start = (uintptr_t)address + old_bytes, end = (uintptr_t)address + size_bytes;
    pthread_mutex_lock(&checker->lock);
    if (start < end) check_taken(checker, number_of(checker, stream), start, end);
    find_owned(checker, address)->end = end;
    pthread_mutex_unlock(&checker->lock);
}

/* --- findings ----------------------------------------------------------------------------------- */

size_t order_checker_fault_count(const struct order_checker *checker)
{
    return checker->fault_count;
}

const char *order_checker_first_fault(const struct order_checker *checker)
{
    return checker->first_fault;
}

struct order_checker_counts order_checker_counts(const struct order_checker *checker)
{
    return checker->counts;
}
