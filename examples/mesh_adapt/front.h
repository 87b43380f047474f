/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * front: a circle that moves across the square, and how fine the mesh has to be around it.
 *
 * Each place is passed twice, by the circle's leading and trailing arc, and lies in the coarse inside
 * between. So refined and coarsened places are refined again.
 *
 *     wanted size of a triangle
 *          ^
 *          |  \                    /       finest + grading * distance
 *          |     \              /
 *          |        \        /
 *   finest |           \_ _/
 *          +--------------|--------------> distance from the front
 *
 * With a grading below 1 a triangle that the front passes through is always too large, however coarse it is.
 * So a front cannot slip through the mesh unseen.
 */
#ifndef FRONT_H
#define FRONT_H

#include <stdint.h>

#include "mesh.h"

struct front {
    struct point centre; /* of the circle */
    double radius;
};

/* The front at `step`, 0 to step_count - 1: it enters at the left and leaves at the right. */
struct front front_at_step(int32_t step, int32_t step_count);

/* The lowest level, 0 to depth, at which a triangle around `point` is as small as it should be. */
int32_t front_wanted_level(const struct front *front, struct point point, int32_t depth);

/* The solution that a solver would have computed: from 1 inside to -1 outside, in a thin layer. */
double front_profile(const struct front *front, struct point point);

#endif
