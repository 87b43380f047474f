# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
map_layout: where the regions of a pool are drawn.

All static pools of a pool have one scale: a row is a power of two in bytes, so that a large pool takes several rows and
the picture about as many as are wanted. A run of addresses without memory that exceeds a row becomes a gap of fixed width, since a
contiguous pool may own a thousand times as many addresses as it has memory.

Neighbouring regions narrower than a pixel share a cell of at least a pixel, filled from the bottom by the share of
bytes of each colour. So 100 000 regions take as many cells as the picture has pixels.
"""

ROWS_WANTED = 28
GAP_PIXELS = 46
UNMAPPED = "unmapped"


class Cell:
    """One drawn place: a region, a part of one (where a row ends), or several merged regions."""

    __slots__ = ("row", "x", "width", "region", "shares", "count", "is_gap", "has_words")

    def __init__(self, row, x, width, region=None, shares=None, count=1, is_gap=False):
        self.row, self.x, self.width = row, x, width
        self.region, self.shares, self.count, self.is_gap = region, shares, count, is_gap
        self.has_words = is_gap # the widest part of a region has them


class PoolLayout:
    """`row_offsets` are those of the first byte in each row, from the start of the static pool."""

    def __init__(self, static_pool, cells, row_offsets):
        self.static_pool, self.cells, self.row_offsets = static_pool, cells, row_offsets

    @property
    def merged_count(self):
        return sum(cell.count for cell in self.cells if cell.shares)


def row_bytes_of(dump, rows_wanted=ROWS_WANTED):
    """Returns a power of two, at least a chunk, with which all memory takes about so many rows."""
    mapped = sum(region.bytes for region in dump.regions if region.state != UNMAPPED)
    wanted = max(mapped // rows_wanted, dump.chunk_bytes, 1)
    return 1 << (wanted - 1).bit_length()


class _Pen:
    """Walks from left to right and on to the next row, in bytes."""

    def __init__(self, row_bytes, width):
        self.width = width
        self.pixels_per_byte = width / row_bytes
        self.row = 0
        self.x = 0.0
        self.row_offsets = [0]
        self.cells = []
        self._shares, self._count, self._merged_from = {}, 0, 0.0

    def flush(self):
        if self._count:
            total = sum(self._shares.values())
            shares = [(fill, part / total) for fill, part in self._shares.items()]
            self.cells.append(Cell(self.row, self._merged_from, self.x - self._merged_from, shares=shares,
                                   count=self._count))
        self._shares, self._count = {}, 0

    def _next_row(self, offset):
        self.row, self.x = self.row + 1, 0.0
        self.row_offsets.append(offset)

    def _end_row_if_full(self, offset):
        """The next row, if there is one, begins with this offset."""
        if self.x > self.width - 1e-6:
            self.flush()
            self._next_row(offset)

    def gap(self, region):
        self.flush()
        if self.x + GAP_PIXELS > self.width:
            self._next_row(region.offset)
        self.cells.append(Cell(self.row, self.x, GAP_PIXELS, region, is_gap=True))
        self.x += GAP_PIXELS
        self._end_row_if_full(region.offset + region.bytes)

    def region(self, region):
        width = region.bytes * self.pixels_per_byte
        if width < 1:
            self._merge(region, width)
            return
        self.flush()
        parts = []
        while width > 1e-6:
            part = min(width, self.width - self.x)
            parts.append(Cell(self.row, self.x, part, region))
            self.x += part
            width -= part
            self._end_row_if_full(region.offset + region.bytes - round(width / self.pixels_per_byte))
        max(parts, key=lambda cell: cell.width).has_words = True
        self.cells += parts

    def _merge(self, region, width):
        if not self._count:
            self._merged_from = self.x
        self._shares[region.fill] = self._shares.get(region.fill, 0) + region.bytes
        self._count += 1
        self.x = min(self.x + width, self.width)
        if self.x - self._merged_from >= 1:
            self.flush()
        self._end_row_if_full(region.offset + region.bytes)


def lay_out(static_pool, row_bytes, width):
    pen = _Pen(row_bytes, width)
    for region in static_pool.regions:
        if region.state == UNMAPPED and region.bytes > row_bytes:
            pen.gap(region)
        else:
            pen.region(region)
    pen.flush()
    return PoolLayout(static_pool, pen.cells, pen.row_offsets[:pen.row + (1 if pen.x > 0 else 0)])
