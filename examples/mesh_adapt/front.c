/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* front: a circle that moves across the square, and how fine the mesh has to be around it. */
#include "front.h"

#include <math.h>

static const double circle_radius = 0.22;
static const double layer_thickness = 0.02;
static const double grading = 0.2;
static const int32_t level_min = 4;

/* The circle's centre at the first and the last step: outside, and off the square's symmetries, so
 * that no two parts of the mesh are mirror images of each other. */
static const struct point path_begin = { -0.15, 0.31 };
static const struct point path_end = { 1.17, 0.66 };

struct front front_at_step(int32_t step, int32_t step_count)
{
    double progress = step_count > 1 ? (double)step / (step_count - 1) : 0.0;
    return (struct front){
        .centre = { path_begin.x + (path_end.x - path_begin.x) * progress,
                    path_begin.y + (path_end.y - path_begin.y) * progress },
        .radius = circle_radius,
    };
}

/* Positive inside the circle. */
static double depth_inside(const struct front *front, struct point point)
{
    return front->radius - hypot(point.x - front->centre.x, point.y - front->centre.y);
}

/* The base of a triangle of that level: the diagonal of the square at level 0, and half the area at
 * each level more. */
static double size_at_level(int32_t level)
{
    return exp2(0.5 * (1 - level));
}

int32_t front_wanted_level(const struct front *front, struct point point, int32_t depth)
{
    double wanted_size = size_at_level(depth) + grading * fabs(depth_inside(front, point));
    int32_t level = (int32_t)ceil(1.0 - 2.0 * log2(wanted_size));
    if (level < level_min) level = level_min;
    return level < depth ? level : depth;
}

double front_profile(const struct front *front, struct point point)
{
    return tanh(depth_inside(front, point) / layer_thickness);
}
