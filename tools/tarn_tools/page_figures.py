# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_figures: plots on a page, in groups, each group under one legend."""

from .html_text import Markup, element, folded, joined
from .page_parts import allocator, breakable


def figures_html(figures, palette, is_headed=True):
    """
    Figures with one chart stand side by side; others have a heading and rows. Headed: under a legend, with the titles
    of figures.
    """
    if not figures:
        return ""
    parts, alone = [], []
    for figure in [*figures, None]:
        if figure and len(figure.charts) == 1:
            alone.append(_chart_html(figure.charts[0], palette, figure.text))
            continue
        if alone:
            parts.append(element("div", *alone, class_="charts"))
            alone = []
        if figure:
            parts += _rows_html(figure, palette, is_headed)
    names = {name for figure in figures for chart in figure.charts for name in chart.names}
    return joined(legend_html(names, palette) if is_headed else "", *parts)


def legend_html(names, palette):
    return element("ul", *[element("li", allocator(name, palette)) for name in palette.in_order(names)],
                   class_="legend")


def _rows_html(figure, palette, is_headed):
    rows, more = ([element("div", *[_chart_html(chart, palette) for chart in row], class_="charts") for row in rows]
                  for rows in (figure.rows, figure.more))
    return [element("h3", breakable(figure.title)) if figure.title and is_headed else "",
            element("p", figure.text) if figure.text else "", *rows,
            folded(f"{figure.title_of_more}: {_plots(figure.more)}", *more) if more else ""]


def _plots(rows):
    count = sum(map(len, rows))
    return "1 plot" if count == 1 else f"{count} plots"


def _chart_html(chart, palette, text=""):
    return element("figure", Markup(chart.svg_on_page(palette)), element("figcaption", text) if text else "",
                   **{"aria-label": chart.title})
