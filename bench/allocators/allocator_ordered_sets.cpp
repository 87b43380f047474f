/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocator_ordered_sets: the baseline, the pool that mesh codes use today, on the containers of
 * the C++ library.
 *
 * A list of static pools cut into chunks of 1024 bytes. Each keeps its free runs twice, in a
 * multiset by size for best fit and in a set by index for coalescing, and its live runs in a map by
 * address; the list has one more map from address to static pool. A request goes to the first
 * static pool, in order of creation, that has a run for it; when none has, a new one is taken,
 * twice as large as the largest. Zero bytes take a chunk. Nothing is ever given back.
 *
 * It was written for the benchmark after that algorithm, with the same look-ups and set operations: a
 * freed run is put into both sets first, and every join takes two runs out of them and puts
 * one in. Two things differ: chunks have 1024 bytes and not 1000, so that addresses are
 * aligned; and the first static pool is as large as tarn's.
 *
 * It is sequential: no lock. Several threads take turns under one that is added here.
 * Cost: O(log n) in free runs and in live ones.
 */
#include "allocator.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "backing.h"

namespace
{

constexpr std::size_t chunk_bytes = 1024;
constexpr std::size_t growth_factor = 2;

/* Counts the bytes of the containers' nodes, without what malloc adds to each. */
struct metadata_counter {
    std::size_t bytes = 0;
    std::size_t bytes_max = 0;
};

template <typename T> struct counting_allocator {
    using value_type = T;

    metadata_counter *counter;

    explicit counting_allocator(metadata_counter *counter_) : counter(counter_)
    {
    }
    template <typename U>
    counting_allocator(const counting_allocator<U> &other) : counter(other.counter)
    {
    }

    T *allocate(std::size_t count)
    {
        T *items = static_cast<T *>(::operator new(count * sizeof(T)));
        counter->bytes += count * sizeof(T);
        counter->bytes_max = std::max(counter->bytes_max, counter->bytes);
        return items;
    }
    void deallocate(T *items, std::size_t count)
    {
        counter->bytes -= count * sizeof(T);
        ::operator delete(items);
    }
    template <typename U> bool operator==(const counting_allocator<U> &other) const
    {
        return counter == other.counter;
    }
    template <typename U> bool operator!=(const counting_allocator<U> &other) const
    {
        return counter != other.counter;
    }
};

struct run {
    std::size_t first_chunk;
    std::size_t chunk_count;
};

struct by_size {
    bool operator()(const run &left, const run &right) const
    {
        if (left.chunk_count != right.chunk_count) return left.chunk_count < right.chunk_count;
        return left.first_chunk < right.first_chunk;
    }
};

struct by_index {
    bool operator()(const run &left, const run &right) const
    {
        return left.first_chunk < right.first_chunk;
    }
};

class static_pool
{
  public:
    static_pool(void *base, std::size_t chunk_count, metadata_counter *counter)
        : base_(static_cast<char *>(base)), chunk_count_(chunk_count),
          free_by_size_(by_size(), counting_allocator<run>(counter)),
          free_by_index_(by_index(), counting_allocator<run>(counter)),
          live_(std::less<void *>(), counting_allocator<live_entry>(counter))
    {
        insert({ 0, chunk_count });
    }

    void *base() const
    {
        return base_;
    }
    std::size_t chunk_count() const
    {
        return chunk_count_;
    }

    /* NULL when no free run is large enough. */
    void *allocate(std::size_t chunk_count)
    {
        auto best = free_by_size_.lower_bound({ 0, chunk_count });
        if (best == free_by_size_.end()) return nullptr;

        run taken = *best;
        remove(taken);
        if (taken.chunk_count > chunk_count)
            insert({ taken.first_chunk + chunk_count, taken.chunk_count - chunk_count });
        void *address = base_ + taken.first_chunk * chunk_bytes;
        live_.insert_or_assign(address, run{ taken.first_chunk, chunk_count });
        return address;
    }

    void deallocate(void *address)
    {
        auto found = live_.find(address);
        run freed = found->second;
        auto place = insert(freed);
        live_.erase(found);

        if (place != free_by_index_.begin()) {
            run before = *std::prev(place);
            if (before.first_chunk + before.chunk_count == freed.first_chunk)
                place = join(before, *place);
        }
        if (std::next(place) != free_by_index_.end()) {
            run after = *std::next(place);
            if (place->first_chunk + place->chunk_count == after.first_chunk) join(*place, after);
        }
    }

  private:
    using live_entry = std::pair<void *const, run>;

    using index_set = std::set<run, by_index, counting_allocator<run>>;

    index_set::iterator insert(run free_run)
    {
        free_by_size_.insert(free_run);
        return free_by_index_.insert(free_run).first;
    }
    void remove(run free_run)
    {
        free_by_size_.erase(free_run);
        free_by_index_.erase(free_run);
    }
    /* By value, since the runs may lie in the sets that they are taken out of. */
    index_set::iterator join(run left, run right)
    {
        remove(left);
        remove(right);
        return insert({ left.first_chunk, left.chunk_count + right.chunk_count });
    }

    char *base_;
    std::size_t chunk_count_;
    std::multiset<run, by_size, counting_allocator<run>> free_by_size_;
    index_set free_by_index_;
    std::map<void *, run, std::less<void *>, counting_allocator<live_entry>> live_;
};

class ordered_sets
{
  public:
    ordered_sets(const tn_backing &backing, std::size_t initial_bytes)
        : backing_(backing), initial_chunk_count_(count_chunks(initial_bytes)),
          owner_(std::less<void *>(), counting_allocator<owner_entry>(&counter_))
    {
    }
    ~ordered_sets()
    {
        for (const static_pool &pool : pools_)
            tn_backing_release(&backing_, pool.base(), pool.chunk_count() * chunk_bytes);
        tn_backing_fini(&backing_);
    }
    ordered_sets(const ordered_sets &) = delete;
    ordered_sets &operator=(const ordered_sets &) = delete;

    tarn_status allocate(std::size_t size_bytes, void **address_out)
    {
        std::size_t chunk_count = std::max(count_chunks(size_bytes), std::size_t(1));
        for (static_pool &pool : pools_)
            if (take_from(pool, chunk_count, address_out)) return TARN_STATUS_OK;

        tarn_status status = grow(chunk_count);
        if (status == TARN_STATUS_OK) take_from(pools_.back(), chunk_count, address_out);
        return status;
    }

    /* False: no allocation has this address. */
    bool deallocate(void *address)
    {
        if (!address) return true;
        auto found = owner_.find(address);
        if (found == owner_.end()) return false;
        found->second->deallocate(address);
        owner_.erase(address);
        return true;
    }

    std::mutex &lock_of_threads()
    {
        return lock_of_threads_;
    }
    const tn_backing &backing() const
    {
        return backing_;
    }
    std::size_t metadata_bytes_max() const
    {
        return counter_.bytes_max;
    }

  private:
    using owner_entry = std::pair<void *const, static_pool *>;

    static std::size_t count_chunks(std::size_t size_bytes)
    {
        return size_bytes / chunk_bytes + (size_bytes % chunk_bytes != 0);
    }

    bool take_from(static_pool &pool, std::size_t chunk_count, void **address_out)
    {
        void *address = pool.allocate(chunk_count);
        if (!address) return false;
        owner_.insert_or_assign(address, &pool);
        *address_out = address;
        return true;
    }

    tarn_status grow(std::size_t chunk_count_min)
    {
        std::size_t chunk_count = initial_chunk_count_;
        for (const static_pool &pool : pools_)
            chunk_count = std::max(chunk_count, growth_factor * pool.chunk_count());
        tarn_status status = grow_by(std::max(chunk_count, chunk_count_min));
        if (status == TARN_STATUS_OUT_OF_MEMORY && chunk_count > chunk_count_min)
            status = grow_by(chunk_count_min);
        return status;
    }

    tarn_status grow_by(std::size_t chunk_count)
    {
        if (chunk_count > SIZE_MAX / chunk_bytes) return TARN_STATUS_OUT_OF_MEMORY;
        void *base;
        tarn_status status = tn_backing_acquire(&backing_, chunk_count * chunk_bytes, &base);
        if (status != TARN_STATUS_OK) return status;
        try {
            pools_.emplace_back(base, chunk_count, &counter_);
        } catch (...) {
            tn_backing_release(&backing_, base, chunk_count * chunk_bytes);
            throw;
        }
        return TARN_STATUS_OK;
    }

    std::mutex lock_of_threads_;
    tn_backing backing_;
    std::size_t initial_chunk_count_;
    metadata_counter counter_;
    std::list<static_pool> pools_;
    std::map<void *, static_pool *, std::less<void *>, counting_allocator<owner_entry>> owner_;
};

/* The adapter. No exception leaves it, since its caller is C. */

tarn_status open_ordered_sets(const tn_allocator_settings *settings, void **state_out,
                              tn_reason *reason_out)
{
    tn_backing backing;
    tarn_status status = tn_backing_init(&backing, settings, reason_out);
    if (status != TARN_STATUS_OK) return status;
    auto *self = new (std::nothrow) ordered_sets(backing, settings->initial_bytes);
    if (!self) {
        tn_backing_fini(&backing);
        tn_reason_set(reason_out, "no host memory for the adapter");
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
    *state_out = self;
    return TARN_STATUS_OK;
}

tarn_status alloc_ordered_sets(void *state, std::size_t size_bytes, void **address_out)
{
    try {
        return static_cast<ordered_sets *>(state)->allocate(size_bytes, address_out);
    } catch (const std::bad_alloc &) {
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
}

tarn_status free_ordered_sets(void *state, void *address, std::size_t)
{
    try {
        bool is_live = static_cast<ordered_sets *>(state)->deallocate(address);
        return is_live ? TARN_STATUS_OK : TARN_STATUS_FOREIGN_ADDRESS;
    } catch (const std::bad_alloc &) {
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    }
}

void explain_ordered_sets(void *state, tarn_status status, tn_reason *reason_out)
{
    const tn_backing &backing = static_cast<ordered_sets *>(state)->backing();
    if (backing.last_failure.status == status)
        tn_backing_explain(&backing, reason_out);
    else
        tn_reason_set(reason_out, "%s", tarn_status_sentence(status));
}

void get_usage_ordered_sets(void *state, tn_allocator_usage *usage_out)
{
    const auto *self = static_cast<const ordered_sets *>(state);
    usage_out->footprint_bytes = self->backing().footprint_bytes;
    usage_out->footprint_bytes_max = self->backing().footprint_bytes_max;
    usage_out->vendor_calls = self->backing().vendor_calls;
    usage_out->metadata_bytes = self->metadata_bytes_max();
}

void close_ordered_sets(void *state)
{
    delete static_cast<ordered_sets *>(state);
}

/* Several threads have the same state. */

tarn_status open_ordered_sets_thread(void *state, tn_allocator_thread *thread_inout, tn_reason *)
{
    thread_inout->state = state;
    thread_inout->has_stream = false;
    return TARN_STATUS_OK;
}

tarn_status alloc_in_ordered_sets_thread(void *state, std::size_t size_bytes, void **address_out)
{
    std::lock_guard<std::mutex> guard(static_cast<ordered_sets *>(state)->lock_of_threads());
    return alloc_ordered_sets(state, size_bytes, address_out);
}

tarn_status free_in_ordered_sets_thread(void *state, void *address, std::size_t size_bytes)
{
    std::lock_guard<std::mutex> guard(static_cast<ordered_sets *>(state)->lock_of_threads());
    return free_ordered_sets(state, address, size_bytes);
}

void explain_in_ordered_sets_thread(void *state, tarn_status status, tn_reason *reason_out)
{
    std::lock_guard<std::mutex> guard(static_cast<ordered_sets *>(state)->lock_of_threads());
    explain_ordered_sets(state, status, reason_out);
}

void close_ordered_sets_thread(void *)
{
}

} /* namespace */

extern const struct tn_allocator tn_allocator_ordered_sets = {
    "ordered-sets",
    nullptr,
    open_ordered_sets,
    alloc_ordered_sets,
    free_ordered_sets,
    explain_ordered_sets,
    get_usage_ordered_sets,
    close_ordered_sets,
    open_ordered_sets_thread,
    alloc_in_ordered_sets_thread,
    free_in_ordered_sets_thread,
    explain_in_ordered_sets_thread,
    close_ordered_sets_thread,
    0,
    TN_FREE_NEEDS_WAIT,
    nullptr, /* nothing is ever given back */
};
