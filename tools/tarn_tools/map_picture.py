# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""map_picture: a dump as a Drawing: head with totals, legend, a band of rows for each static pool."""

from . import shown
from .drawing import Drawing
from .map_layout import lay_out, row_bytes_of

WIDTH = 1160
MARGIN = 20
ROW_HEIGHT = 22
ROW_GAP = 4
LEAST_WIDTH = 0.6 # so that the smallest region between two large ones is visible
LETTER = 6.2 # approximate width of a letter of 10 pixels

# Light paper, dark paper. Live, free and pending also differ in lightness, for eyes that see no colours.
COLOURS = {
    "paper": ("#ffffff", "#15171a"), "ink": ("#1b1e23", "#e6e8eb"), "soft": ("#5b616a", "#a3a9b2"),
    "live": ("#2f74c0", "#5b9fe6"), "free": ("#e4e8ed", "#363c44"), "pending": ("#f0b040", "#c98a1a"),
    "sliced": ("#bcd7f2", "#33516f"), "unmapped": ("#f7f7f8", "#1d2024"), "quarantined": ("#c9a3d8", "#74508a"),
    "captured": ("#8fbf9a", "#3f6f4c"), "damaged": ("#c03028", "#ff6a5c"), "other": ("#9a9a9a", "#9a9a9a"), "onlive": ("#ffffff", "#0c1420"),
    "onpending": ("#3a2a00", "#1b1200"),
}
MEANINGS = {
    "live": "live: handed out", "free": "free", "pending": "pending: freed on a stream that may still use it",
    "sliced": "free slices of a chunk", "captured": "free, for the graphs of a capture alone",
    "unmapped": "addresses without memory",
    "quarantined": "freed and held back (debug mode)", "damaged": "written to out of turn (debug mode)",
}
ORDER = tuple(MEANINGS)
_INK_ON = {"live": "onlive", "damaged": "onlive", "pending": "onpending", "captured": "onpending", "quarantined": "ink"}


def _fill(state):
    return state if state in MEANINGS else "other"


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

    def states(self):
        known = [state for state in ORDER if state in self.bytes]
        return known + sorted(state for state in self.bytes if state not in MEANINGS)


def _title(region):
    """The text for a pointer that rests on the region."""
    says = [f"{region.state}, {_size(region.bytes)} at +0x{region.offset:x}"]
    if region.requested_bytes:
        says.append(f"{_count(region.requested_bytes)} bytes asked for")
    if region.label:
        says.append(f"\"{region.label}\"")
    if region.streams:
        says.append("streams " + ", ".join(region.streams))
    return "\n".join([", ".join(says), *region.site])


def _words(region, width):
    """Returns the words that fit into the region."""
    for text in (f"{region.label} {_size(region.bytes)}" if region.label else "", _size(region.bytes)):
        if text and len(text) * LETTER + 8 <= width:
            return text
    return None


class MapPicture:
    def __init__(self, dump):
        self.dump = dump
        self.totals = Totals(dump)
        self.row_bytes = row_bytes_of(dump)
        width = WIDTH - 2 * MARGIN
        self.layouts = [lay_out(static_pool, self.row_bytes, width) for static_pool in dump.static_pools]
        self.merged_count = sum(layout.merged_count for layout in self.layouts)
        self.drawing = Drawing(WIDTH, COLOURS)
        self._y = MARGIN
        self._draw()

    def _line(self, text, size=12, fill="ink", is_bold=False, advance=None):
        self._y += size
        self.drawing.text(MARGIN, self._y, text, size, fill, is_bold=is_bold)
        self._y += advance if advance is not None else 0.45 * size

    def _draw(self):
        dump = self.dump
        count = len(dump.static_pools)
        self._line(f"A pool of {dump.backend or 'unknown'} memory: {_size(self.totals.held)} in {count} static "
                   f"pool{'s' if count != 1 else ''}", 17, is_bold=True)
        for text in self.totals_text():
            self._line(text, 12, "soft")
        self._legend()
        for layout in self.layouts:
            self._static_pool(layout)
        if not self.layouts:
            self._line("It holds no memory.", 13)
        self.drawing.height = self._y + MARGIN

    def totals_text(self):
        totals = self.totals
        live = totals.counts.get("live", 0)
        free = totals.counts.get("free", 0)
        says = f"{_count(live)} live, {_size(totals.bytes.get('live', 0))}; {_count(free)} free region" \
               f"{'s' if free != 1 else ''}, {_size(totals.bytes.get('free', 0))}" + \
               (f", the largest {_size(totals.largest_free)}" if free > 1 else "")
        fragmentation = []
        if totals.external is not None:
            fragmentation.append(f"external fragmentation {100 * totals.external:.1f} % (free bytes outside of the "
                                 "largest free region)")
        if totals.internal is not None:
            fragmentation.append(f"internal {100 * totals.internal:.1f} % (live bytes that were not requested)")
        scale = f"Placement {self.dump.fit or 'unknown'}, chunks of {_size(self.dump.chunk_bytes)}. " \
                f"A row is {_size(self.row_bytes)}."
        if self.merged_count:
            scale += f" {_count(self.merged_count)} regions are narrower than a pixel and drawn " \
                     "together: the height of a colour is its share."
        return [text for text in (says, "; ".join(fragmentation), scale) if text]

    def _legend(self):
        self._y += 8
        x = MARGIN
        for state in self.totals.states():
            text = f"{MEANINGS.get(state, state)}, {_size(self.totals.bytes[state])}"
            width = 22 + len(text) * 6.6 + 20
            if x + width > WIDTH - MARGIN and x > MARGIN:
                x, self._y = MARGIN, self._y + 20
            self.drawing.rectangle(x, self._y, 14, 14, _fill(state), edge=True)
            self.drawing.text(x + 20, self._y + 11.5, text, 12)
            x += width
        self._y += 22

    def _static_pool(self, layout):
        static_pool = layout.static_pool
        self._y += 8
        counts = {}
        for region in static_pool.regions:
            counts[region.state] = counts.get(region.state, 0) + 1
        parts = ", ".join(f"{_count(counts[state])} {state}"
                          for state in (*ORDER, *sorted(set(counts) - set(ORDER))) if state in counts)
        self._line(f"static pool {static_pool.id}: {_size(static_pool.bytes)} at 0x{static_pool.base:x}; {parts}", 12,
                   is_bold=True, advance=6)
        for cell in layout.cells:
            self._cell(cell, self._y + cell.row * (ROW_HEIGHT + ROW_GAP))
        self._y += layout.row_count * (ROW_HEIGHT + ROW_GAP)

    def _cell(self, cell, y):
        x = MARGIN + cell.x
        if cell.shares:
            top = y + ROW_HEIGHT
            shares = sorted(cell.shares, key=lambda share: ORDER.index(share[0]) if share[0] in ORDER else len(ORDER))
            width = max(cell.width, LEAST_WIDTH)
            for state, part in shares:
                top -= part * ROW_HEIGHT
                self.drawing.rectangle(x, top, width, part * ROW_HEIGHT, _fill(state),
                                       title=f"{cell.count} regions" if cell.count > 1 else None)
            return
        region = cell.region
        self.drawing.rectangle(x, y, cell.width, ROW_HEIGHT, _fill(region.state), _title(region), edge=cell.width > 3)
        text = f"\u2026{_size(region.bytes)}\u2026" if cell.is_gap else _words(region, cell.width)
        if text and cell.has_words:
            fill = _INK_ON.get(region.state, "soft")
            self.drawing.text(x + cell.width / 2, y + 15, text, 8 if cell.is_gap else 10, fill, anchor="middle")
