/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tarn/kokkos.hpp over the host: Views, copies and mirrors; labels; failures; and the order of several instances, by a space
 * whose instances are the host backend's streams, which run their work only when a thread waits. */
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "tarn/host.h"
#include "tarn/kokkos.hpp"

// ---------------------------------------------------------------------- a device of host memory

/* An instance of it: a stream. */
struct queue {
    using execution_space = queue;
    using memory_space = struct queued_space;

    tarn_stream stream = nullptr;
    static inline int live_count = 0; /* of instances that are there */
    static inline tarn_stream of_default = nullptr;

    queue() : stream(of_default)
    {
        live_count++;
    }

    explicit queue(tarn_stream of) : stream(of)
    {
        live_count++;
    }

    queue(const queue &other) : stream(other.stream)
    {
        live_count++;
    }

    queue &operator=(const queue &) = delete;

    ~queue()
    {
        live_count--;
    }
};

struct queued_space {
    using memory_space = queued_space;
    using execution_space = Kokkos::DefaultHostExecutionSpace;
    using device_type = Kokkos::Device<execution_space, memory_space>;
    using size_type = std::size_t;
};

template <> struct tarn::kokkos_space<queued_space> {
    static constexpr tarn_memory_kind kind = TARN_MEMORY_KIND_HOST;
    static constexpr const char *name = "TarnQueued";
    using instance = queue;
};

template <> struct tarn::kokkos_instance<queue> {
    static tarn_stream stream(const queue &instance)
    {
        return instance.stream;
    }

    static int device(const queue &)
    {
        return TARN_DEVICE_CURRENT;
    }
};

/* Heads of allocations are copied to it and from it. */
struct plain_copy {
    plain_copy(void *to, const void *from, std::size_t size_bytes)
    {
        std::memcpy(to, from, size_bytes);
    }

    template <class Instance>
    plain_copy(const Instance &, void *to, const void *from, std::size_t size_bytes)
        : plain_copy(to, from, size_bytes)
    {
    }
};

template <class Instance>
struct Kokkos::Impl::DeepCopy<queued_space, Kokkos::HostSpace, Instance> : plain_copy {
    using plain_copy::plain_copy;
};

template <class Instance>
struct Kokkos::Impl::DeepCopy<Kokkos::HostSpace, queued_space, Instance> : plain_copy {
    using plain_copy::plain_copy;
};

namespace
{

using Host = Kokkos::HostSpace;
using Pool = tarn::PoolSpace<Host>;
using Queued = tarn::PoolSpace<queued_space>;
using Execution = Kokkos::DefaultHostExecutionSpace;
using View = Kokkos::View<double *, Pool>;

std::string own_path;

tarn_pool *pool_of(const void *address)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    return tarn_pool_find(address, &found) == TARN_STATUS_OK ? found.pool : nullptr;
}

tarn_stats stats_of(const tarn::pool &pool)
{
    tarn_stats stats = TARN_STATS_INIT;
    tarn::check(tarn_pool_stats(pool.handle(), &stats));
    return stats;
}

tarn_pool_options limited(std::size_t limit_bytes)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.initial_bytes = options.limit_bytes = limit_bytes;
    return options;
}

template <class Space> Kokkos::View<double *, Space> counted(const Space &space, std::size_t count)
{
    Kokkos::View<double *, Space> view(Kokkos::view_alloc(space, "counted"), count);
    for (std::size_t i = 0; i < count; i++)
        view(i) = double(i);
    return view;
}

template <class Any> bool is_counted(const Any &view)
{
    for (std::size_t i = 0; i < view.extent(0); i++) {
        if (view(i) != double(i)) return false;
    }
    return view.extent(0) > 0;
}

/* The host backend, or one with operations that a test has changed. */
struct host_device {
    tarn_backend_operations operations;
    tarn_backend backend, real;

    host_device()
    {
        tarn::check(tarn_host_backend_open(nullptr, &real));
        operations = *real.operations;
        backend = { &operations, real.state };
    }

    host_device(const host_device &) = delete;
    host_device &operator=(const host_device &) = delete;

    ~host_device()
    {
        tarn_backend_close(&real);
    }

    tarn::pool make_pool(tarn_pool_options options = TARN_POOL_OPTIONS_INIT)
    {
        options.backend = &backend;
        return tarn::pool(options);
    }
};

// ------------------------------------------------------------------------------- Views and copies

TEST_CASE("a View lies in the process-wide pool until its last copy ends")
{
    const void *address;
    {
        View copy;
        {
            View view("field", 1000);
            copy = view;
        }
        address = copy.data();
        CHECK(pool_of(address) != nullptr);
        CHECK(copy(999) == 0);
    }
    CHECK(pool_of(address) == nullptr);
}

TEST_CASE("a View lies in a pool of the program's own, as its copies and parts do")
{
    tarn::pool pool;
    View view(Kokkos::view_alloc(Pool(pool), "field"), 1000);
    CHECK(pool_of(view.data()) == pool.handle());
    auto part = Kokkos::subview(view, std::make_pair(10, 20));
    view = View();
    CHECK(stats_of(pool).live_count == 1);
    part = decltype(part)();
    CHECK(stats_of(pool).live_count == 0);
}

TEST_CASE("an instance may be named at an allocation, and by a space")
{
    tarn::pool pool;
    Execution instance;
#if KOKKOS_VERSION >= 30700
    View named(Kokkos::view_alloc(instance, Pool(pool), "named"), 10);
#else
    View named(Kokkos::view_alloc(Pool(pool), "named"), 10);
#endif
    View bound(Kokkos::view_alloc(Pool(pool, instance), "bound"), 10);
    CHECK(stats_of(pool).live_count == 2);
    CHECK(bound(9) == 0);
    tarn::retire(instance);
}

TEST_CASE("copies between a pool, its base and another pool, with an instance and without")
{
    tarn::pool pool;
    Execution instance;
    auto from_pool = counted(Pool(pool), 100);
    auto from_base = counted(Host(), 100);
    {
        Kokkos::View<double *, Host> to("to", 100);
        Kokkos::deep_copy(to, from_pool);
        CHECK(is_counted(to));
    }
    {
        View to("to", 100);
        Kokkos::deep_copy(to, from_base);
        CHECK(is_counted(to));
    }
    {
        View to("to", 100);
        Kokkos::deep_copy(to, from_pool);
        CHECK(is_counted(to));
    }
    {
        Kokkos::View<double *, Host> to("to", 100);
        Kokkos::deep_copy(instance, to, from_pool);
        instance.fence();
        CHECK(is_counted(to));
    }
    {
        View to("to", 100);
        Kokkos::deep_copy(instance, to, from_base);
        instance.fence();
        CHECK(is_counted(to));
    }
    Kokkos::deep_copy(from_pool, 7.0);
    double last = 0;
    Kokkos::deep_copy(last, Kokkos::subview(from_pool, 99));
    CHECK(last == 7.0);
}

TEST_CASE("Views of other layouts, ranks and traits")
{
    Kokkos::View<double **, Kokkos::LayoutLeft, Pool> left("left", 3, 5);
    Kokkos::View<double **, Kokkos::LayoutRight, Pool> right("right", 3, 5);
    Kokkos::View<double, Pool> scalar("scalar");
    left(2, 4) = 8;
    Kokkos::deep_copy(right, left);
    CHECK(right(2, 4) == 8);
    scalar() = 3;
    Kokkos::View<const double **, Kokkos::LayoutRight, Pool,
                 Kokkos::MemoryTraits<Kokkos::RandomAccess>>
        fetched = right;
    Kokkos::View<double **, Kokkos::LayoutRight, Kokkos::AnonymousSpace> anonymous = right;
    CHECK(fetched(2, 4) + anonymous(2, 4) + scalar() == 19);
}

TEST_CASE("a View of a pool is a View of the base, and owns its memory there")
{
    tarn::pool pool;
    Kokkos::View<double *, Host> base = counted(Pool(pool), 10);
    CHECK(is_counted(base));
    CHECK(base.label() == "counted");
    View back = base;
    base = {};
    CHECK(stats_of(pool).live_count == 1);
    CHECK(is_counted(back));
}

TEST_CASE("mirrors are those of the base")
{
    View view("field", 10);
    auto mirror_view = Kokkos::create_mirror_view(view);
    CHECK(mirror_view.data() == view.data());
    auto mirror = Kokkos::create_mirror(view);
    CHECK(mirror.data() != view.data());
    auto in_base = Kokkos::create_mirror_view_and_copy(Host(), counted(Pool(), 10));
    CHECK(is_counted(in_base));
    auto in_pool = Kokkos::create_mirror_view_and_copy(Pool(), counted(Host(), 10));
    CHECK(is_counted(in_pool));
    static_assert(std::is_same<decltype(mirror)::memory_space, Pool>::value, "");
}

TEST_CASE("a pool has the access traits of its base")
{
    static_assert(Kokkos::is_memory_space<Pool>::value, "");
    static_assert(Kokkos::SpaceAccessibility<Execution, Pool>::accessible, "");
    static_assert(Kokkos::SpaceAccessibility<Host, Pool>::assignable, "");
    static_assert(Kokkos::SpaceAccessibility<Pool, Host>::assignable, "");
    static_assert(Kokkos::SpaceAccessibility<Pool, Pool>::deepcopy, "");
    static_assert(Kokkos::SpaceAccessibility<Kokkos::AnonymousSpace, Pool>::assignable, "");
    static_assert(!Kokkos::SpaceAccessibility<Host, Queued>::accessible, "");
    static_assert(Kokkos::Impl::MemorySpaceAccess<Queued, queued_space>::assignable, "");
}

TEST_CASE("elements with constructors and destructors")
{
    using Strings = Kokkos::View<std::string *, Pool>;
    tarn::pool pool;
    {
        Strings strings(Kokkos::view_alloc(Pool(pool), "strings"), 10);
        strings(3) = "a text that is too long for the string itself";
    }
    CHECK(stats_of(pool).live_count == 0);
}

TEST_CASE("memory in the style of C")
{
    auto *values = static_cast<int *>(Kokkos::kokkos_malloc<Pool>("values", 10 * sizeof(int)));
    values[9] = 5;
    values = static_cast<int *>(Kokkos::kokkos_realloc<Pool>(values, 1000 * sizeof(int)));
    CHECK(values[9] == 5);
    Kokkos::kokkos_free<Pool>(values);
}

TEST_CASE("a View without elements, and an allocation of zero bytes, have an address of their own")
{
    tarn::pool pool;
    Pool space(pool);
    View first(Kokkos::view_alloc(space, "first"), 0),
        second(Kokkos::view_alloc(space, "second"), 0);
    CHECK(first.data() != nullptr);
    CHECK(first.data() != second.data());
    void *nothing = space.allocate(0), *more = space.allocate(Execution(), "more", 0);
    CHECK(nothing != nullptr);
    CHECK(nothing != more);
    space.deallocate(nothing, 0);
    space.deallocate("more", more, 0);
    space.deallocate(nullptr, 0);
}

TEST_CASE("Kokkos's alignment holds in a pool with a smaller one")
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.alignment_bytes = 16;
    tarn::pool pool(options);
    Pool space(pool);
    std::vector<void *> addresses;
    for (std::size_t size_bytes = 1; size_bytes < 100; size_bytes += 3) {
        addresses.push_back(space.allocate(size_bytes));
        CHECK(reinterpret_cast<std::uintptr_t>(addresses.back()) %
                  std::size_t(Kokkos::Impl::MEMORY_ALIGNMENT) ==
              0);
    }
    for (void *address : addresses)
        space.deallocate(address, 1);
}

TEST_CASE("the default space serves codes that name a type alone, and resize")
{
    {
        tarn::pool pool;
        Pool before;
        Pool::set_default(Pool(pool));
        View view("field", 10);
        Kokkos::resize(view, 20);
        CHECK(pool_of(view.data()) == pool.handle());
        Pool::set_default(before);
    }
    View view("field", 10);
    CHECK(view(9) == 0);
}

// ------------------------------------------------------------------------------ unmanaged Views

TEST_CASE("an unmanaged View ends with its owner")
{
    tarn::pool pool;
    {
        tarn::pool_view<Kokkos::View<int **, Host>> work(Pool(pool), "work", 3, 4);
        work.view()(2, 3) = 5;
        CHECK(work.view().use_count() == 0);
        CHECK(pool_of(work.view().data()) == pool.handle());
        tarn::pool_view<Kokkos::View<int *, Pool>> more(Pool(pool), Execution(), "more", 4);
        CHECK(more.view().extent(0) == 4);
        CHECK(stats_of(pool).live_count == 2);
    }
    CHECK(stats_of(pool).live_count == 0);
}

// --------------------------------------------------------------------------------------- labels

struct told {
    std::string space, label;
    const void *address;
    std::uint64_t size_bytes;
};

std::vector<told> allocations, ends;

void note_allocation(Kokkos_Profiling_SpaceHandle space, const char *label, const void *address,
                     std::uint64_t size_bytes)
{
    allocations.push_back({ space.name, label, address, size_bytes });
}

void note_end(Kokkos_Profiling_SpaceHandle space, const char *label, const void *address,
              std::uint64_t size_bytes)
{
    ends.push_back({ space.name, label, address, size_bytes });
}

TEST_CASE("Kokkos Tools are told of each allocation and its end")
{
    allocations.clear();
    ends.clear();
    Kokkos::Tools::Experimental::set_allocate_data_callback(note_allocation);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(note_end);
    {
        View view("temperature", 10);
    }
    {
        tarn::pool_view<Kokkos::View<int *, Host>> work(Pool(), "work", 4);
    }
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
    REQUIRE(allocations.size() == 2);
    REQUIRE(ends.size() == 2);
    for (std::size_t i = 0; i < 2; i++) {
        CHECK(allocations[i].space == "TarnHost");
        CHECK(allocations[i].label == (i == 0 ? "temperature" : "work"));
        CHECK(allocations[i].size_bytes == (i == 0 ? 10 * sizeof(double) : 4 * sizeof(int)));
        CHECK(ends[i].label == allocations[i].label);
        CHECK(ends[i].address == allocations[i].address);
        CHECK(ends[i].size_bytes == allocations[i].size_bytes);
    }
}

std::size_t live_under(const tarn::pool &pool, const char *label)
{
    tarn_label_stats stats = TARN_LABEL_STATS_INIT;
    for (std::size_t i = 0; tarn_pool_label_stats(pool.handle(), i, &stats) == TARN_STATUS_OK;
         i++) {
        if (std::strcmp(stats.label, label) == 0) return stats.live_count;
    }
    return 0;
}

TEST_CASE("a View's label is tarn's, and a View without one keeps the program's")
{
    tarn::pool pool;
    tarn_label_push("outer");
    View named(Kokkos::view_alloc(Pool(pool), "pressure"), 10);
    View unnamed(Kokkos::view_alloc(Pool(pool), ""), 10);
    void *raw = Pool(pool).allocate(100);
    tarn_label_pop();
    CHECK(live_under(pool, "pressure") == 1);
    CHECK(live_under(pool, "outer") == 2);
    Pool(pool).deallocate(raw, 100);
}

// ------------------------------------------------------------------------------------- failures

TEST_CASE("a View that does not fit throws what Kokkos throws, with the pool's sentence")
{
    tarn::pool pool(limited(1 << 20));
    CHECK_THROWS_WITH_AS(View(Kokkos::view_alloc(Pool(pool), "big"), 1 << 20),
                         doctest::Contains("limit"), std::runtime_error);
    CHECK_THROWS_WITH_AS(View(Kokkos::view_alloc(Pool(pool), "big"), 1 << 20),
                         doctest::Contains("\"big\""), std::runtime_error);
#if KOKKOS_VERSION < 40400
    using Failure = Kokkos::Experimental::RawMemoryAllocationFailure;
#else
    using Failure = std::runtime_error;
#endif
    CHECK_THROWS_WITH_AS((void)Pool(pool).allocate("big", 8 << 20), doctest::Contains("limit"),
                         Failure);
    CHECK(stats_of(pool).live_count == 0);
    tarn_label_push("mine");
    View view(Kokkos::view_alloc(Pool(pool), ""), 10);
    tarn_label_pop();
    CHECK(live_under(pool, "mine") == 1); // the failures have left no label behind
}

TEST_CASE("a pool of memory that the host cannot use is refused")
{
    host_device device;
    device.operations.get_properties = [](void *, tarn_device_properties *properties) {
        *properties = {};
        properties->device_name = "a device";
        properties->kind = TARN_MEMORY_KIND_DEVICE;
        properties->alignment_bytes = properties->granularity_bytes = 4096;
        properties->allocation_bytes_max = std::size_t(1) << 40;
        return TARN_BACKEND_RESULT_OK;
    };
    tarn::pool pool = device.make_pool();
    CHECK_THROWS_WITH_AS(
        Pool{ pool }, doctest::Contains("TarnHost was given a pool of device memory, not of host"),
        tarn::error);
    CHECK_THROWS_AS(Queued{ pool }, tarn::error);
}

TEST_CASE("a pool and an instance of different devices are refused")
{
    host_device device;
    device.operations.stream_check = [](void *, tarn_stream stream) {
        tarn_backend_result result = TARN_BACKEND_RESULT_OK;
        if (stream) result.status = TARN_STATUS_INVALID_ARGUMENT;
        return result;
    };
    tarn_stream stream;
    tarn::check(tarn_host_stream_create(&stream));
    {
        tarn::pool pool = device.make_pool();
        CHECK_THROWS_WITH_AS(Queued(pool, queue(stream)), doctest::Contains("different devices"),
                             tarn::error);
        Queued space{ pool };
        CHECK_THROWS_AS((void)space.allocate(queue(stream), 100), tarn::error);
    }
    tarn::check(tarn_host_stream_destroy(stream));
}

/* Runs this program in a mode of main's, and returns what it printed. */
std::string output_of(const char *mode)
{
    std::string output;
    FILE *pipe = popen((own_path + " " + mode + " 2>&1").c_str(), "r");
    REQUIRE(pipe != nullptr);
    char part[256];
    while (std::fgets(part, sizeof part, pipe))
        output += part;
    CHECK(pclose(pipe) != 0);
    return output;
}

TEST_CASE("a View that ends after Kokkos, or after its pool, ends the program with a message")
{
    std::string late = output_of("--end-after-kokkos");
    CHECK_MESSAGE(late.find("llocation \"late\"") != std::string::npos, late);
    CHECK_MESSAGE(late.find("after Kokkos::finalize") != std::string::npos, late);
    late = output_of("--end-raw-after-kokkos");
    CHECK_MESSAGE(late.find("\"late\" ends after Kokkos::finalize") != std::string::npos, late);
#if TARN_CHECK_FREES
    late = output_of("--end-pool-first");
    CHECK_MESSAGE(late.find("tarn: the end of a pool was refused") != std::string::npos, late);
    CHECK_MESSAGE(late.find("live") != std::string::npos, late);
    late = output_of("--end-after-pool");
    CHECK_MESSAGE(late.find("tarn: a free was refused") != std::string::npos, late);
#endif
}

/* Memory that was freed on the default instance's stream, after that stream has ended with Kokkos. */
int end_default_instance(int argc, char **argv)
{
    static tarn_stream ended;
    static tarn_backend_operations plain, watched;
    tarn_backend host;
    tarn_stream other;
    tarn::check(tarn_host_backend_open(nullptr, &host));
    plain = watched = *host.operations;
    watched.event_record = [](void *state, tarn_event event, tarn_stream stream) {
        if (stream == ended) std::puts("a record on a stream that has ended");
        return plain.event_record(state, event, stream);
    };
    host.operations = &watched;
    tarn_pool_options options = limited(1 << 20);
    options.backend = &host;
    tarn::pool pool(options);
    tarn::check(tarn_host_stream_create(&queue::of_default));
    tarn::check(tarn_host_stream_create(&other));
    Kokkos::initialize(argc, argv);
    {
        Queued space(pool, queue());
        space.deallocate(space.allocate(900000), 900000);
    }
    Kokkos::finalize();
    tarn::check(tarn_host_stream_destroy(queue::of_default));
    ended = queue::of_default;
    void *address =
        tarn::pool_ref(pool).allocate(900000, other); /* the limit leaves no other memory */
    std::puts("served");
    tarn::pool_ref(pool).deallocate(address, other);
    return 1; /* as the other endings */
}

TEST_CASE("the default instance is retired before Kokkos ends its stream")
{
    std::string words = output_of("--end-default");
    CHECK_MESSAGE(words.find("served") != std::string::npos, words);
    CHECK_MESSAGE(words.find("has ended") == std::string::npos, words);
}

int end_late(const std::string &mode, int argc, char **argv)
{
    if (mode == "--end-default") return end_default_instance(argc, argv);
    Kokkos::initialize(argc, argv);
    if (mode == "--end-after-kokkos") {
        View late("late", 10);
        Kokkos::finalize();
    } else if (mode == "--end-raw-after-kokkos") {
        void *late = Pool().allocate("late", 100);
        Kokkos::finalize();
        Pool().deallocate("late", late, 100);
    } else if (mode == "--end-pool-first") {
        View late;
        tarn::pool pool;
        late = View(Kokkos::view_alloc(Pool(pool), "late"), 10);
    } else if (mode == "--end-after-pool") {
        tarn_pool *pool = nullptr;
        tarn::check(tarn_pool_create(nullptr, &pool));
        View late(Kokkos::view_alloc(Pool(pool), "late"), 10);
        tarn::check(tarn_pool_destroy_forced(pool, nullptr));
    }
    return 0;
}

// ------------------------------------------------------------------- the order of several instances

constexpr std::size_t size_bytes = 1000;

/* Two instances, and a pool with room for one allocation of that size. */
struct two_instances {
    tarn_stream streams[2];
    host_device device;
    tarn::pool pool = device.make_pool(one_chunk());

    two_instances()
    {
        for (tarn_stream &stream : streams)
            tarn::check(tarn_host_stream_create(&stream));
    }

    ~two_instances()
    {
        for (tarn_stream stream : streams) {
            CHECK(tarn_stream_retire(stream) == TARN_STATUS_OK);
            CHECK(tarn_host_stream_destroy(stream) == TARN_STATUS_OK);
        }
    }

    static tarn_pool_options one_chunk()
    {
        tarn_pool_options options = limited(4096);
        options.chunk_bytes = 4096;
        options.slices = false;
        return options;
    }

    queue operator[](int i) const
    {
        return queue(streams[i]);
    }
};

/* Writes on a stream, like a kernel. */
void write(void *address, unsigned char value, const queue &instance)
{
    tarn::check(tarn_host_fill(address, value, size_bytes, instance.stream));
}

void fence(const queue &instance)
{
    tarn::check(tarn_host_stream_synchronize(instance.stream));
}

/* Writes 2 on the instance, waits for that, then for all, and counts the bytes that are something else. */
std::size_t count_others(void *address, const queue &instance)
{
    write(address, 2, instance);
    fence(instance);
    tarn::check(tarn_host_synchronize());
    std::size_t count = 0;
    for (std::size_t i = 0; i < size_bytes; i++)
        count += static_cast<unsigned char *>(address)[i] != 2;
    return count;
}

/* Of a pool that others use on a stream, too: the host writes at once. */
TEST_CASE("a View of the host does not get memory that a stream still uses")
{
    tarn::pool pool(two_instances::one_chunk()); /* of kind DEVICE, which the host can read here */
    tarn::pool_ref ref = pool;
    void *used = ref.allocate(size_bytes, nullptr);
    write(used, 1, queue());
    ref.deallocate(used, nullptr);
    Pool space(pool);
    void *next = space.allocate(size_bytes);
    std::memset(next, 2, size_bytes);
    tarn::check(tarn_host_synchronize());
    CHECK(static_cast<unsigned char *>(next)[0] == 2);
    space.deallocate(next, size_bytes);
}

TEST_CASE("more elements than addresses are refused by a pool_view")
{
    using Work = tarn::pool_view<Kokkos::View<double **, Host>>;
    CHECK_THROWS_AS(Work(Pool(), "work", std::size_t{ 1 } << 61, 1), std::bad_array_new_length);
    CHECK_THROWS_AS(Work(Pool(), "work", std::size_t{ 1 } << 31, std::size_t{ 1 } << 31),
                    std::bad_array_new_length);
}

TEST_CASE("an allocation of no instance waits, at its end, for all of them")
{
    two_instances instances;
    Queued space{ instances.pool };
    void *used = space.allocate(instances[0], "x", size_bytes);
    write(used, 1, instances[1]);
    space.deallocate("x", used, size_bytes);
    void *next = space.allocate(instances[0], "y", size_bytes);
    CHECK(next == used);
    CHECK(count_others(next, instances[0]) == 0);
    space.deallocate("y", next, size_bytes);
}

TEST_CASE("an allocation that names no instance may be used at once on any")
{
    two_instances instances;
    Queued bound(instances.pool, instances[0]);
    void *used = bound.allocate(instances[0], "x", size_bytes);
    write(used, 1, instances[0]);
    bound.deallocate("x", used, size_bytes);
    void *next = bound.allocate("y", size_bytes);
    CHECK(next == used);
    CHECK(count_others(next, instances[1]) == 0);
    bound.deallocate("y", next, size_bytes);
}

/* Uses an allocation of the first instance on the second one. */
std::size_t count_wrong(bool forgets_fence)
{
    two_instances instances;
    Queued space(instances.pool, instances[0]);
    void *used = space.allocate(instances[0], "x", size_bytes);
    write(used, 1, instances[1]);
    if (!forgets_fence) fence(instances[1]);
    space.deallocate("x", used, size_bytes);
    void *next = space.allocate(instances[0], "y", size_bytes);
    CHECK(next == used);
    std::size_t wrong = count_others(next, instances[0]);
    space.deallocate("y", next, size_bytes);
    return wrong;
}

TEST_CASE("a forgotten fence shows as wrong values, and the fence sets it right")
{
    CHECK(count_wrong(true) == size_bytes);
    CHECK(count_wrong(false) == 0);
}

TEST_CASE("another instance waits for the one in whose order memory ended")
{
    two_instances instances;
    Queued first(instances.pool, instances[0]), second(instances.pool, instances[1]);
    void *used = first.allocate(instances[0], "x", size_bytes);
    write(used, 1, instances[0]);
    first.deallocate("x", used, size_bytes);
    void *next = second.allocate(instances[1], "y", size_bytes);
    CHECK(next == used);
    CHECK(count_others(next, instances[1]) == 0);
    second.deallocate("y", next, size_bytes);
}

TEST_CASE("in the order of the default instance an allocation without a name waits for nothing")
{
    two_instances instances;
    Queued space(instances.pool, queue());
    void *used = space.allocate("x", size_bytes);
    write(used, 1, queue());
    space.deallocate("x", used, size_bytes);
    void *next = space.allocate("y", size_bytes);
    CHECK(next == used);
    CHECK(static_cast<unsigned char *>(next)[0] !=
          1); // the work has not run: nothing has waited for it
    CHECK(count_others(next, queue()) == 0);
    space.deallocate("y", next, size_bytes);
}

TEST_CASE("an instance stays while a space, or memory of Kokkos, is in its order")
{
    using Record = Kokkos::Impl::SharedAllocationRecord<Queued, void>;
    host_device device;
    tarn::pool pool = device.make_pool();
    int before = queue::live_count;
    void *values = Record::allocate_tracked(Queued(pool, queue()), "values", 100);
    CHECK(queue::live_count == before + 1);
    CHECK(stats_of(pool).live_count == 1);
    CHECK(Record::get_record(values)->get_label() == "values");
    Record::deallocate_tracked(values);
    CHECK(queue::live_count == before);
    CHECK(stats_of(pool).live_count == 0);
}

} // namespace

int main(int argc, char **argv)
{
    own_path = argv[0];
    if (argc == 2 && std::strncmp(argv[1], "--end-", 6) == 0) return end_late(argv[1], argc, argv);
    Kokkos::ScopeGuard kokkos(argc, argv);
    return doctest::Context(argc, argv).run();
}
