/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* captures: a list of streams, and a list of addresses. */
#include "captures.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/host_memory.h"
#include "base/process.h"
#include "base/sync.h"

#include "vendor.h"

#define CAPTURES_MAX 256 /* further ones are not seen */

struct capture {
    void *stream;
    uintptr_t thread; /* of a stream of a thread's own; otherwise 0 */
};

static struct tn_mutex lock = TN_MUTEX_INIT;
static struct capture captures[CAPTURES_MAX];
static atomic_size_t capture_count;

static void **held_frees;
static size_t held_count, held_room;

static void after_fork_in_child(void)
{
    tn_mutex_init(&lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)tn_process_call_around_forks(NULL, NULL, after_fork_in_child);
}

static struct capture capture_of(void *stream)
{
    return (struct capture){ stream, stream == TN_STREAM_PER_THREAD ? tn_thread_token() : 0 };
}

/* Returns the count if the stream is not captured. Requires: lock. */
static size_t find(struct capture capture)
{
    size_t i = 0, count = atomic_load(&capture_count);
    while (i < count &&
           (captures[i].stream != capture.stream || captures[i].thread != capture.thread))
        i++;
    return i;
}

bool tn_captures_begin(void *stream)
{
    struct capture capture = capture_of(stream);
    tn_mutex_lock(&lock);
    size_t count = atomic_load(&capture_count);
    bool is_new = find(capture) == count && count < CAPTURES_MAX;
    if (is_new) {
        captures[count] = capture;
        atomic_store(&capture_count, count + 1);
    }
    tn_mutex_unlock(&lock);
    return is_new;
}

bool tn_captures_end(void *stream)
{
    tn_mutex_lock(&lock);
    size_t count = atomic_load(&capture_count);
    size_t i = find(capture_of(stream));
    bool is_found = i < count;
    if (is_found) {
        captures[i] = captures[count - 1];
        atomic_store(&capture_count, count - 1);
    }
    tn_mutex_unlock(&lock);
    return is_found && count == 1;
}

bool tn_captures_any(void)
{
    return atomic_load_explicit(&capture_count, memory_order_relaxed) > 0;
}

/* Requires: lock. False: no host memory. */
static bool has_room(void)
{
    if (held_count < held_room) return true;
    size_t room = held_room > 0 ? 2 * held_room : 64;
    void **larger = tn_host_memory_alloc(room * sizeof *larger);
    if (!larger) return false;
    if (held_count > 0) memcpy(larger, held_frees, held_count * sizeof *larger);
    tn_host_memory_free(held_frees);
    held_frees = larger;
    held_room = room;
    return true;
}

bool tn_captures_hold_free(void *address)
{
    tn_mutex_lock(&lock);
    bool is_held = has_room();
    if (is_held) held_frees[held_count++] = address;
    tn_mutex_unlock(&lock);
    return is_held;
}

void *tn_captures_take_free(void)
{
    tn_mutex_lock(&lock);
    void *address = held_count > 0 ? held_frees[--held_count] : NULL;
    tn_mutex_unlock(&lock);
    return address;
}
