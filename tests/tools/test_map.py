# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tarn-map: dumps of real pools are drawn to scale, and what is no dump is refused by name."""

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


def region(address, size, state, **more):
    return {"address": hex(address), "bytes": size, "state": state, "requested_bytes": 0, **more}


def dump_of(*pools):
    return {"tarn_dump": 1, "backend": "host", "fit": "best_fit", "chunk_bytes": 1024, "static_pools": [
        {"id": number, "base": hex(regions[0][0]), "bytes": sum(size for _, size, *_ in regions),
         "regions": [region(*entry) for entry in regions]} for number, regions in enumerate(pools)]}


class Map(InFolder):
    def draw(self, content, kind="svg"):
        path = content if hasattr(content, "exists") else self.write("dump.json", content)
        output = self.folder / f"map.{kind}"
        run("tarn-map", path, "-o", output)
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
        self.assertIn("regions are narrower than a pixel and drawn together", words)
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
            self.assertEqual(layout.row_count, -(-address // row_bytes))
            drawn = sum(1 for cell in layout.cells if not cell.shares) + layout.merged_count
            self.assertGreaterEqual(drawn, len(sizes))

    def test_addresses_without_memory_are_a_gap(self):
        content = dump_of([(0, 1 << 20, "live"), (1 << 20, 1 << 40, "unmapped"),
                           ((1 << 20) + (1 << 40), 1 << 20, "free")])
        _, words, _ = self.svg_of(content)
        self.assertIn("…1 TiB…", words)
        self.assertIn("2 MiB in 1 static pool", words)

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
            done = run("tarn-map", path, "-o", self.folder / "map.png", status=status)
            if status:
                self.assertRegex(done.err, r"^tarn-map: the picture is \d+ pixels high, and a PNG has at most")
            else:
                self.assertEqual(done.err, "")
                width, height = struct.unpack(">II", (self.folder / "map.png").read_bytes()[16:24])
                self.assertLess(height, 1 << 16)
                self.assertLess(width, 2320)

    def test_fragmentation(self):
        _, words, _ = self.svg_of(dump_of([(0, 1024, "free"), (1024, 1024, "live"), (2048, 3072, "free")]))
        self.assertIn("external fragmentation 25.0 %", words)


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
        self.expect_refused([], "not a dump of a pool")
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
                              ({"label": 3}, "\"label\""), ({"site": "x"}, "\"site\"")):
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
