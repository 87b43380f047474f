/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * mesh_tables: one state of the mesh as dense device arrays.
 *
 * Each function below makes one group of tables, as a few kernels would: it allocates what it needs
 * on the way, computes, and frees it again. Cost: O(triangles), times the triangles around a vertex
 * (at most 8) for the edges.
 */
#include "mesh_tables.h"

#include <stdlib.h>

#include "flags.h"
#include "support.h"

/* --- numbering ------------------------------------------------------------------------------ */

/* Numbers the vertices in the order in which the triangles name them, writes triangle -> vertex in
 * those numbers, and returns how many there are. vertex_slot_out has each number's slot. */
static int32_t number_vertices(const struct mesh *mesh, const int32_t *leaf,
                               int32_t *triangle_vertex_out, int32_t *vertex_slot_out)
{
    int32_t *number_of_slot = host_alloc((size_t)mesh->vertex_slot_count * sizeof(int32_t));
    for (int32_t slot = 0; slot < mesh->vertex_slot_count; slot++) {
        number_of_slot[slot] = MESH_NONE;
    }

    int32_t vertex_count = 0;
    for (int32_t side = 0; side < 3 * mesh->leaf_count; side++) {
        int32_t slot = mesh->triangle[leaf[side / 3]].vertex[side % 3];
        if (number_of_slot[slot] == MESH_NONE) {
            vertex_slot_out[vertex_count] = slot;
            number_of_slot[slot] = vertex_count++;
        }
        triangle_vertex_out[side] = number_of_slot[slot];
    }
    free(number_of_slot);
    return vertex_count;
}

/* An array with values[slot] of each vertex. */
static struct array gather(struct array_space *space, const double *values,
                           const int32_t *vertex_slot, int32_t vertex_count)
{
    struct array gathered = array_alloc(space, vertex_count, sizeof(double));
    double *out = gathered.host;
    for (int32_t i = 0; i < vertex_count; i++) {
        out[i] = values[vertex_slot[i]];
    }
    array_upload(space, &gathered);
    return gathered;
}

static struct array gather_levels(struct array_space *space, const struct mesh *mesh,
                                  const int32_t *leaf)
{
    struct array levels = array_alloc(space, mesh->leaf_count, sizeof(uint8_t));
    uint8_t *level = levels.host;
    for (int32_t t = 0; t < mesh->leaf_count; t++) {
        level[t] = (uint8_t)mesh->triangle[leaf[t]].level;
    }
    array_upload(space, &levels);
    return levels;
}

/* --- edges ---------------------------------------------------------------------------------- */

/* The two ends of a side, the lower number first. */
struct ends {
    int32_t low;
    int32_t high;
};

static struct ends side_ends(const int32_t *triangle_vertex, int32_t side)
{
    int32_t triangle = side / 3;
    int32_t a = triangle_vertex[3 * triangle + (side + 1) % 3];
    int32_t b = triangle_vertex[3 * triangle + (side + 2) % 3];
    return a < b ? (struct ends){ a, b } : (struct ends){ b, a };
}

/* A list of things by vertex: those of vertex v are item[offset[v]] to item[offset[v + 1]]. */
struct grouping {
    struct array offsets;
    struct array items;
};

/* Counting sort: key[i], which is a vertex, says where i belongs. */
static struct grouping group_by_vertex(struct array_space *space, const int32_t *key,
                                       int32_t item_count, int32_t vertex_count)
{
    struct grouping grouping = { array_alloc(space, vertex_count + 1, sizeof(int32_t)),
                                 array_alloc(space, item_count, sizeof(int32_t)) };
    struct array cursors = array_alloc(space, vertex_count, sizeof(int32_t));
    array_clear(space, &grouping.offsets);
    int32_t *offset = grouping.offsets.host;
    int32_t *item = grouping.items.host;
    int32_t *cursor = cursors.host;

    for (int32_t i = 0; i < item_count; i++) {
        offset[key[i] + 1]++;
    }
    for (int32_t v = 0; v < vertex_count; v++) {
        offset[v + 1] += offset[v];
        cursor[v] = offset[v];
    }
    for (int32_t i = 0; i < item_count; i++) {
        item[cursor[key[i]]++] = i;
    }

    array_upload(space, &grouping.offsets);
    array_upload(space, &grouping.items);
    array_free(space, &cursors);
    return grouping;
}

/* For each side, the first side with the same ends, itself if there is none before. */
static struct array match_sides(struct array_space *space, const int32_t *triangle_vertex,
                                int32_t side_count, int32_t vertex_count)
{
    struct array lows = array_alloc(space, side_count, sizeof(int32_t));
    int32_t *low = lows.host;
    for (int32_t side = 0; side < side_count; side++) {
        low[side] = side_ends(triangle_vertex, side).low;
    }
    array_upload(space, &lows);
    struct grouping sides = group_by_vertex(space, low, side_count, vertex_count);
    array_free(space, &lows);

    struct array matches = array_alloc(space, side_count, sizeof(int32_t));
    int32_t *match = matches.host;
    const int32_t *offset = sides.offsets.host;
    const int32_t *item = sides.items.host;
    for (int32_t v = 0; v < vertex_count; v++) {
        for (int32_t i = offset[v]; i < offset[v + 1]; i++) {
            int32_t high = side_ends(triangle_vertex, item[i]).high;
            int32_t first = offset[v];
            while (side_ends(triangle_vertex, item[first]).high != high) {
                first++;
            }
            match[item[i]] = item[first];
        }
    }
    array_upload(space, &matches);
    array_free(space, &sides.offsets);
    array_free(space, &sides.items);
    return matches;
}

/* A flag for each side that is the first of its edge. */
static struct array flag_owners(struct array_space *space, const int32_t *match, int32_t side_count)
{
    struct array owners = array_alloc(space, side_count, sizeof(uint8_t));
    uint8_t *is_owner = owners.host;
    for (int32_t side = 0; side < side_count; side++) {
        is_owner[side] = match[side] == side;
    }
    array_upload(space, &owners);
    return owners;
}

/* Numbers the edges, in the order of their first sides, and makes triangle -> edge. */
static void build_triangle_edge(struct mesh_tables *tables, struct array_space *space)
{
    int32_t side_count = 3 * tables->triangle_count;
    const int32_t *triangle_vertex = tables->array[MESH_TABLE_TRIANGLE_VERTEX].host;
    struct array matches = match_sides(space, triangle_vertex, side_count, tables->vertex_count);
    const int32_t *match = matches.host;
    struct array owners = flag_owners(space, match, side_count);
    struct array sums = flags_prefix_sum(space, &owners);
    const int32_t *sum = sums.host;
    array_free(space, &owners);

    struct array *table = &tables->array[MESH_TABLE_TRIANGLE_EDGE];
    *table = array_alloc(space, side_count, sizeof(int32_t));
    int32_t *triangle_edge = table->host;
    for (int32_t side = 0; side < side_count; side++) {
        triangle_edge[side] = sum[match[side]];
    }
    tables->edge_count = sum[side_count];
    array_upload(space, table);
    array_free(space, &sums);
    array_free(space, &matches);
}

/* edge -> vertex, and of how many triangles each edge is a side. */
static void build_edges(struct mesh_tables *tables, struct array_space *space)
{
    struct array *vertices = &tables->array[MESH_TABLE_EDGE_VERTEX];
    struct array *counts = &tables->array[MESH_TABLE_EDGE_TRIANGLE_COUNT];
    *vertices = array_alloc(space, tables->edge_count, sizeof(struct ends));
    *counts = array_alloc(space, tables->edge_count, sizeof(uint8_t));
    array_clear(space, counts);

    const int32_t *triangle_vertex = tables->array[MESH_TABLE_TRIANGLE_VERTEX].host;
    const int32_t *triangle_edge = tables->array[MESH_TABLE_TRIANGLE_EDGE].host;
    struct ends *edge_vertex = vertices->host;
    uint8_t *count = counts->host;
    for (int32_t side = 0; side < 3 * tables->triangle_count; side++) {
        edge_vertex[triangle_edge[side]] = side_ends(triangle_vertex, side);
        count[triangle_edge[side]]++;
    }
    array_upload(space, vertices);
    array_upload(space, counts);
}

static void build_boundary(struct mesh_tables *tables, struct array_space *space)
{
    struct array flags = array_alloc(space, tables->edge_count, sizeof(uint8_t));
    const uint8_t *count = tables->array[MESH_TABLE_EDGE_TRIANGLE_COUNT].host;
    uint8_t *is_boundary = flags.host;
    for (int32_t edge = 0; edge < tables->edge_count; edge++) {
        is_boundary[edge] = count[edge] == 1;
    }
    array_upload(space, &flags);
    tables->array[MESH_TABLE_BOUNDARY_EDGE] =
        flags_list(space, &flags, &tables->boundary_edge_count);
    array_free(space, &flags);
}

/* --- around a vertex ------------------------------------------------------------------------ */

static void build_vertex_triangle(struct mesh_tables *tables, struct array_space *space)
{
    int32_t side_count = 3 * tables->triangle_count;
    struct grouping around = group_by_vertex(space, tables->array[MESH_TABLE_TRIANGLE_VERTEX].host,
                                             side_count, tables->vertex_count);

    /* The grouped items are corners, three a triangle. */
    struct array *table = &tables->array[MESH_TABLE_VERTEX_TRIANGLE];
    *table = array_alloc(space, side_count, sizeof(int32_t));
    const int32_t *corner = around.items.host;
    int32_t *vertex_triangle = table->host;
    for (int32_t i = 0; i < side_count; i++) {
        vertex_triangle[i] = corner[i] / 3;
    }
    array_upload(space, table);
    tables->array[MESH_TABLE_VERTEX_OFFSET] = around.offsets;
    array_free(space, &around.items);
}

/* --- geometry ------------------------------------------------------------------------------- */

struct gradient {
    double x;
    double y;
};

/* Twice the area of each triangle is (b - a) x (c - a); the gradient of the function that is linear
 * on it follows from the same two vectors. */
static void build_geometry(struct mesh_tables *tables, struct array_space *space)
{
    struct array *areas = &tables->array[MESH_TABLE_AREA];
    struct array *gradients = &tables->array[MESH_TABLE_GRADIENT];
    *areas = array_alloc(space, tables->triangle_count, sizeof(double));
    *gradients = array_alloc(space, tables->triangle_count, sizeof(struct gradient));
    const double *x = tables->array[MESH_TABLE_X].host;
    const double *y = tables->array[MESH_TABLE_Y].host;
    const double *u = tables->array[MESH_TABLE_SOLUTION].host;
    double *area = areas->host;
    struct gradient *gradient = gradients->host;

    const int32_t *vertex = tables->array[MESH_TABLE_TRIANGLE_VERTEX].host;
    for (int32_t t = 0; t < tables->triangle_count; t++, vertex += 3) {
        int32_t a = vertex[0], b = vertex[1], c = vertex[2];
        double bx = x[b] - x[a], by = y[b] - y[a], bu = u[b] - u[a];
        double cx = x[c] - x[a], cy = y[c] - y[a], cu = u[c] - u[a];
        double twice_area = bx * cy - by * cx;
        area[t] = 0.5 * twice_area;
        gradient[t] = (struct gradient){ .x = (bu * cy - cu * by) / twice_area,
                                         .y = (cu * bx - bu * cx) / twice_area };
    }
    array_upload(space, areas);
    array_upload(space, gradients);
}

/* --- life ----------------------------------------------------------------------------------- */

static void build_triangles_and_vertices(struct mesh_tables *tables, struct array_space *space,
                                         const struct mesh *mesh, const struct field *solution,
                                         const struct field *linear)
{
    int32_t *vertex_slot = host_alloc((size_t)mesh->vertex_slot_count * sizeof(int32_t));
    struct array *array = tables->array;
    array[MESH_TABLE_TRIANGLE_VERTEX] = array_alloc(space, 3 * mesh->leaf_count, sizeof(int32_t));
    int32_t count =
        number_vertices(mesh, tables->leaf, array[MESH_TABLE_TRIANGLE_VERTEX].host, vertex_slot);
    array_upload(space, &array[MESH_TABLE_TRIANGLE_VERTEX]);

    array[MESH_TABLE_TRIANGLE_LEVEL] = gather_levels(space, mesh, tables->leaf);
    array[MESH_TABLE_X] = gather(space, mesh->x, vertex_slot, count);
    array[MESH_TABLE_Y] = gather(space, mesh->y, vertex_slot, count);
    array[MESH_TABLE_SOLUTION] = gather(space, solution->value, vertex_slot, count);
    array[MESH_TABLE_LINEAR] = gather(space, linear->value, vertex_slot, count);
    tables->vertex_count = count;
    free(vertex_slot);
}

void mesh_tables_build(struct mesh_tables *tables, struct array_space *space,
                       const struct mesh *mesh, const struct field *solution,
                       const struct field *linear)
{
    *tables = (struct mesh_tables){
        .triangle_count = mesh->leaf_count,
        .leaf = host_alloc((size_t)mesh->leaf_count * sizeof(int32_t)),
    };
    mesh_list_leaves(mesh, tables->leaf);
    array_label_begin("tables");
    build_triangles_and_vertices(tables, space, mesh, solution, linear);
    build_triangle_edge(tables, space);
    build_edges(tables, space);
    build_boundary(tables, space);
    build_vertex_triangle(tables, space);
    build_geometry(tables, space);
    array_label_end();
}

void mesh_tables_free(struct mesh_tables *tables, struct array_space *space)
{
    for (int i = 0; i < MESH_TABLE_COUNT; i++) {
        array_free(space, &tables->array[i]);
    }
    free(tables->leaf);
    *tables = (struct mesh_tables){ 0 };
}
