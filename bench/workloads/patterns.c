/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* patterns: workloads whose sizes creep, drawn from the seed. */
#include "patterns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/random.h"
#include "commands.h"

enum {
    DRAW_COUNT = 5,
    FIELD_COUNT = 12,
    WORK_COUNT = 6,
    REFINE_STEP_COUNT = 20,
    REFINE_CYCLE_COUNT = 2,
    WALK_STEP_COUNT = 300,
    PHASE_COUNT = 60,
    PHASE_ARRAYS_MAX = 6,
    RATES_STEP_COUNT = 300,
    DOUBLING_STEP_COUNT = 100,
    ARRAYS_MAX = 12,
    RATE_ONE = 10000 /* rates are in parts of it */
};

static const uint64_t kilobyte = 1 << 10;
static const uint64_t page_bytes =
    4 << 10; /* Robson's blocks are whole pages, for the vendor's calls */
static const uint64_t peak_bytes_min = (uint64_t)128 << 20;
static const uint64_t peak_bytes_max = (uint64_t)8 << 30;
static const uint64_t phase_bytes_min = (uint64_t)3 << 20;
static const uint64_t phase_bytes_max = (uint64_t)130 << 20;

/* Lasting blocks take at most this part of the peak. */
static const uint64_t lasting_part = 16;

enum variant {
    VARIANT_PLAIN,
    VARIANT_LASTING,
    VARIANT_STREAMS,
    VARIANT_BEHIND,
    VARIANT_THREADS,
    VARIANT_COUNT
};

const char *const tn_pattern_variants[] = {
    "plain", "lasting", "streams", "behind", "threads", NULL
};

/* The operations of one thread, as a family writes them. Each block has a slot of its own. */
struct script {
    struct tn_operations *operations;
    struct tn_random random;
    uint64_t peak_bytes; /* that may be live at a time, without lasting blocks */
    size_t slot_count;

    size_t step_count;
    size_t lasting_interval; /* steps from one lasting block to the next; 0: none is made */
    uint64_t lasting_bytes;  /* of each */
    uint64_t lasting_bytes_left;
    struct tn_operations lasting_frees;

    bool lacks_memory;
    char about[48]; /* what was drawn, for the name */
};

static uint64_t draw(struct script *script, uint64_t min, uint64_t max)
{
    return min + tn_random_below(&script->random, (size_t)(max - min + 1));
}

/* Every doubling is equally likely. */
static uint64_t draw_log(struct script *script, uint64_t min, uint64_t max)
{
    return tn_random_log_uniform(&script->random, min, max);
}

static size_t make(struct script *script, uint64_t size_bytes)
{
    if (!tn_operations_add_alloc(script->operations, script->slot_count, (size_t)size_bytes))
        script->lacks_memory = true;
    return script->slot_count++;
}

static void drop(struct script *script, size_t slot)
{
    if (!tn_operations_add_free(script->operations, slot)) script->lacks_memory = true;
}

static void end_step(struct script *script)
{
    script->step_count++;
    if (script->lasting_interval == 0 || script->step_count % script->lasting_interval != 0) return;
    if (script->lasting_bytes > script->lasting_bytes_left) return;
    script->lasting_bytes_left -= script->lasting_bytes;
    if (!tn_operations_add_free(&script->lasting_frees, make(script, script->lasting_bytes)))
        script->lacks_memory = true;
}

static void free_lasting(struct script *script)
{
    for (size_t i = 0; i < script->lasting_frees.count; i++)
        drop(script, script->lasting_frees.items[i].slot);
    free(script->lasting_frees.items);
    script->lasting_frees = (struct tn_operations){ NULL, 0, 0 };
}

/* Always by one byte or cell at least, so that what creeps arrives. */
static uint64_t grown(uint64_t size, uint64_t rate)
{
    return size + size * rate / RATE_ONE + 1;
}

static uint64_t shrunk(uint64_t size, uint64_t rate)
{
    uint64_t less = size * rate / RATE_ONE + 1;
    return size > less ? size - less : 1;
}

static double percent(uint64_t rate)
{
    return (double)rate * 100 / RATE_ONE;
}

static uint64_t draw_rate(struct script *script, uint64_t min)
{
    return draw_log(script, min, RATE_ONE / 5);
}

/* --- fields of a mesh ----------------------------------------------------------------------------- */

struct mesh {
    uint64_t widths[FIELD_COUNT]; /* bytes of a cell */
    uint64_t work_widths[WORK_COUNT];
    size_t slots[FIELD_COUNT];
    uint64_t cells_max; /* then old fields, new ones and work arrays are live together */
};

static void mesh_init(struct mesh *mesh, struct script *script)
{
    uint64_t width = 0;
    for (size_t i = 0; i < FIELD_COUNT; i++)
        width += 2 * (mesh->widths[i] = 8 * draw_log(script, 1, 24));
    for (size_t i = 0; i < WORK_COUNT; i++)
        width += mesh->work_widths[i] = draw_log(script, 1, 80);
    mesh->cells_max = script->peak_bytes / width;
}

static void mesh_make(struct mesh *mesh, struct script *script, uint64_t cells)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        mesh->slots[i] = make(script, cells * mesh->widths[i]);
}

static void mesh_drop(const struct mesh *mesh, struct script *script)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        drop(script, mesh->slots[i]);
}

static void mesh_adapt(struct mesh *mesh, struct script *script, uint64_t cells)
{
    const struct mesh old = *mesh;
    size_t work[WORK_COUNT];
    for (size_t i = 0; i < WORK_COUNT; i++)
        work[i] = make(script, cells * mesh->work_widths[i]);
    mesh_make(mesh, script, cells);
    for (size_t i = 0; i < WORK_COUNT; i++)
        drop(script, work[i]);
    mesh_drop(&old, script);
    end_step(script);
}

static void write_mesh(struct script *script)
{
    struct mesh mesh;
    mesh_init(&mesh, script);
    uint64_t rate = draw_rate(script, RATE_ONE / 200);
    uint64_t cells_min = mesh.cells_max / draw_log(script, 8, 128);
    bool shrinks = draw(script, 1, 4) == 1;
    uint64_t cells = shrinks ? mesh.cells_max : cells_min;
    mesh_make(&mesh, script, cells);
    while ((cells = shrinks ? shrunk(cells, rate) : grown(cells, rate)) >= cells_min &&
           cells <= mesh.cells_max)
        mesh_adapt(&mesh, script, cells);
    mesh_drop(&mesh, script);
    snprintf(script->about, sizeof script->about, "%c%.3g %%", shrinks ? '-' : '+', percent(rate));
}

static void write_refine(struct script *script)
{
    struct mesh mesh;
    mesh_init(&mesh, script);
    uint64_t rate = draw_rate(script, RATE_ONE / 100);
    uint64_t cells[REFINE_STEP_COUNT + 1];
    cells[REFINE_STEP_COUNT] = mesh.cells_max;
    for (size_t i = REFINE_STEP_COUNT; i > 0; i--)
        cells[i - 1] = shrunk(cells[i], rate);
    mesh_make(&mesh, script, cells[0]);
    for (size_t cycle = 0; cycle < REFINE_CYCLE_COUNT; cycle++) {
        for (size_t i = 1; i <= REFINE_STEP_COUNT; i++)
            mesh_adapt(&mesh, script, cells[i]);
        for (size_t i = REFINE_STEP_COUNT; i > 0; i--)
            mesh_adapt(&mesh, script, cells[i - 1]);
    }
    mesh_drop(&mesh, script);
    snprintf(script->about, sizeof script->about, "%.3g %%", percent(rate));
}

/* --- single arrays -------------------------------------------------------------------------------- */

struct array {
    size_t slot;
    uint64_t size_bytes;
};

static void array_make(struct array *array, struct script *script, uint64_t size_bytes)
{
    *array = (struct array){ make(script, size_bytes), size_bytes };
}

static void array_copy(struct array *array, struct script *script, uint64_t size_bytes)
{
    const struct array old = *array;
    array_make(array, script, size_bytes);
    drop(script, old.slot);
}

static void array_replace(struct array *array, struct script *script, uint64_t size_bytes)
{
    drop(script, array->slot);
    array_make(array, script, size_bytes);
}

typedef void array_change(struct array *array, struct script *script, uint64_t size_bytes);

static void write_growing_array(struct script *script, uint64_t size_bytes_max,
                                array_change *change)
{
    uint64_t rate = draw_rate(script, RATE_ONE / 200);
    struct array array;
    array_make(&array, script, size_bytes_max / draw_log(script, 16, 256));
    for (uint64_t size_bytes; (size_bytes = grown(array.size_bytes, rate)) <= size_bytes_max;) {
        change(&array, script, size_bytes);
        end_step(script);
    }
    drop(script, array.slot);
    snprintf(script->about, sizeof script->about, "+%.3g %%", percent(rate));
}

static void write_anew(struct script *script)
{
    write_growing_array(script, script->peak_bytes, array_replace);
}

static void write_copied(struct script *script)
{
    write_growing_array(script, script->peak_bytes / 2, array_copy);
}

/* --- several arrays ------------------------------------------------------------------------------- */

struct arrays {
    struct array items[ARRAYS_MAX];
    size_t count;
    uint64_t size_bytes_max; /* of each: so that all and the copy of one fit */
};

/* Draws their number, and sizes from a part of the largest one on. */
static void arrays_init(struct arrays *arrays, struct script *script, size_t count, uint64_t part)
{
    arrays->count = count;
    arrays->size_bytes_max = script->peak_bytes / (count + 1);
    for (size_t i = 0; i < count; i++)
        array_make(&arrays->items[i], script,
                   draw_log(script, arrays->size_bytes_max / part, arrays->size_bytes_max / 2));
}

static void arrays_drop(const struct arrays *arrays, struct script *script)
{
    for (size_t i = 0; i < arrays->count; i++)
        drop(script, arrays->items[i].slot);
}

static void write_walk(struct script *script)
{
    struct arrays arrays;
    arrays_init(&arrays, script, (size_t)draw(script, 1, ARRAYS_MAX), 8);
    for (size_t step = 0; step < WALK_STEP_COUNT; step++) {
        for (size_t i = 0; i < arrays.count; i++) {
            struct array *array = &arrays.items[i];
            uint64_t rate = draw(script, 0, RATE_ONE * 15 / 100);
            uint64_t size_bytes = array->size_bytes * (RATE_ONE * 93 / 100 + rate) / RATE_ONE;
            if (size_bytes > arrays.size_bytes_max)
                size_bytes = shrunk(array->size_bytes, RATE_ONE * 7 / 100);
            array_copy(array, script, size_bytes);
        }
        end_step(script);
    }
    arrays_drop(&arrays, script);
    snprintf(script->about, sizeof script->about, "%zu array%s", arrays.count,
             arrays.count == 1 ? "" : "s");
}

static void write_rates(struct script *script)
{
    uint64_t rates[] = { draw_rate(script, RATE_ONE / 200), draw_rate(script, RATE_ONE / 200) };
    array_change *change = draw(script, 0, 1) ? array_copy : array_replace;
    struct arrays arrays;
    arrays_init(&arrays, script, 2, 256);
    const struct arrays begun = arrays;
    for (size_t step = 0; step < RATES_STEP_COUNT; step++) {
        for (size_t i = 0; i < 2; i++) {
            uint64_t size_bytes = grown(arrays.items[i].size_bytes, rates[i]);
            if (size_bytes > arrays.size_bytes_max) size_bytes = begun.items[i].size_bytes;
            change(&arrays.items[i], script, size_bytes);
        }
        end_step(script);
    }
    arrays_drop(&arrays, script);
    snprintf(script->about, sizeof script->about, "+%.3g, +%.3g %%, %s first", percent(rates[0]),
             percent(rates[1]), change == array_copy ? "new" : "freed");
}

static void write_doubling(struct script *script)
{
    struct arrays arrays;
    arrays_init(&arrays, script, (size_t)draw(script, 1, 8), 1 << 14);
    for (size_t step = 0; step < DOUBLING_STEP_COUNT; step++) {
        for (size_t i = 0; i < arrays.count; i++) {
            uint64_t size_bytes = 2 * arrays.items[i].size_bytes;
            if (size_bytes > arrays.size_bytes_max)
                size_bytes = draw_log(script, kilobyte, 1024 * kilobyte);
            array_copy(&arrays.items[i], script, size_bytes);
        }
        end_step(script);
    }
    arrays_drop(&arrays, script);
    snprintf(script->about, sizeof script->about, "%zu array%s", arrays.count,
             arrays.count == 1 ? "" : "s");
}

static void write_phase(struct script *script)
{
    size_t slots[PHASE_ARRAYS_MAX];
    size_t count = 0;
    size_t wanted_count = (size_t)draw(script, 1, PHASE_ARRAYS_MAX);
    for (uint64_t left_bytes = script->peak_bytes; count < wanted_count; count++) {
        if (left_bytes < phase_bytes_min) break;
        uint64_t most_bytes = left_bytes < phase_bytes_max ? left_bytes : phase_bytes_max;
        uint64_t size_bytes = draw_log(script, phase_bytes_min, most_bytes);
        slots[count] = make(script, size_bytes);
        left_bytes -= size_bytes;
    }
    tn_random_shuffle(&script->random, slots, count);
    for (size_t i = 0; i < count; i++)
        drop(script, slots[i]);
    end_step(script);
}

static void write_phases(struct script *script)
{
    for (size_t i = 0; i < PHASE_COUNT; i++)
        write_phase(script);
    snprintf(script->about, sizeof script->about, "%u phases", PHASE_COUNT);
}

/* --- Robson's construction ------------------------------------------------------------------------ */

/* A block that is live, and where it would be if each doubling filled new memory without a gap. */
struct placed {
    size_t slot;
    uint64_t first_unit;
};

struct robson {
    struct placed *live;
    size_t live_count;
    uint64_t unit_bytes; /* of the smallest blocks */
    uint64_t unit_count; /* that are live together */
};

/* Fills that many units with blocks of 2^doubling units. */
static void robson_fill(struct robson *robson, struct script *script, uint64_t unit_count,
                        unsigned doubling)
{
    for (uint64_t unit = 0; unit + ((uint64_t)1 << doubling) <= unit_count;
         unit += (uint64_t)1 << doubling)
        robson->live[robson->live_count++] =
            (struct placed){ make(script, robson->unit_bytes << doubling), unit };
}

/* Keeps the first block of each place of 2^doubling units. */
static void robson_thin(struct robson *robson, struct script *script, unsigned doubling)
{
    size_t kept_count = 0;
    for (size_t i = 0; i < robson->live_count; i++) {
        const struct placed block = robson->live[i];
        if (block.first_unit % ((uint64_t)1 << doubling) == 0)
            robson->live[kept_count++] = block;
        else
            drop(script, block.slot);
    }
    robson->live_count = kept_count;
}

/* Of each size that came before, half of what was left is freed: half of all. */
static void write_robson(struct script *script)
{
    struct robson robson = { .unit_count = (uint64_t)1 << draw(script, 10, 12) };
    unsigned doubling_count = (unsigned)draw(script, 6, 9);
    robson.unit_bytes = script->peak_bytes / robson.unit_count / page_bytes * page_bytes;
    robson.live = malloc((size_t)robson.unit_count * sizeof robson.live[0]);
    if (!robson.live) {
        script->lacks_memory = true;
        return;
    }
    robson_fill(&robson, script, robson.unit_count, 0);
    for (unsigned doubling = 1; doubling <= doubling_count; doubling++) {
        robson_thin(&robson, script, doubling);
        robson_fill(&robson, script, robson.unit_count / 2, doubling);
        end_step(script);
    }
    for (size_t i = 0; i < robson.live_count; i++)
        drop(script, robson.live[i].slot);
    free(robson.live);
    snprintf(script->about, sizeof script->about, "%u doublings of %" PRIu64 " KB", doubling_count,
             robson.unit_bytes / kilobyte);
}

/* --- workloads ------------------------------------------------------------------------------------ */

const char *const tn_pattern_families[] = { "mesh",   "anew",  "copied",   "walk",   "refine",
                                            "phases", "rates", "doubling", "robson", NULL };

static void (*const writers[])(struct script *script) = {
    write_mesh,   write_anew,  write_copied,   write_walk,   write_refine,
    write_phases, write_rates, write_doubling, write_robson,
};

enum {
    FAMILY_COUNT = sizeof writers / sizeof writers[0]
};

/* The numbers that a variant draws. */
struct setting {
    size_t thread_count;
    size_t stream_count; /* of one thread; several threads have one each */
    size_t lasting_interval;
    uint64_t lasting_bytes;
    size_t lag_percent; /* of the peak; 0: the device is not behind */
};

/* Mixes the numbers so that close ones give unrelated sequences. */
static void seed_random(struct tn_random *random, uint64_t seed, size_t family, size_t draw_number,
                        size_t use)
{
    uint64_t mixed = seed;
    const uint64_t parts[] = { family, draw_number, use };
    for (size_t i = 0; i < 3; i++) {
        mixed = (mixed ^ parts[i]) * 0x9E3779B97F4A7C15U + 1;
        mixed ^= mixed >> 29;
    }
    tn_random_init(random, mixed);
}

static struct setting draw_setting(struct tn_random *random, enum variant variant)
{
    struct setting setting = { .thread_count = 1, .stream_count = 1 };
    switch (variant) {
    case VARIANT_LASTING:
        setting.lasting_interval = 1 + tn_random_below(random, 16);
        setting.lasting_bytes = tn_random_log_uniform(random, 256, 8 * kilobyte);
        break;
    case VARIANT_STREAMS:
        setting.stream_count = 2 + tn_random_below(random, 7);
        break;
    case VARIANT_BEHIND:
        setting.stream_count = 1 + tn_random_below(random, 4);
        setting.lag_percent = tn_random_log_uniform(random, 25, 200);
        break;
    case VARIANT_THREADS:
        setting.thread_count = (size_t)2 << tn_random_below(random, 2);
        break;
    case VARIANT_PLAIN:
    case VARIANT_COUNT:
        break;
    }
    return setting;
}

/* Operation by operation the threads take turns, so that as much is live as can be. */
static bool spread_over_threads(struct tn_workload *workload, size_t slot_count,
                                size_t thread_count)
{
    struct tn_operations one = workload->body;
    bool has_memory = true;
    workload->body = (struct tn_operations){ NULL, 0, 0 };
    for (size_t i = 0; i < one.count && has_memory; i++)
        for (size_t thread = 0; thread < thread_count && has_memory; thread++) {
            size_t slot = thread * slot_count + one.items[i].slot;
            has_memory = one.items[i].is_alloc ? tn_operations_add_alloc(&workload->body, slot,
                                                                         one.items[i].size_bytes)
                                               : tn_operations_add_free(&workload->body, slot);
        }
    free(one.items);
    return has_memory;
}

/* On threads and streams it is played as a recorded program is. */
static bool set_origins(struct tn_workload *workload, size_t slot_count,
                        const struct setting *setting)
{
    workload->method = TN_METHOD_FAITHFUL;
    workload->origin_thread_count = setting->thread_count;
    workload->origin_stream_count =
        setting->thread_count > 1 ? setting->thread_count : setting->stream_count;
    workload->origins = calloc(workload->body.count, sizeof workload->origins[0]);
    for (size_t i = 0; workload->origins && i < workload->body.count; i++) {
        size_t slot = workload->body.items[i].slot;
        size_t thread = slot / slot_count;
        size_t stream = setting->thread_count > 1 ? thread : slot % setting->stream_count;
        workload->origins[i] =
            (struct tn_origin){ .thread = (uint32_t)thread, .stream = (uint32_t)stream };
    }
    return workload->origins;
}

static void set_name(struct tn_workload *workload, const struct script *script,
                     const struct setting *setting, size_t draw_number)
{
    char more[48] = "";
    if (setting->lasting_interval > 0)
        snprintf(more, sizeof more, "; %" PRIu64 " B every %zu", setting->lasting_bytes,
                 setting->lasting_interval);
    else if (setting->thread_count > 1)
        snprintf(more, sizeof more, "; %zu threads", setting->thread_count);
    else if (setting->lag_percent > 0)
        snprintf(more, sizeof more, "; %zu stream%s, behind by %zu %%", setting->stream_count,
                 setting->stream_count == 1 ? "" : "s", setting->lag_percent);
    else if (setting->stream_count > 1)
        snprintf(more, sizeof more, "; %zu streams", setting->stream_count);
    snprintf(workload->name, sizeof workload->name, "%.24s %zu: %.32s%.34s", workload->family,
             draw_number + 1, script->about, more);
}

static bool write_body(struct tn_workload *workload, const struct tn_options *options,
                       size_t family, enum variant variant, size_t draw_number)
{
    struct script script = { .operations = &workload->body };
    struct tn_random random;
    seed_random(&random, options->seed, family, draw_number, 1 + variant);
    struct setting setting = draw_setting(&random, variant);
    seed_random(&script.random, options->seed, family, draw_number, 0);
    uint64_t peak_bytes = draw_log(&script, peak_bytes_min, peak_bytes_max) / setting.thread_count;
    script.lasting_bytes_left = peak_bytes / lasting_part;
    script.peak_bytes = peak_bytes - script.lasting_bytes_left;
    script.lasting_interval = setting.lasting_interval;
    script.lasting_bytes = setting.lasting_bytes;
    writers[family](&script);
    free_lasting(&script);

    workload->slot_count = script.slot_count * setting.thread_count;
    workload->lag_bytes = (size_t)(peak_bytes * setting.lag_percent / 100);
    set_name(workload, &script, &setting, draw_number);
    bool has_memory = !script.lacks_memory;
    if (has_memory && setting.thread_count > 1)
        has_memory = spread_over_threads(workload, script.slot_count, setting.thread_count);
    if (has_memory && variant >= VARIANT_STREAMS)
        has_memory = set_origins(workload, script.slot_count, &setting);
    workload->unit_count = workload->body.count;
    return has_memory;
}

/* Of a family and a variant, "mesh" or "mesh threads". Each has its text as long as the program runs. */
static const char *label_of(size_t family, enum variant variant)
{
    static char labels[FAMILY_COUNT][VARIANT_COUNT][24];
    char *label = labels[family][variant];
    bool is_plain = variant == VARIANT_PLAIN;
    snprintf(label, sizeof labels[0][0], "%s%s%s", tn_pattern_families[family], is_plain ? "" : " ",
             is_plain ? "" : tn_pattern_variants[variant]);
    return label;
}

static bool add_draws(const struct tn_options *options, size_t family, enum variant variant,
                      struct tn_workload_list *list)
{
    size_t count = options->draw_count > 0 ? options->draw_count : DRAW_COUNT;
    for (size_t i = 0; i < count; i++) {
        struct tn_workload *workload = tn_workload_list_add(list);
        if (!workload) return false;
        workload->bench = "patterns";
        workload->family = label_of(family, variant);
        if (!write_body(workload, options, family, variant, i)) return false;
    }
    return true;
}

/* No bit: all. */
static bool is_asked_for(uint32_t bits, size_t number)
{
    return bits == 0 || (bits >> number & 1) != 0;
}

/* Variant by variant, since one method measures its workloads together. */
bool tn_patterns_make_workloads(const struct tn_options *options, const struct tn_machine *machine,
                                struct tn_workload_list *list, struct tn_reason *reason_out)
{
    (void)machine;
    for (enum variant variant = VARIANT_PLAIN; variant < VARIANT_COUNT; variant++)
        for (size_t family = 0; family < FAMILY_COUNT; family++) {
            if (!is_asked_for(options->variants, variant) ||
                !is_asked_for(options->families, family))
                continue;
            if (add_draws(options, family, variant, list)) continue;
            tn_reason_set(reason_out, "there is not enough host memory for the patterns");
            return false;
        }
    return true;
}
