# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_programs: the first answer of a page: for each kind of program the allocator that wins, by machine."""

from . import shown
from .allocators import is_tarn, options_of
from .html_text import element, joined
from .page_parts import MARKS, NEAR_PERCENT, breakable, range_words, share_words
from .page_words import full_name
from .program_kinds import CONTIGUOUS, KINDS, choices_of
from .verdicts import NEAR, verdicts_of

# What of tarn's default options serves a kind of program.
HINTS = {
    "small": "slices pack small blocks by default (TARN_SLICES)",
    "handing-over": "allocate and free with the calls that name a stream",
}


def programs_html(runs):
    of_kind = {kind: [] for kind in KINDS}
    for run in runs:
        for choice in choices_of(verdicts_of(run)):
            of_kind[choice.kind].append((run, choice))
    cards = [_card(kind, found, len(runs) > 1) for kind, found in of_kind.items() if found]
    missing = [kind.title.lower() for kind, found in of_kind.items() if not found and kind.name != "others"]
    return joined(
        element("p", "The pool to take, by kind of program, as these results have it: over all workloads of a kind, "
                     "by the geometric mean of the times. Pools within ", NEAR_PERCENT, " are level. Each answer "
                     "names what speaks against it."),
        element("div", *cards, class_="programs") if cards else "",
        element("p", "These results say nothing about: ", ", ".join(missing), ".", class_="about") if missing else "")


def _card(kind, found, is_named):
    return element("section", element("h3", kind.title, id=f"program-{kind.name}"),
                   element("p", kind.about, class_="about"),
                   *[_answer(run.label if is_named else "", choice) for run, choice in found])


def _answer(label, choice):
    return element("div", element("div", label, class_="machine") if label else "",
                   element("p", *_winner(choice), class_="winner"),
                   element("p", *_reasons(choice)), class_=f"answer {_class_of(choice)}")


def _class_of(choice):
    return choice.word if choice.word in MARKS else "level"


def _winner(choice):
    if choice.word == "nothing":
        return ["no answer"]
    peer = element("b", breakable(choice.peer or ""))
    if choice.word in ("loses", "absent"):
        return [peer]
    tarn = [element("b", breakable(choice.tarn)), _option(choice)]
    return [*tarn, " or ", peer] if choice.word == "level" else tarn


def _option(choice):
    options = options_of(choice.tarn)
    if options:
        return joined(" with ", *[joined(element("code", option), " ") for option in options])
    hint = HINTS.get(choice.kind.name)
    return f" with its default options{f'; {hint}' if hint else ''}"


# --- why ---------------------------------------------------------------------------------------------

def _reasons(choice):
    count = len(choice.workloads)
    workloads = "1 workload" if count == 1 else f"{count} workloads"
    if choice.word == "nothing":
        says = [f"No pool has a figure for each of {workloads}."]
    elif choice.word == "absent":
        others = len(choice.measured) - 1
        says = [f"The best of {others + 1}" if others else "Nothing else was measured",
                f", on {workloads}. tarn has no figure for all of them."]
    elif choice.word == "alone":
        says = [f"No other pool was compared, on {workloads}."]
    else:
        says = _against_the_peer(choice, workloads)
    if choice.tarn and choice.kind.is_about_memory:
        says.append(_held(choice))
    if choice.incomplete:
        says.append(f" Not on all workloads, and left out: {shown.named_list(choice.incomplete)}.")
    if choice.kind.is_about_memory and CONTIGUOUS not in choice.names:
        says += [" ", breakable(CONTIGUOUS), ", meant for tight memory, was not measured here."]
    return says


def _against_the_peer(choice, workloads):
    winner, other = (choice.peer, choice.tarn) if choice.word == "loses" else (choice.tarn, choice.peer)
    times = choice.overall(winner) / choice.overall(other)
    compared = _memory_compared if choice.kind.is_about_memory else _speed_compared
    says = [*compared(other, times, choice.spread_of_times(winner, other)), f", on {workloads}.", *_losses(choice)]
    if not choice.kind.is_about_memory:
        says.append(_memory(choice, winner, other))
    return says


def _place_of(other):
    return "" if is_tarn(other) else ", the next"


def _speed_compared(other, times, spread):
    return [f"{shown.ratio(times)} as fast as ", breakable(other), _place_of(other), range_words(spread)]


def _memory_compared(other, times, spread):
    """As memory, of which less is better."""
    least, _, most = (shown.close_ratio(1 / times) for times in reversed(spread))
    return [f"Holds {shown.close_ratio(1 / times)} the memory of ", breakable(other), _place_of(other),
            f" ({least} to {most})" if least != most else ""]


def _losses(choice):
    lost = choice.lost()
    if not lost:
        return [" ", breakable(choice.tarn), " loses on none."] if choice.word != "loses" else []
    key, name, times = lost[0]
    share = share_words(len(lost), len(choice.workloads))
    return [" ", element("strong", breakable(choice.tarn), f" loses on {share}"), ", the most on ",
            breakable(full_name(key)), ", where ", breakable(name),
            f" holds {shown.close_ratio(1 / times)} its memory." if choice.kind.is_about_memory else
            f" is {shown.ratio(times)} as fast."]


def _memory(choice, winner, other):
    times = choice.memory_beside(winner, other)
    if times is None or 1 / NEAR < times < NEAR:
        return ""
    return joined(f" Holds {shown.ratio(times)} the memory of ", breakable(other), " there.")


def _held(choice):
    names = [name for name in choice.measured if is_tarn(name) or name == choice.peer]
    told = shown.named_list([f"{name} {shown.close_ratio(1 / choice.overall(name))}" for name in names])
    return joined(" Held by live: ", breakable(told), ".")
