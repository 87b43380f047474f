# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""workload_name: what the names of tarn-bench's made-up workloads say, for the axes of plots."""

import re

_SUFFIXES = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"(\d+)([KMGT]?)")
_COUNT_OF_SIZES = re.compile(r"(?:(\d+) x )?(\d+) of (\S+ to .+)")


def size_of(name):
    """Bytes of "64K"; None when it is no size."""
    match = _SIZE.fullmatch(name)
    return int(match[1]) << _SUFFIXES[match[2]] if match else None


def live_and_sizes_of(name):
    """(1000, "1K to 16M") of "1000 of 1K to 16M"; with threads too: "4 x 100 of 1K to 16M, shared"."""
    match = _COUNT_OF_SIZES.fullmatch(name)
    return (int(match[2]), match[3]) if match else (None, None)
