# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_patterns: what is held where sizes creep, worst and median of each family, beside the recorded programs; its price."""

from statistics import median

from . import shown
from .html_text import Table, element, joined
from .page_parts import allocator, breakable

PROGRAMS = "recorded programs"
ABOUT = ("The most bytes held from the vendor by the most bytes live, first piece included: the worst of the draws of a "
         "family, and the median. Each draw has other sizes and rates. In robson no pool that leaves live blocks where "
         "they are holds little.")
PRICE = ("Calls of the vendor, the time of an allocation and its free, and the 99.9th percentile of a single allocation: "
         "medians of the draws.")


def patterns_html(runs, palette):
    runs = [run for run in runs if run.families]
    return joined(element("p", ABOUT),
                  *[_table_html(run, palette, "Held by live, worst and median", _held) for run in runs],
                  element("p", PRICE),
                  *[_table_html(run, palette, "Vendor calls, time of a pair, p99.9", _price) for run in runs])


def _table_html(run, palette, title, text_of):
    rows = {**run.families, PROGRAMS: _programs_of(run)}
    names = palette.in_order({name for by_allocator in rows.values() for name in by_allocator})
    table = Table(f"{title}: {run.label}", class_="figures")
    table.head("family", *[allocator(name, palette) for name in names])
    for family, by_allocator in rows.items():
        if by_allocator:
            table.row(breakable(family), *[text_of(by_allocator.get(name, [])) for name in names])
    return table.html()


def _programs_of(run):
    """{allocator: results} of recorded programs that were played by one thread."""
    found = {}
    for key, by_allocator in run.by_workload.items():
        if key[0] == "replay" and not key[1].endswith(", faithful"):
            for name, result in by_allocator.items():
                found.setdefault(name, []).append(result)
    return found


def _held(results):
    held = [result.held_by_live for result in results if result.held_by_live]
    if not held:
        return shown.NOTHING
    return f"{shown.close_ratio(max(held))}, {shown.close_ratio(median(held))}"


def _price(results):
    return ", ".join((_median(shown.count, [result["vendor_calls"] for result in results]),
                      _median(shown.duration, [result.pair_ns and result.pair_ns[0] for result in results]),
                      _median(shown.duration, [result["alloc_ns.p999"] for result in results])))


def _median(show, values):
    known = [value for value in values if value is not None]
    return show(median(known)) if known else shown.NOTHING
