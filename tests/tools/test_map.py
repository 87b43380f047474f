# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tarn-map: dumps of real pools are drawn to scale, and what is no dump is refused by name."""

import itertools
import json
import os
import re
import struct
import subprocess
import time
import unittest
import xml.etree.ElementTree as ElementTree

from support import InFolder, has_matplotlib, run
from tarn_tools.dump import Dump
from tarn_tools.map_layout import lay_out, row_bytes_of
from tarn_tools.shown import plain
from tarn_tools.shown import size as size_shown

DUMP_POOL = os.environ.get("TARN_DUMP_POOL", "")
SVG = "{http://www.w3.org/2000/svg}"


def region(address, size, state, more=()):
    return {"address": hex(address), "bytes": size, "state": state, "requested_bytes": 0, **dict(more)}


def dump_of(*pools):
    return {"tarn_dump": 1, "backend": "host", "fit": "best_fit", "chunk_bytes": 1024, "static_pools": [
        {"id": number, "base": hex(regions[0][0]), "bytes": sum(size for _, size, *_ in regions),
         "regions": [region(*entry) for entry in regions]} for number, regions in enumerate(pools)]}


class Map(InFolder):
    def draw(self, content, kind="svg"):
        path = content if hasattr(content, "exists") else self.write("dump.json", content)
        output = self.folder / f"map.{kind}"
        run("tarn-map", path, "-o", output, "--force")
        return output

    def real_dump(self, what):
        path = self.folder / f"{what}.json"
        with open(path, "wb") as file:
            subprocess.run([DUMP_POOL, what], stdout=file, check=True)
        return path

    def svg_of(self, content):
        text = self.draw(content).read_text()
        root = ElementTree.fromstring(text)
        words = " ".join(element.text or "" for element in root.iter(SVG + "text"))
        titles = [element.text for element in root.iter(SVG + "title")]
        return root, words, titles


@unittest.skipUnless(DUMP_POOL, "there is no program that dumps a pool")
class RealPools(Map):
    def test_what_is_there_is_said(self):
        for what, words in (("plain", ["live: handed out", "free", "static pool"]),
                            ("contiguous", ["addresses without memory", "in 1 static pool"]),
                            ("streams", ["pending: freed on a stream"]),
                            ("labels", ["mesh <\"1\"> 4 MiB"]), ("empty", ["It holds no memory."])):
            with self.subTest(what):
                dump = self.real_dump(what)
                _, said, _ = self.svg_of(dump)
                for word in words:
                    self.assertIn(word, said)
                counts = [pool["regions"] for pool in json.loads(dump.read_text())["static_pools"]]
                live = [entry["bytes"] for pool in counts for entry in pool if entry["state"] == "live"]
                if counts:
                    self.assertIn(f"{len(live)} live, {plain(size_shown(sum(live)))}; ", said)

    def test_labels_and_sites_and_streams(self):
        _, _, titles = self.svg_of(self.real_dump("labels"))
        self.assertTrue(any("\"mesh <\"1\">\"" in title and "\n" in title for title in titles))
        _, _, titles = self.svg_of(self.real_dump("streams"))
        self.assertTrue(any("pending" in title and "streams 1" in title for title in titles))

    def test_a_page(self):
        text = self.draw(self.real_dump("labels"), "html").read_text()
        self.assertIn("mesh &lt;&quot;1&quot;&gt;", text)
        self.assertIn("Live, by label", text)
        self.assertNotRegex(text, r"https?:|<script|src=")

    @unittest.skipUnless(has_matplotlib(), "no Python here has matplotlib: package python3-matplotlib")
    def test_png(self):
        self.assertTrue(self.draw(self.real_dump("labels"), "png").read_bytes().startswith(b"\x89PNG"))

    def test_200_000_regions_are_a_picture_in_seconds(self):
        dump = self.real_dump("many")
        begin = time.monotonic()
        root, words, _ = self.svg_of(dump)
        self.assertLess(time.monotonic() - begin, 60)
        self.assertIn("regions narrower than a pixel: ", words)
        self.assertLess(len(list(root.iter())), 100_000)


class Scale(Map):
    def test_widths_are_bytes(self):
        base = 1 << 30
        content = dump_of([(base, 1 << 20, "live"), (base + (1 << 20), 3 << 20, "free")])
        root, words, _ = self.svg_of(content)
        width = {}
        for rect in root.iter(SVG + "rect"):
            if rect.find(SVG + "title") is not None:
                width[rect.get("class")] = width.get(rect.get("class"), 0) + float(rect.get("width"))
        self.assertAlmostEqual(width["free"] / width["live"], 3, places=2)
        self.assertIn("external fragmentation 0.0 %", words)

    def test_all_bytes_are_drawn(self):
        """Whatever is merged and wherever a row ends: cells cover as many pixels as bytes, without a gap."""
        for sizes in ([1024] * 5000, [1024, 1 << 20] * 300, [3 << 20, 1024, 1024, 5 << 20] * 7, [1024]):
            address, regions = 0, []
            for number, size in enumerate(sizes):
                regions.append((address, size, "live" if number % 2 else "free"))
                address += size
            dump = Dump("x", dump_of(regions))
            row_bytes = row_bytes_of(dump)
            layout = lay_out(dump.static_pools[0], row_bytes, 1000)
            row = x = 0
            for cell in layout.cells:
                if cell.row != row:
                    self.assertAlmostEqual(x, 1000, places=3)
                    row, x = cell.row, 0
                self.assertAlmostEqual(cell.x, x, places=3)
                x = cell.x + cell.width
            self.assertEqual(len(layout.row_offsets), -(-address // row_bytes))
            drawn = sum(1 for cell in layout.cells if not cell.shares) + layout.merged_count
            self.assertGreaterEqual(drawn, len(sizes))

    def test_addresses_without_memory_are_a_gap(self):
        content = dump_of([(0, 1 << 20, "live"), (1 << 20, 1 << 40, "unmapped"),
                           ((1 << 20) + (1 << 40), 1 << 20, "free")])
        _, words, _ = self.svg_of(content)
        self.assertIn("…1 TiB…", words)
        self.assertIn("2 MiB in 1 static pool", words)

    def test_why_each_byte_is_held_is_said(self):
        content = dump_of([(0, 4096, "live")]) | {"footprint_parts": {"requested": 4000, "rounding": 96, "shut_in": 0}}
        _, words, _ = self.svg_of(content)
        self.assertIn("Held for: requested 3.9 KiB, rounding 96 B.", " ".join(words.split()))
        _, words, _ = self.svg_of(dump_of([(0, 4096, "live")]))
        self.assertNotIn("Held for", words)

    def test_states_that_are_not_known_are_drawn(self):
        _, words, _ = self.svg_of(dump_of([(0, 4096, "lent <&>"), (4096, 4096, "quarantined"),
                                           (8192, 4096, "damaged")]))
        self.assertIn("lent <&>, 4 KiB", words)

    def test_texts_that_no_picture_can_hold(self):
        content = dump_of([(0, 4096, "live")])
        content["static_pools"][0]["regions"][0].update(label="bell \x07 <&>", site=["half \ud800"], requested_bytes=1)
        content["static_pools"][0]["id"] = "\x01"
        _, words, titles = self.svg_of(content) # is read as XML
        self.assertIn("bell \ufffd <&> 4 KiB", words)
        self.assertIn("static pool \ufffd", words)
        self.assertIn("half \ufffd", titles[0])

    @unittest.skipUnless(has_matplotlib(), "no Python here has matplotlib: package python3-matplotlib")
    def test_a_png_has_an_end(self):
        """A picture that is higher than matplotlib draws is drawn smaller, and in the end not at all."""
        for pool_count, status in ((900, 0), (2000, 1)):
            path = self.write("pools.json", dump_of(*[[(number << 20, 4096, "live")] for number in range(pool_count)]))
            done = run("tarn-map", path, "-o", self.folder / "map.png", "--force", status=status)
            if status:
                self.assertRegex(done.err, r"^tarn-map: the picture is \d+ pixels high, and a PNG has at most")
            else:
                self.assertEqual(done.err, f"tarn-map: wrote {self.folder}/map.png\n")
                width, height = struct.unpack(">II", (self.folder / "map.png").read_bytes()[16:24])
                self.assertLess(height, 1 << 16)
                self.assertLess(width, 2320)

    def test_fragmentation(self):
        _, words, _ = self.svg_of(dump_of([(0, 1024, "free"), (1024, 1024, "live"), (2048, 3072, "free")]))
        self.assertIn("external fragmentation 25.0 %", words)


class Words(Map):
    def words_in(self, width, label):
        """In a region of so many pixels in a picture of 1160."""
        root, _, _ = self.svg_of(dump_of([(0, width << 10, "live", {"label": label}),
                                          (width << 10, (28 << 20) - (width << 10), "free")]))
        inside = [element.text for element in root.iter(SVG + "text") if element.get("text-anchor") == "middle"]
        return inside[0] if len(inside) == 2 else None

    def test_a_label_is_shortened_and_not_dropped(self):
        for width, words in ((200, "velocity of the flow 200 KiB"), (140, "velocity of the flow"),
                             (70, "velocity\u2026"), (8, None)):
            self.assertEqual(self.words_in(width, "velocity of the flow"), words, width)

    def test_rows_begin_with_their_offsets(self):
        content = dump_of([(1 << 40, 60 << 20, "live"), ((1 << 40) + (60 << 20), 4 << 20, "free")])
        root, _, _ = self.svg_of(content)
        offsets = [element.text for element in root.iter(SVG + "text") if element.get("text-anchor") == "end"]
        self.assertEqual(offsets, [f"+0x{row << 22:x}" for row in range(16)])

    def test_offsets_go_on_after_a_gap(self):
        gap = 1 << 40
        root, _, _ = self.svg_of(dump_of([(0, 64 << 20, "live"), (64 << 20, gap, "unmapped"),
                                          ((64 << 20) + gap, 64 << 20, "live")]))
        offsets = [int(element.text, 16) for element in root.iter(SVG + "text")
                   if element.get("text-anchor") == "end"]
        self.assertEqual(offsets, sorted(offsets))
        self.assertGreater(offsets[-1], gap)

    def test_a_narrow_picture_has_lines_that_fit(self):
        content = dump_of([(number << 20, 1 << 20, "live") for number in range(64)])
        path = self.write("dump.json", content)
        run("tarn-map", path, "-o", self.folder / "map.svg", "--width", 360)
        root = ElementTree.fromstring((self.folder / "map.svg").read_text())
        self.assertEqual(root.get("viewBox").split()[2], "360")
        for element in root.iter(SVG + "text"):
            if element.get("text-anchor") is None:
                letters = float(element.get("font-size")) * 0.56 * len(element.text)
                self.assertLess(float(element.get("x")) + letters, 360, element.text)
        for element in root.iter(SVG + "rect"):
            if element.get("x"):
                self.assertLessEqual(float(element.get("x")) + float(element.get("width")), 360)


class Colours(Map):
    def fills(self, content, colour_by):
        path = self.write("dump.json", content)
        run("tarn-map", path, "-o", self.folder / "map.svg", "--color", colour_by, "--force")
        root = ElementTree.fromstring((self.folder / "map.svg").read_text())
        words = " ".join(element.text for element in root.iter(SVG + "text"))
        cells = [(rect.get("class"), rect.find(SVG + "title").text) for rect in root.iter(SVG + "rect")
                 if rect.find(SVG + "title") is not None]
        return [fill for (fill, _), _ in itertools.groupby(cells)], words # a region that goes on in the next row is one

    def test_by_label(self):
        labels = ["a", "b", "a", "", *"cdefghijk"]
        content = dump_of([(number << 20, 1 << 20, "live", {"label": label}) for number, label in enumerate(labels)])
        fills, words = self.fills(content, "label")
        self.assertEqual(fills[:4], ["group0", "group1", "group0", "quiet"]) # the most bytes first
        self.assertEqual(fills[9:], ["group7"] * 4)
        self.assertIn("4 other labels, 4 MiB", words)
        self.assertIn("live, without a label, 1 MiB", words)

    def test_by_stream(self):
        content = dump_of([(number << 20, 1 << 20, "free", {"streams": streams})
                           for number, streams in enumerate(([3], [1, 3], [3], []))])
        fills, words = self.fills(content, "stream")
        self.assertEqual(fills, ["group0", "group1", "group0", "free"])
        self.assertIn("waits for stream 3, 2 MiB", words)
        self.assertIn("waits for streams 1, 3, 1 MiB", words)

    def test_by_age(self):
        content = dump_of([(number << 20, 1 << 20, "live", {"serial": serial})
                           for number, serial in enumerate((100, 3, 50, 7, 60, 0))])
        fills, words = self.fills(content, "age")
        self.assertEqual(fills, ["age4", "age0", "age2", "age1", "age3", "quiet"])
        self.assertIn("live, allocation 3, the oldest", words)
        self.assertIn("pools in debug mode know it", words)

    def test_small_regions_that_are_drawn_together(self):
        content = dump_of([(number << 10, 1 << 10, "live", {"label": "ab"[number % 2]}) for number in range(100_000)])
        fills, _ = self.fills(content, "label")
        self.assertEqual(set(fills), {"group0", "group1"})
        self.assertAlmostEqual(fills.count("group0") / len(fills), 0.5, places=1)

    def test_what_is_no_colour(self):
        done = run("tarn-map", "x.json", "--color", "labels", status=2)
        self.assertIn("did you mean 'label'?", done.err)
        self.assertIn("did you mean '--color'?", run("tarn-map", "x.json", "--colour", "label", status=2).err)


class Several(Map):
    def test_pools_are_drawn_one_below_the_other(self):
        _, words, _ = self.svg_of([dump_of([(0, 1 << 20, "live")]) | {"name": "mesh"},
                                   dump_of([(0, 1 << 30, "free")])])
        self.assertIn("Pool \"mesh\" of host memory: 1 MiB in 1 static pool", words)
        self.assertIn("A pool of host memory: 1 GiB", words)

    def test_a_page_has_a_picture_for_narrow_screens(self):
        text = self.draw([dump_of([(0, 1 << 20, "live")])] * 2, "html").read_text()
        self.assertEqual((text.count('<div class="broad">'), text.count('<div class="narrow">')), (2, 2))


class Existing(Map):
    def test_a_picture_is_replaced_if_asked_for(self):
        path, output = self.write("dump.json", dump_of([(0, 1024, "free")])), self.write("map.svg", "mine")
        done = run("tarn-map", path, "-o", output, status=2)
        self.assertEqual(done.err, f"tarn-map: {output}: exists already; --force replaces it\n")
        self.assertEqual(output.read_text(), "mine")
        self.assertEqual(run("tarn-map", path, "-o", output, "--force").err, f"tarn-map: wrote {output}\n")
        self.assertIn("<svg", output.read_text())


class Refused(Map):
    def expect_refused(self, content, words):
        path = self.write("bad.json", content)
        done = run("tarn-map", path, "-o", self.folder / "map.svg", status=2)
        self.assertTrue(done.err.startswith(f"tarn-map: {path}: "), done.err)
        self.assertIn(words, done.err)
        self.assertFalse((self.folder / "map.svg").exists())

    def test_what_is_no_dump(self):
        good = dump_of([(0, 1024, "free"), (1024, 1024, "live")])
        self.expect_refused("nonsense", "is not JSON")
        self.expect_refused([], "has no pool")
        self.expect_refused([1], "not a dump of a pool")
        self.expect_refused([good, good | {"tarn_dump": 2}], "format 2")
        self.expect_refused({"tarn_bench": 1}, "not a dump of a pool")
        self.expect_refused(good | {"tarn_dump": 2}, "format 2")
        self.expect_refused(good | {"chunk_bytes": -1}, "chunk_bytes")
        self.expect_refused(good | {"static_pools": {}}, "static_pools")
        self.expect_refused(good | {"static_pools": [1]}, "static pool number 1: is not an object")
        for change, words in (({"address": "nowhere"}, "\"address\" is not an address"), ({"address": 5}, "not an address"),
                              ({"address": " 0x400"}, "not an address"), ({"address": "0x4_00"}, "not an address"),
                              ({"address": "-0x400"}, "not an address"), ({"address": "0x" + "f" * 17}, "not an address"),
                              ({"bytes": "1"}, "\"bytes\""), ({"bytes": 0}, "region number 2: does not follow"),
                              ({"bytes": 4096}, "does not follow"), ({"address": "0x0"}, "does not follow"),
                              ({"label": 3}, "\"label\""), ({"serial": "x"}, "\"serial\""), ({"site": "x"}, "\"site\"")):
            content = json.loads(json.dumps(good))
            content["static_pools"][0]["regions"][1].update(change)
            self.expect_refused(content, words)

    def test_other_names(self):
        path = self.write("good.json", dump_of([(0, 1024, "free")]))
        done = run("tarn-map", path, "-o", self.folder / "map.bmp", status=2)
        self.assertIn("ends in .svg, .png or .html", done.err)
        run("tarn-map", self.folder / "none.json", status=2)
        run("tarn-map", status=2)

    def test_without_an_output_it_has_the_name_of_the_dump(self):
        path = self.write("good.json", dump_of([(0, 1024, "free")]))
        run("tarn-map", path, cwd=self.folder)
        self.assertTrue(re.match("<svg ", (self.folder / "good.svg").read_text()))


if __name__ == "__main__":
    unittest.main()
