# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shown: numbers for people, and texts that any document can hold."""

import re

THIN_SPACE = "\u202f"
NOTHING = "\u2013"
TIMES = "\u00d7"

# Characters that a terminal could obey, and bytes that are not UTF-8, as they are decoded.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

# Characters that XML cannot hold: control characters, surrogates, and two noncharacters.
_NOWHERE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def _few_digits(value):
    """Two or three digits, without a point at the end."""
    if value >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def count(value):
    """1234567 as 1 234 567."""
    return f"{value:,.0f}".replace(",", THIN_SPACE)


def counted(value, noun):
    """1 event, 2 events; for a terminal."""
    return f"{plain(count(value))} {noun}{'' if value == 1 else 's'}"


def duration(ns):
    """In nanoseconds up to 10 us, as tarn-bench does, then with a suitable unit."""
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
    """A multiple: two digits after the point below 1, then one, none from 100 on. Millions in words: M is a unit."""
    if value is None:
        return NOTHING
    if value < 0.01:
        return f"<0.01{TIMES}"
    if value < 1:
        return f"{value:.2f}{TIMES}"
    if value < 99.95:
        return f"{value:.1f}{TIMES}"
    return f"{count(value)}{TIMES}" if value < 1e6 else f"{_few_digits(value / 1e6)} million{TIMES}"


def close_ratio(value):
    """A multiple in which hundredths matter, as of memory held."""
    return f"{value:.2f}{TIMES}" if value < 10 else ratio(value)


def ratio_range(least, most):
    """7.5 to 12.1 times, briefly, for a cell of a table."""
    return f"{ratio(least).rstrip(TIMES)}{NOTHING}{ratio(most)}"


def named_list(names):
    """a, b and c"""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def plain(text):
    """Without narrow spaces, for a terminal or a file's name."""
    return text.replace(THIN_SPACE, " ")


def _escape(match):
    is_byte = "\udc80" <= match[0] <= "\udcff"
    encoded = match[0].encode("utf-8", "surrogateescape" if is_byte else "surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in encoded)


def escaped(text):
    """Returns the text for a terminal: what is not printable as \\xNN, byte by byte, as in src/base/text/escape.h."""
    return _UNPRINTABLE.sub(_escape, text)


def printable(text):
    """Returns the text with a mark for each character that a document cannot hold."""
    return _NOWHERE.sub("\ufffd", text)
