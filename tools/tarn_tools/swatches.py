# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""swatches: a sample of an allocator's line with its marker, as plots draw it, for legends in the text of a page."""

import functools

WIDTH, HEIGHT = 30, 12
MARKER_SIZE = 7.5
DASHES = {"-": None, "--": "5 2.4", ":": "1.4 2.2", "-.": "6 2 1.4 2"}
LETTERS = {1: "M", 2: "L", 3: "Q", 4: "C"} # of matplotlib's codes
STROKED = tuple("1234+x") # markers that are lines


def sample_of(style):
    return _sample(style.marker, style.dashes, style.width, style.is_hollow)


@functools.lru_cache(maxsize=None)
def _sample(marker, dashes, width, is_hollow):
    dash = f' stroke-dasharray="{DASHES[dashes]}"' if DASHES[dashes] else ""
    fill = "none" if marker in STROKED else "var(--paper)" if is_hollow else "var(--of)"
    return (f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">'
            f'<path d="M0 {HEIGHT / 2:g}H{WIDTH}" fill="none" stroke-width="{width}"{dash}/>'
            f'<path d="{_outline(marker)}" fill="{fill}" stroke-width="1.2"/></svg>')


def _outline(marker):
    """The marker's path in the middle of the sample."""
    from matplotlib.markers import MarkerStyle
    style = MarkerStyle(marker)
    path = style.get_path().transformed(style.get_transform())
    parts = []
    for points, code in path.iter_segments(curves=True):
        pairs = [f"{WIDTH / 2 + MARKER_SIZE * x:.2f} {HEIGHT / 2 - MARKER_SIZE * y:.2f}"
                 for x, y in zip(points[::2], points[1::2])]
        parts.append("Z" if code == path.CLOSEPOLY else f"{LETTERS[code]}{' '.join(pairs)}")
    return "".join(parts)
