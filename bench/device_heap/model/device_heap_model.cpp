/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap_model: predicts without a device what the waves of the device heap wait for.
 *
 * Usage: device_heap_model [one-size [THREADS [SIZE...]] | mixed [THREADS] | steady [THREADS [ROUNDS]]]
 *
 * one-size: THREADS (1048576, and a multiple of 32) allocate an object each, of one SIZE (16 to 4096 bytes,
 * powers of two), in a new heap; free it; and do so again in the used heap. mixed: the same with mixed sizes,
 * THREADS a power of two, and freed in another order, too. steady: THREADS (65536 and no more) hold 8 objects
 * each and replace half of them, ROUNDS (12) times. Prints times, also as multiples of a bump pointer's,
 * operations and pauses of a wave, and the range of the objects by the bytes asked for. After each test the
 * heap's structures are compared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_tests.h"

namespace
{

constexpr uint32_t THREADS_MAX = 1 << 20;
constexpr uint32_t STEADY_THREADS_MAX = 1 << 16;
constexpr uint32_t STEADY_ROUNDS = 12;

int fail_usage()
{
    fprintf(
        stderr,
        "usage: device_heap_model [one-size [THREADS [SIZE...]] | mixed [THREADS] | steady [THREADS [ROUNDS]]]: "
        "threads up to 1048576, multiples of 32; of mixed a power of two; of steady up to 65536; sizes 16 to 4096, "
        "powers of two; rounds 1 to 1000\n");
    return 2;
}

/* 0: the text is no number. */
uint32_t number_of(const char *text)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    bool is_number = text[0] >= '0' && text[0] <= '9' && *end == '\0' && number <= UINT32_MAX;
    return is_number ? (uint32_t)number : 0;
}

bool is_power_of_two(uint32_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

bool is_thread_count(uint32_t number, uint32_t max)
{
    return number != 0 && number % LANES == 0 && number <= max;
}

int run_one_size(uint32_t threads, std::vector<uint32_t> sizes_bytes)
{
    bool is_wrong = !is_thread_count(threads, THREADS_MAX);
    for (uint32_t size : sizes_bytes)
        is_wrong = is_wrong || !is_power_of_two(size) || size < 16 || size > 4096;
    if (is_wrong) return fail_usage();
    if (sizes_bytes.empty()) sizes_bytes = { 16, 32, 64, 128, 256, 512, 1024, 2048, 4096 };
    test_one_size(threads, sizes_bytes);
    return 0;
}

int run_mixed(uint32_t threads, const std::vector<uint32_t> &others)
{
    bool is_right = is_thread_count(threads, THREADS_MAX) && is_power_of_two(threads);
    if (!is_right || !others.empty()) return fail_usage();
    test_mixed(threads);
    return 0;
}

int run_steady(uint32_t threads, const std::vector<uint32_t> &others)
{
    uint32_t rounds = others.empty() ? STEADY_ROUNDS : others[0];
    bool is_right = is_thread_count(threads, STEADY_THREADS_MAX) && rounds != 0 && rounds <= 1000;
    if (!is_right || others.size() > 1) return fail_usage();
    test_steady(threads, rounds);
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    const char *test = argc > 1 ? argv[1] : "one-size";
    std::vector<uint32_t> others;
    for (int i = 3; i < argc; i++)
        others.push_back(number_of(argv[i]));
    uint32_t most = strcmp(test, "steady") == 0 ? STEADY_THREADS_MAX : THREADS_MAX;
    uint32_t threads = argc > 2 ? number_of(argv[2]) : most;
    if (strcmp(test, "one-size") == 0) return run_one_size(threads, others);
    if (strcmp(test, "mixed") == 0) return run_mixed(threads, others);
    if (strcmp(test, "steady") == 0) return run_steady(threads, others);
    return fail_usage();
}
