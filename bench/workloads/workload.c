/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* workload: a sequence of allocations and frees, made before anything is timed. */
#include "workload.h"

#include <stdlib.h>

static bool add(struct tn_operations *operations, struct tn_operation operation)
{
    if (operations->count == operations->capacity) {
        size_t capacity = operations->capacity ? 2 * operations->capacity : 1024;
        void *items = realloc(operations->items, capacity * sizeof operation);
        if (!items) return false;
        operations->items = items;
        operations->capacity = capacity;
    }
    operations->items[operations->count++] = operation;
    return true;
}

bool tn_operations_add_alloc(struct tn_operations *operations, size_t slot, size_t size_bytes)
{
    return add(operations, (struct tn_operation){ size_bytes, (uint32_t)slot, 1 });
}

bool tn_operations_add_free(struct tn_operations *operations, size_t slot)
{
    return add(operations, (struct tn_operation){ 0, (uint32_t)slot, 0 });
}

struct tn_workload *tn_workload_list_add(struct tn_workload_list *list)
{
    struct tn_workload *items = realloc(list->items, (list->count + 1) * sizeof items[0]);
    if (!items) return NULL;
    list->items = items;
    struct tn_workload *workload = &items[list->count++];
    *workload = (struct tn_workload){ .bench = "" };
    return workload;
}

static void workload_fini(struct tn_workload *workload)
{
    free(workload->setup.items);
    free(workload->body.items);
    free(workload->source);
    free(workload->lines);
    free(workload->origins);
}

void tn_workload_list_fini(struct tn_workload_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        workload_fini(&list->items[i]);
    free(list->items);
    *list = (struct tn_workload_list){ NULL, 0 };
}

/* The live blocks while a sequence is walked through without an allocator. */
struct live_extent {
    size_t *sizes; /* of the block in each slot; 0 when there is none */
    size_t bytes;
    size_t count;
    struct tn_workload_extent *extent;
};

static void follow(struct live_extent *live, const struct tn_operation *operations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t *size_bytes = &live->sizes[operations[i].slot];
        live->bytes += operations[i].size_bytes - *size_bytes;
        live->count += (size_t)(operations[i].size_bytes != 0) - (size_t)(*size_bytes != 0);
        *size_bytes = operations[i].size_bytes;
        if (live->bytes > live->extent->live_bytes_max) live->extent->live_bytes_max = live->bytes;
        if (live->count > live->extent->live_count_max) live->extent->live_count_max = live->count;
        live->extent->alloc_count += operations[i].is_alloc;
    }
}

bool tn_workload_measure(const struct tn_workload *workload, size_t body_count,
                         struct tn_workload_extent *extent_out)
{
    *extent_out = (struct tn_workload_extent){ 0 };
    struct live_extent live = { .extent = extent_out };
    live.sizes = calloc(workload->slot_count, sizeof live.sizes[0]);
    if (!live.sizes) return false;
    follow(&live, workload->setup.items, workload->setup.count);
    extent_out->alloc_count = 0;
    follow(&live, workload->body.items, body_count);
    free(live.sizes);
    return true;
}

void tn_workload_describe_place(const struct tn_workload *workload, size_t place,
                                struct tn_reason *text_out)
{
    if (!workload->is_recorded) {
        tn_reason_set(text_out, "%s, operation %zu", workload->name, place + 1);
        return;
    }
    size_t line = workload->lines[place - workload->setup.count];
    struct tn_path_text source = tn_path_show(workload->source);
    if (line == 0)
        tn_reason_set(text_out, "%s, freeing what was left live", source.text);
    else
        tn_reason_set(text_out, "%s:%zu", source.text, line);
}
