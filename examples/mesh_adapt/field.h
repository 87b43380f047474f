/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* field: a value at each vertex, and its transfer when the mesh changes. */
#ifndef FIELD_H
#define FIELD_H

#include <stdint.h>

#include "front.h"
#include "mesh.h"

struct field {
    double *value; /* by vertex slot */
    int32_t capacity;
};

/* Sets the field to the front's profile. Slots without a vertex get a value that is never read. */
void field_set_front(struct field *field, const struct mesh *mesh, const struct front *front);

/* Sets the field to x + 2y, which linear interpolation must reproduce. */
void field_set_linear(struct field *field, const struct mesh *mesh);
double field_linear_value(struct point point);

/* Sets the values at vertices born since mesh_forget_births to the mean of the two ends: linear interpolation
 * along the old side. Other values stay; coarsening needs no transfer. */
void field_transfer(struct field *field, const struct mesh *mesh);

void field_fini(struct field *field);

#endif
