# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Workloads of tarn-bench in Python: a trace, and churn, which has the same sizes and order for the same seed."""

import bisect
import gzip
import os
import zlib

PAIRS_MIN = 20000


class BadTrace(Exception):
    """One line that names the file and, if it has to do with one, the line."""


class Workload:
    """The setup runs once, the body over and over. An operation is (slot, bytes), with -1 for a free."""

    def __init__(self, bench, name, setup, body, slot_count, source=None, lines=None):
        self.bench = bench
        self.name = name
        self.setup = setup
        self.body = body
        self.slot_count = slot_count
        self.source = source
        self.lines = lines
        self.pair_count = sum(size >= 0 for _, size in body)
        self.live_bytes_max, self.live_count_max = self._extent()

    def _extent(self):
        """Most bytes and most blocks of one byte or more that are ever live."""
        sizes = {}
        bytes_now = bytes_max = count_max = 0
        for slot, size in (*self.setup, *self.body):
            if size > 0:
                sizes[slot] = size
                bytes_now += size
            elif size < 0:
                bytes_now -= sizes.pop(slot, 0)
            bytes_max = max(bytes_max, bytes_now)
            count_max = max(count_max, len(sizes))
        return bytes_max, count_max

    def place(self, index):
        """Where an operation stands, for a message; setup first, then body."""
        if self.lines and index < len(self.lines):
            return f"{self.source}:{self.lines[index]}"
        return f"{self.name}, operation {index}"


class RangeSet:
    """Live ranges in order of address."""

    def __init__(self):
        self.starts = []
        self.sizes = {}

    def add(self, start, size):
        """The range (start, size) that it overlaps, or None: then it is in."""
        place = bisect.bisect_left(self.starts, start)
        for neighbour in self.starts[max(place - 1, 0):place + 1]:
            if neighbour < start + size and start < neighbour + self.sizes[neighbour]:
                return neighbour, self.sizes[neighbour]
        self.starts.insert(place, start)
        self.sizes[start] = size
        return None

    def remove(self, start):
        del self.starts[bisect.bisect_left(self.starts, start)]
        del self.sizes[start]


def alignment_of(size):
    """What tarn-bench asks of an address: the size rounded up to a power of two, from 16 to 256."""
    return min(max(1 << (size - 1).bit_length(), 16), 256)


# --- churn ------------------------------------------------------------------------------------------


class Random:
    """The C library's erand48, whose sequence POSIX fixes, used as tarn-bench uses it."""

    def __init__(self, seed):
        self.state = (seed ^ (seed >> 48) * 0x9E3779B9) & (2**48 - 1)

    def real(self):
        self.state = (self.state * 0x5DEECE66D + 0xB) & (2**48 - 1)
        return self.state / 2**48

    def below(self, limit):
        return min(int(self.real() * limit), limit - 1)

    def log_uniform(self, least, most):
        value = least * ((most + 1.0) / least) ** self.real()
        return int(value) if value < most else most


def make_churn(live_count, least, most, seed):
    """So many live blocks; one at random is freed, and one of a new size allocated in its place."""
    random = Random(seed)
    setup = [(slot, random.log_uniform(least, most)) for slot in range(live_count)]
    body = []
    for _ in range(max(2 * live_count, PAIRS_MIN)):
        slot = random.below(live_count)
        body += [(slot, -1), (slot, random.log_uniform(least, most))]
    name = f"{live_count} of {show_size(least)} to {show_size(most)}"
    return Workload("churn", name, setup, body, live_count)


def show_size(size):
    """As tarn-bench names it: with the largest suffix that leaves a whole number."""
    for shift, suffix in ((40, "T"), (30, "G"), (20, "M"), (10, "K")):
        if size % (1 << shift) == 0:
            return f"{size >> shift}{suffix}"
    return str(size)


def parse_sizes(option, text, least, most):
    """Numbers with commas between them, each with an optional suffix K, M, G or T. ValueError says what is wrong."""
    numbers = []
    for word in text.split(","):
        shift = {"K": 10, "M": 20, "G": 30, "T": 40}.get(word[-1:], 0)
        digits = word[:-1] if shift else word
        if not (digits.isascii() and digits.isdigit()):
            raise ValueError(f"{option} {text}: '{word}' is not a number")
        number = int(digits) << shift
        if not least <= number <= most:
            raise ValueError(f"{option} {text}: {word} is not from {least} to {most}")
        numbers.append(number)
    return numbers


# --- traces -----------------------------------------------------------------------------------------


def read_lines(path):
    """The lines of a trace, without their ends. As strict as tarn-bench."""
    opened = gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")
    number = 0
    with opened as file:
        try:
            for raw in file:
                number += 1
                if not raw.endswith(b"\n"):
                    raise BadTrace(f"{path}:{number}: the last line has no newline: the file is cut")
                yield number, raw[:-1].decode("ascii")
        except EOFError:
            raise BadTrace(f"{path}:{number + 1}: the gzip'd data end here: the file is cut") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise BadTrace(f"{path}:{number + 1}: the gzip'd data are damaged: {error}") from None
        except UnicodeDecodeError:
            raise BadTrace(f"{path}:{number}: is not text") from None


class TraceReader:
    """Turns the events of a trace into operations on slots, which are used again."""

    def __init__(self, path):
        self.path = path
        self.body = []
        self.lines = []
        self.slots = {}  # of the live blocks, by id
        self.free_slots = []
        self.slot_count = 0
        self.time_ns = 0
        self.keys = {}

    def fail(self, number, text):
        raise BadTrace(f"{self.path}:{number}: {text}")

    def take_slot(self):
        if self.free_slots:
            return self.free_slots.pop()
        self.slot_count += 1
        return self.slot_count - 1

    def add_key(self, number, line):
        key, colon, value = line[2:].partition(": ")
        if not line.startswith("# ") or not colon or not key:
            self.fail(number, f"'{line}' is not a line '# key: value'")
        self.keys[key] = value

    def add_event(self, number, line):
        fields = line.split(" ")
        if fields[0] not in ("a", "f"):
            self.fail(number, f"'{fields[0]}' is no event: they are 'a' and 'f'")
        wanted = 6 if fields[0] == "a" else 5
        if len(fields) != wanted:
            self.fail(number, f"has {len(fields)} fields where '{fields[0]}' has {wanted}")
        for field in fields[1:]:
            if not (field.isascii() and field.isdigit() and int(field) < 2**64):
                self.fail(number, f"'{field}' is not a number of 64 bits")
        self.check_time(number, int(fields[-1]))
        identity = int(fields[1])
        if fields[0] == "a":
            self.add_alloc(number, identity, int(fields[2]))
        else:
            self.add_free(number, identity)
        self.lines.append(number)

    def check_time(self, number, time_ns):
        if time_ns < self.time_ns:
            self.fail(number, f"the time {time_ns} is before that of the event before it")
        self.time_ns = time_ns

    def add_alloc(self, number, identity, size):
        if identity in self.slots:
            self.fail(number, f"block {identity} is allocated though it is live")
        self.slots[identity] = self.take_slot()
        self.body.append((self.slots[identity], size))

    def add_free(self, number, identity):
        if identity not in self.slots:
            self.fail(number, f"block {identity} is freed though it is not live")
        slot = self.slots.pop(identity)
        self.free_slots.append(slot)
        self.body.append((slot, -1))

    def finish(self):
        """Blocks that the program left live are freed at the end, in the order of their slots."""
        if not self.body:
            raise BadTrace(f"{self.path}: the trace has no events")
        events = self.keys.get("events")
        if events is not None and events != str(len(self.body)):
            raise BadTrace(f"{self.path}: has {len(self.body)} events and not {events} as its metadata says: "
                           "the file is cut or was changed")
        self.body += [(slot, -1) for slot in sorted(self.slots.values())]
        name = self.keys.get("name", os.path.basename(self.path))
        return Workload("replay", name, [], self.body, self.slot_count, self.path, self.lines)


def read_trace(path):
    """A recorded trace, plain or gzip'd, as a workload. Its threads and streams are not played."""
    reader = TraceReader(path)
    number = 0
    for number, line in read_lines(path):
        if number == 1:
            if line != "# tarn-trace 1":
                reader.fail(1, f"the first line of a trace is '# tarn-trace 1', and not '{line}'")
        elif line.startswith("#"):
            reader.add_key(number, line)
        else:
            reader.add_event(number, line)
    if number == 0:
        raise BadTrace(f"{path}: the file is empty")
    return reader.finish()
