/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * mesh: a triangulation of the unit square, refined and coarsened by newest-vertex bisection.
 *
 * Every triangle knows its newest vertex; the side opposite to it is its base. Bisecting a triangle
 * joins the newest vertex with the middle of the base, and that middle is the newest vertex of both
 * children, which form a binary tree:
 *
 *              v0                       v0                      level n
 *             /  \                     /|\                         |
 *            /    \        ->         / | \                     +--+--+
 *           /      \                 /  |  \                    |     |
 *         v1--------v2             v1---m---v2                level n + 1
 *             base              (m,v0,v1) (m,v2,v0)
 *
 * The triangle on the other side of the base is bisected together with it, so that the mesh stays
 * conforming: no vertex lies inside a side of a triangle. Where that neighbour's base is another
 * side, it is bisected first, and its child then has the right base. The square's two triangles
 * share their base, the diagonal; from such a start that recursion always ends, since each step
 * goes to a triangle one level lower (Mitchell 1989, after Rivara 1984). All triangles that ever
 * arise are right-angled and similar to the first two, so none degenerates.
 *
 * A vertex may go when it is the newest one of all leaf triangles around it: four, or two at the
 * boundary. They are then the children of one bisected pair, or of one boundary triangle, and
 * bisection is simply undone (Chen and Zhang 2010):
 *
 *              v0                       v0
 *             /|\                      /  \
 *            / | \                    /    \
 *          v1--m--v2       ->       v1------v2
 *            \ | /                    \    /
 *             \|/                      \  /
 *              w                        w
 *
 * - W. F. Mitchell, A comparison of adaptive refinement techniques for elliptic problems, ACM
 *   Transactions on Mathematical Software 15(4), 1989.
 * - M. C. Rivara, Mesh refinement processes based on the generalized bisection of simplices, SIAM
 *   Journal on Numerical Analysis 21(3), 1984.
 * - L. Chen and C. Zhang, A coarsening algorithm on adaptive grids by newest vertex bisection and
 *   its applications, Journal of Computational Mathematics 28(6), 2010.
 *
 * Triangles and vertices are numbered by slots, which are used again after coarsening. Leaves, the
 * triangles without children, are the mesh.
 */
#ifndef MESH_H
#define MESH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    MESH_NONE = -1
};

struct triangle {
    int32_t vertex[3]; /* counterclockwise; [0] is the newest */

    /* Across the side opposite to vertex[i]; MESH_NONE beyond the boundary. Of a leaf, always a
     * leaf. Of a bisected triangle only [0] counts: the one that was bisected with it. */
    int32_t neighbour[3];

    int32_t parent;      /* MESH_NONE in the first two */
    int32_t first_child; /* its sibling is the next slot; MESH_NONE in a leaf */
    int32_t level;       /* bisections since the first two */
};

/* A vertex that was added, and the two between which it lies. */
struct birth {
    int32_t vertex;
    int32_t end[2];
};

struct mesh {
    struct triangle *triangle; /* by slot */
    int32_t triangle_slot_count;
    int32_t triangle_capacity;
    int32_t free_pair; /* first of the unused pairs of siblings, linked by `parent` */
    int32_t leaf_count;

    double *x; /* by slot */
    double *y;
    int32_t vertex_slot_count;
    int32_t x_capacity;
    int32_t y_capacity;
    int32_t *free_vertex; /* stack of unused slots */
    int32_t free_vertex_count;
    int32_t free_vertex_capacity;

    struct birth *birth; /* in order, since mesh_forget_births */
    int32_t birth_count;
    int32_t birth_capacity;
};

/* Two triangles on the unit square. */
void mesh_init(struct mesh *mesh);
void mesh_fini(struct mesh *mesh);

/* Bisects a leaf, and all triangles needed to keep the mesh conforming. */
void mesh_bisect(struct mesh *mesh, int32_t leaf);

/* Whether `triangle` is bisected and mesh_unite may undo that. */
bool mesh_can_unite(const struct mesh *mesh, int32_t triangle);

/* Undoes the bisection of `triangle` and of its partner. Removes the vertex in the middle of their base.
 * Requires mesh_can_unite. No two pairs share a removed vertex, so uniting one does not affect whether others
 * can unite. */
void mesh_unite(struct mesh *mesh, int32_t triangle);

void mesh_forget_births(struct mesh *mesh);

/* Lists the slots of all leaf_count leaves in the order of the trees, so neighbours in the list are mostly
 * neighbours in the mesh. */
void mesh_list_leaves(const struct mesh *mesh, int32_t *leaf_out);

/* The middle of a triangle, the mean of its corners. */
struct point {
    double x;
    double y;
};
struct point mesh_middle(const struct mesh *mesh, int32_t triangle);

#endif
