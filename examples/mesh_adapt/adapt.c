/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * adapt: makes the mesh fine around the front and coarse elsewhere, pass by pass.
 *
 * Why a step ends: refinement stops at `depth`; coarsening makes only such triangles as refinement
 * would not bisect again, so that the two never work against each other.
 */
#include "adapt.h"

#include <stdbool.h>

#include "flags.h"

/* --- tables --------------------------------------------------------------------------------- */

/* Makes the tables of the mesh as it is now; the old ones live until the new ones are there. */
static void renew_tables(struct adaptation *adaptation)
{
    struct mesh_tables old = adaptation->tables;
    mesh_tables_build(&adaptation->tables, adaptation->space, &adaptation->mesh,
                      &adaptation->solution, &adaptation->linear);
    mesh_tables_free(&old, adaptation->space);
    array_wait(adaptation->space);
}

/* --- marking -------------------------------------------------------------------------------- */

static bool is_too_coarse(const struct adaptation *adaptation, const struct front *front,
                          int32_t triangle)
{
    struct point middle = mesh_middle(&adaptation->mesh, triangle);
    return adaptation->mesh.triangle[triangle].level <
           front_wanted_level(front, middle, adaptation->depth);
}

/* Whether the bisection of `triangle` can be undone and its result would be fine enough. */
static bool is_too_fine(const struct adaptation *adaptation, const struct front *front,
                        int32_t triangle)
{
    if (!mesh_can_unite(&adaptation->mesh, triangle) ||
        is_too_coarse(adaptation, front, triangle)) {
        return false;
    }
    int32_t partner = adaptation->mesh.triangle[triangle].neighbour[0];
    return partner == MESH_NONE || !is_too_coarse(adaptation, front, partner);
}

/* Whether a leaf asks for its parent's bisection to be undone. Of all the leaves around the vertex
 * that would go, one asks: the first child of the parent with the lower slot. */
static bool asks_to_unite(const struct adaptation *adaptation, const struct front *front,
                          int32_t leaf)
{
    const struct triangle *triangle = adaptation->mesh.triangle;
    int32_t parent = triangle[leaf].parent;
    if (parent == MESH_NONE || triangle[parent].first_child != leaf) return false;
    int32_t partner = triangle[parent].neighbour[0];
    if (partner != MESH_NONE && partner < parent) return false;
    return is_too_fine(adaptation, front, parent);
}

typedef bool marking(const struct adaptation *adaptation, const struct front *front, int32_t leaf);

/* The numbers of the triangles that `is_marked` holds for. */
static struct array mark(struct adaptation *adaptation, const struct front *front,
                         marking *is_marked, int32_t *count_out)
{
    const struct mesh_tables *tables = &adaptation->tables;
    array_label_begin("marks");
    struct array flags = array_alloc(adaptation->space, tables->triangle_count, sizeof(uint8_t));
    uint8_t *flag = flags.host;
    for (int32_t t = 0; t < tables->triangle_count; t++) {
        flag[t] = is_marked(adaptation, front, tables->leaf[t]);
    }
    array_upload(adaptation->space, &flags);
    struct array list = flags_list(adaptation->space, &flags, count_out);
    array_free(adaptation->space, &flags);
    array_label_end();
    return list;
}

/* --- passes --------------------------------------------------------------------------------- */

/* The values at the vertices that were just born, as the kernel that computes them returns them. */
static void upload_births(struct adaptation *adaptation, const struct field *field)
{
    const struct mesh *mesh = &adaptation->mesh;
    struct array births = array_alloc(adaptation->space, mesh->birth_count, sizeof(double));
    double *value = births.host;
    for (int32_t i = 0; i < mesh->birth_count; i++) {
        value[i] = field->value[mesh->birth[i].vertex];
    }
    array_upload(adaptation->space, &births);
    array_free(adaptation->space, &births);
}

static void transfer_fields(struct adaptation *adaptation)
{
    field_transfer(&adaptation->solution, &adaptation->mesh);
    field_transfer(&adaptation->linear, &adaptation->mesh);
    array_label_begin("births");
    upload_births(adaptation, &adaptation->solution);
    upload_births(adaptation, &adaptation->linear);
    array_label_end();
    mesh_forget_births(&adaptation->mesh);
}

/* Both return whether the mesh has changed. */
static bool refine(struct adaptation *adaptation, const struct front *front)
{
    int32_t count;
    struct array marked = mark(adaptation, front, is_too_coarse, &count);
    const int32_t *number = marked.host;
    struct mesh *mesh = &adaptation->mesh;
    for (int32_t i = 0; i < count; i++) {
        int32_t leaf = adaptation->tables.leaf[number[i]];
        /* A neighbour's bisection may have bisected it already. */
        if (mesh->triangle[leaf].first_child == MESH_NONE) mesh_bisect(mesh, leaf);
    }
    array_free(adaptation->space, &marked);
    if (count == 0) return false;
    transfer_fields(adaptation);
    renew_tables(adaptation);
    return true;
}

static bool coarsen(struct adaptation *adaptation, const struct front *front)
{
    int32_t count;
    struct array marked = mark(adaptation, front, asks_to_unite, &count);
    const int32_t *number = marked.host;
    struct mesh *mesh = &adaptation->mesh;
    for (int32_t i = 0; i < count; i++) {
        mesh_unite(mesh, mesh->triangle[adaptation->tables.leaf[number[i]]].parent);
    }
    array_free(adaptation->space, &marked);
    if (count == 0) return false;
    renew_tables(adaptation);
    return true;
}

void adaptation_step(struct adaptation *adaptation, const struct front *front)
{
    field_set_front(&adaptation->solution, &adaptation->mesh, front);
    renew_tables(adaptation);
    while (refine(adaptation, front)) {
        adaptation->pass_count++;
    }
    array_phase_end(adaptation->space, ARRAY_PHASE_REFINE);
    while (coarsen(adaptation, front)) {
        adaptation->pass_count++;
    }
    array_phase_end(adaptation->space, ARRAY_PHASE_COARSEN);
}

/* --- life ----------------------------------------------------------------------------------- */

void adaptation_init(struct adaptation *adaptation, struct array_space *space, int32_t depth)
{
    *adaptation = (struct adaptation){ .space = space, .depth = depth };
    mesh_init(&adaptation->mesh);
    field_set_linear(&adaptation->linear, &adaptation->mesh);
    field_set_front(&adaptation->solution, &adaptation->mesh, &(struct front){ .radius = 0.0 });
    mesh_tables_build(&adaptation->tables, space, &adaptation->mesh, &adaptation->solution,
                      &adaptation->linear);
    array_wait(space);
}

void adaptation_fini(struct adaptation *adaptation)
{
    mesh_tables_free(&adaptation->tables, adaptation->space);
    array_wait(adaptation->space);
    field_fini(&adaptation->linear);
    field_fini(&adaptation->solution);
    mesh_fini(&adaptation->mesh);
}
