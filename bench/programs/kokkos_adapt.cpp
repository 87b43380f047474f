/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * kokkos_adapt: a Kokkos program to be recorded. A mesh of one dimension is refined and coarsened over and over,
 * and solves a little in between; its arrays are views with labels, which come, grow, shrink and go.
 *
 *   kokkos_adapt [STEPS]      50 unless told otherwise
 *
 * The same allocations on every machine and in every space. It prints the number of cells and a sum to compare.
 */
#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace
{

using values = Kokkos::View<double *>;
using marks = Kokkos::View<std::size_t *>;

struct mesh {
    values corners{ "mesh: corners", 0 };
    values field{ "mesh: field", 0 };
};

mesh make_mesh(std::size_t cell_count)
{
    mesh made;
    Kokkos::resize(made.corners, cell_count + 1);
    Kokkos::resize(made.field, cell_count);
    values corners = made.corners;
    Kokkos::parallel_for(
        "make corners", cell_count + 1, KOKKOS_LAMBDA(std::size_t i) {
            corners(i) = static_cast<double>(i) / static_cast<double>(cell_count);
        });
    return made;
}

/* Where the cells of a step should be small: around a front that moves. */
KOKKOS_INLINE_FUNCTION double wanted_size(double place, double front)
{
    double distance = place > front ? place - front : front - place;
    return 1e-6 + 0.001 * distance;
}

/* How many cells each old one becomes: 2, 1, or 0 when its left neighbour takes it in. */
marks choose_cells(const mesh &from, double front)
{
    std::size_t cell_count = from.field.extent(0);
    marks counts("adapt: cells of each", cell_count);
    values corners = from.corners;
    Kokkos::parallel_for(
        "choose", cell_count, KOKKOS_LAMBDA(std::size_t i) {
            double size = corners(i + 1) - corners(i);
            double wanted = wanted_size(corners(i), front);
            bool is_small = 4.0 * size < wanted && i % 2 == 1;
            counts(i) = size > wanted ? 2 : is_small ? 0 : 1;
        });
    return counts;
}

/* The first new cell of each old one, and the number of all behind the last. */
marks place_cells(const marks &counts)
{
    std::size_t cell_count = counts.extent(0);
    marks offsets("adapt: offsets", cell_count + 1);
    Kokkos::parallel_scan(
        "place", cell_count, KOKKOS_LAMBDA(std::size_t i, std::size_t & sum, bool is_last) {
            if (is_last) offsets(i) = sum;
            sum += counts(i);
            if (is_last && i + 1 == cell_count) offsets(i + 1) = sum;
        });
    return offsets;
}

std::size_t last_of(const marks &offsets)
{
    std::size_t last = 0;
    Kokkos::deep_copy(last, Kokkos::subview(offsets, offsets.extent(0) - 1));
    return last;
}

mesh adapt(const mesh &from, double front)
{
    marks counts = choose_cells(from, front);
    marks offsets = place_cells(counts);
    std::size_t cell_count = last_of(offsets);
    values corners("adapt: new corners", cell_count + 1);
    values field("adapt: new field", cell_count);
    values old_corners = from.corners;
    values old_field = from.field;
    Kokkos::parallel_for(
        "fill", counts.extent(0), KOKKOS_LAMBDA(std::size_t i) {
            double middle = 0.5 * (old_corners(i) + old_corners(i + 1));
            for (std::size_t k = 0; k < counts(i); k++) {
                corners(offsets(i) + k) = k == 0 ? old_corners(i) : middle;
                field(offsets(i) + k) = old_field(i);
            }
            if (i + 1 == counts.extent(0)) corners(offsets(i) + counts(i)) = old_corners(i + 1);
        });
    mesh made;
    made.corners = corners;
    made.field = field;
    return made;
}

/* A few steps of smoothing, each with arrays of its own that go at its end. */
void smooth(mesh &on, int sweep_count)
{
    std::size_t cell_count = on.field.extent(0);
    for (int sweep = 0; sweep < sweep_count; sweep++) {
        values next("smooth: next, sweep " + std::to_string(sweep), cell_count);
        values field = on.field;
        values corners = on.corners;
        Kokkos::parallel_for(
            "smooth", cell_count, KOKKOS_LAMBDA(std::size_t i) {
                double left = i > 0 ? field(i - 1) : 1.0;
                double right = i + 1 < cell_count ? field(i + 1) : 0.0;
                next(i) = 0.5 * field(i) + 0.25 * (left + right) + 1e-3 * corners(i);
            });
        on.field = next;
    }
}

double sum_of(const mesh &of)
{
    double sum = 0.0;
    values field = of.field;
    values corners = of.corners;
    Kokkos::parallel_reduce(
        "sum", field.extent(0),
        KOKKOS_LAMBDA(std::size_t i, double &part) {
            part += field(i) * (corners(i + 1) - corners(i));
        },
        sum);
    return sum;
}

void run(int step_count)
{
    mesh current = make_mesh(1000);
    values history("history of sums", 0);
    for (int step = 0; step < step_count; step++) {
        double front = 0.5 + 0.4 * std::sin(0.1 * step);
        for (int pass = 0; pass < 6; pass++)
            current = adapt(current, front);
        smooth(current, 4);
        Kokkos::resize(history, static_cast<std::size_t>(step) + 1);
        Kokkos::deep_copy(Kokkos::subview(history, step), sum_of(current));
    }
    std::printf("%d steps, %zu cells, sum %.6f\n", step_count, current.field.extent(0),
                sum_of(current));
}

} /* namespace */

int main(int argc, char **argv)
{
    char *end = nullptr;
    long step_count = argc > 1 ? std::strtol(argv[1], &end, 10) : 50;
    if (argc > 2 || step_count < 1 || step_count > 100000 || (end && *end != '\0')) {
        std::fprintf(stderr, "usage: kokkos_adapt [STEPS]\n");
        return 2;
    }
    Kokkos::ScopeGuard kokkos;
    run(static_cast<int>(step_count));
    return 0;
}
