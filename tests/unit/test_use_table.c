/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_use_table: beside a plain list of uses, at random; and what it does without host memory. */
#include "core/parts/use_table.h"

#include <stdlib.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"

enum {
    USES_MAX = 400,
    STREAMS = 6,
    ADDRESSES = 90
};

/* Handles are never followed. */
static char handles[STREAMS];

static struct tn_stream_name name_of(uint64_t number)
{
    return (struct tn_stream_name){ &handles[number / 2], number % 2 };
}

static uintptr_t address_of(uint64_t number)
{
    return (uintptr_t)(0x7f0000000000 + number * 1024);
}

static struct tn_use model[USES_MAX];
static size_t model_count;

static bool is_of_name(const struct tn_use *use, struct tn_stream_name name)
{
    return !use->has_ended && use->name.handle == name.handle && use->name.thread == name.thread;
}

/* --- the model's part of each step --------------------------------------------------------------- */

static void remove_from_model(uintptr_t address, const struct tn_stream_name *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < model_count; i++) {
        bool goes = name ? is_of_name(&model[i], *name) : model[i].address == address;
        if (!goes) model[kept++] = model[i];
    }
    model_count = kept;
}

static bool model_has(uintptr_t address, struct tn_stream_name name)
{
    bool has = false;
    for (size_t i = 0; i < model_count; i++)
        has = has || (model[i].address == address && is_of_name(&model[i], name));
    return has;
}

static bool model_names(struct tn_stream_name name)
{
    bool has = false;
    for (size_t i = 0; i < model_count; i++)
        has = has || is_of_name(&model[i], name);
    return has;
}

static uint32_t model_streams(void)
{
    uint32_t streams = 0;
    for (size_t i = 0; i < model_count; i++)
        streams |= model[i].has_ended ? model[i].dependency.streams : 0;
    return streams;
}

/* --- comparing ----------------------------------------------------------------------------------- */

static bool is_same(const struct tn_use *a, const struct tn_use *b)
{
    if (a->address != b->address || a->has_ended != b->has_ended) return false;
    if (!a->has_ended) return is_of_name(a, b->name);
    return a->dependency.streams == b->dependency.streams &&
           a->dependency.time == b->dependency.time;
}

/* In the order of neither: each use of one is one of the other. */
static void expect_as_model(const struct tn_use_table *table)
{
    bool is_met[USES_MAX] = { false };
    size_t met_count = 0;
    for (uint64_t i = 0; i < ADDRESSES; i++) {
        const struct tn_use *use = tn_use_table_find(table, address_of(i));
        for (; use; use = tn_use_table_find_next(use)) {
            assert_int_equal(use->address, address_of(i));
            size_t k = 0;
            while (k < model_count && (is_met[k] || !is_same(use, &model[k])))
                k++;
            assert_in_range(k, 0, model_count - 1);
            is_met[k] = true;
            met_count++;
        }
    }
    assert_int_equal(met_count, model_count);
    assert_int_equal(table->use_count, model_count);
    assert_int_equal(tn_use_table_streams(table), model_streams());
}

/* --- steps --------------------------------------------------------------------------------------- */

static void insert(struct tn_use_table *table, uintptr_t address, struct tn_stream_name name)
{
    if (model_count == USES_MAX) return;
    struct tn_use *use = tn_use_create(address, name);
    assert_non_null(use);
    tn_use_table_insert(table, use);
    model[model_count++] = (struct tn_use){ .address = address, .name = name };
}

static void end_stream(struct tn_use_table *table, struct tn_stream_name name,
                       struct tn_dependency dependency)
{
    tn_use_table_end_stream(table, name, dependency);
    for (size_t i = 0; i < model_count; i++) {
        if (!is_of_name(&model[i], name)) continue;
        model[i].has_ended = true;
        model[i].dependency = dependency;
    }
}

static void change_ended(struct tn_use_table *table, uint64_t way, uint32_t bit, uint32_t time)
{
    const struct tn_dependency in_place = { 1U << 20, time };
    if (way == 0) tn_use_table_complete(table, bit, time);
    if (way == 1) tn_use_table_replace(table, bit, in_place);
    if (way == 2) tn_use_table_begin_anew(table);
    for (size_t i = 0; i < model_count; i++) {
        struct tn_dependency *dependency = &model[i].dependency;
        if (!model[i].has_ended) continue;
        if (way == 0) *dependency = tn_dependency_complete(*dependency, bit, time);
        if (way == 1) *dependency = tn_dependency_replace(*dependency, bit, in_place);
        if (way == 2) dependency->time = 0;
    }
}

static void do_step(struct tn_use_table *table, struct random *random)
{
    uintptr_t address = address_of(random_below(random, ADDRESSES));
    struct tn_stream_name name = name_of(random_below(random, STREAMS));
    uint32_t bit = (uint32_t)1 << random_below(random, 8), time = (uint32_t)random_below(random, 9);
    switch (random_below(random, 40)) {
    case 0:
        end_stream(table, name, (struct tn_dependency){ bit, time });
        break;
    case 1:
        tn_use_table_remove_stream(table, name);
        remove_from_model(0, &name);
        break;
    case 2:
        change_ended(table, random_below(random, 3), bit, time);
        break;
    default:
        if (random_below(random, 3) == 0) {
            tn_use_table_remove(table, address);
            remove_from_model(address, NULL);
        } else {
            insert(table, address, name);
        }
    }
    assert_int_equal(tn_use_table_has(table, address, name), model_has(address, name));
    assert_int_equal(tn_use_table_names(table, name), model_names(name));
    expect_as_model(table);
}

static void it_has_the_uses_of_a_plain_list(void **state)
{
    struct tn_use_table table;
    struct random random = random_init(random_seed(20261203));
    for (int round = 0; round < 5; round++) {
        tn_use_table_init(&table);
        assert_null(tn_use_table_find(&table, address_of(0)));
        assert_false(tn_use_table_names(&table, name_of(0)));
        tn_use_table_remove(&table, address_of(0));
        assert_true(tn_use_table_prepare(&table));
        model_count = 0;
        for (int i = 0; i < 2000; i++)
            do_step(&table, &random);
        tn_use_table_fini(&table);
    }
}

static void without_host_memory_it_has_no_buckets_or_few(void **state)
{
    struct tn_use_table table;
    tn_use_table_init(&table);
    host_memory_faults_begin(1);
    assert_false(tn_use_table_prepare(&table));
    assert_true(host_memory_faults_end());
    host_memory_faults_begin(0);
    assert_true(tn_use_table_prepare(&table));
    model_count = 0;
    for (uint64_t i = 0; i < 64; i++)
        insert(&table, address_of(i), name_of(i % STREAMS));
    struct tn_use *last = tn_use_create(address_of(64), name_of(0));
    (void)host_memory_faults_end();
    host_memory_faults_begin(1);
    tn_use_table_insert(&table, last);
    assert_true(host_memory_faults_end());
    assert_int_equal(table.bucket_count, 64);
    model[model_count++] = *last;
    expect_as_model(&table);
    insert(&table, address_of(65), name_of(0));
    assert_int_equal(table.bucket_count, 128);
    expect_as_model(&table);
    tn_use_table_fini(&table);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_the_uses_of_a_plain_list),
        cmocka_unit_test(without_host_memory_it_has_no_buckets_or_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
