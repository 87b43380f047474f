# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_summary: the first thing to read: who wins where, and where tarn loses."""

from . import shown
from .allocators import is_peer, is_tarn
from .html_text import Table, element, joined
from .verdicts import NEAR, Balance, verdicts_of

WORDS = {"wins": "\u25b2 tarn", "loses": "\u25bc", "level": "= level", "alone": "tarn", "absent": shown.NOTHING}
NEAR_PERCENT = f"{(NEAR - 1) * 100:.0f}{shown.THIN_SPACE}%"


def summary_html(runs):
    verdicts_by_run = [(run, verdicts_of(run)) for run in runs]
    parts = [_sentences(run, verdicts) for run, verdicts in verdicts_by_run]
    return joined(
        element("p", "Every allocator plays the same sequences of allocations and frees. ",
                "The peers are the pools that a program could use instead of tarn; the raw calls of the vendor and "
                "the ordered sets are no peers, but are measured too. Two allocators within ", NEAR_PERCENT,
                " of each other count as level."),
        *parts,
        _matrix(verdicts_by_run),
        element("h3", "Where tarn loses time", id="loses-time"), _losses(verdicts_by_run, len(runs)),
        element("h3", "Where tarn holds more memory than a peer", id="loses-memory"),
        _memory(verdicts_by_run, len(runs)))


# --- in words ----------------------------------------------------------------------------------------

def _of(part, whole):
    return f"all {whole}" if part == whole and whole > 1 else f"{part} of {whole}"


def _count_of(part, what):
    return f"{part} {what}" if part == 1 else f"{part} {what}s"


def _times_faster(spread):
    least, median, most = spread
    if least == most:
        return f"{shown.ratio(median)} as fast"
    return f"{shown.ratio(median)} as fast at the median (from {shown.ratio(least)} to {shown.ratio(most)})"


def _sentences(run, verdicts):
    balance = Balance(verdicts)
    says = [element("strong", run.label), ": "]
    if not balance.workload_count:
        return element("p", *says, "tarn itself was not measured here.", class_="balance")
    if balance.against_peers:
        whole = len(balance.against_peers)
        says += ["against ", ", ".join(balance.peers), ", tarn is the fastest on ",
                 element("strong", _of(len(balance.wins), whole)), " workloads" if whole > 1 else " workload"]
        if balance.level:
            says.append(f", level with the best of them on {len(balance.level)}")
        says += [", and ", element("strong", f"loses on {len(balance.losses)}" if balance.losses else "loses on none"),
                 f". It is {_times_faster(balance.to_best_peer)} as the best peer."]
    else:
        says.append("no peer was measured here, only the vendor's calls and what is no peer of tarn.")
    if balance.to_raw:
        says.append(f" Beside the raw calls it is {_times_faster(balance.to_raw)}.")
    if balance.with_peer_memory:
        whole = len(balance.with_peer_memory)
        says.append(f" It holds more memory than the leanest peer on {_of(len(balance.holds_more), whole)}.")
    return element("p", *says, class_="balance")


# --- the matrix --------------------------------------------------------------------------------------

def _short(result):
    """The figure that counts: pairs a second of several threads, or the time of one pair."""
    if result.is_rated:
        return f"{shown.rate(result['pairs_per_second'])}/s"
    return shown.duration_with_unit(result["ns_per_pair"])


def _against_peer(verdict):
    if verdict.word in ("wins", "loses"):
        best = verdict.best_peer
        if verdict.word == "wins":
            return f"{shown.ratio(verdict.to_best_peer)} as fast as {best.allocator}, {_short(best)}"
        return f"{best.allocator} is {shown.ratio(1 / verdict.to_best_peer)} as fast: {_short(best)}"
    if verdict.word == "level":
        return f"with {verdict.best_peer.allocator}, {_short(verdict.best_peer)}"
    return "no peer measured"


def _cell(verdict):
    if verdict is None or not verdict.results:
        return element("td", shown.NOTHING)
    if not verdict.tarn:
        return element("td", f"tarn not measured; fastest {verdict.fastest.allocator}, {_short(verdict.fastest)}")
    head = {"wins": "\u25b2 tarn wins", "loses": f"\u25bc {verdict.best_peer.allocator if verdict.best_peer else ''} wins",
            "level": "= level", "alone": "tarn alone"}[verdict.word]
    lines = [element("b", head), " ", element("span", _short(verdict.tarn), class_="figure")]
    small = [_against_peer(verdict)]
    if verdict.raw:
        small.append(f"{shown.ratio(verdict.to_raw)} as fast as raw")
    fastest = verdict.fastest
    if fastest.allocator != "tarn" and not (verdict.word == "loses" and is_peer(fastest.allocator)):
        small.append(f"fastest: {fastest.allocator}, {_short(fastest)}")
    if verdict.memory_to_leanest_peer:
        times = verdict.memory_to_leanest_peer
        small.append(f"holds {shown.ratio(times)} the memory of {verdict.leanest_peer.allocator}")
    return element("td", *lines, *[element("small", text) for text in small], class_=f"verdict {verdict.word}")


def _matrix(verdicts_by_run):
    table = Table(class_="matrix")
    table.head("workload", *[run.label for run, _ in verdicts_by_run])
    by_run = [{verdict.key: verdict for verdict in verdicts} for _, verdicts in verdicts_by_run]
    keys = list(dict.fromkeys(key for verdicts in by_run for key in verdicts))
    bench = None
    for key in sorted(keys, key=lambda key: list(dict.fromkeys(k[0] for k in keys)).index(key[0])):
        if key[0] != bench:
            bench = key[0]
            table.group(bench, 1 + len(by_run))
        table.row(key[1], *[_cell(verdicts.get(key)) for verdicts in by_run])
    return "" if table.is_empty else table.html()


# --- where tarn loses --------------------------------------------------------------------------------

def _place(verdict, run, run_count):
    where = f"{verdict.key[0]} {verdict.key[1]}" if verdict.key[0] != "replay" else verdict.key[1]
    return f"{where} ({run.label})" if run_count > 1 else where


def _losses(verdicts_by_run, run_count):
    items, modes = [], []
    for run, verdicts in verdicts_by_run:
        for verdict in verdicts:
            for result, ratio in verdict.faster_than_tarn():
                kind = "" if is_peer(result.allocator) else ", which is no peer,"
                items.append(element(
                    "li", element("strong", _place(verdict, run, run_count)), ": ", result.allocator, kind,
                    f" is {shown.ratio(ratio)} as fast as tarn: {_short(result)} to {_short(verdict.tarn)}"))
            for result, ratio in verdict.faster_modes()[:1]:
                modes.append(element(
                    "li", element("strong", _place(verdict, run, run_count)), f": {result.allocator} is "
                    f"{shown.ratio(ratio)} as fast: {_short(result)} to {_short(verdict.tarn)}"))
    said = element("ul", *items) if items else element(
        "p", "Nowhere in these results is another allocator faster than tarn by ", NEAR_PERCENT, " or more.")
    if modes:
        said = joined(said, element("p", "By option tarn itself is faster here:"), element("ul", *modes))
    return said


def _memory(verdicts_by_run, run_count):
    items = []
    has_peers = False
    for run, verdicts in verdicts_by_run:
        for verdict in verdicts:
            has_peers = has_peers or verdict.memory_to_leanest_peer is not None
            if verdict.holds_more:
                items.append((verdict.memory_to_leanest_peer, _memory_item(verdict, run, run_count)))
    if not has_peers:
        return element("p", "No peer's memory was measured in these results.")
    if not items:
        return element("p", "Nowhere in these results does tarn hold more than the leanest peer by ", NEAR_PERCENT,
                       " or more.")
    items.sort(key=lambda item: -item[0])
    return joined(element("p", "Most bytes held from the vendor at any time. A first piece (by the option ",
                          element("code", "initial"), ", 64 MiB unless set) weighs on small workloads."),
                  element("ul", *[item for _, item in items]))


def _memory_item(verdict, run, run_count):
    tarn, peer = verdict.tarn, verdict.leanest_peer
    first_piece = next((file.options.get("initial_bytes") for file in run.files if tarn in file.results), None)
    remark = ", its first piece" if first_piece and tarn["peak_footprint_bytes"] == first_piece else ""
    return element("li", element("strong", _place(verdict, run, run_count)),
                   f": {shown.size(tarn['peak_footprint_bytes'])}{remark}, where {peer.allocator} holds "
                   f"{shown.size(peer['peak_footprint_bytes'])} ({shown.ratio(verdict.memory_to_leanest_peer)}); "
                   f"live are {shown.size(tarn['peak_live_bytes'])}")


def tarn_modes_of(runs):
    return sorted({result.allocator for run in runs for result in run.results if is_tarn(result.allocator)})
