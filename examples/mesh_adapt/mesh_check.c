/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mesh_check: proves after each step that mesh, field and device arrays are right. */
#include "mesh_check.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* Coordinates are sums of powers of two, so areas and the linear field are even exact. */
static const double tolerance = 1e-12;

void mesh_check_device(const struct mesh_tables *tables, struct array_space *space)
{
    for (int i = 0; i < MESH_TABLE_COUNT; i++) {
        const struct array *array = &tables->array[i];
        void *read_back = host_alloc(array->size_bytes);
        memset(read_back, 0xA5, array->size_bytes);
        array_download(space, array, read_back);
        array_wait(space);
        if (memcmp(read_back, array->host, array->size_bytes) != 0) {
            fail("table %d: the device array of %zu bytes differs from the host's", i,
                 array->size_bytes);
        }
        free(read_back);
    }
}

void mesh_check_area(const struct mesh_tables *tables)
{
    const double *area = tables->array[MESH_TABLE_AREA].host;
    double total = 0.0;
    for (int32_t t = 0; t < tables->triangle_count; t++) {
        if (!(area[t] > 0.0)) fail("triangle %d has area %g", t, area[t]);
        total += area[t];
    }
    if (!(fabs(total - 1.0) <= tolerance)) fail("the areas add up to %.17g, not to 1", total);
}

/* Whether both ends are on the same side of the square. */
static bool is_on_boundary(const double *x, const double *y, const int32_t *end)
{
    int32_t a = end[0], b = end[1];
    return (x[a] == x[b] && (x[a] == 0.0 || x[a] == 1.0)) ||
           (y[a] == y[b] && (y[a] == 0.0 || y[a] == 1.0));
}

void mesh_check_conforming(const struct mesh_tables *tables)
{
    const double *x = tables->array[MESH_TABLE_X].host;
    const double *y = tables->array[MESH_TABLE_Y].host;
    const int32_t *end = tables->array[MESH_TABLE_EDGE_VERTEX].host;
    const uint8_t *count = tables->array[MESH_TABLE_EDGE_TRIANGLE_COUNT].host;
    for (int32_t edge = 0; edge < tables->edge_count; edge++, end += 2) {
        int expected = is_on_boundary(x, y, end) ? 1 : 2;
        if (count[edge] != expected) {
            fail("edge %d is a side of %d triangles, not of %d", edge, count[edge], expected);
        }
    }
    int32_t euler = tables->vertex_count - tables->edge_count + tables->triangle_count;
    if (euler != 1) {
        fail("vertices %d - edges %d + triangles %d = %d, not 1", tables->vertex_count,
             tables->edge_count, tables->triangle_count, euler);
    }
}

void mesh_check_linear_field(const struct mesh_tables *tables)
{
    const double *x = tables->array[MESH_TABLE_X].host;
    const double *y = tables->array[MESH_TABLE_Y].host;
    const double *value = tables->array[MESH_TABLE_LINEAR].host;
    for (int32_t v = 0; v < tables->vertex_count; v++) {
        double expected = field_linear_value((struct point){ x[v], y[v] });
        if (!(fabs(value[v] - expected) <= tolerance)) {
            fail("the linear field is %.17g at (%g, %g), not %.17g", value[v], x[v], y[v],
                 expected);
        }
    }
}

double mesh_integral(const struct mesh_tables *tables)
{
    const double *area = tables->array[MESH_TABLE_AREA].host;
    const double *u = tables->array[MESH_TABLE_SOLUTION].host;
    const int32_t *vertex = tables->array[MESH_TABLE_TRIANGLE_VERTEX].host;
    double integral = 0.0;
    for (int32_t t = 0; t < tables->triangle_count; t++, vertex += 3) {
        integral += area[t] * (u[vertex[0]] + u[vertex[1]] + u[vertex[2]]) / 3.0;
    }
    return integral;
}
