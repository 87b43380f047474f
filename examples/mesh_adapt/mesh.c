/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * mesh: newest-vertex bisection of the unit square.
 *
 * Cost: bisecting and uniting O(1) for each triangle that changes; one bisection can cause at most
 * `level` others. Recursion goes one level lower at each step, so it is never deeper than the mesh.
 */
#include "mesh.h"

#include <stdlib.h>

#include "support.h"

/* --- slots ---------------------------------------------------------------------------------- */

static int32_t take_vertex(struct mesh *mesh, double x, double y)
{
    int32_t vertex;
    if (mesh->free_vertex_count > 0) {
        vertex = mesh->free_vertex[--mesh->free_vertex_count];
    } else {
        vertex = mesh->vertex_slot_count++;
        mesh->x = host_grow(mesh->x, &mesh->x_capacity, vertex + 1, sizeof(*mesh->x));
        mesh->y = host_grow(mesh->y, &mesh->y_capacity, vertex + 1, sizeof(*mesh->y));
    }
    mesh->x[vertex] = x;
    mesh->y[vertex] = y;
    return vertex;
}

static void give_vertex(struct mesh *mesh, int32_t vertex)
{
    mesh->free_vertex = host_grow(mesh->free_vertex, &mesh->free_vertex_capacity,
                                  mesh->free_vertex_count + 1, sizeof(*mesh->free_vertex));
    mesh->free_vertex[mesh->free_vertex_count++] = vertex;
}

/* Takes two neighbouring slots: siblings come and go together. Invalidates pointers to triangles. */
static int32_t take_pair(struct mesh *mesh)
{
    if (mesh->free_pair != MESH_NONE) {
        int32_t first = mesh->free_pair;
        mesh->free_pair = mesh->triangle[first].parent;
        return first;
    }
    int32_t first = mesh->triangle_slot_count;
    mesh->triangle_slot_count += 2;
    mesh->triangle = host_grow(mesh->triangle, &mesh->triangle_capacity, mesh->triangle_slot_count,
                               sizeof(*mesh->triangle));
    return first;
}

static void give_pair(struct mesh *mesh, int32_t first)
{
    mesh->triangle[first].parent = mesh->free_pair;
    mesh->free_pair = first;
}

static bool is_leaf(const struct mesh *mesh, int32_t triangle)
{
    return mesh->triangle[triangle].first_child == MESH_NONE;
}

/* --- bisection ------------------------------------------------------------------------------ */

/* Replaces a neighbour of `triangle`, which may be MESH_NONE. */
static void replace_neighbour(struct mesh *mesh, int32_t triangle, int32_t before, int32_t after)
{
    if (triangle == MESH_NONE) return;
    int32_t *neighbour = mesh->triangle[triangle].neighbour;
    for (int i = 0; i < 3; i++) {
        if (neighbour[i] == before) neighbour[i] = after;
    }
}

/* The new vertex in the middle of the base. */
static int32_t add_middle(struct mesh *mesh, int32_t triangle)
{
    int32_t a = mesh->triangle[triangle].vertex[1];
    int32_t b = mesh->triangle[triangle].vertex[2];
    int32_t middle =
        take_vertex(mesh, 0.5 * (mesh->x[a] + mesh->x[b]), 0.5 * (mesh->y[a] + mesh->y[b]));

    mesh->birth =
        host_grow(mesh->birth, &mesh->birth_capacity, mesh->birth_count + 1, sizeof(*mesh->birth));
    mesh->birth[mesh->birth_count++] = (struct birth){ middle, { a, b } };
    return middle;
}

/* Makes the two children. join_halves sets their neighbours across the halves of the base. */
static void split(struct mesh *mesh, int32_t index, int32_t middle)
{
    int32_t first = take_pair(mesh);
    int32_t second = first + 1;
    struct triangle *parent = &mesh->triangle[index];
    const int32_t *vertex = parent->vertex;
    const int32_t *neighbour = parent->neighbour;

    mesh->triangle[first] = (struct triangle){
        .vertex = { middle, vertex[0], vertex[1] },
        .neighbour = { neighbour[2], MESH_NONE, second },
        .parent = index,
        .first_child = MESH_NONE,
        .level = parent->level + 1,
    };
    mesh->triangle[second] = (struct triangle){
        .vertex = { middle, vertex[2], vertex[0] },
        .neighbour = { neighbour[1], first, MESH_NONE },
        .parent = index,
        .first_child = MESH_NONE,
        .level = parent->level + 1,
    };
    replace_neighbour(mesh, neighbour[2], index, first);
    replace_neighbour(mesh, neighbour[1], index, second);
    parent->first_child = first;
    mesh->leaf_count++;
}

/* Makes the children of two triangles with the same base neighbours across its halves. The two are
 * seen from opposite sides, so the first child of one lies across from the second of the other. */
static void join_halves(struct mesh *mesh, int32_t a, int32_t b)
{
    int32_t a_first = mesh->triangle[a].first_child;
    int32_t b_first = mesh->triangle[b].first_child;
    mesh->triangle[a_first].neighbour[1] = b_first + 1;
    mesh->triangle[b_first + 1].neighbour[2] = a_first;
    mesh->triangle[b_first].neighbour[1] = a_first + 1;
    mesh->triangle[a_first + 1].neighbour[2] = b_first;
}

void mesh_bisect(struct mesh *mesh, int32_t leaf)
{
    int32_t partner = mesh->triangle[leaf].neighbour[0];
    if (partner != MESH_NONE && mesh->triangle[partner].neighbour[0] != leaf) {
        mesh_bisect(mesh, partner);
        partner = mesh->triangle[leaf].neighbour[0]; /* its child with our base */
    }

    int32_t middle = add_middle(mesh, leaf);
    split(mesh, leaf, middle);
    if (partner == MESH_NONE) return;
    split(mesh, partner, middle);
    join_halves(mesh, leaf, partner);
}

void mesh_forget_births(struct mesh *mesh)
{
    mesh->birth_count = 0;
}

/* --- coarsening ----------------------------------------------------------------------------- */

static bool has_two_leaves(const struct mesh *mesh, int32_t triangle)
{
    int32_t first = mesh->triangle[triangle].first_child;
    return first != MESH_NONE && is_leaf(mesh, first) && is_leaf(mesh, first + 1);
}

bool mesh_can_unite(const struct mesh *mesh, int32_t triangle)
{
    if (!has_two_leaves(mesh, triangle)) return false;
    int32_t partner = mesh->triangle[triangle].neighbour[0];
    return partner == MESH_NONE || has_two_leaves(mesh, partner);
}

/* Undoes `split`: gives the children's current outer neighbours back to the parent. */
static void unsplit(struct mesh *mesh, int32_t index)
{
    struct triangle *parent = &mesh->triangle[index];
    int32_t first = parent->first_child;
    parent->neighbour[2] = mesh->triangle[first].neighbour[0];
    parent->neighbour[1] = mesh->triangle[first + 1].neighbour[0];
    replace_neighbour(mesh, parent->neighbour[2], first, index);
    replace_neighbour(mesh, parent->neighbour[1], first + 1, index);
    parent->first_child = MESH_NONE;
    give_pair(mesh, first);
    mesh->leaf_count--;
}

void mesh_unite(struct mesh *mesh, int32_t triangle)
{
    int32_t partner = mesh->triangle[triangle].neighbour[0];
    int32_t first = mesh->triangle[triangle].first_child;
    give_vertex(mesh, mesh->triangle[first].vertex[0]);
    unsplit(mesh, triangle);
    if (partner != MESH_NONE) unsplit(mesh, partner);
}

/* --- queries -------------------------------------------------------------------------------- */

/* Writes the leaves below `triangle` from `leaf_out` on and returns where the next one goes. */
static int32_t *list_leaves_below(const struct mesh *mesh, int32_t triangle, int32_t *leaf_out)
{
    if (is_leaf(mesh, triangle)) {
        *leaf_out = triangle;
        return leaf_out + 1;
    }
    int32_t first = mesh->triangle[triangle].first_child;
    leaf_out = list_leaves_below(mesh, first, leaf_out);
    return list_leaves_below(mesh, first + 1, leaf_out);
}

void mesh_list_leaves(const struct mesh *mesh, int32_t *leaf_out)
{
    leaf_out = list_leaves_below(mesh, 0, leaf_out);
    list_leaves_below(mesh, 1, leaf_out);
}

struct point mesh_middle(const struct mesh *mesh, int32_t triangle)
{
    const int32_t *vertex = mesh->triangle[triangle].vertex;
    return (struct point){
        .x = (mesh->x[vertex[0]] + mesh->x[vertex[1]] + mesh->x[vertex[2]]) / 3.0,
        .y = (mesh->y[vertex[0]] + mesh->y[vertex[1]] + mesh->y[vertex[2]]) / 3.0,
    };
}

/* --- life ----------------------------------------------------------------------------------- */

void mesh_init(struct mesh *mesh)
{
    *mesh = (struct mesh){ .free_pair = MESH_NONE };
    int32_t left_low = take_vertex(mesh, 0.0, 0.0);
    int32_t right_low = take_vertex(mesh, 1.0, 0.0);
    int32_t right_high = take_vertex(mesh, 1.0, 1.0);
    int32_t left_high = take_vertex(mesh, 0.0, 1.0);

    int32_t first = take_pair(mesh);
    mesh->triangle[first] = (struct triangle){
        .vertex = { right_low, right_high, left_low },
        .neighbour = { first + 1, MESH_NONE, MESH_NONE },
        .parent = MESH_NONE,
        .first_child = MESH_NONE,
    };
    mesh->triangle[first + 1] = (struct triangle){
        .vertex = { left_high, left_low, right_high },
        .neighbour = { first, MESH_NONE, MESH_NONE },
        .parent = MESH_NONE,
        .first_child = MESH_NONE,
    };
    mesh->leaf_count = 2;
}

void mesh_fini(struct mesh *mesh)
{
    free(mesh->triangle);
    free(mesh->x);
    free(mesh->y);
    free(mesh->free_vertex);
    free(mesh->birth);
    *mesh = (struct mesh){ 0 };
}
