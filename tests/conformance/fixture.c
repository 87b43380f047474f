/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fixture: a test's open backend, and the claims that tests make about it. */
#include "conformance.h"

#include <stdlib.h>
#include <string.h>

/* cmocka gives a group's tests no argument, so it stands here. */
static const struct target *current_target;
static struct fixture the_fixture;

/* --- life -------------------------------------------------------------------------------------- */

void fixture_set_target(const struct target *target)
{
    current_target = target;
}

int fixture_setup(void **state)
{
    struct fixture *fixture = &the_fixture;
    *fixture = (struct fixture){
        .target = current_target,
        .device_before = vendor.current_device(),
    };
    *state = fixture;
    tarn_status status = current_target->open(&fixture->backend);
    if (status == TARN_STATUS_NO_DEVICE || status == TARN_STATUS_NOT_SUPPORTED)
        return 0; /* fixture_of skips the test */
    if (status != TARN_STATUS_OK) {
        print_error("%s: does not open: %s\n", current_target->name, tarn_last_error().message);
        return -1;
    }
    fixture->is_open = true;
    fixture->operations = fixture->backend.operations;
    fixture->state = fixture->backend.state;
    EXPECT_OK(fixture->operations->get_properties(fixture->state, &fixture->properties));
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *fixture = *state;
    if (fixture->is_open) tarn_backend_close(&fixture->backend);
    const char *last_error = vendor.take_last_error();
    if (last_error)
        fail_msg("%s: left %s in the vendor's last error", fixture->target->name, last_error);
    assert_int_equal(vendor.current_device(), fixture->device_before);
    return 0;
}

struct fixture *fixture_of(void **state)
{
    struct fixture *fixture = *state;
    if (!fixture->is_open) skip();
    return fixture;
}

void fixture_require(const struct fixture *fixture, bool is_there, const char *operation)
{
    if (is_there) return;
    print_message("%s: has no operation %s\n", fixture->target->name, operation);
    skip();
}

bool tells_memory(const struct fixture *fixture)
{
    tarn_memory_info info;
    return fixture->operations->query_memory &&
           fixture->operations->query_memory(fixture->state, &info).status !=
               TARN_STATUS_NOT_SUPPORTED;
}

void require_memory_info(const struct fixture *fixture)
{
    if (tells_memory(fixture)) return;
    print_message("%s: does not tell how much memory is left\n", fixture->target->name);
    skip();
}

void require_stream_ids(const struct fixture *fixture)
{
    REQUIRE_OPERATION(fixture, stream_id);
}

void require_synchronize(const struct fixture *fixture)
{
    REQUIRE_OPERATION(fixture, synchronize);
}

void require_streams(const struct fixture *fixture)
{
    REQUIRE_OPERATION(fixture, stream_create);
    REQUIRE_OPERATION(fixture, stream_destroy);
    REQUIRE_OPERATION(fixture, stream_check);
    REQUIRE_OPERATION(fixture, stream_synchronize);
    REQUIRE_OPERATION(fixture, stream_wait_event);
    REQUIRE_OPERATION(fixture, event_create);
    REQUIRE_OPERATION(fixture, event_destroy);
    REQUIRE_OPERATION(fixture, event_record);
    REQUIRE_OPERATION(fixture, event_query);
    REQUIRE_OPERATION(fixture, event_synchronize);
    REQUIRE_OPERATION(fixture, fill);
    REQUIRE_OPERATION(fixture, copy);
}

/* --- claims ------------------------------------------------------------------------------------ */

void expect_status(tarn_backend_result result, tarn_status expected, const char *text,
                   const char *file, int line)
{
    if (result.status == expected) return;
    print_error("%s: %s\n    gave %s (vendor code %d, %s), not %s\n", current_target->name, text,
                tarn_status_name(result.status), result.vendor_code,
                result.vendor_name ? result.vendor_name : "no name", tarn_status_name(expected));
    _fail(file, line);
}

/* The number of the first byte that is not `value`, or size_bytes. Mostly all bytes are `value`: memcmp finds that fast,
 * also under sanitizers. */
static size_t find_other(const unsigned char *bytes, size_t size_bytes, unsigned char value)
{
    size_t i = 0;
    if (size_bytes > 0 && bytes[0] == value && memcmp(bytes, bytes + 1, size_bytes - 1) == 0)
        return size_bytes;
    while (i < size_bytes && bytes[i] == value)
        i++;
    return i;
}

void expect_bytes(const struct fixture *fixture, const void *address, size_t size_bytes,
                  unsigned char value)
{
    unsigned char *found = malloc(size_bytes);
    assert_non_null(found);
    memset(found, ~value, size_bytes);
    copy(fixture, found, address, size_bytes, NULL);
    synchronize_stream(fixture, NULL);
    size_t i = find_other(found, size_bytes, value);
    unsigned char other = i < size_bytes ? found[i] : value;
    free(found);
    if (i < size_bytes) {
        fail_msg("%s: byte %zu of %zu is %d, not %d", fixture->target->name, i, size_bytes, other,
                 value);
    }
}

/* --- operations that must succeed -------------------------------------------------------------- */

void *acquire(const struct fixture *fixture, size_t size_bytes)
{
    void *address = NULL;
    EXPECT_OK(fixture->operations->acquire(fixture->state, size_bytes, &address));
    assert_non_null(address);
    return address;
}

void release(const struct fixture *fixture, void *address, size_t size_bytes)
{
    EXPECT_OK(fixture->operations->release(fixture->state, address, size_bytes));
}

tarn_memory_info memory_of(const struct fixture *fixture)
{
    tarn_memory_info info = { 0, SIZE_MAX };
    EXPECT_OK(fixture->operations->query_memory(fixture->state, &info));
    assert_true(info.free_bytes <= info.total_bytes);
    return info;
}

tarn_stream create_stream(const struct fixture *fixture)
{
    tarn_stream stream = NULL;
    EXPECT_OK(fixture->operations->stream_create(fixture->state, &stream));
    assert_non_null(stream);
    return stream;
}

void destroy_stream(const struct fixture *fixture, tarn_stream stream)
{
    EXPECT_OK(fixture->operations->stream_destroy(fixture->state, stream));
}

void synchronize_stream(const struct fixture *fixture, tarn_stream stream)
{
    EXPECT_OK(fixture->operations->stream_synchronize(fixture->state, stream));
}

tarn_event create_event(const struct fixture *fixture)
{
    tarn_event event = NULL;
    EXPECT_OK(fixture->operations->event_create(fixture->state, &event));
    assert_non_null(event);
    return event;
}

void destroy_event(const struct fixture *fixture, tarn_event event)
{
    EXPECT_OK(fixture->operations->event_destroy(fixture->state, event));
}

void record_event(const struct fixture *fixture, tarn_event event, tarn_stream stream)
{
    EXPECT_OK(fixture->operations->event_record(fixture->state, event, stream));
}

void make_wait(const struct fixture *fixture, tarn_stream stream, tarn_event event)
{
    EXPECT_OK(fixture->operations->stream_wait_event(fixture->state, stream, event));
}

void fill(const struct fixture *fixture, void *address, unsigned char value, size_t size_bytes,
          tarn_stream stream)
{
    EXPECT_OK(fixture->operations->fill(fixture->state, address, value, size_bytes, stream));
}

void copy(const struct fixture *fixture, void *destination, const void *source, size_t size_bytes,
          tarn_stream stream)
{
    EXPECT_OK(fixture->operations->copy(fixture->state, destination, source, size_bytes, stream));
}
