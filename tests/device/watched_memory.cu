/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * watched_memory: kernels that touch what they may, and one that touches what it may not, in one static pool.
 *
 * Usage: test_watched_memory [--zones | --no-debug] [clean | overrun | underrun | late | graph]
 *
 * To be run under compute-sanitizer, which is told by pools in debug mode what of them is allocated:
 *     clean      allocations of several sizes, written whole, and their neighbours: no error
 *     overrun    writes the word after an allocation, before the next one in the static pool
 *     underrun   writes the word before an allocation, after the one before it
 *     late       writes an allocation after it was freed
 *     graph      a graph that uses what was freed when it was captured: no error
 * --zones has zones, poison and quarantine too. With --no-debug nobody is told, and nothing is found.
 *
 * Ends with 0, also when the kernel is stopped for what it touched; 1 (a call that failed before), 2 (usage), 77 (no
 * device).
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

#include "checks.h"

#include "tarn/tarn.h"

namespace
{

/* Not whole chunks: without zones an overrun is seen in what is left of the last chunk alone. */
constexpr size_t WORDS = 1000;

__global__ void write_words(uint64_t *words, size_t count)
{
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        words[i] = i;
}

__global__ void write_one_word(uint64_t *word)
{
    *word = 1;
}

uint64_t *alloc(tarn_pool *pool, size_t word_count)
{
    void *address;
    TARN(tarn_pool_alloc(pool, word_count * sizeof(uint64_t), &address));
    return static_cast<uint64_t *>(address);
}

void free_all(tarn_pool *pool, uint64_t *const *arrays, size_t count)
{
    for (size_t i = 0; i < count; i++)
        TARN(tarn_pool_free(pool, arrays[i]));
}

void run_clean(tarn_pool *pool)
{
    static const size_t counts[] = { 1, 31, 32, 127, 128, 129, WORDS, 100000 };
    constexpr size_t COUNT = sizeof counts / sizeof counts[0];
    for (int round = 0; round < 10; round++) {
        uint64_t *arrays[COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            arrays[i] = alloc(pool, counts[i]);
            write_words<<<1, 256>>>(arrays[i], counts[i]);
        }
        free_all(pool, arrays, COUNT); /* while the kernels may be running */
    }
    CUDA(cudaDeviceSynchronize());
    TARN(tarn_pool_check(pool));
}

void run_graph(tarn_pool *pool)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    tarn_capture capture = 0;
    void *memory;
    uint64_t *watched = alloc(pool, WORDS);
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TARN(tarn_capture_begin(pool, stream, &capture));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    TARN(tarn_pool_alloc_on(pool, WORDS * sizeof(uint64_t), stream, &memory));
    write_words<<<1, 256, 0, stream>>>(static_cast<uint64_t *>(memory), WORDS);
    TARN(tarn_pool_free_on(pool, memory, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    TARN(tarn_capture_end(pool, capture));
    CUDA(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    CUDA(cudaGraphLaunch(executable, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaGraphExecDestroy(executable));
    CUDA(cudaGraphDestroy(graph));
    TARN(tarn_capture_release(pool, capture, nullptr, 0));
    write_words<<<1, 256>>>(watched, WORDS);
    TARN(tarn_pool_free(pool, watched));
    TARN(tarn_stream_retire(stream));
    CUDA(cudaStreamDestroy(stream));
}

/* A tool may stop the kernel, and then the device takes no more calls. */
void run_planted(tarn_pool *pool, const char *what)
{
    uint64_t *before = alloc(pool, WORDS);
    uint64_t *array = alloc(pool, WORDS);
    uint64_t *after = alloc(pool, WORDS);
    EXPECT(before < array && array < after);
    uint64_t *wrong = array;
    if (std::strcmp(what, "overrun") == 0) wrong = array + WORDS;
    if (std::strcmp(what, "underrun") == 0) wrong = array - 1;
    if (std::strcmp(what, "late") == 0) TARN(tarn_pool_free(pool, array));
    std::printf("writes the word at %p; %zu bytes are at %p\n", static_cast<void *>(wrong),
                WORDS * sizeof(uint64_t), static_cast<void *>(array));
    write_one_word<<<1, 1>>>(wrong);
    cudaError_t error = cudaDeviceSynchronize();
    std::printf("the kernel ended with %s\n", cudaGetErrorName(error));
    die(0);
}

bool is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (std::strcmp(word, words[i]) == 0) return true;
    return false;
}

} // namespace

int main(int argc, char **argv)
{
    static const char *const planted[] = { "overrun", "underrun", "late" };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.debug = TARN_DEBUG_SITES;
    const char *what = "clean";
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--no-debug") == 0) {
            options.debug = 0;
        } else if (std::strcmp(argv[i], "--zones") == 0) {
            options.debug |= TARN_DEBUG_ZONES | TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE;
        } else {
            what = argv[i];
        }
    }
    bool is_planted = is_one_of(what, planted, 3);
    if (!is_planted && std::strcmp(what, "clean") != 0 && std::strcmp(what, "graph") != 0) {
        std::fprintf(stderr, "test_watched_memory: what is %s?\n", what);
        return EXIT_USAGE;
    }

    expect_device();
    tarn_pool *pool;
    TARN(tarn_pool_create(&options, &pool));
    if (is_planted) run_planted(pool, what);
    if (std::strcmp(what, "graph") == 0) {
        run_graph(pool);
    } else {
        run_clean(pool);
    }
    TARN(tarn_pool_destroy(pool));
    return 0;
}
