// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pairs: a program of CUDA that knows nothing of tarn. It is timed without and with tarn-run:
//
//     pairs mixed [COUNT]      COUNT pairs of cudaMalloc and cudaFree (default 1 000 000), 64 blocks of 1 KB to 16 MB live
//     pairs kernels [COUNT]    such pairs (default 200 000), and a kernel writes into each block
//     pairs once               16 blocks of 16 MB for the whole run, and 100 000 kernels on them
//
// The sizes follow a fixed sequence in which each power of two is as frequent as the others. The program prints its own
// seconds, without the start of CUDA, and a sum that is always the same.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

namespace
{

constexpr int most_live = 64;

#define CHECK(call)                                                             \
    do {                                                                        \
        cudaError_t error = (call);                                             \
        if (error != cudaSuccess) {                                             \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
            std::exit(1);                                                       \
        }                                                                       \
    } while (0)

__global__ void add(uint32_t *words, size_t count, uint32_t value)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x)
        words[i] += value;
}

uint64_t next_random()
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

size_t next_size()
{
    size_t power = size_t(1024) << (next_random() % 14);
    return power + next_random() % power;
}

uint64_t run_pairs(long count, bool has_kernels)
{
    uint32_t *live[most_live] = {};
    uint64_t sum = 0;
    for (long i = 0; i < count; i++) {
        uint32_t **block = &live[next_random() % most_live];
        size_t size = next_size();
        CHECK(cudaFree(*block));
        CHECK(cudaMalloc(block, size));
        if (has_kernels) add<<<32, 128>>>(*block, 256, 1);
        sum += size;
    }
    for (uint32_t *block : live)
        CHECK(cudaFree(block));
    return sum;
}

uint64_t run_once()
{
    constexpr size_t block_count = 16, word_count = size_t(4) << 20;
    constexpr uint32_t launch_count = 100000;
    uint32_t *blocks[block_count];
    uint64_t sum = 0;
    for (uint32_t *&block : blocks) {
        CHECK(cudaMalloc(&block, word_count * sizeof *block));
        CHECK(cudaMemset(block, 0, word_count * sizeof *block));
    }
    for (uint32_t i = 0; i < launch_count; i++)
        add<<<264, 256>>>(blocks[i % block_count], word_count, i);
    for (uint32_t *block : blocks) {
        uint32_t word;
        CHECK(cudaMemcpy(&word, block + word_count - 1, sizeof word, cudaMemcpyDeviceToHost));
        sum += word;
        CHECK(cudaFree(block));
    }
    return sum;
}

} // namespace

int main(int argc, char **argv)
{
    bool is_once = argc == 2 && std::strcmp(argv[1], "once") == 0;
    bool has_kernels = argc > 1 && std::strcmp(argv[1], "kernels") == 0;
    bool is_mixed = argc > 1 && std::strcmp(argv[1], "mixed") == 0;
    long count = argc == 3 ? std::atol(argv[2]) : has_kernels ? 200000 : 1000000;
    if (argc > 3 || count <= 0 || !(is_once || has_kernels || is_mixed)) {
        std::fprintf(stderr, "usage: pairs mixed [COUNT] | kernels [COUNT] | once\n");
        return 2;
    }
    CHECK(cudaFree(nullptr)); // starts CUDA
    auto start = std::chrono::steady_clock::now();
    uint64_t sum = is_once ? run_once() : run_pairs(count, has_kernels);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("seconds: %.3f\ncheck: %llu\n", seconds.count(), (unsigned long long)sum);
    return 0;
}
