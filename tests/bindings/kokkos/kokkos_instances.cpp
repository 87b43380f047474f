// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two execution space instances and one pool: memory that one instance still writes must not reach the other.
//
//     kokkos_instances                   ends with 0 if all values are right
//     kokkos_instances --forget-fence    leaves out a fence that the program owes: ends with 1 on a device, if the values show it
#include <cstdio>
#include <cstring>
#include <tarn/kokkos.hpp>

namespace
{

using Execution = Kokkos::DefaultExecutionSpace;
using Space = tarn::PoolSpace<Execution::memory_space>;
using Array = Kokkos::View<double *, Space>;
using Work = tarn::pool_view<Kokkos::View<double *, Execution::memory_space>>;

constexpr int length = 1 << 16, rounds = 20;

// Milliseconds on a device, then every element is 1.
template <class View> void write_ones_slowly(const Execution &instance, const View &view)
{
    int steps = Kokkos::SpaceAccessibility<Execution, Kokkos::HostSpace>::accessible ? 10 : 1 << 17;
    Kokkos::parallel_for(
        "ones", Kokkos::RangePolicy<Execution>(instance, 0, length), KOKKOS_LAMBDA(int i) {
            double value = i;
            for (int k = 0; k < steps; k++)
                value = 0.5 * value + 1;
            view(i) = value > 0 ? 1 : 0;
        });
}

// Elements that are not 2, when all instances have done what they do now.
template <class View> int write_twos_and_count_others(const Execution &instance, const View &view)
{
    Kokkos::parallel_for(
        "twos", Kokkos::RangePolicy<Execution>(instance, 0, length),
        KOKKOS_LAMBDA(int i) { view(i) = 2; });
    Kokkos::fence();
    int others = 0;
    Kokkos::parallel_reduce(
        "count", Kokkos::RangePolicy<Execution>(instance, 0, length),
        KOKKOS_LAMBDA(int i, int &count) { count += view(i) != 2; }, others);
    return others;
}

Array make_array(const Space &space, const Execution &instance)
{
    return Array(Kokkos::view_alloc(instance, space, "array", Kokkos::WithoutInitializing), length);
}

// A space of no instance: the program fences nothing.
int count_wrong_of_plain_views(tarn_pool *pool, const Execution &first, const Execution &second)
{
    Space space{ tarn::pool_ref(pool) };
    int wrong = 0;
    for (int round = 0; round < rounds; round++) {
        write_ones_slowly(second, make_array(space, first));
        wrong += write_twos_and_count_others(first, make_array(space, first));
    }
    return wrong;
}

// A space of the first instance: if the second one used a View last, the program fences it before the View's end.
int count_wrong_of_bound_views(tarn_pool *pool, const Execution &first, const Execution &second,
                               bool forgets_fence)
{
    Space space(pool, first);
    int wrong = 0;
    for (int round = 0; round < rounds; round++) {
        {
            Array array = make_array(space, first);
            write_ones_slowly(second, array);
            if (!forgets_fence) second.fence();
        }
        wrong += write_twos_and_count_others(first, make_array(space, first));
    }
    return wrong;
}

// Unmanaged Views of one instance, then of the other: the pool lets the second instance wait.
int count_wrong_of_handed_memory(tarn_pool *pool, const Execution &first, const Execution &second)
{
    Space firsts(pool, first), seconds(pool, second);
    int wrong = 0;
    for (int round = 0; round < rounds; round++) {
        {
            Work work(seconds, second, "work", length);
            write_ones_slowly(second, work.view());
        }
        Work work(firsts, first, "work", length);
        wrong += write_twos_and_count_others(first, work.view());
    }
    return wrong;
}

// Room for one array alone, so that the second must be the same memory.
tarn_pool *make_small_pool()
{
    static tarn_backend backend;
    tarn::check(tarn_backend_open(TARN_DEVICE_CURRENT,
                                  tarn::kokkos_space<Execution::memory_space>::kind, &backend));
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = options.limit_bytes = length * sizeof(double) + 4096;
    tarn_pool *pool = nullptr;
    tarn::check(tarn_pool_create(&options, &pool));
    return pool;
}

int report(const char *what, int wrong)
{
    std::printf("%s: %s\n", what, wrong ? "wrong values" : "right values");
    return wrong;
}

} // namespace

int main(int argc, char **argv)
{
    Kokkos::ScopeGuard kokkos(argc, argv);
    bool forgets_fence = argc > 1 && std::strcmp(argv[1], "--forget-fence") == 0;
#if KOKKOS_VERSION >= 30700
    auto instances = Kokkos::Experimental::partition_space(Execution(), 1, 1);
#else
    const Execution instances[2]; // two names of one
#endif
    tarn_pool *pool = make_small_pool();
    int wrong = report("plain Views", count_wrong_of_plain_views(pool, instances[0], instances[1]));
    wrong += report("Views of an instance",
                    count_wrong_of_bound_views(pool, instances[0], instances[1], forgets_fence));
    wrong +=
        report("unmanaged Views", count_wrong_of_handed_memory(pool, instances[0], instances[1]));
    for (const Execution &instance : instances)
        tarn::retire(instance);
    tarn::check(tarn_pool_destroy(pool));
    return wrong > 0;
}
