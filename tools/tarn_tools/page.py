# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page: the page as a whole: one HTML file that needs nothing else, no network, no script."""

from pathlib import Path

from . import page_tables
from .allocators import what_it_is
from .html_text import Markup, element, joined
from .page_summary import summary_html

STYLE_SHEET = Path(__file__).with_name("page.css")

# Dark paper: what differs from page.css, and allocators' second colours.
DARK = {"--ink": "#e6e8eb", "--soft": "#a3a9b2", "--grid": "#363b42", "--area": "#2b2f35", "--paper": "#15171a",
        "--panel": "#1d2024", "--wins": "#12304f", "--loses": "#4f2c0c", "--level": "#2a2d32", "--link": "#6cb2ff"}

TITLES = {"replay": "Recorded traces of real programs", "hot": "One block, allocated and freed",
          "sweep": "By size", "live": "By number of live blocks", "churn": "Random replacement",
          "threads": "Several threads", "streams": "Between streams", "growth": "Growth"}
ABOUT = {
    "replay": "What real programs asked for, in their order. Times are of an allocation and its free together.",
    "hot": "The same block again and again: what a call costs at the least.",
    "churn": "A random live block is freed and one of a new random size takes its place.",
    "streams": "Blocks that go round between streams, each filled there. Times are until all streams have done their "
               "work, which is in them; the work alone takes the same for all.",
    "growth": "From nothing to so many live bytes, and back: what a pool costs that has to take memory from the vendor.",
}
ORDER = ("replay", "hot", "sweep", "live", "churn", "threads", "streams", "growth")

HOW_TO_READ = """A pair is one allocation and its free. Its time is that of all calls of a pass by the number of
allocations, without a clock in between; the median of the repetitions, with the least and the most. Percentiles
are of single calls, each with one reading of the clock inside. Held by live is the most bytes ever held from the
vendor by the most bytes ever live as asked for. Vendor calls are those that take or give back memory."""


def page_html(title, runs, palette, figures):
    sections = [("summary", "Who wins where", summary_html(runs, _benches(runs)))]
    sections += [(bench, TITLES.get(bench, bench), _bench_html(bench, runs, palette, figures))
                 for bench in _benches(runs)]
    memory = [figure for figure in figures if figure.section == "memory"]
    if memory:
        sections.append(("memory", "Memory over time", _memory_html(memory, palette)))
    sections += [("missing", "Not measured", page_tables.missing_html(runs)),
                 ("machines", "Machines", page_tables.machines_html(runs)),
                 ("runs", "How it was run", joined(page_tables.runs_html(runs), element("p", HOW_TO_READ)))]
    body = [element("h1", title), _lead(runs), _contents(sections), _legend(runs, palette)]
    for name, heading, content in sections:
        body += [element("h2", heading, id=name), content]
    return joined(
        Markup("<!DOCTYPE html>\n"),
        element("html",
                element("head", Markup('<meta charset="utf-8">'),
                        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
                        element("title", title), element("style", Markup(_style(palette)))),
                "\n", element("body", *body), lang="en"), "\n")


def _benches(runs):
    present = list(dict.fromkeys(key[0] for run in runs for key in run.by_workload()))
    return sorted(present, key=lambda bench: ORDER.index(bench) if bench in ORDER else len(ORDER))


def _lead(runs):
    machines = "; ".join(run.label for run in runs)
    count = sum(len(run.results) for run in runs)
    return element("p", f"Allocators of device memory, compared by tarn-bench: {count} results of ", machines, ".")


def _contents(sections):
    return element("nav", *[element("a", heading, href=f"#{name}") for name, heading, _ in sections])


def _legend(runs, palette):
    backends = {run.facts.get("backend") for run in runs}
    items = [element("li", element("span", "", class_="swatch", style=f"background:var({style.variable})"),
                     element("b", style.name), f" \u2013 {what_it_is(style.name, backends)}") for style in palette]
    return element("ul", *items, class_="legend")


def _figure_html(figure, palette):
    rows = [element("div", *[element("figure", Markup(chart.svg_on_page(palette)),
                                     **{"aria-label": f"{figure.title}: {chart.title}"}) for chart in row],
                    class_="charts") for row in figure.rows]
    return joined(element("h3", figure.title), element("p", figure.text) if figure.text else "", *rows)


def _bench_html(bench, runs, palette, figures):
    parts = [element("p", ABOUT[bench])] if bench in ABOUT else []
    parts += [_figure_html(figure, palette) for figure in figures if figure.section == bench]
    for run in runs:
        keys = [key for key in run.by_workload() if key[0] == bench]
        if not keys:
            continue
        if bench in page_tables.WITH_TABLES:
            parts.append(element("h3", run.label))
            parts += [page_tables.workload_html(run, key, palette, key[1]) for key in keys]
        else:
            unit = "Pairs a second" if any(result.is_rated for key in keys
                                           for result in run.by_workload()[key].values()) \
                else "An allocation and its free, ns"
            parts.append(page_tables.bench_html(run, bench, palette, f"{unit} \u2013 {run.label}"))
    return joined(*parts)


def _memory_html(figures, palette):
    text = element("p", "What each allocator holds from the vendor (lines) over what is live (grey), while the "
                        "workload goes on.")
    return joined(text, *[_figure_html(figure, palette) for figure in figures])


def _style(palette):
    light = "".join(f" {style.variable}: {style.light};" for style in palette)
    dark = "".join(f" {name}: {value};" for name, value in DARK.items())
    dark += "".join(f" {style.variable}: {style.dark};" for style in palette)
    return (f"{STYLE_SHEET.read_text(encoding='utf-8')}:root {{{light} }}\n"
            f"@media screen and (prefers-color-scheme: dark) {{ :root {{{dark} }} }}\n")
