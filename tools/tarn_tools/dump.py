# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
dump: reads and checks the JSON of tarn_pool_dump.

A region's state is live, free, sliced (the free slices of a chunk), captured (free, and only for the graphs of a
capture), unmapped (addresses without memory), quarantined or damaged (debug mode). Unknown states keep their name.
A free region with streams, which may still use it, is called pending here. A file has one pool, or a list of pools as
TARN_MAP writes it.
"""

import json
import re

from .failure import BadInput, reason_of
from .shown import printable

FORMAT_VERSION = 1
NUMBER_MAX = 1 << 64


class Region:
    """`serial`: the number of the allocation in its pool, 0 if the pool does not keep it. `fill`: see map_paint."""

    __slots__ = ("offset", "bytes", "state", "requested_bytes", "label", "site", "streams", "serial", "fill")

    def __init__(self, offset, size, state, requested, label, site, streams, serial):
        self.offset, self.bytes, self.state, self.requested_bytes = offset, size, state, requested
        self.label, self.site, self.streams, self.serial, self.fill = label, site, streams, serial, state


class StaticPool:
    def __init__(self, number, base, size, regions):
        self.id, self.base, self.bytes, self.regions = number, base, size, regions


class Dump:
    def __init__(self, path, content):
        if not isinstance(content, dict) or "tarn_dump" not in content:
            raise BadInput(f"{path}: is JSON, but not a dump of a pool: it has no \"tarn_dump\"")
        if content["tarn_dump"] != FORMAT_VERSION:
            raise BadInput(f"{path}: is a dump of format {json.dumps(content['tarn_dump'])[:40]}; "
                           f"this program knows format {FORMAT_VERSION}")
        self.path = path
        self.name = _text(content, "name", path)
        self.backend = _text(content, "backend", path)
        self.fit = _text(content, "fit", path)
        self.chunk_bytes = _number(content, "chunk_bytes", path)
        self.parts = _parts(content, path)
        self.static_pools = [_static_pool(entry, f"{path}: static pool number {number}") for number, entry in
                             enumerate(_list(content, "static_pools", path), 1)]

    @property
    def regions(self):
        return (region for static_pool in self.static_pools for region in static_pool.regions)


def read_dumps(path):
    """Returns the pools of a file, of which there is at least one."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            content = json.load(file)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {reason_of(error)}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: is not JSON: {error}") from None
    if content == []:
        raise BadInput(f"{path}: has no pool: none was open when it was written")
    return [Dump(path, pool) for pool in (content if isinstance(content, list) else [content])]


def _text(entry, key, where):
    text = entry.get(key, "")
    if not isinstance(text, str):
        raise BadInput(f"{where}: \"{key}\" is not a text")
    return printable(text)


def _number(entry, key, where):
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < NUMBER_MAX:
        raise BadInput(f"{where}: \"{key}\" is not a number of bytes")
    return value


def _list(entry, key, where):
    values = entry.get(key)
    if not isinstance(values, list):
        raise BadInput(f"{where}: \"{key}\" is not a list")
    return values


def _parts(content, path):
    """Why each byte is held: (name, bytes) of the parts that there are. Dumps of older versions have none."""
    parts = content.get("footprint_parts", {})
    if not isinstance(parts, dict):
        raise BadInput(f"{path}: \"footprint_parts\" is not an object")
    sizes = [(printable(name), _number(parts, name, f"{path}: \"footprint_parts\"")) for name in parts]
    return [(name, size) for name, size in sizes if size > 0]


def _address(entry, key, where):
    text = entry.get(key)
    if not isinstance(text, str) or not re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text):
        raise BadInput(f"{where}: \"{key}\" is not an address")
    return int(text, 16)


def _static_pool(entry, where):
    if not isinstance(entry, dict):
        raise BadInput(f"{where}: is not an object")
    base, size = _address(entry, "base", where), _number(entry, "bytes", where)
    regions, end = [], 0
    for number, row in enumerate(_list(entry, "regions", where), 1):
        place = f"{where}: region number {number}"
        if not isinstance(row, dict):
            raise BadInput(f"{place}: is not an object")
        region = _region(row, base, place)
        if region.offset < end or region.bytes == 0 or region.offset + region.bytes > size:
            raise BadInput(f"{place}: does not follow the region before it inside the static pool")
        end = region.offset + region.bytes
        regions.append(region)
    return StaticPool(printable(str(entry.get("id", 0))), base, size, regions)


def _region(row, base, where):
    site = row.get("site", [])
    streams = row.get("streams", [])
    if not isinstance(site, list) or not isinstance(streams, list):
        raise BadInput(f"{where}: \"site\" or \"streams\" is not a list")
    state = _text(row, "state", where) or "unknown"
    if state == "free" and streams:
        state = "pending"
    requested = _number({"requested_bytes": 0} | row, "requested_bytes", where)
    return Region(_address(row, "address", where) - base, _number(row, "bytes", where), state, requested,
                  _text(row, "label", where), [printable(str(frame)) for frame in site],
                  [printable(str(name)) for name in streams], _number({"serial": 0} | row, "serial", where))
