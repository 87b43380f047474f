/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * adapt: makes the mesh fine around the front and coarse elsewhere, pass by pass.
 *
 * A pass marks triangles, changes them, transfers the fields, and builds new tables beside the old ones. A
 * step has as many passes as change something. So an array lives for part of a pass, or for a whole one, and
 * its size hardly ever repeats: the pattern that the pool is made for.
 */
#ifndef ADAPT_H
#define ADAPT_H

#include <stdint.h>

#include "device_array.h"
#include "field.h"
#include "front.h"
#include "mesh.h"
#include "mesh_tables.h"

struct adaptation {
    struct array_space *space; /* where all device arrays live */
    int32_t depth;             /* no triangle is bisected more often */
    struct mesh mesh;
    struct field solution; /* the front's profile, carried from mesh to mesh */
    struct field linear;   /* x + 2y, to prove that carrying is exact where it can be */
    struct mesh_tables tables;
    uint64_t pass_count; /* those that changed the mesh */
};

void adaptation_init(struct adaptation *adaptation, struct array_space *space, int32_t depth);
void adaptation_fini(struct adaptation *adaptation);

/* One step: the solver's part, then refinement, then coarsening, until the mesh suits `front`. */
void adaptation_step(struct adaptation *adaptation, const struct front *front);

#endif
