# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
html_text: HTML built so that no text from a file can become markup. element() escapes its content, unless it is of
type Markup.
"""

import html


class Markup(str):
    """Text that is HTML."""


def escaped(content):
    return content if isinstance(content, Markup) else Markup(html.escape(str(content), quote=True))


def joined(*parts):
    return Markup("".join(escaped(part) for part in parts))


def element(name, *content, **attributes):
    """<name attributes>content</name>; class_ stands for class, and an attribute that is None is left out."""
    shown = "".join(f' {key.rstrip("_")}="{html.escape(str(value), quote=True)}"'
                    for key, value in attributes.items() if value is not None)
    return Markup(f"<{name}{shown}>{joined(*content)}</{name}>")


def folded(summary, *content):
    """Content that opens when its summary is clicked; on paper it is open."""
    return element("details", element("summary", summary), *content)


class Table:
    """A table in its own box, which scrolls if the page is narrow."""

    def __init__(self, caption=None, class_=None):
        self._caption = caption
        self._class = class_
        self._head = []
        self._rows = []

    def head(self, *cells):
        """A cell: its text, or (text, how many columns it spans)."""
        self._head.append(cells)

    def row(self, first, *cells, class_=None):
        shown = [element("th", first, scope="row")]
        shown += [cell if isinstance(cell, Markup) and cell.startswith("<td") else element("td", cell)
                  for cell in cells]
        self._rows.append(element("tr", *shown, class_=class_))

    def group(self, title, column_count):
        """A line across the table, above the rows that follow."""
        self._rows.append(element("tr", element("th", element("span", title), colspan=column_count, scope="rowgroup"),
                                  class_="group"))

    @property
    def is_empty(self):
        return not self._rows

    def html(self):
        return self._box(element("caption", self._caption) if self._caption else "")

    def folded(self, *notes):
        """Under its caption alone, which opens it."""
        return folded(self._caption, self._box(), *notes)

    def _box(self, caption=""):
        head = [element("tr", *[self._head_cell(cell) for cell in cells]) for cells in self._head]
        table = element("table", caption, element("thead", *head), element("tbody", *self._rows), class_=self._class)
        return element("div", table, class_="wide", tabindex="0")

    @staticmethod
    def _head_cell(cell):
        text, span = cell if isinstance(cell, tuple) else (cell, None)
        return element("th", text, scope="col" if not span else "colgroup", colspan=span)
