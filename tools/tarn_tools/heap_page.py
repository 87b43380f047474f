# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""heap_page: the part of a page about the device heap: the summary, plots and tables by test, skips and faults."""

from . import shown
from .allocators import is_tarn
from .heap_parts import range_shown
from .heap_summary import heap_summary_html
from .heap_verdicts import groups_of, heap_verdicts_of
from .heap_words import BOUNDS, HEAPS, about, anchor_of, in_order, title_of
from .html_text import Table, element, joined
from .page_figures import figures_html
from .page_parts import MARKS, NEAR_PERCENT, allocator, breakable, legend_item
from .verdicts import standing

HOW_TO_READ = """malloc and free inside kernels, measured by device_heap_bench: all heaps do the same, in one run.
Figures are medians of the rounds, with the least and the most of them. Times are those of the whole kernel, its launch
included."""


def heap_html(runs, palette, figures):
    judged = [(run, heap_verdicts_of(run)) for run in runs]
    tests = in_order(dict.fromkeys(verdict.test for _, verdicts in judged for verdict in verdicts))
    return joined(element("p", HOW_TO_READ, " Two heaps within ", NEAR_PERCENT, " of each other count as level."),
                  _legend(runs, palette), heap_summary_html(judged, palette),
                  *[_test_html(test, judged, palette, figures) for test in tests],
                  element("h3", "Skipped, or found wrong", id="device-heap-remarks"), _remarks(runs))


def _legend(runs, palette):
    names = palette.in_order(result.heap for run in runs for result in run.heap_results)
    return element("ul", *[legend_item(name, palette, HEAPS.get(name)) for name in names], class_="legend")


# --- a test ------------------------------------------------------------------------------------------

def _test_html(test, judged, palette, figures):
    parts = [element("h3", title_of(test), id=anchor_of(test)), element("p", about(test)),
             figures_html([figure for figure in figures if figure.section == anchor_of(test)], palette)]
    for run, verdicts in judged:
        of_test = [verdict for verdict in verdicts if verdict.test == test]
        if of_test:
            parts.append(_table(run, test, of_test, palette, len(judged) > 1))
    return joined(*parts)


def _table(run, test, verdicts, palette, is_named):
    """
    One row a workload, one column a heap: its figure, the range of the rounds, and how many times as good tarn is.
    For a bound: tarn's multiple.
    """
    names = palette.in_order(name for verdict in verdicts for name in verdict.results)
    reasons = {(remark.workload, remark.heap): remark.text for file in run.heap_files for remark in file.skipped
               if remark.test == test}
    table = Table(f"Median, least to most, and how many times as good tarn is{f': {run.label}' if is_named else ''}",
                  class_="figures")
    table.head("workload", *[allocator(name, palette) for name in names])
    for (_, figure, _), group in groups_of(verdicts).items():
        table.group(figure, 1 + len(names))
        for verdict in group:
            table.row(breakable(verdict.workload), *[_cell(verdict, name, reasons) for name in names])
    return table.folded()


def _cell(verdict, name, reasons):
    result = verdict.results.get(name)
    if not result:
        reason = reasons.get((verdict.workload, name))
        return element("td", shown.NOTHING, title=f"skipped: {reason}" if reason else "has no such figure")
    mark, word = "", None
    times = verdict.times_tarn(name)
    if result is verdict.tarn:
        word = verdict.word if verdict.word in MARKS else None
        mark = f"{MARKS[word]} " if word else ""
    elif times and not is_tarn(name) and name not in BOUNDS and standing(times) != "wins":
        word = standing(times)
    below = [range_shown(verdict.unit, result.low, result.high)]
    below += [_ratio(verdict, name, times)] if times and result is not verdict.tarn else []
    below += ["found wrong"] if result.faults else []
    return element("td", f"{mark}{verdict.unit.show(result.median)}", element("small", ", ".join(filter(None, below))),
                   title="; ".join([f"{name}: {result.rounds} rounds", *result.faults]),
                   class_="loses" if result.faults else word)


def _ratio(verdict, name, times):
    return f"tarn {shown.ratio(verdict.multiple_of(name))}" if name in BOUNDS else shown.ratio(times)


# --- what was skipped, what was found wrong ----------------------------------------------------------

def _remarks(runs):
    table = Table("What was skipped or found wrong", class_="missing")
    table.head("what", "heap", "test and workload", "machine", "what is said")
    for run in runs:
        for what, remarks in (("WRONG", [fault for file in run.heap_files for fault in file.faults]),
                              ("skipped", [skip for file in run.heap_files for skip in file.skipped])):
            for remark in remarks:
                table.row(what, *map(breakable, (remark.heap, f"{remark.test}, {remark.workload}", run.label,
                                                 remark.text)),
                          class_="bad" if what == "WRONG" else None)
    if table.is_empty:
        return element("p", "Nothing was skipped, and nothing was found wrong.")
    return table.html()
