# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_summary: the first thing to read: who wins where, where tarn loses, and where it holds more memory."""

from . import shown
from .allocators import is_peer
from .html_text import Table, element, joined
from .verdicts import NEAR, Balance, ratio_of, verdicts_of

NEAR_PERCENT = f"{(NEAR - 1) * 100:.0f}{shown.THIN_SPACE}%"

HEADS = {"wins": "\u25b2 tarn wins", "level": "= level", "alone": "tarn"}


def summary_html(runs, benches):
    """benches: in the order in which a page has them."""
    judged = [(run, verdicts_of(run)) for run in runs]
    return joined(
        element("p", "Every allocator plays the same sequences of allocations and frees. The peers are the pools "
                     "that a program could use instead of tarn; the vendor's raw calls and the ordered sets are no "
                     "peers, but are measured too. Two allocators within ", NEAR_PERCENT, " of each other count as "
                     "level."),
        *[element("p", *_balance(run, verdicts), class_="balance") for run, verdicts in judged],
        element("h3", "Where tarn loses time", id="loses-time"), _losses(judged),
        element("h3", "Where tarn holds more memory than a peer", id="holds-more"), _holds_more(judged),
        element("h3", "Every workload", id="every-workload"), _matrix(judged, benches))


def _figure(result):
    """The figure that counts: pairs a second of several threads, or the time of one pair."""
    if result.is_rated:
        return f"{shown.rate(result['pairs_per_second'])}/s"
    return shown.duration_with_unit(result.pair_ns[0])


def _place(verdict):
    bench, workload, _ = verdict.key
    return workload if bench == "replay" else f"{bench}: {workload}"


# --- in words ----------------------------------------------------------------------------------------

def _of(part, whole):
    return f"all {whole}" if part == whole and whole > 1 else f"{part} of {whole}"


def _median(spread):
    least, median, most = spread
    text = f"{shown.ratio(median)} as fast as"
    return text, "" if least == most else f" ({shown.ratio(least)} to {shown.ratio(most)})"


def _balance(run, verdicts):
    balance = Balance(verdicts)
    says = [element("strong", run.label), ": "]
    if not balance.judged:
        return [*says, "tarn itself was not measured here."]
    if balance.against_peers:
        whole = len(balance.against_peers)
        says += ["beside ", ", ".join(balance.peers), ", tarn is the fastest on ",
                 element("strong", _of(len(balance.wins), whole)), " workloads" if whole > 1 else " workload",
                 f", level on {len(balance.level)}" if balance.level else ""]
        says.append("." if balance.losses else " and loses on none.")
    else:
        says.append(f"no peer was measured here, on {len(balance.judged)} workloads.")
    if balance.losses:
        says += [" It ", element("strong", f"loses on {len(balance.losses)}"), "."]
    if balance.to_best_peer:
        text, span = _median(balance.to_best_peer)
        says.append(f" At the median it is {text} the best peer{span}.")
    if balance.to_raw:
        text, span = _median(balance.to_raw)
        says.append(f" Beside the raw calls it is {text} they are{span}." if balance.to_best_peer else
                    f" At the median it is {text} the raw calls{span}.")
    if balance.with_peer_memory:
        whole = len(balance.with_peer_memory)
        says += [" It holds more memory than the leanest peer on ",
                 element("strong", _of(len(balance.holds_more), whole)), "."]
    return says


# --- every workload ----------------------------------------------------------------------------------

def _lines(verdict):
    """What stands below tarn's own figure."""
    lines = []
    for other, kind in ((verdict.best_peer, ""), (verdict.results.get("ordered-sets"), ""), (verdict.raw, "")):
        if other:
            lines.append(f"{shown.ratio(ratio_of(verdict.tarn, other))} as fast as {other.allocator}, {_figure(other)}")
    mode = next(iter(verdict.faster_modes()), None)
    if mode:
        lines.append(f"by option: {mode[0].allocator}, {_figure(mode[0])}")
    if verdict.memory_to_leanest_peer:
        lines.append(f"holds {shown.ratio(verdict.memory_to_leanest_peer)} the memory of "
                     f"{verdict.leanest_peer.allocator}")
    return lines


def _cell(verdict):
    if verdict is None or not verdict.results:
        return element("td", shown.NOTHING)
    if not verdict.tarn:
        return element("td", f"tarn was not measured; fastest is {verdict.fastest.allocator}, "
                             f"{_figure(verdict.fastest)}", class_="verdict")
    head = HEADS.get(verdict.word)
    if not head:
        head = f"\u25bc {verdict.faster_than_tarn()[0][0].allocator} wins"
    return element("td", element("b", head), " ", element("span", _figure(verdict.tarn), class_="figure"),
                   *[element("small", line) for line in _lines(verdict)], class_=f"verdict {verdict.word}")


def _matrix(judged, benches):
    table = Table(class_="matrix")
    table.head("workload", *[run.label for run, _ in judged])
    by_run = [{verdict.key: verdict for verdict in verdicts} for _, verdicts in judged]
    keys = list(dict.fromkeys(key for verdicts in by_run for key in verdicts))
    for bench in benches:
        table.group(bench, 1 + len(by_run))
        for key in keys:
            if key[0] == bench:
                table.row(key[1], *[_cell(verdicts.get(key)) for verdicts in by_run])
    return element("p", "No workload has a figure.") if table.is_empty else table.html()


# --- where tarn loses --------------------------------------------------------------------------------

def _comparison(head, rows, has_machines):
    """The last column, the machine, is shown where there are several."""
    table = Table(class_="comparison")
    table.head(*head, *(["machine"] if has_machines else []))
    for row in rows:
        table.row(*(row if has_machines else row[:-1]))
    return table.html()


def _losses(judged):
    rows, modes = [], []
    for run, verdicts in judged:
        for verdict in verdicts:
            tarn = verdict.tarn and _figure(verdict.tarn)
            rows += [(_place(verdict), result.allocator + ("" if is_peer(result.allocator) else " (no peer)"),
                      _figure(result), tarn, shown.ratio(ratio), run.label)
                     for result, ratio in verdict.faster_than_tarn()]
            modes += [(_place(verdict), result.allocator, _figure(result), tarn, shown.ratio(ratio), run.label)
                      for result, ratio in verdict.faster_modes()[:1]]
    head = ("workload", "faster", "takes", "tarn takes", "times as fast as tarn")
    said = _comparison(head, rows, len(judged) > 1) if rows else element(
        "p", "Nowhere in these results is another allocator faster than tarn by ", NEAR_PERCENT, " or more.")
    if modes:
        said = joined(said, element("p", "tarn's own other modes are faster than its default here:"),
                      _comparison(head, modes, len(judged) > 1))
    return said


def _first_piece(verdict, run):
    """Whether all that tarn holds is the piece that it begins with."""
    held = verdict.tarn["peak_footprint_bytes"]
    return any(file.options.get("initial_bytes") == held for file in run.files if verdict.tarn in file.results)


def _holds_more(judged):
    all_verdicts = [(run, verdict) for run, verdicts in judged for verdict in verdicts]
    if not any(verdict.memory_to_leanest_peer for _, verdict in all_verdicts):
        return element("p", "No peer's memory was measured in these results.")
    found = sorted(((run, verdict) for run, verdict in all_verdicts if verdict.holds_more),
                   key=lambda pair: -pair[1].memory_to_leanest_peer)
    if not found:
        return element("p", "Nowhere in these results does tarn hold more than the leanest peer by ", NEAR_PERCENT,
                       " or more.")
    rows = [(_place(verdict), verdict.leanest_peer.allocator, shown.size(verdict.leanest_peer["peak_footprint_bytes"]),
             shown.size(verdict.tarn["peak_footprint_bytes"]) + ("*" if _first_piece(verdict, run) else ""),
             shown.ratio(verdict.memory_to_leanest_peer), shown.size(verdict.tarn["peak_live_bytes"]), run.label)
            for run, verdict in found]
    head = ("workload", "leanest peer", "holds", "tarn holds", "tarn to peer", "most live")
    note = element("p", "* the first piece alone, which the option ", element("code", "--initial"), " sets.",
                   class_="about") if any(row[3].endswith("*") for row in rows) else ""
    return joined(_comparison(head, rows, len(judged) > 1), note)
