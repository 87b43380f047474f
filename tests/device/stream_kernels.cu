/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stream_kernels: a pool's stream order on a real device, shown by the data.
 *
 * Usage: test_stream_kernels [--seconds S] [--streams N] [--threads T] [--seed X] [--limit BYTES]
 *                            [--contiguous] [--short] [--plant-early-free |
 *                            --plant-skipped-waits | --plant-early-completion]
 *
 * T threads share N streams for each of them, the device's default stream, and one pool with a low
 * limit. A block is filled by a kernel with words that follow from the seed and a number that no other
 * writing has; other kernels, on the same stream or on others that were made to wait, compare every word
 * and may write the next number. Then the block is freed, mostly while all that has yet to run. Kernels
 * idle for uneven times before they touch the memory, so that the streams run out of step: memory that
 * is handed out too early is overwritten under a kernel that still compares it.
 *
 *     lane        a place for a stream; the stream in it is replaced now and then
 *     use         a kernel on a block, and the event that was recorded behind it
 *     base        the use of a block that all earlier ones are ordered before
 *     fans        uses that wait for the base alone, so not for each other
 *     exchange    blocks that threads hand to each other
 *
 * With --contiguous the pool is one range of addresses, in small steps, so that trims unmap many of them.
 * --short ends after some steps over small blocks: for compute-sanitizer. With a --plant option something is
 * wrong by intent, and the program succeeds when it finds that out:
 *     early-free          blocks are freed on a stream that did not use them
 *     skipped-waits       the pool's waits are not made, as if it did not know that it must wait
 *     early-completion    the pool's questions whether an event is complete are answered with yes
 *
 * Ends with 0, 1 (a wrong word, or a call that failed), 2 (usage), 3 (no progress for a minute), 77 (no
 * device).
 */
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#include "block_kernel.h"
#include "checks.h"
#include "watchdog.h"
#include "watched_backend.h"

#include "tarn/tarn.h"

namespace
{

constexpr size_t MIB = (size_t)1 << 20;
constexpr unsigned POOL_STREAMS_MAX = 30; /* as many as a pool knows at a time */
constexpr unsigned EXCHANGE_BLOCKS = 64;
constexpr unsigned FANS_MAX = 4;
constexpr auto PATIENCE = std::chrono::seconds(60);

/* --- the program ------------------------------------------------------------------------------- */

struct settings {
    uint64_t seconds = 10;
    uint64_t streams = 5; /* of each thread */
    uint64_t threads = 4;
    uint64_t seed = 20261121;
    uint64_t limit_bytes = 256 * MIB;
    uint64_t steps_max = UINT64_MAX; /* of each thread */
    unsigned idle_octaves = 24;      /* a kernel idles for less than two to that many cycles */
    size_t size_max = 32 * MIB;
    bool contiguous = false;
    bool plants_early_free = false;
    const char *planted = nullptr; /* the option's name */
};

struct lane {
    std::shared_mutex lock; /* shared: the stream stays. Several are locked in ascending order. */
    cudaStream_t stream = nullptr;
    unsigned generation = 0; /* how often the stream was replaced */
};

struct use {
    unsigned lane;
    unsigned generation;
    cudaEvent_t event;
};

struct block {
    void *address = nullptr; /* NULL: there is none */
    size_t size_bytes = 0;
    unsigned number = 0; /* of the last writing */
    struct use base = { 0, 0, nullptr };
    std::vector<struct use> fans;
};

struct counts {
    std::atomic<uint64_t> blocks{ 0 };
    std::atomic<uint64_t> kernels{ 0 };
    std::atomic<uint64_t> bytes_to_verify{ 0 };
    std::atomic<uint64_t> refused{ 0 };
    std::atomic<uint64_t> moved{ 0 }; /* blocks that one thread allocated and another freed */
    std::atomic<uint64_t> replaced{ 0 };
    std::atomic<uint64_t> trims{ 0 };
};

struct exchanged {
    struct block block;
    unsigned worker;
};

struct program {
    struct settings settings;
    tarn_pool *pool = nullptr;
    struct findings *findings = nullptr;      /* on the device */
    struct findings *findings_seen = nullptr; /* pinned; as it was copied last */
    cudaStream_t observer = nullptr;
    unsigned lane_count = 0;
    struct lane lanes[POOL_STREAMS_MAX];
    std::mutex exchange_lock;
    struct exchanged exchange[EXCHANGE_BLOCKS];
    std::atomic<unsigned> last_number{ 0 };
    std::atomic<bool> is_stopped{ false };
    std::atomic<unsigned> running_count{ 0 };
    std::atomic<uint64_t> progress{ 0 }; /* any change counts */
    struct counts counts;
};

struct worker {
    struct program *program;
    unsigned number;
    std::mt19937_64 random;
    std::vector<cudaEvent_t> spare_events;
    cudaEvent_t last_end; /* behind the last work of the stream that was replaced last, or NULL */
};

uint64_t random_below(struct worker &worker, uint64_t bound)
{
    return worker.random() % bound;
}

bool one_in(struct worker &worker, uint64_t count)
{
    return random_below(worker, count) == 0;
}

/* 1 to `max`, about as often in each octave. */
size_t random_size(struct worker &worker, size_t max)
{
    unsigned octaves = 1;
    while (((size_t)1 << octaves) <= max)
        octaves++;
    size_t most = (size_t)1 << random_below(worker, octaves);
    size_t size = most - (size_t)random_below(worker, (most + 1) / 2);
    return size < max ? size : max;
}

unsigned random_lane(struct worker &worker)
{
    return (unsigned)random_below(worker, worker.program->lane_count);
}

long long random_idle_cycles(struct worker &worker)
{
    if (one_in(worker, 2)) return 0;
    return 1LL << random_below(worker, worker.program->settings.idle_octaves);
}

/* --- lanes, a bit each --- */

void lock_lanes(struct program &program, uint32_t lanes)
{
    for (unsigned i = 0; i < program.lane_count; i++) {
        if (lanes >> i & 1) program.lanes[i].lock.lock_shared();
    }
}

void unlock_lanes(struct program &program, uint32_t lanes)
{
    for (unsigned i = 0; i < program.lane_count; i++) {
        if (lanes >> i & 1) program.lanes[i].lock.unlock_shared();
    }
}

/* Whether the stream that the use was on is still there. Under the lane's lock. */
bool is_current(const struct program &program, const struct use &use)
{
    return program.lanes[use.lane].generation == use.generation;
}

/* --- events --- */

cudaEvent_t take_event(struct worker &worker)
{
    cudaEvent_t event;
    if (worker.spare_events.empty()) {
        CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        return event;
    }
    event = worker.spare_events.back();
    worker.spare_events.pop_back();
    return event;
}

/* Waits that were made for it stay as they are when it is recorded anew. */
void give_back_events(struct worker &worker, struct block &block)
{
    worker.spare_events.push_back(block.base.event);
    for (const struct use &use : block.fans)
        worker.spare_events.push_back(use.event);
    block.fans.clear();
}

/* The uses of a block that all others are ordered before. */
std::vector<struct use> last_uses(const struct block &block)
{
    if (block.fans.empty()) return { block.base };
    return block.fans;
}

/* Under the lane's lock, as all that names a lane below. */
void wait_for(struct program &program, unsigned lane, const std::vector<struct use> &uses)
{
    for (const struct use &use : uses) {
        if (use.lane == lane && is_current(program, use)) continue;
        CUDA(cudaStreamWaitEvent(program.lanes[lane].stream, use.event, 0));
    }
}

/* --- blocks ------------------------------------------------------------------------------------ */

/* Compares the block with its number, if it has one, and writes the next one where that is asked for. */
struct use launch(struct worker &worker, struct block &block, unsigned lane, bool writes)
{
    struct program &program = *worker.program;
    cudaStream_t stream = program.lanes[lane].stream;
    struct task task = {};
    task.data = static_cast<unsigned char *>(block.address);
    task.size_bytes = block.size_bytes;
    task.seed = (unsigned)program.settings.seed;
    task.expected_number = block.number;
    task.written_number = writes ? ++program.last_number : 0;
    task.lane = lane;
    task.idle_cycles = random_idle_cycles(worker);
    if (block.number) program.counts.bytes_to_verify += block.size_bytes;
    if (writes) block.number = task.written_number;
    CUDA(block_kernel_launch(task, program.findings, stream));
    program.counts.kernels++;

    cudaEvent_t event = take_event(worker);
    CUDA(cudaEventRecord(event, stream));
    return { lane, program.lanes[lane].generation, event };
}

tarn_status allocate_on(struct worker &worker, struct block &block, unsigned lane)
{
    tarn_pool *pool = worker.program->pool;
    cudaStream_t stream = worker.program->lanes[lane].stream;
    if (lane == 0 && one_in(worker, 2))
        return tarn_pool_alloc(pool, block.size_bytes, &block.address);
    if (one_in(worker, 16)) {
        size_t alignment = (size_t)1 << random_below(worker, 17);
        return tarn_pool_alloc_aligned_on(pool, block.size_bytes, alignment, stream,
                                          &block.address);
    }
    return tarn_pool_alloc_on(pool, block.size_bytes, stream, &block.address);
}

struct block allocate(struct worker &worker)
{
    struct program &program = *worker.program;
    struct block block;
    unsigned lane = random_lane(worker);
    block.size_bytes = random_size(worker, program.settings.size_max);
    lock_lanes(program, (uint32_t)1 << lane);
    tarn_status status = allocate_on(worker, block, lane);
    if (status == TARN_STATUS_OVER_LIMIT || status == TARN_STATUS_OUT_OF_MEMORY) {
        program.counts.refused++;
        EXPECT(block.address == nullptr);
        CUDA(cudaGetLastError());
    } else {
        TARN(status);
        program.counts.blocks++;
        block.base = launch(worker, block, lane, true);
    }
    unlock_lanes(program, (uint32_t)1 << lane);
    return block;
}

void use_beside_others(struct worker &worker, struct block &block, unsigned lane)
{
    wait_for(*worker.program, lane, { block.base });
    struct use use = launch(worker, block, lane, false);
    for (struct use &before : block.fans) {
        if (before.lane != use.lane || before.generation != use.generation) continue;
        worker.spare_events.push_back(before.event);
        before = use;
        return;
    }
    block.fans.push_back(use);
}

void use_after_all(struct worker &worker, struct block &block, unsigned lane, bool writes)
{
    wait_for(*worker.program, lane, last_uses(block));
    struct use use = launch(worker, block, lane, writes);
    give_back_events(worker, block);
    block.base = use;
}

void use_again(struct worker &worker, struct block &block)
{
    unsigned lane = random_lane(worker);
    lock_lanes(*worker.program, (uint32_t)1 << lane);
    if (block.fans.size() < FANS_MAX && !one_in(worker, 3)) {
        use_beside_others(worker, block, lane);
    } else {
        use_after_all(worker, block, lane, one_in(worker, 2));
    }
    unlock_lanes(*worker.program, (uint32_t)1 << lane);
}

void free_on_lane(struct worker &worker, const struct block &block, unsigned lane)
{
    tarn_pool *pool = worker.program->pool;
    if (lane == 0 && one_in(worker, 2)) {
        TARN(tarn_pool_free(pool, block.address));
    } else {
        TARN(tarn_pool_free_on(pool, block.address, worker.program->lanes[lane].stream));
    }
}

void free_after_lanes(struct worker &worker, const struct block &block,
                      const std::vector<struct use> &uses)
{
    std::vector<tarn_stream> streams;
    for (const struct use &use : uses)
        streams.push_back(worker.program->lanes[use.lane].stream);
    if (one_in(worker, 4)) streams.push_back(streams[0]);
    TARN(tarn_pool_free_after(worker.program->pool, block.address, streams.data(), streams.size()));
}

/* The host waits, so nothing uses the block any more. */
void free_after_synchronizing(struct worker &worker, const struct block &block,
                              const std::vector<struct use> &uses)
{
    for (const struct use &use : uses)
        CUDA(cudaEventSynchronize(use.event));
    TARN(tarn_pool_free_after(worker.program->pool, block.address, nullptr, 0));
}

uint32_t lanes_of(const std::vector<struct use> &uses)
{
    uint32_t lanes = 0;
    for (const struct use &use : uses)
        lanes |= (uint32_t)1 << use.lane;
    return lanes;
}

bool are_current(const struct program &program, const std::vector<struct use> &uses)
{
    for (const struct use &use : uses) {
        if (!is_current(program, use)) return false;
    }
    return true;
}

/* Frees the block in one of the ways that are right for it. Its events tell the end of uses whose stream
 * is gone. */
void free_rightly(struct worker &worker, const struct block &block)
{
    struct program &program = *worker.program;
    std::vector<struct use> uses = last_uses(block);
    unsigned other = random_lane(worker);
    uint32_t locked = lanes_of(uses) | (uint32_t)1 << other;
    lock_lanes(program, locked);
    if (one_in(worker, 16)) {
        free_after_synchronizing(worker, block, uses);
    } else if (!are_current(program, uses) || one_in(worker, 4)) {
        wait_for(program, other, uses);
        free_on_lane(worker, block, other);
    } else if (uses.size() == 1) {
        free_on_lane(worker, block, uses[0].lane);
    } else {
        free_after_lanes(worker, block, uses);
    }
    unlock_lanes(program, locked);
}

/* Frees the block on a stream that knows nothing of it, if there is one. */
void free_wrongly(struct worker &worker, const struct block &block)
{
    struct program &program = *worker.program;
    uint32_t users = lanes_of(block.fans) | (uint32_t)1 << block.base.lane;
    unsigned first = random_lane(worker);
    for (unsigned i = 0; i < program.lane_count; i++) {
        unsigned lane = (first + i) % program.lane_count;
        if (users >> lane & 1) continue;
        lock_lanes(program, (uint32_t)1 << lane);
        free_on_lane(worker, block, lane);
        unlock_lanes(program, (uint32_t)1 << lane);
        return;
    }
    free_rightly(worker, block);
}

void release(struct worker &worker, struct block &block)
{
    if (!one_in(worker, 4)) use_again(worker, block);
    if (worker.program->settings.plants_early_free) {
        free_wrongly(worker, block);
    } else {
        free_rightly(worker, block);
    }
    give_back_events(worker, block);
    block.address = nullptr;
}

/* --- threads ----------------------------------------------------------------------------------- */

/* The stream goes while its work is under way. A pool has no room for many such streams: each thread has
 * one at most. */
void replace_stream(struct worker &worker)
{
    struct program &program = *worker.program;
    if (worker.last_end) {
        CUDA(cudaEventSynchronize(worker.last_end));
        worker.spare_events.push_back(worker.last_end);
    }
    struct lane &lane = program.lanes[1 + random_below(worker, program.lane_count - 1)];
    worker.last_end = take_event(worker);
    std::unique_lock<std::shared_mutex> lock(lane.lock);
    TARN(tarn_stream_retire(lane.stream));
    CUDA(cudaEventRecord(worker.last_end, lane.stream));
    CUDA(cudaStreamDestroy(lane.stream));
    CUDA(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
    lane.generation++;
    program.counts.replaced++;
}

void synchronize_some_stream(struct worker &worker)
{
    unsigned lane = random_lane(worker);
    lock_lanes(*worker.program, (uint32_t)1 << lane);
    CUDA(cudaStreamSynchronize(worker.program->lanes[lane].stream));
    unlock_lanes(*worker.program, (uint32_t)1 << lane);
}

void trim(struct worker &worker)
{
    struct program &program = *worker.program;
    size_t keep_bytes = one_in(worker, 2) ? 0 : (size_t)program.settings.limit_bytes / 2;
    TARN(tarn_pool_trim(program.pool, keep_bytes, nullptr));
    program.counts.trims++;
}

/* Puts a block, or none, where another may be, which the thread then has. */
struct block swap(struct worker &worker, struct block block)
{
    struct program &program = *worker.program;
    struct exchanged mine = { std::move(block), worker.number };
    std::lock_guard<std::mutex> lock(program.exchange_lock);
    std::swap(mine, program.exchange[random_below(worker, EXCHANGE_BLOCKS)]);
    if (mine.block.address && mine.worker != worker.number) program.counts.moved++;
    return std::move(mine.block);
}

void step(struct worker &worker)
{
    struct block block;
    if (!one_in(worker, 3)) block = allocate(worker);
    while (block.address && one_in(worker, 2))
        use_again(worker, block);
    block = swap(worker, std::move(block));
    if (block.address) release(worker, block);
    if (one_in(worker, 64)) synchronize_some_stream(worker);
    if (one_in(worker, 1000)) replace_stream(worker);
    if (one_in(worker, 4000)) trim(worker);
}

void work(struct worker &worker)
{
    struct program &program = *worker.program;
    for (uint64_t i = 0; i < program.settings.steps_max && !program.is_stopped; i++) {
        step(worker);
        program.progress++;
    }
    program.running_count--;
}

/* --- looking on -------------------------------------------------------------------------------- */

/* Copies the findings while the kernels go on. */
void look_at_findings(struct program &program)
{
    uint64_t verified_before = program.findings_seen->verified_bytes;
    CUDA(cudaMemcpyAsync(program.findings_seen, program.findings, sizeof *program.findings,
                         cudaMemcpyDeviceToHost, program.observer));
    CUDA(cudaStreamSynchronize(program.observer));
    if (program.findings_seen->verified_bytes != verified_before) program.progress++;
}

void look_at_pool(struct program &program)
{
    tarn_stats stats = TARN_STATS_INIT;
    TARN(tarn_pool_check(program.pool));
    TARN(tarn_pool_stats(program.pool, &stats));
    EXPECT(stats.pending_bytes <= stats.free_bytes);
    EXPECT(stats.used_bytes + stats.free_bytes <= stats.footprint_bytes);
    EXPECT(stats.footprint_bytes <= program.settings.limit_bytes);
}

void print_counts(const struct program &program, double seconds)
{
    const struct counts &counts = program.counts;
    std::printf(
        "seed %llu, %.0f s: %llu blocks, %llu of them freed by another thread, %llu refused; "
        "%llu kernels, %.1f GiB verified; the pool made %llu records and %llu waits; "
        "%llu streams replaced, %llu trims; %llu mismatches\n",
        (unsigned long long)program.settings.seed, seconds, (unsigned long long)counts.blocks,
        (unsigned long long)counts.moved, (unsigned long long)counts.refused,
        (unsigned long long)counts.kernels,
        (double)program.findings_seen->verified_bytes / (1024.0 * (double)MIB),
        (unsigned long long)watched.record_count, (unsigned long long)watched.wait_count,
        (unsigned long long)counts.replaced, (unsigned long long)counts.trims,
        program.findings_seen->mismatch_count);
    std::fflush(stdout);
}

void print_first_mismatch(const struct findings &seen)
{
    std::printf(
        "first seen in writing %u, %llu bytes at 0x%llx, by a kernel on stream %u: its first "
        "wrong word is at offset %llu; one is 0x%016llx instead of 0x%016llx\n",
        seen.number, seen.size_bytes, seen.address, seen.lane, seen.offset_bytes, seen.found,
        seen.expected);
}

/* Returns when the time is over, all threads are, or there is a mismatch. */
void look_on(struct program &program, std::chrono::steady_clock::time_point begin)
{
    auto end = begin + std::chrono::seconds(program.settings.seconds);
    auto next = begin;
    while (program.running_count > 0 && std::chrono::steady_clock::now() < end &&
           program.findings_seen->mismatch_count == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (std::chrono::steady_clock::now() < next + std::chrono::seconds(1)) continue;
        next = std::chrono::steady_clock::now();
        look_at_findings(program);
        look_at_pool(program);
        print_counts(program, std::chrono::duration<double>(next - begin).count());
    }
}

/* --- the run ----------------------------------------------------------------------------------- */

void set_up(struct program &program, const tarn_backend &backend)
{
    const struct settings &settings = program.settings;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = settings.limit_bytes / 4;
    options.growth_factor = 1.0;
    options.limit_bytes = settings.limit_bytes;
    options.contiguous = settings.contiguous;
    options.step_bytes = 2 * MIB;
    TARN(tarn_pool_create(&options, &program.pool));

    CUDA(cudaMalloc(&program.findings, sizeof *program.findings));
    CUDA(cudaMallocHost(&program.findings_seen, sizeof *program.findings_seen));
    std::memset(program.findings_seen, 0, sizeof *program.findings_seen);
    program.findings_seen->offset_bytes = ~0ULL;
    CUDA(cudaMemcpy(program.findings, program.findings_seen, sizeof *program.findings,
                    cudaMemcpyHostToDevice));

    CUDA(cudaStreamCreateWithFlags(&program.observer, cudaStreamNonBlocking));
    program.lane_count = (unsigned)(1 + settings.streams * settings.threads);
    for (unsigned i = 1; i < program.lane_count; i++)
        CUDA(cudaStreamCreateWithFlags(&program.lanes[i].stream, cudaStreamNonBlocking));
}

void tear_down(struct program &program)
{
    TARN(tarn_pool_destroy(program.pool));
    tarn_backend_close(&watched.inner);
    for (unsigned i = 1; i < program.lane_count; i++)
        CUDA(cudaStreamDestroy(program.lanes[i].stream));
    CUDA(cudaStreamDestroy(program.observer));
    CUDA(cudaFreeHost(program.findings_seen));
    CUDA(cudaFree(program.findings));
    CUDA(cudaDeviceReset());
}

void run_workers(struct program &program, std::vector<struct worker> &workers,
                 std::chrono::steady_clock::time_point begin)
{
    std::vector<std::thread> threads;
    program.running_count = (unsigned)workers.size();
    for (struct worker &worker : workers)
        threads.emplace_back([&worker] { work(worker); });
    look_on(program, begin);
    program.is_stopped = true;
    for (std::thread &thread : threads)
        thread.join();
}

void release_all(struct program &program, std::vector<struct worker> &workers)
{
    for (struct exchanged &exchanged : program.exchange) {
        if (exchanged.block.address) release(workers[0], exchanged.block);
    }
    for (struct worker &worker : workers) {
        if (worker.last_end) worker.spare_events.push_back(worker.last_end);
        for (cudaEvent_t event : worker.spare_events)
            CUDA(cudaEventDestroy(event));
    }
}

/* Whether it went as it should. */
bool judge(struct program &program)
{
    const struct findings &seen = *program.findings_seen;
    EXPECT(seen.verified_bytes == program.counts.bytes_to_verify);
    EXPECT(seen.verified_bytes > 0);
    if (seen.mismatch_count > 0) print_first_mismatch(seen);
    if (program.settings.planted) {
        std::printf("%s: %s\n", program.settings.planted,
                    seen.mismatch_count > 0 ? "found" : "NOT FOUND");
        return seen.mismatch_count > 0;
    }
    if (program.settings.steps_max == UINT64_MAX) EXPECT(watched.wait_count > 0);
    std::printf("%s\n", seen.mismatch_count > 0 ? "FAILED" : "no mismatch");
    return seen.mismatch_count == 0;
}

bool run(const struct settings &settings)
{
    auto program = std::make_unique<struct program>();
    program->settings = settings;
    watchdog watchdog(program->progress, PATIENCE);
    tarn_backend backend = open_watched_backend();
    set_up(*program, backend);
    std::vector<struct worker> workers;
    for (unsigned i = 0; i < settings.threads; i++)
        workers.push_back(
            { program.get(), i, std::mt19937_64(settings.seed * 64 + i), {}, nullptr });

    auto begin = std::chrono::steady_clock::now();
    run_workers(*program, workers, begin);
    release_all(*program, workers);
    CUDA(cudaDeviceSynchronize());
    look_at_findings(*program);
    look_at_pool(*program);
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    print_counts(*program, taken.count());
    bool is_good = judge(*program);
    tear_down(*program);
    return is_good;
}

/* --- the command line -------------------------------------------------------------------------- */

[[noreturn]] void fail_usage(const char *message, const char *text)
{
    std::fprintf(stderr,
                 "test_stream_kernels: %s: %s\n"
                 "usage: test_stream_kernels [--seconds S] [--streams N] [--threads T] [--seed X]\n"
                 "                           [--limit BYTES] [--contiguous] [--short]\n"
                 "                           [--plant-early-free | --plant-skipped-waits |\n"
                 "                           --plant-early-completion]\n",
                 message, text);
    die(EXIT_USAGE);
}

uint64_t parse(const char *name, const char *text, uint64_t min, uint64_t max)
{
    char *end = nullptr;
    if (!text) fail_usage("wants a number", name);
    uint64_t value = std::strtoull(text, &end, 0);
    if (*text < '0' || *text > '9' || *end || value < min || value > max)
        fail_usage("is no number, or out of range", text);
    return value;
}

/* Few steps over small blocks: the tools of compute-sanitizer make kernels many times slower. */
void shorten(struct settings &settings)
{
    settings.seconds = 600;
    settings.streams = 2;
    settings.threads = 2;
    settings.limit_bytes = 8 * MIB;
    settings.steps_max = 1500;
    settings.idle_octaves = 14;
}

void plant(struct settings &settings, const char *name)
{
    if (settings.planted) fail_usage("one thing is planted at a time", name);
    settings.planted = name;
    settings.plants_early_free = std::strcmp(name, "--plant-early-free") == 0;
    watched.skips_waits = std::strcmp(name, "--plant-skipped-waits") == 0;
    watched.completes_early = std::strcmp(name, "--plant-early-completion") == 0;
    if (!settings.plants_early_free && !watched.skips_waits && !watched.completes_early)
        fail_usage("unknown option", name);
}

struct settings parse_all(int argc, char **argv)
{
    struct settings settings;
    const char *seed = std::getenv("TARN_SEED");
    if (seed) settings.seed = parse("TARN_SEED", seed, 0, UINT64_MAX);
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (std::strncmp(name, "--plant-", 8) == 0) {
            plant(settings, name);
        } else if (std::strcmp(name, "--short") == 0) {
            shorten(settings);
        } else if (std::strcmp(name, "--contiguous") == 0) {
            settings.contiguous = true;
        } else if (std::strcmp(name, "--seconds") == 0) {
            settings.seconds = parse(name, argv[++i], 1, 1000000);
        } else if (std::strcmp(name, "--streams") == 0) {
            settings.streams = parse(name, argv[++i], 1, POOL_STREAMS_MAX);
        } else if (std::strcmp(name, "--threads") == 0) {
            settings.threads = parse(name, argv[++i], 1, POOL_STREAMS_MAX);
        } else if (std::strcmp(name, "--seed") == 0) {
            settings.seed = parse(name, argv[++i], 0, UINT64_MAX);
        } else if (std::strcmp(name, "--limit") == 0) {
            settings.limit_bytes = parse(name, argv[++i], 4 * MIB, 6144 * MIB);
        } else {
            fail_usage("unknown option", name);
        }
    }
    /* Each thread may have one stream that is gone and that the pool still has to do with. */
    if (1 + settings.threads * (settings.streams + 1) > POOL_STREAMS_MAX)
        fail_usage("a pool knows 30 streams, so at most 29 are allowed", "threads * (streams + 1)");
    if (settings.size_max > settings.limit_bytes / 4) settings.size_max = settings.limit_bytes / 4;
    return settings;
}

bool has_device()
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count > 0) return true;
    std::printf("no device: %s\n", cudaGetErrorString(error));
    return false;
}

/* Where there must be a device, none is a failure. */
int exit_without_device()
{
    return std::getenv("TARN_EXPECT_DEVICE") ? EXIT_WRONG : EXIT_NO_DEVICE;
}

} // namespace

int main(int argc, char **argv)
{
    struct settings settings = parse_all(argc, argv);
    /* By default streams share eight queues, and wait for each other without need. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    if (!has_device()) return exit_without_device();
    std::printf("TARN_SEED=%llu\n", (unsigned long long)settings.seed);
    return run(settings) ? 0 : EXIT_WRONG;
}
