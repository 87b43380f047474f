/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * adjacency: kernels that allocate. A triangle mesh is refined on the device: each step puts a vertex into
 * each triangle, which splits it into three. Each vertex has a list of its neighbours in a device heap. If a
 * list is full, its thread allocates one of twice the size, copies, and frees the old one. If the heap gets
 * full, the host adds memory between kernels. If a kernel found it full, the host adds memory and runs the
 * kernel again for the rest.
 *
 * Returns 0 if all lists match those that the host derives from the final mesh, 1 if they do not or a call
 * failed, and 77 if there is no device.
 */
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <vector>

#include <tarn/device_heap.h>
#include <tarn/tarn.h>

#include <tarn/device_heap.cuh>

static const size_t HEAP_BYTES = (size_t)2 << 20; /* at the start */
static const size_t HEAP_BYTES_MAX = (size_t)64 << 20;
static const uint32_t TRIANGLE_COUNT_MAX = 4 * 59049; /* after ten steps */
static const uint32_t VERTEX_COUNT_MAX = TRIANGLE_COUNT_MAX / 2 + 2;

struct triangle {
    uint32_t corners[3];
};

/* The arrays have their final length from the start. For brevity they are managed memory, which host and
 * device use in turn. Only the device uses the lists. */
struct mesh {
    tarn_device_heap_handle heap; /* unchanged when the heap grows */
    triangle *triangles;
    uint32_t **lists; /* the neighbours of each vertex; in the heap */
    uint32_t *counts; /* lengths of the lists */
    uint32_t *wanted; /* lengths of the lists after this step */
    uint32_t *failed_count;
};

static __device__ uint32_t thread_number()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

/* For each triangle: its corners get one neighbour, and its new middle vertex gets three. */
static __global__ void count_new(mesh mesh, uint32_t triangle_count, uint32_t vertex_count)
{
    uint32_t i = thread_number();
    if (i >= triangle_count) return;
    for (uint32_t corner : mesh.triangles[i].corners)
        atomicAdd(&mesh.wanted[corner], 1);
    mesh.wanted[vertex_count + i] = 3;
}

/* For each vertex: makes the list long enough. A list without memory is counted and stays as it was, and one
 * that is long enough stays, so the kernel may run again. */
static __global__ void reserve(mesh mesh, uint32_t vertex_count)
{
    uint32_t v = thread_number();
    if (v >= vertex_count) return;
    size_t size_bytes = tarn_dsize(mesh.heap, mesh.lists[v]); /* 0 if there is no list */
    size_t wanted_bytes = mesh.wanted[v] * sizeof(uint32_t);
    if (wanted_bytes <= size_bytes) return;
    size_t new_bytes = 2 * size_bytes < wanted_bytes ? wanted_bytes : 2 * size_bytes;
    uint32_t *list = (uint32_t *)tarn_dmalloc(mesh.heap, new_bytes);
    if (list == nullptr) {
        atomicAdd(mesh.failed_count, 1);
        return;
    }
    for (uint32_t i = 0; i < mesh.counts[v]; i++)
        list[i] = mesh.lists[v][i];
    tarn_dfree(mesh.heap, mesh.lists[v]); /* null is allowed */
    mesh.lists[v] = list;
}

/* The first mesh has four vertices, all of them neighbours. */
static __global__ void begin(mesh mesh)
{
    uint32_t v = thread_number();
    for (uint32_t other = 0; other < 4; other++)
        if (other != v) mesh.lists[v][mesh.counts[v]++] = other;
}

/* For each triangle: splits it into three, and adds the new neighbours. */
static __global__ void split(mesh mesh, uint32_t triangle_count, uint32_t vertex_count)
{
    uint32_t i = thread_number();
    if (i >= triangle_count) return;
    triangle old = mesh.triangles[i];
    uint32_t middle = vertex_count + i;
    uint32_t places[3] = { i, triangle_count + 2 * i, triangle_count + 2 * i + 1 };
    for (int k = 0; k < 3; k++) {
        mesh.triangles[places[k]] = { { old.corners[k], old.corners[(k + 1) % 3], middle } };
        mesh.lists[old.corners[k]][atomicAdd(&mesh.counts[old.corners[k]], 1)] = middle;
        mesh.lists[middle][mesh.counts[middle]++] = old.corners[k];
    }
}

/* Copies the lists to arrays that the host can read, as pairs of vertices, and frees them. */
static __global__ void take_apart(mesh mesh, uint32_t vertex_count, const size_t *first,
                                  uint64_t *pairs)
{
    uint32_t v = thread_number();
    if (v >= vertex_count) return;
    for (uint32_t i = 0; i < mesh.counts[v]; i++)
        pairs[first[v] + i] = (uint64_t)v << 32 | mesh.lists[v][i];
    tarn_dfree(mesh.heap, mesh.lists[v]);
}

static void expect(bool is_true, const char *what, const char *why)
{
    if (is_true) return;
    fprintf(stderr, "adjacency: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void expect_ok(tarn_status status)
{
    expect(status == TARN_STATUS_OK, tarn_status_name(status), tarn_last_error().message);
}

static void expect_ok(cudaError_t error)
{
    expect(error == cudaSuccess, "CUDA", cudaGetErrorString(error));
}

/* Makes an array of zeros. */
template <typename type> static void make_array(size_t count, type **array_out)
{
    expect_ok(cudaMallocManaged((void **)array_out, count * sizeof(type)));
    std::fill_n(*array_out, count, type());
}

static tarn_device_heap_stats heap_stats(tarn_device_heap *heap)
{
    tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
    expect_ok(tarn_device_heap_get_stats(heap, NULL, &stats));
    return stats;
}

/* Doubles the memory of the heap, while no kernel uses it. */
static void grow(tarn_device_heap *heap, const char *why)
{
    size_t size_bytes = heap_stats(heap).size_bytes;
    expect_ok(tarn_device_heap_add(heap, size_bytes, NULL));
    printf("%zu MiB more since %s; ", size_bytes >> 20, why);
}

/* Makes room for all lists, in as many rounds as needed. The statistics wait for the stream. */
static void reserve_for_all(tarn_device_heap *heap, const mesh &mesh, uint32_t vertex_count)
{
    tarn_device_heap_stats stats = heap_stats(heap);
    if (stats.used_bytes > stats.capacity_bytes / 4 * 3) grow(heap, "three quarters are used");
    for (;; grow(heap, "it was full")) {
        *mesh.failed_count = 0;
        reserve<<<vertex_count / 256 + 1, 256>>>(mesh, vertex_count);
        expect_ok(cudaDeviceSynchronize());
        if (*mesh.failed_count == 0) return;
    }
}

/* Does the same step on the host, with triangles alone. */
static void split_on_host(std::vector<triangle> *triangles, uint32_t vertex_count)
{
    uint32_t count = (uint32_t)triangles->size();
    for (uint32_t i = 0; i < count; i++) {
        triangle old = (*triangles)[i];
        (*triangles)[i].corners[2] = vertex_count + i;
        triangles->push_back({ { old.corners[1], old.corners[2], vertex_count + i } });
        triangles->push_back({ { old.corners[2], old.corners[0], vertex_count + i } });
    }
}

/* Each side of a triangle makes two vertices neighbours; in a closed mesh once in each direction. */
static std::vector<uint64_t> neighbours_on_host(const std::vector<triangle> &triangles)
{
    std::vector<uint64_t> pairs;
    for (const triangle &one : triangles)
        for (int k = 0; k < 3; k++)
            pairs.push_back((uint64_t)one.corners[k] << 32 | one.corners[(k + 1) % 3]);
    std::sort(pairs.begin(), pairs.end());
    return pairs;
}

/* Returns the neighbours from the lists, and frees the lists. */
static std::vector<uint64_t> take_neighbours(const mesh &mesh)
{
    size_t *first;
    uint64_t *pairs;
    make_array(VERTEX_COUNT_MAX + 1, &first);
    for (uint32_t v = 0; v < VERTEX_COUNT_MAX; v++)
        first[v + 1] = first[v] + mesh.counts[v];
    size_t count = first[VERTEX_COUNT_MAX];
    make_array(count, &pairs);
    take_apart<<<VERTEX_COUNT_MAX / 256 + 1, 256>>>(mesh, VERTEX_COUNT_MAX, first, pairs);
    expect_ok(cudaDeviceSynchronize());
    std::sort(pairs, pairs + count);
    return std::vector<uint64_t>(pairs, pairs + count);
}

int main()
{
    tarn_pool *pool;
    tarn_status status = tarn_pool_create(NULL, &pool);
    if (status == TARN_STATUS_NO_DEVICE)
        return puts("adjacency: no device, so nothing was run"), 77;
    expect_ok(status);

    tarn_device_heap *heap;
    tarn_device_heap_options options = TARN_DEVICE_HEAP_OPTIONS_INIT;
    options.size_bytes_max = HEAP_BYTES_MAX;
    expect_ok(tarn_device_heap_create(pool, HEAP_BYTES, &options, NULL, &heap));

    mesh mesh;
    mesh.heap = tarn_device_heap_get_handle(heap);
    make_array(TRIANGLE_COUNT_MAX, &mesh.triangles);
    make_array(VERTEX_COUNT_MAX, &mesh.lists);
    make_array(VERTEX_COUNT_MAX, &mesh.counts);
    make_array(VERTEX_COUNT_MAX, &mesh.wanted);
    make_array(1, &mesh.failed_count);

    uint32_t vertex_count = 4;
    std::vector<triangle> triangles{
        { { 0, 1, 2 } }, { { 0, 3, 1 } }, { { 1, 3, 2 } }, { { 2, 3, 0 } }
    };
    std::copy(triangles.begin(), triangles.end(), mesh.triangles);
    std::fill_n(mesh.wanted, vertex_count, 3);
    reserve_for_all(heap, mesh, vertex_count);
    begin<<<1, 4>>>(mesh);
    while (triangles.size() < TRIANGLE_COUNT_MAX) {
        uint32_t count = (uint32_t)triangles.size();
        count_new<<<count / 256 + 1, 256>>>(mesh, count, vertex_count);
        reserve_for_all(heap, mesh, vertex_count + count);
        split<<<count / 256 + 1, 256>>>(mesh, count, vertex_count);
        split_on_host(&triangles, vertex_count);
        vertex_count += count;
    }
    expect_ok(cudaDeviceSynchronize());
    expect(take_neighbours(mesh) == neighbours_on_host(triangles), "the lists",
           "are not what the host finds");
    expect_ok(tarn_device_heap_check(heap, NULL));
    expect(heap_stats(heap).live_count == 0, "the heap", "has an object that nobody freed");
    printf("the lists of %u vertices are right\n", vertex_count);
    expect_ok(tarn_device_heap_destroy(heap, NULL));
    expect_ok(tarn_pool_destroy(pool));
    return EXIT_SUCCESS;
}
