# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""workload_name: what workload names of tarn-bench say: how they were played, and quantities for axes."""

import re

# How a workload was played follows its name, each after a comma.
QUALIFIERS = ("own", "handed on", "shared", "one stream", "faithful", "touched")

_SUFFIXES = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"(\d+)([KMGT]?)", re.ASCII)
_COUNT_OF_SIZES = re.compile(r"(?:(\d+) x )?(\d+) of (\S+ to .+)", re.ASCII)


def parts_of(name):
    """("mesh", ("faithful", "touched")) of "mesh, faithful, touched"."""
    qualifiers = ()
    while True:
        rest, _, last = name.rpartition(", ")
        if not rest or last not in QUALIFIERS:
            return name, qualifiers
        name, qualifiers = rest, (last, *qualifiers)


def joined(name, qualifiers):
    return ", ".join((name, *qualifiers))


def kind_of(key):
    """Workloads of one kind have one bench and were played in one way; as text, "replay, faithful"."""
    return joined(key[0], parts_of(key[1])[1])


def size_of(name):
    """Bytes of "64K"; None if it is not a size."""
    match = _SIZE.fullmatch(parts_of(name)[0])
    return int(match[1]) << _SUFFIXES[match[2]] if match else None


def live_and_sizes_of(name):
    """(1000, "1K to 16M") of "1000 of 1K to 16M"; with threads too: "4 x 100 of 1K to 16M, shared"."""
    match = _COUNT_OF_SIZES.fullmatch(parts_of(name)[0])
    return (int(match[2]), match[3]) if match else (None, None)


def largest_size_of(name):
    """Bytes of "64K", of "1000 of 16 to 64K" the largest; None if it names no sizes."""
    _, sizes = live_and_sizes_of(name)
    return size_of(sizes.rpartition(" to ")[2] if sizes else name)
