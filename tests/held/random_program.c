/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* random_program: a program of no family, as a workload. */
#include "random_program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/random.h"

enum {
    PHASES_MAX = 6,
    PHASE_STEPS_MAX = 500,
    SIZES_MAX = 8,
    ARRAYS_MAX = 8,
    TEMPORARIES_MAX = 4,
    ARRAY_STEPS_MAX = 200,
    LIVE_MAX = PHASES_MAX * PHASE_STEPS_MAX /* no program makes more */
};

enum size_law {
    SIZES_ANY,
    SIZES_FEW,
    SIZES_CREEP,
    SIZE_LAW_COUNT
};

enum order {
    ORDER_RANDOM,
    ORDER_OLDEST_FIRST,
    ORDER_NEWEST_FIRST,
    ORDER_COUNT
};

struct live {
    size_t slot;
    size_t size_bytes;
};

struct program {
    struct tn_workload *workload;
    struct tn_random random;
    size_t peak_bytes;
    size_t bytes_min, bytes_max; /* of a block that is not small */
    enum size_law law;
    size_t sizes[SIZES_MAX];
    size_t creep; /* of the last such block, in 1024ths */
    size_t last_bytes;
    size_t small_percent;

    struct live live[LIVE_MAX]; /* oldest first */
    size_t live_count;
    size_t live_bytes;
};

static size_t between(struct program *program, size_t min, size_t max)
{
    return min + tn_random_below(&program->random, max - min + 1);
}

static size_t any_size(struct program *program)
{
    return tn_random_log_uniform(&program->random, program->bytes_min, program->bytes_max);
}

static size_t draw_size(struct program *program)
{
    if (between(program, 1, 100) <= program->small_percent)
        return tn_random_log_uniform(&program->random, 16, 8 << 10);
    if (program->law == SIZES_FEW) return program->sizes[between(program, 0, SIZES_MAX - 1)];
    if (program->law == SIZES_ANY) return any_size(program);
    program->last_bytes += program->last_bytes / 1024 * program->creep + 1;
    if (program->last_bytes > program->bytes_max) program->last_bytes = program->bytes_min;
    return program->last_bytes;
}

static void add(bool has_memory)
{
    if (!has_memory) abort();
}

static void free_one(struct program *program, enum order order)
{
    size_t last = program->live_count - 1;
    size_t place = order == ORDER_RANDOM         ? between(program, 0, last)
                   : order == ORDER_OLDEST_FIRST ? 0
                                                 : last;
    const struct live block = program->live[place];
    add(tn_operations_add_free(&program->workload->body, block.slot));
    program->live_bytes -= block.size_bytes;
    program->live_count--;
    memmove(&program->live[place], &program->live[place + 1],
            (last - place) * sizeof program->live[0]);
}

static size_t make(struct program *program, size_t size_bytes)
{
    struct tn_workload *workload = program->workload;
    add(tn_operations_add_alloc(&workload->body, workload->slot_count, size_bytes));
    return workload->slot_count++;
}

static void make_live(struct program *program, size_t size_bytes)
{
    program->live[program->live_count++] = (struct live){ make(program, size_bytes), size_bytes };
    program->live_bytes += size_bytes;
}

/* Fills up to so many bytes, and then replaces blocks. */
static void make_one(struct program *program, enum order order, size_t bytes_max)
{
    size_t size_bytes = draw_size(program);
    while (program->live_count > 0 && program->live_bytes + size_bytes > bytes_max)
        free_one(program, order);
    make_live(program, size_bytes);
}

static void run_phase(struct program *program)
{
    enum order order = (enum order)between(program, 0, ORDER_COUNT - 1);
    size_t bytes_max = program->peak_bytes / 100 * between(program, 10, 100);
    size_t step_count = between(program, 20, PHASE_STEPS_MAX);
    for (size_t i = 0; i < step_count; i++)
        make_one(program, order, bytes_max);
}

static void run_phases(struct program *program)
{
    size_t phase_count = between(program, 1, PHASES_MAX);
    for (size_t i = 0; i < phase_count; i++)
        run_phase(program);
}

/* --- arrays ------------------------------------------------------------------------------------- */

struct array {
    size_t slot;
    size_t size_bytes, bytes_min, bytes_max;
    size_t rate_min, rate_max; /* a step multiplies the size by 1/1024 of something in between */
    bool is_new_first;
};

static struct array draw_array(struct program *program, size_t bytes_max)
{
    struct array array = { .bytes_max = bytes_max / 100 * between(program, 5, 100) };
    array.bytes_min = array.bytes_max / between(program, 2, 300) + 1;
    array.rate_min = between(program, 900, 1300);
    array.rate_max = between(program, 0, 1) ? array.rate_min : array.rate_min + 150;
    array.is_new_first = between(program, 0, 1);
    array.size_bytes = array.rate_min < 1024 ? array.bytes_max : array.bytes_min;
    array.slot = make(program, array.size_bytes);
    return array;
}

/* An array that is at an end of its range begins again at the other one. */
static void change(struct program *program, struct array *array)
{
    size_t old = array->slot;
    array->size_bytes =
        array->size_bytes / 1024 * between(program, array->rate_min, array->rate_max) + 1;
    if (array->size_bytes > array->bytes_max) array->size_bytes = array->bytes_min;
    if (array->size_bytes < array->bytes_min) array->size_bytes = array->bytes_max;
    if (!array->is_new_first) add(tn_operations_add_free(&program->workload->body, old));
    array->slot = make(program, array->size_bytes);
    if (array->is_new_first) add(tn_operations_add_free(&program->workload->body, old));
}

static void use_temporaries(struct program *program, size_t count, size_t bytes_max)
{
    size_t slots[TEMPORARIES_MAX];
    for (size_t i = 0; i < count; i++)
        slots[i] = make(program, bytes_max / 100 * between(program, 20, 100) + 1);
    for (size_t i = 0; i < count; i++)
        add(tn_operations_add_free(&program->workload->body, slots[i]));
}

static void run_arrays(struct program *program)
{
    struct array arrays[ARRAYS_MAX];
    size_t array_count = between(program, 1, ARRAYS_MAX);
    size_t step_count = between(program, 20, ARRAY_STEPS_MAX);
    size_t temporary_count = between(program, 0, TEMPORARIES_MAX);
    size_t temporary_bytes = program->peak_bytes / 100 * between(program, 1, 25);
    size_t lasting_interval = between(program, 1, 2 * step_count); /* in half of them none lasts */
    size_t lasting_bytes = tn_random_log_uniform(&program->random, 64, 64 << 10);
    for (size_t i = 0; i < array_count; i++)
        arrays[i] = draw_array(program, program->peak_bytes / array_count);
    for (size_t step = 1; step <= step_count; step++) {
        for (size_t i = 0; i < array_count; i++) {
            change(program, &arrays[i]);
            if (i == 0) use_temporaries(program, temporary_count, temporary_bytes);
        }
        if (step % lasting_interval == 0) make_live(program, lasting_bytes);
    }
    for (size_t i = 0; i < array_count; i++)
        add(tn_operations_add_free(&program->workload->body, arrays[i].slot));
}

/* --- the whole ---------------------------------------------------------------------------------- */

/* Each block is for one stream, from its allocation to its free. */
static void spread_over_streams(struct program *program)
{
    struct tn_workload *workload = program->workload;
    workload->origin_thread_count = 1;
    workload->origin_stream_count = between(program, 2, 4);
    workload->origins = calloc(workload->body.count, sizeof workload->origins[0]);
    add(workload->origins);
    for (size_t i = 0; i < workload->body.count; i++)
        workload->origins[i].stream =
            (uint32_t)(workload->body.items[i].slot % workload->origin_stream_count);
}

static void draw_program(struct program *program)
{
    program->peak_bytes = tn_random_log_uniform(&program->random, 4 << 20, (uint64_t)2 << 30);
    program->bytes_min = tn_random_log_uniform(&program->random, 1 << 10, 1 << 20);
    program->bytes_max =
        tn_random_log_uniform(&program->random, program->bytes_min, program->peak_bytes / 2);
    program->law = (enum size_law)between(program, 0, SIZE_LAW_COUNT - 1);
    for (size_t i = 0; i < SIZES_MAX; i++)
        program->sizes[i] = any_size(program);
    program->creep = between(program, 5, 200);
    program->last_bytes = program->bytes_min;
    program->small_percent = between(program, 0, 1) ? between(program, 0, 60) : 0;
}

void random_program_make(struct tn_workload_list *list, uint64_t seed)
{
    struct program *program = calloc(1, sizeof *program);
    struct tn_workload *workload = tn_workload_list_add(list);
    if (!program || !workload) abort();
    program->workload = workload;
    tn_random_init(&program->random, seed * 0x9E3779B97F4A7C15U + 1);
    draw_program(program);
    bool has_arrays = between(program, 0, 1);
    workload->family = has_arrays ? "random arrays" : "random phases";
    snprintf(workload->name, sizeof workload->name, "number %" PRIu64, seed);
    if (has_arrays)
        run_arrays(program);
    else
        run_phases(program);
    while (program->live_count > 0)
        free_one(program, ORDER_RANDOM);
    if (between(program, 1, 3) == 1) spread_over_streams(program);
    free(program);
}
