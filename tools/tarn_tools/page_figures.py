# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_figures: plots on a page."""

from .html_text import Markup, element, joined


def _chart_html(chart, palette, text=""):
    return element("figure", Markup(chart.svg_on_page(palette)), element("figcaption", text) if text else "",
                   **{"aria-label": chart.title})


def figures_html(figures, palette):
    """Figures with one chart stand side by side; others have a heading and rows."""
    parts, alone = [], []
    for figure in [*figures, None]:
        if figure and len(figure.charts) == 1:
            alone.append(_chart_html(figure.charts[0], palette, figure.text))
            continue
        if alone:
            parts.append(element("div", *alone, class_="charts" if len(alone) % 3 == 0 else "charts large"))
            alone = []
        if figure:
            parts += [element("h3", figure.title) if figure.title else "",
                      element("p", figure.text) if figure.text else "",
                      *[element("div", *[_chart_html(chart, palette) for chart in row], class_="charts")
                        for row in figure.rows]]
    return joined(*parts)
