# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_summary: who wins where, in words, at a glance and side by side."""

from . import shown
from .allocators import is_floor, is_tarn
from .html_text import Table, element, joined
from .page_losses import bookkeeping_html, contiguous_figure, losses_html, memory_losses_html
from .page_parts import (MARKS, NEAR_PERCENT, allocator, breakable, figure_of, loss_mark, range_words, share_words,
                         speed_words, with_range, workloads)
from .page_words import anchor_of, in_order, title_of_kind
from .program_kinds import CONTIGUOUS
from .verdicts import Balance, kinds_of, ratio_of, spread_of, standing, verdicts_of
from .workload_name import size_of


def summary_html(runs, palette):
    judged = [(run, verdicts_of(run)) for run in runs]
    parts = [
        element("p", "Every allocator plays the same sequences of allocations and frees. A time is that of a pair: one "
                     "allocation and its free. The peers are the pools that a program could use instead of tarn; the "
                     "vendor's raw calls and the ordered sets are no peers, but are measured too. Two allocators "
                     "within ", NEAR_PERCENT, " of each other count as level."),
        _host_note(runs), _python_note(runs),
        *[element("p", *_balance(run, verdicts), class_="balance") for run, verdicts in judged], _floor_note(judged),
        element("h3", "At a glance", id="at-a-glance"), _glances(judged, palette),
        element("h3", "Where tarn loses time", id="loses-time"), losses_html(judged),
        element("h3", "Where tarn holds more memory than a peer", id="holds-more"), memory_losses_html(judged),
        *[bookkeeping_html(run, len(judged) > 1) for run, _ in judged]]
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


def _floor_note(judged):
    """What allocators cost that write into the memory they hand out."""
    says = [_beside_the_floor(run, verdicts) for run, verdicts in judged]
    if not any(says):
        return ""
    names = {name for run, _ in judged for row in run.by_workload.values() for name in row if is_floor(name)}
    return element("p", element("strong", "A floor, and no rivals: "), f"{shown.named_list(sorted(names))} write into "
                   "the memory that they hand out, which no pool of device memory may. They are shown apart, and "
                   "not counted.", *says)


def _beside_the_floor(run, verdicts):
    spread = Balance(verdicts).to_floor
    return f" {run.label}: tarn is {shown.ratio(spread[1])} as fast as the fastest of them, at the " \
           f"median{range_words(spread)}." if spread else ""


def _from_to(least, most):
    texts = dict.fromkeys(map(shown.duration_with_unit, (least, most)))
    return " to ".join(texts)


# --- in words ----------------------------------------------------------------------------------------

def _balance(run, verdicts):
    balance = Balance(verdicts)
    says = [element("strong", run.label), ": "]
    if not balance.judged:
        return [*says, "tarn itself was not measured here."]
    whole = len(balance.against_peers)
    if whole:
        says += ["tarn is the fastest on ", element("strong", share_words(len(balance.wins), whole)), " ",
                 workloads(whole),
                 f", level on {len(balance.level)}" if balance.level else "",
                 "." if balance.losses else ", and loses on none."]
    else:
        says.append(f"no peer was measured here, on {len(balance.judged)} {workloads(len(balance.judged))}.")
    if balance.losses:
        says += [" It ", element("strong", f"loses on {len(balance.losses)}"), "."]
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
                          " stands before a figure that is a loss of tarn's. A dash: it was not measured."), *tables)


def _glance(run, verdicts, palette, has_caption):
    names = palette.in_order(name for verdict in verdicts for name in verdict.results)
    kinds = kinds_of(verdicts)
    table = Table(class_="figures")
    table.head("workloads", "tarn is fastest", *[allocator(name, palette) for name in names])
    for bench in in_order(dict.fromkeys(kind.bench for kind in kinds)):
        for kind in kinds:
            if kind.bench == bench:
                table.row(joined(element("a", title_of_kind(kind.name), href=f"#{anchor_of(bench)}"),
                                 f" ({len(kind.verdicts)})"),
                          _fastest_cell(kind),
                          *[_own_cell(kind) if name == "tarn" else _glance_cell(kind, name) for name in names])
    return joined(element("p", run.label, class_="caption") if has_caption else "", table.html())


def _fastest_cell(kind):
    balance = Balance(kind.verdicts)
    count = sum(verdict.word != "alone" for verdict in balance.judged)
    if count == 0:
        return shown.NOTHING
    word = "loses" if balance.losses else "wins" if len(balance.wins) == count else "level"
    return element("td", f"{len(balance.wins)} of {count}",
                   element("small", ", ".join(f"{what} on {len(found)}" for what, found in (
                       ("level", balance.level), ("loses", balance.losses)) if found)), class_=word)


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
    is_rival = not is_tarn(name) and not is_floor(name)
    below = f"{loss_mark(least, is_rival)}{shown.ratio_range(least, most)}" if least != most else ""
    count = len(kind.measured(name))
    if count < len(kind.verdicts):
        below += f" on {count}"
    return element("td", loss_mark(median, is_rival), shown.ratio(median), element("small", below),
                   class_=standing(median) if is_rival and standing(median) != "wins" else None)


# --- side by side ------------------------------------------------------------------------------------

def _side_by_side(judged):
    """For several runs: tarn's figure, compared with the best peer."""
    by_run = [{verdict.key: verdict for verdict in verdicts} for _, verdicts in judged]
    keys = list(dict.fromkeys(key for verdicts in by_run for key in verdicts))
    table = Table("tarn on each workload, beside the best peer", class_="figures")
    table.head("workload", *[breakable(run.label) for run, _ in judged])
    for bench in in_order(dict.fromkeys(key[0] for key in keys)):
        table.group(bench, 1 + len(by_run))
        for key in sorted(keys, key=lambda key: size_of(key[1]) or 0):
            if key[0] == bench:
                table.row(breakable(key[1]), *[_side_cell(verdicts.get(key)) for verdicts in by_run])
    return element("p", "No workload has a figure.") if table.is_empty else table.folded()


def _side_cell(verdict):
    if not verdict or not verdict.fastest:
        return shown.NOTHING
    if not verdict.tarn:
        return element("td", f"{verdict.fastest.allocator} {figure_of(verdict.fastest)}",
                       element("small", "tarn was not measured"))
    other = verdict.faster_than_tarn()[0][0] if verdict.word == "loses" else verdict.best_peer or verdict.raw
    words = f"{shown.ratio(ratio_of(verdict.tarn, other))} as fast as {other.allocator}, {figure_of(other)}" \
        if other else "alone"
    words += f"; {CONTIGUOUS} {contiguous_figure(verdict)}" if CONTIGUOUS in verdict.results else ""
    mark = f"{MARKS[verdict.word]} " if verdict.word in MARKS else ""
    return element("td", f"{mark}{figure_of(verdict.tarn)}", element("small", words), class_=verdict.word)
