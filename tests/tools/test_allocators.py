# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Colours: each allocator has one, no two of a page look alike, also to eyes that lack one kind of cones."""

import itertools
import unittest

from support import run_tests
from tarn_tools.allocators import Palette, is_floor, is_peer, what_it_is

PEERS = ["vendor-pool", "vendor-pool:release", "cub", "torch", "torch-python", "cupy-python", "umpire", "umpire:list",
         "umf"]
NO_PEERS = ["ordered-sets", "raw"]
FLOOR = ["jemalloc", "mimalloc", "libc-malloc"]
KNOWN = ["tarn", *PEERS, *NO_PEERS, *FLOOR]
HEAPS = ["tarn", "cuda", "bump"] # in plots of their own
SINGLE_MODES = ["tarn:contiguous", "tarn:lean", "tarn:first_fit", "tarn:segregated_fit", "tarn:tlsf"]
MODES = [*SINGLE_MODES, "tarn:contiguous:first_fit", "tarn:contiguous:segregated_fit", "tarn:contiguous:tlsf"]
PAPERS = {"light": "#ffffff", "dark": "#15171a"}

# How a dichromat sees linear light (Machado, Oliveira, Fernandes 2009, severity 1).
SEEN_BY = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopes": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
    "deuteranopes": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
    "tritanopes": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                   (0.004733, 0.691367, 0.303900)),
}


def linear(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def seen(colour, matrix):
    return [min(1, max(0, sum(factor * part for factor, part in zip(row, linear(colour))))) for row in matrix]


def lab(light):
    """CIE L*a*b* of linear sRGB."""
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = [sum(f * part for f, part in zip(row, light)) / white for row, white in zip(rows, (0.9505, 1, 1.089))]
    x, y, z = [part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in xyz]
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one, other, matrix):
    return sum((a - b) ** 2 for a, b in zip(lab(seen(one, matrix)), lab(seen(other, matrix)))) ** 0.5


def contrast(one, other):
    luminance = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(one), linear(other)))
    return (luminance[1] + 0.05) / (luminance[0] + 0.05)


class Colours(unittest.TestCase):
    def test_no_two_allocators_look_alike(self):
        palette = Palette(KNOWN + HEAPS + MODES + [f"peer-{i}" for i in range(6)])
        for paper in PAPERS:
            colours = [getattr(style, paper) for style in palette]
            self.assertEqual(len(colours), len(set(colours)), paper)
        looks = [(style.marker, style.dashes) for style in palette]
        self.assertEqual(len(looks), len(set(looks)))

    def test_known_allocators_differ_to_all_eyes(self):
        self.expect_all_differ(Palette(KNOWN + SINGLE_MODES))

    def test_tarn_alone_is_blue(self):
        """To eyes that see all colours: three blues on one page were taken for each other."""
        for paper in PAPERS:
            others = [style for style in Palette(KNOWN + MODES) if style.name != "tarn"]
            tarn = getattr(Palette(["tarn"])["tarn"], paper)
            for style in others:
                far = distance(tarn, getattr(style, paper), SEEN_BY["all"])
                self.assertGreater(far, 33, f"{style.name} and tarn on {paper} paper")

    def expect_all_differ(self, palette):
        for paper in PAPERS:
            for eyes, matrix in SEEN_BY.items():
                for one, other in itertools.combinations(palette, 2):
                    far = distance(getattr(one, paper), getattr(other, paper), matrix)
                    self.assertGreater(far, 10, f"{one.name} and {other.name} on {paper} paper, seen by {eyes}")

    def test_heaps_differ_to_all_eyes(self):
        self.expect_all_differ(Palette(HEAPS))

    def test_they_stand_out_from_the_paper(self):
        for style in Palette(KNOWN + HEAPS + MODES + [f"peer-{i}" for i in range(6)]):
            for paper, colour in PAPERS.items():
                self.assertGreater(contrast(getattr(style, paper), colour), 3, f"{style.name} on {paper} paper")

    def test_markers_of_known_ones_differ(self):
        """Plots of dots have no dashes; a hollow marker is another one."""
        markers = [(style.marker, style.is_hollow) for style in Palette(KNOWN)]
        self.assertEqual(len(markers), len(set(markers)))

    def test_more_allocators_than_colours_is_no_fault(self):
        self.assertEqual(len(list(Palette([f"peer-{i}" for i in range(100)] + MODES))), 100 + len(MODES))

    def test_they_have_one_order(self):
        names = [style.name for style in Palette([*reversed(KNOWN), "peer-1", "tarn:tlsf"])]
        self.assertEqual(names, ["tarn", "tarn:tlsf", *PEERS, "peer-1", *NO_PEERS, *FLOOR])


class Names(unittest.TestCase):
    def test_what_they_are(self):
        self.assertEqual(what_it_is("raw", {"cuda"}), "the vendor's own calls: cudaMalloc and cudaFree")
        self.assertEqual(what_it_is("tarn:contiguous:tlsf", ()),
                         "a pool of tarn in one range of addresses, that places by tlsf")
        self.assertEqual(what_it_is("tarn:lean", ()), "a pool of tarn of the lean preset")
        self.assertEqual(what_it_is("tarn:first_fit", ()), "a pool of tarn that places by first fit")
        self.assertEqual(what_it_is("tarn:other", ()), "a pool of tarn as other")
        self.assertEqual(what_it_is("umpire:other", ()), "Umpire's QuickPool, as other")

    def test_a_name_that_only_begins_like_another(self):
        for name in ("rawhide", "tarnished", "cubic"):
            self.assertEqual(what_it_is(name, ()), name)


class Peers(unittest.TestCase):
    def test_who_is_a_peer(self):
        peers = [name for name in [*KNOWN, *MODES, "harness", "anything"] if is_peer(name)]
        self.assertEqual(peers, [*PEERS, "anything"])

    def test_what_is_a_floor(self):
        self.assertEqual([name for name in [*KNOWN, *MODES, "jemalloc:arena", "anything"] if is_floor(name)],
                         [*FLOOR, "jemalloc:arena"])


if __name__ == "__main__":
    run_tests()
