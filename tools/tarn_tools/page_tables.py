# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_tables: the figures: a table for each bench and each trace, and what was not measured."""

from . import shown
from .allocators import is_floor, is_tarn
from .html_text import Table, element, joined
from .page_parts import (MARKS, allocator, breakable, details_of, not_told, notes_of, size_cell,
                         spread_shown)
from .page_words import title_of_kind
from .program_kinds import CONTIGUOUS
from .verdicts import Verdict, ratio_of, standing

# Benches with an extra table for each workload.
WITH_TABLES = ("replay",)


def _in_brackets(notes):
    return f" ({', '.join(notes)})" if notes else ""


# --- one workload, all allocators --------------------------------------------------------------------

def _best(rows, value_of):
    values = [value_of(result) for result in rows if value_of(result) is not None]
    return min(values) if len(values) > 1 else None


def _cell(value, best, show):
    text = show(value)
    return element("td", text, class_="best" if value is not None and value == best else None)


CALL_COLUMNS = [f"{call}.{name}" for call in ("alloc_ns", "free_ns") for name in ("p50", "p99", "p999")]


def _pair_ns(result):
    return result.pair_ns[0]


def workload_html(run, key, palette):
    """The table of one workload on one run, a row for each allocator."""
    by_allocator = run.by_workload[key]
    verdict = Verdict(key, by_allocator)
    rows = [by_allocator[name] for name in palette.in_order(by_allocator)]
    rivals = [result for result in rows if not is_floor(result.allocator)]
    table = Table(breakable(key[1]))
    table.head("", ("ns a pair", 2), ("allocation, ns", 3), ("free, ns", 3), ("memory", 2), "vendor",
               ("times as fast as", 2))
    table.head("allocator", "median", "min\u2013max", "p50", "p99", "p99.9", "p50", "p99", "p99.9", "held/live",
               "most held", "calls", "raw", "best peer")
    for result in rows:
        calls = [_cell(result[column], _best(rivals, lambda other, column=column: other[column]), shown.duration)
                 for column in CALL_COLUMNS]
        table.row(
            joined(allocator(result.allocator, palette), _in_brackets(notes_of(result))),
            _cell(_pair_ns(result), _best(rivals, _pair_ns), shown.duration), spread_shown(result), *calls,
            _cell(result.held_by_live, _best(rivals, lambda other: other.held_by_live), shown.ratio),
            size_cell(result["peak_footprint_bytes"]),
            shown.count(result["vendor_calls"]) if result["vendor_calls"] else not_told(),
            shown.ratio(ratio_of(result, verdict.raw)),
            "is it" if result is verdict.best_peer else shown.ratio(ratio_of(result, verdict.best_peer)),
            class_="tarn" if result.allocator == "tarn" else None)
    return table.folded(element("p", _about(rows), class_="about"))


def _about(rows):
    first = rows[0] # the workload is the same for all
    harness = next((row.harness_ns for row in rows if not row.is_through_python), 0)
    says = []
    if first["pairs"]:
        says.append(f"{shown.count(first['pairs'])} pairs in a pass")
    if first["peak_live_bytes"]:
        blocks = f" in {shown.count(first['peak_live_count'])} blocks" if first["peak_live_count"] else ""
        says.append(f"at most {shown.size(first['peak_live_bytes'])} live{blocks}")
    if harness:
        says.append(f"the harness, {shown.duration_with_unit(harness)} a pair, is inside the times of all")
    off = [f"{shown.duration_with_unit(row.python_ns)} of {row.allocator}" for row in rows if row.python_ns]
    if off:
        says.append(f"Python's own work is taken off the pair, {', '.join(off)}, and is inside its single calls")
    return "; ".join(says)


# --- one bench, all workloads ------------------------------------------------------------------------

def bench_html(run, coverage, bench, palette, title):
    """One row a workload, one column an allocator: its figure, and how many times tarn's time that is."""
    workloads = {key: row for key, row in run.by_workload.items() if key[0] == bench}
    names = palette.in_order(name for row in workloads.values() for name in row)
    table = Table(title, class_="figures")
    table.head("workload", *[allocator(name, palette) for name in names], "tarn's memory to the leanest peer's")
    for key, row in workloads.items():
        verdict = Verdict(key, row)
        of_all = _notes_of_all(row.values())
        cells = [_figure_cell(verdict, row[name], of_all) if name in row else
                 element("td", shown.NOTHING, title=coverage.reason(key, name)) for name in names]
        table.row(joined(breakable(key[1]), _in_brackets(of_all)), *cells, _memory_cell(verdict))
    return table.folded()


def _notes_of_all(results):
    """Notes that apply to all are said once."""
    notes = [notes_of(result) for result in results]
    return [note for note in notes[0] if all(note in others for others in notes)] if len(notes) > 1 else []


def _figure_cell(verdict, result, of_all):
    text = f"{shown.rate(result.rates[0])}/s" if result.is_rated else shown.duration(result.pair_ns[0])
    times_tarn = verdict.times_tarn(result.allocator)
    below, word = [note for note in notes_of(result) if note not in of_all], None
    if result is verdict.tarn:
        word = verdict.word if verdict.word in MARKS else None
        text = f"{MARKS[word]} {text}" if word else text
    elif times_tarn:
        is_rival = not is_tarn(result.allocator) and not is_floor(result.allocator)
        word = standing(times_tarn) if is_rival and standing(times_tarn) != "wins" else None
        below.insert(0, shown.ratio(times_tarn))
    classes = [name for name in (word, "best" if result is verdict.fastest else None) if name]
    return element("td", text, element("small", ", ".join(below)) if below else "", title=details_of(result),
                   class_=" ".join(classes) or None)


def _memory_cell(verdict):
    ratio, peer = verdict.memory_to_leanest_peer, verdict.leanest_peer
    if not ratio:
        return shown.NOTHING
    contiguous = verdict.memory_to_leanest_peer_of(CONTIGUOUS)
    below = f"; {CONTIGUOUS} {shown.ratio(contiguous)}" if contiguous else ""
    if verdict.holds_more and verdict.tarn.holds_first_piece:
        return element("td", "first piece", element("small", f"{peer.allocator} "
                                                    f"{shown.size(peer['peak_footprint_bytes'])}{below}"))
    return element("td", shown.ratio(ratio), element("small", f"{peer.allocator}{below}"),
                   class_="loses" if verdict.holds_more else None)


# --- what was not measured ---------------------------------------------------------------------------

def missing_html(runs, coverages):
    """Not found, skipped, failed, cut short, without a time, not requested: each with its reason."""
    table = Table("What was not measured, and why", class_="missing")
    table.head("what", "allocator", "workload", "machine", "reason")
    for run, coverage in zip(runs, coverages):
        for row in _missing_of(run):
            table.row(*map(breakable, (*row[:3], run.label, row[3])), class_="bad" if row[0] == "FAILED" else None)
        for name, kinds in coverage.gaps.items():
            where = "; ".join(_gap(kind, missed, keys) for kind, (missed, keys) in kinds.items())
            table.row("not asked for", *map(breakable, (name, where, run.label)),
                      "no file has a result of it, or says why not")
    if table.is_empty:
        return element("p", "Nothing: every allocator was found, measured and verified on every workload.")
    return table.folded()


def _gap(kind, missed, keys):
    """One kind of workloads, and their names if it is not all of them."""
    names = "" if len(missed) == len(keys) else f": {', '.join(key[1] for key in missed)}"
    return f"{title_of_kind(kind)} ({len(missed)} of {len(keys)}){names}"


def _missing_of(run):
    """(what, allocator, workload, reason) from the files."""
    files_of = {}
    for file in run.files:
        for pair in dict.fromkeys(file.not_found):
            files_of.setdefault(pair, []).append(file.shown_name)
    for (name, reason), files in files_of.items():
        yield "not found", name, f"all of {', '.join(files)}", reason
    for file in run.files:
        for bench, workload, name, reason in file.skipped:
            yield "skipped", name, f"{bench} {workload}", reason
        if file.is_interrupted:
            yield "cut short", "all", file.shown_name, "the benchmark was interrupted"
    for what, results in (("FAILED", run.failed()), ("cut short", run.cut_short()),
                          ("without a time", run.without_time())):
        for result in results:
            yield what, result.allocator, f"{result.bench} {result.workload}", result.reason or _no_time(result)


def _no_time(result):
    return "Python's own work takes as long" if result.python_ns else "the file has no time of it"


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
    table.head("", *[breakable(run.label) for run in runs])
    for key, label in FACTS + tuple((key, key.replace("_", " ")) for key in others):
        values = [_fact(run, key) for run in runs]
        if any(value != shown.NOTHING for value in values):
            table.row(label, *map(breakable, values))
    pythons = [", ".join(dict.fromkeys(str(file.machine.get("compiler", "Python")) for file in run.files
                                       if file.is_python)) for run in runs]
    if any(pythons):
        table.row("peers from Python", *[text or shown.NOTHING for text in pythons])
    if any(run.files for run in runs):
        table.row("one reading of the clock", *[_clock_cost(run) for run in runs])
    if any(_kernels(run) for run in runs):
        table.row("kernels that allocate", *[_in_lines(_kernels(run)) for run in runs])
    table.row("files", *[_in_lines(file.shown_name for file in run.all_files) for run in runs])
    return table.html()


def _kernels(run):
    """The compiler's figures for the kernels of each heap."""
    return dict.fromkeys(kernel for file in run.heap_files for kernel in file.kernels)


def _in_lines(texts):
    return joined(*[element("span", breakable(text), class_="line") for text in texts]) or shown.NOTHING


def _options(file):
    says = []
    for key, value in file.options.items():
        is_size = isinstance(value, (int, float)) and key.endswith(("_bytes", "_bytes_max"))
        text = shown.size(value) if is_size else value
        says.append(f"{key.replace('_', ' ')} {text if value is not None else shown.NOTHING}")
    return ", ".join(says)


def runs_html(runs):
    has_commands = any(file.command for run in runs for file in run.all_files)
    table = Table("Files, commands and options")
    table.head("file", "machine", "results", *(["command"] if has_commands else []), "options")
    for run in runs:
        for file in run.all_files:
            benches = ", ".join(file.parts)
            command = element("td", element("code", breakable(file.command or shown.NOTHING)), class_="text")
            table.row(breakable(file.shown_name), run.label, f"{len(file.results)} ({benches})",
                      *([command] if has_commands else []), element("td", breakable(_options(file)), class_="text"))
    return table.folded()
