/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_region_dependency: regions that depend on streams, in random sequences of everything that a
 * region index can do; after each step compared with lists of regions that are kept the plain way.
 */
#include "core/index/region_index.h"

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"

#define NONE TN_REGION_NONE

enum {
    SPANS_MAX = 4,
    TILES_MAX = 400, /* of a span; carving stops before */
    STEPS = 3000,
    STREAMS_MAX = TN_STREAM_COUNT_MAX
};

/* A region of the model. */
struct tile {
    uint32_t first_chunk, chunk_count;
    bool is_free;
    struct tn_dependency dependency; /* of a free one */
};

struct span {
    uint32_t head, first_chunk, chunk_count;
    struct tile tiles[TILES_MAX];
    unsigned tile_count;
};

struct fixture {
    struct tn_region_index index;
    struct span spans[SPANS_MAX];
    unsigned span_count;
    uint32_t streams; /* that were added, a bit each */
    uint32_t now;
    struct random random;
};

/* --- the model ------------------------------------------------------------------------------------ */

static void remove_tiles(struct span *span, unsigned first, unsigned count)
{
    span->tile_count -= count;
    memmove(&span->tiles[first], &span->tiles[first + count],
            (span->tile_count - first) * sizeof *span->tiles);
}

static void insert_tile(struct span *span, unsigned place, struct tile tile)
{
    assert_true(span->tile_count < TILES_MAX);
    memmove(&span->tiles[place + 1], &span->tiles[place],
            (span->tile_count - place) * sizeof *span->tiles);
    span->tiles[place] = tile;
    span->tile_count++;
}

/* Of what waits for nothing the time says nothing. */
static struct tn_dependency unite(struct tn_dependency a, struct tn_dependency b)
{
    if (a.streams == 0) return b;
    if (b.streams == 0) return a;
    return (struct tn_dependency){ a.streams | b.streams, a.time > b.time ? a.time : b.time };
}

/* Makes tile number `place` and the next one a single one. */
static void merge(struct span *span, unsigned place)
{
    struct tile *tile = &span->tiles[place];
    tile->dependency = unite(tile->dependency, tile[1].dependency);
    tile->chunk_count += tile[1].chunk_count;
    remove_tiles(span, place + 1, 1);
}

/* Makes one of each two free tiles that touch and depend on the same streams. */
static void merge_alike(struct span *span)
{
    for (unsigned i = 0; i + 1 < span->tile_count;) {
        const struct tile *a = &span->tiles[i], *b = &span->tiles[i + 1];
        if (a->is_free && b->is_free && a->dependency.streams == b->dependency.streams) {
            merge(span, i);
        } else {
            i++;
        }
    }
}

static bool is_better(tarn_fit fit, const struct tile *a, const struct tile *b)
{
    if (fit == TARN_FIT_FIRST) return a->first_chunk < b->first_chunk;
    return a->chunk_count != b->chunk_count ? a->chunk_count < b->chunk_count
                                            : a->first_chunk < b->first_chunk;
}

/* Starting at first_chunk, unless that is NONE. */
static const struct tile *find_best(const struct fixture *fixture, uint32_t sets,
                                    uint32_t chunk_count, uint32_t first_chunk)
{
    const struct tile *best = NULL;
    for (unsigned i = 0; i < fixture->span_count; i++) {
        for (unsigned j = 0; j < fixture->spans[i].tile_count; j++) {
            const struct tile *tile = &fixture->spans[i].tiles[j];
            if (!tile->is_free || tile->chunk_count < chunk_count) continue;
            if (!(sets >> tn_free_set_of(tile->dependency.streams) & 1)) continue;
            if (first_chunk != NONE && tile->first_chunk != first_chunk) continue;
            if (!best || is_better(fixture->index.fit, tile, best)) best = tile;
        }
    }
    return best;
}

/* --- comparing ------------------------------------------------------------------------------------ */

static void expect_same_tiles(const struct fixture *fixture, const struct span *span)
{
    const struct tn_region_index *index = &fixture->index;
    uint32_t region = index->regions[span->head].next;
    for (unsigned i = 0; i < span->tile_count; i++) {
        const struct tile *tile = &span->tiles[i];
        const struct tn_region *found = &index->regions[region];
        bool is_same =
            region != span->head && found->first_chunk == tile->first_chunk &&
            found->chunk_count == tile->chunk_count &&
            found->state == (tile->is_free ? TN_REGION_STATE_FREE : TN_REGION_STATE_LIVE);
        if (!is_same) {
            fail_msg("chunks %u to %u are a region of their own, %s; found: %u to %u",
                     tile->first_chunk, tile->first_chunk + tile->chunk_count,
                     tile->is_free ? "free" : "live", found->first_chunk,
                     tn_region_end_chunk(found));
        }
        if (tile->is_free) {
            struct tn_dependency dependency = tn_region_dependency(found);
            assert_int_equal(dependency.streams, tile->dependency.streams);
            if (dependency.streams != 0) assert_int_equal(dependency.time, tile->dependency.time);
        }
        region = found->next;
    }
    assert_int_equal(region, span->head);
}

static void expect_same(const struct fixture *fixture)
{
    const struct tn_region_index *index = &fixture->index;
    const char *fault = tn_region_index_check(index);
    if (fault) fail_msg("%s", fault);
    uint32_t free_count = 0, pending_chunk_count = 0, largest = 0;
    for (unsigned i = 0; i < fixture->span_count; i++) {
        const struct span *span = &fixture->spans[i];
        fault = tn_region_index_check_span(index, span->head, span->first_chunk, span->chunk_count);
        if (fault) fail_msg("span %u: %s", i, fault);
        expect_same_tiles(fixture, span);
        for (unsigned j = 0; j < span->tile_count; j++) {
            const struct tile *tile = &span->tiles[j];
            if (!tile->is_free) continue;
            free_count++;
            if (tile->dependency.streams != 0) pending_chunk_count += tile->chunk_count;
            if (tile->chunk_count > largest) largest = tile->chunk_count;
        }
    }
    assert_int_equal(tn_region_index_free_count(index), free_count);
    assert_int_equal(tn_region_index_largest_free(index), largest);
    assert_int_equal(index->pending_chunk_count, pending_chunk_count);
}

/* --- steps ---------------------------------------------------------------------------------------- */

static uint32_t below(struct fixture *fixture, uint32_t bound)
{
    return (uint32_t)random_below(&fixture->random, bound);
}

/* Some of these bits. */
static uint32_t some_of(struct fixture *fixture, uint32_t bits)
{
    uint32_t some = 0;
    for (uint32_t rest = bits; rest != 0; rest &= rest - 1) {
        if (below(fixture, 3) == 0) some |= rest & -rest;
    }
    return some;
}

static struct tn_dependency draw_dependency(struct fixture *fixture)
{
    uint32_t streams = 0;
    for (uint32_t i = below(fixture, 4); i > 0 && fixture->streams != 0; i--) {
        uint32_t stream = (uint32_t)1 << below(fixture, STREAMS_MAX);
        streams |= stream & fixture->streams;
    }
    if (streams == 0) return TN_DEPENDENCY_NONE;
    return (struct tn_dependency){ streams, fixture->now - below(fixture, fixture->now + 1) % 8 };
}

static uint32_t existing_sets(const struct fixture *fixture)
{
    uint32_t sets = (uint32_t)1 << TN_FREE_SET_IDLE;
    for (unsigned set = 1; set < TN_FREE_SET_COUNT; set++) {
        if (tn_region_index_has_set(&fixture->index, set)) sets |= (uint32_t)1 << set;
    }
    return sets;
}

/* No free tile: NULL. */
static struct tile *draw_free_tile(struct fixture *fixture, struct span **span_out)
{
    struct span *span = &fixture->spans[below(fixture, fixture->span_count)];
    *span_out = span;
    unsigned start = below(fixture, span->tile_count);
    for (unsigned i = 0; i < span->tile_count; i++) {
        struct tile *tile = &span->tiles[(start + i) % span->tile_count];
        if (tile->is_free) return tile;
    }
    return NULL;
}

static uint32_t region_of_tile(const struct fixture *fixture, const struct span *span,
                               const struct tile *tile)
{
    uint32_t region = fixture->index.regions[span->head].next;
    while (fixture->index.regions[region].first_chunk != tile->first_chunk)
        region = fixture->index.regions[region].next;
    return region;
}

static struct span *span_of_chunk(struct fixture *fixture, uint32_t chunk)
{
    unsigned i = 0;
    while (chunk - fixture->spans[i].first_chunk >= fixture->spans[i].chunk_count)
        i++;
    return &fixture->spans[i];
}

static void add_span(struct fixture *fixture)
{
    static const uint32_t firsts[SPANS_MAX] = { 0, 1024, 4096, 1 << 17 };
    static const uint32_t counts[SPANS_MAX] = { 300, 64, 1000, 100000 };
    if (fixture->span_count == SPANS_MAX) return;
    uint32_t place = 0;
    for (bool is_taken = true; is_taken; place += is_taken) {
        is_taken = false;
        for (unsigned i = 0; i < fixture->span_count; i++)
            is_taken = is_taken || fixture->spans[i].first_chunk == firsts[place];
    }
    struct span *span = &fixture->spans[fixture->span_count++];
    assert_true(tn_region_index_reserve_span(&fixture->index, firsts[place], counts[place]));
    span->first_chunk = firsts[place];
    span->chunk_count = counts[place];
    span->head = tn_region_index_add_span(&fixture->index, firsts[place], counts[place]);
    span->tiles[0] = (struct tile){ firsts[place], counts[place], true, TN_DEPENDENCY_NONE };
    span->tile_count = 1;
}

static void remove_span_if_free(struct fixture *fixture)
{
    unsigned place = below(fixture, fixture->span_count);
    struct span *span = &fixture->spans[place];
    bool is_free = true;
    for (unsigned i = 0; i < span->tile_count; i++)
        is_free = is_free && span->tiles[i].is_free;
    assert_int_equal(tn_region_index_span_is_free(&fixture->index, span->head, 0), is_free);
    if (!is_free || fixture->span_count == 1) return;
    tn_region_index_remove_span(&fixture->index, span->head);
    *span = fixture->spans[--fixture->span_count];
}

static void add_stream(struct fixture *fixture)
{
    uint32_t stream = below(fixture, STREAMS_MAX);
    assert_true(tn_region_index_add_stream(&fixture->index, stream));
    fixture->streams |= (uint32_t)1 << stream;
}

/* Where the policy leaves a choice, the region is one that it may choose. Returns its tile. */
static const struct tile *expect_good_choice(const struct fixture *fixture, uint32_t region,
                                             const struct tile *best, uint32_t sets,
                                             uint32_t chunk_count)
{
    tarn_fit fit = fixture->index.fit;
    uint32_t first_chunk = fixture->index.regions[region].first_chunk;
    if (fit == TARN_FIT_BEST || fit == TARN_FIT_FIRST)
        assert_int_equal(first_chunk, best->first_chunk);
    const struct tile *chosen = find_best(fixture, sets, chunk_count, first_chunk);
    assert_non_null(chosen);
    return chosen;
}

/* The best fit of some sets, anywhere in it. */
static void carve(struct fixture *fixture)
{
    uint32_t sets = some_of(fixture, existing_sets(fixture)) | (below(fixture, 2) ? 1U : 0U);
    uint32_t chunk_count = (uint32_t)random_size(&fixture->random, below(fixture, 20) ? 5 : 16);
    const struct tile *best = find_best(fixture, sets, chunk_count, NONE);
    uint32_t region = tn_region_index_find_best_fit(&fixture->index, sets, chunk_count);
    if (!best) {
        assert_int_equal(region, NONE);
        return;
    }
    assert_int_not_equal(region, NONE);
    best = expect_good_choice(fixture, region, best, sets, chunk_count);
    struct span *span = span_of_chunk(fixture, best->first_chunk);
    if (span->tile_count + 2 > TILES_MAX) return;

    struct tile old = *best;
    uint32_t spare = old.chunk_count - chunk_count;
    uint32_t lead = below(fixture, 3) || spare == 0 ? 0 : 1 + below(fixture, spare);
    assert_true(tn_region_index_reserve(&fixture->index));
    tn_region_index_carve(&fixture->index, region, lead, chunk_count, 7);
    unsigned place = (unsigned)(best - span->tiles);
    span->tiles[place] =
        (struct tile){ old.first_chunk + lead, chunk_count, false, old.dependency };
    if (spare > lead) {
        insert_tile(span, place + 1,
                    (struct tile){ old.first_chunk + lead + chunk_count, spare - lead, true,
                                   old.dependency });
    }
    if (lead > 0)
        insert_tile(span, place, (struct tile){ old.first_chunk, lead, true, old.dependency });
}

static void free_some(struct fixture *fixture)
{
    struct span *span = &fixture->spans[below(fixture, fixture->span_count)];
    struct tile *tile = &span->tiles[below(fixture, span->tile_count)];
    struct tn_freed freed;
    struct tn_dependency dependency = draw_dependency(fixture);
    bool is_freed = tn_region_index_free(&fixture->index, tile->first_chunk, dependency, &freed);
    assert_int_equal(is_freed, !tile->is_free);
    if (!is_freed) return;
    assert_int_equal(freed.chunk_count, tile->chunk_count);
    assert_int_equal(freed.slack_bytes, 7);
    tile->is_free = true;
    tile->dependency = dependency;
    merge_alike(span);
}

static void change_some(struct fixture *fixture)
{
    struct span *span;
    struct tile *tile = draw_free_tile(fixture, &span);
    if (!tile) return;
    struct tn_dependency dependency = draw_dependency(fixture);
    tn_region_index_change_dependency(&fixture->index, region_of_tile(fixture, span, tile),
                                      dependency);
    tile->dependency = dependency;
    merge_alike(span);
}

static void complete_some(struct fixture *fixture)
{
    uint32_t streams = below(fixture, 3) ? (uint32_t)1 << below(fixture, STREAMS_MAX)
                                         : some_of(fixture, fixture->streams);
    uint32_t time = fixture->now - below(fixture, fixture->now + 1) % 8;
    tn_region_index_complete(&fixture->index, streams, time);
    for (unsigned i = 0; i < fixture->span_count; i++) {
        struct span *span = &fixture->spans[i];
        for (unsigned j = 0; j < span->tile_count; j++) {
            struct tile *tile = &span->tiles[j];
            if (tile->is_free && tile->dependency.time <= time)
                tile->dependency.streams &= ~streams;
        }
        merge_alike(span);
    }
}

static void begin_anew(struct fixture *fixture)
{
    tn_region_index_begin_anew(&fixture->index);
    fixture->now = 1;
    for (unsigned i = 0; i < fixture->span_count; i++) {
        for (unsigned j = 0; j < fixture->spans[i].tile_count; j++)
            fixture->spans[i].tiles[j].dependency.time = 0;
    }
}

/* The smallest run, among equals the first, tried out from each of its beginnings. */
static struct tn_region_run find_run(const struct span *span, uint32_t streams,
                                     uint32_t chunk_count)
{
    struct tn_region_run best = { NONE, 0, UINT32_MAX };
    for (unsigned i = 0; i < span->tile_count; i++) {
        uint32_t sum = 0;
        for (unsigned j = i; j < span->tile_count && sum < chunk_count; j++) {
            const struct tile *tile = &span->tiles[j];
            if (!tile->is_free || (tile->dependency.streams & ~streams) != 0) break;
            sum += tile->chunk_count;
            if (sum >= chunk_count && sum < best.chunk_count)
                best = (struct tn_region_run){ i, j - i + 1, sum };
        }
    }
    return best;
}

static void unite_some(struct fixture *fixture)
{
    struct span *span = &fixture->spans[below(fixture, fixture->span_count)];
    uint32_t streams = fixture->streams;
    if (below(fixture, 2)) streams &= ~((uint32_t)1 << below(fixture, STREAMS_MAX));
    uint32_t chunk_count = 1 + below(fixture, below(fixture, 8) ? 60 : span->chunk_count);
    struct tn_region_run run = find_run(span, streams, chunk_count);
    struct tn_region_run found =
        tn_region_index_find_run(&fixture->index, span->head, streams, chunk_count);
    if (run.first == NONE) {
        assert_int_equal(found.first, NONE);
        return;
    }
    assert_int_not_equal(found.first, NONE);
    assert_int_equal(fixture->index.regions[found.first].first_chunk,
                     span->tiles[run.first].first_chunk);
    assert_int_equal(found.region_count, run.region_count);
    assert_int_equal(found.chunk_count, run.chunk_count);
    tn_region_index_unite_run(&fixture->index, &found);
    for (uint32_t i = 1; i < run.region_count; i++)
        merge(span, run.first);
    merge_alike(span);
}

/* What finds a live region by a chunk inside it knows nothing of dependencies, and must stay right. */
static void find_some(struct fixture *fixture)
{
    const struct span *span = &fixture->spans[below(fixture, fixture->span_count)];
    const struct tile *tile = &span->tiles[below(fixture, span->tile_count)];
    uint32_t chunk = tile->first_chunk + below(fixture, tile->chunk_count);
    uint32_t region = tn_region_index_find_live(&fixture->index, chunk);
    assert_int_equal(region != NONE, !tile->is_free);
    if (region != NONE)
        assert_int_equal(fixture->index.regions[region].first_chunk, tile->first_chunk);
}

/* --- sequences ------------------------------------------------------------------------------------- */

/* Only what reserves may allocate; the rest has to do with what was reserved. */
static void step(struct fixture *fixture)
{
    uint32_t which = below(fixture, 100);
    if (which < 3) {
        add_span(fixture);
    } else if (which < 35) {
        carve(fixture);
    } else if (which < 37) {
        /* So seldom that many steps are undivided. */
        if (below(fixture, 4) == 0) add_stream(fixture);
    } else {
        host_memory_faults_begin(1);
        if (which < 40) {
            remove_span_if_free(fixture);
        } else if (which < 70) {
            free_some(fixture);
        } else if (which < 76) {
            change_some(fixture);
        } else if (which < 84) {
            complete_some(fixture);
        } else if (which < 94) {
            unite_some(fixture);
        } else {
            find_some(fixture);
        }
        assert_false(host_memory_faults_end());
        host_memory_faults_begin(0);
    }
    fixture->now++;
    if (below(fixture, 500) == 0) begin_anew(fixture);
}

static void random_sequences_do_as_the_model(void **state)
{
    static struct fixture fixture;
    uint64_t seed = random_seed(20261121);
    unsigned divided_count = 0;
    for (uint64_t i = 0; i < 20; i++) {
        memset(&fixture, 0, sizeof fixture);
        fixture.random = random_init(seed + i);
        assert_true(tn_region_index_init(&fixture.index, (tarn_fit)(i % (TARN_FIT_TLSF + 1))));
        add_span(&fixture);
        for (int j = 0; j < STEPS; j++) {
            step(&fixture);
            expect_same(&fixture);
        }
        divided_count += fixture.index.is_divided;
        tn_region_index_fini(&fixture.index);
    }
    host_memory_faults_end();
    assert_true(divided_count > 0);
}

/* --- adding a stream ------------------------------------------------------------------------------- */

/* Failing leaves everything as usable as it was, and the next one may pass. */
static void expect_adding_a_stream_may_fail(tarn_fit fit)
{
    unsigned n = 1;
    for (bool has_failed = true; has_failed; n++) {
        struct tn_region_index index;
        host_memory_faults_begin(0);
        assert_true(tn_region_index_init(&index, fit));
        assert_true(tn_region_index_reserve_span(&index, 0, 100000));
        tn_region_index_add_span(&index, 0, 100000);
        for (int i = 0; i < 200; i++) {
            assert_true(tn_region_index_reserve(&index));
            tn_region_index_carve(&index, tn_region_index_find_best_fit(&index, 1, 10), 0, 10, 0);
        }
        host_memory_faults_end();
        host_memory_faults_begin(n);
        bool is_added = tn_region_index_add_stream(&index, 29);
        has_failed = host_memory_faults_end();
        assert_int_equal(is_added, !has_failed);
        assert_null(tn_region_index_check(&index));
        struct tn_freed freed;
        assert_true(tn_region_index_free(&index, 10, TN_DEPENDENCY_NONE, &freed));
        assert_true(tn_region_index_free(&index, 20, TN_DEPENDENCY_NONE, &freed));
        assert_int_equal(tn_region_index_free_count(&index), 2);
        assert_true(tn_region_index_add_stream(&index, 29));
        assert_true(tn_region_index_add_stream(&index, 29));
        /* Every second one, so that bins have trees in two sets. */
        for (uint32_t i = 4; i < 200; i += 2) {
            const struct tn_dependency dependency = { i % 4 ? (uint32_t)1 << 29 : 0, 5 };
            host_memory_faults_begin(1);
            assert_true(tn_region_index_free(&index, 10 * i, dependency, &freed));
            assert_false(host_memory_faults_end());
        }
        assert_null(tn_region_index_check(&index));
        tn_region_index_fini(&index);
    }
    assert_true(fit == TARN_FIT_BEST ? n > 4 : n > 1);
}

static void adding_a_stream_may_fail_at_each_allocation(void **state)
{
    for (int fit = TARN_FIT_BEST; fit <= TARN_FIT_TLSF; fit++)
        expect_adding_a_stream_may_fail((tarn_fit)fit);
}

/* All that is live may become free side by side, on two streams in turn. Of four in a row, two have one
 * size and one stream each: so many trees there can be. Or all are giants. */
static void expect_all_may_be_free_at_once(tarn_fit fit)
{
    static const uint32_t counts[] = { 16, 40, 100, 1000, 1400, 2000, 2800 };
    for (size_t i = 0; i < 2 * sizeof counts / sizeof *counts; i++) {
        uint32_t count = counts[i / 2];
        bool has_giants = i % 2 == 1;
        struct tn_region_index index;
        uint32_t chunk_count = has_giants ? 17000 * count : 1000 * count;
        assert_true(tn_region_index_init(&index, fit));
        assert_true(tn_region_index_reserve_span(&index, 0, chunk_count));
        tn_region_index_add_span(&index, 0, chunk_count);
        uint32_t chunk = 0;
        for (uint32_t j = 0; j < count; j++) {
            uint32_t size = has_giants ? 16384 + j / 4 % 500 : 1 + j / 4;
            assert_true(tn_region_index_reserve(&index));
            uint32_t region = tn_region_index_find_best_fit(&index, 1, size);
            assert_int_equal(index.regions[region].first_chunk, chunk);
            tn_region_index_carve(&index, region, 0, size, 0);
            chunk += size;
            if (j == count / 2) {
                assert_true(tn_region_index_add_stream(&index, 3));
                assert_true(tn_region_index_add_stream(&index, 4));
            }
        }
        host_memory_faults_begin(1);
        chunk = 0;
        for (uint32_t j = 0; j < count; j++) {
            uint32_t size = has_giants ? 16384 + j / 4 % 500 : 1 + j / 4;
            struct tn_freed freed;
            const struct tn_dependency dependency = { (uint32_t)8 << j % 2, j };
            assert_true(tn_region_index_free(&index, chunk, dependency, &freed));
            assert_int_equal(freed.chunk_count, size);
            chunk += size;
        }
        assert_int_equal(tn_region_index_free_count(&index), count + 1);
        assert_null(tn_region_index_check(&index));
        tn_region_index_complete(&index, 24, count);
        assert_int_equal(tn_region_index_free_count(&index), 1);
        assert_null(tn_region_index_check(&index));
        assert_false(host_memory_faults_end());
        tn_region_index_fini(&index);
    }
}

static void all_may_be_free_at_once(void **state)
{
    for (int fit = TARN_FIT_BEST; fit <= TARN_FIT_TLSF; fit++)
        expect_all_may_be_free_at_once((tarn_fit)fit);
}

/* --- every policy ----------------------------------------------------------------------------------- */

/* What is complete coalesces with the one before and the one after it, which stand beside it in the set and
 * are two records less then. Behind them stands another one that is to be found. */
static void neighbours_that_vanish_end_no_walk(void **state)
{
    for (int fit = TARN_FIT_BEST; fit <= TARN_FIT_TLSF; fit++) {
        struct tn_region_index index;
        struct tn_freed freed;
        assert_true(tn_region_index_init(&index, (tarn_fit)fit));
        assert_true(tn_region_index_reserve_span(&index, 0, 128));
        tn_region_index_add_span(&index, 0, 128);
        static const uint32_t sizes[] = { 33, 33, 33, 1, 28 };
        uint32_t chunks[] = { 0, 33, 66, 99, 100 };
        for (int i = 0; i < 5; i++) {
            assert_true(tn_region_index_reserve(&index));
            tn_region_index_carve(&index, tn_region_index_find_best_fit(&index, 1, sizes[i]), 0,
                                  sizes[i], 0);
        }
        for (unsigned stream = 0; stream < 3; stream++)
            assert_true(tn_region_index_add_stream(&index, stream));
        static const uint32_t streams[] = { 3, 7, 3, 0, 7 };
        static const int order[] = { 4, 0, 2, 1 }; /* lists have the last one first */
        for (int i = 0; i < 4; i++) {
            struct tn_dependency dependency = { streams[order[i]], 5 };
            assert_true(tn_region_index_free(&index, chunks[order[i]], dependency, &freed));
        }
        assert_int_equal(tn_region_index_free_count(&index), 4);
        tn_region_index_complete(&index, 4, 5);
        assert_null(tn_region_index_check(&index));
        assert_int_equal(tn_region_index_free_count(&index), 2);
        uint32_t sets = (uint32_t)1 << TN_FREE_SET_SHARED;
        for (uint32_t count = 28; count <= 99; count += 71) {
            uint32_t region = tn_region_index_find_best_fit(&index, sets, count);
            assert_int_not_equal(region, NONE);
            assert_int_equal(tn_region_dependency(&index.regions[region]).streams, 3);
        }
        tn_region_index_fini(&index);
    }
}

/* The first offer and those that follow are all that is large enough, each once. */
static void a_request_is_offered_all_that_holds_it(void **state)
{
    struct random random = random_init(random_seed(20260105));
    for (int fit = TARN_FIT_BEST; fit <= TARN_FIT_TLSF; fit++) {
        struct tn_region_index index;
        struct tn_freed freed;
        assert_true(tn_region_index_init(&index, (tarn_fit)fit));
        assert_true(tn_region_index_reserve_span(&index, 0, 40000));
        tn_region_index_add_span(&index, 0, 40000);
        uint32_t chunk = 0, chunks[200];
        for (int i = 0; i < 200; i++) {
            uint32_t size = 1 + (uint32_t)random_below(&random, 150);
            assert_true(tn_region_index_reserve(&index));
            tn_region_index_carve(&index, tn_region_index_find_best_fit(&index, 1, size), 0, size,
                                  0);
            chunks[i] = chunk;
            chunk += size;
        }
        for (int i = 0; i < 200; i += 2)
            assert_true(tn_region_index_free(&index, chunks[i], TN_DEPENDENCY_NONE, &freed));
        for (uint32_t count = 1; count <= 160; count++) {
            uint32_t expected = 0, offered = 0;
            for (uint32_t i = 0; i < index.fresh; i++)
                expected += index.regions[i].state == TN_REGION_STATE_FREE &&
                            index.regions[i].chunk_count >= count;
            bool is_offered[512] = { false };
            for (uint32_t region = tn_region_index_find_best_fit(&index, 1, count); region != NONE;
                 region = tn_region_index_find_next_fit(&index, region, count)) {
                assert_true(index.regions[region].chunk_count >= count && !is_offered[region]);
                is_offered[region] = true;
                offered++;
            }
            assert_int_equal(offered, expected);
        }
        tn_region_index_fini(&index);
    }
}

/* What waits for nothing has no time of its own, also when it waited once. */
static void what_is_complete_makes_nothing_later(void **state)
{
    struct tn_region_index index;
    struct tn_freed freed;
    assert_true(tn_region_index_init(&index, TARN_FIT_BEST));
    assert_true(tn_region_index_reserve_span(&index, 0, 64));
    uint32_t head = tn_region_index_add_span(&index, 0, 64);
    for (int i = 0; i < 4; i++) {
        assert_true(tn_region_index_reserve(&index));
        tn_region_index_carve(&index, tn_region_index_find_best_fit(&index, 1, 16), 0, 16, 0);
    }
    assert_true(tn_region_index_add_stream(&index, 0));
    assert_true(tn_region_index_add_stream(&index, 1));
    assert_true(tn_region_index_free(&index, 0, (struct tn_dependency){ 1, 3 }, &freed));
    assert_true(tn_region_index_free(&index, 16, (struct tn_dependency){ 2, 9 }, &freed));
    tn_region_index_complete(&index, 2, 9);
    struct tn_region_run run = tn_region_index_find_run(&index, head, 1, 32);
    assert_int_equal(run.region_count, 2);
    tn_region_index_unite_run(&index, &run);
    struct tn_dependency dependency = tn_region_dependency(&index.regions[run.first]);
    assert_int_equal(dependency.streams, 1);
    assert_int_equal(dependency.time, 3);
    tn_region_index_fini(&index);
}

/* Three regions of a stream that touch, the middle one freed last: whichever has the latest time, it is that of all. */
static void what_coalesces_waits_until_the_latest_of_its_times(void **state)
{
    for (uint32_t latest = 0; latest < 3; latest++) {
        static const uint32_t order[] = { 0, 2, 1 };
        struct tn_region_index index;
        struct tn_freed freed;
        assert_true(tn_region_index_init(&index, TARN_FIT_BEST));
        assert_true(tn_region_index_add_stream(&index, 0));
        assert_true(tn_region_index_reserve_span(&index, 0, 64));
        uint32_t head = tn_region_index_add_span(&index, 0, 64);
        for (int i = 0; i < 4; i++) {
            assert_true(tn_region_index_reserve(&index));
            tn_region_index_carve(&index, tn_region_index_find_best_fit(&index, 1, 16), 0, 16, 0);
        }
        for (int i = 0; i < 3; i++) {
            struct tn_dependency dependency = { 1, order[i] == latest ? 9 : 3 };
            assert_true(tn_region_index_free(&index, 16 * order[i], dependency, &freed));
        }
        const struct tn_region *first = &index.regions[index.regions[head].next];
        assert_int_equal(first->chunk_count, 48);
        assert_int_equal(tn_region_dependency(first).time, 9);
        tn_region_index_fini(&index);
    }
}

static void what_is_promised_and_taken_back_is_there_as_before(void **state)
{
    struct tn_region_index index;
    assert_true(tn_region_index_init(&index, TARN_FIT_BEST));
    assert_true(tn_region_index_reserve_span(&index, 0, 64));
    tn_region_index_add_span(&index, 0, 64);
    for (uint32_t count = 1; count <= 1000; count *= 10) {
        assert_true(tn_region_index_promise(&index, count));
        assert_true(index.region_count + count <= index.region_capacity);
        uint32_t room = index.region_capacity - index.region_count - count;
        assert_int_equal(tn_region_index_has_room(&index), room >= 2);
        tn_region_index_take_promise_back(&index, count);
        assert_int_equal(index.reserved_count, index.region_capacity);
    }
    tn_region_index_fini(&index);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_coalesces_waits_until_the_latest_of_its_times),
        cmocka_unit_test(what_is_promised_and_taken_back_is_there_as_before),
        cmocka_unit_test(what_is_complete_makes_nothing_later),
        cmocka_unit_test(adding_a_stream_may_fail_at_each_allocation),
        cmocka_unit_test(all_may_be_free_at_once),
        cmocka_unit_test(neighbours_that_vanish_end_no_walk),
        cmocka_unit_test(a_request_is_offered_all_that_holds_it),
        cmocka_unit_test(random_sequences_do_as_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
