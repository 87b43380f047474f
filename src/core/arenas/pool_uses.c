/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_uses: uses of one allocation, its free, uses of one stream, check. */
#include "pool_uses.h"

#include "arena_mail.h"

/* --- one allocation ------------------------------------------------------------------------------- */

/* Requires use_lock. */
static void note_count(struct tarn_pool *pool)
{
    tn_pool_set_care(pool, TN_CARE_USES, pool->uses.use_count > 0);
}

bool tn_pool_is_used(struct tarn_pool *pool, uintptr_t address)
{
    if (!tn_pool_has_uses(pool)) return false;
    tn_mutex_lock(&pool->use_lock);
    bool is_used = tn_use_table_find(&pool->uses, address) != NULL;
    tn_mutex_unlock(&pool->use_lock);
    return is_used;
}

bool tn_pool_is_used_on(struct tarn_pool *pool, uintptr_t address, struct tn_stream_name name)
{
    if (!tn_pool_has_uses(pool)) return false;
    tn_mutex_lock(&pool->use_lock);
    bool is_used = tn_use_table_has(&pool->uses, address, name);
    tn_mutex_unlock(&pool->use_lock);
    return is_used;
}

bool tn_pool_prepare_uses(struct tarn_pool *pool)
{
    tn_mutex_lock(&pool->use_lock);
    bool is_prepared = tn_use_table_prepare(&pool->uses);
    tn_mutex_unlock(&pool->use_lock);
    return is_prepared;
}

void tn_pool_insert_use(struct tarn_pool *pool, struct tn_use *use)
{
    tn_mutex_lock(&pool->use_lock);
    tn_use_table_insert(&pool->uses, use);
    note_count(pool);
    tn_mutex_unlock(&pool->use_lock);
}

void tn_pool_remove_uses(struct tarn_pool *pool, uintptr_t address)
{
    if (!tn_pool_has_uses(pool)) return;
    tn_mutex_lock(&pool->use_lock);
    tn_use_table_remove(&pool->uses, address);
    note_count(pool);
    tn_mutex_unlock(&pool->use_lock);
}

bool tn_pool_name_use(struct tarn_pool *pool, uintptr_t address, size_t number,
                      struct tn_stream_name *name_out)
{
    tn_mutex_lock(&pool->use_lock);
    const struct tn_use *use = tn_use_table_find(&pool->uses, address);
    while (use && (use->has_ended || number > 0)) {
        if (!use->has_ended) number--;
        use = tn_use_table_find_next(use);
    }
    if (use) *name_out = use->name;
    tn_mutex_unlock(&pool->use_lock);
    return use != NULL;
}

/* Unites the dependency with that of one use. False: its stream must be introduced. */
static bool add_use(const struct tarn_pool *pool, const struct tn_use *use, bool are_introduced,
                    struct tn_dependency *dependency)
{
    uint32_t stream;
    struct tn_dependency added = use->dependency;
    if (!use->has_ended) {
        if (!tn_pool_find_named_stream(pool, use->name, &stream)) {
            bool is_evicted =
                are_introduced && pool->streams && pool->streams->evicted_number != TN_STREAM_NONE;
            if (!is_evicted) return false;
            stream = pool->streams->evicted_number;
        }
        added = tn_pool_depend(pool, stream);
    }
    *dependency = tn_dependency_unite(*dependency, added);
    return true;
}

bool tn_pool_add_uses(struct tarn_pool *pool, uintptr_t address, bool are_introduced,
                      struct tn_dependency *dependency)
{
    struct tn_dependency united = *dependency;
    bool are_known = true;
    if (!tn_pool_has_uses(pool)) return true;
    tn_mutex_lock(&pool->use_lock);
    const struct tn_use *use = tn_use_table_find(&pool->uses, address);
    for (; use && are_known; use = tn_use_table_find_next(use))
        are_known = add_use(pool, use, are_introduced, &united);
    tn_mutex_unlock(&pool->use_lock);
    if (are_known) *dependency = united;
    return are_known;
}

/* --- free ----------------------------------------------------------------------------------------- */

/* tn_serve_free in any part: another thread may have posted an allocation of an arena. */
static enum tn_free_result free_in(struct tarn_pool *pool, struct tn_part *part,
                                   const struct tn_place *place, const size_t *told_bytes,
                                   struct tn_dependency dependency)
{
    if (part == &pool->own) return tn_serve_free(pool, part, place, told_bytes, dependency);
    return tn_arena_serve_free(pool, tn_arena_of_part(part), place, told_bytes, dependency);
}

enum tn_free_result tn_serve_free_used(struct tarn_pool *pool, struct tn_part *part,
                                       uintptr_t address, const size_t *told_bytes,
                                       const tarn_stream *streams, size_t stream_count,
                                       bool are_introduced)
{
    TN_ASSERT(tn_pool_is_part_locked(pool, part));
    struct tn_place place;
    struct tn_dependency dependency;
    if (!tn_place_locate(pool, address, &place)) return TN_FREE_RESULT_NOT_LIVE;
    if (!tn_pool_find_dependency(pool, part, streams, stream_count, are_introduced, &dependency) ||
        !tn_pool_add_uses(pool, address, are_introduced, &dependency))
        return TN_FREE_RESULT_UNKNOWN_STREAM;
    enum tn_free_result freed = free_in(pool, part, &place, told_bytes, dependency);
    if (freed == TN_FREE_RESULT_FREED || freed == TN_FREE_RESULT_RELEASE_IS_DUE)
        tn_pool_remove_uses(pool, address);
    return freed;
}

/* --- streams -------------------------------------------------------------------------------------- */

bool tn_pool_has_uses_on(struct tarn_pool *pool, struct tn_stream_name name)
{
    if (!tn_pool_has_uses(pool)) return false;
    tn_mutex_lock(&pool->use_lock);
    bool has_uses = tn_use_table_names(&pool->uses, name);
    tn_mutex_unlock(&pool->use_lock);
    return has_uses;
}

void tn_pool_end_uses(struct tarn_pool *pool, struct tn_stream_name name,
                      struct tn_dependency dependency)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!tn_pool_has_uses(pool)) return;
    tn_mutex_lock(&pool->use_lock);
    tn_use_table_end_stream(&pool->uses, name, dependency);
    tn_mutex_unlock(&pool->use_lock);
}

void tn_pool_remove_uses_on(struct tarn_pool *pool, struct tn_stream_name name)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!tn_pool_has_uses(pool)) return;
    tn_mutex_lock(&pool->use_lock);
    tn_use_table_remove_stream(&pool->uses, name);
    note_count(pool);
    tn_mutex_unlock(&pool->use_lock);
}

uint32_t tn_pool_streams_of_uses(struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!tn_pool_has_uses(pool)) return 0;
    tn_mutex_lock(&pool->use_lock);
    uint32_t streams = tn_use_table_streams(&pool->uses);
    tn_mutex_unlock(&pool->use_lock);
    return streams;
}

void tn_pool_complete_uses(struct tarn_pool *pool, uint32_t streams, uint32_t time)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!tn_pool_has_uses(pool)) return;
    tn_mutex_lock(&pool->use_lock);
    tn_use_table_complete(&pool->uses, streams, time);
    tn_mutex_unlock(&pool->use_lock);
}

void tn_pool_replace_in_uses(struct tarn_pool *pool, uint32_t stream_bit,
                             struct tn_dependency in_place)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!tn_pool_has_uses(pool)) return;
    tn_mutex_lock(&pool->use_lock);
    tn_use_table_replace(&pool->uses, stream_bit, in_place);
    tn_mutex_unlock(&pool->use_lock);
}

void tn_pool_begin_uses_anew(struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!tn_pool_has_uses(pool)) return;
    tn_mutex_lock(&pool->use_lock);
    tn_use_table_begin_anew(&pool->uses);
    tn_mutex_unlock(&pool->use_lock);
}

/* --- check ---------------------------------------------------------------------------------------- */

static bool is_live(void *context, const struct tn_use *use)
{
    struct tn_place place;
    const struct tarn_pool *pool = context;
    return tn_place_locate(pool, use->address, &place) &&
           tn_place_find_start(pool, &pool->own, &place);
}

const char *tn_pool_check_uses(struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    tn_mutex_lock(&pool->use_lock);
    bool are_live = tn_use_table_walk(&pool->uses, is_live, pool);
    tn_mutex_unlock(&pool->use_lock);
    return are_live ? NULL
                    : "an address is used on further streams, but no allocation starts there";
}
