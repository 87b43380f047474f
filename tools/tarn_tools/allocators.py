# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
allocators: the description of each known allocator, and its colour, marker and dashes.

An allocator has one colour over a whole page, and no two on a page have the same marker and dashes. The colours of
known allocators differ even for eyes that lack one kind of cones (tests/tools/test_allocators.py computes it), and
no page says anything by colour alone. Each colour has a form for light and for dark paper. Allocators that were
called through Python have hollow markers.
"""

import itertools

# Peers are the pools that a program could use instead of tarn. These are not peers.
NO_PEERS = ("raw", "ordered-sets")
NO_ALLOCATORS = ("harness", "null") # the cost of the benchmark itself

# They write into the memory that they hand out, which no pool of device memory may: what an allocation costs at the
# least on a processor, and no rivals.
FLOOR = ("jemalloc", "mimalloc", "libc-malloc")

WHAT_THEY_ARE = {
    "raw": "the vendor's own calls",
    "tarn": "a pool of tarn with the default options",
    "vendor-pool": "the vendor's stream-ordered pool",
    "vendor-pool:release": "the vendor's stream-ordered pool, which releases free memory at each synchronisation",
    "cub": "the caching allocator of CUDA's CUB",
    "ordered-sets": "the pool of today's mesh codes, over the C++ library's ordered sets; has no lock",
    "torch": "PyTorch's caching allocator, called from C++",
    "torch:expandable": "PyTorch's caching allocator with expandable segments, called from C++",
    "torch-python": "PyTorch's caching allocator, through Python",
    "cupy-python": "CuPy's memory pool, through Python",
    "jemalloc": "jemalloc; writes into the memory that it hands out",
    "mimalloc": "mimalloc; writes into the memory that it hands out",
    "libc-malloc": "the C library's malloc; writes into the memory that it hands out",
    "umpire": "Umpire's QuickPool",
    "umpire:list": "Umpire's DynamicPoolList",
    "umf": "the Unified Memory Framework's pool",
}
RAW_BY_BACKEND = {"cuda": "cudaMalloc and cudaFree", "hip": "hipMalloc and hipFree",
                  "ze": "zeMemAllocDevice and zeMemFree", "host": "mmap and munmap"}
POOL_BY_BACKEND = {"cuda": "cudaMallocAsync and cudaFreeAsync", "hip": "hipMallocAsync and hipFreeAsync"}
OPTIONS = {"contiguous": "TARN_CONTIGUOUS=1", "lean": "TARN_PRESET=lean", "first_fit": "TARN_FIT=first_fit",
           "segregated_fit": "TARN_FIT=segregated_fit", "tlsf": "TARN_FIT=tlsf", "slack": "TARN_STREAM_SLACK=0.25"}
MODES = {"contiguous": "in one range of addresses", "lean": "of the lean preset",
         "first_fit": "that places by first fit", "segregated_fit": "that places by segregated fit",
         "tlsf": "that places by tlsf", "slack": "with slack for streams"}

# Light paper, dark paper, marker of matplotlib, dashes; in the order of all lists.
_KNOWN = {
    "tarn": ("#0a58b0", "#6cb2ff", "o", "-"),
    "tarn:contiguous": ("#8b001c", "#fcc064", "h", "--"),
    "tarn:lean": ("#7c9442", "#fb64e3", "s", "--"),
    "tarn:first_fit": ("#704a74", "#93639b", "p", ":"),
    "tarn:segregated_fit": ("#163d07", "#20817a", "8", "--"),
    "tarn:tlsf": ("#53052e", "#1cffa1", "*", ":"),
    "vendor-pool": ("#bf3a08", "#ff7a33", "^", "-"),
    "vendor-pool:release": ("#7e1b4f", "#c57297", "d", "--"),
    "cub": ("#1c8a5a", "#2fae7d", "v", "-"),
    "torch": ("#f33588", "#e70011", "D", "-"),
    "torch-python": ("#450062", "#d306be", "D", "--"),
    "cupy-python": ("#cd45fb", "#9a6cff", "X", "--"),
    "umpire": ("#d860ac", "#e4908b", "p", "-"),
    "umpire:list": ("#716d36", "#617a4c", "*", "--"),
    "umf": ("#5f2967", "#b3edc0", "H", "-"),
    "jemalloc": ("#205633", "#ba8ebc", "<", "-"),
    "mimalloc": ("#2f9dc0", "#1fffff", ">", "-"),
    "libc-malloc": ("#a5305e", "#fb1752", "8", "-"),
    "ordered-sets": ("#ad8507", "#d6fd06", "P", "--"),
    "raw": ("#62666d", "#b3b8bf", "s", "-"),
    "cuda": ("#c4460c", "#ff8a45", "^", "--"), # heaps in kernels: heap_words.py
    "bump": ("#5c6169", "#b9bec5", "s", ":"),
}
_TARNS = (("#2f6f6a", "#8fd6cf", "d", ":"), ("#8a6a10", "#e3cf7a", "H", ":"), ("#7a3f1a", "#e0a98a", "1", ":"),
          ("#a03c78", "#f0a6d0", "2", ":"), ("#4f7a24", "#b5e08a", "3", ":"))
_OTHERS = (("#b04a7a", "#f2a3c6", "<", "--"), ("#5f7a1f", "#bfdc74", ">", "--"), ("#8a4fa0", "#d7a6ea", "4", "--"),
           ("#a8452f", "#f0927d", "+", "--"), ("#2f7a5a", "#7fd9b1", "x", "--"), ("#75641f", "#d8c46c", "1", "-."),
           ("#9a2f86", "#ec8fdc", "2", "-."), ("#4d4d8f", "#adade8", "3", "-."), ("#7d5a4a", "#cfae9f", "d", "-."))


def is_tarn(name):
    return name == "tarn" or name.startswith("tarn:")


def is_through_python(name):
    return name.endswith("-python")


def is_floor(name):
    return name.split(":")[0] in FLOOR


def is_peer(name):
    return not is_tarn(name) and not is_floor(name) and name not in NO_PEERS and name not in NO_ALLOCATORS


def what_it_is(name, backends):
    """Returns a short description, with the names of the vendors' calls if all runs have one backend."""
    backend = next(iter(backends)) if len(backends) == 1 else None
    if name == "raw" and backend in RAW_BY_BACKEND:
        return f"{WHAT_THEY_ARE[name]}: {RAW_BY_BACKEND[backend]}"
    if name == "vendor-pool" and backend in POOL_BY_BACKEND:
        return f"{WHAT_THEY_ARE[name]}: {POOL_BY_BACKEND[backend]}"
    if name in WHAT_THEY_ARE:
        return WHAT_THEY_ARE[name]
    if is_tarn(name):
        return "a pool of tarn " + ", ".join(MODES.get(part, f"as {part}") for part in name.split(":")[1:])
    known = next((known for known in WHAT_THEY_ARE if name.startswith(known + ":")), None)
    return f"{WHAT_THEY_ARE[known]}, as {name[len(known) + 1:]}" if known else name


def options_of(name):
    """The variables that give a mode of tarn; none for its default."""
    return [OPTIONS.get(part, part) for part in name.split(":")[1:]]


class Style:
    def __init__(self, name, number, look):
        self.name = name
        self.variable = f"--allocator-{number}"
        self.light, self.dark, self.marker, self.dashes = look
        self.width = 2.4 if name == "tarn" else 1.4
        self.is_hollow = is_through_python(name)


class Palette:
    """The styles of a page's allocators, in the order of all lists."""

    def __init__(self, names):
        tarns, others = itertools.cycle(_TARNS), itertools.cycle(_OTHERS)
        self.styles = {}
        for number, name in enumerate(sorted(set(names), key=_place)):
            look = _KNOWN.get(name) or next(tarns if is_tarn(name) else others)
            self.styles[name] = Style(name, number, look)

    def __getitem__(self, name):
        return self.styles[name]

    def __iter__(self):
        return iter(self.styles.values())

    def in_order(self, names):
        names = set(names)
        return [name for name in self.styles if name in names]


def _place(name):
    """Order: tarn, its other modes, the peers, the ordered sets, raw, the floor; known ones in their own order."""
    known = list(_KNOWN).index(name) if name in _KNOWN else len(_KNOWN)
    kind = 0 if is_tarn(name) else 3 if is_floor(name) else 2 if name in NO_PEERS else 1
    return (kind, known, name)
