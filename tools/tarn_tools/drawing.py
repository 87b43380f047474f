# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""drawing: a picture of rectangles and words, written as SVG, or as PNG through matplotlib."""

import io
from html import escape

from .chart import load_matplotlib
from .failure import Failure

PNG_SIDE_MAX = 60_000 # matplotlib has a limit
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif"


def _number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


class Drawing:
    """Lengths are in pixels from the top left. A fill is a name in `colours`: {name: (light paper, dark paper)}."""

    def __init__(self, width, colours):
        self.width = width
        self.height = 0
        self._colours = colours
        self._shapes = []

    def rectangle(self, x, y, width, height, fill, title=None, edge=None):
        self._shapes.append(("rectangle", x, y, width, height, fill, title, edge))

    def text(self, x, y, text, size=12, fill="ink", anchor="start", is_bold=False):
        self._shapes.append(("text", x, y, text, size, fill, anchor, is_bold))

    def svg(self):
        """The viewer's preference chooses light or dark; the names of the fills are classes."""
        style = "".join(f".{name}{{fill:{light}}}" for name, (light, _) in self._colours.items())
        dark = "".join(f".{name}{{fill:{dark}}}" for name, (_, dark) in self._colours.items())
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {_number(self.height)}" '
               f'width="{self.width}" font-family="{FONT}" style="max-width:100%;height:auto">'
               f"<style>{style}@media screen and (prefers-color-scheme:dark){{{dark}}}</style>",
               '<rect class="paper" width="100%" height="100%"/>']
        for shape in self._shapes:
            out.append(self._svg_rectangle(*shape[1:]) if shape[0] == "rectangle" else self._svg_text(*shape[1:]))
        return "\n".join(out) + "\n</svg>\n"

    @staticmethod
    def _svg_rectangle(x, y, width, height, fill, title, edge):
        drawn = f'<rect class="{fill}" x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" ' \
                f'height="{_number(height)}"'
        if edge:
            drawn += ' stroke="currentColor" stroke-opacity=".45" stroke-width=".6"'
        return f"{drawn}><title>{escape(title)}</title></rect>" if title else drawn + "/>"

    @staticmethod
    def _svg_text(x, y, text, size, fill, anchor, is_bold):
        weight = ' font-weight="600"' if is_bold else ""
        at = f' text-anchor="{anchor}"' if anchor != "start" else ""
        return f'<text class="{fill}" x="{_number(x)}" y="{_number(y)}" font-size="{size}"{at}{weight} ' \
               f'pointer-events="none">{escape(text)}</text>'

    def png(self):
        if self.height > PNG_SIDE_MAX:
            raise Failure(f"the picture is {self.height:.0f} pixels high, and a PNG has at most {PNG_SIDE_MAX}; as "
                          ".svg or .html it may have any height")
        scale = min(2, PNG_SIDE_MAX / self.height)
        load_matplotlib()
        from matplotlib.collections import PatchCollection
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle
        figure = Figure(figsize=(self.width / 100, self.height / 100), dpi=100 * scale)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, self.width)
        axes.set_ylim(self.height, 0)
        boxes = [shape for shape in self._shapes if shape[0] == "rectangle"]
        axes.add_collection(PatchCollection(
            [Rectangle((x, y), width, height) for _, x, y, width, height, *_ in boxes],
            facecolors=[self._colours[box[5]][0] for box in boxes],
            edgecolors=["#00000070" if box[7] else "none" for box in boxes], linewidths=0.4))
        for shape in self._shapes:
            if shape[0] == "text":
                _, x, y, text, size, fill, anchor, is_bold = shape
                axes.text(x, y, text, fontsize=size * 0.72, color=self._colours[fill][0], va="baseline",
                          ha={"start": "left", "middle": "center", "end": "right"}[anchor],
                          fontweight="semibold" if is_bold else "normal")
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=100 * scale, metadata={"Software": None})
        return content.getvalue()
