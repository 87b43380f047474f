/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sim_runtime.h"

/* --- what a thread has -------------------------------------------------------------------------- */

static _Thread_local struct {
    unsigned generation; /* of the simulation when the rest was written */
    int device;
    runtime_error last_error;
} of_thread;

static void renew_thread(void)
{
    unsigned generation = sim_generation();
    if (of_thread.generation == generation) return;
    of_thread.generation = generation;
    of_thread.device = 0;
    of_thread.last_error = RUNTIME(Success);
}

int sim_runtime_device(void)
{
    renew_thread();
    return RUNTIME_CURRENT_DEVICE(of_thread.device);
}

void sim_runtime_set_device(int device)
{
    renew_thread();
    of_thread.device = device;
}

/* --- errors ------------------------------------------------------------------------------------- */

runtime_error sim_runtime_answer_error(runtime_error error)
{
    renew_thread();
    if (RUNTIME_ERROR_STAYS(error)) of_thread.last_error = error;
    return error;
}

runtime_error sim_runtime_answer(sim_status status)
{
    return sim_runtime_answer_error(sim_runtime_error_of(status));
}

runtime_error sim_runtime_answer_of_stream(sim_status status)
{
    if (status == SIM_STATUS_INVALID_HANDLE) return sim_runtime_answer_error(RUNTIME_NO_STREAM);
    return sim_runtime_answer(status);
}

runtime_error RUNTIME(GetLastError)(void)
{
    sim_note(CALL(GetLastError));
    if (sim_runtime_missing() != RUNTIME(Success)) return sim_runtime_missing();
    renew_thread();
    runtime_error error = of_thread.last_error;
    of_thread.last_error = RUNTIME(Success);
    return error;
}

runtime_error RUNTIME(PeekAtLastError)(void)
{
    sim_note(CALL(PeekAtLastError));
    if (sim_runtime_missing() != RUNTIME(Success)) return sim_runtime_missing();
    renew_thread();
    return of_thread.last_error;
}

const char *RUNTIME(GetErrorName)(runtime_error error)
{
    sim_note(CALL(GetErrorName));
    switch ((int)error) {
#define CASE(code) \
    case code:     \
        return #code;
        RUNTIME_ERRORS(CASE)
#undef CASE
    default:
        return RUNTIME_UNKNOWN_NAME;
    }
}

const char *RUNTIME(GetErrorString)(runtime_error error)
{
    sim_note(CALL(GetErrorString));
    switch ((int)error) {
#define CASE(code) \
    case code:     \
        return "simulated " #code;
        RUNTIME_ERRORS(CASE)
#undef CASE
    default:
        return RUNTIME_UNKNOWN_SENTENCE;
    }
}

/* --- beginning a call --------------------------------------------------------------------------- */

sim_status sim_runtime_begin_without_context(const char *name)
{
    sim_status status = sim_enter(name);
    if (status == SIM_STATUS_OK) RUNTIME_INITIALIZE();
    return status == SIM_STATUS_OK && sim_device_count() == 0 ? SIM_STATUS_NO_DEVICE : status;
}

sim_status sim_runtime_begin(const char *name)
{
    sim_status status = sim_runtime_begin_without_context(name);
    return status == SIM_STATUS_OK ? RUNTIME_ACTIVATE(sim_runtime_device()) : status;
}

sim_status sim_runtime_begin_unsafe(const char *name)
{
    sim_status status = sim_runtime_begin(name);
    return status == SIM_STATUS_OK ? sim_capture_check(SIM_CAPTURE_RULE_UNSAFE) : status;
}

/* --- devices ------------------------------------------------------------------------------------ */

runtime_error RUNTIME(GetDevice)(int *device)
{
    sim_status status = sim_runtime_begin_without_context(CALL(GetDevice));
    if (status == SIM_STATUS_OK) *device = sim_runtime_device();
    return sim_runtime_answer(status);
}

runtime_error RUNTIME(MemGetInfo)(size_t *free_bytes, size_t *total_bytes)
{
    sim_status status = sim_runtime_begin(CALL(MemGetInfo));
    if (status == SIM_STATUS_OK)
        status = sim_memory_info(sim_runtime_device(), total_bytes, free_bytes);
    return sim_runtime_answer(status);
}

runtime_error RUNTIME(DeviceSynchronize)(void)
{
    sim_status status = sim_runtime_begin(CALL(DeviceSynchronize));
    if (status == SIM_STATUS_OK) status = sim_capture_check(SIM_CAPTURE_RULE_CONFLICTS);
    if (status == SIM_STATUS_OK) status = sim_device_synchronize(sim_runtime_device());
    return sim_runtime_answer(status);
}

/* --- memory ------------------------------------------------------------------------------------- */

sim_status sim_runtime_alloc(sim_memory_kind kind, size_t size_bytes, unsigned flags,
                             void **address)
{
    if (size_bytes == 0) {
        *address = NULL;
        return SIM_STATUS_OK;
    }
    sim_status status = sim_alloc(sim_runtime_device(), kind, size_bytes, 0, address);
    /* Too large is no reason of its own here. */
    if (status == SIM_STATUS_INVALID_SIZE) status = SIM_STATUS_OUT_OF_MEMORY;
    if (status == SIM_STATUS_OK)
        status = sim_memory_set_owner(*address, (const void *)(uintptr_t)flags);
    return status;
}

unsigned sim_runtime_flags(const sim_memory *memory)
{
    return (unsigned)(uintptr_t)memory->owner;
}

sim_status sim_runtime_find_kind(const void *address, bool pinned, sim_memory *memory_out)
{
    if (!sim_memory_find(address, memory_out)) return SIM_STATUS_INVALID_ADDRESS;
    bool is_pinned = memory_out->kind == SIM_MEMORY_KIND_PINNED;
    return is_pinned == pinned ? SIM_STATUS_OK : SIM_STATUS_INVALID_ADDRESS;
}

runtime_error RUNTIME(Malloc)(void **address, size_t size_bytes)
{
    sim_status status = sim_runtime_begin_unsafe(CALL(Malloc));
    if (status == SIM_STATUS_OK)
        status = sim_runtime_alloc(SIM_MEMORY_KIND_DEVICE, size_bytes, 0, address);
    return sim_runtime_answer(status);
}

runtime_error RUNTIME(HostGetFlags)(unsigned *flags, void *address)
{
    sim_memory memory;
    sim_status status = sim_runtime_begin(CALL(HostGetFlags));
    if (status == SIM_STATUS_OK) status = sim_runtime_find_kind(address, true, &memory);
    if (status == SIM_STATUS_OK) *flags = sim_runtime_flags(&memory);
    return sim_runtime_answer(status);
}

/* --- streams ------------------------------------------------------------------------------------ */

sim_stream *sim_runtime_stream(runtime_stream stream)
{
    if (stream == NULL) return sim_stream_default(sim_runtime_device());
    if (stream == RUNTIME(StreamPerThread)) return sim_stream_of_thread(sim_runtime_device());
#ifdef RUNTIME_STREAM_LEGACY
    if (stream == RUNTIME_STREAM_LEGACY) return sim_stream_default(sim_runtime_device());
#endif
    return (sim_stream *)(void *)stream;
}

runtime_error RUNTIME(StreamCreateWithFlags)(runtime_stream *stream, unsigned flags)
{
    sim_stream *created;
    sim_status status = sim_runtime_begin(CALL(StreamCreateWithFlags));
    if (status == SIM_STATUS_OK && flags != RUNTIME(StreamDefault) &&
        flags != RUNTIME(StreamNonBlocking))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_stream_create(sim_runtime_device(), &created);
    if (status == SIM_STATUS_OK) status = sim_stream_set_flags(created, flags);
    if (status == SIM_STATUS_OK) *stream = (runtime_stream)(void *)created;
    return sim_runtime_answer(status);
}

runtime_error RUNTIME(StreamGetFlags)(runtime_stream stream, unsigned *flags)
{
    sim_status status = sim_runtime_begin(CALL(StreamGetFlags));
    if (status == SIM_STATUS_OK) status = sim_stream_get_flags(sim_runtime_stream(stream), flags);
    return sim_runtime_answer_of_stream(status);
}

#if RUNTIME_HAS_STREAM_ID
runtime_error RUNTIME(StreamGetId)(runtime_stream stream, unsigned long long *id)
{
    sim_status status = sim_runtime_begin(CALL(StreamGetId));
    if (status == SIM_STATUS_OK) status = sim_stream_get_id(sim_runtime_stream(stream), id);
    return sim_runtime_answer_of_stream(status);
}
#endif

runtime_error RUNTIME(StreamSynchronize)(runtime_stream stream)
{
    sim_status status = sim_runtime_begin_unsafe(CALL(StreamSynchronize));
    if (status == SIM_STATUS_OK) status = sim_stream_synchronize(sim_runtime_stream(stream));
    return sim_runtime_answer_of_stream(status);
}

sim_event *sim_runtime_event(runtime_event event)
{
    return (sim_event *)(void *)event;
}

runtime_error RUNTIME(StreamWaitEvent)(runtime_stream stream, runtime_event event, unsigned flags)
{
    sim_status status = sim_runtime_begin(CALL(StreamWaitEvent));
    if (status == SIM_STATUS_OK && flags != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_stream_wait_event(sim_runtime_stream(stream), sim_runtime_event(event));
    return sim_runtime_answer(status);
}

_Static_assert((int)SIM_CAPTURE_MODE_GLOBAL == (int)RUNTIME(StreamCaptureModeGlobal), "one number");
_Static_assert((int)SIM_CAPTURE_MODE_THREAD_LOCAL == (int)RUNTIME(StreamCaptureModeThreadLocal),
               "one number");
_Static_assert((int)SIM_CAPTURE_MODE_RELAXED == (int)RUNTIME(StreamCaptureModeRelaxed),
               "one number");

runtime_error RUNTIME(ThreadExchangeStreamCaptureMode)(runtime_capture_mode *mode)
{
    sim_status status = sim_runtime_begin(CALL(ThreadExchangeStreamCaptureMode));
    if (status == SIM_STATUS_OK && (unsigned)*mode > RUNTIME(StreamCaptureModeRelaxed))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        *mode = (runtime_capture_mode)sim_capture_exchange_mode((sim_capture_mode)*mode);
    return sim_runtime_answer(status);
}

/* --- events ------------------------------------------------------------------------------------- */

runtime_error RUNTIME(EventCreateWithFlags)(runtime_event *event, unsigned flags)
{
    const unsigned known = RUNTIME(EventBlockingSync) | RUNTIME(EventDisableTiming);
    sim_event *created;
    sim_status status = sim_runtime_begin(CALL(EventCreateWithFlags));
    if (status == SIM_STATUS_OK && (flags & ~known) != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_event_create(sim_runtime_device(), SIM_EVENT_FORM_RECORDS, &created);
    if (status == SIM_STATUS_OK) status = sim_event_set_flags(created, flags);
    if (status == SIM_STATUS_OK) *event = (runtime_event)(void *)created;
    return sim_runtime_answer(status);
}

runtime_error RUNTIME(EventQuery)(runtime_event event)
{
    sim_status status = sim_runtime_begin_unsafe(CALL(EventQuery));
    if (status == SIM_STATUS_OK) status = sim_event_query(sim_runtime_event(event));
    return sim_runtime_answer(status);
}

runtime_error RUNTIME(EventSynchronize)(runtime_event event)
{
    sim_status status = sim_runtime_begin_unsafe(CALL(EventSynchronize));
    if (status == SIM_STATUS_OK) status = sim_event_synchronize(sim_runtime_event(event));
    return sim_runtime_answer(status);
}

/* Time does not pass here. Events that keep none are refused. */
runtime_error RUNTIME(EventElapsedTime)(float *milliseconds, runtime_event start, runtime_event end)
{
    unsigned start_flags = 0, end_flags = 0;
    sim_status status = sim_runtime_begin(CALL(EventElapsedTime));
    if (status == SIM_STATUS_OK)
        status = sim_event_get_flags(sim_runtime_event(start), &start_flags);
    if (status == SIM_STATUS_OK) status = sim_event_get_flags(sim_runtime_event(end), &end_flags);
    if (status == SIM_STATUS_OK && ((start_flags | end_flags) & RUNTIME(EventDisableTiming)) != 0)
        status = SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK) *milliseconds = 0;
    return sim_runtime_answer(status);
}
