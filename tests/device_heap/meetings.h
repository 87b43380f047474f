/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * meetings: which lanes of a wave wait for each other, where, and what each is told.
 *
 * A lane comes to a meeting and waits. Whoever runs the lanes decides when a meeting that is complete is held; then its
 * lanes have their answers and wait no more.
 */
#ifndef TN_MEETINGS_H
#define TN_MEETINGS_H

#include <string.h>

#include <vector>

#include "fiber_platform.h"

namespace fibers
{

/* What a lane has come to. */
struct meeting {
    meeting_kind what;
    const char *file; /* where in the source */
    int line;
    tn_mask lanes; /* who comes */
    uint64_t value;
    uint64_t wanted; /* the lane of a shuffle, the group of an or */
};

inline bool is_same_meeting(const meeting &a, const meeting &b)
{
    return a.what == b.what && a.line == b.line && a.lanes == b.lanes &&
           (a.file == b.file || strcmp(a.file, b.file) == 0);
}

class meetings
{
  public:
    explicit meetings(uint32_t lane_count)
        : left_(lane_count < 64 ? ((tn_mask)1 << lane_count) - 1 : ~(tn_mask)0), at_(lane_count),
          results_(lane_count)
    {
    }

    /* Lanes that have not ended, and those of them that wait. */
    tn_mask left() const
    {
        return left_;
    }

    tn_mask waiting() const
    {
        return waiting_;
    }

    void come(uint32_t lane, const meeting &to)
    {
        at_[lane] = to;
        waiting_ |= (tn_mask)1 << lane;
    }

    void end(uint32_t lane)
    {
        left_ &= ~((tn_mask)1 << lane);
    }

    const meeting &of(uint32_t lane) const
    {
        return at_[lane];
    }

    /* Lanes that have come to the same meeting as this one. */
    tn_mask lanes_with(uint32_t lane) const
    {
        tn_mask lanes = 0;
        for (tn_mask rest = waiting_; rest != 0; rest &= rest - 1) {
            uint32_t other = tn_first_one(rest);
            if (is_same_meeting(at_[other], at_[lane])) lanes |= (tn_mask)1 << other;
        }
        return lanes;
    }

    /* Whether these are all that come to this lane's meeting. Who asks who is here waits for nobody. */
    bool is_complete(uint32_t lane, tn_mask lanes) const
    {
        const meeting &at = at_[lane];
        if (at.what == meeting_kind::ACTIVE) return true;
        return lanes == (at.what == meeting_kind::WHOLE ? left_ : at.lanes);
    }

    /* Of lanes that have come to the same one. */
    void hold(tn_mask lanes)
    {
        for (tn_mask rest = lanes; rest != 0; rest &= rest - 1) {
            uint32_t lane = tn_first_one(rest);
            results_[lane] = answer(lanes, at_[lane]);
        }
        waiting_ &= ~lanes;
    }

    uint64_t result(uint32_t lane) const
    {
        return results_[lane];
    }

  private:
    uint64_t answer(tn_mask lanes, const meeting &asked) const
    {
        if (asked.what == meeting_kind::ACTIVE || asked.what == meeting_kind::WHOLE) return lanes;
        if (asked.what == meeting_kind::SHUFFLE) return at_[asked.wanted].value;
        uint64_t result = 0;
        for (tn_mask rest = lanes; rest != 0; rest &= rest - 1) {
            uint32_t other = tn_first_one(rest);
            uint64_t value = at_[other].value;
            if (asked.what == meeting_kind::OR && (asked.wanted >> other & 1) != 0) result |= value;
            if (asked.what == meeting_kind::BALLOT && value != 0) result |= (uint64_t)1 << other;
            if (asked.what == meeting_kind::MATCH && value == asked.value)
                result |= (uint64_t)1 << other;
        }
        return result;
    }

    tn_mask left_;
    tn_mask waiting_ = 0;
    std::vector<meeting> at_;
    std::vector<uint64_t> results_;
};

/* What the only lane of a wave is told, at once. */
inline uint64_t answer_alone(meeting_kind what, uint64_t value, uint64_t wanted)
{
    switch (what) {
    case meeting_kind::SHUFFLE:
        return value;
    case meeting_kind::OR:
        return (wanted & 1) != 0 ? value : 0;
    case meeting_kind::BALLOT:
        return value != 0;
    case meeting_kind::SYNC:
        return 0;
    default:
        return 1;
    }
}

} // namespace fibers

#endif
