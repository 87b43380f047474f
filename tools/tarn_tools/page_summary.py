# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_summary: the summary: who wins where, where tarn loses, and where it holds more memory."""

from . import shown
from .allocators import NO_PEERS, WRITING, is_tarn
from .html_text import Table, element, joined
from .page_parts import (MARKS, NEAR_PERCENT, allocator, by_machine, figure_of, share_words, speed_words,
                         with_range)
from .page_words import anchor_of, full_name, in_order, title_of, title_of_kind
from .verdicts import Balance, Verdict, kinds_of, ratio_of, spread_of, standing, verdicts_of
from .workload_name import size_of


def summary_html(runs, palette):
    judged = [(run, verdicts_of(run)) for run in runs]
    parts = [
        element("p", "Every allocator plays the same sequences of allocations and frees. A time is that of a pair: one "
                     "allocation and its free. The peers are the pools that a program could use instead of tarn; the "
                     "vendor's raw calls and the ordered sets are no peers, but are measured too. Two allocators "
                     "within ", NEAR_PERCENT, " of each other count as level."),
        _host_note(runs), _python_note(runs), *[element("p", *_balance(run, verdicts), class_="balance") for run, verdicts in judged],
        element("h3", "At a glance", id="at-a-glance"), _glances(judged, palette),
        element("h3", "Where tarn loses time", id="loses-time"), _losses(judged),
        element("h3", "Where tarn holds more memory than a peer", id="holds-more"), _holds_more(judged),
        *[_bookkeeping(run, len(judged) > 1) for run, _ in judged]]
    if len(runs) > 1:
        parts += [element("h3", "Side by side", id="side-by-side"), _side_by_side(judged)]
    return joined(*parts)


def _host_note(runs):
    labels = [run.label for run in runs if run.is_host]
    if not labels:
        return ""
    return element("p", element("strong", ", ".join(labels)), ": no GPU was used, the host's memory stands in for a "
                   "device's. A pool's own work is the same over any device, so its times and what it holds tell of one, "
                   "too. The raw calls do not, which here are mmap and munmap, nor do streams, which are queues.")


def _python_note(runs):
    results = [result for run in runs for result in run.results if result.python_ns]
    if not results:
        return ""
    least, _, most = spread_of([result.python_ns for result in results])
    names = ", ".join(dict.fromkeys(result.allocator for result in results))
    return element("p", f"Between the calls of those that were reached through Python ({names}) an interpreter is at "
                        "work. What it takes with functions that do nothing, beyond what tarn-bench itself takes, is "
                        f"taken off their pairs: {_from_to(least, most)}. It is inside their single calls. Their "
                        "markers are hollow in plots, where a thin line ends at what was measured.")


def _from_to(least, most):
    texts = dict.fromkeys(map(shown.duration_with_unit, (least, most)))
    return " to ".join(texts)


# --- in words ----------------------------------------------------------------------------------------

def _workloads(count):
    return "workload" if count == 1 else "workloads"


def _balance(run, verdicts):
    balance = Balance(verdicts)
    says = [element("strong", run.label), ": "]
    if not balance.judged:
        return [*says, "tarn itself was not measured here."]
    whole = len(balance.against_peers)
    if whole:
        says += ["tarn is the fastest on ", element("strong", share_words(len(balance.wins), whole)), " ",
                 _workloads(whole),
                 f", level on {len(balance.level)}" if balance.level else "",
                 "." if balance.losses else ", and loses on none."]
    else:
        says.append(f"no peer was measured here, on {len(balance.judged)} {_workloads(len(balance.judged))}.")
    if balance.losses:
        says += [" It ", element("strong", f"loses on {len(balance.losses)}"), _to_writing(balance), "."]
    if balance.to_best_peer:
        text, span = speed_words(balance.to_best_peer)
        says.append(f" At the median it is {text} the best peer{span}.")
    if balance.to_raw:
        text, span = speed_words(balance.to_raw)
        says.append(f" Beside the raw calls it is {text} they are{span}." if balance.to_best_peer else
                    f" At the median it is {text} the raw calls{span}.")
    if balance.with_peer_memory:
        says += [" It holds more memory than the leanest peer on ", element("strong", share_words(
            len(balance.holds_more), len(balance.with_peer_memory))), _of_first_piece(balance), "."]
    return says


def _to_writing(balance):
    count = sum(verdict.loses_to_writing_only for verdict in balance.losses)
    return f", on {count} of them only to allocators that write into the memory they hand out, which no pool of " \
           "device memory may" if count else ""


def _of_first_piece(balance):
    count = sum(verdict.tarn.holds_first_piece for verdict in balance.holds_more)
    return f", on {count} of them with nothing but its first piece" if count else ""


# --- at a glance -------------------------------------------------------------------------------------

def _glances(judged, palette):
    tables = [_glance(run, verdicts, palette, len(judged) > 1) for run, verdicts in judged
              if any(verdict.tarn for verdict in verdicts)]
    if not tables:
        return element("p", "No workload has a figure of tarn.")
    return joined(element("p", "How many times tarn's time the others take, the higher the better for tarn: the median "
                               "over the workloads of a kind, and below it the least and the most. ", MARKS["loses"],
                          ": on one of these workloads at least it is faster than tarn. A dash: it was not measured."),
                  *tables)


def _glance(run, verdicts, palette, has_caption):
    names = palette.in_order(name for verdict in verdicts for name in verdict.results)
    kinds = kinds_of(verdicts)
    table = Table(run.label if has_caption else None, class_="figures")
    table.head("workloads", "tarn is fastest", *[allocator(name, palette) for name in names])
    for bench in in_order(dict.fromkeys(kind.bench for kind in kinds)):
        for kind in kinds:
            if kind.bench == bench:
                table.row(joined(element("a", title_of_kind(kind.name), href=f"#{anchor_of(bench)}"),
                                 f" ({len(kind.verdicts)})"),
                          _fastest_cell(kind),
                          *[_own_cell(kind) if name == "tarn" else _glance_cell(kind, name) for name in names])
    return table.html()


def _fastest_cell(kind):
    balance = Balance(kind.verdicts)
    count = sum(verdict.word != "alone" for verdict in balance.judged)
    if count == 0:
        return shown.NOTHING
    word = "loses" if balance.losses else "wins" if len(balance.wins) == count else "level"
    return element("td", f"{len(balance.wins)} of {count}",
                   element("small", f"level on {len(balance.level)}" if balance.level else ""), class_=word)


def _own_cell(kind):
    results = kind.measured("tarn")
    if not results:
        return shown.NOTHING
    if results[0].is_rated:
        least, median, most = spread_of([result.rates[0] for result in results])
        return with_range(f"{shown.rate(median)}/s", shown.rate(least), shown.rate(most))
    least, median, most = spread_of([result.pair_ns[0] for result in results])
    return with_range(shown.duration_with_unit(median), shown.duration(least), shown.duration(most))


def _glance_cell(kind, name):
    spread = kind.times_tarn(name)
    if not spread:
        return shown.NOTHING
    least, median, most = spread
    word = standing(least) if not is_tarn(name) else "wins"
    mark = f"{MARKS[word]} " if word == "loses" else ""
    below = shown.ratio_range(least, most) if least != most else ""
    count = len(kind.measured(name))
    if count < len(kind.verdicts):
        below += f" on {count}"
    return element("td", f"{mark}{shown.ratio(median)}", element("small", below),
                   class_=word if word != "wins" else None)


# --- where tarn loses --------------------------------------------------------------------------------

def _losses(judged):
    head = ("workload", "tarn takes", "fastest", "takes", "as fast", "holds", "also faster")
    lost = by_machine(judged, lambda verdicts: _faster_rows(verdicts, Verdict.faster_than_tarn), *head)
    modes = by_machine(judged, lambda verdicts: _faster_rows(verdicts, Verdict.faster_modes), *head)
    said = joined(lost, _marks_explained(judged)) if lost else element(
        "p", "Nowhere in these results is another allocator faster than tarn by ", NEAR_PERCENT, " or more.")
    return joined(said, element("p", "tarn's own other modes are faster than its default here:"), modes) if modes \
        else said


def _faster_rows(verdicts, faster_of):
    """Worst first. The last cell, other faster allocators, is left out if it is empty in all rows."""
    found = [(verdict, faster_of(verdict)) for verdict in verdicts]
    found = sorted(((verdict, faster) for verdict, faster in found if faster), key=lambda pair: -pair[1][0][1])
    has_others = any(len(faster) > 1 for _, faster in found)
    rows = []
    for verdict, ((fastest, ratio), *others) in found:
        names = ", ".join(f"{_marked(other)} {shown.ratio(times)}" for other, times in others)
        rows.append((full_name(verdict.key), figure_of(verdict.tarn), element("b", _marked(fastest)),
                     figure_of(fastest), shown.ratio(ratio), _memory_beside_tarn(fastest, verdict.tarn),
                     *([names] if has_others else [])))
    return rows


def _marked(result):
    return result.allocator + ("\u2020" if result.allocator in WRITING else "") + \
        ("\u2021" if result.allocator in NO_PEERS else "")


def _marks_explained(judged):
    names = {result.allocator for _, verdicts in judged for verdict in verdicts
             for result, _ in verdict.faster_than_tarn()}
    says = []
    if names & set(WRITING):
        says.append("\u2020 writes into the memory that it hands out, which no pool of device memory may.")
    if names & set(NO_PEERS):
        says.append("\u2021 is no peer.")
    return element("p", " ".join(says), class_="about") if says else ""


def _memory_beside_tarn(result, tarn):
    """How much memory the faster one pays, or saves."""
    if not result.held_by_live or not tarn.held_by_live:
        return shown.NOTHING
    return f"{shown.ratio(result.held_by_live / tarn.held_by_live)} tarn's memory" if not tarn.holds_first_piece \
        else shown.size(result["peak_footprint_bytes"])


# --- where it holds more -----------------------------------------------------------------------------

def _holds_more(judged):
    all_verdicts = [verdict for _, verdicts in judged for verdict in verdicts]
    if not any(verdict.memory_to_leanest_peer for verdict in all_verdicts):
        return element("p", "No peer's memory was measured in these results.")
    table = by_machine(judged, _holds_more_rows, "workload", "tarn holds", "leanest peer", "most live")
    first = [verdict for verdict in all_verdicts if verdict.holds_more and verdict.tarn.holds_first_piece]
    if not table and not first:
        return element("p", "Nowhere in these results does tarn hold more than the leanest peer by ", NEAR_PERCENT,
                       " or more.")
    return joined(table or "", _first_pieces(first))


def _holds_more_rows(verdicts):
    """Worst first."""
    rows = []
    grown = [verdict for verdict in verdicts if verdict.holds_more and not verdict.tarn.holds_first_piece]
    for verdict in sorted(grown, key=lambda verdict: -verdict.memory_to_leanest_peer):
        peer = verdict.leanest_peer
        rows.append((full_name(verdict.key), shown.size(verdict.tarn["peak_footprint_bytes"]),
                     joined(element("b", peer.allocator), f": {shown.size(peer['peak_footprint_bytes'])}, tarn holds "
                            f"{shown.ratio(verdict.memory_to_leanest_peer)} as much"),
                     shown.size(verdict.tarn["peak_live_bytes"])))
    return rows


def _first_pieces(verdicts):
    """
    Small programs, in a sentence: there the first piece is all that tarn holds. Its size is an option, and says
    nothing about growth.
    """
    if not verdicts:
        return ""
    pieces = ", ".join(dict.fromkeys(shown.size(verdict.tarn["peak_footprint_bytes"]) for verdict in verdicts))
    least, _, most = spread_of([verdict.leanest_peer["peak_footprint_bytes"] for verdict in verdicts])
    names = {}
    for verdict in verdicts:
        names.setdefault(verdict.key[0], []).append(verdict.key[1])
    listed = "; ".join(f"{title_of(bench).lower()}: {', '.join(dict.fromkeys(of_bench))}"
                       for bench, of_bench in names.items())
    return element("p", f"On {len(verdicts)} {_workloads(len(verdicts))} all that tarn holds is its first piece of "
                        f"{pieces}, which the option ", element("code", "--initial"), " sets, where the leanest peer ",
                   f"holds {shown.size(least)}", f" to {shown.size(most)}: " if least != most else ": ", listed, ".")


def _bookkeeping(run, has_label):
    """Host memory for metadata."""
    results = [result for result in run.results if result.allocator == "tarn" and result["metadata_bytes"]]
    if not results:
        return ""
    least, most = (pick(results, key=lambda result: result["metadata_bytes"]) for pick in (min, max))
    says = [f"tarn's bookkeeping is in the host's memory: {shown.size(least['metadata_bytes'])}"]
    if most["metadata_bytes"] > least["metadata_bytes"]:
        says.append(f" to {shown.size(most['metadata_bytes'])}, the most in {full_name(most.key)}")
    return element("p", *([element("strong", run.label), ": "] if has_label else []), *says, ".")


# --- side by side ------------------------------------------------------------------------------------

def _side_by_side(judged):
    """For several runs: tarn's figure, compared with the best peer."""
    by_run = [{verdict.key: verdict for verdict in verdicts} for _, verdicts in judged]
    keys = list(dict.fromkeys(key for verdicts in by_run for key in verdicts))
    table = Table(class_="figures")
    table.head("workload", *[run.label for run, _ in judged])
    for bench in in_order(dict.fromkeys(key[0] for key in keys)):
        table.group(bench, 1 + len(by_run))
        for key in sorted(keys, key=lambda key: size_of(key[1]) or 0):
            if key[0] == bench:
                table.row(key[1], *[_side_cell(verdicts.get(key)) for verdicts in by_run])
    return element("p", "No workload has a figure.") if table.is_empty else table.html()


def _side_cell(verdict):
    if not verdict or not verdict.fastest:
        return shown.NOTHING
    if not verdict.tarn:
        return element("td", f"{verdict.fastest.allocator} {figure_of(verdict.fastest)}",
                       element("small", "tarn was not measured"))
    other = verdict.faster_than_tarn()[0][0] if verdict.word == "loses" else verdict.best_peer or verdict.raw
    words = f"{shown.ratio(ratio_of(verdict.tarn, other))} as fast as {other.allocator}, {figure_of(other)}" \
        if other else "alone"
    mark = f"{MARKS[verdict.word]} " if verdict.word in MARKS else ""
    return element("td", f"{mark}{figure_of(verdict.tarn)}", element("small", words), class_=verdict.word)
