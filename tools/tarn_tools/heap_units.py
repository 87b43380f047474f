# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""heap_units: the units of device_heap_bench's figures: how to show a value, and whether less is better."""

import functools

from . import chart, shown


class Unit:
    """
    `base` is the factor for plots, whose ticks are for nanoseconds, one a second and so on. No ticks: not plotted.
    `is_less_better` is None if unknown.
    """

    def __init__(self, show, show_brief=None, base=1.0, ticks=None, axis="{figure}", is_less_better=True,
                 is_speed=False):
        self.show, self.show_brief = show, show_brief or show
        self.base, self.ticks, self.axis = base, ticks, axis
        self.is_less_better, self.is_speed = is_less_better, is_speed


def _times(value):
    """Two digits after the point matter in ranges."""
    return f"{value:.2f}{shown.TIMES}" if value < 10 else shown.ratio(value)


_UNITS = {
    "us": Unit(lambda value: shown.duration_with_unit(value * 1e3), lambda value: shown.duration(value * 1e3), 1e3,
               chart.time_label, "time", is_speed=True),
    "cycles": Unit(lambda value: f"{shown.count(value)} cycles", shown.count, 1.0, chart.count_label, "cycles",
                   is_speed=True),
    "M/s": Unit(lambda value: f"{shown.rate(value * 1e6)}/s", lambda value: shown.rate(value * 1e6), 1e6,
                chart.count_label, "{figure} a second", is_less_better=False, is_speed=True),
    "times": Unit(_times, ticks=chart.ratio_label),
    "%": Unit(lambda value: f"{value:.4g}{shown.THIN_SPACE}%", lambda value: f"{value:.4g}", is_less_better=False),
}


@functools.lru_cache(maxsize=None)
def unit_of(name):
    return _UNITS.get(name) or Unit(lambda value: f"{value:g} {name}", lambda value: f"{value:g}", is_less_better=None)
