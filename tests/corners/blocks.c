/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* blocks: allocations, what is done with them, and their frees. */
#include <string.h>

#include "plan.h"
#include "world.h"

/* So many stay unused for allocations of functions, which come before that of the call which they are in is known. */
enum {
    BLOCKS_KEPT = 64
};

struct request {
    int slot, stream;
    size_t size_bytes, alignment;
    bool is_plain; /* names no stream, if that is the default one */
};

/* --- finding ------------------------------------------------------------------------------------ */

int block_count_unused(const struct world *world)
{
    int count = 0;
    for (int i = 0; i < BLOCKS_MAX; i++)
        count += world->blocks[i].address == NULL;
    return count;
}

static struct block *find_unused(struct world *world)
{
    for (int i = 0; i < BLOCKS_MAX; i++) {
        if (!world->blocks[i].address) return &world->blocks[i];
    }
    return NULL;
}

/* One of the pool's, which is not fixed; the first from a random place on. */
static struct block *choose(struct world *world, int slot)
{
    unsigned first = (unsigned)below(world, BLOCKS_MAX);
    for (unsigned i = 0; i < BLOCKS_MAX; i++) {
        struct block *block = &world->blocks[(first + i) % BLOCKS_MAX];
        if (block->address && !block->is_fixed && (slot == NONE || block->slot == slot))
            return block;
    }
    return NULL;
}

/* Whether no noted user but that one is being captured. Memory that is freed meanwhile would be that graph's. */
static bool are_noted_at_hand(const struct world *world, const struct block *block, int but_stream)
{
    for (int i = 0; i < block->noted_count; i++) {
        int stream = block->noted[i];
        if (stream != but_stream && world->streams[stream].graph != NONE) return false;
    }
    return true;
}

bool block_is_at_hand(const struct world *world, const struct block *block)
{
    for (int i = 0; i < block->user_count; i++) {
        if (world->streams[block->users[i]].graph != NONE) return false;
    }
    return are_noted_at_hand(world, block, NONE);
}

static bool has_user(const struct block *block, int stream)
{
    for (int i = 0; i < block->user_count; i++) {
        if (block->users[i] == stream) return true;
    }
    return false;
}

void block_order_users(struct world *world, const struct block *block, tarn_stream after)
{
    for (int i = 0; i < block->user_count; i++)
        device_order(&world->device, after, world->streams[block->users[i]].handle);
}

/* --- labels ------------------------------------------------------------------------------------- */

const char *block_label_name(int label)
{
    static const char *const names[LABEL_COUNT] = { NULL, "mesh", "field", "matrix" };
    return names[label];
}

/* Returns how many there were. */
static int push_label(struct world *world)
{
    int label = (int)(world->label_turn++ % LABEL_COUNT);
    tarn_label_push(block_label_name(label));
    world->labels[world->label_depth] = label;
    return world->label_depth++;
}

/* A call that is left by longjmp leaves also those that functions have pushed. */
static void pop_labels(struct world *world, int depth)
{
    for (; world->label_depth > depth; world->label_depth--)
        tarn_label_pop();
}

static int current_label(const struct world *world)
{
    return world->label_depth == 0 ? 0 : world->labels[world->label_depth - 1];
}

/* --- using -------------------------------------------------------------------------------------- */

/* Real work, so that the simulated devices know what is pending. Their managed memory runs on the same streams, the
 * host's does not. */
static void submit(struct world *world, const struct block *block, tarn_stream stream)
{
    const tarn_backend *streams = &world->device.streams;
    bool is_of_device = world->slots[block->slot].watched.memory.state == world->inner.state;
    if (!is_of_device || !one_in(world, 4)) return;
    int mode = device_relax(&world->device);
    streams->operations->fill(streams->state, block->address, 1,
                              block->size_bytes < 32 ? block->size_bytes : 32, stream);
    device_end_relaxing(&world->device, mode);
}

/* No user is captured, nor is the stream. */
static void use(struct world *world, struct block *block, int stream)
{
    tarn_stream handle = world->streams[stream].handle;
    if (!has_user(block, stream)) {
        block_order_users(world, block, handle);
        if (block->user_count == USERS_MAX)
            block->user_count = 0; /* the stream has waited for all */
        block->users[block->user_count++] = stream;
    }
    order_checker_use(world->device.checker, handle, block->address, block->size_bytes);
    submit(world, block, handle);
}

/* --- users that the pool is told of --------------------------------------------------------------- */

static bool is_noted(const struct block *block, int stream)
{
    for (int i = 0; i < block->noted_count; i++) {
        if (block->noted[i] == stream) return true;
    }
    return false;
}

static void remove_from(int *streams, int *count, int stream)
{
    int kept = 0;
    for (int i = 0; i < *count; i++) {
        if (streams[i] != stream) streams[kept++] = streams[i];
    }
    *count = kept;
}

bool block_leave_to_pool(struct block *block, int stream)
{
    if (!is_noted(block, stream)) return false;
    remove_from(block->noted, &block->noted_count, stream);
    if (has_user(block, stream)) block->has_noted_others = true;
    remove_from(block->users, &block->user_count, stream);
    return true;
}

/* In a pool whose streams end unannounced, only of the default stream. */
static void tell(struct world *world, struct block *block, int stream)
{
    if (block->noted_count == USERS_MAX) return;
    const struct slot *slot = &world->slots[block->slot];
    tarn_pool *asked = one_in(world, 2) ? slot->pool : world->slots[block->asked_slot].pool;
    bool is_refused = slot->options.identifies_streams && !pool_is_over(slot) && stream != 0;
    note("tell pool %d that %p is used on %d", block->slot, (void *)block->address, stream);
    tarn_status status =
        CALL(world, is_refused ? TARN_STATUS_NOT_SUPPORTED : TARN_STATUS_OK,
             tarn_pool_use_on(asked, block->address, world->streams[stream].handle));
    FIND_UNLESS(!is_refused || status != TARN_STATUS_OK, FINDING_STATUS,
                "a stream that may end is noted");
    if (status == TARN_STATUS_OK && !is_noted(block, stream))
        block->noted[block->noted_count++] = stream;
}

/* A stream that is being captured for a pool of its own, or NONE. */
static int choose_captured(struct world *world, int slot)
{
    unsigned first = (unsigned)below(world, (uint64_t)world->stream_count);
    for (int i = 0; i < world->stream_count; i++) {
        int stream = (int)(((unsigned)i + first) % (unsigned)world->stream_count);
        int graph = world->streams[stream].graph;
        if (graph != NONE && world->graphs[graph].slot == slot) return stream;
    }
    return NONE;
}

/* Other streams may be ordered after the graph, but for as long as it is being captured. */
static bool may_be_used_outside(const struct world *world, const struct block *block)
{
    if (block->graph == NONE) return true;
    return plan_has(PART_GRAPH_MEMORY_OUTSIDE) && !world->graphs[block->graph].is_under_way;
}

void block_use(struct world *world)
{
    struct block *block = choose(world, NONE);
    if (!block) return;
    int captured = choose_captured(world, block->slot);
    if (captured != NONE && one_in(world, 2)) {
        int graph = world->streams[captured].graph;
        if (block->graph == NONE || block->graph == graph) {
            note("graph %d uses %p", graph, (void *)block->address);
            graph_add_part(world, graph, block);
        }
        return;
    }
    if (!block_is_at_hand(world, block) || !may_be_used_outside(world, block)) return;
    int stream = stream_choose(world);
    if (pool_is_over(&world->slots[block->slot]) && stream > 2) return;
    if (block->graph != NONE) world->graphs[block->graph].has_other_work = true;
    note("use %p on %d", (void *)block->address, stream);
    use(world, block, stream);
    if (world->has_uses && one_in(world, 2)) tell(world, block, stream);
}

/* --- allocating --------------------------------------------------------------------------------- */

static size_t random_bytes(struct world *world)
{
    unsigned bits = 0;
    size_t granule_bytes = world->granule_bytes;
    while ((size_t)1 << bits < granule_bytes)
        bits++;
    switch (below(world, 8)) {
    case 0:
        return 1 + (size_t)below(world, world->capacity_bytes / 3);
    case 1:
    case 2:
        return 1 + (size_t)below(world, 8 * granule_bytes);
    default:
        return (size_t)random_size(&world->random, bits + 1);
    }
}

/* The pool whose memory it is: that which was asked, or a fallback. */
static int owner_of(const struct world *world, int asked_slot, const void *address)
{
    for (int i = asked_slot; i != NONE; i = world->slots[i].fallback) {
        if (watched_find(&world->slots[i].watched, address)) return i;
    }
    return NONE;
}

static void expect_apart(const struct world *world, const struct block *block)
{
    for (int i = 0; i < BLOCKS_MAX; i++) {
        const struct block *other = &world->blocks[i];
        if (other == block || !other->address || other->slot != block->slot) continue;
        bool overlaps = block->address < other->address + other->size_bytes &&
                        other->address < block->address + block->size_bytes;
        FIND_UNLESS(!overlaps, FINDING_OVERLAP, "%zu bytes at %p, while %zu at %p are live",
                    block->size_bytes, (void *)block->address, other->size_bytes,
                    (void *)other->address);
    }
}

struct block *block_enter(struct world *world, int asked_slot, int stream, void *address,
                          size_t size_bytes, size_t alignment)
{
    int owner = owner_of(world, asked_slot, address);
    note("    %p, of pool %d", address, owner);
    FIND_UNLESS(
        owner != NONE && owner_of(world, asked_slot, (char *)address + size_bytes - 1) == owner,
        FINDING_OVERLAP, "%zu bytes at %p are not in the pool's memory", size_bytes, address);
    FIND_UNLESS((uintptr_t)address % alignment == 0 &&
                    (uintptr_t)address % world->slots[owner].options.alignment_bytes == 0,
                FINDING_STATUS, "%p is no multiple of %zu and %zu", address, alignment,
                world->slots[owner].options.alignment_bytes);
    struct block *block = find_unused(world);
    struct stream *user = &world->streams[stream];
    *block = (struct block){ .address = address,
                             .size_bytes = size_bytes,
                             .slot = owner,
                             .asked_slot = asked_slot,
                             .graph = user->graph,
                             .graph_stream = stream,
                             .label = current_label(world),
                             .may_lack_label = world->has_host_failed };
    expect_apart(world, block);
    struct slot *slot = &world->slots[owner];
    uintptr_t start = (uintptr_t)address, end = start + size_bytes;
    if (user->graph == NONE) {
        graph_take_span(world, slot, start, end, stream);
        order_checker_take(world->device.checker, user->handle, address, size_bytes);
        block->users[block->user_count++] = stream;
        order_checker_use(world->device.checker, user->handle, address, size_bytes);
        submit(world, block, user->handle);
    } else {
        graph_take_span(world, slot, chunk_floor(slot, start), chunk_ceiling(slot, end), stream);
        order_checker_take(world->device.checker, world->graphs[user->graph].lane, address,
                           size_bytes);
        graph_add_part(world, user->graph, block);
        /* The rest of a new step joins what the capture has beside it. */
        world->graphs[user->graph].has_unknown_memory |= pool_has_mapped_steps(slot);
    }
    look_at_order(world);
    return block;
}

static tarn_status call_alloc(struct world *world, const struct request *request,
                              void **address_out)
{
    tarn_pool *pool = world->slots[request->slot].pool;
    tarn_stream stream = world->streams[request->stream].handle;
    if (request->is_plain && request->stream == 0)
        return tarn_pool_alloc(pool, request->size_bytes, address_out);
    if (request->alignment > 1)
        return tarn_pool_alloc_aligned_on(pool, request->size_bytes, request->alignment, stream,
                                          address_out);
    return tarn_pool_alloc_on(pool, request->size_bytes, stream, address_out);
}

/* True: a function of the user's has left the call by longjmp. */
static bool is_left(struct world *world, const struct request *request, tarn_status *status_out,
                    void **address_out)
{
    if (world->depth > 0) {
        *status_out = call_alloc(world, request, address_out);
        return false;
    }
    if (setjmp(world->way_out) == 0) {
        world->can_leave = plan_has(PART_LEAVING);
        *status_out = call_alloc(world, request, address_out);
        world->can_leave = false;
        return false;
    }
    note("    left");
    world->can_leave = false;
    world->depth = world->static_pool_depth = 0;
    for (int i = 0; i < world->slot_count; i++)
        world->slots[i].is_asking = false;
    return true;
}

static bool is_for_memory(tarn_status status)
{
    return status == TARN_STATUS_OUT_OF_MEMORY || status == TARN_STATUS_OVER_LIMIT;
}

/* Whether the next piece of the vendor's may lie better for the request than the last one did. */
static bool depends_on_luck(const struct world *world, const struct request *request)
{
    for (int i = request->slot; i != NONE; i = world->slots[i].fallback) {
        const struct slot *slot = &world->slots[i];
        size_t alignment = request->alignment;
        if (alignment < slot->options.chunk_bytes) alignment = slot->options.chunk_bytes;
        if (!pool_has_mapped_steps(slot) && !pool_is_over(slot) &&
            alignment > slot->alignment_bytes)
            return true;
    }
    return false;
}

/* The same call once more, with functions that do nothing. The program keeps the block that it gets. */
static void try_again(struct world *world, const struct request *request)
{
    void *address;
    bool was_quiet = world->is_quiet;
    unsigned act_count = world->unanswered_count;
    world->is_quiet = true;
    world_begin_call(world);
    tarn_status status = call_alloc(world, request, &address);
    world_end_call(world);
    world->is_quiet = was_quiet;
    world->unanswered_count = act_count;
    if (status == TARN_STATUS_OK) {
        find(FINDING_SECOND_TRY, "%zu bytes of pool %d on stream %d", request->size_bytes,
             request->slot, request->stream);
        block_enter(world, request->slot, request->stream, address, request->size_bytes,
                    request->alignment);
    } else if (!is_for_memory(status) && !world_met_fault(world)) {
        find(FINDING_STATUS, "a second try answers %s, \"%s\"", tarn_status_name(status),
             tarn_last_error().message);
    }
}

/* Whether the pool was right to refuse. */
static void judge(struct world *world, const struct request *request, tarn_status status,
                  unsigned asked_before)
{
    const struct slot *slot = &world->slots[request->slot];
    if (world_met_fault(world)) return;
    FIND_UNLESS(is_for_memory(status), FINDING_STATUS, "%zu bytes on stream %d: %s, \"%s\"",
                request->size_bytes, request->stream, tarn_status_name(status),
                tarn_last_error().message);
    if (!is_for_memory(status) || world->static_pool_depth > 0) return;
    bool should_ask = slot->options.on_out_of_memory && !slot->is_asking && !pool_is_over(slot);
    FIND_UNLESS(!should_ask || slot->asked_count > asked_before, FINDING_NOT_ASKED,
                "%zu bytes of pool %d%s", request->size_bytes, request->slot,
                world->depth > 0 ? ", in another pool's function" : "");
    if (world->unanswered_count > 0) return;
    enum finding finding;
    const char *reason = model_must_serve(world, slot, request->stream, request->size_bytes,
                                          request->alignment, &finding);
    if (reason && finding_is_verbose()) tarn_pool_dump(slot->pool, TARN_DUMP_FORMAT_TEXT, stdout);
    if (reason)
        find(finding, "%zu bytes of pool %d on stream %d at a multiple of %zu: %s; %s",
             request->size_bytes, request->slot, request->stream, request->alignment,
             tarn_status_name(status), reason);
    /* Without a call that waits for the device, work may come to its end between the two calls. */
    if (world->device.can_synchronize && !depends_on_luck(world, request))
        try_again(world, request);
}

static void serve_labelled(struct world *world, struct request request)
{
    struct slot *slot = &world->slots[request.slot];
    void *address = NULL;
    tarn_status status = TARN_STATUS_OK;
    unsigned asked_before = slot->asked_count, outer_count = world->unanswered_count;
    int outer_slot = world->requested_slot;
    world->requested_slot = request.slot;
    world_begin_call(world);
    world->unanswered_count = 0;
    note("alloc %zu of pool %d on %d, alignment %zu", request.size_bytes, request.slot,
         request.stream, request.alignment);
    bool has_left = is_left(world, &request, &status, &address);
    world_end_call(world);
    world->requested_slot = outer_slot;
    if (has_left) return;
    if (status == TARN_STATUS_OK) {
        block_enter(world, request.slot, request.stream, address, request.size_bytes,
                    request.alignment);
    } else {
        note("    %s", tarn_status_name(status));
        judge(world, &request, status, asked_before);
    }
    world->unanswered_count += outer_count;
}

static void serve(struct world *world, struct request request)
{
    int depth = push_label(world);
    serve_labelled(world, request);
    pop_labels(world, depth);
}

/* The stream that a block of the pool is allocated on. */
static int choose_stream_for(struct world *world, int slot)
{
    if (pool_is_over(&world->slots[slot])) {
        int stream = (int)below(world, world->stream_count < 3 ? (uint64_t)world->stream_count : 3);
        return world->streams[stream].graph == NONE ? stream : 0;
    }
    int captured = choose_captured(world, slot);
    return captured != NONE && one_in(world, 2) ? captured : stream_choose(world);
}

void block_alloc_from(struct world *world, int slot, size_t size_bytes)
{
    if (!world->slots[slot].is_settled || block_count_unused(world) < BLOCKS_KEPT) return;
    struct request request = { slot, choose_stream_for(world, slot), size_bytes, 1, false };
    if (one_in(world, 12)) request.alignment = (size_t)1 << below(world, 18);
    request.is_plain = request.alignment == 1 && one_in(world, 2);
    serve(world, request);
}

void block_alloc(struct world *world)
{
    int slot = (int)below(world, (uint64_t)world->slot_count);
    size_t size_bytes = random_bytes(world);
    size_t limit_bytes = world->slots[slot].limit_bytes;
    if (limit_bytes > 0 && one_in(world, 6)) size_bytes = 1 + (size_t)below(world, limit_bytes);
    if (world->slots[slot].is_shared && one_in(world, 10)) /* more than the device has */
        size_bytes = world->capacity_bytes + (size_t)below(world, world->capacity_bytes);
    block_alloc_from(world, slot, size_bytes);
}

void block_alloc_batch(struct world *world)
{
    int slot = (int)below(world, (uint64_t)world->slot_count);
    size_t sizes_bytes[3];
    void *addresses[3];
    if (!plan_has(PART_BATCHES) || !world->slots[slot].is_settled) return;
    if (block_count_unused(world) < BLOCKS_KEPT) return;
    int stream = choose_stream_for(world, slot);
    for (int i = 0; i < 3; i++)
        sizes_bytes[i] = random_bytes(world);
    note("alloc_many %zu, %zu, %zu of pool %d on %d", sizes_bytes[0], sizes_bytes[1],
         sizes_bytes[2], slot, stream);
    int depth = push_label(world);
    world_begin_call(world);
    world->is_in_batch = true;
    tarn_status status = tarn_pool_alloc_many_on(world->slots[slot].pool, 3, sizes_bytes,
                                                 world->streams[stream].handle, addresses);
    world->is_in_batch = false;
    world_end_call(world);
    if (status != TARN_STATUS_OK) {
        int graph = world->streams[stream].graph;
        if (graph != NONE) world->graphs[graph].has_unknown_memory = true;
        FIND_UNLESS(is_for_memory(status) || world_met_fault(world), FINDING_STATUS,
                    "a batch answers %s, \"%s\"", tarn_status_name(status),
                    tarn_last_error().message);
    }
    for (int i = 0; i < 3 && status == TARN_STATUS_OK; i++)
        block_enter(world, slot, stream, addresses[i], sizes_bytes[i], 1);
    pop_labels(world, depth);
}

/* --- resizing ----------------------------------------------------------------------------------- */

static bool is_of_a_graph(const struct world *world, const struct block *block)
{
    if (block->graph != NONE) return true;
    for (int i = 0; i < GRAPHS_MAX; i++) {
        const struct graph *graph = &world->graphs[i];
        for (int k = 0; k < graph->part_count && graph->is_there; k++) {
            if (graph->parts[k].address == (uintptr_t)block->address) return true;
        }
    }
    return false;
}

void block_resize(struct world *world)
{
    struct block *block = choose(world, NONE);
    if (!plan_has(PART_RESIZING) || !block || !block_is_at_hand(world, block) ||
        is_of_a_graph(world, block))
        return;
    int stream = block->user_count > 0 ? block->users[0] : 0;
    if (world->streams[stream].graph != NONE) return;
    tarn_stream handle = world->streams[stream].handle;
    struct slot *slot = &world->slots[block->slot];
    size_t size_bytes = 1 + (size_t)below(world, 2 * block->size_bytes);
    note("resize %p from %zu to %zu on %d", (void *)block->address, block->size_bytes, size_bytes,
         stream);
    block_order_users(world, block, handle);
    block->user_count = 1;
    block->users[0] = stream;
    /* Functions leave it alone, and may have what it gives back. */
    size_t old_bytes = block->size_bytes;
    block->is_fixed = true;
    if (size_bytes < old_bytes) block->size_bytes = size_bytes;
    size_t usable_bytes = old_bytes;
    (void)tarn_pool_usable_size(slot->pool, block->address, &usable_bytes);
    if (block->has_noted_others) {
        order_checker_shorten(world->device.checker, block->address, block->size_bytes);
    } else {
        order_checker_drop(world->device.checker, block->address);
    }
    tarn_status status = CALL(world, TARN_STATUS_NOT_IN_PLACE,
                              tarn_pool_resize_on(slot->pool, block->address, size_bytes, handle));
    block->size_bytes = status == TARN_STATUS_OK ? size_bytes : old_bytes;
    block->is_fixed = false;
    expect_apart(world, block);
    graph_take_span(world, slot, (uintptr_t)block->address,
                    (uintptr_t)block->address + block->size_bytes, stream);
    if (block->has_noted_others) { /* the rest of the last chunk was its own before */
        order_checker_extend(world->device.checker, handle, block->address, usable_bytes,
                             block->size_bytes);
    } else {
        order_checker_take(world->device.checker, handle, block->address, block->size_bytes);
    }
    look_at_order(world);
    use(world, block, stream);
}

/* --- freeing ------------------------------------------------------------------------------------ */

static tarn_status call_free(struct world *world, const struct block *block, tarn_pool *pool)
{
    tarn_stream streams[USERS_MAX];
    tarn_stream one = block->user_count > 0 ? world->streams[block->users[0]].handle : NULL;
    for (int i = 0; i < block->user_count; i++)
        streams[i] = world->streams[block->users[i]].handle;
    if (block->user_count != 1)
        return tarn_pool_free_after(pool, block->address, streams, (size_t)block->user_count);
    switch (below(world, 4)) {
    case 0:
        return tarn_pool_free_sized_on(pool, block->address, block->size_bytes, one);
    case 1:
        return one ? tarn_pool_free_on(pool, block->address, one)
                   : tarn_pool_free(pool, block->address);
    case 2:
        return tarn_pool_free_after(pool, block->address, &one, 1);
    default:
        return tarn_pool_free_on(pool, block->address, one);
    }
}

/* A free that fails has freed nothing, and may be repeated. */
static void give(struct world *world, struct block *block, int freeing_stream)
{
    struct block freed = *block;
    block->address = NULL;
    for (int i = 0; i < freed.noted_count && freeing_stream == NONE; i++) {
        if (one_in(world, 2)) remove_from(freed.users, &freed.user_count, freed.noted[i]);
    }
    tarn_pool *pool = world->slots[one_in(world, 2) ? freed.slot : freed.asked_slot].pool;
    note("free %p of pool %d after %d streams, the first %d", (void *)freed.address, freed.slot,
         freed.user_count, freed.user_count > 0 ? freed.users[0] : NONE);
    graph_note_freed(world, &freed, freeing_stream);
    order_checker_drop(world->device.checker, freed.address);
    for (int i = 0; i < 4; i++) {
        bool may_repeat = world->depth > 0;
        if (CALL(world, TARN_STATUS_OK, call_free(world, &freed, pool)) == TARN_STATUS_OK) return;
        if (may_repeat && world->device.armed_after == 0) continue;
    }
    find(FINDING_STATUS, "a free fails again and again: %s", tarn_last_error().message);
}

/* On a stream that is being captured, where the rules allow it. */
static bool free_in_capture(struct world *world, struct block *block)
{
    int graph = block->graph, stream = block->graph_stream;
    if (block->slot != block->asked_slot) return false;
    if (graph == NONE && block->user_count == 1 &&
        !are_noted_at_hand(world, block, block->users[0]))
        return false;
    if (graph != NONE && !are_noted_at_hand(world, block, NONE)) return false;
    if (graph == NONE && plan_has(PART_FREES_INTO_GRAPHS) && block->user_count == 1) {
        stream = block->users[0];
        graph = world->streams[stream].graph;
        if (graph == NONE || world->graphs[graph].slot != block->slot) return false;
        if (one_in(world, 2)) graph_add_part(world, graph, block);
    } else if (graph == NONE || world->streams[stream].graph != graph || block->user_count > 0) {
        return false;
    }
    note("in a capture of graph %d:", graph);
    block->user_count = 1;
    block->users[0] = stream;
    give(world, block, stream);
    return true;
}

static void free_block(struct world *world, struct block *block)
{
    if (free_in_capture(world, block) || !block_is_at_hand(world, block)) return;
    bool may_wait = !device_is_capturing(&world->device);
    if (block->user_count > 1 && one_in(world, 2)) {
        int stream = block->users[0];
        block_order_users(world, block, world->streams[stream].handle);
        block->user_count = 1;
    } else if (may_wait && block->user_count > 0 && one_in(world, 20)) {
        stream_wait_for_all(world);
        block->user_count = 0;
    }
    give(world, block, NONE);
}

void block_free_of(struct world *world, int slot)
{
    struct block *block = choose(world, slot);
    if (block && world->slots[block->slot].is_settled && world->slots[block->asked_slot].is_settled)
        free_block(world, block);
}

void block_free(struct world *world)
{
    block_free_of(world, NONE);
}

/* Blocks of one pool that one stream alone has used. */
void block_free_batch(struct world *world)
{
    struct block *first = choose(world, NONE), *batch[3];
    void *addresses[3];
    size_t count = 0;
    if (!plan_has(PART_BATCHES) || !first || first->user_count != 1 ||
        !block_is_at_hand(world, first) || !world->slots[first->slot].is_settled)
        return;
    int stream = first->users[0];
    for (int i = 0; i < BLOCKS_MAX && count < 3; i++) {
        struct block *block = &world->blocks[i];
        bool fits = block->address && !block->is_fixed && block->slot == first->slot &&
                    block->user_count == 1 && block->users[0] == stream &&
                    block_is_at_hand(world, block);
        if (fits) batch[count++] = block;
    }
    struct block freed[3];
    for (size_t i = 0; i < count; i++) {
        freed[i] = *batch[i];
        addresses[i] = freed[i].address;
        batch[i]->address = NULL;
        graph_note_freed(world, &freed[i], NONE);
        order_checker_drop(world->device.checker, addresses[i]);
    }
    note("free_many %zu of pool %d on %d", count, freed[0].slot, stream);
    tarn_pool *pool = world->slots[freed[0].slot].pool;
    tarn_stream handle = world->streams[stream].handle;
    bool was_quiet = world->is_quiet;
    world->is_quiet = true; /* nobody may get what is then freed again */
    tarn_status status =
        CALL(world, TARN_STATUS_OK, tarn_pool_free_many_on(pool, count, addresses, handle));
    for (size_t i = 0; i < count && status != TARN_STATUS_OK; i++)
        tarn_pool_free_on(pool, addresses[i], handle); /* some were freed, and others not */
    world->is_quiet = was_quiet;
}

void block_free_all(struct world *world, int slot)
{
    for (int i = 0; i < BLOCKS_MAX; i++) {
        struct block *block = &world->blocks[i];
        if (block->address && !block->is_fixed &&
            (block->slot == slot || block->asked_slot == slot))
            free_block(world, block);
    }
}
