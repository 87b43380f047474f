/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_callbacks: calls without a lock, observers that come and go, and waits for running calls. */
#include "pool_callbacks.h"

#include "../../base/error.h"
#include "../../base/host_memory.h"

/* Depth of callbacks, of any pool, that the thread is in. */
static _Thread_local unsigned callback_depth;

/* --- observers ------------------------------------------------------------------------------------- */

static _Atomic tarn_observer last_number;

/* Makes the observer the newest of the pool. */
static void append(struct tarn_pool *pool, struct tn_observer *observer)
{
    struct tn_observer **link = &pool->observers;
    while (*link)
        link = &(*link)->next;
    *link = observer;
    pool->newest_observer = observer->number = atomic_fetch_add(&last_number, 1) + 1;
    observer->use_count = 1;
}

static void drop(struct tarn_pool *pool, struct tn_observer *observer)
{
    if (--observer->use_count == 0 && observer != &pool->first_observer)
        tn_host_memory_free(observer);
}

/* The link to the observer of that number, or to NULL. */
static struct tn_observer **find_link(struct tarn_pool *pool, tarn_observer number)
{
    struct tn_observer **link = &pool->observers;
    while (*link && (*link)->number != number)
        link = &(*link)->next;
    return link;
}

/* The oldest observer that is newer than that. NULL: there is none. */
static struct tn_observer *find_newer(const struct tarn_pool *pool, tarn_observer number)
{
    struct tn_observer *observer = pool->observers;
    while (observer && observer->number <= number)
        observer = observer->next;
    return observer;
}

void tn_pool_init_observers(struct tarn_pool *pool, const tarn_pool_options *options)
{
    pool->observers = NULL;
    pool->observing_count = 0;
    pool->first_observer = (struct tn_observer){
        .on_created = options->on_static_pool_created,
        .on_destroyed = options->on_static_pool_destroyed,
        .user = options->user,
    };
    append(pool, &pool->first_observer);
    if (!options->on_static_pool_created && !options->on_static_pool_destroyed)
        pool->observers = NULL;
}

void tn_pool_end_observers(struct tarn_pool *pool)
{
    while (pool->observers) {
        struct tn_observer *ended = pool->observers;
        pool->observers = ended->next;
        drop(pool, ended);
    }
}

/* --- telling --------------------------------------------------------------------------------------- */

static void call(struct tarn_pool *pool, struct tn_observer *observer,
                 tarn_static_pool_callback function, void *base, size_t size_bytes, uint64_t id)
{
    observer->use_count++;
    pool->callback_count++;
    callback_depth++; /* a function that takes messages must not wait for this callback either */
    tn_pool_unlock_growth(pool);
    function(observer->user, base, size_bytes, id);
    callback_depth--;
    tn_pool_lock_growth(pool);
    pool->callback_count--;
    pool->callback_end_count++;
    pool->change_count++;
    tn_condition_signal_all(&pool->callback_ended);
    drop(pool, observer);
}

void tn_pool_tell_created(struct tarn_pool *pool, void *base, size_t size_bytes, uint64_t id,
                          tarn_observer *told_out)
{
    struct tn_observer *observer;
    tarn_observer told = 0;
    pool->arriving_count++;
    while ((observer = find_newer(pool, told)) != NULL) {
        told = observer->number;
        if (observer->on_created) call(pool, observer, observer->on_created, base, size_bytes, id);
    }
    pool->arriving_count--;
    *told_out = pool->newest_observer;
}

void tn_pool_tell_destroyed(struct tarn_pool *pool, void *base, size_t size_bytes, uint64_t id,
                            tarn_observer told)
{
    struct tn_observer *observer;
    tarn_observer last = 0;
    while ((observer = find_newer(pool, last)) != NULL && observer->number <= told) {
        last = observer->number;
        if (observer->on_destroyed)
            call(pool, observer, observer->on_destroyed, base, size_bytes, id);
    }
}

bool tn_pool_await_callback(struct tarn_pool *pool)
{
    if (pool->callback_count == 0 || callback_depth > 0) return false;
    uint64_t before = pool->callback_end_count;
    while (pool->callback_end_count == before)
        tn_condition_wait(&pool->callback_ended, &pool->growth_lock);
    return true;
}

/* --- coming ---------------------------------------------------------------------------------------- */

/* Whether the observer is to be told by its own thread: others have told all of those that they knew. */
static bool is_due(const struct tn_observer *observer, tarn_observer told)
{
    return !observer->has_ended && told != 0 && told < observer->number;
}

/* A step on its way into the pool may be told already, while those with it are not. */
static void tell_of_steps(struct tarn_pool *pool, struct tn_observer *observer)
{
    const struct tn_step_range *range = pool->range;
    for (uint32_t i = 0; i < range->step_count; i++) {
        const struct tn_step *step = &range->steps[i]; /* until the call: steps may move */
        bool is_there = step->state == TN_STEP_STATE_MAPPED ||
                        (step->state == TN_STEP_STATE_TRANSIT && !step->is_leaving);
        if (is_there && is_due(observer, step->told))
            call(pool, observer, observer->on_created, tn_step_address(range, i),
                 tn_step_bytes(range, i), step->id);
    }
}

/* None leaves meanwhile, and those that join are behind the others. */
static void tell_of_static_pools(struct tarn_pool *pool, struct tn_observer *observer)
{
    struct tn_static_pool *held = pool->list.chain.newest;
    while (held && held->older)
        held = held->older;
    for (; held; held = held->newer) {
        if (is_due(observer, held->told))
            call(pool, observer, observer->on_created, held->backing, held->backing_bytes,
                 held->id);
    }
}

static void set_observing_count(struct tarn_pool *pool, unsigned count)
{
    tn_pool_lock(pool);
    pool->observing_count = count;
    tn_pool_unlock(pool);
}

static void tell_of_those_there(struct tarn_pool *pool, struct tn_observer *observer)
{
    if (!observer->on_created) return;
    set_observing_count(pool, pool->observing_count + 1);
    observer->use_count++;
    if (pool->range)
        tell_of_steps(pool, observer);
    else
        tell_of_static_pools(pool, observer);
    set_observing_count(pool, pool->observing_count - 1);
    pool->change_count++;
    tn_condition_signal_all(&pool->callback_ended);
    drop(pool, observer);
}

tarn_status tn_pool_observe(struct tarn_pool *pool, tarn_static_pool_callback on_created,
                            tarn_static_pool_callback on_destroyed, void *user,
                            tarn_observer *observer_out)
{
    struct tn_observer *observer = tn_host_memory_alloc(sizeof *observer);
    if (!observer) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "the host has no memory for one more observer of a pool");
    }
    *observer = (struct tn_observer){ .on_created = on_created,
                                      .on_destroyed = on_destroyed,
                                      .user = user };
    tn_pool_lock_growth(pool);
    append(pool, observer);
    tarn_observer number = observer->number;
    tell_of_those_there(pool, observer);
    tn_pool_unlock_growth(pool);
    *observer_out = number;
    return TARN_STATUS_OK;
}

/* --- going ----------------------------------------------------------------------------------------- */

tarn_status tn_pool_unobserve(struct tarn_pool *pool, tarn_observer number)
{
    tn_pool_lock_growth(pool);
    struct tn_observer **link = find_link(pool, number), *ended = *link;
    if (ended) {
        *link = ended->next;
        ended->has_ended = true;
        /* Two functions could wait for each other. */
        while (callback_depth == 0 && ended->use_count > 1)
            tn_condition_wait(&pool->callback_ended, &pool->growth_lock);
        drop(pool, ended);
    }
    tn_pool_unlock_growth(pool);
    if (ended) return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "%llu is no observer of the pool at %p",
                   (unsigned long long)number, (void *)pool);
}
