# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""map_page: a page with the picture of pools, for wide screens and narrow ones, and tables of live memory."""

from collections import Counter

from . import shown
from .html_text import Markup, Table, element, joined
from .map_paint import COLOURS
from .map_picture import MapPicture

ROWS_MAX = 40
NARROW_WIDTH = 360 # a phone's


def _groups(dump, key_of):
    """(key, count, bytes, requested bytes) of live regions, most bytes first."""
    counts, sizes, requested = Counter(), Counter(), Counter()
    for region in dump.regions:
        if region.state == "live":
            key = key_of(region)
            counts[key] += 1
            sizes[key] += region.bytes
            requested[key] += region.requested_bytes
    return [(key, counts[key], sizes[key], requested[key])
            for key in sorted(sizes, key=lambda key: (-sizes[key], str(key)))]


def _table(title, head, groups, show_key):
    table = Table(title)
    table.head(head, "blocks", "bytes", "asked for")
    for key, count, size, requested in groups[:ROWS_MAX]:
        table.row(show_key(key), shown.count(count), shown.size(size), shown.size(requested))
    if len(groups) > ROWS_MAX:
        rest = groups[ROWS_MAX:]
        table.row(f"{len(rest)} more", shown.count(sum(group[1] for group in rest)),
                  shown.size(sum(group[2] for group in rest)), shown.size(sum(group[3] for group in rest)))
    return table.html()


STYLE = """:root { color-scheme: light dark; } body { margin: 1rem auto; max-width: 74rem; padding: 0 1rem;
font: 15px/1.5 system-ui, sans-serif; background: %s; color: %s; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; margin: 1rem 0; }
caption { text-align: left; font-weight: 600; } th, td { text-align: right; padding: .15rem .7rem; font-weight: 400; }
th:first-child { text-align: left; } thead th { opacity: .7; } .wide { overflow-x: auto; } .narrow { display: none; } .narrow svg { width: 100%%; }
@media screen and (max-width: 46rem) { body { margin: 0 auto; padding: 0 .4rem; }
.broad { display: none; } .narrow { display: block; } }
@media screen and (prefers-color-scheme: dark) { body { background: %s; color: %s; } }
@page { size: A4 landscape; margin: 10mm; }"""


def _tables(dump):
    labels = _groups(dump, lambda region: region.label)
    if any(key for key, *_ in labels):
        yield _table("Live, by label", "label", labels, lambda key: key or "(no label)")
    if labels:
        by_size = sorted(_groups(dump, lambda region: 1 << max(region.bytes - 1, 0).bit_length()))
        yield _table("Live, by size", "up to", by_size, shown.size)


def _picture(dump, class_, **how):
    svg = MapPicture([dump], **how).drawing.svg().replace(' xmlns="http://www.w3.org/2000/svg"', "")
    return element("div", Markup(svg), class_=class_)


def map_html(dumps, title, colour_by):
    parts = []
    for dump in dumps:
        parts += [_picture(dump, "broad", colour_by=colour_by),
                  _picture(dump, "narrow", colour_by=colour_by, width=NARROW_WIDTH), *_tables(dump)]
    paper, ink = COLOURS["paper"], COLOURS["ink"]
    return joined(Markup("<!DOCTYPE html>\n"), element(
        "html", element("head", Markup('<meta charset="utf-8"><meta name="viewport" '
                                       'content="width=device-width, initial-scale=1">'), element("title", title),
                        element("style", Markup(STYLE % (paper[0], ink[0], paper[1], ink[1])))),
        "\n", element("body", *parts), lang="en"), "\n")
