/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * mesh_tables: one state of the mesh as the dense device arrays that a solver works on.
 *
 * The tree of bisections is not among them: triangles and vertices are numbered from 0 without
 * gaps, and everything else, edges included, is derived from triangle to vertex alone. When the
 * mesh changes, all tables are made anew beside the old ones, which go afterwards.
 *
 *     triangle -> vertex      3 a triangle, counterclockwise
 *     side 3t + i             the side of triangle t opposite to its vertex i
 *     triangle -> edge        which edge each side is; two triangles share an edge inside
 *     edge -> vertex          2 an edge, the lower number first
 *     vertex -> triangle      the triangles around vertex v: list[offset[v]] to list[offset[v + 1]]
 */
#ifndef MESH_TABLES_H
#define MESH_TABLES_H

#include <stdint.h>

#include "device_array.h"
#include "field.h"
#include "mesh.h"

enum mesh_table {
    MESH_TABLE_X,                   /* double, a vertex */
    MESH_TABLE_Y,                   /* double, a vertex */
    MESH_TABLE_SOLUTION,            /* double, a vertex */
    MESH_TABLE_LINEAR,              /* double, a vertex */
    MESH_TABLE_TRIANGLE_VERTEX,     /* int32_t, 3 a triangle */
    MESH_TABLE_TRIANGLE_LEVEL,      /* uint8_t, a triangle */
    MESH_TABLE_TRIANGLE_EDGE,       /* int32_t, 3 a triangle */
    MESH_TABLE_EDGE_VERTEX,         /* int32_t, 2 an edge */
    MESH_TABLE_EDGE_TRIANGLE_COUNT, /* uint8_t, an edge */
    MESH_TABLE_BOUNDARY_EDGE,       /* int32_t, an edge with one triangle */
    MESH_TABLE_VERTEX_OFFSET,       /* int32_t, a vertex, and one more */
    MESH_TABLE_VERTEX_TRIANGLE,     /* int32_t, 3 a triangle */
    MESH_TABLE_AREA,                /* double, a triangle */
    MESH_TABLE_GRADIENT,            /* double, 2 a triangle: the slope of the solution */
    MESH_TABLE_COUNT
};

struct mesh_tables {
    int32_t triangle_count;
    int32_t vertex_count;
    int32_t edge_count;
    int32_t boundary_edge_count;
    struct array array[MESH_TABLE_COUNT];
    int32_t *leaf; /* host only: the slot in the mesh of each triangle */
};

/* Makes all tables from the mesh and the two fields on it. */
void mesh_tables_build(struct mesh_tables *tables, struct array_space *space,
                       const struct mesh *mesh, const struct field *solution,
                       const struct field *linear);

void mesh_tables_free(struct mesh_tables *tables, struct array_space *space);

#endif
