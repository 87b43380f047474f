// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ahead: a program of CUDA whose host runs ahead of its device. It knows nothing of tarn, and is timed with tarn-run:
//
//     ahead training [COUNT]   COUNT steps (default 30) with the sizes of GPT-2's training, 12 sequences of 1024
//     ahead blocks [COUNT]     COUNT blocks (default 200 000) of 1 KB to 16 MB, one at a time
//     ahead large [COUNT]      COUNT blocks (default 20 000) of 1 MB to 512 MB, of which 16 are live
//
// Each block is allocated, a kernel writes all of it, and it is freed: the free comes before the kernel has run. In
// `training` a block is freed after its last use, and the host waits for the device once a step. The kernels move as many
// bytes as those of the model would, or take as long as its sums. The program prints its own seconds, without the start of
// CUDA, and a sum that is always the same. With the bound on waiting memory and without it:
//
//     compare_programs.py --seconds '^seconds: ([0-9.]+)' "none=TARN_PENDING_MAX=none tarn-run ./ahead training"
//         "1=TARN_PENDING_MAX=1 tarn-run ./ahead training"
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

namespace
{

#define CHECK(call)                                                             \
    do {                                                                        \
        cudaError_t error = (call);                                             \
        if (error != cudaSuccess) {                                             \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
            std::exit(1);                                                       \
        }                                                                       \
    } while (0)

__global__ void write_all(uint32_t *words, size_t count, size_t pass_count)
{
    for (size_t pass = 0; pass < pass_count; pass++)
        for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
             i += size_t(gridDim.x) * blockDim.x)
            words[i] += uint32_t(pass) + 1;
}

uint64_t sum_of_sizes;

struct Block {
    uint32_t *words = nullptr;
    size_t size_bytes = 0;
};

Block take(double size_bytes)
{
    Block block;
    block.size_bytes = size_t(size_bytes);
    CHECK(cudaMalloc(&block.words, block.size_bytes));
    sum_of_sizes += block.size_bytes;
    return block;
}

void give(Block &block)
{
    CHECK(cudaFree(block.words));
    block = Block();
}

// A kernel that goes over the block once, or as often as it takes to read and write so many bytes.
void work(const Block &block, double moved_bytes)
{
    size_t pass_count = size_t(moved_bytes / (2.0 * double(block.size_bytes)) + 0.5);
    if (pass_count == 0) pass_count = 1;
    write_all<<<264, 256>>>(block.words, block.size_bytes / sizeof(uint32_t), pass_count);
}

// A new block, and the kernel that computes it.
Block compute(double size_bytes, double moved_bytes)
{
    Block block = take(size_bytes);
    work(block, moved_bytes);
    return block;
}

/* --- training --------------------------------------------------------------------------------------- */

constexpr int layer_count = 12;
constexpr double tokens = 12 * 1024, width = 768, words_known = 50304;
constexpr double state = tokens * width; // numbers in the state of all tokens

// The bytes that are moved while a device multiplies matrices: 400 Tflop and 2.5 TB a second.
constexpr double product(double rows, double columns)
{
    return 2.0 * tokens * rows * columns / 160.0;
}

struct Layer {
    Block state_before, first_input, projections, attention, state_between, second_input, hidden,
        activated;
    Block weights[4]; // in half the bytes
};

const double weight_counts[4] = { 3 * width * width, width *width, 4 * width *width,
                                  4 * width *width };

Block half_of(double count)
{
    return compute(count * 2, count * 6);
}

Block run_layer(Layer &layer, Block before)
{
    layer.state_before = before;
    for (int i = 0; i < 4; i++)
        layer.weights[i] = half_of(weight_counts[i]);
    Block normed = compute(state * 4, state * 8);
    layer.first_input = half_of(state);
    give(normed);
    layer.projections = compute(state * 6, product(width, 3 * width));
    layer.attention = compute(state * 2, tokens * 1024 * width * 2 / 160.0);
    Block added = compute(state * 2, product(width, width));
    layer.state_between = compute(state * 4, state * 10);
    give(added);
    normed = compute(state * 4, state * 8);
    layer.second_input = half_of(state);
    give(normed);
    layer.hidden = compute(state * 8, product(width, 4 * width));
    layer.activated = compute(state * 8, state * 16);
    added = compute(state * 2, product(width, 4 * width));
    Block after = compute(state * 4, state * 10);
    give(added);
    return after;
}

// The gradients of one product of matrices: of its weights, which last to the next step, and of its input.
Block run_back(std::vector<Block> &gradients, Block &output, Block &input, Block &weights,
               double weight_count, double input_bytes)
{
    Block of_input = compute(input_bytes, weight_count * tokens / 80.0);
    Block of_weights = compute(weight_count * 2, weight_count * tokens / 80.0);
    give(output);
    give(input);
    give(weights);
    gradients.push_back(compute(weight_count * 4, weight_count * 6));
    give(of_weights);
    return of_input;
}

void add_to_state(Block &gradient, Block &addend, Block &saved)
{
    Block wide = compute(state * 4, state * 6);
    give(addend);
    Block normed = compute(state * 4, state * 12);
    give(wide);
    Block sum = compute(state * 4, state * 12);
    give(normed);
    give(gradient);
    give(saved);
    gradient = sum;
}

void run_layer_back(Layer &layer, std::vector<Block> &gradients, Block &gradient)
{
    Block narrow = half_of(state);
    Block of_activated =
        run_back(gradients, narrow, layer.activated, layer.weights[3], weight_counts[3], state * 8);
    Block of_hidden = compute(state * 8, state * 24);
    give(of_activated);
    give(layer.hidden);
    Block of_input = run_back(gradients, of_hidden, layer.second_input, layer.weights[2],
                              weight_counts[2], state * 2);
    add_to_state(gradient, of_input, layer.state_between);
    narrow = half_of(state);
    Block of_attention =
        run_back(gradients, narrow, layer.attention, layer.weights[1], weight_counts[1], state * 2);
    Block of_projections = compute(state * 6, tokens * 1024 * width * 5 / 160.0);
    give(of_attention);
    give(layer.projections);
    of_input = run_back(gradients, of_projections, layer.first_input, layer.weights[0],
                        weight_counts[0], state * 2);
    add_to_state(gradient, of_input, layer.state_before);
}

void train(std::vector<Block> &gradients)
{
    Layer layers[layer_count];
    for (Block &gradient : gradients)
        give(gradient);
    gradients.clear();
    Block now = compute(state * 4, state * 12);
    for (Layer &layer : layers)
        now = run_layer(layer, now);
    Block normed = compute(state * 4, state * 8), input = half_of(state);
    give(normed);
    Block weights = half_of(words_known * width);
    const double scores_count = tokens * words_known;
    Block scores = compute(scores_count * 2, product(width, words_known));
    Block wide = compute(scores_count * 4, scores_count * 6);
    Block logarithms = compute(scores_count * 4, scores_count * 8);
    give(wide);
    Block of_loss = compute(scores_count * 4, scores_count * 4);
    Block of_logarithms = compute(scores_count * 4, scores_count * 12);
    give(of_loss);
    give(logarithms);
    Block of_scores = half_of(scores_count);
    give(of_logarithms);
    give(scores);
    Block of_input = run_back(gradients, of_scores, input, weights, words_known * width, state * 2);
    Block gradient = compute(state * 4, state * 6);
    add_to_state(gradient, of_input, now);
    for (int i = layer_count - 1; i >= 0; i--)
        run_layer_back(layers[i], gradients, gradient);
    give(gradient);
}

void run_training(long count)
{
    std::vector<Block> lasting, gradients;
    for (int copy = 0; copy < 3; copy++) { // weights, and two of the optimiser
        lasting.push_back(take(words_known * width * 4));
        for (int i = 0; i < layer_count; i++)
            for (double weight_count : weight_counts)
                lasting.push_back(take(weight_count * 4));
    }
    for (long i = 0; i < count; i++) {
        train(gradients);
        for (const Block &block : lasting)
            work(block, double(block.size_bytes) * 2);
        CHECK(cudaStreamSynchronize(nullptr));
    }
    for (std::vector<Block> *blocks : { &lasting, &gradients })
        for (Block &block : *blocks)
            give(block);
}

/* --- blocks ----------------------------------------------------------------------------------------- */

uint64_t next_random()
{
    static uint64_t random_state = 1;
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

// Each power of two is as frequent as the others.
void run_blocks(long count, size_t least_bytes, unsigned power_count, size_t live_count)
{
    std::vector<Block> live(live_count);
    for (long i = 0; i < count; i++) {
        size_t power = least_bytes << (next_random() % power_count);
        Block &block = live[next_random() % live_count];
        give(block);
        block = take(double(power + next_random() % power));
        work(block, 0);
        if (live_count == 1) give(block);
    }
    for (Block &block : live)
        give(block);
}

} // namespace

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    bool is_training = std::strcmp(what, "training") == 0,
         is_large = std::strcmp(what, "large") == 0;
    bool is_blocks = std::strcmp(what, "blocks") == 0;
    long count = argc == 3 ? std::atol(argv[2]) : is_training ? 30 : is_large ? 20000 : 200000;
    if (argc > 3 || count <= 0 || !(is_training || is_large || is_blocks)) {
        std::fprintf(stderr, "usage: ahead training [COUNT] | blocks [COUNT] | large [COUNT]\n");
        return 2;
    }
    CHECK(cudaFree(nullptr)); // starts CUDA
    auto start = std::chrono::steady_clock::now();
    if (is_training) run_training(count);
    if (is_blocks) run_blocks(count, 1024, 14, 1);
    if (is_large) run_blocks(count, size_t(1) << 20, 9, 16);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("seconds: %.3f\ncheck: %llu\n", seconds.count(), (unsigned long long)sum_of_sizes);
    return 0;
}
