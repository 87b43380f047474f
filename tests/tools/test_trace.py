# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tarn-trace: what it counts is right, and what it writes is a trace that replays."""

import gzip
import json
import unittest

from support import BENCH, SOURCE, InFolder, run
from tarn_tools.live_curve import LiveCurve
from tarn_tools.log_histogram import LogHistogram
from tarn_tools.trace_reader import Alloc, TraceReader
from tarn_tools.trace_stats import size_class

SMALL = """# tarn-trace 1
# name: small
# program: secret
# events: 8
# live_at_end: 1
# peak_live_bytes: 1300
a 10 1000 0 0 100
a 11 0 3 1 200
a 12 300 0 0 300
f 10 7 0 1000
a 10 100 0 5 2000
f 12 0 1 2500
f 11 3 1 2600
# note: at the end
a 13 50 3 0 3000
"""
SMALL = SMALL.replace("# live_at_end: 1", "# live_at_end: 2")
SHIPPED = sorted((SOURCE / "bench" / "traces").glob("*.trace.gz"))


class Traces(InFolder):
    def small(self):
        return self.write("small.trace", SMALL)

    def events_of(self, path):
        reader = TraceReader(path)
        return list(reader.events()), reader

    def lines_of(self, path):
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        return [line for line in text.splitlines() if line[0] in "af"], dict(
            line[2:].split(": ", 1) for line in text.splitlines() if line.startswith("# ") and ":" in line)

    def expect_whole(self, path):
        run("tarn-trace", "check", path)
        if BENCH:
            run("tarn-bench", "replay", path, "--allocator", "tarn", "--repetitions", "1", "--time", "0.01")


class Stats(Traces):
    def stats(self, path):
        return json.loads(run("tarn-trace", "stats", "--json", path).out)

    def test_what_is_counted(self):
        stats = self.stats(self.small())
        self.assertEqual((stats["trace"], stats["events"], stats["allocations"], stats["frees"]), ("small", 8, 5, 3))
        self.assertEqual(stats["left_live"], {"blocks": 2, "bytes": 150})
        self.assertEqual(stats["duration_ns"], 2900)
        self.assertEqual(stats["allocated_bytes"], 1450)
        self.assertEqual((stats["sizes"]["distinct"], stats["sizes"]["zero"], stats["sizes"]["max"]), (5, 1, 1000))
        self.assertEqual(stats["sizes"]["p50"], 100)
        self.assertEqual({row["up_to"]: (row["count"], row["bytes"]) for row in stats["sizes"]["by_power_of_two"]},
                         {0: (1, 0), 64: (1, 50), 128: (1, 100), 512: (1, 300), 1024: (1, 1000)})
        self.assertEqual(stats["lifetime_events"]["max"], 5)
        self.assertEqual(stats["lifetime_ns"]["max"], 2400)
        self.assertEqual(stats["peak_bytes"], {"bytes": 1300, "time_ns": 200, "blocks": 3})
        self.assertEqual(stats["peak_blocks"]["blocks"], 3)
        self.assertEqual(stats["freed_on_another_stream"], 1)
        self.assertEqual(stats["freed_by_another_thread"], 1)
        self.assertEqual([(row["number"], row["allocations"], row["frees"]) for row in stats["threads"]],
                         [(0, 3, 1), (1, 1, 2), (5, 1, 0)])
        self.assertEqual([(row["number"], row["bytes"]) for row in stats["streams"]], [(0, 1400), (3, 50), (7, 0)])
        self.assertEqual(stats["metadata"]["note"], "at the end")
        self.assertEqual(stats["live_over_time"][2], [200, 1300, 3])

    def test_it_agrees_with_what_the_shipped_traces_say(self):
        for path in SHIPPED:
            stats = self.stats(path)
            says = stats["metadata"]
            self.assertEqual(stats["events"], int(says["events"]))
            self.assertEqual(stats["left_live"]["blocks"], int(says.get("live_at_end", 0)), path)
            self.assertEqual(len(stats["threads"]), int(says["threads"]), path)
            if "peak_live_bytes" in says and "cut" not in says:
                self.assertEqual(stats["peak_bytes"]["bytes"], int(says["peak_live_bytes"]), path)
            self.assertLessEqual(len(stats["live_over_time"]), 500)
            self.assertEqual(max(point[1] for point in stats["live_over_time"]), stats["peak_bytes"]["bytes"])

    def test_for_people(self):
        text = run("tarn-trace", "stats", self.small(), *SHIPPED[:1]).out
        for words in ("8 events", "most bytes live: 1.3 KiB in 3 blocks, after 200 ns", "requests of zero bytes: 1",
                      "freed on another stream: 1, by another thread: 1", SHIPPED[0].name):
            self.assertIn(words, text)

    def test_nothing_was_freed(self):
        path = self.write("one.trace", "# tarn-trace 1\na 0 0 0 0 5\n")
        self.assertIn("1 event in", run("tarn-trace", "stats", path).out)
        self.assertIsNone(self.stats(path)["lifetime_ns"]["p50"])

    def test_a_damaged_trace(self):
        path = self.write("bad.trace", SMALL + "f 99 0 0 4000\n")
        done = run("tarn-trace", "stats", path, status=1)
        self.assertEqual(done.err, f"tarn-trace: {path}:16: frees id 99, which is not live\n")
        self.assertEqual(done.out, "")


class Labels(Traces):
    """What a recorder says of an allocation stands in the line before it, and goes where the allocation goes."""

    TEXT = ("# tarn-trace 1\n# name: k\n# label: 5 mesh: corners\na 5 100 0 0 1\n"
            "# label: 6 f\u00fcr <\"x\">\na 6 200 0 0 2\nf 5 0 0 3\n# label: 5 again\na 5 300 0 0 4\n"
            "a 7 1 0 0 5\n# label: 9 of nobody\na 8 2 0 0 6\n# note: end\n")

    def labelled(self):
        return self.write("labels.trace", self.TEXT.encode())

    def test_stats(self):
        stats = json.loads(run("tarn-trace", "stats", "--json", self.labelled()).out)
        self.assertEqual([(entry["label"], entry["allocations"], entry["bytes"]) for entry in stats["labels"]],
                         [("again", 1, 300), ("f\u00fcr <\"x\">", 1, 200), ("mesh: corners", 1, 100), ("", 2, 3)])
        self.assertEqual((stats["distinct_labels"], stats["metadata"]), (3, {"name": "k", "note": "end"}))
        text = run("tarn-trace", "stats", self.labelled()).out
        self.assertIn("labels: 3 distinct", text)
        self.assertRegex(text, r" 1 of +100 B in all: mesh: corners\n")
        self.assertEqual(json.loads(run("tarn-trace", "stats", "--json", SHIPPED[0]).out)["labels"], [])

    def test_a_terminal_does_not_obey_a_label(self):
        path = self.write("orders.trace", "# tarn-trace 1\n# label: 1 \x1b[2Jred\u009b\na 1 8 0 0 0\nf 1 0 0 9\n".encode())
        said = run("tarn-trace", "stats", path).out
        self.assertIn(": \\x1b[2Jred\\xc2\\x9b\n", said)

    def test_cut(self):
        path = self.folder / "out.trace"
        run("tarn-trace", "cut", self.labelled(), "-o", path, "--events", "1:5")
        self.assertEqual(path.read_text(encoding="utf-8"),
                         "# tarn-trace 1\n# name: k-cut\n# note: end\n# cut: 3 events, of 6 of k\n# events: 3\n"
                         "# label: 6 f\u00fcr <\"x\">\na 6 200 0 0 2\n# label: 5 again\na 5 300 0 0 4\na 7 1 0 0 5\n")
        self.expect_whole(path)

    def test_merge(self):
        path = self.folder / "out.trace"
        run("tarn-trace", "merge", self.labelled(), self.labelled(), "-o", path)
        text = path.read_text(encoding="utf-8")
        self.assertEqual(text.count("# label: "), 6)
        self.assertIn("# label: 0 mesh: corners\na 0 100 0 0 1\n# label: 1 mesh: corners\na 1 100 1 1 1\n", text)
        self.expect_whole(path)

    def test_anonymise(self):
        path = self.folder / "out.trace"
        run("tarn-trace", "anonymise", self.labelled(), "-o", path)
        self.assertNotIn("label", path.read_text())

    def test_timeline(self):
        path = self.folder / "out.json"
        run("tarn-trace", "timeline", self.labelled(), "-o", path)
        names = [event["name"] for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(names, ["mesh: corners 100 B", "f\u00fcr <\"x\"> 200 B", "again 300 B", "1 B", "2 B"])

    def test_the_longest(self):
        path, out = self.write("long.trace", "# tarn-trace 1\n# label: 1 " + "y" * 65500 + "\na 1 8 0 0 0\n"), \
            self.folder / "out.trace"
        run("tarn-trace", "merge", path, path, "-o", out)
        self.expect_whole(out)

    def test_many_take_no_memory(self):
        """They go with their allocations, and none is kept."""
        lines = "".join(f"# label: 1 {number:0100}\na 1 8 0 0 0\nf 1 0 0 0\n" for number in range(20000))
        reader = TraceReader(self.write("many.trace", "# tarn-trace 1\n" + lines))
        self.assertEqual(sum(1 for _ in reader.events()), 40000)
        self.assertEqual(reader.metadata, [])


class Cut(Traces):
    def cut(self, *options, name="out.trace"):
        path = self.folder / name
        run("tarn-trace", "cut", self.small(), "-o", path, "--force", *options)
        self.expect_whole(path)
        return self.lines_of(path)

    def test_first_events(self):
        lines, head = self.cut("--first", "4")
        self.assertEqual(lines, ["a 10 1000 0 0 100", "a 11 0 3 1 200", "a 12 300 0 0 300", "f 10 7 0 1000"])
        self.assertEqual((head["name"], head["events"], head["live_at_end"]), ("small-cut", "4", "2"))
        self.assertEqual((head["program"], head["peak_live_bytes"]), ("secret", "1300"))

    def test_events_from_the_middle(self):
        lines, head = self.cut("--events", "2:7")
        self.assertEqual(lines, ["a 12 300 0 0 300", "a 10 100 0 5 2000", "f 12 0 1 2500"])
        self.assertEqual((head["events"], head["peak_live_bytes"]), ("3", "400"))
        self.assertEqual(head["cut"], "3 events, of 8 of small")

    def test_a_time(self):
        lines, _ = self.cut("--time", "1.9us:")
        self.assertEqual(lines, ["a 10 100 0 5 2000", "a 13 50 3 0 3000"])
        self.assertEqual(self.cut("--time", ":200")[0], ["a 10 1000 0 0 100", "a 11 0 3 1 200"][:1] + [
            "a 11 0 3 1 200"])

    def test_what_is_left_can_be_freed(self):
        lines, head = self.cut("--first", "3", "--free-rest", name="out.trace.gz")
        self.assertEqual(lines[3:], ["f 10 0 0 300", "f 11 3 1 300", "f 12 0 0 300"])
        self.assertEqual((head["events"], head["live_at_end"]), ("6", "0"))

    def test_an_empty_part(self):
        path = self.folder / "out.trace"
        done = run("tarn-trace", "cut", self.small(), "-o", path, "--events", "5:6", status=1)
        self.assertIn("nothing is allocated in that part", done.err)
        self.assertFalse(path.exists())

    def test_until_the_damage(self):
        bad = self.write("bad.trace.gz", gzip.compress(SMALL.encode())[:-20])
        path = self.folder / "out.trace"
        run("tarn-trace", "cut", bad, "-o", path, status=1)
        self.assertFalse(path.exists())
        bad = self.write("bad.trace", SMALL.replace("f 11", "f 77"))
        done = run("tarn-trace", "cut", bad, "-o", path, "--until-damage")
        self.assertIn(":13: frees id 77, which is not live; what comes before is kept", done.err)
        self.expect_whole(path)
        self.assertEqual(len(self.lines_of(path)[0]), 6)

    def test_bad_ranges(self):
        for options in (("--events", "5:5"), ("--events", "7"), ("--events", "a:b"), ("--time", "5:2"),
                        ("--time", "1h:"), ("--first", "-1"), ("--first", "1", "--time", "0:1")):
            done = run("tarn-trace", "cut", self.small(), "-o", self.folder / "x", *options, status=2)
            self.assertIn("Try 'tarn-trace cut --help'", done.err)

    def test_the_shipped_traces(self):
        for path in SHIPPED:
            out = self.folder / "cut.trace.gz"
            run("tarn-trace", "cut", path, "-o", out, "--force", "--events", "100:1500", "--free-rest")
            self.expect_whole(out)
            self.assertEqual(len(self.events_of(out)[1].live), 0)


class Merge(Traces):
    def test_two(self):
        other = self.write("other.trace", "# tarn-trace 1\na 10 7 0 0 50\nf 10 0 0 1000\n")
        path = self.folder / "out.trace"
        run("tarn-trace", "merge", self.small(), other, "-o", path, "--name", "both")
        lines, head = self.lines_of(path)
        self.assertEqual(lines, ["a 0 7 0 0 50", "a 1 1000 1 1 100", "a 2 0 2 2 200", "a 3 300 1 1 300",
                                 "f 1 3 1 1000", "f 0 0 0 1000", "a 4 100 1 3 2000", "f 3 1 2 2500", "f 2 2 2 2600",
                                 "a 5 50 2 1 3000"])
        self.assertEqual((head["name"], head["events"], head["streams"], head["threads"]), ("both", "10", "4", "4"))
        self.expect_whole(path)

    def test_aligned(self):
        other = self.write("other.trace", "# tarn-trace 1\na 10 7 0 0 50\nf 10 0 0 1000\n")
        path = self.folder / "out.trace"
        run("tarn-trace", "merge", self.small(), other, "-o", path, "--align")
        self.assertEqual(self.lines_of(path)[0][:3], ["a 0 1000 0 0 0", "a 1 7 1 1 0", "a 2 0 2 2 100"])

    def test_all_that_are_shipped(self):
        path = self.folder / "out.trace.gz"
        run("tarn-trace", "merge", *SHIPPED, *SHIPPED[:1], "-o", path)
        self.expect_whole(path)
        count = sum(self.events_of(part)[1].event_count for part in [*SHIPPED, SHIPPED[0]])
        self.assertEqual(self.events_of(path)[1].event_count, count)

    def test_one_of_them_is_damaged(self):
        bad = self.write("bad.trace", "# tarn-trace 1\na 0 1 0 0 1\n?\n")
        done = run("tarn-trace", "merge", self.small(), bad, "-o", self.folder / "out.trace", status=1)
        self.assertIn("bad.trace:3: '?' is no event", done.err)
        self.assertFalse((self.folder / "out.trace").exists())


class Anonymise(Traces):
    def test_what_is_left(self):
        path = self.folder / "out.trace"
        run("tarn-trace", "anonymise", self.small(), "-o", path)
        text = path.read_text()
        self.assertEqual(text, "# tarn-trace 1\n# name: anonymous\n# events: 8\n# streams: 3\n# threads: 3\n"
                               "a 0 1000 0 0 0\na 1 0 1 1 100\na 2 300 0 0 200\nf 0 2 0 900\na 3 100 0 2 1900\n"
                               "f 2 0 1 2400\nf 1 1 1 2500\na 4 50 1 0 2900\n")
        self.expect_whole(path)

    def test_coarser(self):
        path = self.folder / "out.trace"
        run("tarn-trace", "anonymize", self.small(), "-o", path, "--round-sizes", "256", "--round-times", "1us",
            "--scale-times", "3/2", "--name", "x")
        self.assertEqual(self.lines_of(path)[0], [
            "a 0 1024 0 0 0", "a 1 0 1 1 0", "a 2 512 0 0 0", "f 0 2 0 1000", "a 3 256 0 2 2000", "f 2 0 1 3000",
            "f 1 1 1 3000", "a 4 256 1 0 4000"])
        self.expect_whole(path)

    def test_the_shipped_traces(self):
        for source in SHIPPED:
            path = self.folder / "out.trace.gz"
            run("tarn-trace", "anonymise", source, "-o", path, "--force")
            self.expect_whole(path)
            old, new = self.events_of(source)[0], self.events_of(path)[0]
            self.assertEqual([type(event) for event in old], [type(event) for event in new])
            self.assertEqual([event.bytes for event in old if isinstance(event, Alloc)],
                             [event.bytes for event in new if isinstance(event, Alloc)])
            head = set(dict(self.events_of(path)[1].metadata))
            self.assertEqual(head, {"name", "events", "streams", "threads"})

    def test_what_no_trace_can_hold_is_not_written(self):
        path, out = self.write("late.trace", "# tarn-trace 1\na 0 1000 0 0 0\nf 0 0 0 999999999999\n"), \
            self.folder / "out.trace"
        done = run("tarn-trace", "anonymise", path, "-o", out, "--scale-times", "1000000000", status=1)
        self.assertEqual(done.err, f"tarn-trace: {out}: a time would not fit in 64 bits\n")
        done = run("tarn-trace", "anonymise", path, "-o", out, "--round-sizes", "99999999T", status=1)
        self.assertIn("more bytes would be live than 64 bits can count", done.err)
        large = self.write("large.trace", f"# tarn-trace 1\na 0 {1 << 63} 0 0 0\n")
        run("tarn-trace", "merge", large, large, "-o", out, status=1)
        self.assertFalse(out.exists())
        run("tarn-trace", "merge", large, path, "-o", out)
        run("tarn-trace", "check", out)

    def test_a_trace_is_not_replaced_by_what_is_made_of_it(self):
        path, link = self.write("a.trace", SMALL), self.folder / "link.trace"
        link.symlink_to(path)
        for command in (["cut", path], ["merge", SHIPPED[0], path], ["anonymise", path], ["timeline", path]):
            for output in (path, link):
                failed = run("tarn-trace", *command, "-o", output, status=2)
                self.assertIn("is also an input, and would be replaced", failed.err)
        self.assertEqual(path.read_text(), SMALL)

    def test_bad_options(self):
        for options in (("--round-sizes", "0"), ("--round-sizes", "x"), ("--round-times", "0"),
                        ("--scale-times", "0"), ("--scale-times", "1/0"), ("--scale-times", "-1")):
            run("tarn-trace", "anonymise", self.small(), "-o", self.folder / "x", *options, status=2)


class Timeline(Traces):
    def timeline(self, path, *options):
        output = self.folder / "timeline.json"
        run("tarn-trace", "timeline", path, "-o", output, "--force", *options)
        return json.loads(output.read_text())["traceEvents"]

    def test_slices_and_counters(self):
        events = self.timeline(self.small())
        slices = [event for event in events if event["ph"] == "X"]
        self.assertEqual([(event["name"], event["ts"], event["dur"], event["pid"]) for event in slices],
                         [("1000 B", 0, 0.9, 1), ("0 B", 0.1, 2.4, 2), ("300 B", 0.2, 2.2, 1), ("100 B", 1.9, 1, 1),
                          ("50 B", 2.9, 0, 2)])
        names = {event["pid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
        self.assertEqual(names, {0: "live", 1: "stream 0", 2: "stream 3"})
        counts = [event["args"]["bytes"] for event in events if event["ph"] == "C" and "bytes" in event["args"]]
        self.assertEqual(counts, [1000, 1000, 1300, 300, 400, 100, 100, 150])

    def test_slices_of_a_lane_do_not_overlap(self):
        for path in SHIPPED:
            ends = {}
            for event in self.timeline(path):
                if event["ph"] == "X":
                    lane = event["pid"], event["tid"]
                    self.assertGreaterEqual(event["ts"], ends.get(lane, 0))
                    ends[lane] = round(event["ts"] + event["dur"], 3)

    def test_at_most_so_many(self):
        slices = [event for event in self.timeline(self.small(), "--slices", "2") if event["ph"] == "X"]
        self.assertEqual([event["name"] for event in slices], ["1000 B", "300 B"])
        self.assertEqual([e for e in self.timeline(self.small(), "--slices", "0") if e["ph"] == "X"], [])


class Parts(unittest.TestCase):
    def test_percentiles_are_near(self):
        histogram = LogHistogram()
        values = [i * i for i in range(1, 3000)]
        for value in values:
            histogram.add(value)
        for per_mille in range(1, 1000):
            exact = values[-(-len(values) * per_mille // 1000) - 1]
            self.assertLessEqual(histogram.percentile(per_mille), exact)
            self.assertGreater(histogram.percentile(per_mille), exact * (1 - 1 / 256))
        self.assertEqual(histogram.percentile(1000), values[-1])
        self.assertIsNone(LogHistogram().percentile(500))
        self.assertIsNone(LogHistogram().percentile(1000))

    def test_a_curve_keeps_its_peak(self):
        for peak in (0, 1, 777, 99_999):
            curve = LiveCurve(100)
            for i in range(100_000):
                curve.add(i, 1000 if i == peak else 5, 1)
            self.assertLessEqual(len(curve.points()), 200)
            self.assertIn((peak, 1000, 1), curve.points())

    def test_size_classes(self):
        self.assertEqual([size_class(size) for size in (0, 1, 2, 3, 4, 5, 1023, 1024, 1025)],
                         [0, 1, 2, 4, 4, 8, 1024, 1024, 2048])


if __name__ == "__main__":
    unittest.main()
