/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * mesh_check: proves after each step that mesh, field and device arrays are right.
 *
 * It trusts only triangle -> vertex and the coordinates, not the tree of bisections, so it finds mistakes
 * there. A fault ends the program with a message.
 */
#ifndef MESH_CHECK_H
#define MESH_CHECK_H

#include "device_array.h"
#include "mesh_tables.h"

/* Each device array, read back, equals its twin on the host. */
void mesh_check_device(const struct mesh_tables *tables, struct array_space *space);

/* The triangles are all counterclockwise and fill the square: their areas add up to 1. */
void mesh_check_area(const struct mesh_tables *tables);

/* No vertex lies inside a side: an edge has one triangle if it is on the square's boundary, else
 * two. And the edges enclose one piece without a hole: vertices - edges + triangles = 1. */
void mesh_check_conforming(const struct mesh_tables *tables);

/* The field that began as x + 2y still is, after all transfers. */
void mesh_check_linear_field(const struct mesh_tables *tables);

/* The integral of the solution over the square: one number to compare two runs by. */
double mesh_integral(const struct mesh_tables *tables);

#endif
