/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocate: each of many threads allocates one object, all of one size (one-size) or of mixed sizes (mixed),
 * in a fresh heap and in a used one. Then each frees one, in the same order and in another.
 */
#include "stage.cuh"
#include "tests.h"

namespace
{

struct workload {
    std::string name;
    double x;
    sizes of;
};

template <class Heap> class bench
{
  public:
    bench(const char *test, const options &options, report &report)
        : test_(test), options_(options), report_(report), patience_(options, report),
          heap_(options.heap_bytes), objects_(options.threads)
    {
    }

    void run(const workload &workload)
    {
        subject subject{ test_, workload.name, workload.x, Heap::name };
        if (!patience_.lasts_for(subject)) return;
        workload_ = &workload;
        if (Heap::can_renew) measure_fresh(subject);
        measure_warm(subject);
        if (Heap::can_free) measure_shuffled(subject);
    }

  private:
    double get()
    {
        typename Heap::device_part device = heap_.device();
        unsigned blocks = blocks_for(objects_.count);
        const sizes of = workload_->of;
        double us = device_us([&] {
            if (of.kind == distribution::one)
                get_alike<<<blocks, block_threads>>>(device, of.max_bytes, objects_.addresses.get(),
                                                     objects_.count);
            else
                get_mixed<<<blocks, block_threads>>>(device, of, objects_.addresses.get(),
                                                     objects_.count);
        });
        patience_.note_us(us);
        return us;
    }

    double put()
    {
        typename Heap::device_part device = heap_.device();
        return device_us([&] {
            put_all<<<blocks_for(objects_.count), block_threads>>>(device, objects_.addresses.get(),
                                                                   objects_.count);
        });
    }

    double put_in_another_order()
    {
        typename Heap::device_part device = heap_.device();
        return device_us([&] {
            put_shuffled<<<blocks_for(objects_.count), block_threads>>>(
                device, objects_.addresses.get(), objects_.count);
        });
    }

    void clear()
    {
        if (Heap::can_free)
            put();
        else
            heap_.renew();
    }

    void measure_fresh(const subject &subject)
    {
        std::vector<double> times, ranges;
        repeat(options_, [&] {
            heap_.renew();
            times.push_back(get());
            survey now = objects_.look_at(workload_->of);
            ranges.push_back((double)(now.highest - now.lowest) / (double)now.bytes);
        });
        objects_.verify(subject, workload_->of, report_);
        report_.add(subject, "allocate, fresh", "us", times);
        report_.add(subject, "range over asked, fresh", "times", ranges);
        clear();
    }

    void measure_warm(const subject &subject)
    {
        std::vector<double> gets, puts;
        double first_us = get();
        clear();
        if (first_us * 1e-6 < options_.patience_s) {
            get();
            clear();
        }
        repeat(options_, [&] {
            gets.push_back(get());
            if (gets.size() == 1) objects_.verify(subject, workload_->of, report_);
            if (Heap::can_free)
                puts.push_back(put());
            else
                heap_.renew();
        });
        report_.add(subject, "allocate, warm", "us", gets);
        report_.add(subject, "free", "us", puts);
    }

    void measure_shuffled(const subject &subject)
    {
        std::vector<double> puts;
        repeat(options_, [&] {
            get();
            puts.push_back(put_in_another_order());
        });
        report_.add(subject, "free, shuffled", "us", puts);
    }

    const char *test_;
    const options &options_;
    report &report_;
    patience patience_;
    Heap heap_;
    objects objects_;
    const workload *workload_ = nullptr;
};

template <class Heap> void run_one_size(const options &options, report &report)
{
    bench<Heap> bench("one-size", options, report);
    for (uint32_t size_bytes = 16; size_bytes <= 4096; size_bytes *= 2) {
        workload workload{ std::to_string(size_bytes) + " B",
                           (double)size_bytes,
                           { distribution::one, size_bytes, size_bytes } };
        bench.run(workload);
    }
}

template <class Heap> void run_mixed(const options &options, report &report)
{
    bench<Heap> bench("mixed", options, report);
    const workload workloads[] = {
        { "uniform 16 to 128 B", 0, { distribution::uniform, 16, 128 } },
        { "log 16 to 4096 B", 0, { distribution::log, 16, 4096 } },
        { "uniform 16 to 4096 B", 0, { distribution::uniform, 16, 4096 } }
    };
    for (const workload &workload : workloads)
        bench.run(workload);
}

} // namespace

void test_one_size(const options &options, report &report)
{
    FOR_EACH_HEAP(run_one_size, options, report);
}

void test_mixed(const options &options, report &report)
{
    FOR_EACH_HEAP(run_mixed, options, report);
}
