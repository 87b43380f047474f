/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* label_stats: the functions off the hot path. */
#include "label_stats.h"

#include <string.h>

#include "../../base/host_memory.h"

/* --- life --------------------------------------------------------------------------------------- */

struct tn_label_stats *tn_label_stats_ensure(tn_label_stats_pointer *stats)
{
    struct tn_label_stats *held = tn_label_stats_get(stats), *none = NULL;
    if (held) return held;
    struct tn_label_stats *created = tn_host_memory_alloc_zeroed(sizeof *created);
    if (!created) return NULL;
    if (atomic_compare_exchange_strong_explicit(stats, &none, created, memory_order_acq_rel,
                                                memory_order_acquire))
        return created;
    tn_host_memory_free(created);
    return none; /* another thread was faster */
}

void tn_label_stats_free(tn_label_stats_pointer *stats)
{
    tn_host_memory_free(tn_label_stats_get(stats));
    atomic_store_explicit(stats, NULL, memory_order_relaxed);
}

/* --- counting ----------------------------------------------------------------------------------- */

void tn_label_stats_list(struct tn_label_stats *stats, uint32_t label)
{
    TN_ASSERT(!stats->counts[label].is_listed && stats->listed_count < TN_LABEL_COUNT);
    stats->counts[label].is_listed = true;
    stats->listed[stats->listed_count++] = (uint16_t)label;
}

void tn_label_stats_take_alloc_back(struct tn_label_stats *stats, uint32_t label, size_t size_bytes)
{
    stats->counts[label].alloc_count--;
    tn_label_stats_count_free(stats, label, size_bytes);
}

void tn_label_stats_count_resize(struct tn_label_stats *stats, uint32_t label, size_t old_bytes,
                                 size_t size_bytes)
{
    struct tn_label_counts *counts = &stats->counts[label];
    TN_ASSERT(counts->live_count > 0 && counts->live_bytes >= old_bytes);
    counts->live_bytes -= old_bytes;
    tn_stats_add_to_mark(&counts->live_bytes, &counts->live_bytes_max, size_bytes);
}

void tn_label_stats_move(struct tn_label_stats *stats, struct tn_label_stats *arena)
{
    for (uint32_t i = 0; i < arena->listed_count; i++) {
        uint32_t label = arena->listed[i];
        struct tn_label_counts *to = &stats->counts[label], *from = &arena->counts[label];
        if (!to->is_listed) tn_label_stats_list(stats, label);
        to->alloc_count += from->alloc_count;
        to->live_count += from->live_count;
        tn_stats_add_to_mark(&to->live_bytes, &to->live_bytes_max, from->live_bytes);
        *from = (struct tn_label_counts){ 0 };
    }
    arena->listed_count = 0;
}

void tn_label_stats_reset_peaks(struct tn_label_stats *stats)
{
    for (uint32_t i = 0; i < stats->listed_count; i++) {
        struct tn_label_counts *counts = &stats->counts[stats->listed[i]];
        counts->live_bytes_max = counts->live_bytes;
    }
}

bool tn_label_stats_write(const struct tn_label_stats *stats, size_t index,
                          tarn_label_stats *stats_out)
{
    if (!stats || index >= stats->listed_count) return false;
    const struct tn_label_counts *counts = &stats->counts[stats->listed[index]];
    *stats_out = (tarn_label_stats){
        .struct_bytes = sizeof *stats_out,
        .live_bytes = counts->live_bytes,
        .live_bytes_max = counts->live_bytes_max,
        .live_count = counts->live_count,
        .alloc_count = counts->alloc_count,
    };
    memcpy(stats_out->label, tn_label_text(stats->listed[index]), TN_LABEL_BYTES);
    return true;
}

/* --- check -------------------------------------------------------------------------------------- */

const char *tn_label_stats_check(const struct tn_label_stats *stats,
                                 const struct tn_label_sums *sums)
{
    static const struct tn_label_counts none = { 0 };
    for (uint32_t label = TN_LABEL_NONE + 1; label < TN_LABEL_COUNT; label++) {
        const struct tn_label_counts *counts = stats ? &stats->counts[label] : &none;
        if (counts->live_bytes != sums->bytes[label] || counts->live_count != sums->counts[label])
            return "the counters of a label are not those of the live allocations";
        if (counts->live_bytes > counts->live_bytes_max)
            return "a label's high-water mark is below its counter";
        if (!counts->is_listed && counts->live_bytes_max > 0) return "a label is not listed";
    }
    return NULL;
}
