/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * costs: times of single operations on an H200, in nanoseconds.
 *
 * Measured: 300 cycles for the way to the cache and back; 1.3 thousand million additions a second to a word;
 * 1.7 to a slice; the launch of an empty kernel. The others were fitted to the figures of
 * bench/results/h200-heap-2026-11-23, for the heap measured there and with one lane a wave. LANE_IN_STEP and
 * MEETING, for waves of many lanes, are guesses.
 */
#ifndef TN_MODEL_COSTS_H
#define TN_MODEL_COSTS_H

#include <stdint.h>

namespace model
{

constexpr double ROUND_TRIP = 150;
constexpr double WORD_TURN = 0.77;
constexpr double SLICE_TURN = 0.6;
constexpr double LAUNCH = 5500;
constexpr double THINKING = 200;      /* of a wave before it asks for something */
constexpr double SENDING_OFF = 60;    /* and before it sends off what it does not wait for */
constexpr double STORING = 4;         /* in a row */
constexpr double MULTIPROCESSOR = 15; /* of which nobody else has it meanwhile */
constexpr double WAVE_BEGINS = 250;
constexpr double WAVE_BEGINS_ALONE = 20;
constexpr double FENCE = 500;
constexpr double WAKING_UP = 30;
constexpr double LANE_IN_STEP = 1; /* of the multiprocessor, for one more lane of an instruction */
constexpr double MEETING = 10;

constexpr uint32_t MULTIPROCESSORS = 132;
constexpr uint32_t BLOCKS_AT_ONCE = 6; /* of a multiprocessor, with 40 registers a thread */
constexpr uint32_t WAVES_OF_BLOCK = 8;
constexpr uint32_t LOAD_BYTES = 32; /* that a load brings, for all lanes in step */
constexpr uint32_t SLICES = 64;     /* of the cache */

} // namespace model

#endif
