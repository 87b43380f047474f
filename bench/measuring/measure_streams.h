/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure_streams: what an allocator costs a thread that submits work to several streams.
 *
 * In the first visit (measure_rounds.h):
 *   1. on an instance of its own, a pass with the contents of every block verified and the calls for streams
 *      counted. Held bytes, vendor calls and metadata are those of this pass.
 *   2. on another instance a pass to warm up, and repetitions: passes that together make 12 ms, each taken in parts
 *      of 256 turns. The thread's time ends when a part is submitted, the whole time when
 *      the streams have done it.
 *   3. a pass with the clock read around every call of the allocator, for the percentiles.
 * Later visits: 2. The harness is the work alone: the same fills on the same streams, in blocks that stay.
 */
#ifndef TN_MEASURE_STREAMS_H
#define TN_MEASURE_STREAMS_H

#include "measure_rounds.h"

extern const struct tn_measure_method tn_measure_streams;

#endif
