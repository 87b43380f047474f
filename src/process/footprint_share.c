/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* footprint_share: the largest share, and its sentence. */
#include "footprint_share.h"

#include <stdio.h>

#include "../base/arith.h"
#include "../base/compiler.h"
#include "../base/log.h"

/* --- the largest share ------------------------------------------------------------------------------- */

/* Without more than this part of the live bytes beside them, nothing is said. */
#define SAYS_FROM_PARTS 8

static bool is_silent(const struct tarn_pool *pool)
{
    return pool->debug || pool->passes_through || pool->is_over_callers_memory;
}

/* The bytes that came last, without those by which the live bytes have grown since. If nothing was held before, they are
 * of initial_bytes, or of a request. */
TN_UNSYNCHRONIZED static void add_growth(const struct tarn_pool *pool, size_t live_bytes_max,
                                         struct tn_footprint_share *share)
{
    const size_t *part_bytes = pool->peak.part_bytes;
    size_t live_then = tn_min(part_bytes[TARN_FOOTPRINT_PART_REQUESTED], live_bytes_max);
    size_t came = part_bytes[TARN_FOOTPRINT_PART_TRANSIT];
    size_t unfilled = came - tn_min(came, live_bytes_max - live_then);
    if (unfilled <= share->bytes) return;
    bool is_first = came == pool->own.stats.footprint_bytes_max;
    share->part = is_first ? TARN_FOOTPRINT_PART_INITIAL : TARN_FOOTPRINT_PART_TRANSIT;
    share->bytes = unfilled;
}

TN_UNSYNCHRONIZED struct tn_footprint_share tn_footprint_share_of(const struct tarn_pool *pool,
                                                                  size_t live_bytes_max)
{
    struct tn_footprint_share share = {
        .part = TARN_FOOTPRINT_PART_REQUESTED,
        .is_contiguous = pool->range != NULL,
        .has_slack = pool->growth.stream_slack > 0.0,
        .free_waits = pool->default_free_stream != NULL,
        .reads_environment = pool->reads_environment,
    };
    size_t held_bytes = pool->own.stats.footprint_bytes_max;
    size_t rest_bytes = held_bytes - tn_min(held_bytes, live_bytes_max);
    if (is_silent(pool) || rest_bytes <= live_bytes_max / SAYS_FROM_PARTS) return share;
    for (unsigned part = 1; part < TARN_FOOTPRINT_PART_TRANSIT; part++) {
        if (pool->peak.part_bytes[part] <= share.bytes) continue;
        share.part = (tarn_footprint_part)part;
        share.bytes = pool->peak.part_bytes[part];
    }
    add_growth(pool, live_bytes_max, &share);
    share.bytes = tn_min(share.bytes, rest_bytes);
    if (share.bytes > 0) share.rest_bytes = rest_bytes;
    return share;
}

/* --- the sentence ------------------------------------------------------------------------------------ */

struct advice {
    const char *was;                        /* what the bytes were */
    const char *before, *option, *variable; /* NULL: no option changes it */
    const char *after;                      /* what the option does, or what else helps */
};

static const struct advice advices[TARN_FOOTPRINT_PARTS_MAX] = {
    [TARN_FOOTPRINT_PART_ROUNDING] = { "rounding of sizes", "a smaller ", "chunk_bytes",
                                       "TARN_CHUNK", " rounds less" },
    [TARN_FOOTPRINT_PART_SLICES] = { "free slices in chunks with live ones", "a smaller ",
                                     "chunk_bytes", "TARN_CHUNK", " makes these chunks smaller" },
    [TARN_FOOTPRINT_PART_CAPTURED] = { "free for the graphs of captures alone",
                                       .after = "tarn_capture_release gives them to all" },
    /* The pool grows beside such memory only if no region of it holds the request, or by slack. */
    [TARN_FOOTPRINT_PART_PENDING] = { "freed, in regions too small to be waited for", "",
                                      "contiguous", "TARN_CONTIGUOUS=1",
                                      " joins the free memory of all pieces" },
    [TARN_FOOTPRINT_PART_ARENAS] = { "free in the arenas of threads",
                                     .after = "a pool that one thread uses has none" },
    [TARN_FOOTPRINT_PART_SHUT_IN] = { "free in pieces that live blocks keep", "", "contiguous",
                                      "TARN_CONTIGUOUS=1", " joins the free memory of all pieces" },
    [TARN_FOOTPRINT_PART_ON_HOLD] = { "in pieces that tarn_static_pool_hold keeps",
                                      .after = "tarn_static_pool_unhold lets them go" },
    [TARN_FOOTPRINT_PART_INITIAL] = { "free in the first piece", "a smaller ", "initial_bytes",
                                      "TARN_INITIAL", " makes it smaller" },
    [TARN_FOOTPRINT_PART_WHOLLY_FREE] = { "wholly free pieces", "", "release_threshold_bytes",
                                          "TARN_RELEASE", " gives them back" },
    [TARN_FOOTPRINT_PART_EDGES] = { "ends of pieces, too small for a chunk", "a smaller ",
                                    "chunk_bytes", "TARN_CHUNK", " leaves less" },
    [TARN_FOOTPRINT_PART_UNRELEASED] = { "given back, and the vendor did not take them",
                                         .after = "the log tells of each refusal" },
    [TARN_FOOTPRINT_PART_TRANSIT] = { "growth that was not needed", "a smaller ", "growth_factor",
                                      "TARN_GROWTH", " grows by less" },
};

static const struct advice smaller_steps = { "free in steps that live blocks keep", "a smaller ",
                                             "step_bytes", "TARN_STEP", " lets them keep less" };
static const struct advice fixed_steps = { "growth that was not needed", "with ", "step_bytes",
                                           "TARN_STEP", " a pool maps only what a request misses" };
static const struct advice less_slack = { "freed, and waited for the work of streams", "a smaller ",
                                          "stream_slack", "TARN_STREAM_SLACK",
                                          " makes streams wait for it, too" };
static const struct advice less_pending = { "freed, and waited for the work of streams",
                                            "a smaller ", "pending_factor_max", "TARN_PENDING_MAX",
                                            " makes frees wait for it" };
static const struct advice scattered = { "freed, in regions too small to be waited for",
                                         .after = "smaller requests fit" };

static const struct advice *advice_for(const struct tn_footprint_share *share)
{
    bool is_growth = share->part == TARN_FOOTPRINT_PART_TRANSIT;
    if (share->is_contiguous && is_growth) return &fixed_steps;
    if (share->is_contiguous && share->part == TARN_FOOTPRINT_PART_SHUT_IN) return &smaller_steps;
    if (share->has_slack && share->part == TARN_FOOTPRINT_PART_PENDING) return &less_slack;
    if (share->free_waits && share->part == TARN_FOOTPRINT_PART_PENDING) return &less_pending;
    if (share->is_contiguous && share->part == TARN_FOOTPRINT_PART_PENDING) return &scattered;
    return &advices[share->part];
}

struct tn_footprint_sentence tn_footprint_sentence(const struct tn_footprint_share *share)
{
    struct tn_footprint_sentence sentence;
    const struct advice *advice = advice_for(share);
    char option[80] = "";
    if (advice->option && share->reads_environment)
        snprintf(option, sizeof option, "%s%s (%s)", advice->before, advice->option,
                 advice->variable);
    else if (advice->option)
        snprintf(option, sizeof option, "%s%s", advice->before, advice->option);
    int length = snprintf(sentence.text, sizeof sentence.text, "%s%s beyond the live bytes",
                          share->bytes < share->rest_bytes ? "Of " : "",
                          tn_bytes_text(share->rest_bytes).text);
    if (share->bytes < share->rest_bytes)
        length += snprintf(sentence.text + length, sizeof sentence.text - (size_t)length, ", %s",
                           tn_bytes_text(share->bytes).text);
    snprintf(sentence.text + length, sizeof sentence.text - (size_t)length, " were %s: %s%s.",
             advice->was, option, advice->after);
    return sentence;
}
