/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "vendor_runtime.h"

/* --- targets ----------------------------------------------------------------------------------- */

static tarn_status open_device(tarn_backend *backend_out)
{
    return tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, backend_out);
}

static tarn_status open_pinned(tarn_backend *backend_out)
{
    return open_backend_of(0, TARN_MEMORY_KIND_PINNED, backend_out);
}

static tarn_status open_shared(tarn_backend *backend_out)
{
    return open_backend_of(0, TARN_MEMORY_KIND_SHARED, backend_out);
}

const struct target runtime_targets[] = {
    { .name = RUNTIME_NAME ", device memory",
      .kind = TARN_MEMORY_KIND_DEVICE,
      .open = open_device },
    { .name = RUNTIME_NAME ", pinned memory",
      .kind = TARN_MEMORY_KIND_PINNED,
      .open = open_pinned },
    { .name = RUNTIME_NAME ", shared memory",
      .kind = TARN_MEMORY_KIND_SHARED,
      .open = open_shared },
};

/* --- what the runtime tells -------------------------------------------------------------------- */

int current_device(void)
{
    int device;
    if (RUNTIME(GetDevice)(&device) == RUNTIME(Success)) return device;
    (void)RUNTIME(GetLastError)();
    return -1;
}

int device_count(void)
{
    int count = 0;
    if (RUNTIME(GetDeviceCount)(&count) == RUNTIME(Success)) return count;
    (void)RUNTIME(GetLastError)();
    return 0;
}

/* --- devices other than the current one -------------------------------------------------------- */

void require_two_devices(void)
{
    int count = device_count();
    if (count >= 2) return;
    print_message("%s: needs two devices, and there are %d\n", RUNTIME_NAME, count);
    skip();
}

static tarn_backend open_on(int number)
{
    tarn_backend backend;
    assert_int_equal(open_backend_of(number, TARN_MEMORY_KIND_DEVICE, &backend), TARN_STATUS_OK);
    return backend;
}

/* Uses every kind of operation on the device. */
void use_device(int number)
{
    tarn_backend backend = open_on(number);
    struct target target = { .name = RUNTIME_NAME ", another device" };
    fixture_set_target(&target);
    const struct fixture fixture = {
        .target = &target,
        .backend = backend,
        .operations = backend.operations,
        .state = backend.state,
    };
    size_t size_bytes = (size_t)1 << 20;
    void *address = acquire(&fixture, size_bytes);
    tarn_stream stream = create_stream(&fixture);
    tarn_event event = create_event(&fixture);
    fill(&fixture, address, 5, size_bytes, stream);
    record_event(&fixture, event, stream);
    make_wait(&fixture, NULL, event);
    expect_bytes(&fixture, address, size_bytes, 5);
    EXPECT_OK(fixture.operations->event_query(fixture.state, event));
    destroy_event(&fixture, event);
    destroy_stream(&fixture, stream);
    release(&fixture, address, size_bytes);
    tarn_backend_close(&backend);
}

static void expect_memory_of(int number)
{
    tarn_backend backend = open_on(number);
    void *address = NULL;
    assert_int_equal(backend.operations->acquire(backend.state, 4096, &address).status,
                     TARN_STATUS_OK);
    runtime_pointer_attributes attributes;
    assert_int_equal(RUNTIME(PointerGetAttributes)(&attributes, address), RUNTIME(Success));
    assert_int_equal(attributes.device, number);
    assert_int_equal(backend.operations->release(backend.state, address, 4096).status,
                     TARN_STATUS_OK);
    tarn_backend_close(&backend);
}

void another_current_device_stays_current(void **state)
{
    require_two_devices();
    for (int current = 0; current < 2; current++) {
        int other = 1 - current;
        assert_int_equal(RUNTIME(SetDevice)(current), RUNTIME(Success));
        use_device(other);
        expect_memory_of(other);
        assert_int_equal(current_device(), current);
    }
    assert_int_equal(RUNTIME(SetDevice)(0), RUNTIME(Success));
}

void a_stream_of_another_device_is_told(void **state)
{
    require_two_devices();
    tarn_backend backends[2] = { open_on(0), open_on(1) };
    tarn_stream streams[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            backends[i].operations->stream_create(backends[i].state, &streams[i]).status,
            TARN_STATUS_OK);
    for (int i = 0; i < 4; i++) {
        const tarn_backend *backend = &backends[i / 2];
        tarn_backend_result result =
            backend->operations->stream_check(backend->state, streams[i % 2]);
        bool is_own = i / 2 == i % 2;
        assert_int_equal(result.status, is_own ? TARN_STATUS_OK : TARN_STATUS_INVALID_ARGUMENT);
        assert_int_equal(result.vendor_name == NULL, is_own);
    }
    for (int i = 0; i < 2; i++) {
        backends[i].operations->stream_destroy(backends[i].state, streams[i]);
        tarn_backend_close(&backends[i]);
    }
}
