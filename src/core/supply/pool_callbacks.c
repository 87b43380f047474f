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
                 tarn_static_pool_callback function, const struct tn_piece *piece)
{
    if (!function) return;
    observer->use_count++;
    pool->callback_count++;
    callback_depth++; /* a function that takes messages must not wait for this callback either */
    tn_pool_unlock_growth(pool);
    function(observer->user, piece->base, piece->size_bytes, piece->id);
    callback_depth--;
    tn_pool_lock_growth(pool);
    pool->callback_count--;
    pool->callback_end_count++;
    pool->change_count++;
    tn_condition_signal_all(&pool->callback_ended);
    drop(pool, observer);
}

/* Tells all observers of a piece. */
static void tell_all(struct tarn_pool *pool, struct tn_piece *piece)
{
    struct tn_observer *observer;
    while ((observer = find_newer(pool, piece->told)) != NULL) {
        piece->told = observer->number;
        call(pool, observer, observer->on_created, piece);
    }
    piece->told = pool->newest_observer;
}

/* An observer that comes while the user is told of a piece does not know those before it. */
void tn_pool_tell_created(struct tarn_pool *pool, struct tn_piece *first)
{
    tarn_observer newest;
    pool->arriving_count++;
    do {
        newest = pool->newest_observer;
        for (struct tn_piece *piece = first; piece; piece = piece->next)
            tell_all(pool, piece);
    } while (pool->newest_observer != newest);
    pool->arriving_count--;
}

void tn_pool_tell_destroyed(struct tarn_pool *pool, const struct tn_piece *leaving)
{
    struct tn_observer *observer;
    tarn_observer last = 0;
    while ((observer = find_newer(pool, last)) != NULL && observer->number <= leaving->told) {
        last = observer->number;
        call(pool, observer, observer->on_destroyed, leaving);
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

/* Tells the observer of the pieces of the pool that came before it. None leaves meanwhile, and those that join are behind
 * the others: their threads have told it. */
static void tell_of_joined(struct tarn_pool *pool, struct tn_observer *observer)
{
    struct tn_piece *piece = pool->pieces.joined.newest;
    while (piece && piece->older)
        piece = piece->older;
    for (; piece; piece = piece->newer) {
        if (!observer->has_ended && piece->told < observer->number)
            call(pool, observer, observer->on_created, piece);
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
    tell_of_joined(pool, observer);
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
