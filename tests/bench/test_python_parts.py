#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Parts of bench/peers/python_bench.py by themselves.

By hand: TARN_SOURCE=$PWD python3 tests/bench/test_python_parts.py
"""

import os
import pathlib
import random
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(os.environ["TARN_SOURCE"]) / "bench/peers"))

import python_verifier
from python_memory_log import POINTS_MAX, MemoryLog
from python_numbers import parse_list, parse_range, show_size
from python_verifier import BadBlock, RangeSet, Verifier


class NaiveRanges:
    def __init__(self):
        self.ranges = {}

    def add(self, start, size):
        overlaps = {other for other in self.ranges.items() if other[0] < start + size and start < sum(other)}
        if not overlaps:
            self.ranges[start] = size
        return overlaps

    def remove(self, start):
        del self.ranges[start]


class Ranges(unittest.TestCase):
    def setUp(self):
        part_max = python_verifier.PART_MAX
        self.addCleanup(setattr, python_verifier, "PART_MAX", part_max)
        python_verifier.PART_MAX = 4

    def expect_same_as_naive(self, seed):
        numbers = random.Random(seed)
        ranges, naive = RangeSet(), NaiveRanges()
        for step in range(3000):
            is_growing = step // 500 % 2 == 0
            if naive.ranges and numbers.random() < (0.3 if is_growing else 0.8):
                start = numbers.choice(sorted(naive.ranges))
                ranges.remove(start)
                naive.remove(start)
                continue
            start, size = numbers.randrange(4000), numbers.randrange(1, 30)
            overlaps, other = naive.add(start, size), ranges.add(start, size)
            self.assertEqual(other is not None, bool(overlaps), f"seed {seed}, step {step}")
            self.assertIn(other, overlaps or {None}, f"seed {seed}, step {step}")
        self.assertEqual([start for part in ranges.parts for start in part], sorted(naive.ranges), f"seed {seed}")

    def test_they_are_the_same_as_naive_ones(self):
        for seed in range(20):
            self.expect_same_as_naive(seed)

    def test_all_is_removed(self):
        ranges = RangeSet()
        for _ in range(2):
            for start in range(0, 100, 10):
                self.assertIsNone(ranges.add(start, 10))
            self.assertEqual(ranges.add(55, 1), (50, 10))
            for start in range(90, -10, -10):
                ranges.remove(start)
            self.assertEqual(ranges.parts, [[]])


class Blocks(unittest.TestCase):
    def expect_refused(self, address, size, message):
        with self.assertRaisesRegex(BadBlock, message):
            Verifier().add(0, address, size)

    def test_addresses_are_checked(self):
        for address, size in ((16, 1), (16, 16), (32, 17), (256, 256), (256, 1 << 40), (0, 0), (7, 0)):
            Verifier().add(0, address, size)
        self.expect_refused(0, 1, "has no address")
        for address, size in ((8, 1), (16, 17), (128, 129), (384, 1000)):
            self.expect_refused(address, size, "is not aligned")

    def test_a_block_that_was_refused_is_not_taken_in(self):
        verifier = Verifier()
        verifier.add(0, 256, 256)
        with self.assertRaises(BadBlock):
            verifier.add(1, 256, 1)
        self.assertEqual(list(verifier.by_slot), [0])
        verifier.remove(0)
        verifier.add(1, 256, 1)


class Logs(unittest.TestCase):
    def points_of(self, points):
        log = MemoryLog(len(points) - 1)
        for point in points:
            log.add(point)
        log.finish()
        return log.points

    def test_the_peaks_and_the_ends_stay(self):
        for count in (1, 2, 499, 500, 501, 12345):
            numbers = random.Random(count)
            points = [(i, numbers.randrange(10**6), numbers.randrange(10**6)) for i in range(count)]
            kept = self.points_of(points)
            self.assertLessEqual(len(kept), POINTS_MAX)
            self.assertEqual(kept, sorted(set(kept)))
            self.assertLessEqual(set(kept), set(points))
            self.assertIn(points[0], kept)
            self.assertIn(points[-1], kept)
            for which in (1, 2):
                self.assertEqual(max(point[which] for point in kept), max(point[which] for point in points))


class Numbers(unittest.TestCase):
    def test_sizes_are_shown_as_they_are_read(self):
        for size in (1, 1023, 1024, 1025, 3 << 20, 1 << 40, (1 << 46) - 1):
            self.assertEqual(parse_list(show_size(size), 1, 1 << 46), [size])

    def test_what_is_no_number_is_refused(self):
        for text in ("", "K", "1,", "-1", " 1", "1k", "0x1", "\u0661"):
            with self.assertRaises(ValueError):
                parse_list(text, 0, 10)
        with self.assertRaises(ValueError):
            parse_range("1,2,3", 0, 10)


# One signal waits to be asked for, wherever it comes; a second one does not.
INTERRUPTED = """
import os, signal, python_interrupt

class Block:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        print("goes on")

python_interrupt.listen()
python_interrupt.end_if_wished()
Block()
for interrupted in (python_interrupt.end_if_wished, lambda: os.kill(os.getpid(), signal.SIGINT)):
    try:
        interrupted()
    except KeyboardInterrupt:
        print("interrupted")
"""


class Interrupt(unittest.TestCase):
    def test_a_signal_is_not_lost(self):
        program = subprocess.run([sys.executable, "-c", INTERRUPTED], env={**os.environ, "PYTHONPATH": sys.path[0]},
                                 capture_output=True, text=True, check=True)
        self.assertEqual(program.stdout, "goes on\ninterrupted\ninterrupted\n")
        self.assertEqual(program.stderr, "")


if __name__ == "__main__":
    unittest.main()
