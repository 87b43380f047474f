# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""heap_summary: the device heap's summary: who wins where, where tarn loses, and errors."""

from . import shown
from .heap_parts import full_name, range_shown, with_range
from .heap_verdicts import HeapBalance, groups_of, multiples_of, times_tarn_of
from .heap_words import BOUNDS, anchor_of, title_of
from .html_text import Table, element, joined
from .page_parts import MARKS, NEAR_PERCENT, allocator, by_machine, loss_mark, range_words, share_words
from .verdicts import spread_of, standing


def heap_summary_html(judged, palette):
    """judged: [(run, verdicts)]"""
    return joined(
        *[element("p", *_balance(run, verdicts), class_="balance") for run, verdicts in judged],
        element("h3", "Which heap wins where", id="device-heap-at-a-glance"), _glances(judged, palette),
        element("h3", "Where tarn's device heap loses", id="device-heap-loses"), _losses(judged))


# --- in words ----------------------------------------------------------------------------------------

def _balance(run, verdicts):
    balance = HeapBalance(verdicts)
    whole = len(balance.compared)
    says = [element("strong", run.label), ": "]
    if not any(verdict.tarn for verdict in verdicts):
        says.append("tarn's device heap was not measured here.")
    elif not whole:
        says.append("no other heap was measured here.")
    else:
        says += ["tarn's heap is the best in ", element("strong", share_words(len(balance.wins), whole)), " figures",
                 f", level in {len(balance.level)}" if balance.level else "",
                 "." if balance.losses or balance.wrong else ", and loses in none."]
    if balance.losses:
        says += [" It ", element("strong", f"loses in {len(balance.losses)}"), "."]
    if balance.wrong:
        says.append(f" In {len(balance.wrong)} what it handed out was found wrong.")
    says.append(_speeds(verdicts))
    count = sum(len(file.faults) for file in run.heap_files)
    if count:
        says += [" ", element("strong", f"{count} {'fault was' if count == 1 else 'faults were'} found"), ": see ",
                 element("a", "below", href="#device-heap-remarks"), "."]
    return says


def _speeds(verdicts):
    """Compared with each other heap, for times and rates."""
    timed = [verdict for verdict in verdicts if verdict.unit.is_speed]
    names = dict.fromkeys(name for verdict in timed for name in verdict.results if name != "tarn")
    says = [_beside(timed, name) for name in sorted(names, key=lambda name: name in BOUNDS)]
    return "".join(filter(None, says))


def _beside(timed, name):
    if name in BOUNDS:
        spread = multiples_of(timed, name)
        return spread and (f" At the median it takes {shown.ratio(spread[1])} the time of {name}, a bound"
                           f"{range_words(spread)}.")
    spread = times_tarn_of(timed, name)
    return spread and f" At the median it is {shown.ratio(spread[1])} as fast as {name}{range_words(spread)}."


# --- at a glance -------------------------------------------------------------------------------------

def _glances(judged, palette):
    return joined(element("p", "How many times as good as the others tarn is, in time, in rate or in memory: above "
                               f"1{shown.TIMES} tarn is better. The median over the workloads, and below it the least "
                               f"and the most. {MARKS['loses']} stands before a figure that is a loss of tarn's. A "
                               "bump pointer is a bound and no rival: there it is tarn's multiple of its figure. A dash: "
                               "it was not measured, or has no such call."),
                  *[_glance(run, verdicts, palette, len(judged) > 1) for run, verdicts in judged if verdicts])


def _glance(run, verdicts, palette, has_caption):
    names = palette.in_order(name for verdict in verdicts for name in verdict.results)
    table = Table(class_="figures")
    table.head("figure", "tarn is best", *[allocator(name, palette) for name in names])
    test = None
    for (of_test, figure, unit), group in groups_of(verdicts).items():
        if of_test != test:
            test = of_test
            table.group(element("a", title_of(test), href=f"#{anchor_of(test)}"), 2 + len(names))
        table.row(f"{figure} ({len(group)})", _best_cell(group),
                  *[_own_cell(group, unit) if name == "tarn" else _other_cell(group, name) for name in names])
    return joined(element("p", run.label, class_="caption") if has_caption else "", table.html())


def _best_cell(group):
    balance = HeapBalance(group)
    if not balance.compared:
        return shown.NOTHING
    word = "loses" if balance.losses or balance.wrong else \
        "wins" if len(balance.wins) == len(balance.compared) else "level"
    return element("td", f"{len(balance.wins)} of {len(balance.compared)}",
                   element("small", f"level in {len(balance.level)}" if balance.level else ""), class_=word)


def _own_cell(group, unit):
    spread = spread_of([verdict.tarn.median for verdict in group if verdict.tarn])
    if not spread:
        return shown.NOTHING
    least, median, most = spread
    return element("td", unit.show(median), element("small", range_shown(unit, least, most)))


def _other_cell(group, name):
    spread = multiples_of(group, name) if name in BOUNDS else times_tarn_of(group, name)
    if not spread:
        return shown.NOTHING
    least, median, most = spread
    is_rival = name not in BOUNDS
    count = sum(name in verdict.results for verdict in group)
    below = [f"{loss_mark(least, is_rival)}{shown.ratio_range(least, most)}"] if least != most else []
    below += [f"in {count}"] if count < len(group) else []
    return element("td", loss_mark(median) if is_rival else "tarn ", shown.ratio(median),
                   element("small", " ".join(below)),
                   class_=standing(median) if is_rival and standing(median) != "wins" else None)


# --- where tarn loses --------------------------------------------------------------------------------

def _losses(judged):
    table = by_machine(judged, _loss_rows, "Each figure in which another heap is better", "figure",
                       "tarn", "best", "has", "times as good", "also better")
    if table:
        return table
    if not any(HeapBalance(verdicts).compared for _, verdicts in judged):
        return element("p", "There is no other heap in these results that tarn's could lose to.")
    return element("p", "Nowhere in these results is another heap better than tarn's by ", NEAR_PERCENT, " or more.")


def _loss_rows(verdicts):
    """Worst first."""
    rows = []
    lost = [verdict for verdict in verdicts if verdict.better_than_tarn]
    has_others = any(len(verdict.better_than_tarn) > 1 for verdict in lost)
    for verdict in sorted(lost, key=lambda verdict: -verdict.better_than_tarn[0][1]):
        (best, times), *others = verdict.better_than_tarn
        rows.append((full_name(verdict), with_range(verdict.tarn, verdict.unit), element("b", best.heap),
                     with_range(best, verdict.unit), shown.ratio(times),
                     *([", ".join(f"{other.heap} {shown.ratio(ratio)}" for other, ratio in others)] if has_others
                       else [])))
    return rows
