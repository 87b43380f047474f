/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ranks: a program of four ranks on all devices of the machine, with no word of configuration but what a launcher sets.
 *
 *     test_ranks_on_devices   four processes; each makes device (rank % devices) current, as such programs do
 *
 * Each rank claims: its memory is on its device, and works there; its first piece is its share; memory follows the
 * current device; and a free works while another device is current. It prints the time of a pair of tarn_malloc and
 * tarn_free, and of the same on the pool itself, which asks for no current device.
 *
 * Exit status: 0 all is well, 1 it is not, 77 no device.
 */
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "checks.h"

enum {
    RANK_COUNT = 4,
    PAIR_COUNT = 1000000,
    SIZE_BYTES = 1 << 17
};

static int device_of(const void *address)
{
    cudaPointerAttributes attributes;
    CUDA(cudaPointerGetAttributes(&attributes, address));
    return attributes.device;
}

static double now_ns()
{
    return std::chrono::duration<double, std::nano>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

static void print_times(int rank, int device, tarn_pool *pool)
{
    void *address;
    double begin = now_ns();
    bool succeed = true;
    for (int i = 0; i < PAIR_COUNT; i++)
        succeed &=
            tarn_malloc(10000, &address) == TARN_STATUS_OK && tarn_free(address) == TARN_STATUS_OK;
    double middle = now_ns();
    for (int i = 0; i < PAIR_COUNT; i++) {
        succeed &= tarn_pool_alloc(pool, 10000, &address) == TARN_STATUS_OK &&
                   tarn_pool_free(pool, address) == TARN_STATUS_OK;
    }
    double end = now_ns();
    EXPECT(succeed);
    std::printf(
        "rank %d on device %d: %.1f ns a pair of tarn_malloc and tarn_free, %.1f on its pool\n",
        rank, device, (middle - begin) / PAIR_COUNT, (end - middle) / PAIR_COUNT);
}

static void work(int rank, int device_count)
{
    int device = rank % device_count;
    auto ranks_on_device = static_cast<size_t>((RANK_COUNT + device_count - 1) / device_count);
    void *field, *other = nullptr;
    char read = 0;
    CUDA(cudaSetDevice(device));
    TARN(tarn_malloc(SIZE_BYTES, &field));
    EXPECT(device_of(field) == device);
    CUDA(cudaMemset(field, 7, SIZE_BYTES));
    CUDA(cudaMemcpy(&read, static_cast<char *>(field) + 54321, 1, cudaMemcpyDeviceToHost));
    EXPECT(read == 7);

    tarn_pool *pool;
    tarn_stats stats = TARN_STATS_INIT;
    TARN(tarn_default_pool(&pool));
    TARN(tarn_pool_stats(pool, &stats));
    EXPECT(stats.footprint_bytes <= TARN_INITIAL_BYTES_DEFAULT / ranks_on_device);

    int elsewhere = (device + 1) % device_count;
    CUDA(cudaSetDevice(elsewhere));
    if (elsewhere != device) {
        TARN(tarn_malloc(1000, &other));
        EXPECT(device_of(other) == elsewhere);
    }
    TARN(tarn_free(field));
    CUDA(cudaSetDevice(device));
    TARN(tarn_free(other));
    print_times(rank, device, pool);
    TARN(tarn_default_pool_destroy());
}

/* A child has a CUDA of its own, since the parent has not used it. */
static pid_t start(const char *program, int rank)
{
    pid_t child = fork();
    if (child != 0) return child;
    const char number[] = { static_cast<char>('0' + rank), '\0' };
    execl(program, program, number, static_cast<char *>(nullptr));
    _exit(EXIT_WRONG);
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        int device_count;
        expect_device();
        CUDA(cudaGetDeviceCount(&device_count));
        work(argv[1][0] - '0', device_count);
        return 0;
    }
    pid_t children[RANK_COUNT];
    int worst = 0;
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
    for (int rank = 0; rank < RANK_COUNT; rank++)
        children[rank] = start(argv[0], rank);
    for (pid_t child : children) {
        int status = 0;
        int result = waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                              : EXIT_WRONG;
        if (worst != EXIT_WRONG && result != 0) worst = result;
    }
    if (worst == 0) std::printf("all %d ranks are right\n", static_cast<int>(RANK_COUNT));
    return worst;
}
