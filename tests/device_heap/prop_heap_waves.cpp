/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Waves that allocate and free at the same time, in heaps of random sizes down to less than they ask for: every
 * object is written in full with its own pattern and read before it is freed, some by other waves than those that
 * got it; then all structures of the heap agree, nothing is lost, and the heap gives all that it has at once.
 *
 * Usage: prop_heap_waves LANES ROUNDS
 */
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "harness/random.h"
#include "heap_world.h"

namespace
{

constexpr size_t MIB = (size_t)1 << 20;
constexpr size_t PATTERN_MAX = 70000; /* bytes that are written of the largest objects */

struct object {
    uint32_t *words;
    size_t size_bytes;
    uint32_t pattern;
};

/* What sizes a round asks for. */
enum class sizes {
    ONE,
    SMALL,
    OCTAVES,
    PAGES,
    LARGE,
    COUNT
};

size_t draw_size(struct random *random, sizes what)
{
    switch (what) {
    case sizes::ONE:
        return 64;
    case sizes::SMALL:
        return 1 + random_below(random, 4096);
    case sizes::OCTAVES:
        return random_size(random, 17);
    case sizes::PAGES:
        return 1024;
    default:
        return random_below(random, 10) != 0 ? 1 + random_below(random, 256)
                                             : 65536 + random_below(random, 8 * MIB);
    }
}

size_t words_of(const object &object)
{
    return (object.size_bytes < PATTERN_MAX ? object.size_bytes : PATTERN_MAX) / 4;
}

void write_pattern(const object &object)
{
    for (size_t i = 0; i < words_of(object); i++)
        object.words[i] = object.pattern + (uint32_t)i;
}

void expect_pattern(const object &object)
{
    for (size_t i = 0; i < words_of(object); i++)
        if (object.words[i] != object.pattern + (uint32_t)i)
            fail_msg("%zu bytes at %p: word %zu is %#x and not %#x", object.size_bytes,
                     (void *)object.words, i, object.words[i], object.pattern + (uint32_t)i);
}

/* One round: a heap, and what its waves hand to each other. */
struct round_of_waves {
    heap_world world;
    sizes what;
    uint64_t seed;
    unsigned steps;    /* of each lane */
    bool is_in_pieces; /* the heap */
    std::atomic<object *> mail[64];
    std::atomic<uint64_t> failed{ 0 };
};

void give_back(round_of_waves *round, const object &object)
{
    expect_pattern(object);
    heap_free(&round->world, object.words);
}

void take_one(round_of_waves *round, struct random *random, std::vector<object> *own)
{
    size_t size_bytes = draw_size(random, round->what);
    uint32_t *words = (uint32_t *)heap_malloc(&round->world, size_bytes);
    if (words == nullptr) {
        round->failed++;
        return;
    }
    if ((uintptr_t)words % 16 != 0 || tarn_dsize(round->world.handle, words) < size_bytes)
        fail_msg("%zu bytes at %p: not aligned, or too few", size_bytes, (void *)words);
    own->push_back({ words, size_bytes, (uint32_t)random_next(random) });
    write_pattern(own->back());
}

/* An object goes, or is handed to another lane, which then has one to free. */
void give_one(round_of_waves *round, struct random *random, std::vector<object> *own)
{
    size_t index = random_below(random, own->size());
    object gone = (*own)[index];
    (*own)[index] = own->back();
    own->pop_back();
    if (random_below(random, 4) != 0) {
        give_back(round, gone);
        return;
    }
    object *other = round->mail[random_below(random, 64)].exchange(new object(gone));
    if (other == nullptr) return;
    give_back(round, *other);
    delete other;
}

void run_lane(round_of_waves *round, uint32_t wave, uint32_t lane)
{
    struct random random = random_init(round->seed * 4096 + wave * 64 + lane);
    std::vector<object> own;
    for (unsigned step = 0; step < round->steps; step++) {
        bool takes =
            round->what == sizes::PAGES ? step < round->steps / 2 : random_below(&random, 2) != 0;
        if (takes)
            take_one(round, &random, &own);
        else if (!own.empty())
            give_one(round, &random, &own);
    }
    for (const object &object : own)
        give_back(round, object);
}

void expect_all_there(round_of_waves *round)
{
    size_t mail_count = 0;
    for (const std::atomic<object *> &place : round->mail)
        mail_count += place.load() != nullptr;
    tarn_device_heap_stats stats = heap_world_check(&round->world);
    assert_int_equal(stats.live_count, mail_count);
    assert_int_equal(stats.failed_count, round->failed.load());
    assert_int_equal(stats.double_free_count + stats.foreign_free_count + stats.damaged_free_count,
                     0);
    with_lane([&] {
        for (std::atomic<object *> &place : round->mail) {
            object *last = place.exchange(nullptr);
            if (last == nullptr) continue;
            give_back(round, *last);
            delete last;
        }
        size_t page_count = stats.capacity_bytes / TARN_DEVICE_HEAP_PAGE_BYTES;
        size_t whole = page_count >= 64 ? page_count / 64 * 64 : page_count;
        void *all = heap_malloc(&round->world, whole * TARN_DEVICE_HEAP_PAGE_BYTES - 16);
        if ((all == nullptr) != round->is_in_pieces)
            fail_msg("%zu pages are to be had of an empty heap if it is in one piece", whole);
        heap_free(&round->world, all);
    });
    stats = heap_world_check(&round->world);
    assert_int_equal(stats.live_count, 0);
    /* Who found no memory has had all free slabs given back. */
    if (round->is_in_pieces)
        assert_int_equal(stats.free_page_count * TARN_DEVICE_HEAP_PAGE_BYTES, stats.capacity_bytes);
}

/* A heap, at random in up to three pieces. */
void make_heap(round_of_waves *round, struct random *random, size_t size_bytes,
               tarn_device_heap_checks checks)
{
    size_t pieces = size_bytes < 4 * MIB ? 1 : 1 + random_below(random, 3);
    round->is_in_pieces = pieces > 1;
    heap_world_init(&round->world, size_bytes / pieces, pieces > 1 ? 2 * size_bytes : 0, checks);
    for (size_t i = 1; i < pieces; i++)
        expect_ok(
            tarn_device_heap_add(round->world.heap, size_bytes / pieces, round->world.stream));
    heap_world_wait(&round->world);
}

void run_round(uint64_t seed, uint32_t lane_count)
{
    struct random random = random_init(seed);
    bool is_small = random_below(&random, 4) == 0;
    size_t size_bytes = is_small ? 1 * MIB + random_below(&random, 3 * MIB)
                                 : 4 * MIB + random_below(&random, 28 * MIB);
    tarn_device_heap_checks checks = random_below(&random, 4) == 0
                                         ? TARN_DEVICE_HEAP_CHECKS_CONTENTS
                                         : TARN_DEVICE_HEAP_CHECKS_FREES;
    uint32_t wave_count = 1 + (uint32_t)random_below(&random, 6);
    round_of_waves round;
    for (std::atomic<object *> &place : round.mail)
        place = nullptr;
    round.what = (sizes)random_below(&random, (uint64_t)sizes::COUNT);
    round.seed = seed;
    round.steps = lane_count == 1 ? 2000 : 3000 / lane_count + 50;
#if defined(__SANITIZE_THREAD__)
    round.steps /= 4; /* it sees a race whether it does harm or not */
#endif
    make_heap(&round, &random, size_bytes, checks);
    with_waves(wave_count, lane_count, seed,
               [&](uint32_t wave, uint32_t lane) { run_lane(&round, wave, lane); });
    expect_all_there(&round);
    heap_world_fini(&round.world);
}

uint32_t lanes;
unsigned long rounds;

void waves_share_a_heap(void **)
{
    uint64_t seed = random_seed(20261122);
    for (unsigned long i = 0; i < rounds; i++)
        run_round(seed * 1000 + i, lanes);
}

} // namespace

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(waves_share_a_heap) };
    if (argc != 3) {
        fprintf(stderr, "usage: %s LANES ROUNDS\n", argv[0]);
        return 2;
    }
    lanes = (uint32_t)strtoul(argv[1], NULL, 10);
    rounds = strtoul(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
