# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a set of measurements looks like."""


def percentiles(samples):
    """By nearest rank, from all samples."""
    ordered = sorted(samples)
    if not ordered:
        return {"p50": 0, "p99": 0, "p999": 0, "mean": 0.0, "max": 0}

    def rank(per_mille):
        return ordered[max(-(-per_mille * len(ordered) // 1000) - 1, 0)]

    return {"p50": rank(500), "p99": rank(990), "p999": rank(999), "mean": sum(ordered) / len(ordered),
            "max": ordered[-1]}


def spread(values):
    """(min, median, max)"""
    ordered = sorted(values)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return ordered[0], median, ordered[-1]


def named_spread(name, values):
    """The spread as three figures of a row: the median by that name, and its range."""
    least, median, most = spread(values)
    return {name: median, f"{name}_min": least, f"{name}_max": most}


def median(values):
    return spread(values)[1]
