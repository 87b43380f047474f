# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shown: numbers as people read them."""

THIN_SPACE = "\u202f"
NOTHING = "\u2013"

BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def _few_digits(value):
    """Two or three digits, and no point where nothing follows it."""
    if value >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def count(value):
    """1234567 as 1 234 567."""
    return f"{value:,.0f}".replace(",", THIN_SPACE)


def duration(ns):
    """In nanoseconds up to 10 us, as tarn-bench does, then with the unit that fits."""
    if ns is None:
        return NOTHING
    if ns < 10_000:
        return count(ns) if ns >= 10 else _few_digits(ns)
    for unit, factor in (("\u00b5s", 1e3), ("ms", 1e6), ("s", 1e9)):
        if ns < 1000 * factor or unit == "s":
            return f"{_few_digits(ns / factor)}{THIN_SPACE}{unit}"
    return NOTHING


def duration_with_unit(ns):
    text = duration(ns)
    return f"{text}{THIN_SPACE}ns" if ns is not None and ns < 10_000 else text


def size(value):
    """Bytes, in powers of 1024."""
    if value is None:
        return NOTHING
    power = 0
    scaled = float(value)
    while scaled >= 1024 and power < len(BYTE_UNITS) - 1:
        scaled /= 1024
        power += 1
    return f"{_few_digits(scaled)}{THIN_SPACE}{BYTE_UNITS[power]}"


def rate(per_second):
    """Pairs a second: 98 million as 98 M."""
    if per_second is None:
        return NOTHING
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if per_second >= factor:
            return f"{_few_digits(per_second / factor)}{THIN_SPACE}{unit}"
    return _few_digits(per_second)


def ratio(value):
    if value is None:
        return NOTHING
    return f"{_few_digits(value) if value < 1000 else count(value)}\u00d7"


def plain(text):
    """For a terminal or a file's name: no narrow space."""
    return text.replace(THIN_SPACE, " ")
