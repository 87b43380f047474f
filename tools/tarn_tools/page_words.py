# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_words: names of benches on a page, their order, and what each measures."""

from . import workload_name

ORDER = ("replay", "hot", "sweep", "live", "churn", "threads", "streams", "growth", "patterns", "adapt")
TITLES = {"replay": "Recorded traces", "hot": "One block", "sweep": "By size", "live": "By number of live blocks",
          "churn": "Random replacement", "threads": "Several threads", "streams": "Between streams",
          "growth": "Growth", "adapt": "A mesh that adapts"}
ABOUT = {
    "replay": "What real programs asked for, in their order; faithful: in their threads and on their streams, too.",
    "hot": "The same block of 1 KB, allocated and freed again and again: what a call costs at the least.",
    "sweep": "One block at a time, allocated and freed, by its size.",
    "live": "Of so many live blocks a tenth, at random places, is allocated and freed again.",
    "churn": "A random live block is freed and one of a new random size takes its place.",
    "threads": "Random replacement by several threads at once. Rates are those of all threads together.",
    "streams": "Blocks go round between streams, each filled there: own, on the stream that freed it; handed on, on "
               "the next one. Times are until all streams have done their work, which is in them and takes the same "
               "for all.",
    "growth": "From nothing to so many live bytes, and back: what a pool costs that has to take memory from the "
              "vendor.",
    "adapt": "A whole program, tarn-mesh-adapt: with the vendor's own calls, and with a pool.",
}


def title_of(bench):
    return TITLES.get(bench, bench)


def in_order(benches):
    return sorted(benches, key=lambda bench: ORDER.index(bench) if bench in ORDER else len(ORDER))


def title_of_kind(kind):
    """Of workload_name.kind_of."""
    bench, qualifiers = workload_name.parts_of(kind)
    return workload_name.joined(title_of(bench), qualifiers)


def anchor_of(bench):
    """Returns the link to its section; an unknown name may have letters that an anchor cannot."""
    return bench if bench in ORDER else f"bench-{in_hexadecimal(bench)}"


def in_hexadecimal(text):
    return "".join(f"{byte:02x}" for byte in text.encode())


def full_name(key):
    """The name of a workload alone; a trace's name needs no bench."""
    return key[1] if key[0] == "replay" else f"{key[0]}: {key[1]}"
