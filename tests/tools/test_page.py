# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page: it needs nothing else, tells all that the files hold, says where tarn loses, and escapes everything."""

import csv
import io
import re
import unittest

from page_reader import WithPage
from support import InFolder, has_matplotlib, rates, result, results_file, run


@unittest.skipUnless(has_matplotlib(), "no Python here has matplotlib: package python3-matplotlib")
class Page(WithPage):
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
                        "Growth", "something-new", "Memory over time", "Growth: the first allocation",
                        "Between streams: time of the thread"):
            self.assertIn(heading, self.text)
        self.assertGreaterEqual(self.source.count("<svg"), 14)

    def test_families_stand_beside_recorded_programs(self):
        draws = [result(name, bench="patterns", workload=f"mesh {number}: +1 %", family="mesh", live=100,
                        held=int(100 * ratio))
                 for name, ratios in (("tarn", (4, 1.5, 2)), ("cub", (2, 3))) for number, ratio in enumerate(ratios, 1)]
        failed = {"bench": "patterns", "workload": "mesh 3: +1 %", "allocator": "cub", "threads": 1, "streams": 1,
                  "family": "mesh", "failures": 1, "verified": False, "error": "it is full"}
        self.page_of(results_file(*draws, failed, result("tarn", workload="plane", live=100, held=125)))
        table = re.sub(r"<wbr>", "", self.source[self.source.index('id="patterns"'):])
        self.assertRegex(table, r'<th scope="row">mesh</th><td>4\.00., 2\.00.</td><td>3\.00., 2\.50.</td>')
        self.assertRegex(table, r'<th scope="row">recorded programs</th><td>1\.25., 1\.25.</td>')
        self.assertRegex(table, r'<th scope="row">mesh</th><td>7, 100, 200</td><td>7, 100, 200</td>')
        self.assertIn("it is full", self.text)
        self.assertNotIn("mesh 2", self.text)
        self.page_of(results_file(*draws)) # alone
        self.assertIn("Where sizes creep", self.text)

    def test_all_allocators_and_workloads_are_told(self):
        names = ["tarn", "tarn:contiguous", "tarn:tlsf", "raw", "cub", "vendor-pool", "torch-python", "cupy-python",
                 "jemalloc", "nobody-knows-it"]
        self.page_of(results_file(*[result(name, 10.0 + number, workload=workload)
                                    for workload in ("mesh", "front") for number, name in enumerate(names)]))
        tables = re.sub(r"<svg.*?</svg>|<wbr>", "", self.source[self.source.index('id="replay"'):], flags=re.DOTALL)
        for name in names:
            self.assertIn(f"<b>{name}</b>", self.source.replace("<wbr>", ""))
            shown = rf"{name}(?:<small> a floor</small>)?"
            self.assertEqual(len(re.findall(rf'</span>{shown}</th><td', tables)), 2, name) # a table a workload
            self.assertEqual(len(re.findall(rf'<th scope="col"><span [^>]*></span>{shown}</th>', tables)), 1, name)

    def test_colours_are_the_same_everywhere(self):
        self.page_of(results_file(result("tarn", workload="a"), result("cub", workload="a")),
                     results_file(result("cub", workload="b", bench="hot"), result("raw", bench="hot")))
        swatches = set(re.findall(r'swatch" style="--of:var\((--allocator-\d+)\)"></span>(?:<b>)?([\w:-]+)',
                                  re.sub(r"<svg.*?</svg>", "", self.source, flags=re.DOTALL)))
        self.assertEqual(len(swatches), 3)
        self.assertEqual(len({name for name, _ in swatches}), 3)

    def test_where_tarn_loses_is_said(self):
        self.page_of(results_file(result("tarn", 100, workload="good"), result("cub", 800, workload="good"),
                                  result("tarn", 300, workload="evil", held=900 << 20),
                                  result("cub", 100, workload="evil", held=100 << 20),
                                  result("ordered-sets", 150, workload="evil")))
        self.assertIn("It loses on 1.", self.text)
        self.assertIn("the fastest on 1 of 2 workloads", self.text)
        self.assertRegex(self.section("loses-time"),
                         r"evil .*300 ns .*cub .*100 ns .*3.0× .*0.11× tarn's memory .*ordered-sets‡ 2.0×")
        self.assertNotIn("good", self.section("loses-time"))
        self.assertRegex(self.section("holds-more"), r"evil 900 MiB cub : 100 MiB 9.0×")
        self.assertRegex(self.section("at-a-glance"), r"Recorded traces \(2\) 1 of 2 loses on 1 200 ns 100–300 4.2× "
                                                      r"▼ 0.33–8.0× ▼ 0.50× on 1")
        self.assertRegex(self.section("replay"), r"good ▲ 100 800 8.0× – .* evil ▼ 300 100 0.33× 150 0.50×")

    def test_fewer_pairs_a_second_are_a_loss(self):
        self.page_of(results_file(rates("tarn", 4, 1e6), rates("cub", 4, 3e6)))
        self.assertRegex(self.section("loses-time"), r"4 x 100 .*1 M/s .*cub .*3 M/s .*3.0×")

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
        self.assertNotIn("not asked for", missing)
        self.assertNotIn("FAILED raw", missing)

    def test_who_was_not_asked_is_said(self):
        """An allocator that stands in one place and not in another is no gap that a reader has to find."""
        self.page_of(results_file(*[result("tarn", workload=name) for name in ("mesh", "front", "front, faithful")],
                                  result("tarn", bench="hot", workload="1K"),
                                  *[result("cub", workload=name) for name in ("mesh", "front, faithful")]))
        self.assertRegex(self.section("missing"), r"not asked for cub Recorded traces \(1 of 2\): front; "
                                                  r"One block \(1 of 1\) Device A")
        self.assertIn('title="was not asked for there"', self.source)

    def test_a_first_piece_is_no_growth(self):
        """What tarn holds of a small workload is an option; such workloads are told in one sentence."""
        self.page_of(results_file(*[result("tarn", workload=name, held=64 << 20) for name in ("small", "smaller")],
                                  result("tarn", workload="large", held=300 << 20),
                                  *[result("cub", workload=name, held=size << 20)
                                    for name, size in (("small", 3), ("smaller", 1), ("large", 100))]))
        said = self.section("holds-more")
        self.assertRegex(said, r"large 300 MiB cub : 100 MiB 3.0×")
        self.assertRegex(said, r"On 2 workloads all that tarn holds is its first piece of 64 MiB, .* the leanest peer "
                               r"holds 1 MiB to 3 MiB. recorded traces: small, smaller")
        self.assertIn("on all 3, on 2 of them with nothing but its first piece", self.text)

    def test_what_bookkeeping_takes_is_said(self):
        self.page_of(results_file(result("tarn", metadata_bytes=77 << 10),
                                  result("tarn", workload="large", metadata_bytes=2 << 20),
                                  result("cub", workload="large", metadata_bytes=5 << 20)))
        self.assertIn("tarn's bookkeeping is in the host's memory: 77 KiB to 2 MiB, the most in large.",
                      self.section("holds-more"))
        self.page_of(results_file(result("tarn", metadata_bytes=0), result("cub")))
        self.assertNotIn("bookkeeping", self.text)

    def test_that_the_host_stands_in_for_a_device_is_said(self):
        self.page_of(results_file(result("tarn"), machine={"backend": "host", "device_name": "host memory"}))
        self.assertIn("no GPU was used", self.text)
        self.page_of(results_file(result("tarn"), machine={"backend": "cuda"}))
        self.assertNotIn("no GPU was used", self.text)

    def test_who_writes_into_the_memory_is_a_floor(self):
        self.page_of(results_file(result("tarn", 100), result("jemalloc", 20), result("umpire", 900),
                                  result("tarn", 100, workload="b"), result("umpire", 50, workload="b")))
        self.assertIn("It loses on 1.", self.text)
        self.assertIn("jemalloc write into the memory that they hand out, which no pool of device memory may",
                      self.text)
        self.assertIn("tarn is 0.20× as fast as the fastest of them", self.text)
        self.assertNotIn("jemalloc", self.section("loses-time"))
        self.assertRegex(self.section("replay"), r"jemalloc a floor .*mesh ▲ 100 900 9.0× 20 0.20×")

    def test_what_cannot_be_told_is_no_zero(self):
        self.page_of(results_file(result("tarn"), result("cub", 500, held=0) | {"vendor_calls": 0}))
        self.assertRegex(self.section("replay"), r" cub 500 [^a-z]* – – not told – not told – is it")
        self.assertNotRegex(self.text, r"\b0 B\b")

    def test_the_contiguous_mode_is_in_the_tables(self):
        names = {"tarn": (300, 900), "tarn:contiguous": (290, 110), "cub": (100, 100)}
        self.page_of(results_file(*[result(name, ns, held=held << 20) for name, (ns, held) in names.items()]),
                     results_file(result("tarn"), result("cub"), machine={"device_name": "Device B"}))
        self.assertRegex(self.section("loses-time"), r"mesh 300 ns cub 100 ns 3.0× 0.11× tarn's memory 290 ns")
        self.assertRegex(self.section("holds-more"), r"mesh 900 MiB cub : 100 MiB 9.0× 110 MiB")
        self.assertRegex(self.section("side-by-side"), r"as fast as cub, 100 ns; tarn:contiguous 290 ns")
        self.assertRegex(self.text, r"9.0×cub; tarn:contiguous 1.1×")
        self.assertRegex(self.section("at-a-glance"), "tarn:contiguous")

    def test_millions_are_no_megabytes(self):
        self.page_of(results_file(result("tarn", 1), result("raw", 11_800_000)))
        self.assertIn("11.8 million×", self.text)
        self.assertNotRegex(self.text, r"\dM×|\d M×")

    def test_of_python_its_share_is_taken_off(self):
        python = results_file(result("torch-python", 500, harness_ns_per_pair=305.0),
                              result("cupy-python", 290, harness_ns_per_pair=305.0),
                              rates("torch-python", 4, 1e6) | {"harness_ns_per_pair": 800.0},
                              machine={"build_type": "Python", "compiler": "Python 3.12"})
        self.page_of(results_file(result("tarn", 100), result("cub", 400), rates("tarn", 4, 2e6)), python)
        self.assertIn("is taken off their pairs: 300 ns to 800 ns.", self.text)
        self.assertRegex(self.section("replay"), r"mesh ▲ 100 400 4.0× 200 2.0×")
        self.assertIn("taken off the pair, 300 ns of torch-python, and is inside its single calls", self.text)
        self.assertIn("hollow: less Python's share", self.text)
        self.assertIn("1.8× as fast as the best peer (1.6× to 2.0×)", self.text)
        self.assertRegex(self.section("threads"), r"▲ 2 M/s 1.2 M/s 1.6×, one thread at a time")
        self.assertRegex(self.section("missing"),
                         "without a time cupy-python replay mesh .* Python's own work takes as long")

    def test_several_machines_stand_side_by_side(self):
        self.page_of(results_file(result("tarn"), result("cub", 500)),
                     results_file(result("tarn", 70), result("raw", 900),
                                  machine={"device_name": "Device B", "backend": "hip", "commit": "abc1234"}))
        matrix = self.source[self.source.index('id="side-by-side"'):]
        head = re.search(r"<thead>.*?</thead>", matrix, re.DOTALL)[0]
        self.assertRegex(head, "workload.*Device A.*Device B")
        row = re.search(r"<tr><th scope=\"row\">mesh</th>.*?</tr>", matrix, re.DOTALL)[0]
        self.assertEqual(row.count("<td"), 2)
        self.assertRegex(self.section("side-by-side"), "mesh ▲ 100 ns 5.0× as fast as cub, 500 ns 70 ns 12.9× as fast "
                                                       "as raw, 900 ns")
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

    def test_a_text_is_not_drawing(self):
        """What is replaced in a plot are its colours and ids, and nothing of a text that looks like them."""
        name = '#0a58b0 <g id="x" font: 3px a'
        reader = self.page_of(results_file(result("tarn", workload=name), result("raw", workload=name)))
        self.assertGreaterEqual("".join(reader.text).count(name), 4) # in plots and in tables

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

    def test_results_are_not_replaced_by_their_page(self):
        path = self.write("in.json", results_file(result("tarn")))
        before = path.read_bytes()
        for option in ("-o", "--csv"):
            failed = run("tarn-report", path, option, path, status=2)
            self.assertIn("is also an input, and would be replaced", failed.err)
        self.assertEqual(path.read_bytes(), before)

    def test_where_it_cannot_be_written(self):
        path = self.write("in.json", results_file(result("tarn")))
        done = run("tarn-report", path, "--csv", self.folder / "none" / "all.csv", status=1)
        self.assertIn("all.csv: cannot be written: No such file", done.err)


if __name__ == "__main__":
    unittest.main()
