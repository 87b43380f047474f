/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* model_device: the lanes' operations, and how long they take. */
#include "model_device.h"

#include <algorithm>

#include "waves.h"

namespace model
{

uint64_t ask(const request &asked)
{
    if (running == nullptr) return do_at_once(asked);
    lane *own = running->current;
    double when = lane_time(own, MULTIPROCESSOR) + THINKING + ROUND_TRIP / 2;
    running->operation_count++;
    own->asked = asked;
    own->with = join_volley(own, asked.what);
    post(when, own, &own->asked);
    give_way();
    return own->answer;
}

void fence()
{
    if (running == nullptr) return;
    lane *own = running->current;
    go_on_at(own, std::max(running->now + FENCE, own->sent_until));
    give_way();
}

} // namespace model

using model::running;

namespace fibers
{

void send_off(operation what, void *address, size_t size_bytes, uint64_t value)
{
    model::request asked = { what, address, size_bytes, value, 0 };
    if (running == nullptr) {
        model::do_at_once(asked);
        return;
    }
    model::lane *own = running->current;
    bool is_store = what == operation::STORE;
    double when = model::lane_time(own, is_store ? model::STORING / 2 : model::MULTIPROCESSOR);
    when += is_store ? model::STORING : model::SENDING_OFF;
    running->operation_count++;
    own->sent_until = std::max(own->sent_until, when + model::ROUND_TRIP);
    model::post(when + model::ROUND_TRIP / 2, nullptr, new model::request(asked));
    model::go_on_at(own, when);
    model::give_way();
}

uint64_t meet(meeting_kind what, const char *file, int line, tn_mask lanes, uint64_t value,
              uint64_t wanted)
{
    if (running == nullptr || running->kernel.lane_count == 1)
        return answer_alone(what, value, wanted);
    model::lane *own = running->current;
    own->of->meetings.come(own->number, { what, file, line, lanes, value, wanted });
    model::hold_meetings(own->of);
    model::give_way();
    return own->of->meetings.result(own->number);
}

} // namespace fibers

uint32_t tn_lane()
{
    return running == nullptr ? 0 : running->current->number;
}

uint32_t tn_place()
{
    if (running == nullptr) return 0;
    uint32_t wave = running->current->of->number;
    return wave / model::WAVES_OF_BLOCK ^ wave % model::WAVES_OF_BLOCK << 26;
}

/* A pause takes between 0 and twice its length. */
void tn_pause(uint32_t nanoseconds)
{
    if (running == nullptr) return;
    model::lane *own = running->current;
    own->random_state ^= own->random_state << 13;
    own->random_state ^= own->random_state >> 7;
    own->random_state ^= own->random_state << 17;
    running->pause_count++;
    model::go_on_at(own, running->now + model::WAKING_UP +
                             2.0 * nanoseconds * (double)(own->random_state % 1024) / 1024);
    model::give_way();
}
