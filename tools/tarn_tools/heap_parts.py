# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""heap_parts: what the summary and the tables of the device heap show alike."""

from . import shown


def full_name(verdict):
    return f"{verdict.test}, {verdict.workload}: {verdict.figure}"


def range_shown(unit, low, high):
    texts = dict.fromkeys(map(unit.show_brief, (low, high)))
    return shown.NOTHING.join(texts) if len(texts) > 1 else ""


def with_range(result, unit):
    """12.3 us (12.1-12.8)"""
    between = range_shown(unit, result.low, result.high)
    return unit.show(result.median) + (f" ({between})" if between else "")
