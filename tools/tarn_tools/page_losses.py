# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_losses: where tarn loses time, and where it holds more memory than a peer."""

from . import shown
from .allocators import NO_PEERS
from .html_text import element, folded, joined
from .page_parts import NEAR_PERCENT, breakable, by_machine, figure_of, size_cell, workloads
from .page_words import full_name, title_of
from .program_kinds import CONTIGUOUS
from .verdicts import Balance, Verdict, spread_of


def losses_html(judged):
    head = ("workload", "tarn takes", "fastest", "takes", "as fast", "holds", CONTIGUOUS, "also faster")
    lost = by_machine(judged, lambda verdicts: _faster_rows(verdicts, Verdict.faster_than_tarn),
                      "Each workload on which another allocator is faster", *head, notes=_no_peers_explained(judged))
    modes = by_machine(judged, lambda verdicts: _faster_rows(verdicts, Verdict.faster_modes),
                       "Each workload on which a mode of tarn's own is faster than its default", *head)
    said = joined(_worst_loss(judged), lost) if lost else element(
        "p", "Nowhere in these results is another allocator faster than tarn by ", NEAR_PERCENT, " or more.")
    return joined(said, modes or "")


def _worst_loss(judged):
    """The table is folded; the largest losses are said in any case."""
    says = []
    for run, verdicts in judged:
        losses = Balance(verdicts).losses
        if losses:
            worst = max(losses, key=lambda verdict: verdict.faster_than_tarn()[0][1])
            fastest, times = worst.faster_than_tarn()[0]
            says.append(element("li", element("strong", run.label), f": on {len(losses)} of {len(verdicts)}, the most "
                                "on ", breakable(full_name(worst.key)), ", where ", element("b", fastest.allocator),
                                f" is {shown.ratio(times)} as fast."))
    return element("ul", *says)


def _faster_rows(verdicts, faster_of):
    """Worst first. The last cell, other faster allocators, is left out if it is empty in all rows."""
    found = [(verdict, faster_of(verdict)) for verdict in verdicts]
    found = sorted(((verdict, faster) for verdict, faster in found if faster), key=lambda pair: -pair[1][0][1])
    has_others = any(len(faster) > 1 for _, faster in found)
    rows = []
    for verdict, ((fastest, ratio), *others) in found:
        names = ", ".join(f"{_marked(other)} {shown.ratio(times)}" for other, times in others)
        rows.append((breakable(full_name(verdict.key)), figure_of(verdict.tarn), element("b", _marked(fastest)),
                     figure_of(fastest), shown.ratio(ratio), _memory_beside_tarn(fastest, verdict.tarn),
                     contiguous_figure(verdict), *([names] if has_others else [])))
    return rows


def contiguous_figure(verdict):
    result = verdict.results.get(CONTIGUOUS)
    return figure_of(result) if result else shown.NOTHING


def _marked(result):
    return result.allocator + ("\u2021" if result.allocator in NO_PEERS else "")


def _no_peers_explained(judged):
    names = {result.allocator for _, verdicts in judged for verdict in verdicts
             for result, _ in verdict.faster_than_tarn()}
    return [element("p", "\u2021 is no peer.", class_="about")] if names & set(NO_PEERS) else []


def _memory_beside_tarn(result, tarn):
    """How much memory the faster one pays, or saves."""
    if not result.held_by_live or not tarn.held_by_live:
        return shown.NOTHING
    return f"{shown.ratio(result.held_by_live / tarn.held_by_live)} tarn's memory" if not tarn.holds_first_piece \
        else shown.size(result["peak_footprint_bytes"])


# --- memory -----------------------------------------------------------------------------

def memory_losses_html(judged):
    all_verdicts = [verdict for _, verdicts in judged for verdict in verdicts]
    if not any(verdict.memory_to_leanest_peer for verdict in all_verdicts):
        return element("p", "No peer's memory was measured in these results.")
    table = by_machine(judged, _holds_more_rows, "Each workload on which tarn's default holds more", "workload",
                       "tarn holds", "leanest peer", "tarn holds of its", f"{CONTIGUOUS} holds", "most live")
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
        peer, contiguous = verdict.leanest_peer, verdict.results.get(CONTIGUOUS)
        rows.append((breakable(full_name(verdict.key)), shown.size(verdict.tarn["peak_footprint_bytes"]),
                     joined(element("b", peer.allocator), f": {shown.size(peer['peak_footprint_bytes'])}"),
                     shown.ratio(verdict.memory_to_leanest_peer),
                     size_cell(contiguous["peak_footprint_bytes"]) if contiguous else shown.NOTHING,
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
    said = joined(f"On {len(verdicts)} {workloads(len(verdicts))} all that tarn holds is its first piece of {pieces}, "
                  "which the option ", element("code", "--initial"), " sets, where the leanest peer holds ",
                  shown.size(least), f" to {shown.size(most)}" if least != most else "")
    return folded(joined(said, "."), element("p", breakable(listed), ".", class_="about"))


def bookkeeping_html(run, has_label):
    """Host memory for metadata."""
    results = [result for result in run.results if result.allocator == "tarn" and result["metadata_bytes"]]
    if not results:
        return ""
    least, most = (pick(results, key=lambda result: result["metadata_bytes"]) for pick in (min, max))
    says = [f"tarn's bookkeeping is in the host's memory: {shown.size(least['metadata_bytes'])}"]
    if most["metadata_bytes"] > least["metadata_bytes"]:
        says.append(f" to {shown.size(most['metadata_bytes'])}, the most in {full_name(most.key)}")
    return element("p", *([element("strong", run.label), ": "] if has_label else []), *says, ".")
