/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_cuda: the functions that HIP does not have, or has in another form. */
#include <stdlib.h>
#include <string.h>

#include "../preload/fake_vendor.h"

#define DEVICES_MAX 8

EXPORT int cuCtxCreate_v2(void **context, unsigned flags, int device);
EXPORT int cuCtxSetCurrent(void *context);
EXPORT int cuStreamQuery(void *stream);

/* --- contexts ----------------------------------------------------------------------------------------- */

static struct fake_context primaries[DEVICES_MAX], others[64];
static bool is_initialised;
static _Thread_local struct fake_context *stack[16];
static _Thread_local int stack_top; /* of the current context, which is NULL at the bottom */

struct fake_context *fake_current(void)
{
    return stack[stack_top];
}

sim_status fake_need_context(sim_status status)
{
    return status == SIM_STATUS_OK && (!fake_current() || fake_current()->use_count == 0)
               ? SIM_STATUS_OF_VENDOR(201) /* CUDA_ERROR_INVALID_CONTEXT */
               : status;
}

int fake_settle(int error)
{
    return error;
}

int fake_init(unsigned flags)
{
    is_initialised = flags == 0;
    return fake_answer(sim_enter("cuInit"));
}

int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    sim_status status = sim_enter("cuCtxCreate_v2");
    if (status != SIM_STATUS_OK) return fake_answer(status);
    if (!is_initialised || flags != 0) return TN_ERROR_NOT_INITIALIZED;
    struct fake_context *made = others;
    while (made->use_count > 0)
        made++;
    *made = (struct fake_context){ device, 1 };
    stack[++stack_top] = made;
    *context = made;
    return 0;
}

static int destroy_context(const char *name, struct fake_context *context)
{
    sim_status status = sim_enter(name);
    if (status != SIM_STATUS_OK) return fake_answer(status);
    if (!context || context->use_count == 0) return 201;
    if (stack_top > 0 && fake_current() == context) stack_top--;
    fake_end_context(context);
    return 0;
}

int fake_destroy_context_2(void *context)
{
    return destroy_context("destroy_context_2", context);
}

int fake_destroy_context(void *context)
{
    return destroy_context("destroy_context", context);
}

int cuCtxSetCurrent(void *context)
{
    if (stack_top == 0) stack_top = 1;
    stack[stack_top] = context;
    return fake_answer(sim_enter("cuCtxSetCurrent"));
}

int fake_get_context(void **context)
{
    sim_status status = sim_enter("get_context");
    if (status == SIM_STATUS_OK) *context = fake_current();
    return fake_answer(status);
}

int fake_get_device(int *device)
{
    sim_status status = fake_need_context(sim_enter("get_device"));
    if (status == SIM_STATUS_OK) *device = fake_current()->device;
    return fake_answer(status);
}

int fake_push_context(void *context)
{
    sim_status status = sim_enter("push_context");
    if (status == SIM_STATUS_OK) stack[++stack_top] = context;
    return fake_answer(status);
}

int fake_pop_context(void **context)
{
    sim_note("pop_context"); /* cannot fail after a push */
    *context = fake_current();
    stack_top--;
    return 0;
}

int fake_record_context(void *context, void *event)
{
    sim_status status = fake_enter("record_context", SIM_CAPTURE_RULE_CONFLICTS);
    (void)context;
    return fake_answer(status == SIM_STATUS_OK ? sim_event_record_device(event) : status);
}

int fake_from_green(void **context, void *green_context)
{
    *context = green_context; /* any context can be one here */
    return fake_answer(sim_enter("from_green"));
}

int fake_enable_peer(void *other, unsigned flags)
{
    (void)other, (void)flags;
    return fake_answer(fake_need_context(sim_enter("enable_peer")));
}

int fake_retain_primary(void **context, int device)
{
    sim_status status = sim_enter("retain_primary");
    if (status != SIM_STATUS_OK) return fake_answer(status);
    primaries[device].device = device;
    primaries[device].use_count++;
    *context = &primaries[device];
    return 0;
}

static int release_primary(const char *name, int device)
{
    sim_status status = sim_enter(name);
    if (status != SIM_STATUS_OK) return fake_answer(status);
    if (primaries[device].use_count == 0) return 201;
    if (--primaries[device].use_count == 0) fake_end_context(&primaries[device]);
    return 0;
}

int fake_release_primary_7(int device)
{
    return release_primary("release_primary_7", device);
}

int fake_release_primary(int device)
{
    return release_primary("release_primary", device);
}

/* The context begins anew for those that retain it. */
static int reset_primary(const char *name, int device)
{
    sim_status status = sim_enter(name);
    if (status != SIM_STATUS_OK) return fake_answer(status);
    int use_count = primaries[device].use_count;
    fake_end_context(&primaries[device]);
    primaries[device].use_count = use_count;
    return 0;
}

int fake_reset_primary_7(int device)
{
    return reset_primary("reset_primary_7", device);
}

int fake_reset_primary(int device)
{
    return reset_primary("reset_primary", device);
}

int fake_get_primary_state(int device, unsigned *flags, int *is_active)
{
    sim_status status = sim_enter("get_primary_state");
    if (status == SIM_STATUS_OK) {
        *flags = 0;
        *is_active = primaries[device].use_count > 0;
    }
    return fake_answer(status);
}

int fake_find_error_name(int error, const char **name)
{
    sim_note("find_error_name");
    *name = error == TN_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_UNKNOWN";
    return 0;
}

int fake_find_error_text(int error, const char **text)
{
    return fake_find_error_name(error, text);
}

/* --- memory, streams, captures ------------------------------------------------------------------------ */

/* Addresses have no room in 32 bits. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the vendor's type */
int fake_alloc_32(unsigned *address, unsigned size_bytes)
{
    (void)address, (void)size_bytes;
    sim_note("alloc_32");
    return TN_ERROR_OUT_OF_MEMORY;
}

int fake_alloc_async_of_thread(tn_vendor_address *address, size_t size_bytes, void *stream)
{
    (void)stream;
    return fake_answer(fake_allocate(sim_enter("alloc_async_of_thread"), SIM_MEMORY_KIND_DEVICE,
                                     size_bytes, address));
}

int fake_free_async_of_thread(tn_vendor_address address, void *stream)
{
    sim_status status = sim_enter("free_async_of_thread");
    if (!stream) stream = TN_STREAM_PER_THREAD;
    if (status == SIM_STATUS_OK) status = sim_stream_synchronize(fake_stream_of(stream));
    return fake_answer(fake_give_back(status, address));
}

int fake_alloc_from_pool_of_thread(tn_vendor_address *address, size_t size_bytes, void *pool,
                                   void *stream)
{
    (void)pool, (void)stream;
    return fake_answer(fake_allocate(sim_enter("alloc_from_pool_of_thread"), SIM_MEMORY_KIND_DEVICE,
                                     size_bytes, address));
}

int fake_set_pool_of_location(void *location, int type, void *pool)
{
    (void)location, (void)type, (void)pool;
    return fake_answer(sim_enter("set_pool_of_location"));
}

int fake_destroy_stream_2(void *stream)
{
    return fake_end_stream("destroy_stream_2", stream);
}

int fake_begin_capture_10(void *stream)
{
    (void)stream;
    return fake_start_capture("begin_capture_10", 0);
}

int fake_begin_capture_10_of_thread(void *stream)
{
    (void)stream;
    return fake_start_capture("begin_capture_10_of_thread", 0);
}

int fake_begin_capture_to_graph_of_thread(void *stream, void *graph, const void *nodes,
                                          const void *edges, size_t count, int mode)
{
    (void)stream, (void)graph, (void)nodes, (void)edges, (void)count;
    return fake_start_capture("begin_capture_to_graph_of_thread", mode);
}

int fake_copy(tn_vendor_address destination, tn_vendor_address source, size_t size_bytes,
              void *stream)
{
    sim_status status = sim_enter("copy");
    if (status == SIM_STATUS_OK)
        status =
            sim_copy(fake_stream_of(stream), (void *)destination, (const void *)source, size_bytes);
    return fake_answer(status);
}

int cuStreamQuery(void *stream)
{
    sim_status status = sim_enter("cuStreamQuery");
    return fake_answer(status == SIM_STATUS_OK ? sim_stream_query(fake_stream_of(stream)) : status);
}

/* --- by name ------------------------------------------------------------------------------------------ */

static const struct {
    const char *symbol, *name;
    int since;
    enum tn_default_stream streams;
    tn_any_function function;
} functions[] = {
#define ENTRY(function, symbol, name, since, streams, parameters, arguments) \
    { #symbol, #name, since, TN_STREAMS_##streams, (tn_any_function)fake_##function },
    TN_INTERCEPTED(ENTRY)
#undef ENTRY
#define ENTRY(result, field, symbol, is_required, parameters) \
    { symbol, NULL, 2000, TN_STREAMS_ALL, (tn_any_function)fake_##field },
#define ENTRY_OF_BOTH(result, field, cuda, hip, is_required, parameters) \
    ENTRY(result, field, cuda, is_required, parameters)
        TN_GPU_FUNCTIONS(ENTRY_OF_BOTH) TN_CUDA_FUNCTIONS(ENTRY)
#undef ENTRY_OF_BOTH
#undef ENTRY
            { "cuCtxCreate_v2", NULL, 3020, TN_STREAMS_ALL, (tn_any_function)cuCtxCreate_v2 },
    { "cuCtxSetCurrent", NULL, 4000, TN_STREAMS_ALL, (tn_any_function)cuCtxSetCurrent },
    { "cuStreamQuery", NULL, 2000, TN_STREAMS_ALL, (tn_any_function)cuStreamQuery },
};

static bool has_name(size_t i, const char *name)
{
    size_t length = strlen(functions[i].symbol), name_length = strlen(name);
    if (functions[i].name) return strcmp(functions[i].name, name) == 0;
    bool has_suffix = length > 3 && strcmp(functions[i].symbol + length - 3, "_v2") == 0;
    if (has_suffix) length -= 3;
    return length == name_length && strncmp(functions[i].symbol, name, length) == 0;
}

/* A driver may hand out other addresses than those of its symbols. With TARN_FAKE_DRIVER=thunks this one does. */
static int thunk_of_mem_alloc(tn_vendor_address *address, size_t size_bytes)
{
    return fake_alloc(address, size_bytes);
}

static tn_any_function find_function(const char *name, int version, bool is_of_threads)
{
    enum tn_default_stream other = is_of_threads ? TN_STREAMS_LEGACY : TN_STREAMS_OF_THREADS;
    const char *setting = getenv("TARN_FAKE_DRIVER");
    tn_any_function found = NULL;
    int since = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!has_name(i, name) || functions[i].since > version || functions[i].since <= since ||
            functions[i].streams == other)
            continue;
        found = functions[i].function;
        since = functions[i].since;
    }
    if (setting && strcmp(setting, "thunks") == 0 && found == (tn_any_function)fake_alloc)
        found = (tn_any_function)thunk_of_mem_alloc;
    return found;
}

static int get_address(const char *name, void **function, int version, uint64_t flags, int *found)
{
    sim_status status = sim_enter("get_address");
    if (status != SIM_STATUS_OK) return fake_answer(status);
    tn_any_function pointer = find_function(name, version, (flags & 2) != 0);
    memcpy(function, &pointer, sizeof pointer);
    if (found) *found = pointer ? 0 : 1;
    return pointer ? 0 : 500; /* CUDA_ERROR_NOT_FOUND */
}

int fake_get_address(const char *name, void **function, int version, uint64_t flags, int *found)
{
    return get_address(name, function, version, flags, found);
}

int fake_get_address_11(const char *name, void **function, int version, uint64_t flags)
{
    return get_address(name, function, version, flags, NULL);
}
