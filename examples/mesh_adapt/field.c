/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* field: a value at each vertex, and its transfer when the mesh changes. */
#include "field.h"

#include <stdlib.h>

#include "support.h"

static void reserve(struct field *field, const struct mesh *mesh)
{
    field->value =
        host_grow(field->value, &field->capacity, mesh->vertex_slot_count, sizeof(*field->value));
}

static struct point vertex_point(const struct mesh *mesh, int32_t vertex)
{
    return (struct point){ mesh->x[vertex], mesh->y[vertex] };
}

void field_set_front(struct field *field, const struct mesh *mesh, const struct front *front)
{
    reserve(field, mesh);
    for (int32_t i = 0; i < mesh->vertex_slot_count; i++) {
        field->value[i] = front_profile(front, vertex_point(mesh, i));
    }
}

double field_linear_value(struct point point)
{
    return point.x + 2.0 * point.y;
}

void field_set_linear(struct field *field, const struct mesh *mesh)
{
    reserve(field, mesh);
    for (int32_t i = 0; i < mesh->vertex_slot_count; i++) {
        field->value[i] = field_linear_value(vertex_point(mesh, i));
    }
}

void field_transfer(struct field *field, const struct mesh *mesh)
{
    reserve(field, mesh);
    /* In order of birth: an end may have been born just before. */
    for (int32_t i = 0; i < mesh->birth_count; i++) {
        const struct birth *birth = &mesh->birth[i];
        field->value[birth->vertex] =
            0.5 * (field->value[birth->end[0]] + field->value[birth->end[1]]);
    }
}

void field_fini(struct field *field)
{
    free(field->value);
    *field = (struct field){ 0 };
}
