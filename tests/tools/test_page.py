# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page: it needs nothing else, tells all that the files hold, says where tarn loses, and escapes everything."""

import csv
import html.parser
import io
import re
import unittest

from support import InFolder, has_matplotlib, rates, result, results_file, run

# Elements and attributes by which a page would fetch something.
FETCHING = {"src", "srcset", "data", "poster", "action", "background", "xlink:href"}


class Reader(html.parser.HTMLParser):
    """Collects elements, what they would fetch, and the text; notes elements that are not closed in order."""

    VOID = {"meta", "br", "hr", "img", "link", "input"}

    def __init__(self):
        super().__init__()
        self.tags, self.fetched, self.links, self.text, self.open, self.faults = set(), [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.fetched += [(tag, key, value) for key, value in attributes
                         if key in FETCHING and not (value or "").startswith("#")]
        self.links += [value for key, value in attributes if tag == "a" and key == "href"]
        self.fetched += [(tag, key, value) for key, value in attributes if key == "href" and tag != "a"
                         and not value.startswith("#")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes what is not open")

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


@unittest.skipUnless(has_matplotlib(), "no Python here has matplotlib: package python3-matplotlib")
class Page(InFolder):
    def page_of(self, *contents):
        paths = [self.write(f"in-{number}.json", content) for number, content in enumerate(contents)]
        run("tarn-report", *paths, "-o", self.folder / "page.html")
        self.source = (self.folder / "page.html").read_text()
        reader = Reader()
        reader.feed(self.source)
        reader.close()
        self.assertEqual(reader.faults, [])
        self.assertEqual(reader.open, [])
        self.text = re.sub(r"\s+", " ", "".join(reader.text).replace("\u202f", " "))
        return reader

    def section(self, name):
        """The text from a heading to the next one."""
        part = re.search(rf'<h[23] id="{name}">.*?</h[23]>(.*?)(<h[23]|</body>)', self.source, re.DOTALL)[1]
        return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", part).replace("\u202f", " "))

    def test_it_needs_nothing_else(self):
        reader = self.page_of(results_file(
            *[result(name, ns, bench=bench, workload=workload, memory_over_time=[[0, 1, 2], [9, 3, 4]])
              for bench, workload in (("replay", "mesh"), ("sweep", "1K"), ("sweep", "1M"),
                                      ("churn", "10 of 1K to 16M"), ("churn", "100 of 1K to 16M"),
                                      ("live", "10 of 1 to 10"), ("streams", "ping-pong"), ("growth", "steps"),
                                      ("something-new", "unheard of"))
              for name, ns in (("tarn", 50), ("cub", 500), ("raw", 5000))],
            result("tarn", 60, bench="growth", workload="to 1G", first_alloc_ns=9000.0),
            result("tarn", 60, bench="streams", workload="4 x 16", total_ns_per_pair=9000.0),
            *[rates(name, threads, per_second * threads) for threads in (1, 2, 4)
              for name, per_second in (("tarn", 1e7), ("cub", 1e5))]))
        self.assertEqual(reader.fetched, [])
        self.assertFalse(reader.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"})
        self.assertNotRegex(self.source, r"url\((?!#)|@import|https?:")
        self.assertTrue(all(link.startswith("#") for link in reader.links), reader.links)
        for link in reader.links:
            self.assertIn(f'id="{link[1:]}"', self.source)
        for heading in ("Recorded traces", "By size", "Random replacement", "Several threads", "Between streams",
                        "Growth", "something-new", "Memory over time",
                        "The first allocation", "Time of the thread"):
            self.assertIn(heading, self.text)
        self.assertGreaterEqual(self.source.count("<svg"), 14)

    def test_all_allocators_and_workloads_are_told(self):
        names = ["tarn", "tarn:cached", "tarn:tlsf", "raw", "cub", "vendor-pool", "torch-python", "cupy-python",
                 "jemalloc", "nobody-knows-it"]
        self.page_of(results_file(*[result(name, 10.0 + number, workload=workload)
                                    for workload in ("mesh", "front") for number, name in enumerate(names)]))
        tables = self.source[self.source.index('id="replay"'):]
        for name in names:
            self.assertIn(f"<b>{name}</b>", self.source)
            self.assertEqual(len(re.findall(rf"</span>{name}</th>", tables)), 2, name)

    def test_colours_are_the_same_everywhere(self):
        self.page_of(results_file(result("tarn", workload="a"), result("cub", workload="a")),
                     results_file(result("cub", workload="b", bench="hot"), result("raw", bench="hot")))
        swatches = set(re.findall(r'swatch" style="background:var\((--allocator-\d+)\)"></span>(?:<b>)?([\w:-]+)',
                                  self.source))
        self.assertEqual(len(swatches), 3)
        self.assertEqual(len({name for name, _ in swatches}), 3)

    def test_where_tarn_loses_is_said(self):
        self.page_of(results_file(result("tarn", 100, workload="good"), result("cub", 800, workload="good"),
                                  result("tarn", 300, workload="evil", held=900 << 20),
                                  result("cub", 100, workload="evil", held=100 << 20),
                                  result("ordered-sets", 150, workload="evil")))
        self.assertIn("It loses on 1.", self.text)
        self.assertIn("the fastest on 1 of 2 workloads", self.text)
        self.assertRegex(self.section("loses-time"), r"evil .*cub .*100 ns .*300 ns .*3×")
        self.assertRegex(self.section("loses-time"), r"evil .*ordered-sets \(no peer\) .*2×")
        self.assertNotIn("good", self.section("loses-time"))
        self.assertRegex(self.section("holds-more"), r"evil .*cub .*100 MiB .*900 MiB .*9×")
        self.assertIn("▼ cub wins", self.section("every-workload"))
        self.assertIn("▲ tarn wins", self.section("every-workload"))

    def test_fewer_pairs_a_second_are_a_loss(self):
        self.page_of(results_file(rates("tarn", 4, 1e6), rates("cub", 4, 3e6)))
        self.assertRegex(self.section("loses-time"), r"4 x 100 .*cub .*3 M/s .*1 M/s .*3×")

    def test_no_loss_is_said_too(self):
        self.page_of(results_file(result("tarn", 100), result("cub", 800)))
        self.assertIn("Nowhere in these results is another allocator faster", self.section("loses-time"))
        self.assertIn("loses on none", self.text)

    def test_what_is_missing_is_said(self):
        self.page_of(results_file(
            result("tarn"), {"bench": "replay", "workload": "mesh", "allocator": "cub", "failures": 1,
                             "verified": False, "error": "two blocks overlap"},
            result("raw") | {"interrupted": True},
            {"bench": "replay", "workload": "later", "allocator": "tarn", "interrupted": True},
            skipped=[{"bench": "sweep", "workload": "1T", "allocator": "raw", "reason": "too large for it"}],
            not_found=[{"allocator": "umpire", "reason": "no library of that name"}]))
        missing = self.section("missing")
        for words in ("FAILED cub replay mesh Device A two blocks overlap", "skipped raw sweep 1T Device A too large",
                      "not found umpire all of .* no library of that name", "cut short raw replay mesh",
                      "cut short tarn replay later"):
            self.assertRegex(re.sub(r"\s+", " ", missing), words)
        self.assertIn("raw (cut short)", self.text)
        self.assertNotIn("FAILED raw", missing)

    def test_several_machines_stand_side_by_side(self):
        self.page_of(results_file(result("tarn"), result("cub", 500)),
                     results_file(result("tarn", 70), result("raw", 900),
                                  machine={"device_name": "Device B", "backend": "hip", "commit": "abc1234"}))
        matrix = self.source[self.source.index('class="matrix"'):]
        head = re.search(r"<thead>.*?</thead>", matrix, re.DOTALL)[0]
        self.assertRegex(head, "workload.*Device A.*Device B")
        row = re.search(r"<tr><th scope=\"row\">mesh</th>.*?</tr>", matrix, re.DOTALL)[0]
        self.assertEqual(row.count("<td"), 2)
        self.assertIn("abc1234", self.section("machines"))

    def test_the_command_and_options_are_told(self):
        self.page_of(results_file(result("tarn"), command="tarn-bench replay --seed 7"),)
        self.assertIn("tarn-bench replay --seed 7", self.section("runs"))
        self.assertIn("repetitions 5", self.section("runs"))
        self.assertIn("initial bytes 64 MiB", self.section("runs"))

    def test_nothing_of_a_file_is_markup(self):
        evil = "<script>alert(1)</script>\"'&amp;--><svg onload=x>"
        content = results_file(
            result(evil, workload=evil, bench=evil), result("tarn", workload=evil), result("tarn", workload=evil,
                                                                                          bench="sweep"),
            {"bench": "hot", "workload": evil, "allocator": evil, "failures": 1, "error": evil},
            skipped=[{"bench": evil, "workload": evil, "allocator": evil, "reason": evil}],
            not_found=[{"allocator": evil, "reason": evil}], command=evil,
            machine={"device_name": evil, evil: evil, "commit": evil})
        content["options"][evil] = evil
        reader = self.page_of(content)
        self.assertNotIn("script", reader.tags)
        self.assertNotIn("<svg onload", self.source)
        self.assertIn(evil, "".join(reader.text))

    def test_dollars_are_not_mathematics(self):
        self.page_of(results_file(result("tarn", workload="costs $1^2$ and $_$"), result("$x$", workload="$\\frac$")))
        self.assertIn("$\\frac$", self.text)

    def test_the_same_input_gives_the_same_page(self):
        content = results_file(result("tarn"), result("cub", 500), result("tarn", bench="sweep", workload="1K"))
        self.page_of(content)
        first = self.source
        self.page_of(content)
        self.assertEqual(first, self.source)


class WithoutPlots(InFolder):
    def test_csv(self):
        path = self.write("in.json", results_file(
            result("tarn", 50), result("cub", 500, workload='a "quoted", name\nof two lines'),
            rates("tarn", 2, 1e7), {"bench": "replay", "workload": "x", "allocator": "raw", "failures": 1,
                                    "error": "no memory"}))
        run("tarn-report", path, "--csv", self.folder / "all.csv")
        rows = list(csv.DictReader(io.StringIO((self.folder / "all.csv").read_text())))
        self.assertEqual(len(rows), 4)
        self.assertEqual([row["allocator"] for row in rows], ["tarn", "cub", "tarn", "raw"])
        self.assertEqual(float(rows[0]["ns_per_pair"]), 50)
        self.assertEqual(rows[0]["alloc_ns_p99"], "50")
        self.assertEqual(rows[1]["workload"], 'a "quoted", name\nof two lines')
        self.assertEqual(float(rows[2]["pairs_per_second"]), 1e7)
        self.assertEqual((rows[3]["outcome"], rows[3]["reason"], rows[3]["ns_per_pair"]), ("failed", "no memory", ""))
        self.assertEqual(rows[0]["device_name"], "Device A")

    def test_bad_usage(self):
        run("tarn-report", status=2)
        run("tarn-report", "--no-such-option", "x.json", status=2)
        self.assertIn("python3-matplotlib", run("tarn-report", "--help").out)

    def test_where_it_cannot_be_written(self):
        path = self.write("in.json", results_file(result("tarn")))
        done = run("tarn-report", path, "--csv", self.folder / "none" / "all.csv", status=1)
        self.assertIn("all.csv: cannot be written: No such file", done.err)


if __name__ == "__main__":
    unittest.main()
