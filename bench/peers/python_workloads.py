# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A workload: a list of operations that is made before anything is timed."""

PASSES, THREADS, GROWTH, STREAMS = "passes", "threads", "growth", "streams"  # how one is measured


class Workload:
    """
    The setup runs once, the body over and over. An operation is (slot, bytes), with -1 for a free.

    `unit_count`: the body may be stopped after any multiple of so many operations. `part_count`: setup, body and slots
    consist of so many equal parts, one for each thread. `lines` and `source` belong to a recorded workload.
    """

    def __init__(self, bench, name, setup, body, slot_count, method=PASSES, unit_count=None, shows_memory=False,
                 part_count=1, is_shared=False, has_one_stream=False, stream_count=1, hands_on=False, source=None,
                 lines=None):
        self.bench = bench
        self.name = name
        self.setup = setup
        self.body = body
        self.slot_count = slot_count
        self.method = method
        self.unit_count = unit_count or len(body)
        self.shows_memory = shows_memory
        self.part_count = part_count
        self.is_shared = is_shared
        self.has_one_stream = has_one_stream
        self.stream_count = stream_count
        self.hands_on = hands_on
        self.source = source
        self.lines = lines
        self.extent = Extent(setup, body)

    @property
    def is_recorded(self):
        return self.source is not None

    def extent_of(self, body_count):
        """The extent with so many operations of the body."""
        if body_count == len(self.body):
            return self.extent
        return Extent(self.setup, self.body[:body_count])

    def place(self, index):
        """Names an operation for a message; places count the setup first, then the body."""
        if not self.is_recorded:
            return f"{self.name}, operation {index + 1}"
        if index < len(self.lines):
            return f"{self.source}:{self.lines[index]}"
        return f"{self.source}, freeing what was left live"

    def part(self, operations, number):
        """The operations of one thread."""
        count = len(operations) // self.part_count
        return operations[number * count:(number + 1) * count]


class Extent:
    """Pairs in the body; most bytes, and most blocks of one byte or more, that are ever live."""

    def __init__(self, setup, body):
        self.live_bytes_max = self.live_count_max = 0
        self.pair_count = sum(size >= 0 for _, size in body)
        self._follow((*setup, *body))

    def _follow(self, operations):
        sizes = {}
        live_bytes = 0
        for slot, size in operations:
            if size > 0:
                sizes[slot] = size
                live_bytes += size
            elif size < 0:
                live_bytes -= sizes.pop(slot, 0)
            self.live_bytes_max = max(self.live_bytes_max, live_bytes)
            self.live_count_max = max(self.live_count_max, len(sizes))
