# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""map_paint: which colour a region has, by its state, label, stream or age, and the legend of these colours."""

from . import shown

COLOUR_BY = ("state", "label", "stream", "age")
GROUPS_MAX = 8 # labels or streams with a colour of their own
AGES = 5

# Light paper, dark paper. Live, free and pending also differ in lightness, for eyes that see no colours.
COLOURS = {
    "paper": ("#ffffff", "#15171a"), "ink": ("#1b1e23", "#e6e8eb"), "soft": ("#5b616a", "#a3a9b2"),
    "live": ("#2f74c0", "#5b9fe6"), "free": ("#e4e8ed", "#363c44"), "pending": ("#f0b040", "#c98a1a"),
    "sliced": ("#bcd7f2", "#33516f"), "unmapped": ("#f7f7f8", "#1d2024"), "quarantined": ("#c9a3d8", "#74508a"),
    "captured": ("#8fbf9a", "#3f6f4c"), "damaged": ("#c03028", "#ff6a5c"), "other": ("#9a9a9a", "#9a9a9a"),
    "quiet": ("#c3cad4", "#6b7480"),
    **{f"group{number}": colours for number, colours in enumerate((
        ("#7fb0ea", "#3f78c2"), ("#86cf9b", "#2f7d4f"), ("#bfa0ea", "#7a55b5"), ("#ee9db4", "#b0486a"),
        ("#6fcccc", "#237f7f"), ("#c6cf6a", "#757d20"), ("#cda583", "#855c38"), ("#9aa8c8", "#56658c")))},
    **{f"age{number}": (colour, colour) for number, colour in enumerate((
        "#1d4f86", "#2f6cab", "#5e97d0", "#97c0e8", "#cfe2f7"))},
    "onlive": ("#ffffff", "#0c1420"), "onpending": ("#3a2a00", "#1b1200"), "ongroup": ("#16191d", "#ffffff"),
    "white": ("#ffffff", "#ffffff"), "black": ("#16191d", "#16191d"),
}

MEANINGS = {
    "live": "live: handed out", "free": "free", "pending": "pending: freed on a stream that may still use it",
    "sliced": "free slices of a chunk", "captured": "free, for the graphs of a capture alone",
    "unmapped": "addresses without memory",
    "quarantined": "freed and held back (debug mode)", "damaged": "written to out of turn (debug mode)",
}
ORDER = tuple(MEANINGS)

_INK_ON = {"live": "onlive", "damaged": "onlive", "pending": "onpending", "captured": "onpending", "quarantined": "ink",
           "quiet": "ongroup", "age0": "white", "age1": "white", "age2": "black", "age3": "black", "age4": "black",
           **{f"group{number}": "ongroup" for number in range(GROUPS_MAX)}}


def ink_on(fill):
    return _INK_ON.get(fill, "soft")


class Paint:
    """Sets the fill of each region of a dump. `legend` has (fill, meaning, bytes), in the order in which shares of
    merged regions are stacked."""

    def __init__(self, dump, colour_by):
        self._fills, self._meanings = {}, {}
        regions = list(dump.regions)
        {"state": lambda _: None, "label": self._by_label, "stream": self._by_stream, "age": self._by_age}[
            colour_by](regions)
        sizes = {}
        for region in regions:
            key = self._key_of(region)
            region.fill, meaning = self._fills.get(key) or self._of_state(key)
            sizes[region.fill, meaning] = sizes.get((region.fill, meaning), 0) + region.bytes
        order = [fill for fill, _ in self._fills.values()] + list(ORDER)
        self.legend = sorted(((fill, meaning, size) for (fill, meaning), size in sizes.items()),
                             key=lambda entry: (order.index(entry[0]) if entry[0] in order else len(order), entry[1]))
        self.order = {fill: number for number, (fill, *_) in reversed(list(enumerate(self.legend)))}

    def _key_of(self, region):
        return region.state

    def _of_state(self, state):
        return (state if state in MEANINGS else "other"), MEANINGS.get(state, state)

    def _group(self, regions, state, name_of, without, many):
        """Regions of a state get a colour by name: the names with the most bytes one each."""
        self._key_of = lambda region: (region.state, name_of(region)) if region.state == state else region.state
        sizes = {}
        for region in regions:
            if region.state == state:
                sizes[name_of(region)] = sizes.get(name_of(region), 0) + region.bytes
        self._fills[state, ""] = ("quiet", without)
        names = sorted((name for name in sizes if name), key=lambda name: (-sizes[name], name))
        kept = names if len(names) <= GROUPS_MAX else names[:GROUPS_MAX - 1]
        for number, name in enumerate(kept):
            self._fills[state, name] = (f"group{number}", name)
        for name in names[len(kept):]:
            self._fills[state, name] = (f"group{GROUPS_MAX - 1}", f"{len(names) - len(kept)} other {many}")

    def _by_label(self, regions):
        self._group(regions, "live", lambda region: region.label, "live, without a label", "labels")

    def _by_stream(self, regions):
        self._fills["live"] = ("quiet", MEANINGS["live"])
        self._group(regions, "pending",
                    lambda region: f"waits for stream{'s' * (len(region.streams) > 1)} {', '.join(region.streams)}",
                    "", "streams")

    def _by_age(self, regions):
        """As many live regions in each age, but for the rest."""
        serials = sorted(region.serial for region in regions if region.state == "live" and region.serial)
        ages = [serials[len(serials) * age // AGES:len(serials) * (age + 1) // AGES] for age in range(AGES)]
        age_of = {serial: number for number, age in enumerate(ages) for serial in age}
        for number, age in enumerate(ages):
            if age:
                which = {0: ", the oldest", AGES - 1: ", the newest"}.get(number, "")
                says = f"live, allocation{'s' * (len(age) > 1)} {shown.plain(shown.count(age[0]))}" + \
                       (f" to {shown.plain(shown.count(age[-1]))}" if len(age) > 1 else "")
                self._fills["live", number] = (f"age{number}", says + which)
        self._fills["live", None] = ("quiet", "live, of an age that is not known: pools in debug mode know it")
        self._key_of = lambda region: ("live", age_of.get(region.serial)) if region.state == "live" else region.state
