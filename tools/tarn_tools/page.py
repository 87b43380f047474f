# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page: the whole page: one HTML file that needs no network and no script."""

from pathlib import Path

from . import page_tables
from .allocators import what_it_is
from .coverage import Coverage
from .heap_page import heap_html
from .html_text import Markup, element, folded, joined
from .page_figures import figures_html, legend_html
from .page_parts import breakable, legend_item
from .page_patterns import patterns_html
from .page_programs import programs_html
from .page_summary import summary_html
from .page_words import ABOUT, anchor_of, in_order, title_of

STYLE_SHEET = Path(__file__).with_name("page.css")

# Dark paper: the differences to page.css, and allocators' second colours.
DARK = {"--ink": "#e6e8eb", "--soft": "#a3a9b2", "--grid": "#363b42", "--area": "#2b2f35", "--paper": "#15171a",
        "--panel": "#1d2024", "--wins": "#12304f", "--loses": "#4f2c0c", "--level": "#2a2d32", "--link": "#6cb2ff",
        "--lost": "#ff9a5c"}

HOW_TO_READ = """The time of a pair is that of all calls of a pass by the number of
allocations, without a clock in between; the median of the repetitions, with the least and the most. Percentiles
are of single calls, each with one reading of the clock inside. Held by live is the most bytes ever held from the
vendor by the most bytes ever live as asked for. Vendor calls are those that take or give back memory."""


def page_html(title, runs, palette, figures):
    of_pools = [run for run in runs if run.files]
    of_heaps = [run for run in runs if run.heap_files]
    sections = _pool_sections(of_pools, palette, figures) if of_pools else []
    if of_heaps:
        sections.append(("device-heap", "Device heap", heap_html(of_heaps, palette, figures)))
    sections += [("machines", "Machines", page_tables.machines_html(runs)),
                 ("runs", "How it was run", joined(element("p", HOW_TO_READ) if of_pools else "",
                                                   page_tables.runs_html(runs)))]
    body = [element("h1", breakable(title)), _lead(of_pools) if of_pools else "",
            _heap_lead(of_heaps) if of_heaps else "", _contents(sections)]
    for name, heading, content in sections:
        body += [element("h2", heading, id=name), content]
    return joined(
        Markup("<!DOCTYPE html>\n"),
        element("html",
                element("head", Markup('<meta charset="utf-8">'),
                        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
                        element("title", title), element("style", Markup(_style(palette)))),
                "\n", element("body", *body), lang="en"), "\n")


def _pool_sections(runs, palette, figures):
    """The sections for tarn-bench."""
    coverages = [Coverage(run) for run in runs]
    sections = [("programs", "Which allocator for your program", joined(programs_html(runs), _legend(runs, palette))),
                ("summary", "Who wins where", summary_html(runs, palette))]
    sections += [(anchor_of(bench), title_of(bench), _bench_html(bench, runs, coverages, palette, figures))
                 for bench in in_order(dict.fromkeys(key[0] for run in runs for key in run.by_workload))]
    if any(run.families for run in runs):
        sections.append(("patterns", "Where sizes creep", patterns_html(runs, palette)))
    memory = [figure for figure in figures if figure.section == "memory"]
    if memory:
        sections.append(("memory", "Memory over time", _memory_html(memory, palette)))
    return [*sections, ("missing", "Not measured", page_tables.missing_html(runs, coverages))]


def _lead(runs):
    workloads = {key for run in runs for key in run.by_workload}
    names = {name for run in runs for row in run.by_workload.values() for name in row}
    return element("p", f"Allocators of device memory, compared by tarn-bench: {len(names)} of them on "
                        f"{len(workloads)} workloads. ", element("b", "; ".join(run.label for run in runs)), ".")


def _heap_lead(runs):
    return element("p", "Device heaps, malloc and free inside kernels, compared by device_heap_bench: ",
                   element("b", "; ".join(run.label for run in runs)), ".")


def _contents(sections):
    return element("nav", *[element("a", heading, href=f"#{name}") for name, heading, _ in sections])


def _legend(runs, palette):
    names = {result.allocator for run in runs for result in run.results}
    backends = {run.facts.get("backend") for run in runs}
    items = [legend_item(style.name, palette, what_it_is(style.name, backends)) for style in palette
             if style.name in names]
    return folded(f"What the allocators are ({len(items)})", element("ul", *items, class_="legend"))


# --- benches ----------------------------------------------------------------------------------------

def _bench_html(bench, runs, coverages, palette, figures):
    parts = [element("p", ABOUT[bench])] if bench in ABOUT else []
    parts.append(figures_html([figure for figure in figures if figure.section == bench], palette))
    for run, coverage in zip(runs, coverages):
        keys = [key for key in run.by_workload if key[0] == bench]
        if keys:
            parts.append(page_tables.bench_html(run, coverage, bench, palette, _table_title(run, keys)))
            if bench in page_tables.WITH_TABLES:
                parts.append(folded(f"Each workload, with single calls and memory: {run.label} ({len(keys)})",
                                    *[page_tables.workload_html(run, key, palette) for key in keys]))
    return joined(*parts)


def _table_title(run, keys):
    is_rated = any(result.is_rated for key in keys for result in run.by_workload[key].values())
    what = "pairs a second" if is_rated else "ns a pair"
    return f"Table: {what}, and below it how many times tarn's time: {run.label}"


def _memory_html(figures, palette):
    text = element("p", "What each allocator holds from the vendor (lines) over what is live (grey), while the "
                        "workload goes on: the most in each hundredth of its events. Lines that lie on each other are "
                        "drawn a little apart.")
    names = {name for figure in figures for chart in figure.charts for name in chart.names}
    folds = [folded(breakable(figure.title), figures_html([figure], palette, is_headed=False)) for figure in figures]
    return joined(text, legend_html(names, palette), *folds)


# --- style -------------------------------------------------------------------------------------------

def _style(palette):
    light = "".join(f" {style.variable}: {style.light};" for style in palette)
    dark = "".join(f" {name}: {value};" for name, value in DARK.items())
    dark += "".join(f" {style.variable}: {style.dark};" for style in palette)
    return (f"{STYLE_SHEET.read_text(encoding='utf-8')}:root {{{light} }}\n"
            f"@media screen and (prefers-color-scheme: dark) {{ :root {{{dark} }} }}\n")
