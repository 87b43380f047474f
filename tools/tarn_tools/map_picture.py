# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""map_picture: dumps as a Drawing: of each pool a head with totals, a legend, a band of rows for each static pool."""

import textwrap

from . import shown
from .drawing import Drawing
from .map_layout import lay_out, row_bytes_of
from .map_paint import COLOURS, ORDER, Paint, ink_on

WIDTH = 1160
ROWS_WANTED = 28 # at that width, and more where it is less
ROWS_MAX = 56
ROW_HEIGHT = 22
ROW_GAP = 4
LEAST_WIDTH = 0.6 # so that the smallest region between two large ones is visible
LETTER = 0.62 # approximate width of a letter, in heights
LETTERS_MIN = 4 # of a label that is shortened


def _size(value):
    return shown.plain(shown.size(value))


def _count(value):
    return shown.plain(shown.count(value))


class Totals:
    """Sums over the regions, so that they match the picture."""

    def __init__(self, dump):
        self.bytes, self.counts = {}, {}
        requested = largest_free = 0
        for region in dump.regions:
            self.bytes[region.state] = self.bytes.get(region.state, 0) + region.bytes
            self.counts[region.state] = self.counts.get(region.state, 0) + 1
            requested += region.requested_bytes if region.state == "live" else 0
            if region.state == "free" and region.bytes > largest_free:
                largest_free = region.bytes
        free, live = self.bytes.get("free", 0), self.bytes.get("live", 0)
        self.held = sum(self.bytes.values()) - self.bytes.get("unmapped", 0)
        self.largest_free = largest_free
        self.external = 1 - largest_free / free if free else None
        self.internal = 1 - requested / live if live else None


def _totals_text(dump, totals, row_bytes, merged_count):
    live = totals.counts.get("live", 0)
    free = totals.counts.get("free", 0)
    says = f"{_count(live)} live, {_size(totals.bytes.get('live', 0))}; " \
           f"{shown.counted(free, 'free region')}, {_size(totals.bytes.get('free', 0))}" + \
           (f", the largest {_size(totals.largest_free)}" if free > 1 else "")
    fragmentation = []
    if totals.external is not None:
        fragmentation.append(f"external fragmentation {100 * totals.external:.1f} % (free bytes outside of the "
                             "largest free region)")
    if totals.internal is not None:
        fragmentation.append(f"internal {100 * totals.internal:.1f} % (live bytes that were not requested)")
    scale = f"Placement {dump.fit or 'unknown'}, chunks of {_size(dump.chunk_bytes)}. A row is {_size(row_bytes)}, and " \
            "begins with its offset."
    if merged_count:
        scale += f" {shown.counted(merged_count, 'region')} narrower than a pixel: the height of a colour is its share."
    held = ", ".join(f"{name.replace('_', ' ')} {_size(size)}" for name, size in dump.parts)
    return [text for text in (says, held and f"Held for: {held}.", "; ".join(fragmentation), scale) if text]


def _title(region):
    """The text for a pointer that rests on the region."""
    says = [f"{region.state}, {_size(region.bytes)} at +0x{region.offset:x}"]
    if region.requested_bytes:
        says.append(f"{shown.counted(region.requested_bytes, 'byte')} asked for")
    if region.label:
        says.append(f"\"{region.label}\"")
    if region.serial:
        says.append(f"allocation {_count(region.serial)}")
    if region.streams:
        says.append("streams " + ", ".join(region.streams))
    return "\n".join([", ".join(says), *region.site])


def _shortened(text, letters):
    return text if len(text) <= letters else text[:max(letters - 1, 1)].rstrip() + "\u2026"


def _words(region, letters):
    """Returns the words that fit into the region: a label is shortened, a size is not."""
    label, size = region.label, _size(region.bytes)
    if label and len(label) + 1 + len(size) <= letters:
        return f"{label} {size}"
    if label and letters >= LETTERS_MIN:
        return _shortened(label, letters)
    return size if len(size) <= letters else None


class MapPicture:
    """`drawing` has all pools, one below the other, each at a scale of its own."""

    def __init__(self, dumps, width=WIDTH, colour_by="state"):
        self.drawing = Drawing(width, COLOURS)
        self._margin = 20 if width > WIDTH / 2 else 6
        self._rows_wanted = max(ROWS_WANTED, min(ROWS_MAX, ROWS_WANTED * WIDTH // width))
        self._y = self._margin
        for number, dump in enumerate(dumps):
            self._y += 24 if number else 0
            self._pool(dump, colour_by)
        self.drawing.height = self._y + self._margin

    @property
    def _inner_width(self):
        return self.drawing.width - 2 * self._margin

    def _line(self, text, size=12, fill="ink", is_bold=False, advance=None):
        """One line, or several where the picture is narrow."""
        for line in textwrap.wrap(text, int(self._inner_width / size / 0.56)) or [""]:
            self._y += size
            self.drawing.text(self._margin, self._y, line, size, fill, is_bold=is_bold)
            self._y += 0.45 * size
        self._y += advance or 0

    def _pool(self, dump, colour_by):
        totals, paint = Totals(dump), Paint(dump, colour_by)
        row_bytes = row_bytes_of(dump, self._rows_wanted)
        gutter = 6 * max((len(f"+0x{static_pool.bytes:x}") for static_pool in dump.static_pools), default=0) + 4
        layouts = [lay_out(static_pool, row_bytes, self._inner_width - gutter) for static_pool in dump.static_pools]
        pool = f"Pool \"{dump.name}\"" if dump.name else "A pool"
        self._line(f"{pool} of {dump.backend or 'unknown'} memory: {_size(totals.held)} in "
                   f"{shown.counted(len(dump.static_pools), 'static pool')}", 17, is_bold=True)
        for text in _totals_text(dump, totals, row_bytes, sum(layout.merged_count for layout in layouts)):
            self._line(text, 12, "soft")
        self._legend(paint.legend)
        for layout in layouts:
            self._static_pool(layout, gutter, paint.order)
        if not layouts:
            self._line("It holds no memory.", 13)

    def _legend(self, legend):
        self._y += 8
        x = self._margin
        for fill, meaning, size in legend:
            size_says = f", {_size(size)}"
            text = _shortened(meaning, int((self._inner_width - 24) / 6.6) - len(size_says)) + size_says
            width = 22 + len(text) * 6.6 + 20
            if x + width > self.drawing.width - self._margin and x > self._margin:
                x, self._y = self._margin, self._y + 20
            self.drawing.rectangle(x, self._y, 14, 14, fill, edge=True)
            self.drawing.text(x + 20, self._y + 11.5, text, 12)
            x += width
        self._y += 22

    def _static_pool(self, layout, gutter, order):
        static_pool = layout.static_pool
        self._y += 8
        counts = {}
        for region in static_pool.regions:
            counts[region.state] = counts.get(region.state, 0) + 1
        parts = ", ".join(f"{_count(counts[state])} {state}"
                          for state in (*ORDER, *sorted(set(counts) - set(ORDER))) if state in counts)
        self._line(f"static pool {static_pool.id}: {_size(static_pool.bytes)} at 0x{static_pool.base:x}; {parts}", 12,
                   is_bold=True, advance=2)
        left = self._margin + gutter
        for row, offset in enumerate(layout.row_offsets):
            self.drawing.text(left - 4, self._y + row * (ROW_HEIGHT + ROW_GAP) + 15, f"+0x{offset:x}", 9, "soft",
                              anchor="end")
        for cell in layout.cells:
            self._cell(cell, left + cell.x, self._y + cell.row * (ROW_HEIGHT + ROW_GAP), order)
        self._y += len(layout.row_offsets) * (ROW_HEIGHT + ROW_GAP)

    def _cell(self, cell, x, y, order):
        if cell.shares:
            top = y + ROW_HEIGHT
            width = max(cell.width, LEAST_WIDTH)
            for fill, part in sorted(cell.shares, key=lambda share: order[share[0]]):
                top -= part * ROW_HEIGHT
                self.drawing.rectangle(x, top, width, part * ROW_HEIGHT, fill,
                                       title=f"{cell.count} regions" if cell.count > 1 else None)
            return
        region = cell.region
        self.drawing.rectangle(x, y, cell.width, ROW_HEIGHT, region.fill, _title(region), edge=cell.width > 3)
        size = 8 if cell.is_gap else 10
        text = f"\u2026{_size(region.bytes)}\u2026" if cell.is_gap else \
            _words(region, int((cell.width - 6) / size / LETTER))
        if text and cell.has_words:
            self.drawing.text(x + cell.width / 2, y + 15, text, size, ink_on(region.fill), anchor="middle")
