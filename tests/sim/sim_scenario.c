/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_scenario: the steps, and what a careful program does when one fails. */
#include "harness/claims.h"
#include "sim_scenario.h"

#include <string.h>
#include <unistd.h>

#include "sim_vendor.h"
#include "tarn/backend.h"
#include "tarn/debug.h"
#include "tarn/stats.h"

enum {
    ALLOC_COUNT = 6
};

#define MIB ((size_t)1 << 20)

struct run {
    struct sim_scenario *scenario;
    size_t faults_before;
    bool host_fault_before;
    tarn_backend backend;
    const tarn_backend_operations *operations;
    void *state;
    tarn_device_properties properties;
    tarn_pool *pool;
    void *addresses[ALLOC_COUNT];
    tarn_stream a, b;
    tarn_event event;
};

/* --- steps ------------------------------------------------------------------------------------- */

static bool has_host_fault(const struct run *run)
{
    return run->scenario->has_host_fault && run->scenario->has_host_fault();
}

static void begin_step(struct run *run)
{
    run->faults_before = sim_fault_count();
    run->host_fault_before = has_host_fault(run);
}

/* After a failure, too, but for the one that kept it from being set back. The fault is over, so that
 * asking meets none. */
static void expect_same_current_device(const struct run *run, const struct sim_step *step)
{
    if (!step->met_fault || run->scenario->stays_broken || !sim_vendor.current_device) return;
    if (sim_vendor_is_optional(step->text, sim_fault_name())) return;
    int current = sim_vendor.current_device();
    if (current != run->scenario->current_device)
        fail_msg("%s: left device %d current", step->text, current);
}

static bool end_step(struct run *run, const char *text, bool gives_back, tarn_backend_result result)
{
    struct sim_step step = {
        .text = text,
        .gives_back = gives_back,
        .met_fault = sim_fault_count() != run->faults_before ||
                     has_host_fault(run) != run->host_fault_before,
        .result = result,
    };
    run->scenario->judge(run->scenario, &step);
    if (run->pool) assert_int_equal(tarn_pool_check(run->pool), TARN_STATUS_OK);
    const char *left = sim_vendor.take_last_error ? sim_vendor.take_last_error() : NULL;
    if (left) fail_msg("%s: left %s in the vendor's last error", text, left);
    expect_same_current_device(run, &step);
    return result.status == TARN_STATUS_OK;
}

static tarn_backend_result result_of(tarn_status status)
{
    if (status == TARN_STATUS_OK) return TARN_BACKEND_RESULT_OK;
    tarn_error error = tarn_last_error();
    assert_int_equal(error.status, status);
    assert_true(error.message[0] != '\0');
    return (tarn_backend_result){ status, error.vendor_code,
                                  error.vendor_name[0] ? error.vendor_name : NULL };
}

/* True: it went well. */
#define STEP(run, call)      (begin_step(run), end_step(run, #call, false, call))
#define GIVE_BACK(run, call) (begin_step(run), end_step(run, #call, true, call))

/* A value that may go unused. */
static bool outcome(bool is_good)
{
    return is_good;
}

/* Once more when it failed. */
#define TRY(run, call) outcome(STEP(run, call) || STEP(run, call))

/* Once more when it failed and the vendor still has the thing. */
#define TRY_TO_GIVE_BACK(run, thing, call)                                                   \
    do {                                                                                     \
        size_t alive_before = sim_alive(thing);                                              \
        if (!GIVE_BACK(run, call) && sim_alive(thing) == alive_before) GIVE_BACK(run, call); \
    } while (0)

/* --- the pool ---------------------------------------------------------------------------------- */

static size_t static_pool_count(const struct run *run)
{
    tarn_stats stats = TARN_STATS_INIT;
    assert_int_equal(tarn_pool_stats(run->pool, &stats), TARN_STATUS_OK);
    return stats.static_pool_count;
}

/* A backend may try a range while it is opened, and the vendor may refuse to take it back. */
static void note_lost_by_opening(const struct run *run)
{
    const sim_thing things[] = { SIM_THING_RANGE, SIM_THING_PHYSICAL, SIM_THING_MAPPING };
    size_t lost_count = 0;
    for (size_t i = 0; i < sizeof things / sizeof *things; i++) {
        run->scenario->lost[things[i]] = sim_alive(things[i]);
        lost_count += sim_alive(things[i]);
    }
    if (lost_count > 0) assert_true(sim_vendor_is_optional("open", sim_fault_name()));
}

static bool open_backend(struct run *run)
{
    struct sim_scenario *scenario = run->scenario;
    bool is_open =
        TRY(run, result_of(tarn_backend_open(scenario->device, scenario->kind, &run->backend)));
    note_lost_by_opening(run);
    if (!is_open) return false;
    run->operations = run->backend.operations;
    run->state = run->backend.state;
    return STEP(run, run->operations->get_properties(run->state, &run->properties));
}

/* Each allocation needs a static pool of its own, since the pool does not grow faster. */
static bool make_pool_grow(struct run *run)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &run->backend;
    options.initial_bytes = 2 * MIB;
    options.growth_factor = 1;
    if (!TRY(run, result_of(tarn_pool_create(&options, &run->pool)))) return false;
    for (size_t i = 0; i < ALLOC_COUNT; i++)
        TRY(run, result_of(tarn_pool_alloc(run->pool, MIB, &run->addresses[i])));
    return true;
}

static void free_all(struct run *run)
{
    for (size_t i = 0; i < ALLOC_COUNT; i++) {
        GIVE_BACK(run, result_of(tarn_pool_free(run->pool, run->addresses[i])));
        run->addresses[i] = NULL;
    }
}

/* A piece that the vendor refuses in a trim stays with the pool, and the others are given back. A call that the backend
 * can do without may have failed besides. */
static void expect_kept_memory(const struct run *run, bool was_refused, size_t kept_count)
{
    if (run->scenario->stays_broken) return;
    size_t alive_count = sim_alive(SIM_THING_MEMORY);
    size_t fault_count = sim_fault_count() - run->faults_before;
    assert_true(alive_count >= kept_count);
    if (!was_refused) assert_int_equal(alive_count, kept_count);
    if (was_refused) assert_in_range(alive_count - kept_count, 1, fault_count);
}

/* Trims all but one static pool away, and grows again. */
static void trim_pool(struct run *run)
{
    size_t released_bytes = 0;
    bool is_good = GIVE_BACK(run, result_of(tarn_pool_trim(run->pool, 2 * MIB, &released_bytes)));
    expect_kept_memory(run, !is_good, static_pool_count(run));
    for (size_t i = 0; i < ALLOC_COUNT; i++)
        TRY(run, result_of(tarn_pool_alloc(run->pool, MIB, &run->addresses[i])));
    free_all(run);
}

/* Events are alive besides those that were before, and those that the vendor refused to take back are
 * lost. */
static size_t note_lost_events(struct run *run, size_t alive_before)
{
    if (sim_vendor.events_are_tarns_own) return 0;
    size_t lost_count = sim_alive(SIM_THING_EVENT) - alive_before;
    run->scenario->lost[SIM_THING_EVENT] += lost_count;
    return lost_count;
}

/* Destroying succeeds whatever the vendor does. What it refuses once it takes the second time. Besides the pool's there are kept_count pieces of memory,
 * and event_count events. */
static void destroy_pool(struct run *run, size_t kept_count, size_t event_count)
{
    begin_step(run);
    tarn_pool *pool = run->pool;
    run->pool = NULL;
    size_t faults_before = run->faults_before;
    end_step(run, "tarn_pool_destroy(pool)", true, result_of(tarn_pool_destroy(pool)));
    if (run->scenario->stays_broken) return;
    run->faults_before = faults_before;
    bool may_be_refused = sim_fault_count() != faults_before;
    size_t lost_event_count = note_lost_events(run, event_count);
    if (lost_event_count > 0) assert_true(may_be_refused);
    expect_kept_memory(run, false, kept_count);
}

/* --- streams, events, data --------------------------------------------------------------------- */

static void expect_byte(const void *address, unsigned char value)
{
    unsigned char found = (unsigned char)~value;
    assert_true(sim_peek(&found, address, 1));
    assert_int_equal(found, value);
}

static bool make_streams(struct run *run)
{
    const tarn_backend_operations *operations = run->operations;
    bool has_all = TRY(run, operations->stream_create(run->state, &run->a));
    has_all = TRY(run, operations->stream_create(run->state, &run->b)) && has_all;
    has_all = TRY(run, operations->event_create(run->state, &run->event)) && has_all;
    return has_all;
}

/* The check may take an event and give it back, and what the vendor refuses to take is lost. */
static void check_stream(struct run *run)
{
    size_t alive_before = sim_alive(SIM_THING_EVENT), faults_before = sim_fault_count();
    TRY(run, run->operations->stream_check(run->state, run->a));
    size_t lost_count = sim_alive(SIM_THING_EVENT) - alive_before;
    assert_in_range(lost_count, 0, sim_fault_count() - faults_before);
    run->scenario->lost[SIM_THING_EVENT] += lost_count;
}

/* A fills, B copies what A filled, the host waits for B. */
static void use_streams(struct run *run)
{
    const tarn_backend_operations *operations = run->operations;
    void *state = run->state;
    unsigned char *from = run->addresses[0], *to = run->addresses[1];
    if (!from || !to) return;
    bool is_good = TRY(run, operations->fill(state, from, 5, 1000, run->a)) &&
                   TRY(run, operations->event_record(state, run->event, run->a)) &&
                   TRY(run, operations->stream_wait_event(state, run->b, run->event)) &&
                   TRY(run, operations->copy(state, to, from, 1000, run->b)) &&
                   TRY(run, operations->event_record(state, run->event, run->b));
    if (!is_good) return;
    tarn_backend_result result;
    do {
        begin_step(run);
        result = operations->event_query(state, run->event);
        if (result.status != TARN_STATUS_NOT_READY) end_step(run, "event_query", false, result);
    } while (result.status == TARN_STATUS_NOT_READY);
    if (result.status == TARN_STATUS_OK) expect_byte(to + 999, 5);
    /* What failed is not recorded, and the event means what it meant before. */
    bool is_recorded = TRY(run, operations->fill(state, from, 6, 1000, run->a)) &&
                       TRY(run, operations->event_record(state, run->event, run->a));
    if (TRY(run, operations->event_synchronize(state, run->event)) && is_recorded)
        expect_byte(from, 6);
    TRY(run, operations->fill(state, from, 7, 1000, NULL));
    if (TRY(run, operations->stream_synchronize(state, NULL))) expect_byte(from, 7);
    if (sim_vendor.synchronizes) {
        TRY(run, operations->fill(state, from, 8, 1000, run->b));
        if (TRY(run, operations->synchronize(state))) expect_byte(from, 8);
    }
    TRY(run, operations->stream_synchronize(state, run->a));
    TRY(run, operations->stream_synchronize(state, run->b));
}

/* --- a pool that hands memory over between streams ----------------------------------------------- */

#define HANDED_BYTES ((size_t)3 << 19)

bool sim_step_has_other_way(const struct sim_step *step)
{
    return strstr(step->text, "hand_over(") != NULL || strstr(step->text, "retire(") != NULL;
}

bool sim_step_cannot_fail(const struct sim_step *step)
{
    return strstr(step->text, "tarn_pool_destroy(") != NULL ||
           strstr(step->text, "free_through(") != NULL;
}

bool sim_step_is_of_stream(const struct sim_step *step)
{
    return strstr(step->text, "see_by_stream_check(") != NULL ||
           strstr(step->text, "retire(") != NULL;
}

/* The pool has room, so that there is nothing to do but to look at the stream. */
static tarn_backend_result see_by_stream_check(struct run *run, tarn_stream stream)
{
    void *address = NULL;
    tarn_status status = tarn_pool_alloc_on(run->pool, 1, stream, &address);
    if (status == TARN_STATUS_OK)
        return result_of(tarn_pool_free_after(run->pool, address, NULL, 0));
    return result_of(status);
}

static tarn_backend_result hand_over(struct run *run, tarn_stream stream, void **address_out)
{
    return result_of(tarn_pool_alloc_on(run->pool, HANDED_BYTES, stream, address_out));
}

static tarn_backend_result retire(tarn_stream stream)
{
    return result_of(tarn_stream_retire(stream));
}

/* A stream fills what it was given. False: it cannot. */
static bool use_handed_over(struct run *run, void *address, tarn_stream stream, unsigned char value)
{
    return TRY(run, run->operations->fill(run->state, address, value, HANDED_BYTES, stream));
}

/* Gives memory to another stream: what was freed, when there is no reason to give other memory. */
static void *take_over(struct run *run, tarn_stream stream, const void *freed, bool is_only_choice)
{
    size_t faults_before = sim_fault_count();
    bool host_fault_before = has_host_fault(run);
    void *address = NULL;
    TRY(run, hand_over(run, stream, &address));
    bool is_well = sim_fault_count() == faults_before && has_host_fault(run) == host_fault_before;
    if (is_well && is_only_choice) assert_ptr_equal(address, freed);
    return address;
}

/* What the pool holds has room for one, so there is nothing to choose. */
static bool has_one_static_pool(const struct run *run)
{
    return static_pool_count(run) == 1;
}

/* A fills what NULL had, B what A had, NULL what both had; what was written last must be read. */
static void hand_memory_around(struct run *run)
{
    const tarn_backend_operations *operations = run->operations;
    const tarn_stream both[] = { run->a, run->b };
    void *first = NULL;
    TRY(run, result_of(tarn_pool_alloc(run->pool, HANDED_BYTES, &first)));
    if (!first) return;
    bool is_well = use_handed_over(run, first, NULL, 1);
    GIVE_BACK(run, result_of(tarn_pool_free(run->pool, first)));
    if (!is_well) return;
    void *second = take_over(run, run->a, first, has_one_static_pool(run));
    if (!second) return;
    is_well = use_handed_over(run, second, run->a, 2);
    GIVE_BACK(run, result_of(tarn_pool_free_on(run->pool, second, run->a)));
    if (!is_well) return;
    void *third = take_over(run, run->b, second, has_one_static_pool(run));
    if (!third) return;
    is_well = use_handed_over(run, third, run->b, 3);
    GIVE_BACK(run, result_of(tarn_pool_free_after(run->pool, third, both, 2)));
    /* Once: after a failure the handle is that of a stream which no pool has seen. */
    bool is_retired = STEP(run, retire(run->b));
    void *last = take_over(run, NULL, third, is_retired && has_one_static_pool(run));
    if (!last) return;
    is_well = use_handed_over(run, last, NULL, 4) && is_well;
    is_well = TRY(run, operations->stream_synchronize(run->state, run->a)) && is_well;
    is_well = TRY(run, operations->stream_synchronize(run->state, run->b)) && is_well;
    is_well = TRY(run, operations->stream_synchronize(run->state, NULL)) && is_well;
    if (is_well) expect_byte((unsigned char *)last + HANDED_BYTES - 1, 4);
    GIVE_BACK(run, result_of(tarn_pool_free(run->pool, last)));
}

/* Each may take an event and give it back, as check_stream's do. */
static bool see_streams(struct run *run, size_t *event_count)
{
    size_t faults_before = sim_fault_count();
    void *kept = NULL;
    TRY(run, result_of(tarn_pool_alloc(run->pool, 1, &kept)));
    bool has_all = kept && TRY(run, see_by_stream_check(run, run->a));
    has_all = has_all && TRY(run, see_by_stream_check(run, run->b));
    GIVE_BACK(run, result_of(tarn_pool_free_after(run->pool, kept, NULL, 0)));
    size_t lost_count = note_lost_events(run, *event_count);
    *event_count += lost_count;
    assert_in_range(lost_count, 0, sim_fault_count() - faults_before);
    return has_all;
}

static void use_pool_on_streams(struct run *run)
{
    tarn_pool *grown = run->pool;
    size_t kept_count = static_pool_count(run), event_count = sim_alive(SIM_THING_EVENT);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &run->backend;
    options.initial_bytes = 2 * MIB;
    options.growth_factor = 1;
    run->pool = NULL;
    if (TRY(run, result_of(tarn_pool_create(&options, &run->pool)))) {
        if (see_streams(run, &event_count)) hand_memory_around(run);
        destroy_pool(run, kept_count, event_count);
    }
    run->pool = grown;
}

/* --- the end of the streams ------------------------------------------------------------------------ */

static void destroy_streams(struct run *run)
{
    const tarn_backend_operations *operations = run->operations;
    if (run->event)
        TRY_TO_GIVE_BACK(run, SIM_THING_EVENT, operations->event_destroy(run->state, run->event));
    if (run->a)
        TRY_TO_GIVE_BACK(run, SIM_THING_STREAM, operations->stream_destroy(run->state, run->a));
    if (run->b)
        TRY_TO_GIVE_BACK(run, SIM_THING_STREAM, operations->stream_destroy(run->state, run->b));
}

/* --- ranges ------------------------------------------------------------------------------------ */

static bool map(struct run *run, void *address, size_t size_bytes, tarn_mapping *mapping_out)
{
    const tarn_backend_operations *operations = run->operations;
    size_t held_before = sim_held_bytes(run->scenario->device, SIM_MEMORY_KIND_DEVICE);
    for (int attempt = 0; attempt < 2; attempt++) {
        if (STEP(run, operations->range_map(run->state, address, size_bytes, mapping_out)))
            return true;
        if (run->scenario->stays_broken) return false;
        assert_int_equal(sim_held_bytes(run->scenario->device, SIM_MEMORY_KIND_DEVICE),
                         held_before);
    }
    return false;
}

/* The device may still read and write what is mapped there. */
static void expect_mapped(struct run *run, void *address)
{
    expect_done(*run, fill, address, 10, 1, run->a);
    expect_done(*run, stream_synchronize, run->a);
    expect_byte(address, 10);
}

/* On failure all stays as it was, so that it can be asked again. */
static bool unmap(struct run *run, void *address, size_t size_bytes, tarn_mapping mapping)
{
    const tarn_backend_operations *operations = run->operations;
    size_t mappings_before = sim_alive(SIM_THING_MAPPING);
    size_t physicals_before = sim_alive(SIM_THING_PHYSICAL);
    for (int attempt = 0; attempt < 2; attempt++) {
        if (GIVE_BACK(run, operations->range_unmap(run->state, address, size_bytes, mapping)))
            return true;
        if (run->scenario->stays_broken) return false;
        assert_int_equal(sim_alive(SIM_THING_MAPPING), mappings_before);
        assert_int_equal(sim_alive(SIM_THING_PHYSICAL), physicals_before);
        expect_mapped(run, address);
    }
    return false;
}

/* False: something is still mapped. */
static bool use_mappings(struct run *run, unsigned char *range, size_t granule_bytes)
{
    tarn_mapping first = NULL, second = NULL;
    bool has_first = map(run, range, granule_bytes, &first);
    bool has_second = map(run, range + granule_bytes, 2 * granule_bytes, &second);
    if (has_first && has_second) {
        /* Across the seam. */
        unsigned char *middle = range + granule_bytes;
        bool is_filled =
            TRY(run, run->operations->fill(run->state, middle - 500, 8, 1000, run->a)) &&
            TRY(run, run->operations->stream_synchronize(run->state, run->a));
        if (is_filled) {
            expect_byte(middle - 1, 8);
            expect_byte(middle + 499, 8);
        }
        TRY(run, run->operations->fill(run->state, middle, 9, 1000, run->a));
    }
    bool is_empty = true;
    if (has_second) is_empty = unmap(run, range + granule_bytes, 2 * granule_bytes, second);
    if (has_first) is_empty = unmap(run, range, granule_bytes, first) && is_empty;
    return is_empty;
}

static void use_ranges(struct run *run)
{
    size_t granule_bytes = run->properties.range_granularity_bytes;
    if (granule_bytes == 0) return;
    run->scenario->had_ranges = true;
    void *range;
    if (!TRY(run, run->operations->range_reserve(run->state, 4 * granule_bytes, &range))) return;
    if (!use_mappings(run, range, granule_bytes)) return;
    TRY_TO_GIVE_BACK(run, SIM_THING_RANGE,
                     run->operations->range_release(run->state, range, 4 * granule_bytes));
}

/* --- a contiguous pool -------------------------------------------------------------------------- */

/* Asks for fewer addresses when the vendor has not so many. */
static tarn_backend_result create_contiguous(struct run *run)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &run->backend;
    options.initial_bytes = 0;
    options.limit_bytes = 32 * MIB;
    options.contiguous = true;
    options.is_shareable = run->properties.has_shareable_ranges;
    options.step_bytes = 2 * MIB;
    return result_of(tarn_pool_create(&options, &run->pool));
}

struct alive {
    size_t ranges, physicals, mappings;
};

static struct alive count_alive(void)
{
    return (struct alive){
        .ranges = sim_alive(SIM_THING_RANGE),
        .physicals = sim_alive(SIM_THING_PHYSICAL),
        .mappings = sim_alive(SIM_THING_MAPPING),
    };
}

/* A step that the vendor refuses to take back when the pool is destroyed is lost, and its addresses are; or
 * the addresses alone. */
static void note_lost_range(struct run *run, const struct alive *before, bool may_be_refused)
{
    if (run->scenario->stays_broken) return;
    struct alive after = count_alive();
    assert_in_range(after.ranges - before->ranges, 0, may_be_refused);
    assert_in_range(after.physicals - before->physicals, 0, after.ranges - before->ranges);
    assert_in_range(after.mappings - before->mappings, 0, after.ranges - before->ranges);
    run->scenario->lost[SIM_THING_RANGE] += after.ranges - before->ranges;
    run->scenario->lost[SIM_THING_PHYSICAL] += after.physicals - before->physicals;
    run->scenario->lost[SIM_THING_MAPPING] += after.mappings - before->mappings;
}

/* Writes across the edge of two steps. */
static void use_steps(struct run *run, unsigned char *address)
{
    unsigned char *edge = address + 2 * MIB;
    bool is_filled = TRY(run, run->operations->fill(run->state, edge - 500, 8, 1000, NULL)) &&
                     TRY(run, run->operations->stream_synchronize(run->state, NULL));
    if (!is_filled) return;
    expect_byte(edge - 1, 8);
    expect_byte(edge + 499, 8);
}

/* The descriptor is the program's. */
static void export_step(struct run *run, const void *address)
{
    tarn_exported_step step = TARN_EXPORTED_STEP_INIT;
    if (!run->properties.has_shareable_ranges) return;
    run->scenario->had_sharing = true;
    if (TRY(run, result_of(tarn_pool_export(run->pool, address, &step))))
        close(step.file_descriptor);
}

/* Grows, frees, trims and grows again. */
static void use_contiguous_pool(struct run *run)
{
    if (run->properties.range_granularity_bytes == 0) return;
    tarn_pool *grown = run->pool;
    struct alive before = count_alive();
    run->pool = NULL;
    if (TRY(run, create_contiguous(run))) {
        for (int round = 0; round < 2; round++) {
            void *one = NULL, *other = NULL;
            TRY(run, result_of(tarn_pool_alloc(run->pool, 5 * MIB, &one)));
            TRY(run, result_of(tarn_pool_alloc(run->pool, 3 * MIB, &other)));
            if (one) use_steps(run, one);
            if (one) export_step(run, one);
            GIVE_BACK(run, result_of(tarn_pool_free(run->pool, one)));
            GIVE_BACK(run, result_of(tarn_pool_trim(run->pool, 0, NULL)));
            GIVE_BACK(run, result_of(tarn_pool_free(run->pool, other)));
        }
        tarn_pool *pool = run->pool;
        run->pool = NULL;
        size_t faults_before = sim_fault_count();
        GIVE_BACK(run, result_of(tarn_pool_destroy(pool)));
        note_lost_range(run, &before, sim_fault_count() > faults_before);
    }
    run->pool = grown;
}

/* --- a pool that passes through ------------------------------------------------------------------ */

/* The free succeeds whatever the vendor says. What that refuses it takes later. */
static tarn_backend_result free_through(struct run *run, void *address)
{
    return result_of(tarn_pool_free(run->pool, address));
}

static void use_pool_that_passes_through(struct run *run)
{
    tarn_pool *grown = run->pool;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &run->backend;
    options.passes_through = true;
    size_t alive_before = sim_alive(SIM_THING_MEMORY);
    run->pool = NULL;
    if (TRY(run, result_of(tarn_pool_create(&options, &run->pool)))) {
        for (size_t i = 0; i < 3; i++) {
            void *address = NULL;
            TRY(run, result_of(tarn_pool_alloc(run->pool, 100 + i, &address)));
            if (!address) continue;
            GIVE_BACK(run, free_through(run, address));
        }
        tarn_pool *pool = run->pool;
        run->pool = NULL;
        GIVE_BACK(run, result_of(tarn_pool_destroy(pool)));
        if (!run->scenario->stays_broken)
            assert_in_range(sim_alive(SIM_THING_MEMORY), 0, alive_before);
    }
    run->pool = grown;
}

/* --- all of it --------------------------------------------------------------------------------- */

static void use_backend(struct run *run)
{
    tarn_memory_info info;
    TRY(run, run->operations->query_memory(run->state, &info));
    bool has_pool = make_pool_grow(run);
    if (make_streams(run)) {
        check_stream(run);
        if (has_pool) use_streams(run);
        if (has_pool) use_pool_on_streams(run);
        use_ranges(run);
        use_contiguous_pool(run);
    }
    if (has_pool) {
        free_all(run);
        trim_pool(run);
        use_pool_that_passes_through(run);
    }
    destroy_streams(run);
    if (has_pool) destroy_pool(run, 0, sim_alive(SIM_THING_EVENT));
}

/* Closing has no status. What the vendor refuses then is lost. */
static void close_backend(struct run *run)
{
    begin_step(run);
    tarn_backend_close(&run->backend);
    size_t fault_count = sim_fault_count() - run->faults_before, lost_count = 0;
    if (fault_count == 0 || run->scenario->stays_broken) return;
    for (int thing = 0; thing < SIM_THING_COUNT; thing++) {
        size_t *lost = &run->scenario->lost[thing];
        size_t alive_count = sim_alive((sim_thing)thing);
        if (alive_count > *lost) lost_count += alive_count - *lost;
        *lost = alive_count;
    }
    bool is_optional = sim_vendor_is_optional("close", sim_fault_name());
    assert_in_range(lost_count, is_optional ? 0 : 1, fault_count);
}

void sim_scenario_run(struct sim_scenario *scenario)
{
    struct run run = { .scenario = scenario };
    if (open_backend(&run)) use_backend(&run);
    close_backend(&run);
}

void sim_scenario_expect_nothing_leaked(const struct sim_scenario *scenario)
{
    for (int thing = 0; thing < SIM_THING_COUNT; thing++) {
        if (sim_alive((sim_thing)thing) == scenario->lost[thing]) continue;
        fail_msg("alive: %s; expected of things number %d: %zu", sim_describe_alive(), thing,
                 scenario->lost[thing]);
    }
    if (sim_misuse_count() > 0) fail_msg("misuse: %s", sim_first_misuse());
}
