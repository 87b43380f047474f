# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged traces: tarn-trace says the same of them, to the letter, as tarn-bench replay."""

import gzip
import random
import unittest
import zlib

from support import BENCH, SOURCE, InFolder, needs_bench, run

HEAD = "# tarn-trace 1\n"
GOOD = HEAD + "# name: good\na 0 100 0 0 10\na 1 200 0 0 20\nf 0 0 0 30\nf 1 1 1 40\n"
LARGEST = (1 << 64) - 1

# Text of a trace, and words that both messages must have.
DAMAGED = {
    "empty file": ("", "the file is empty"),
    "other first line": ("# tarn-trace 2\n", "the first line of a trace is"),
    "long first line": ("x" * 100 + "\n", "and not 'xxxx"),
    "no first newline": ("# tarn-trace 1", "has no newline"),
    "no events": (HEAD, "has no events"),
    "only metadata": (HEAD + "# name: x\n", "has no events"),
    "metadata without a colon": (HEAD + "# name x\n", ":2: '# name x' is not a line"),
    "metadata without a space": (HEAD + "#name: x\n", "is not a line"),
    "metadata without a key": (HEAD + "# : x\n", "is not a line"),
    "number of events is none": (HEAD + "# events: many\na 0 1 0 0 0\n", "'many' is not a number"),
    "number of events is empty": (HEAD + "# events:\na 0 1 0 0 0\n", "'' is not a number"),
    "number of events with a sign": (HEAD + "# events: +1\na 0 1 0 0 0\n", "'+1' is not a number"),
    "number of events behind zeros": (HEAD + "# events: " + "0" * 5000 + "2\na 0 1 0 0 0\n", "has 1 events and not 2"),
    "number of events is huge": (HEAD + "# events: 99999999999999999999999\na 0 1 0 0 0\n", "is not a number"),
    "fewer events": (HEAD + "# events: 3\na 0 1 0 0 0\n", "has 1 events and not 3"),
    "more events": (HEAD + "a 0 1 0 0 0\nf 0 0 0 0\n# events: 1\n", "has 2 events and not 1"),
    "unknown event": (HEAD + "r 0 1 0 0 0\n", "'r' is no event"),
    "long event": (HEAD + "a" * 90 + " 0 1 0 0 0\n", "is no event"),
    "empty line": (HEAD + "\na 0 1 0 0 0\n", ":2: '' is no event"),
    "space in front": (HEAD + " a 0 1 0 0 0\n", "'' is no event"),
    "few fields": (HEAD + "a 0 1 0 0\n", "has 5 fields where"),
    "many fields": (HEAD + "a 0 1 0 0 0 0\n", "has 7 fields where"),
    "fields of a free": (HEAD + "a 0 1 0 0 0\nf 0 0 0 0 0\n", "has 6 fields where 'f id"),
    "two spaces": (HEAD + "a 0  1 0 0 0\n", "has 7 fields where"),
    "empty field": (HEAD + "a 0  0 0 0\n", "the size '' is not a number"),
    "space at the end": (HEAD + "f 0 0 0 0 \n", "has 6 fields"),
    "carriage return": (HEAD + "a 0 1\r 0 0 0\n", "the size '1\\x0d' is not a number"),
    "two carriage returns": (HEAD + "a 0 1 0 0 0\r\r\n", "the time '0\\x0d' is not a number"),
    "orders for a terminal": (HEAD + "\x1b[2J\x1b]0;x\x07\x7f 0\n",
                              ":2: '\\x1b[2J\\x1b]0;x\\x07\\x7f' is no event"),
    "orders above ASCII": (HEAD + "\u009b2J\n", ":2: '\\xc2\\x9b2J' is no event"),
    "letters": (HEAD + "\u00fc\u4e2d\U0001f600\n", ":2: '\u00fc\u4e2d\U0001f600' is no event"),
    "orders in a first line": ("# tarn-trace 2\x1b[2J\n", "and not '# tarn-trace 2\\x1b[2J'"),
    "halves of pairs": ((HEAD + "\ud800\n").encode("utf-8", "surrogatepass"), ":2: '\\xed\\xa0\\x80' is no event"),
    "cut letter": ((HEAD + "x" * 59 + "\u00fc\n").encode(), "x\\xc3' is no event"),
    "plus": (HEAD + "a +0 1 0 0 0\n", "the id '+0' is not a number"),
    "minus": (HEAD + "a 0 -1 0 0 0\n", "the size '-1' is not a number"),
    "underscore": (HEAD + "a 0 1_0 0 0 0\n", "the size '1_0' is not a number"),
    "other digits": (HEAD + "a 0 \u0663 0 0 0\n", "is not a number"),
    "hexadecimal": (HEAD + "a 0 0x10 0 0 0\n", "the size '0x10' is not a number"),
    "long garbage": (HEAD + "a 0 " + "y" * 300 + " 0 0 0\n", "is not a number"),
    "too large": (HEAD + f"a 0 {LARGEST + 1} 0 0 0\n", "does not fit in 64 bits"),
    "far too large": (HEAD + "a 0 1 " + "9" * 6000 + " 0 0\n", "the stream '9999"),
    "too large and garbage": (HEAD + "a 99999999999999999999999 z 0 0 0\n", "does not fit"),
    "time goes back": (HEAD + "a 0 1 0 0 5\na 1 1 0 0 4\n", ":3: time goes back from 5 to 4 ns"),
    "live twice": (HEAD + "a 7 1 0 0 0\na 7 1 0 0 0\n", "allocates id 7, which is live since line 2"),
    "not live": (HEAD + "a 7 1 0 0 0\nf 8 0 0 0\n", "frees id 8, which is not live"),
    "freed twice": (HEAD + "a 7 1 0 0 0\nf 7 0 0 0\nf 7 0 0 0\n", ":4: frees id 7"),
    "more live than can be": (HEAD + f"a 0 {LARGEST} 0 0 0\na 1 1 0 0 0\n", "more are live than 64 bits"),
    "no last newline": (HEAD + "a 0 1 0 0 0\na 1 1 0 0 0", ":3: the last line has no newline"),
    "zero byte": (HEAD + "a 0 1 0\0 0 0\na 1 1 0 0 0\n", ":2: the line has a zero byte"),
    "zero byte in front": (HEAD + "\0a 0 1 0 0 0\na 1 1 0 0 0\n", "zero byte"),
    "zero byte at the end": (HEAD + "a 0 1 0 0 0\0", "has no newline"),
    "long line": (HEAD + "# x: " + "y" * 65530 + "\n", ":2: the line is longer than 65534 bytes"),
    "far too long line": (HEAD + "# x: " + "y" * 600000 + "\na 0 1 0 0 0\n", "is longer than"),
    "long last line": (HEAD + "# x: " + "y" * 65530, "is longer than"),
    "latin-1": ((HEAD + "\u00e9 0 1 0 0 0\n").encode("latin-1"), ":2: '\\xe9' is no event"),
}

WHOLE = {
    "good": GOOD,
    "zero sizes": HEAD + "a 0 0 0 0 0\nf 0 0 0 0\n",
    "ids used again": HEAD + "a 0 1 0 0 0\nf 0 0 0 0\na 0 1 0 0 0\n",
    "largest numbers": HEAD + f"a {LARGEST} 8 {LARGEST} {LARGEST} {LARGEST}\nf {LARGEST} 0 0 {LARGEST}\n",
    "leading zeros": HEAD + "a 000000000000000000000000000001 08 0 0 0\nf 1 0 0 0\n",
    "metadata anywhere": HEAD + "a 0 1 0 0 0\n# events: 2\n# note: x\nf 0 0 0 0\n",
    "longest line": HEAD + "# x: " + "y" * 65529 + "\na 0 1 0 0 0\n",
    "number of events behind zeros": HEAD + "# events: " + "0" * 5000 + "1\na 0 1 0 0 0\n",
    "labels": HEAD + "# label: 0 a label\na 0 1 0 0 0\n# label: x\n# label: 99999999999999999999 y\nf 0 0 0 0\n",
    "Windows' line ends": (HEAD + "# name: x\na 0 1 0 0 0\nf 0 0 0 0\n# events: 2\n").replace("\n", "\r\n"),
    "a Windows' line end": HEAD + "a 0 1 0 0 0\r\nf 0 0 0 0\n",
    "events said twice": HEAD + "# events: 9\n# events: 1\na 0 1 0 0 0\n",
}


class Reader(InFolder):
    def damage_of(self, name, content):
        """Both programs' words, which must be one."""
        path = self.write(name, content if isinstance(content, bytes) else content.encode())
        said = run("tarn-trace", "check", path, status=1).err
        self.assertTrue(said.startswith(f"tarn-trace: {path}"), said)
        if BENCH:
            replayed = run("tarn-bench", "replay", path, "--allocator", "tarn", status=1)
            self.assertEqual(said.replace("tarn-trace: ", "tarn-bench: ", 1), replayed.err)
        return said

    def expect_whole(self, name, content):
        path = self.write(name, content)
        run("tarn-trace", "check", path)
        if BENCH:
            run("tarn-bench", "replay", path, "--allocator", "tarn", "--repetitions", "1", "--time", "0.01")

    def test_damage(self):
        for name, (content, words) in DAMAGED.items():
            with self.subTest(name):
                self.assertIn(words, self.damage_of("damaged.trace", content))

    def test_whole_traces(self):
        for name, content in WHOLE.items():
            with self.subTest(name):
                self.expect_whole("whole.trace", content)
                self.expect_whole("whole.trace.gz", gzip.compress(content.encode()))

    def test_gzip_without_the_suffix_and_the_suffix_without_gzip(self):
        self.expect_whole("plain.trace", gzip.compress(GOOD.encode()))
        self.assertIn("is not gzip'd, though its name ends in .gz", self.damage_of("text.trace.gz", GOOD))
        self.assertIn("is not gzip'd", self.damage_of("empty.trace.gz", b""))

    def test_several_members_and_what_follows_them(self):
        head, tail = GOOD[:60].encode(), GOOD[60:].encode()
        self.expect_whole("two.trace.gz", gzip.compress(head) + gzip.compress(tail))
        self.expect_whole("tail.trace.gz", gzip.compress(GOOD.encode()) + b"garbage")
        self.expect_whole("zero.trace.gz", gzip.compress(GOOD.encode()) + b"\0")
        self.damage_of("cut.trace.gz", gzip.compress(head) + gzip.compress(tail)[:-12])

    def long_trace(self):
        numbers = random.Random(5)
        lines = [f"a {i} {numbers.randrange(1 << 30)} 0 0 {i}\n" for i in range(40000)]
        return (HEAD + "".join(lines)).encode()

    def test_damaged_gzip(self):
        whole = gzip.compress(self.long_trace(), 6)
        self.assertGreater(len(whole), 300000)
        for at in (1, 10, 11, 100, 5000, 131072, 200000, len(whole) - 9, len(whole) - 8, len(whole) - 1):
            with self.subTest(cut=at):
                self.damage_of("cut.trace.gz", whole[:at])
        for at in (3, 11, 50, 3000, 100000, 250000, len(whole) - 7, len(whole) - 2):
            with self.subTest(flipped=at):
                self.damage_of("flipped.trace.gz", whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])

    def test_damage_behind_an_error_of_the_text(self):
        text = GOOD.encode() + b"nonsense\n" + self.long_trace()
        self.assertIn("is no event", self.damage_of("both.trace.gz", gzip.compress(text)[:-4]))
        self.damage_of("zero.trace.gz", gzip.compress(GOOD.encode() + b"a\0\n" + GOOD.encode())[:-4])

    @needs_bench
    def test_random_damage(self):
        numbers, damaged_count = random.Random(11), 0
        for turn in range(30):
            text = bytearray(GOOD.encode())
            for _ in range(numbers.randrange(1, 4)):
                text[numbers.randrange(len(text))] = numbers.choice(b"0 \n#af:9\0x")
            with self.subTest(turn=turn, text=bytes(text)):
                if self.has_fault(self.write("random.trace", bytes(text))):
                    self.damage_of("random.trace", bytes(text))
                    damaged_count += 1
                else:
                    run("tarn-trace", "check", self.folder / "random.trace")
        self.assertGreater(damaged_count, 10)

    @staticmethod
    def has_fault(path):
        """Whether tarn-bench finds one."""
        try:
            run("tarn-bench", "replay", path, "--allocator", "tarn", "--repetitions", "1", "--time", "0.01")
        except AssertionError:
            return True
        return False

    def test_what_is_no_file(self):
        self.assertIn("No such file or directory", run("tarn-trace", "check", self.folder / "none", status=1).err)
        said = run("tarn-trace", "check", self.folder, status=1).err
        self.assertIn("Is a directory", said)
        if BENCH:
            self.assertEqual(run("tarn-bench", "replay", self.folder, status=1).err,
                             said.replace("tarn-trace", "tarn-bench", 1))

    def test_all_are_checked_and_each_fault_told(self):
        bad, good = self.write("bad.trace", "x\n"), self.write("good.trace", GOOD)
        done = run("tarn-trace", "check", bad, good, bad, status=1)
        self.assertEqual(done.err.count("the first line of a trace"), 2)
        self.assertIn(f"{good}: 4 events, 0 blocks left live", done.out)

    def test_the_traces_that_come_along(self):
        paths = sorted((SOURCE / "bench" / "traces").glob("*.trace.gz"))
        self.assertGreater(len(paths), 1)
        for path in paths:
            self.assertIn("events", run("tarn-trace", "check", path).out)

    def test_zlib_is_what_it_was_taken_for(self):
        """The words of a damaged file are zlib's own, behind the first colon."""
        with self.assertRaisesRegex(zlib.error, "Error -3 while decompressing data: "):
            zlib.decompressobj(31).decompress(gzip.compress(b"x" * 100)[:-8] + b"\0" * 8)


if __name__ == "__main__":
    unittest.main()
