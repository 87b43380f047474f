# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_tables: the figures themselves: a table for each trace, one for each bench, and what was not measured."""

from . import shown
from .html_text import Table, element, joined
from .results import CUT_SHORT
from .runs import is_python
from .verdicts import Verdict, ratio_of

# Benches of which each workload has a table of its own.
WITH_TABLES = ("replay",)


def _swatch(name, palette):
    """A patch of the allocator's colour with the marker that the plots have."""
    return element("span", "", class_="swatch", style=f"background:var({palette[name].variable})")


def _spread(result, name):
    low, high = result[f"{name}_min"], result[f"{name}_max"]
    if low is None or high is None:
        return shown.NOTHING
    show = shown.rate if result.is_rated else shown.duration
    return f"{show(low)}{shown.NOTHING}{show(high)}"


def _notes(result):
    notes = []
    if result.outcome == CUT_SHORT:
        notes.append("cut short")
    if not result.is_verified:
        notes.append("not verified")
    if not result.is_interleaved:
        notes.append("ran alone")
    return f" ({', '.join(notes)})" if notes else ""


# --- one workload, all allocators --------------------------------------------------------------------

def _best(rows, value_of):
    values = [value_of(result) for result in rows if value_of(result) is not None]
    return min(values) if len(values) > 1 else None


def _cell(value, best, show):
    text = show(value)
    return element("td", text, class_="best" if value is not None and value == best else None)


CALL_COLUMNS = [f"{call}.{name}" for call in ("alloc_ns", "free_ns") for name in ("p50", "p99", "p999")]


def workload_html(run, key, palette, title):
    """The table of one workload on one run: a row an allocator."""
    by_allocator = run.by_workload()[key]
    verdict = Verdict(key, by_allocator)
    names = palette.in_order(by_allocator)
    rows = [by_allocator[name] for name in names]
    table = Table(title)
    table.head("", ("ns a pair", 2), ("allocation, ns", 3), ("free, ns", 3), ("memory", 2), "vendor",
               ("times as fast as", 2))
    table.head("allocator", "median", "min\u2013max", "p50", "p99", "p99.9", "p50", "p99", "p99.9", "held/live",
               "most held", "calls", "raw", "best peer")
    for result in rows:
        calls = [_cell(result[column], _best(rows, lambda other, column=column: other[column]), shown.duration)
                 for column in CALL_COLUMNS]
        to_peer = ratio_of(result, verdict.best_peer)
        table.row(
            joined(_swatch(result.allocator, palette), result.allocator, _notes(result)),
            _cell(result["ns_per_pair"], _best(rows, lambda other: other["ns_per_pair"]), shown.duration),
            _spread(result, "ns_per_pair"), *calls,
            _cell(result.held_by_live, _best(rows, lambda other: other.held_by_live), shown.ratio),
            shown.size(result["peak_footprint_bytes"]),
            shown.count(result["vendor_calls"]) if result["vendor_calls"] is not None else shown.NOTHING,
            shown.ratio(ratio_of(result, verdict.raw)),
            "is it" if result is verdict.best_peer else shown.ratio(to_peer),
            class_="tarn" if result.allocator == "tarn" else None)
    return joined(table.html(), element("p", _about(rows), class_="about"))


def _about(rows):
    pairs = next((row["pairs"] for row in rows if row["pairs"]), None)
    live = next((row["peak_live_bytes"] for row in rows if row["peak_live_bytes"]), None)
    blocks = next((row["peak_live_count"] for row in rows if row["peak_live_count"]), None)
    harness = next((row["harness_ns_per_pair"] for row in rows if row["harness_ns_per_pair"]), None)
    says = []
    if pairs:
        says.append(f"{shown.count(pairs)} pairs in a pass")
    if live:
        says.append(f"at most {shown.size(live)} live" + (f" in {shown.count(blocks)} blocks" if blocks else ""))
    if harness:
        says.append(f"the harness, {shown.duration_with_unit(harness)} a pair, is inside every figure")
    return "; ".join(says)


# --- one bench, all workloads ------------------------------------------------------------------------

def bench_html(run, bench, palette, title):
    """A row a workload, a column an allocator."""
    workloads = [(key, row) for key, row in run.by_workload().items() if key[0] == bench]
    names = palette.in_order(name for _, row in workloads for name in row)
    table = Table(title)
    table.head("workload", *[joined(_swatch(name, palette), name) for name in names], "tarn to raw",
               "tarn to best peer")
    for key, row in workloads:
        verdict = Verdict(key, row)
        fastest = max(result.pairs_per_second for result in row.values())
        cells = []
        for name in names:
            result = row.get(name)
            if not result:
                cells.append(shown.NOTHING)
                continue
            text = shown.rate(result["pairs_per_second"]) if result.is_rated else shown.duration(result.pair_ns[0])
            cells.append(element("td", text, _notes(result), title=_details(result),
                                 class_="best" if result.pairs_per_second == fastest else None))
        peer = verdict.best_peer
        table.row(key[1], *cells, shown.ratio(verdict.to_raw),
                  f"{shown.ratio(verdict.to_best_peer)} ({peer.allocator})" if peer and verdict.tarn else shown.NOTHING)
    return table.html()


def _details(result):
    """Shown by a pointer that rests on the figure."""
    says = [f"{result.allocator}: {_spread(result, 'pairs_per_second' if result.is_rated else 'ns_per_pair')}"]
    for call, name in (("alloc_ns", "allocation"), ("free_ns", "free")):
        if result[f"{call}.p50"] is not None:
            says.append(f"{name} p50 {shown.duration(result[f'{call}.p50'])}, p99 {shown.duration(result[f'{call}.p99'])}, "
                        f"p99.9 {shown.duration(result[f'{call}.p999'])}")
    if result.held_by_live:
        says.append(f"held {shown.size(result['peak_footprint_bytes'])}, {shown.ratio(result.held_by_live)} of live")
    return "; ".join(says)


# --- what was not measured ---------------------------------------------------------------------------

def missing_html(runs):
    """Not found, skipped, failed, cut short, without a time: each with its reason."""
    table = Table(class_="missing")
    table.head("what", "allocator", "workload", "machine", "reason")
    for run in runs:
        files_of = {}
        for file in run.files:
            for allocator, reason in dict.fromkeys(file.not_found):
                files_of.setdefault((allocator, reason), []).append(file.shown_name)
        for (allocator, reason), names in files_of.items():
            table.row("not found", allocator, f"all of {', '.join(names)}", run.label, reason)
        for file in run.files:
            for bench, workload, allocator, reason in file.skipped:
                table.row("skipped", allocator, f"{bench} {workload}", run.label, reason)
            if file.is_interrupted:
                table.row("cut short", "all", file.shown_name, run.label, "the benchmark was interrupted")
        for what, results in (("FAILED", run.failed()), ("cut short", run.cut_short()),
                              ("without a time", run.without_time())):
            for result in results:
                table.row(what, result.allocator, f"{result.bench} {result.workload}", run.label,
                          result.reason or "the file has no time of it", class_="bad" if what == "FAILED" else None)
    if table.is_empty:
        return element("p", "Nothing: all that was asked for was found, measured and verified.")
    return table.html()


# --- machines, runs ----------------------------------------------------------------------------------

FACTS = (("device_name", "device"), ("device_bytes", "device memory"), ("backend", "backend of tarn"),
         ("driver_version", "driver"), ("runtime_version", "runtime"), ("cpu_model", "processor"),
         ("cores", "cores"), ("kernel", "system"), ("c_library", "C library"), ("compiler", "compiler"),
         ("build_type", "build"), ("tarn_version", "tarn"), ("commit", "commit"))


def _fact(run, key):
    value = run.facts.get(key)
    if value is None:
        return shown.NOTHING
    if key == "device_bytes" and isinstance(value, (int, float)):
        return shown.size(value)
    if key in ("driver_version", "runtime_version") and isinstance(value, int):
        return _version(value, run.facts.get("backend"))
    return str(value)


def _version(number, backend):
    """CUDA and HIP write versions as one number."""
    if number == 0:
        return shown.NOTHING
    if backend == "cuda" or (backend == "hip" and number < 1_000_000):
        return f"CUDA {number // 1000}.{number % 1000 // 10}"
    if backend == "hip":
        return f"HIP {number // 10_000_000}.{number // 100_000 % 100}"
    return str(number)


def _clock_cost(run):
    costs = [file.machine.get("clock_cost_ns") for file in run.files]
    costs = sorted({cost for cost in costs if isinstance(cost, (int, float))})
    return f"{' to '.join(str(cost) for cost in (costs[:1] + costs[-1:] if len(costs) > 1 else costs))} ns" \
        if costs else shown.NOTHING


def machines_html(runs):
    known = {key for key, _ in FACTS}
    others = sorted({key for run in runs for key in run.facts} - known)
    table = Table(class_="facts")
    table.head("", *[run.label for run in runs])
    for key, label in FACTS + tuple((key, key.replace("_", " ")) for key in others):
        values = [_fact(run, key) for run in runs]
        if any(value != shown.NOTHING for value in values):
            table.row(label, *values)
    pythons = [", ".join(dict.fromkeys(str(file.machine.get("compiler", "Python")) for file in run.files
                                       if is_python(file))) for run in runs]
    if any(pythons):
        table.row("peers from Python", *[text or shown.NOTHING for text in pythons])
    table.row("one reading of the clock", *[_clock_cost(run) for run in runs])
    table.row("files", *[joined(*[element("span", file.shown_name, class_="line") for file in run.files])
                         for run in runs])
    return table.html()


def _options(file):
    says = []
    for key, value in file.options.items():
        is_size = isinstance(value, (int, float)) and key.endswith(("_bytes", "_bytes_max"))
        text = shown.size(value) if is_size else value
        says.append(f"{key.replace('_', ' ')} {text if value is not None else shown.NOTHING}")
    return ", ".join(says)


def runs_html(runs):
    table = Table()
    table.head("file", "machine", "results", "command", "options")
    for run in runs:
        for file in run.files:
            benches = ", ".join(dict.fromkeys(result.bench for result in file.results))
            table.row(file.shown_name, run.label, f"{len(file.results)} ({benches})",
                      element("td", element("code", file.command)) if file.command else "not recorded",
                      _options(file))
    return table.html()
