/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* block_kernel: what the words of a block are, and the kernel that compares and writes them. */
#include "block_kernel.h"

namespace
{

constexpr unsigned THREADS = 256;
constexpr unsigned BLOCKS_MAX = 64; /* several kernels fit on the device at a time */
constexpr unsigned WORDS_PER_THREAD = 8;

/* Word `index` of a block: the number of the writing, so that a wrong word tells who wrote it, and bits
 * that differ from word to word. */
__device__ unsigned long long word_of(unsigned seed, unsigned number, unsigned long long index)
{
    unsigned long long bits = index * 0x9E3779B97F4A7C15U + number * 0x85EBCA6BU + seed;
    bits ^= bits >> 31;
    bits *= 0xBF58476D1CE4E5B9U;
    return (unsigned long long)number << 32 | bits >> 32;
}

/* A block need not end with a whole word. */
__device__ unsigned bytes_of_word(const struct task &task, unsigned long long index)
{
    unsigned long long rest = task.size_bytes - 8 * index;
    return rest < 8 ? (unsigned)rest : 8;
}

__device__ unsigned long long load_word(const unsigned char *data, unsigned byte_count)
{
    unsigned long long word = 0;
    if (byte_count == 8) return *reinterpret_cast<const unsigned long long *>(data);
    for (unsigned i = 0; i < byte_count; i++)
        word |= (unsigned long long)data[i] << (8 * i);
    return word;
}

__device__ void store_word(unsigned char *data, unsigned byte_count, unsigned long long word)
{
    if (byte_count == 8) {
        *reinterpret_cast<unsigned long long *>(data) = word;
        return;
    }
    for (unsigned i = 0; i < byte_count; i++)
        data[i] = (unsigned char)(word >> (8 * i));
}

__device__ void report(const struct task &task, struct findings *findings, unsigned long long index,
                       unsigned long long expected, unsigned long long found)
{
    unsigned before = atomicCAS(&findings->number, 0U, task.expected_number);
    if (before == 0) {
        findings->lane = task.lane;
        findings->address = reinterpret_cast<unsigned long long>(task.data);
        findings->size_bytes = task.size_bytes;
        findings->expected = expected;
        findings->found = found;
    }
    if (before == 0 || before == task.expected_number)
        atomicMin(&findings->offset_bytes, 8 * index);
}

__device__ bool is_wrong(const struct task &task, struct findings *findings,
                         unsigned long long index)
{
    unsigned byte_count = bytes_of_word(task, index);
    unsigned long long expected = word_of(task.seed, task.expected_number, index);
    if (byte_count < 8) expected &= (1ULL << (8 * byte_count)) - 1;
    unsigned long long found = load_word(task.data + 8 * index, byte_count);
    if (found == expected) return false;
    report(task, findings, index, expected, found);
    return true;
}

__device__ void idle(long long cycles)
{
    long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

/* Each thread block has a run of words of its own; the parts of one kernel are out of step, too. */
__global__ void run_task(struct task task, struct findings *findings)
{
    unsigned long long word_count = (task.size_bytes + 7) / 8;
    unsigned long long run = (word_count + gridDim.x - 1) / gridDim.x;
    unsigned long long first = min(run * blockIdx.x, word_count);
    unsigned long long after = min(first + run, word_count);
    unsigned long long wrong_count = 0;
    idle(task.idle_cycles >> (blockIdx.x % 4));
    for (unsigned long long i = first + threadIdx.x; i < after; i += blockDim.x) {
        if (task.expected_number && is_wrong(task, findings, i)) wrong_count++;
        if (task.written_number) {
            store_word(task.data + 8 * i, bytes_of_word(task, i),
                       word_of(task.seed, task.written_number, i));
        }
    }
    if (wrong_count > 0) atomicAdd(&findings->mismatch_count, wrong_count);
    __syncthreads();
    if (threadIdx.x == 0 && task.expected_number && after > first)
        atomicAdd(&findings->verified_bytes, min(8 * after, task.size_bytes) - 8 * first);
}

} // namespace

cudaError_t block_kernel_launch(const struct task &task, struct findings *findings,
                                cudaStream_t stream)
{
    unsigned long long bytes_per_block = 8ULL * THREADS * WORDS_PER_THREAD;
    unsigned long long wanted = (task.size_bytes + bytes_per_block - 1) / bytes_per_block;
    unsigned grid = wanted < BLOCKS_MAX ? (unsigned)wanted : BLOCKS_MAX;
    run_task<<<grid, THREADS, 0, stream>>>(task, findings);
    return cudaGetLastError();
}
