# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recorded traces as workloads. As strict as tarn-bench: the first fault is named with its line."""

import gzip
import io
import os
import re
import sys
import zlib
from pathlib import Path

from python_failures import BadTrace
from python_workloads import Workload

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))

from tarn_tools.event_source import MAGIC, EventSource # noqa: E402


def is_of_events(path):
    if not os.path.isfile(path): # a pipe can be read only once
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def read_lines(path):
    """The lines of a trace, without their ends."""
    if not is_of_events(path):
        yield from read_lines_of(path, gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb"))
        return
    events = EventSource(path)
    yield from read_lines_of(path, io.BufferedReader(events))
    if events.failure:
        raise BadTrace(events.failure)


def read_lines_of(path, opened):
    number = 0
    with opened as file:
        try:
            for raw in file:
                number += 1
                if not raw.endswith(b"\n"):
                    raise BadTrace(f"{path}:{number}: the last line has no newline: the file is cut")
                yield number, raw[:-1].removesuffix(b"\r").decode("ascii")
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
        name = re.sub(r"[^ -~]", "?", self.keys.get("name", os.path.basename(self.path)))
        return Workload("replay", name, [], self.body, self.slot_count, shows_memory=True, source=self.path,
                        lines=self.lines)


def read_trace(path):
    """A recorded trace, plain, gzip'd or as events, as a workload. Its threads and streams are not played."""
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
