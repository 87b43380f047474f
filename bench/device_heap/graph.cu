/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * graph: each vertex of a graph has a list of neighbours; degrees differ widely. The lists are made, get
 * edges in batches, and lose them again. A full list is replaced by one of twice the size, and one that is
 * three quarters empty by one of half the size. Then a few vertices get very many edges.
 *
 * Each vertex belongs to one thread, so the test measures the heap and the copying, not synchronisation
 * between threads.
 */
#include "stage.cuh"
#include "tests.h"

namespace
{

constexpr uint32_t capacity_min = 4;
constexpr unsigned batch_count = 4;
constexpr uint32_t hub_count = 256;
constexpr uint32_t hub_degree = 1U << 16;

struct list {
    uint32_t *edges;
    uint32_t count;
    uint32_t capacity;
};

/* The neighbour at the other end of edge number `index` of a vertex: always the same. */
__device__ uint32_t neighbour(uint32_t vertex, uint32_t index)
{
    return mixed(vertex * 31 + index);
}

/* Half of the vertices get one edge in a batch, a quarter 2 or 3, and so on, up to 511. */
__device__ uint32_t degree_of(uint32_t vertex, uint32_t batch)
{
    uint32_t random = mixed(vertex);
    uint32_t octave = (uint32_t)__clz((int)(random | 1U << 23));
    return (1U << octave) + mixed(vertex + batch * 0x10001U) % (1U << octave);
}

template <class Device> __device__ bool resize(const Device &heap, list &list, uint32_t capacity)
{
    uint32_t *edges = (uint32_t *)heap.get((size_t)capacity * sizeof *edges);
    if (edges == nullptr) return false;
    for (uint32_t i = 0; i < list.count; i++)
        edges[i] = list.edges[i];
    heap.put(list.edges);
    list.edges = edges;
    list.capacity = capacity;
    return true;
}

template <class Device>
__device__ bool append(const Device &heap, list &list, uint32_t vertex, uint32_t count)
{
    for (; count > 0; count--) {
        if (list.count == list.capacity &&
            !resize(heap, list, list.capacity == 0 ? capacity_min : 2 * list.capacity))
            return false;
        list.edges[list.count] = neighbour(vertex, list.count);
        list.count++;
    }
    return true;
}

template <class Device>
TIMED_KERNEL void insert(const __grid_constant__ Device heap, list *lists, uint32_t vertices,
                         uint32_t batch, unsigned long long *failed)
{
    uint32_t vertex = thread_number();
    if (vertex >= vertices) return;
    list list = lists[vertex];
    if (!append(heap, list, vertex, degree_of(vertex, batch))) atomicAdd(failed, 1ULL);
    lists[vertex] = list;
}

template <class Device>
TIMED_KERNEL void remove_half(const __grid_constant__ Device heap, list *lists, uint32_t vertices,
                              unsigned long long *failed)
{
    uint32_t vertex = thread_number();
    if (vertex >= vertices) return;
    list list = lists[vertex];
    list.count /= 2;
    while (list.capacity > capacity_min && list.count <= list.capacity / 4)
        if (!resize(heap, list, list.capacity / 2)) {
            atomicAdd(failed, 1ULL);
            break;
        }
    lists[vertex] = list;
}

/* Each list doubles from its size to `degree`. */
template <class Device>
TIMED_KERNEL void expand(const __grid_constant__ Device heap, list *lists, uint32_t vertices,
                         uint32_t degree, unsigned long long *failed)
{
    uint32_t vertex = thread_number();
    if (vertex >= vertices) return;
    list list = lists[vertex];
    if (list.count < degree && !append(heap, list, vertex, degree - list.count))
        atomicAdd(failed, 1ULL);
    lists[vertex] = list;
}

template <class Device>
TIMED_KERNEL void drop(const __grid_constant__ Device heap, list *lists, uint32_t vertices)
{
    uint32_t vertex = thread_number();
    if (vertex >= vertices) return;
    heap.put(lists[vertex].edges);
    lists[vertex] = { nullptr, 0, 0 };
}

__global__ void verify(const list *lists, uint32_t vertices, unsigned long long *edge_count,
                       unsigned long long *wrong)
{
    uint32_t vertex = thread_number();
    if (vertex >= vertices) return;
    const list list = lists[vertex];
    atomicAdd(edge_count, (unsigned long long)list.count);
    for (uint32_t i = 0; i < list.count; i++)
        if (list.edges[i] != neighbour(vertex, i)) atomicAdd(wrong, 1ULL);
}

template <class Heap> class bench
{
  public:
    bench(const options &options, report &report)
        : options_(options), report_(report), patience_(options, report), heap_(options.heap_bytes),
          vertices_(options.threads / 4), lists_(vertices_)
    {
    }

    void run()
    {
        std::vector<double> makes, inserts, removes, expands, drops;
        bool goes_on = true;
        repeat(options_, [&] {
            if (!goes_on) return;
            goes_on = step("make", makes, [&] { insert_batch(0); });
            for (uint32_t batch = 1; goes_on && batch < batch_count; batch++)
                goes_on = step("insert", inserts, [&] { insert_batch(batch); });
            goes_on = goes_on && step("remove", removes, [&] {
                          remove_half<<<blocks_for(vertices_), block_threads>>>(
                              heap_.device(), lists_.get(), vertices_, counts_.get());
                      });
            goes_on = goes_on && step("expand", expands, [&] {
                          expand<<<blocks_for(hub_count), block_threads>>>(
                              heap_.device(), lists_.get(), hub_count, hub_degree, counts_.get());
                      });
            step("drop", drops, [&] {
                drop<<<blocks_for(vertices_), block_threads>>>(heap_.device(), lists_.get(),
                                                               vertices_);
            });
        });
        add("make", makes);
        add("insert", inserts);
        add("remove", removes);
        add("expand", expands);
        add("drop", drops);
    }

  private:
    subject subject_of(const char *name) const
    {
        return { "graph", name, 0, Heap::name };
    }

    void insert_batch(uint32_t batch)
    {
        insert<<<blocks_for(vertices_), block_threads>>>(heap_.device(), lists_.get(), vertices_,
                                                         batch, counts_.get());
    }

    /* Times a step and verifies the lists after it. Returns whether the heap was fast enough to go on. */
    template <class Submit> bool step(const char *name, std::vector<double> &times, Submit submit)
    {
        counts_.clear();
        times.push_back(device_us(submit));
        patience_.note_us(times.back());
        verify<<<blocks_for(vertices_), block_threads>>>(lists_.get(), vertices_, counts_.get() + 1,
                                                         counts_.get() + 2);
        CUDA(cudaGetLastError());
        if (counts_.read(0) != 0)
            report_.fault(subject_of(name),
                          std::to_string(counts_.read(0)) + " lists could not grow");
        if (counts_.read(2) != 0)
            report_.fault(subject_of(name), std::to_string(counts_.read(2)) + " edges are wrong");
        return times.back() * 1e-6 < options_.patience_s;
    }

    void add(const char *name, const std::vector<double> &times)
    {
        report_.add(subject_of(name), "time", "us", times);
    }

    const options &options_;
    report &report_;
    patience patience_;
    Heap heap_;
    uint32_t vertices_;
    device_array<list> lists_;
    device_array<unsigned long long> counts_{
        3
    }; /* lists that could not grow, edges, wrong edges */
};

template <class Heap> void run(const options &options, report &report)
{
    if (!Heap::can_free) return;
    bench<Heap>(options, report).run();
}

} // namespace

void test_graph(const options &options, report &report)
{
    FOR_EACH_HEAP(run, options, report);
}
