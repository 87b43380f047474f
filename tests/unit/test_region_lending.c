/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_region_lending: chunks that an index lends to another, and that come back piece by piece. The model is an array with
 * the state of each chunk; after each step both indices must say the same.
 */
#include "core/index/region_index.h"

#include "harness/claims.h"
#include "harness/random.h"

enum {
    CHUNKS = 512,
    STEPS = 20000,
    NOBODYS = 0, /* free in the lender */
    LIVE,        /* live in the lender */
    LENT_FREE,
    LENT_LIVE
};

struct span {
    uint32_t first_chunk, chunk_count, head;
};

static struct tn_region_index lender, borrower;
static uint32_t head;
static uint8_t model[CHUNKS];
static struct span spans[CHUNKS]; /* of the borrower, by first chunk */
static uint32_t span_count;

static int set_up_indices(void **state)
{
    assert_true(tn_region_index_init(&lender, TARN_FIT_BEST));
    assert_true(tn_region_index_init(&borrower, TARN_FIT_BEST));
    assert_true(tn_region_index_add_stream(&lender, 0));
    assert_true(tn_region_index_add_stream(&borrower, 0));
    assert_true(tn_region_index_reserve_span(&lender, 0, CHUNKS));
    assert_true(tn_region_index_promise(&lender, 4 * CHUNKS));
    head = tn_region_index_add_span(&lender, 0, CHUNKS);
    memset(model, NOBODYS, sizeof model);
    span_count = 0;
    return 0;
}

static int tear_down_indices(void **state)
{
    tn_region_index_fini(&lender);
    tn_region_index_fini(&borrower);
    return 0;
}

static void set_model(uint32_t first_chunk, uint32_t chunk_count, uint8_t value)
{
    memset(&model[first_chunk], value, chunk_count);
}

/* The span that a chunk lies in. */
static struct span *find_span(uint32_t chunk)
{
    struct span *found = spans;
    while (chunk - found->first_chunk >= found->chunk_count)
        found++;
    assert_true(found < spans + span_count);
    return found;
}

static void insert_span(struct span span)
{
    struct span *at = spans + span_count;
    for (; at > spans && at[-1].first_chunk > span.first_chunk; at--)
        *at = at[-1];
    *at = span;
    span_count++;
}

static void remove_span(struct span *span)
{
    memmove(span, span + 1, (size_t)(spans + --span_count - span) * sizeof *span);
}

/* A free or live region of an index, chosen by chance, or none. */
static uint32_t choose(const struct tn_region_index *index, struct random *random,
                       enum tn_region_state wanted)
{
    uint32_t start = (uint32_t)random_below(random, index->fresh + 1);
    for (uint32_t i = 0; i < index->fresh; i++) {
        uint32_t region = (start + i) % index->fresh;
        if (index->regions[region].state == wanted) return region;
    }
    return TN_REGION_NONE;
}

/* --- steps ---------------------------------------------------------------------------------------- */

static void alloc_in(struct tn_region_index *index, struct random *random, uint8_t value)
{
    uint32_t region = choose(index, random, TN_REGION_STATE_FREE);
    if (region == TN_REGION_NONE) return;
    assert_true(tn_region_index_reserve(index));
    uint32_t chunk_count = 1 + (uint32_t)random_below(random, index->regions[region].chunk_count);
    uint32_t live = tn_region_index_carve(index, region, 0, chunk_count, 0);
    set_model(index->regions[live].first_chunk, chunk_count, value);
}

/* A lent region, which is live in the lender, is not freed there. */
static void free_in(struct tn_region_index *index, struct random *random, uint8_t live_value,
                    uint8_t free_value)
{
    struct tn_freed freed;
    uint32_t region = choose(index, random, TN_REGION_STATE_LIVE);
    if (region == TN_REGION_NONE) return;
    uint32_t first_chunk = index->regions[region].first_chunk;
    if (model[first_chunk] != live_value) return;
    const struct tn_dependency dependency = { (uint32_t)random_below(random, 2), 5 };
    assert_true(tn_region_index_free(index, first_chunk, dependency, &freed));
    set_model(first_chunk, freed.chunk_count, free_value);
}

static void lend(struct random *random)
{
    uint32_t region = choose(&lender, random, TN_REGION_STATE_FREE);
    if (region == TN_REGION_NONE) return;
    uint32_t first_chunk = lender.regions[region].first_chunk;
    uint32_t chunk_count = 1 + (uint32_t)random_below(random, lender.regions[region].chunk_count);
    assert_true(tn_region_index_reserve(&lender));
    assert_true(tn_region_index_reserve_span(&borrower, first_chunk, chunk_count));
    uint32_t lent_head = tn_region_index_lend(&lender, region, chunk_count, &borrower);
    insert_span((struct span){ first_chunk, chunk_count, lent_head });
    set_model(first_chunk, chunk_count, LENT_FREE);
}

static void join(struct random *random)
{
    if (span_count < 2) return;
    uint32_t i = 1 + (uint32_t)random_below(random, span_count - 1);
    struct span *span = &spans[i];
    if (span[-1].first_chunk + span[-1].chunk_count != span->first_chunk) return;
    uint32_t lent = tn_region_index_find_start(&lender, span->first_chunk);
    tn_region_index_join_lent(&lender, lent, &borrower, span[-1].head, span->head);
    span[-1].chunk_count += span->chunk_count;
    remove_span(span);
}

static void give_back(struct random *random)
{
    uint32_t region = choose(&borrower, random, TN_REGION_STATE_FREE);
    if (region == TN_REGION_NONE) return;
    const struct tn_region *r = &borrower.regions[region];
    uint32_t first_chunk = r->first_chunk, end_chunk = tn_region_end_chunk(r);
    struct span *span = find_span(first_chunk);
    uint32_t span_end = span->first_chunk + span->chunk_count;
    uint32_t lent = tn_region_index_find_start(&lender, span->first_chunk);
    assert_true(tn_region_index_reserve(&lender));
    uint32_t record_count = borrower.region_count;
    uint32_t after = tn_region_index_return(&lender, lent, &borrower, span->head, region);
    assert_true(borrower.region_count <= record_count);
    span->chunk_count = first_chunk - span->first_chunk;
    if (span->chunk_count == 0) remove_span(span);
    assert_int_equal(after == TN_REGION_NONE, end_chunk == span_end);
    if (end_chunk < span_end) insert_span((struct span){ end_chunk, span_end - end_chunk, after });
    set_model(first_chunk, end_chunk - first_chunk, NOBODYS);
}

/* --- what must be true ------------------------------------------------------------------------------ */

static void check_regions(const struct tn_region_index *index, uint32_t ring, uint8_t live_value,
                          uint8_t free_value)
{
    for (uint32_t region = index->regions[ring].next; region != ring;
         region = index->regions[region].next) {
        const struct tn_region *r = &index->regions[region];
        bool is_live = r->state == TN_REGION_STATE_LIVE;
        for (uint32_t chunk = r->first_chunk; chunk < tn_region_end_chunk(r); chunk++) {
            if (is_live && index == &lender && model[chunk] >= LENT_FREE) continue;
            assert_int_equal(model[chunk], is_live ? live_value : free_value);
        }
    }
}

static void check_all(void)
{
    assert_null(tn_region_index_check_span(&lender, head, 0, CHUNKS));
    assert_null(tn_region_index_check(&lender));
    assert_int_equal(borrower.span_count, span_count);
    check_regions(&lender, head, LIVE, NOBODYS);
    for (uint32_t i = 0; i < span_count; i++) {
        const struct span *span = &spans[i];
        uint32_t lent = tn_region_index_find_start(&lender, span->first_chunk);
        assert_int_equal(lender.regions[lent].chunk_count, span->chunk_count);
        uint32_t chunk = span->first_chunk;
        for (uint32_t region = borrower.regions[span->head].next; region != span->head;
             region = borrower.regions[region].next) {
            assert_int_equal(borrower.regions[region].first_chunk, chunk);
            chunk = tn_region_end_chunk(&borrower.regions[region]);
        }
        assert_int_equal(chunk, span->first_chunk + span->chunk_count);
        check_regions(&borrower, span->head, LENT_LIVE, LENT_FREE);
    }
}

static void take_all_home(void)
{
    while (span_count > 0) {
        const struct span *span = &spans[--span_count];
        uint32_t lent = tn_region_index_find_start(&lender, span->first_chunk);
        tn_region_index_adopt(&lender, lent, &borrower, span->head);
    }
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++)
        model[chunk] = model[chunk] == LENT_LIVE   ? LIVE
                       : model[chunk] == LENT_FREE ? NOBODYS
                                                   : model[chunk];
}

static void random_steps_do_as_the_model(void **state)
{
    struct random random = random_init(random_seed(34));
    for (int step = 0; step < STEPS; step++) {
        switch (random_below(&random, 8)) {
        case 0:
            alloc_in(&lender, &random, LIVE);
            break;
        case 1:
            free_in(&lender, &random, LIVE, NOBODYS);
            break;
        case 2:
            alloc_in(&borrower, &random, LENT_LIVE);
            break;
        case 3:
        case 4:
            free_in(&borrower, &random, LENT_LIVE, LENT_FREE);
            break;
        case 5:
            lend(&random);
            break;
        case 6:
            join(&random);
            break;
        default:
            give_back(&random);
            break;
        }
        check_all();
        if (step % 1000 != 999) continue;
        take_all_home();
        check_all();
        assert_int_equal(borrower.region_count, 0);
        assert_int_equal(borrower.chunk_count, 0);
    }
}

/* A loan from whose middle a region went back is two loans; the two touch nobody. */
static void what_lies_beside_a_returned_region_stays_lent(void **state)
{
    uint32_t whole = lender.regions[head].next;
    assert_true(tn_region_index_reserve_span(&borrower, 0, 100));
    assert_true(tn_region_index_reserve(&lender));
    uint32_t lent_head = tn_region_index_lend(&lender, whole, 100, &borrower);
    for (int i = 0; i < 3; i++) {
        assert_true(tn_region_index_reserve(&borrower));
        tn_region_index_carve(&borrower, tn_region_index_find_best_fit(&borrower, 1, 30), 0, 30, 0);
    }
    struct tn_freed freed;
    assert_true(tn_region_index_free(&borrower, 30, TN_DEPENDENCY_NONE, &freed));
    uint32_t region = borrower.regions[borrower.regions[lent_head].next].next;
    uint32_t lent = tn_region_index_find_start(&lender, 0);
    assert_true(tn_region_index_reserve(&lender));
    uint32_t after = tn_region_index_return(&lender, lent, &borrower, lent_head, region);
    assert_int_equal(lender.regions[lent].chunk_count, 30);
    lent = tn_region_index_find_start(&lender, 60);
    assert_int_equal(lender.regions[lent].chunk_count, 40);
    assert_int_equal(borrower.regions[after].first_chunk, 60);
    assert_int_equal(borrower.span_count, 2);
    assert_int_equal(borrower.chunk_count, 70);
    assert_int_equal(tn_region_index_find_best_fit(&lender, 1, 31), whole);
    assert_int_not_equal(tn_region_index_find_best_fit(&lender, 1, 30), whole);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up_indices, tear_down_indices)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(what_lies_beside_a_returned_region_stays_lent),
        TEST(random_steps_do_as_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
