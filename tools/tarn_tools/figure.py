# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
figure: one question and the plots that answer it.

A figure has rows of charts. The charts of a row share a scale, so that they can be compared by eye. A row has a
chart for each run, and each row shows a different aspect. With one run the aspects stand side by side.
"""

import re

from . import chart
from .chart import Chart

FILE_NAME_LETTERS_MAX = 90


class Figure:
    def __init__(self, section, title, text, rows, more=(), title_of_more=""):
        """`more`: rows that a page shows on demand, under a title of their own."""
        self.section = section
        self.title = title
        self.text = text
        self.rows = _side_by_side(rows)
        self.more = _side_by_side(more)
        self.title_of_more = title_of_more

    @property
    def charts(self):
        return [chart for row in self.rows + self.more for chart in row]


def _side_by_side(rows):
    rows = [row for row in rows if row]
    return [[row[0] for row in rows]] if rows and max(map(len, rows)) == 1 else rows


def file_name(*parts):
    return re.sub(r"[^a-z0-9]+", "-", " ".join(parts).lower()).strip("-")[:FILE_NAME_LETTERS_MAX]


def chart_of(name, title, run, runs, draw, **options):
    """Returns the chart of one run, with the run's name if there are several."""
    if len(runs) > 1:
        name, title = f"{name} {run.label}", f"{title}\n{run.label}"
    return Chart(file_name(name), title, draw, **options)


def limits_of_series(all_series):
    return chart.limits_of(value.median for series in all_series for points in series.values() for _, value in points)


def dots_height(rows):
    return 1.5 + (0.3 + 0.03 * max(len(values) for _, values in rows)) * len(rows)


def number_equal_names(figures):
    """Numbers file names that become equal because some letters are not allowed, so that no plot replaces another."""
    taken = set()
    for one in (one for figure in figures for one in figure.charts):
        name, number = one.name, 1
        while one.name in taken:
            number += 1
            one.name = f"{name}-{number}"
        taken.add(one.name)
