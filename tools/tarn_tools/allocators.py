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
WRITING = ("jemalloc", "mimalloc", "libc-malloc") # into the memory that they hand out, as no device pool may

WHAT_THEY_ARE = {
    "raw": "the vendor's own calls",
    "tarn": "a pool of tarn with the default options",
    "vendor-pool": "the vendor's stream-ordered pool",
    "vendor-pool:release": "the vendor's stream-ordered pool, which releases free memory at each synchronisation",
    "cub": "the caching allocator of CUDA's CUB",
    "ordered-sets": "the pool of today's mesh codes, over the C++ library's ordered sets; has no lock",
    "torch": "PyTorch's caching allocator, called from C++",
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
MODES = {"contiguous": "in one range of addresses", "first_fit": "that places by first fit",
         "segregated_fit": "that places by segregated fit", "tlsf": "that places by tlsf"}

# Light paper, dark paper, marker of matplotlib, dashes; in the order of all lists.
_KNOWN = {
    "tarn": ("#0a58b0", "#6cb2ff", "o", "-"),
    "vendor-pool": ("#bf3a08", "#ff7a33", "^", "-"),
    "vendor-pool:release": ("#7e502c", "#d2a463", "d", "--"),
    "cub": ("#1c8a5a", "#2fae7d", "v", "-"),
    "torch": ("#f9219a", "#ce0a35", "D", "-"),
    "torch-python": ("#7a0052", "#e0559f", "D", "--"),
    "cupy-python": ("#9d3bf0", "#9a6cff", "X", "--"),
    "umpire": ("#628831", "#e4eebc", "p", "-"),
    "umpire:list": ("#454805", "#68a825", "*", "--"),
    "umf": ("#0d4b33", "#aeffea", "H", "-"),
    "jemalloc": ("#4a2a0a", "#b9f08a", "<", "-"),
    "mimalloc": ("#2f9dc0", "#55f0ff", ">", "-"),
    "libc-malloc": ("#db6d73", "#c42c54", "8", "-"),
    "ordered-sets": ("#b08a00", "#ffdd33", "P", "--"),
    "raw": ("#62666d", "#b3b8bf", "s", "-"),
    "cuda": ("#c4460c", "#ff8a45", "^", "--"), # heaps in kernels: heap_words.py
    "bump": ("#5c6169", "#b9bec5", "s", ":"),
}
_TARNS = (("#2f8fc4", "#9ad4f0", "h", ":"), ("#4f5fd6", "#a5adff", "p", ":"), ("#007a99", "#5cc8e0", "8", "--"),
          ("#17407a", "#8fb4e8", "*", ":"), ("#5c84a8", "#bcd3e8", "d", ":"), ("#3a76f0", "#86a9ff", "H", ":"),
          ("#0f9aa8", "#7fe0e6", "1", ":"), ("#6a7fb5", "#c2cbe8", "2", ":"), ("#10629e", "#72bdf5", "3", ":"))
_OTHERS = (("#b04a7a", "#f2a3c6", "<", "--"), ("#5f7a1f", "#bfdc74", ">", "--"), ("#8a4fa0", "#d7a6ea", "4", "--"),
           ("#a8452f", "#f0927d", "+", "--"), ("#2f7a5a", "#7fd9b1", "x", "--"), ("#75641f", "#d8c46c", "1", "-."),
           ("#9a2f86", "#ec8fdc", "2", "-."), ("#4d4d8f", "#adade8", "3", "-."), ("#7d5a4a", "#cfae9f", "d", "-."))


def is_tarn(name):
    return name == "tarn" or name.startswith("tarn:")


def is_through_python(name):
    return name.endswith("-python")


def is_peer(name):
    return not is_tarn(name) and name not in NO_PEERS and name not in NO_ALLOCATORS


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
    """Order: tarn, its other modes, the peers, the ordered sets, raw; known ones in their own order."""
    known = list(_KNOWN).index(name) if name in _KNOWN else len(_KNOWN)
    kind = 0 if is_tarn(name) else 2 if name in NO_PEERS else 1
    return (kind, known, name)
