# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_parts: what several parts of a page show alike: an allocator, a figure, a balance."""

import re

from . import shown
from .allocators import is_floor
from .html_text import Markup, Table, element, escaped, joined
from .results import CUT_SHORT
from .swatches import sample_of
from .verdicts import NEAR, standing

UNBROKEN_LETTERS_MAX = 24
NEAR_PERCENT = f"{(NEAR - 1) * 100:.0f}{shown.THIN_SPACE}%"

MARKS = {"wins": "\u25b2", "level": "=", "loses": "\u25bc"} # of tarn; colour says it, too


def swatch(name, palette):
    """The allocator's line and marker as in plots; hollow if it was called through Python."""
    style = palette[name]
    return element("span", Markup(sample_of(style)), class_="swatch", style=f"--of:var({style.variable})")


def breakable(text):
    """A name may break after each of its parts, and anywhere if a part is longer than a narrow page."""
    parts = re.sub(rf"([:_/-]+|[^\s:_/-]{{{UNBROKEN_LETTERS_MAX}}})(?=[^\s:_/-])", "\\1\0", text).split("\0")
    return Markup(Markup("<wbr>").join(map(escaped, parts)))


def legend_item(name, palette, about=None):
    return element("li", swatch(name, palette), element("b", breakable(name)), f" \u2013 {about}" if about else "")


def allocator(name, palette):
    return joined(swatch(name, palette), breakable(name), element("small", " a floor") if is_floor(name) else "")


def figure_of(result):
    """Returns the main figure: pairs a second of several threads, or the time of one pair."""
    if result.is_rated:
        return f"{shown.rate(result.rates[0])}/s"
    return shown.duration_with_unit(result.pair_ns[0])


def notes_of(result):
    """Notes that a reader needs for a figure, in a few words each."""
    notes = []
    if result.outcome == CUT_SHORT:
        notes.append("cut short")
    if not result.is_verified:
        notes.append("not verified")
    if not result.is_interleaved:
        notes.append("ran alone")
    if result.is_through_python and result.is_rated:
        notes.append("one thread at a time")
    return notes


def details_of(result):
    """The text for a pointer that rests on the figure."""
    says = [f"{result.allocator}: {spread_shown(result)}"]
    if result.python_ns:
        says.append(f"{shown.duration_with_unit(result.python_ns)} of Python are taken off")
    for call, name in (("alloc_ns", "allocation"), ("free_ns", "free")):
        if result[f"{call}.p50"]: # zeros if single calls were not measured
            says.append(f"{name} p50 {shown.duration(result[f'{call}.p50'])}, p99 "
                        f"{shown.duration(result[f'{call}.p99'])}, p99.9 {shown.duration(result[f'{call}.p999'])}")
    if result.held_by_live:
        says.append(f"held {shown.size(result['peak_footprint_bytes'])}, {shown.ratio(result.held_by_live)} of live")
    return "; ".join(says)


def spread_shown(result):
    """From the least to the most of the repetitions."""
    triple, show = (result.rates, shown.rate) if result.is_rated else (result.pair_ns, shown.duration)
    _, low, high = triple or (None, None, None)
    return f"{show(low)}{shown.NOTHING}{show(high)}" if low and high else shown.NOTHING


def loss_mark(times_tarn, is_rival=True):
    """Stands right before a figure by which tarn loses, and nowhere else."""
    return f"{MARKS['loses']}{shown.THIN_SPACE}" if is_rival and standing(times_tarn) == "loses" else ""


def with_range(text, least, most):
    return element("td", text, element("small", f"{least}{shown.NOTHING}{most}" if least != most else ""))


def not_told():
    """The cell of an allocator that cannot tell a figure."""
    return element("td", shown.NOTHING, element("small", "not told"))


def size_cell(value):
    return shown.size(value) if value else not_told()


def by_machine(judged, rows_of, caption, *head, notes=()):
    """
    judged: [(run, verdicts)]; rows_of(verdicts) returns rows of cells. Makes a folded table with the rows of each
    machine, with its name if there are several. None: there are no rows.
    """
    rows_by_label = {run.label: rows_of(verdicts) for run, verdicts in judged}
    width = max((len(row) for rows in rows_by_label.values() for row in rows), default=0)
    if not width:
        return None
    table = Table(f"{caption} ({sum(map(len, rows_by_label.values()))})", class_="comparison")
    table.head(*head[:width])
    for label, rows in rows_by_label.items():
        if rows and len(judged) > 1:
            table.group(label, width)
        for row in rows:
            table.row(*row, *[""] * (width - len(row)))
    return table.folded(*notes)


def share_words(part, whole):
    return f"all {whole}" if part == whole and whole > 1 else f"{part} of {whole}"


def workloads(count):
    return "workload" if count == 1 else "workloads"


def speed_words(spread):
    """(speed at the median, range)"""
    return f"{shown.ratio(spread[1])} as fast as", range_words(spread)


def range_words(spread):
    least, _, most = spread
    return "" if least == most else f" ({shown.ratio(least)} to {shown.ratio(most)})"
