/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* waves: the device that runs a kernel: its events, its multiprocessors, and the waves on them. */
#ifndef TN_MODEL_WAVES_H
#define TN_MODEL_WAVES_H

#include <stdint.h>

#include <memory>
#include <queue>
#include <vector>

#include "costs.h"
#include "device_heap/meetings.h"
#include "fiber.h"
#include "memory.h"
#include "model_device.h"

namespace model
{

struct wave;

/* Lanes of a wave that have asked for the same kind of operation at the same time: one instruction. They go
 * on together, when the last of them has its answer. */
struct volley {
    fibers::operation what;
    tn_mask lanes;
    tn_mask arrived; /* those of them whose requests have come to their words */
    double done;     /* when the last of these is */
};

struct lane {
    explicit lane(void (*body)()) : fiber(body)
    {
    }

    model::fiber fiber;
    wave *of;
    uint32_t number;
    bool is_done;
    double sent_until; /* when what it has sent off will be done */
    request asked;
    volley *with; /* who else has asked */
    uint64_t answer;
    uint64_t random_state;
};

struct wave {
    wave(uint32_t wave_number, uint32_t lane_count, uint32_t on_multiprocessor)
        : number(wave_number), multiprocessor(on_multiprocessor), lanes(lane_count),
          meetings(lane_count)
    {
    }

    uint32_t number, multiprocessor;
    std::vector<std::unique_ptr<lane>> lanes;
    fibers::meetings meetings;
    double busy_at = -1; /* when a lane has last wanted the multiprocessor, */
    double busy_from;    /* when it got it, */
    uint32_t busy_lanes; /* and how many have wanted it at that time */
    double asked_at = -1;
    volley *asking; /* of the lanes that have asked at that time */
};

/* A lane goes on; or, if there is a request, it has arrived at its word. */
struct event {
    double when;
    uint64_t number; /* of those at the same time the first goes first */
    lane *who;       /* null: no lane waits for the answer */
    request *asked;
};

inline bool operator<(const event &a, const event &b)
{
    return a.when != b.when ? a.when > b.when : a.number > b.number;
}

struct device {
    explicit device(const model::kernel &of)
        : kernel(of), multiprocessor_is_free(MULTIPROCESSORS), waves(of.wave_count),
          waves_left(of.wave_count / WAVES_OF_BLOCK + 1)
    {
    }

    const model::kernel &kernel;
    double now = 0;
    uint64_t event_count = 0;
    std::priority_queue<event> events;
    model::cache cache;
    std::vector<double> multiprocessor_is_free;
    std::vector<std::unique_ptr<wave>> waves; /* that have begun and not ended */
    std::vector<uint32_t> waves_left;         /* of each block */
    uint32_t next_block = 0;
    uint64_t operation_count = 0, pause_count = 0;
    lane *current = nullptr;
};

extern device *running; /* or null: outside of a kernel */

/* A request whose answer no lane waits for must be allocated by new, and is deleted when it is done. */
void post(double when, lane *who, request *asked);
void go_on_at(lane *who, double when);

/* The time from which on the lane's multiprocessor is busy for it, for `busy` ns. Lanes of a wave that ask at
 * the same time are in step, and share one instruction. */
double lane_time(const lane *own, double busy);

/* The volley of the lanes of its wave that ask with this one. */
volley *join_volley(lane *own, fibers::operation what);

/* Returns when this lane goes on. */
void give_way();

/* If all remaining lanes of the wave wait, the meetings that are complete are held. */
void hold_meetings(wave *own);

} // namespace model

#endif
