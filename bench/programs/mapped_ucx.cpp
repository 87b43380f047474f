// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mapped_ucx: two processes, one on each device, send device memory by UCX, as MPI libraries do. It compares plain memory
// with memory that is mapped into reserved addresses (see mapped_memory.cu): are all words right, and how fast is it?
//
//     mapped_ucx [told]        a table: kinds of memory by size of the message
//
// UCX finds out by itself that a message is device memory; `told`: the calls say so. With one device both processes use that
// one. Each cell of the table has two processes of its own, so that a failure ends no other.
// Built by, with the headers and libraries of UCX with CUDA (1.22: PyPI's libucx-cu13 has them):
//
//     g++ -std=c++17 -O2 -I UCX/include mapped_ucx.cpp -o mapped_ucx -L UCX/lib -lucp -lucs -lcuda
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>
#include <ucp/api/ucp.h>

namespace
{

constexpr size_t mib = size_t(1) << 20;
constexpr int repetitions = 21;

[[noreturn]] void fail(const char *what, const char *why)
{
    std::fprintf(stderr, "%s: %s\n", what, why);
    std::_Exit(2);
}

void check(CUresult error, const char *what)
{
    const char *name = "?";
    if (error == CUDA_SUCCESS) return;
    cuGetErrorName(error, &name);
    fail(what, name);
}

void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) fail(what, ucs_status_string(status));
}

#define CHECK(call) check((call), #call)

// --- memory ---------------------------------------------------------------------------------------

struct kind {
    const char *name;
    bool is_mapped;
    bool is_shareable; // the handles can be exported as file descriptors
    bool is_rdma;
    bool is_split; // the message begins in one handle and ends in the next
};

const kind kinds[] = {
    { "plain", false, false, false, false },
    { "mapped, one handle", true, false, false, false },
    { "mapped, descriptors, one handle", true, true, false, false },
    { "mapped, descriptors, RDMA, one handle", true, true, true, false },
    { "mapped, two handles", true, false, false, true },
    { "mapped, descriptors, two handles", true, true, false, true },
};

// A block of size_bytes, in the middle of more memory, since messages lie inside of a pool's pieces.
CUdeviceptr take(const kind &kind, size_t size_bytes, int device)
{
    size_t part = (size_bytes + 4 * mib - 1) / (2 * mib) * (2 * mib);
    CUdeviceptr memory;
    if (!kind.is_mapped) {
        CHECK(cuMemAlloc(&memory, part));
        return memory + mib;
    }
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = { CU_MEM_LOCATION_TYPE_DEVICE, device };
    if (kind.is_shareable)
        properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.allocFlags.gpuDirectRDMACapable = kind.is_rdma;
    CUmemAccessDesc access = {};
    access.location = { CU_MEM_LOCATION_TYPE_DEVICE, device };
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK(cuMemAddressReserve(&memory, 2 * part, 0, 0, 0));
    for (int i = 0; i < 2; i++) {
        CUmemGenericAllocationHandle handle;
        CHECK(cuMemCreate(&handle, part, &properties, 0));
        CHECK(cuMemMap(memory + i * part, part, 0, handle, 0));
    }
    CHECK(cuMemSetAccess(memory, 2 * part, &access, 1));
    return kind.is_split ? memory + part - size_bytes / 2 : memory + mib;
}

uint32_t word_of(size_t i, uint32_t seed)
{
    return uint32_t(i * 2654435761u) ^ seed;
}

// --- UCX ------------------------------------------------------------------------------------------

bool is_told;

struct peer {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h endpoint;
    int socket; // to the other process
};

void write_all(int socket, const void *data, size_t size)
{
    if (write(socket, data, size) != ssize_t(size)) fail("write", "the other process has ended");
}

void read_all(int socket, void *data, size_t size)
{
    for (char *at = static_cast<char *>(data); size > 0;) {
        ssize_t count = read(socket, at, size);
        if (count <= 0) fail("read", "the other process has ended");
        at += count;
        size -= size_t(count);
    }
}

peer connect_by(int socket)
{
    peer peer = {};
    peer.socket = socket;
    ucp_config_t *config;
    CHECK(ucp_config_read(nullptr, nullptr, &config));
    ucp_params_t params = {};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG;
    CHECK(ucp_init(&params, config, &peer.context));
    ucp_config_release(config);
    ucp_worker_params_t worker_params = {};
    CHECK(ucp_worker_create(peer.context, &worker_params, &peer.worker));
    ucp_address_t *address;
    size_t length, other_length;
    CHECK(ucp_worker_get_address(peer.worker, &address, &length));
    write_all(socket, &length, sizeof length);
    write_all(socket, address, length);
    read_all(socket, &other_length, sizeof other_length);
    std::vector<char> other(other_length);
    read_all(socket, other.data(), other_length);
    ucp_ep_params_t endpoint_params = {};
    endpoint_params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    endpoint_params.address = reinterpret_cast<ucp_address_t *>(other.data());
    CHECK(ucp_ep_create(peer.worker, &endpoint_params, &peer.endpoint));
    ucp_worker_release_address(peer.worker, address);
    return peer;
}

void finish(const peer &peer, void *request)
{
    if (!request) return;
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "a message");
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
        ucp_worker_progress(peer.worker);
    ucs_status_t status = ucp_request_check_status(request);
    ucp_request_free(request);
    check(status, "a message");
}

ucp_request_param_t device_memory()
{
    ucp_request_param_t param = {};
    if (is_told) param.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = UCS_MEMORY_TYPE_CUDA;
    return param;
}

void send(const peer &peer, const void *data, size_t size)
{
    ucp_request_param_t param = device_memory();
    finish(peer, ucp_tag_send_nbx(peer.endpoint, data, size, 1, &param));
}

void receive(const peer &peer, void *data, size_t size)
{
    ucp_request_param_t param = device_memory();
    finish(peer, ucp_tag_recv_nbx(peer.worker, data, size, 1, ~ucp_tag_t(0), &param));
}

// --- the two processes ----------------------------------------------------------------------------

double now_us()
{
    using namespace std::chrono;
    return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

void open_device(int rank)
{
    int count;
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    CHECK(cuDevicePrimaryCtxRetain(&context, rank % count));
    CHECK(cuCtxSetCurrent(context));
}

int device_of(int rank)
{
    int count;
    CHECK(cuDeviceGetCount(&count));
    return rank % count;
}

// Sends new words in each repetition, and waits for the answer that they have come.
void run_sender(int socket, const kind &kind, size_t size)
{
    open_device(0);
    peer peer = connect_by(socket);
    CUdeviceptr block = take(kind, size, device_of(0));
    std::vector<uint32_t> words(size / 4);
    for (int i = 0; i < repetitions; i++) {
        for (size_t k = 0; k < words.size(); k++)
            words[k] = word_of(k, uint32_t(i));
        CHECK(cuMemcpyHtoD(block, words.data(), size));
        CHECK(cuCtxSynchronize());
        char go;
        read_all(socket, &go, 1);
        send(peer, reinterpret_cast<void *>(block), size);
    }
    char end;
    read_all(socket, &end, 1);
}

void run_receiver(int socket, const kind &kind, size_t size)
{
    open_device(1);
    peer peer = connect_by(socket);
    CUdeviceptr block = take(kind, size, device_of(1));
    std::vector<uint32_t> words(size / 4);
    std::vector<double> times;
    size_t wrong = 0;
    for (int i = 0; i < repetitions; i++) {
        CHECK(cuMemsetD8(block, 0xee, size));
        CHECK(cuCtxSynchronize());
        write_all(socket, "g", 1);
        double begin = now_us();
        receive(peer, reinterpret_cast<void *>(block), size);
        times.push_back(now_us() - begin);
        CHECK(cuMemcpyDtoH(words.data(), block, size));
        for (size_t k = 0; k < words.size(); k++)
            wrong += words[k] != word_of(k, uint32_t(i));
    }
    std::sort(times.begin(), times.end());
    double median = times[times.size() / 2];
    if (wrong > 0)
        std::printf("  %zu words WRONG", wrong);
    else
        std::printf("  %8.1f us %6.1f GB/s", median, double(size) / median / 1e3);
    write_all(socket, "e", 1);
}

template <class F> pid_t start(F run)
{
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); // for pidfd_getfd
        alarm(8);
        run();
        std::_Exit(0);
    }
    return child;
}

// False: it failed.
bool run_cell(const kind &kind, size_t size)
{
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) fail("socketpair", "no socket");
    pid_t children[2] = {
        start([&] {
            close(sockets[1]);
            run_sender(sockets[0], kind, size);
        }),
        start([&] {
            close(sockets[0]);
            run_receiver(sockets[1], kind, size);
        }),
    };
    close(sockets[0]);
    close(sockets[1]);
    bool is_right = true;
    for (int rank = 0; rank < 2; rank++) {
        int status;
        waitpid(children[rank], &status, 0);
        if (WIFSIGNALED(status))
            std::printf("  rank %d: signal %d", rank, WTERMSIG(status));
        else if (WEXITSTATUS(status) != 0)
            std::printf("  rank %d: failed", rank);
        is_right = is_right && status == 0;
    }
    return is_right;
}

} // namespace

int main(int argc, char **argv)
{
    std::setvbuf(stdout, nullptr, _IONBF, 0); // UCX prints its errors there
    is_told = argc > 1 && std::strcmp(argv[1], "told") == 0;
    const size_t sizes[] = { 64 << 10, mib, 16 * mib, 128 * mib };
    for (const kind &kind : kinds) {
        std::printf("%-38s", kind.name);
        for (size_t size : sizes) {
            std::printf(" | %4zu KiB", size >> 10);
            if (!run_cell(kind, size)) break;
        }
        std::puts("");
    }
    return 0;
}
