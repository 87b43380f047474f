/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scaling: one to many threads allocate an object each, and free it, in a used heap. */
#include "stage.cuh"
#include "tests.h"

namespace
{

template <class Heap>
void run_size(const options &options, report &report, Heap &heap, uint32_t size_bytes)
{
    patience patience(options, report);
    for (uint32_t threads = 1; threads <= options.threads; threads *= 4) {
        std::string name =
            std::to_string(size_bytes) + " B, " + std::to_string(threads) + " threads";
        subject subject{ "scaling", name, (double)threads, Heap::name };
        if (!patience.lasts_for(subject)) continue;
        objects objects(threads);
        typename Heap::device_part device = heap.device();
        std::vector<double> gets, puts;
        auto get = [&] {
            get_alike<<<blocks_for(threads), block_threads>>>(device, size_bytes,
                                                              objects.addresses.get(), threads);
        };
        auto put = [&] {
            put_all<<<blocks_for(threads), block_threads>>>(device, objects.addresses.get(),
                                                            threads);
        };
        heap.renew();
        get();
        put();
        repeat(options, [&] {
            if (!Heap::can_free) heap.renew();
            gets.push_back(device_us(get));
            patience.note_us(gets.back());
            puts.push_back(device_us(put));
        });
        report.add(subject, "allocate", "us", gets);
        if (Heap::can_free) report.add(subject, "free", "us", puts);
    }
}

template <class Heap> void run(const options &options, report &report)
{
    Heap heap(options.heap_bytes);
    run_size(options, report, heap, 64);
    run_size(options, report, heap, 1024);
}

} // namespace

void test_scaling(const options &options, report &report)
{
    FOR_EACH_HEAP(run, options, report);
}
