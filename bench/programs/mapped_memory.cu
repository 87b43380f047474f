// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mapped_memory: asks a CUDA driver about plain memory (cuMemAlloc), and about memory that is mapped into reserved
// addresses (cuMemCreate, cuMemMap). A contiguous pool is made of the second. The program knows nothing of tarn.
//
//     costs      microseconds to take and to give back a block, by size
//     waits      microseconds of each call while a kernel of 50 ms runs on other memory: does the call wait for it?
//     captures   is a capture still valid after the call? By its mode, the kind of its stream, and the calling thread
//     kinds      what the driver tells of a pointer: what MPI, UCX and IPC ask
//     peers      a kernel of device 1 reads memory of device 0; cost of access for a second device. Needs two devices
//
//     mapped_memory [PART]...      all parts by default
//
// Built with the preset `cuda`, or by `nvcc -O2 -o mapped_memory mapped_memory.cu -lcuda`.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>

namespace
{

constexpr size_t mib = size_t(1) << 20;
constexpr size_t unit = 2 * mib; // the granularity of mapped memory

const char *name_of(CUresult error)
{
    const char *name = "?";
    cuGetErrorName(error, &name);
    return name;
}

#define CHECK(call)                                                   \
    do {                                                              \
        CUresult error_ = (call);                                     \
        if (error_ != CUDA_SUCCESS) {                                 \
            std::fprintf(stderr, "%s: %s\n", #call, name_of(error_)); \
            std::exit(1);                                             \
        }                                                             \
    } while (0)

__global__ void spin(uint64_t ns)
{
    uint64_t begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - begin < ns);
}

__global__ void sum_words(const uint32_t *words, size_t count, unsigned long long *sum)
{
    unsigned long long mine = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x)
        mine += words[i];
    atomicAdd(sum, mine);
}

CUcontext contexts[2];
int device_count;

// --- memory ---------------------------------------------------------------------------------------

// Mapped memory in a row of reserved addresses: one handle for each part.
struct mapping {
    CUdeviceptr address = 0;
    size_t part_bytes = 0;
    std::vector<CUmemGenericAllocationHandle> handles;
};

CUmemAllocationProp properties_of(int device, bool is_shareable, bool is_rdma = false)
{
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = { CU_MEM_LOCATION_TYPE_DEVICE, device };
    if (is_shareable) properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.allocFlags.gpuDirectRDMACapable = is_rdma;
    return properties;
}

CUmemAccessDesc access_of(int device)
{
    CUmemAccessDesc access = {};
    access.location = { CU_MEM_LOCATION_TYPE_DEVICE, device };
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return access;
}

mapping map(size_t part_bytes, size_t part_count, bool is_shareable = false,
            int accessing_count = 1)
{
    mapping mapped;
    mapped.part_bytes = part_bytes;
    CUmemAllocationProp properties = properties_of(0, is_shareable);
    CHECK(cuMemAddressReserve(&mapped.address, part_bytes * part_count, 0, 0, 0));
    for (size_t i = 0; i < part_count; i++) {
        CUmemGenericAllocationHandle handle;
        CHECK(cuMemCreate(&handle, part_bytes, &properties, 0));
        CHECK(cuMemMap(mapped.address + i * part_bytes, part_bytes, 0, handle, 0));
        mapped.handles.push_back(handle);
    }
    CUmemAccessDesc access[2] = { access_of(0), access_of(1) };
    CHECK(cuMemSetAccess(mapped.address, part_bytes * part_count, access, accessing_count));
    return mapped;
}

void unmap(mapping &mapped)
{
    for (size_t i = 0; i < mapped.handles.size(); i++) {
        CHECK(cuMemUnmap(mapped.address + i * mapped.part_bytes, mapped.part_bytes));
        CHECK(cuMemRelease(mapped.handles[i]));
    }
    CHECK(cuMemAddressFree(mapped.address, mapped.part_bytes * mapped.handles.size()));
}

// --- time -----------------------------------------------------------------------------------------

double now_us()
{
    using namespace std::chrono;
    return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

template <class F> double time_us(F call)
{
    double begin = now_us();
    call();
    return now_us() - begin;
}

struct spread {
    double least, median, most;
};

spread spread_of(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return { values.front(), values[values.size() / 2], values.back() };
}

// --- parts ----------------------------------------------------------------------------------------

void measure_costs()
{
    std::puts(
        "costs: us, median and most of 41; the device is idle\n"
        "    MiB   cuMemAlloc        cuMemFree      | create+map+access  of access only  unmap+release");
    for (size_t size : { 2, 8, 32, 128, 512 }) {
        std::vector<double> take, give, map_all, access_only, unmap_all;
        CUmemAllocationProp properties = properties_of(0, false);
        CUmemAccessDesc access = access_of(0);
        for (int i = 0; i < 41; i++) {
            CUdeviceptr plain, reserved;
            take.push_back(time_us([&] { CHECK(cuMemAlloc(&plain, size * mib)); }));
            give.push_back(time_us([&] { CHECK(cuMemFree(plain)); }));
            CHECK(cuMemAddressReserve(&reserved, size * mib, 0, 0, 0));
            CUmemGenericAllocationHandle handle;
            double begin = now_us();
            CHECK(cuMemCreate(&handle, size * mib, &properties, 0));
            CHECK(cuMemMap(reserved, size * mib, 0, handle, 0));
            access_only.push_back(
                time_us([&] { CHECK(cuMemSetAccess(reserved, size * mib, &access, 1)); }));
            map_all.push_back(now_us() - begin);
            unmap_all.push_back(time_us([&] {
                CHECK(cuMemUnmap(reserved, size * mib));
                CHECK(cuMemRelease(handle));
            }));
            CHECK(cuMemAddressFree(reserved, size * mib));
        }
        std::printf("%7zu", size);
        for (const auto &values : { take, give, map_all, access_only, unmap_all }) {
            spread all = spread_of(values);
            std::printf("  %7.1f %8.1f", all.median, all.most);
        }
        std::puts("");
    }
}

// Times one call while a kernel runs on a stream that does not wait for the default stream.
template <class F> void time_beside_kernel(const char *what, F call)
{
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    spin<<<1, 1, 0, stream>>>(50'000'000);
    while (cudaStreamQuery(stream) != cudaErrorNotReady) {
    }
    double took = time_us(call);
    bool still_runs = cudaStreamQuery(stream) == cudaErrorNotReady;
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    std::printf("  %-34s %9.1f us  %s\n", what, took, still_runs ? "does not wait" : "WAITS");
}

void measure_waits()
{
    for (size_t size : { 2 * mib, 64 * mib }) {
        std::printf("waits: blocks of %zu MiB, beside a kernel of 50 ms on other memory\n",
                    size / mib);
        CUdeviceptr plain, second, reserved;
        CHECK(cuMemAlloc(&plain, size));
        mapping mapped = map(size, 1);
        CUmemAllocationProp properties = properties_of(0, false);
        CUmemAccessDesc access = access_of(0);
        CUmemGenericAllocationHandle handle;
        CHECK(cuMemAddressReserve(&reserved, size, 0, 0, 0));
        time_beside_kernel("cuMemAlloc", [&] { CHECK(cuMemAlloc(&second, size)); });
        time_beside_kernel("cuMemCreate",
                           [&] { CHECK(cuMemCreate(&handle, size, &properties, 0)); });
        time_beside_kernel("cuMemMap", [&] { CHECK(cuMemMap(reserved, size, 0, handle, 0)); });
        time_beside_kernel("cuMemSetAccess",
                           [&] { CHECK(cuMemSetAccess(reserved, size, &access, 1)); });
        time_beside_kernel("cuMemUnmap", [&] { CHECK(cuMemUnmap(reserved, size)); });
        time_beside_kernel("cuMemRelease", [&] { CHECK(cuMemRelease(handle)); });
        time_beside_kernel("cuMemUnmap (mapped before)",
                           [&] { CHECK(cuMemUnmap(mapped.address, size)); });
        time_beside_kernel("cuMemRelease (mapped before)",
                           [&] { CHECK(cuMemRelease(mapped.handles[0])); });
        time_beside_kernel("cuMemAddressFree",
                           [&] { CHECK(cuMemAddressFree(mapped.address, size)); });
        time_beside_kernel("cuMemFree", [&] { CHECK(cuMemFree(plain)); });
        CHECK(cuMemFree(second));
        CHECK(cuMemAddressFree(reserved, size));
    }
}

// One call during a capture, by the capturing thread or another one: its answer, and that of the capture's end.
template <class F>
void capture_around(const char *what, CUstreamCaptureMode mode, unsigned flags, bool is_elsewhere,
                    F call)
{
    CUstream stream;
    CUgraph graph = nullptr;
    CUresult answer = CUDA_SUCCESS;
    CHECK(cuStreamCreate(&stream, flags));
    CHECK(cuStreamBeginCapture(stream, mode));
    if (is_elsewhere) {
        std::thread([&] {
            CHECK(cuCtxSetCurrent(contexts[0]));
            answer = call();
        }).join();
    } else {
        answer = call();
    }
    CUresult end = cuStreamEndCapture(stream, &graph);
    if (graph) cuGraphDestroy(graph);
    cuStreamDestroy(stream);
    const char *modes[] = { "global", "thread-local", "relaxed" };
    std::printf("  %-16s %-13s %-13s %-8s %-40s %s\n", what, modes[mode],
                flags == CU_STREAM_NON_BLOCKING ? "non-blocking" : "blocking",
                is_elsewhere ? "another" : "same", name_of(answer), name_of(end));
}

void ask_captures()
{
    std::puts("captures: call, mode, stream, thread, answer, end of the capture");
    CUmemAllocationProp properties = properties_of(0, false);
    CUmemAccessDesc access = access_of(0);
    for (int mode = 0; mode < 3; mode++) {
        for (int kind = 0; kind < 4; kind++) {
            unsigned flags = kind < 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
            bool is_elsewhere = kind % 2 == 1;
            CUdeviceptr plain, reserved, taken;
            CHECK(cuMemAlloc(&plain, unit));
            mapping mapped = map(unit, 1);
            CUmemGenericAllocationHandle ready, created;
            CHECK(cuMemAddressReserve(&reserved, unit, 0, 0, 0));
            CHECK(cuMemCreate(&ready, unit, &properties, 0));
            auto around = [&](const char *what, auto call) {
                capture_around(what, CUstreamCaptureMode(mode), flags, is_elsewhere, call);
            };
            around("cuMemAlloc", [&] { return cuMemAlloc(&taken, unit); });
            around("cuMemFree", [&] { return cuMemFree(plain); });
            around("cuMemCreate", [&] { return cuMemCreate(&created, unit, &properties, 0); });
            around("cuMemMap", [&] { return cuMemMap(reserved, unit, 0, ready, 0); });
            around("cuMemSetAccess",
                   [&] { return cuMemSetAccess(mapped.address, unit, &access, 1); });
            around("cuMemUnmap", [&] { return cuMemUnmap(mapped.address, unit); });
            around("cuMemRelease", [&] { return cuMemRelease(mapped.handles[0]); });
        }
    }
}

void tell_kind(const char *what, CUdeviceptr pointer)
{
    int is_legacy = -1;
    unsigned long long handle_types = 0, buffer_id = 0;
    CUcontext context = nullptr;
    CUdeviceptr start = 0, base = 0;
    size_t range_bytes = 0, bytes = 0;
    CUmemoryPool pool = nullptr;
    unsigned memory_type = 0;
    cuPointerGetAttribute(&is_legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pointer);
    cuPointerGetAttribute(&handle_types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, pointer);
    cuPointerGetAttribute(&buffer_id, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer);
    cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, pointer);
    cuPointerGetAttribute(&range_bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, pointer);
    cuPointerGetAttribute(&memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
    cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pointer);
    CUresult context_answer =
        cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, pointer);
    CUresult range_answer = cuMemGetAddressRange(&base, &bytes, pointer);
    CUipcMemHandle ipc;
    CUresult ipc_answer = cuIpcGetMemHandle(&ipc, pointer);
    int dmabuf = -1;
    CUresult dmabuf_answer = cuMemGetHandleForAddressRange(
        &dmabuf, pointer & ~CUdeviceptr(65535), 2 * unit, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    std::printf(
        "  %-34s type %u, legacy IPC %d, handle types %llu, mempool %s, context %s, buffer id %s\n"
        "      range: start %+lld, %.1f MiB; address range: start %+lld, %.1f MiB (%s)\n"
        "      cuIpcGetMemHandle %s; dma-buf over 4 MiB %s\n",
        what, memory_type, is_legacy, handle_types, pool ? "yes" : "no",
        context_answer != CUDA_SUCCESS ? name_of(context_answer)
        : context                      ? "yes"
                                       : "none",
        buffer_id ? "yes" : "none", (long long)(start - pointer), double(range_bytes) / mib,
        (long long)(base - pointer), double(bytes) / mib, name_of(range_answer),
        name_of(ipc_answer), name_of(dmabuf_answer));
}

void tell_kinds()
{
    int rdma = -1, rdma_mapped = -1, posix = -1, fabric = -1;
    cuDeviceGetAttribute(&rdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 0);
    cuDeviceGetAttribute(&rdma_mapped, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
                         0);
    cuDeviceGetAttribute(&posix, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                         0);
    cuDeviceGetAttribute(&fabric, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0);
    std::printf(
        "kinds: device 0: RDMA %d, RDMA of mapped memory %d, descriptors %d, fabric handles %d\n",
        rdma, rdma_mapped, posix, fabric);
    CUmemAllocationProp properties = properties_of(0, true, true);
    CUmemGenericAllocationHandle handle;
    CUresult answer = cuMemCreate(&handle, unit, &properties, 0);
    std::printf("  cuMemCreate with gpuDirectRDMACapable: %s\n", name_of(answer));
    if (answer == CUDA_SUCCESS) cuMemRelease(handle);
    CUdeviceptr plain;
    CHECK(cuMemAlloc(&plain, 4 * unit));
    mapping mapped = map(2 * unit, 2), shareable = map(2 * unit, 2, true);
    tell_kind("plain, inside", plain + unit);
    tell_kind("mapped, first handle", mapped.address + unit / 2);
    tell_kind("mapped, second handle", mapped.address + 2 * unit + unit / 2);
    tell_kind("mapped, descriptors, first handle", shareable.address + unit / 2);
    CHECK(cuMemFree(plain));
    unmap(mapped);
    unmap(shareable);
}

// A kernel of device 1 sums words of device 0. A failed kernel ends its context, so the failing case comes last.
void read_from_peer(const char *what, CUdeviceptr memory, size_t size_bytes)
{
    CHECK(cuCtxSetCurrent(contexts[0]));
    CHECK(cuMemsetD32(memory, 3, size_bytes / 4));
    CHECK(cuCtxSynchronize());
    CHECK(cuCtxSetCurrent(contexts[1]));
    CUdeviceptr sum;
    CHECK(cuMemAlloc(&sum, 8));
    CHECK(cuMemsetD8(sum, 0, 8));
    sum_words<<<132, 256>>>(reinterpret_cast<uint32_t *>(memory), size_bytes / 4,
                            reinterpret_cast<unsigned long long *>(sum));
    unsigned long long words = 0;
    CUresult answer = cuCtxSynchronize();
    if (answer == CUDA_SUCCESS) CHECK(cuMemcpyDtoH(&words, sum, 8));
    std::printf("  %-44s %s%s\n", what, name_of(answer),
                answer != CUDA_SUCCESS             ? ""
                : words == 3ull * (size_bytes / 4) ? ", right"
                                                   : ", WRONG");
    CHECK(cuCtxSetCurrent(contexts[0]));
}

void ask_peers()
{
    if (device_count < 2) {
        std::puts("peers: one device alone");
        return;
    }
    std::puts("peers: device 1 reads memory of device 0");
    CUdeviceptr before, after;
    CHECK(cuMemAlloc(&before, 4 * unit));
    mapping both = map(2 * unit, 2, false, 2);
    read_from_peer("mapped, access for both, peers not enabled", both.address, 4 * unit);
    mapping early = map(2 * unit, 2);
    CHECK(cuCtxSetCurrent(contexts[1]));
    CUresult enabled = cuCtxEnablePeerAccess(contexts[0], 0);
    CHECK(cuCtxSetCurrent(contexts[0]));
    std::printf("  cuCtxEnablePeerAccess: %s\n", name_of(enabled));
    CHECK(cuMemAlloc(&after, 4 * unit));
    read_from_peer("plain, from before", before, 4 * unit);
    read_from_peer("plain, from after", after, 4 * unit);
    CUmemAccessDesc second = access_of(1);
    double added = time_us([&] { CHECK(cuMemSetAccess(early.address, 4 * unit, &second, 1)); });
    std::printf("  access for device 1 added to 8 MiB: %.1f us\n", added);
    read_from_peer("mapped, access for device 1 added later", early.address, 4 * unit);
    for (int accessing : { 1, 2 }) {
        std::vector<double> took;
        for (int i = 0; i < 41; i++)
            took.push_back(time_us([&] {
                mapping mapped = map(8 * mib, 1, false, accessing);
                unmap(mapped);
            }));
        spread all = spread_of(took);
        std::printf("  map and unmap 8 MiB for %d device%s: median %.1f us, most %.1f\n", accessing,
                    accessing == 1 ? "" : "s", all.median, all.most);
    }
    mapping late = map(2 * unit, 2);
    read_from_peer("mapped, access for its own device alone", late.address, 4 * unit);
}

} // namespace

int main(int argc, char **argv)
{
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&device_count));
    char device_name[256];
    int version;
    CHECK(cuDeviceGetName(device_name, sizeof device_name, 0));
    CHECK(cuDriverGetVersion(&version));
    std::printf("%d x %s, driver's CUDA %d.%d\n", device_count, device_name, version / 1000,
                version % 1000 / 10);
    for (int i = 0; i < std::min(device_count, 2); i++)
        CHECK(cuDevicePrimaryCtxRetain(&contexts[i], i));
    CHECK(cuCtxSetCurrent(contexts[0]));
    const struct {
        const char *name;
        void (*run)();
    } parts[] = { { "costs", measure_costs },
                  { "waits", measure_waits },
                  { "kinds", tell_kinds },
                  { "captures", ask_captures },
                  { "peers", ask_peers } };
    for (const auto &part : parts) {
        bool is_wanted = argc == 1;
        for (int i = 1; i < argc; i++)
            is_wanted = is_wanted || std::strcmp(argv[i], part.name) == 0;
        if (is_wanted) part.run();
    }
    return 0;
}
