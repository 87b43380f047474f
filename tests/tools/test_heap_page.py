# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device heap on a page: all that the files hold is told, where tarn's heap loses is said, nothing is left out."""

import csv
import io
import unittest
import xml.etree.ElementTree as ElementTree

from heap_sample import sample
from page_reader import WithPage
from support import InFolder, has_matplotlib, heap_file, heap_remark, heap_result, result, results_file, run, run_tests
from tarn_tools.heap_verdicts import HeapBalance, heap_verdicts_of, times_tarn_of
from tarn_tools.result_files import read_results
from tarn_tools.runs import runs_of


class Verdicts(InFolder):
    def verdicts_of(self, *rows, **more):
        run_, = runs_of([read_results(str(self.write("in.json", heap_file(*rows, **more))))])
        return heap_verdicts_of(run_)

    def word(self, *rows, **more):
        verdict, = self.verdicts_of(*rows, **more)
        return verdict.word

    def test_less_time_wins(self):
        self.assertEqual(self.word(heap_result("tarn", 100), heap_result("cuda", 106)), "wins")
        self.assertEqual(self.word(heap_result("tarn", 100), heap_result("cuda", 104)), "level")
        self.assertEqual(self.word(heap_result("tarn", 100), heap_result("cuda", 94)), "loses")

    def test_of_rates_and_shares_more_wins(self):
        for unit in ("M/s", "%"):
            self.assertEqual(self.word(heap_result("tarn", 90, unit=unit), heap_result("cuda", 30, unit=unit)), "wins")
            self.assertEqual(self.word(heap_result("tarn", 30, unit=unit), heap_result("cuda", 90, unit=unit)), "loses")
        for unit in ("cycles", "times"):
            self.assertEqual(self.word(heap_result("tarn", 90, unit=unit), heap_result("cuda", 30, unit=unit)), "loses")

    def test_a_bound_is_no_rival(self):
        self.assertEqual(self.word(heap_result("tarn", 100), heap_result("bump", 10)), "alone")
        self.assertEqual(self.word(heap_result("tarn", 100), heap_result("bump", 10), heap_result("cuda", 900)), "wins")
        self.assertEqual(self.word(heap_result("tarn", 100), heap_result("somebody", 10)), "loses")
        self.assertEqual(self.word(heap_result("cuda")), "absent")

    def test_what_is_wrong_wins_nothing(self):
        pair = (heap_result("tarn", 100), heap_result("cuda", 900))
        self.assertEqual(self.word(*pair, faults=[heap_remark("tarn", "overlap")]), "wrong")
        self.assertEqual(self.word(*pair, faults=[heap_remark("cuda", "overlap")]), "alone")
        self.assertEqual(self.word(*pair, faults=[heap_remark("tarn", "overlap", workload="32 B")]), "wins")
        verdicts = self.verdicts_of(*pair, faults=[heap_remark("tarn", "overlap")])
        balance = HeapBalance(verdicts)
        self.assertEqual((len(balance.wins), len(balance.wrong), len(balance.compared)), (0, 1, 1))
        self.assertIsNone(times_tarn_of(verdicts, "cuda"))

    def test_a_unit_that_nobody_knows_and_zero_are_not_compared(self):
        self.assertEqual(self.word(*[heap_result(heap, unit="apples") for heap in ("tarn", "cuda")]), "alone")
        self.assertEqual(self.word(heap_result("tarn", 0), heap_result("cuda", 9)), "alone")

    def test_ratios_over_workloads(self):
        verdicts = self.verdicts_of(*[heap_result(heap, median, workload=workload) for workload, tarn, cuda in
                                      (("a", 10, 5), ("b", 10, 30), ("c", 10, 80))
                                      for heap, median in (("tarn", tarn), ("cuda", cuda))])
        self.assertEqual(times_tarn_of(verdicts, "cuda"), (0.5, 3, 8))
        self.assertIsNone(times_tarn_of(verdicts, "bump"))

    def test_they_come_in_the_order_of_the_tests(self):
        tests = ("create", "new", "churn", "one-size")
        verdicts = self.verdicts_of(*[heap_result("tarn", test=test) for test in tests])
        self.assertEqual([verdict.test for verdict in verdicts], ["one-size", "churn", "create", "new"])


@unittest.skipUnless(has_matplotlib(), "no Python here has matplotlib: package python3-matplotlib")
class Page(WithPage):
    def test_alone_it_has_nothing_of_tarn_bench(self):
        reader = self.page_of(sample())
        self.assertEqual(reader.fetched, [])
        self.assertFalse(reader.tags & {"script", "link", "img", "iframe"})
        for link in reader.links:
            self.assertIn(f'id="{link[1:]}"', self.source)
        for words in ("Who wins where", "Not measured", "Recorded traces", "tarn-bench", "one reading of the clock",
                      "time of a pair", "a pool of tarn"):
            self.assertNotIn(words, self.text)
        contents = [link for link in reader.links if link in ("#summary", "#missing", "#device-heap", "#machines")]
        self.assertEqual(contents, ["#device-heap", "#machines"])

    def test_tarn_bench_alone_has_nothing_of_it(self):
        self.page_of(results_file(result("tarn")))
        for words in ("Device heap", "device_heap_bench", "kernels that allocate"):
            self.assertNotIn(words, self.text)

    def test_all_of_the_sample_is_told(self):
        content = sample()
        self.page_of(content)
        tables = self.source[self.source.index('id="device-heap-one-size"'):].replace("<wbr>", "")
        for row in content["results"]:
            self.assertIn(f'<th scope="row">{row["workload"]}</th>', tables)
            self.assertRegex(tables, rf'<th [^>]*scope="rowgroup"><span>{row["figure"]}</span></th>')
        self.assertEqual(tables.count(" 9 rounds"), len(content["results"]))

    def test_where_it_loses_is_said(self):
        self.page_of(heap_file(heap_result("tarn", 100, workload="good"), heap_result("cuda", 800, workload="good"),
                               heap_result("tarn", 300, workload="evil"), heap_result("cuda", 100, workload="evil"),
                               heap_result("bump", 50, workload="good")))
        self.assertIn("the best in 1 of 2 figures. It loses in 1. At the median it is 4.2× as fast as cuda (0.33× to "
                      "8.0×). At the median it takes 2.0× the time of bump, a bound.", self.text)
        lost = self.section("device-heap-loses")
        self.assertRegex(lost, r"one-size, evil: allocate, warm 300 µs \(294 µs–309 µs\) "
                               r"cuda 100 µs \(98 µs–103 µs\) 3.0×")
        self.assertNotIn("one-size, good", lost)
        self.assertRegex(self.section("device-heap-at-a-glance"),
                         r"allocate, warm \(2\) 1 of 2 200 µs 100 µs–300 µs 4.2× ▼ 0.33–8.0× tarn 2.0× in 1")
        self.assertRegex(self.section("device-heap-one-size"),
                         r"good ▲ 100 µs 98 µs–103 µs 800 µs 784 µs–824 µs, 8.0× 50 µs 49 µs–51.5 µs, tarn 2.0× "
                         r"evil ▼ 300 µs 294 µs–309 µs 100 µs 98 µs–103 µs, 0.33× –")
        self.assertRegex(self.source, '<td title="cuda: 9 rounds" class="loses">100')

    def test_fewer_a_second_and_more_memory_are_losses(self):
        self.page_of(heap_file(
            *[heap_result(heap, rate, "churn", "64 B", "pairs", "M/s")
              for heap, rate in (("tarn", 100), ("cuda", 250))],
            *[heap_result(heap, times, "steady", "64 B", "range over live", "times")
              for heap, times in (("tarn", 1.5), ("cuda", 1.2))]))
        lost = self.section("device-heap-loses")
        self.assertRegex(lost, r"churn, 64 B: pairs 100 M/s .* cuda 250 M/s .* 2.5×")
        self.assertRegex(lost, r"steady, 64 B: range over live 1.50× .* cuda 1.20× .* 1.2×")

    def test_no_loss_is_said_too(self):
        self.page_of(heap_file(heap_result("tarn", 100), heap_result("cuda", 800)))
        self.assertIn("Nowhere in these results is another heap better", self.section("device-heap-loses"))
        self.assertIn("loses in none", self.text)
        self.page_of(heap_file(heap_result("tarn", 100), heap_result("bump", 10)))
        self.assertIn("no other heap", self.section("device-heap-loses"))
        self.assertIn("Nothing was skipped, and nothing was found wrong", self.section("device-heap-remarks"))

    def test_skips_and_faults_are_told(self):
        self.page_of(heap_file(heap_result("tarn"), heap_result("cuda", 900), heap_result("tarn", test="large"),
                               skipped=[heap_remark("cuda", "one before took 1.4 s", "large")],
                               faults=[heap_remark("tarn", "7 words were written over"),
                                       heap_remark("cuda", "lost", "churn", "of which there is no figure")]))
        remarks = self.section("device-heap-remarks")
        for words in ("WRONG tarn one-size, 64 B Device A 7 words were written over",
                      "WRONG cuda churn, of which there is no figure Device A lost",
                      "skipped cuda large, 64 B Device A one before took 1.4 s"):
            self.assertIn(words, " ".join(remarks.split()))
        self.assertIn("2 faults were found", self.text)
        self.assertIn("the best in 0 of 1 figures. In 1 what it handed out was found wrong.", self.text)
        self.assertRegex(self.section("device-heap-one-size"), "100 µs 98 µs–103 µs, found wrong 900 µs")
        self.page_of(heap_file(heap_result("tarn", test="large"), heap_result("cuda", test="large", workload="32 B"),
                               skipped=[heap_remark("cuda", "one before took 1.4 s", "large")]))
        self.assertIn('title="skipped: one before took 1.4 s"', self.source)

    def test_a_file_of_skips_alone(self):
        self.page_of(heap_file(skipped=[heap_remark("tarn", "too small")], faults=[heap_remark("cuda", "lost")]))
        self.assertIn("too small", self.section("device-heap-remarks"))
        self.assertIn("not measured here. 1 fault was found", self.text)

    def test_names_that_nobody_knows(self):
        self.page_of(heap_file(*[heap_result(heap, median, "tea-time", "milk", "sips", "cups")
                                 for heap, median in (("tarn", 3), ("kettle", 70))],
                               heap_result("kettle", 70, figure="pour", unit="us"), heap_result("tarn", 700,
                                                                                               figure="pour")))
        self.assertRegex(self.section(f"device-heap-{b'tea-time'.hex()}"),
                         "sips milk 3 cups 2.94–3.09 70 cups 68.6–72.1")
        self.assertIn(">tea-time</h3>", self.source)
        self.assertRegex(self.section("device-heap-loses"), "one-size, 64 B: pour 700 µs .* kettle 70 µs .* 10.0×")
        self.assertIn("<b>kettle</b>", self.source)

    def test_numbers_at_the_ends_of_what_can_be(self):
        least, most = 2.0 ** -80, 2.0 ** 80
        ends = {"min": least, "max": most}
        self.page_of(heap_file(*[heap_result(heap, median, test, f"{number}", test, unit, x=x) | ends
                                 for test in ("one-size", "scaling", "churn")
                                 for unit in ("us", "cycles", "M/s", "times", "%", "cups")
                                 for number, x in enumerate((least, 1, most))
                                 for heap, median in (("tarn", least), ("cuda", most))], machine={"device_bytes": 0}))
        self.assertIn("loses in", self.text)

    def test_nothing_of_a_file_is_markup(self):
        evil = "<script>alert(1)</script>\"'&amp;--><svg onload=x>"
        rows = [heap_result(heap, 1, evil, evil, evil, unit) for heap in (evil, "tarn") for unit in ("us", evil)]
        reader = self.page_of(heap_file(*rows, kernels=[evil], skipped=[heap_remark(evil, evil, evil, evil)],
                                        faults=[heap_remark(evil, evil, evil, evil)], machine={"device_name": evil}))
        self.assertNotIn("script", reader.tags)
        self.assertNotIn("<svg onload", self.source)
        self.assertIn(evil, "".join(reader.text))

    def test_beside_tarn_bench(self):
        self.page_of(results_file(result("tarn"), result("cub", 500)),
                     heap_file(heap_result("tarn"), heap_result("cuda", 900), kernels=["tarn: 40 registers"]))
        for words in ("Who wins where", "Recorded traces", "Not measured", "Device heap"):
            self.assertIn(words, self.text)
        self.assertIn("2 of them on 1 workloads", self.text) # heaps are no allocators of tarn-bench's
        self.assertRegex(self.section("machines"),
                         "kernels that allocate tarn: 40 registers files .*in-0.json .*in-1.json")
        self.assertRegex(self.section("runs"), r"in-0.json Device A 2 \(replay\) .*in-1.json Device A 2 \(one-size\)")
        swatches = self.source.split('class="legend"')
        self.assertNotIn("<b>cuda</b>", swatches[1].split("</ul>")[0])
        self.assertEqual(sum("<b>cuda</b>" in part.split("</ul>")[0] for part in swatches), 1)

    def test_several_machines(self):
        self.page_of(heap_file(heap_result("tarn", x=64), heap_result("cuda", 900, x=64),
                               kernels=["tarn: 40 registers"]),
                     heap_file(heap_result("tarn", 70, x=64), heap_result("cuda", 50, x=64),
                               machine={"device_name": "Device B"}))
        for label in ("Device A", "Device B"):
            self.assertIn(f"how many times as good tarn is: {label}", self.text)
        self.assertRegex(self.text, "Device A : tarn's heap is the best in 1 of 1 .*Device B : .*It loses in 1"
                         .replace(" :", " ?:"))
        self.assertRegex(self.section("device-heap-loses"), "Device B one-size, 64 B: allocate, warm 70 µs")
        self.assertRegex(self.section("machines"), "kernels that allocate tarn: 40 registers –")

    def test_the_same_input_gives_the_same_page(self):
        self.page_of(sample())
        first = self.source
        self.page_of(sample())
        self.assertEqual(first, self.source)


@unittest.skipUnless(has_matplotlib(), "no Python here has matplotlib: package python3-matplotlib")
class Plots(InFolder):
    def plots_of(self, *contents):
        paths = [self.write(f"in-{number}.json", content) for number, content in enumerate(contents)]
        run("tarn-report", *paths, "--svg", self.folder / "plots", "--png", self.folder / "png")
        plots = {path.stem: ElementTree.parse(path) for path in (self.folder / "plots").iterdir()}
        self.assertEqual(sorted(plots), sorted(path.stem for path in (self.folder / "png").iterdir()))
        return {name: [element.text for element in plot.iter("{http://www.w3.org/2000/svg}text")]
                for name, plot in plots.items()}

    def test_which_there_are(self):
        plots = self.plots_of(sample())
        self.assertEqual(sorted(plots), sorted(f"device-heap-{name}" for name in (
            "one-size-allocate-fresh", "one-size-allocate-warm", "one-size-free", "one-size-free-shuffled",
            "one-size-range-over-asked-fresh", "mixed-allocate-fresh", "mixed-allocate-warm", "mixed-free",
            "mixed-free-shuffled", "mixed-range-over-asked-fresh", "scaling-64-b-allocate", "scaling-64-b-free",
            "scaling-1024-b-allocate", "scaling-1024-b-free", "churn-pairs", "steady-replacements",
            "steady-range-over-live", "large-allocate", "large-free", "graph-time", "latency-allocate",
            "latency-free"))) # what tarn's heap alone has is in tables
        self.assertLess({"tarn", "cuda", "bump", "16 B", "4 KiB", "10 ms"},
                        set(plots["device-heap-one-size-allocate-warm"]))
        self.assertNotIn("cuda", plots["device-heap-one-size-allocate-fresh"])
        self.assertLess({"tarn", "cuda", "1", "256 Ki", "threads"}, set(plots["device-heap-scaling-64-b-free"]))
        self.assertLess({"make", "drop", "300 µs", "10 ms"}, set(plots["device-heap-graph-time"]))
        self.assertLess({"log 16 to 4096 B", "pairs a second", "200M"}, set(plots["device-heap-churn-pairs"]))

    def test_zero_and_no_quantity_have_no_place_on_an_axis(self):
        plots = self.plots_of(heap_file(heap_result("tarn", 0, x=64), heap_result("cuda", 5, x=64),
                                        heap_result("tarn", 5, workload="32 B"),
                                        heap_result("cuda", 0, "churn", unit="M/s")))
        self.assertEqual(list(plots), ["device-heap-one-size-allocate-warm"])
        self.assertNotIn("tarn", plots["device-heap-one-size-allocate-warm"])

    def test_one_unit_never_replaces_another(self):
        plots = self.plots_of(heap_file(*[heap_result(heap, 5, "latency", unit=unit) for unit in ("us", "cycles")
                                          for heap in ("tarn", "cuda")]))
        self.assertEqual(len(plots), 2)

    def test_machines_share_a_scale(self):
        plots = self.plots_of(*[heap_file(*[heap_result(heap, median * factor, "churn", "64 B", "pairs", "M/s")
                                            for heap, median in (("tarn", 20), ("cuda", 10))],
                                          machine={"device_name": name})
                                for name, factor in (("Device A", 1), ("Device B", 1000))])
        one, other = plots["device-heap-churn-pairs-device-a"], plots["device-heap-churn-pairs-device-b"]
        ticks = [[word for word in words if word.rstrip("MG").isdigit()] for words in (one, other)]
        self.assertEqual(*ticks)
        self.assertIn("10G", ticks[0])


class Csv(InFolder):
    def test_a_row_a_figure(self):
        path = self.write("heap.json", heap_file(
            heap_result("tarn", 50, x=64), heap_result("cuda", 500), skipped=[heap_remark("cuda", "too slow", x=32)],
            faults=[heap_remark("cuda", "lost")]))
        pools = self.write("pools.json", results_file(result("tarn", 70)))
        run("tarn-report", path, pools, "--csv", self.folder / "all.csv")
        rows = list(csv.DictReader(io.StringIO((self.folder / "all.csv").read_text())))
        self.assertEqual([(row["bench"], row["allocator"], row["outcome"]) for row in rows],
                         [("replay", "tarn", "measured"), ("device-heap one-size", "tarn", "measured"),
                          ("device-heap one-size", "cuda", "measured"), ("device-heap one-size", "cuda", "skipped"),
                          ("device-heap one-size", "cuda", "fault")])
        columns = ("workload", "figure", "unit", "x", "median", "min", "max", "rounds", "verified", "ns_per_pair",
                   "device_name")
        self.assertEqual([rows[1][name] for name in columns],
                         ["64 B", "allocate, warm", "us", "64", "50", "49.0", "51.5", "9", "1", "", "Device A"])
        self.assertEqual((rows[2]["verified"], rows[2]["reason"]), ("0", "lost"))
        self.assertEqual((rows[3]["x"], rows[3]["reason"], rows[3]["median"]), ("32", "too slow", ""))
        self.assertEqual((rows[0]["ns_per_pair"], rows[0]["figure"]), ("70", ""))


if __name__ == "__main__":
    run_tests()
