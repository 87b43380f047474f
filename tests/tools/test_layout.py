# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The page in a browser, at the widths of a phone, a tablet and a desk: nothing is wider than the page, no word is broken
over two lines, no text of a plot is cut off. Two such faults are planted, so that it is known that they are found.
"""

import unittest

from browser import PACKAGE, find_browser, layouts_of
from page_reader import WithPage
from support import InFolder, has_matplotlib, heap_file, heap_remark, heap_result, rates, result, results_file

PHONE, TABLET, DESK = WIDTHS = (375, 820, 1400)
PIXELS_MAX = 12_000 # of a page as it opens: it was 41 000 at a phone's width

needs_browser = unittest.skipUnless(find_browser(), f"no browser is here to lay pages out: package {PACKAGE}, or "
                                    "scripts/setup --developer")

NAMES = ("tarn", "tarn:contiguous", "tarn:contiguous:segregated_fit", "vendor-pool:release", "umpire:list", "mimalloc",
         "libc-malloc", "ordered-sets", "raw")
LONG = "the-name-of-a-trace_with_many_parts,-of-which-onehasmorelettersthananarrowpageisableto-hold"
over_time = {"memory_over_time": [[0, 1 << 20, 2 << 20], [900, 1 << 20, 3 << 20]]}


def many_results():
    return [*[result(name, 20 + 90 * number, workload=workload, **over_time) for number, name in enumerate(NAMES)
              for workload in ("omegah-ugawg-linear-3d", LONG)],
            *[result(name, 30 + 9 * number, bench="live", workload=workload) for number, name in enumerate(NAMES)
              for workload in ("10 of 1 to 64K", "100000 of 1 to 64K")],
            *[rates(name, threads, 1e9 / (threads + number)) for number, name in enumerate(NAMES)
              for threads in (1, 2)]]


@needs_browser
class Layout(WithPage):
    @unittest.skipUnless(has_matplotlib(), "no Python here has matplotlib: package python3-matplotlib")
    def test_the_page(self):
        self.page_of(
            results_file(*many_results(), command="tarn-bench replay " + "long-name-of-a-trace.trace.gz " * 9,
                         not_found=[{"allocator": "umf", "reason": "no library of that name: libumf.so.1 " * 3}]),
            results_file(result("tarn", workload=LONG), result("cub", 20, workload=LONG),
                         machine={"device_name": "NVIDIA Quite A Long Name 143 GB HBM3e",
                                  "commit": "0123456789-dirty"}),
            heap_file(heap_result("tarn", 40), heap_result("cuda", 900), heap_result("bump", 9),
                      kernels=["tarn: 40 registers, 0 bytes of local memory"], skipped=[heap_remark("cuda", "slow")]))
        for width, layout in layouts_of(self.source, WIDTHS, self.folder).items():
            with self.subTest(width=width):
                self.assertEqual(layout.too_wide, [])
                self.assertEqual(layout.broken_words, [])
                self.assertEqual(layout.cut_texts, [])
                self.assertLess(layout.folded_height, PIXELS_MAX)


@needs_browser
class Planted(InFolder):
    """Faults that a page must not have are found, also in what is folded, and nothing else is."""

    def layouts(self, body):
        page = f'<!DOCTYPE html><meta charset="utf-8"><style>body {{ margin: 0 }}</style><body>{body}</body>'
        return layouts_of(page, (PHONE, DESK), self.folder)

    def test_what_is_planted_is_found(self):
        layouts = self.layouts(
            '<p>Ordinary words, in some lines, that break where there is a space and at no other place.</p>'
            '<details><summary>folded</summary><div class="planted" style="width: 700px">x</div></details>'
            '<p class="narrow" style="width: 4em; overflow-wrap: anywhere">unbreakable-but-overlongwordthatisbroken</p>'
            '<div style="overflow-x: auto"><div class="scrolled" style="width: 3000px">wide</div></div>'
            '<figure><svg viewBox="0 0 100 20" width="300"><text x="60" y="15">this text is cut off</text>'
            '<text x="0" y="15">not</text></svg></figure>')
        phone, desk = layouts[PHONE], layouts[DESK]
        self.assertTrue(any("planted" in text for text in phone.too_wide), phone.too_wide)
        self.assertTrue(any("the page itself" in text for text in phone.too_wide), phone.too_wide)
        self.assertFalse(any("scrolled" in text for text in phone.too_wide), phone.too_wide)
        self.assertEqual(desk.too_wide, []) # 700 pixels are not too many there
        for layout in (phone, desk):
            self.assertIn("overlongwordthatisbroken", layout.broken_words)
            self.assertNotIn("Ordinary", layout.broken_words)
            self.assertEqual(layout.cut_texts, ["this text is cut off"])

    def test_a_break_where_it_is_allowed_is_none(self):
        layouts = self.layouts('<p style="width: 6em">vendor-<wbr>pool:<wbr>release one-two-three/four/five/six</p>')
        self.assertEqual(layouts[PHONE].broken_words, [])


if __name__ == "__main__":
    unittest.main()
