# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
browser: a page as a browser lays it out, at several widths at once: what is wider than the page, which words are broken
over two lines, which texts of plots are cut off. All that is folded is opened first.

The page is in a frame for each width, in one document, whose script writes what it found into the document; chromium
prints that. Nothing else is needed, and the browser starts once.
"""

import html
import json
import re
import shutil
import subprocess

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PACKAGE = "chromium"
FRAME_HEIGHT = 900
SECONDS_MAX = 100

# A box that scrolls by itself may have wide content, if it is not wide itself. A word may break after a hyphen, a dash
# or a slash, and where the page allows it, which ends a text node.
SCRIPT = """
const scrolls = node => ["auto", "scroll"].includes(getComputedStyle(node).overflowX);
const isInScroller = node => { while ((node = node.parentElement)) if (scrolls(node)) return true; return false; };
const named = node => node.tagName.toLowerCase() + "." + (node.getAttribute("class") || "") + ": " +
    node.textContent.trim().slice(0, 60);
const isShown = box => box.width > 0 && box.height > 0;
function tooWide(page, width) {
    const found = [], widest = page.documentElement.scrollWidth;
    if (widest > width + 1) found.push("the page itself: " + widest);
    for (const node of page.body.querySelectorAll("*:not(svg *)")) {
        const box = node.getBoundingClientRect();
        if (isShown(box) && !isInScroller(node) && (box.right > width + 1 || box.left < -1)) found.push(named(node));
    }
    return found;
}
function measureWords(page, width, wide, broken) {
    const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode());) {
        if (node.parentElement.closest("svg, style")) continue;
        for (const word of node.data.matchAll(/[^\\s\\/\\u2010-\\u2015-]+/g)) {
            const range = page.createRange();
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            const last = range.getBoundingClientRect();
            if (isShown(last) && last.right > width + 1 && !isInScroller(node)) wide.push(word[0]);
            if (new Set([...range.getClientRects()].filter(isShown).map(box => Math.round(box.top))).size > 1)
                broken.push(word[0]);
        }
    }
}
function cutTexts(page) {
    const found = [];
    for (const svg of page.querySelectorAll("figure svg")) {
        const outer = svg.getBoundingClientRect();
        for (const text of svg.querySelectorAll("text")) {
            const box = text.getBoundingClientRect();
            if (isShown(box) && (box.left < outer.left - 2 || box.right > outer.right + 2 || box.top < outer.top - 2 ||
                box.bottom > outer.bottom + 2)) found.push(text.textContent);
        }
    }
    return found;
}
addEventListener("load", () => {
    const found = {};
    for (const frame of document.querySelectorAll("iframe")) {
        const page = frame.contentDocument, width = frame.clientWidth, height = page.documentElement.scrollHeight;
        for (const details of page.querySelectorAll("details")) details.open = true;
        const wide = tooWide(page, width), broken = [];
        measureWords(page, width, wide, broken);
        found[width] = {folded_height: height, too_wide: wide, broken_words: broken, cut_texts: cutTexts(page)};
    }
    document.getElementById("found").textContent = JSON.stringify(found);
});
"""


def find_browser():
    return next(filter(None, map(shutil.which, BROWSERS)), None)


class Layout:
    """`too_wide`, `broken_words`, `cut_texts`: [text]; `folded_height`: the pixels of the page as it opens."""

    def __init__(self, found):
        self.folded_height = found["folded_height"]
        self.too_wide, self.broken_words, self.cut_texts = (found[key] for key in
                                                            ("too_wide", "broken_words", "cut_texts"))


def layouts_of(page, widths, folder):
    """{width: Layout} of a page's source. The folder takes the browser's files."""
    frames = "".join(f'<iframe style="border:0;width:{width}px;height:{FRAME_HEIGHT}px" '
                     f'srcdoc="{html.escape(page, quote=True)}"></iframe>' for width in widths)
    outer = folder / "frames.html"
    outer.write_text(f'<!DOCTYPE html><meta charset="utf-8"><pre id="found"></pre>{frames}<script>{SCRIPT}</script>',
                     encoding="utf-8")
    done = subprocess.run(
        [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         f"--user-data-dir={folder / 'browser'}", f"--window-size={max(widths) + 50},{FRAME_HEIGHT}",
         "--virtual-time-budget=20000", "--dump-dom", outer.as_uri()],
        capture_output=True, check=False, timeout=SECONDS_MAX)
    found = re.search(r'<pre id="found">(.+?)</pre>', done.stdout.decode("utf-8", "replace"), re.DOTALL)
    if not found:
        raise AssertionError(f"the browser measured nothing: {done.stderr.decode('utf-8', 'replace')[-1500:]}")
    return {int(width): Layout(of_width) for width, of_width in json.loads(html.unescape(found[1])).items()}
