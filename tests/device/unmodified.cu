/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * unmodified: a program of CUDA that knows nothing of tarn, and checks the contents of its memory. It says what a pair of
 * cudaMalloc and cudaFree takes. It is run without and with libtarn_run_cuda.so preloaded:
 *
 *     nvcc -O2 -std=c++17 -arch=sm_90 -o unmodified tests/device/unmodified.cu       with the static runtime
 *     ./unmodified
 *     LD_PRELOAD=build/dev/lib/libtarn_run_cuda.so TARN_RUN_REPORT=/tmp/report ./unmodified
 *
 * Also with -cudart shared, and with -default-stream per-thread. Exit status 77: there is no device.
 */
#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

namespace
{

constexpr size_t kib = 1 << 10, mib = 1 << 20;

void expect(cudaError_t error, cudaError_t wanted, const char *text, int line)
{
    if (error == wanted) return;
    std::fprintf(stderr, "line %d: %s: %s\n", line, text, cudaGetErrorString(error));
    std::exit(1);
}

#define OK(call) expect(call, cudaSuccess, #call, __LINE__)

#define EXPECT(condition)                                                        \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

__device__ unsigned long long wrong_words;

__global__ void fill(uint32_t *words, size_t count, uint32_t seed)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x)
        words[i] = uint32_t(i) * 2654435761u ^ seed;
}

__global__ void check(const uint32_t *words, size_t count, uint32_t seed)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x)
        if (words[i] != (uint32_t(i) * 2654435761u ^ seed)) atomicAdd(&wrong_words, 1ull);
}

/* Keeps a stream busy, so that what follows on it runs late. */
__global__ void spin(long long cycles)
{
    long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void fetch(cudaTextureObject_t texture, uint32_t *words, size_t count)
{
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        words[i] = tex1Dfetch<unsigned>(texture, int(i));
}

struct block {
    uint32_t *words;
    size_t count;
    uint32_t seed;
    cudaStream_t stream; /* its last work is there */
};

void expect_no_wrong_words(const char *part)
{
    unsigned long long wrong;
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(&wrong, wrong_words, sizeof wrong));
    if (wrong != 0) std::fprintf(stderr, "%s: %llu words are wrong\n", part, wrong);
    EXPECT(wrong == 0);
}

size_t random_words(std::mt19937 &random)
{
    return (size_t(1) << (random() % 20)) + random() % 1000;
}

/* Blocks come and go while the streams work late. cudaFree is called at once after the last launch. */
void mix(unsigned seed, bool is_async)
{
    std::mt19937 random(seed);
    std::vector<cudaStream_t> streams(4);
    for (size_t i = 0; i < streams.size(); i++)
        OK(cudaStreamCreateWithFlags(&streams[i],
                                     i % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
    std::vector<block> live;
    for (unsigned i = 0; i < 4000; i++) {
        cudaStream_t stream = streams[random() % streams.size()];
        if (live.size() < 64) {
            block b = { nullptr, random_words(random), unsigned(random()), stream };
            if (is_async)
                OK(cudaMallocAsync(&b.words, b.count * sizeof *b.words, stream));
            else
                OK(cudaMalloc(&b.words, b.count * sizeof *b.words));
            if (random() % 16 == 0) spin<<<1, 1, 0, stream>>>(200000);
            fill<<<32, 128, 0, stream>>>(b.words, b.count, b.seed);
            live.push_back(b);
            continue;
        }
        std::swap(live[random() % live.size()], live.back());
        block b = live.back();
        live.pop_back();
        check<<<32, 128, 0, b.stream>>>(b.words, b.count, b.seed);
        if (is_async)
            OK(cudaFreeAsync(b.words, b.stream));
        else
            OK(cudaFree(b.words));
        if (random() % 200 == 0) { /* a stream ends, and with it the last work of some blocks */
            size_t k = random() % streams.size();
            OK(cudaStreamSynchronize(streams[k]));
            for (block &other : live)
                if (other.stream == streams[k]) other.stream = streams[(k + 1) % streams.size()];
            OK(cudaStreamDestroy(streams[k]));
            OK(cudaStreamCreateWithFlags(&streams[k], cudaStreamNonBlocking));
            for (block &other : live)
                if (other.stream == streams[k]) other.stream = streams[(k + 1) % streams.size()];
        }
    }
    for (const block &b : live) {
        check<<<32, 128, 0, b.stream>>>(b.words, b.count, b.seed);
        if (is_async)
            OK(cudaStreamSynchronize(b.stream)); /* of such memory cudaFree does not wait */
        OK(cudaFree(b.words));
    }
    OK(cudaGetLastError());
    for (cudaStream_t stream : streams)
        OK(cudaStreamDestroy(stream));
}

void other_kinds()
{
    uint32_t *managed, *pitched, *linear, *out, *small;
    size_t pitch;
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned>();
    OK(cudaMallocManaged(&managed, mib));
    OK(cudaMallocPitch(&pitched, &pitch, 1000, 100));
    OK(cudaMallocArray(&array, &format, 256, 256));
    OK(cudaMalloc(&small, 4));
    OK(cudaMalloc(&linear, 4000));
    OK(cudaMalloc(&out, 4000));
    fill<<<1, 128>>>(managed, mib / 4, 1);
    check<<<1, 128>>>(managed, mib / 4, 1);
    fill<<<1, 128>>>(linear, 1000, 2);
    cudaResourceDesc resource = {};
    cudaTextureDesc description = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = linear;
    resource.res.linear.desc = format;
    resource.res.linear.sizeInBytes = 4000;
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &resource, &description,
                               nullptr)); /* needs its alignment */
    fetch<<<1, 128>>>(texture, out, 1000);
    check<<<1, 128>>>(out, 1000, 2);
    expect_no_wrong_words("other kinds");
    OK(cudaDestroyTextureObject(texture));
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, linear));
    EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
    OK(cudaFree(managed));
    OK(cudaFree(pitched));
    OK(cudaFree(small));
    OK(cudaFree(linear));
    OK(cudaFree(out));
    OK(cudaFreeArray(array));
    OK(cudaFree(nullptr));
}

void errors()
{
    void *block = nullptr;
    size_t free_bytes, total_bytes, free_again;
    OK(cudaMemGetInfo(&free_bytes, &total_bytes));
    expect(cudaMalloc(&block, 2 * total_bytes), cudaErrorMemoryAllocation, "too much memory",
           __LINE__);
    OK(cudaMalloc(&block, 64 * mib));
    OK(cudaMemGetInfo(&free_again, nullptr));
    if (free_again > free_bytes || free_again + 256 * mib < free_bytes)
        std::fprintf(stderr, "%zu bytes were free, and then %zu\n", free_bytes, free_again);
    EXPECT(free_again <= free_bytes && free_again + 256 * mib >= free_bytes);
    OK(cudaFree(block));
    expect(cudaFree(block), cudaErrorInvalidValue, "a second free", __LINE__);
    (void)cudaGetLastError();
    OK(cudaMalloc(&block, total_bytes / 2)); /* whatever pools hold */
    OK(cudaFree(block));
}

/* A graph with memory of its own. With FREES_IN_CAPTURE in the environment, memory of the program's is freed meanwhile. */
void captures()
{
    bool frees_in_capture = std::getenv("FREES_IN_CAPTURE") != nullptr;
    cudaStream_t stream;
    uint32_t *inside, *outside, *kept;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc(&outside, mib));
    OK(cudaMalloc(&kept, mib));
    for (int i = 0; i < 3; i++) {
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
        OK(cudaMallocAsync(&inside, mib, stream));
        fill<<<32, 128, 0, stream>>>(inside, mib / 4, 7);
        check<<<32, 128, 0, stream>>>(inside, mib / 4, 7);
        fill<<<32, 128, 0, stream>>>(kept, mib / 4, 8);
        OK(cudaFreeAsync(inside, stream));
        if (frees_in_capture) OK(cudaFree(outside));
        OK(cudaStreamEndCapture(stream, &graph));
        if (!frees_in_capture) OK(cudaFree(outside));
        OK(cudaGraphInstantiate(&executable, graph, 0));
        OK(cudaMalloc(&outside, mib));
        fill<<<32, 128>>>(outside, mib / 4, 9);
        OK(cudaDeviceSynchronize());
        OK(cudaGraphLaunch(executable, stream));
        OK(cudaGraphLaunch(executable, stream));
        check<<<32, 128, 0, stream>>>(kept, mib / 4, 8);
        OK(cudaStreamSynchronize(stream));
        check<<<32, 128>>>(outside, mib / 4, 9);
        expect_no_wrong_words("captures");
        OK(cudaGraphExecDestroy(executable));
        OK(cudaGraphDestroy(graph));
    }
    OK(cudaFree(outside));
    OK(cudaFree(kept));
    OK(cudaStreamDestroy(stream));
}

/* Microseconds of a pair. `is_busy`: a kernel is launched before each free. */
double time_pairs(bool is_busy)
{
    constexpr int pairs = 5000;
    uint32_t *words;
    OK(cudaDeviceSynchronize());
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < pairs; i++) {
        OK(cudaMalloc(&words, (size_t(i) % 64 + 1) * 16 * kib));
        if (is_busy) fill<<<32, 128>>>(words, 4096, 1);
        OK(cudaFree(words));
    }
    OK(cudaDeviceSynchronize());
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
               .count() /
           pairs;
}

} /* namespace */

int main()
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        std::printf("no device\n");
        return 77;
    }
    void *left;
    for (unsigned round = 0; round < 2; round++) {
        mix(1 + round, false);
        expect_no_wrong_words("cudaMalloc");
        mix(3 + round, true);
        expect_no_wrong_words("cudaMallocAsync");
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < 4; i++)
            threads.emplace_back(mix, 10 + i, i % 2 == 0);
        for (std::thread &thread : threads)
            thread.join();
        expect_no_wrong_words("threads");
        other_kinds();
        errors();
        captures();
        OK(cudaMalloc(&left, mib));
        if (round == 0)
            OK(cudaDeviceReset()); /* all memory is gone, and the next call begins anew */
    }
    (void)time_pairs(true);
    std::printf(
        "a pair of cudaMalloc and cudaFree takes %.2f us, with a kernel in between %.2f us\n",
        time_pairs(false), time_pairs(true));
    std::printf("all contents are right\n");
    return 0; /* and the rest is not freed */
}
