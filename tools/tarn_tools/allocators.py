# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
allocators: what is known of each allocator by its name, and its colour, marker and dashes.

An allocator has one colour over a whole page, and no two of a page have the same marker and dashes. The colours
of those that are known differ also to eyes that lack one kind of cones (tests/tools/test_allocators.py computes
it), and nothing on a page is told by colour alone. Each is there twice, for light and for dark paper.
"""

# The pools that a program could use instead of tarn are its peers; these are none.
NO_PEERS = ("raw", "ordered-sets")
NO_ALLOCATORS = ("harness", "null") # what the benchmark itself costs

WHAT_THEY_ARE = {
    "raw": "the vendor's own calls",
    "tarn": "a pool of tarn with the default options",
    "vendor-pool": "the vendor's stream-ordered pool",
    "vendor-pool:release": "the same, giving back what is free whenever something synchronises",
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
MODES = {"contiguous": "in one range of addresses", "cached": "with a thread cache"}

# Light paper, dark paper, marker of matplotlib, dashes.
_KNOWN = {
    "tarn": ("#0a58b0", "#6cb2ff", "o", "-"),
    "raw": ("#62666d", "#b3b8bf", "s", "-"),
    "vendor-pool": ("#bf3a08", "#ff7a33", "^", "-"),
    "cub": ("#1c8a5a", "#2fae7d", "v", "-"),
    "ordered-sets": ("#b08a00", "#ffdd33", "P", "--"),
    "torch-python": ("#7a0052", "#e0559f", "D", "-"),
    "cupy-python": ("#9d3bf0", "#9a6cff", "X", "-"),
    "jemalloc": ("#4a2a0a", "#b9f08a", "<", "-"),
    "mimalloc": ("#2f9dc0", "#55f0ff", ">", "-"),
}
_TARNS = (("#2f8fc4", "#9ad4f0", "h", "--"), ("#4f5fd6", "#a5adff", "p", "--"), ("#007a99", "#5cc8e0", "8", "--"),
          ("#17407a", "#8fb4e8", "*", "--"), ("#5c84a8", "#bcd3e8", "d", "--"), ("#3a76f0", "#86a9ff", "H", ":"),
          ("#0f9aa8", "#7fe0e6", "1", ":"), ("#6a7fb5", "#c2cbe8", "2", ":"), ("#10629e", "#72bdf5", "3", ":"))
_OTHERS = (("#b04a7a", "#f2a3c6", "<", "--"), ("#5f7a1f", "#bfdc74", ">", "--"), ("#8a4fa0", "#d7a6ea", "4", "--"),
           ("#a8452f", "#f0927d", "+", "--"), ("#2f7a5a", "#7fd9b1", "x", "--"), ("#75641f", "#d8c46c", "1", "-."),
           ("#9a2f86", "#ec8fdc", "2", "-."), ("#4d4d8f", "#adade8", "3", "-."), ("#7d5a4a", "#cfae9f", "d", ":"))


def is_tarn(name):
    return name == "tarn" or name.startswith("tarn:")


def is_peer(name):
    return not is_tarn(name) and name not in NO_PEERS and name not in NO_ALLOCATORS


def what_it_is(name, backends):
    """In a few words, with the names of the vendors' calls where all runs have one backend."""
    backend = next(iter(backends)) if len(backends) == 1 else None
    if name == "raw" and backend in RAW_BY_BACKEND:
        return f"{WHAT_THEY_ARE[name]}: {RAW_BY_BACKEND[backend]}"
    if name == "vendor-pool" and backend in POOL_BY_BACKEND:
        return f"{WHAT_THEY_ARE[name]}: {POOL_BY_BACKEND[backend]}"
    if name in WHAT_THEY_ARE:
        return WHAT_THEY_ARE[name]
    if is_tarn(name):
        return "a pool of tarn " + ", ".join(MODES.get(part, f"that places by {part.replace('_', ' ')}")
                                            for part in name.split(":")[1:])
    return next((f"{text}: {name}" for known, text in WHAT_THEY_ARE.items() if name.startswith(known)), name)


class Style:
    def __init__(self, name, number, look):
        self.name = name
        self.variable = f"--allocator-{number}"
        self.light, self.dark, self.marker, self.dashes = look
        self.width = 2.4 if name == "tarn" else 1.4


class Palette:
    """The styles of the allocators of a page, in the order in which they are listed everywhere."""

    def __init__(self, names):
        tarns, others = iter(_TARNS * 4), iter(_OTHERS * 4)
        self.styles = {}
        for number, name in enumerate(sorted(set(names), key=_place)):
            look = _KNOWN.get(name) or next(tarns if is_tarn(name) else others, _OTHERS[-1])
            self.styles[name] = Style(name, number, look)

    def __getitem__(self, name):
        return self.styles[name]

    def __iter__(self):
        return iter(self.styles.values())

    def in_order(self, names):
        names = set(names)
        return [name for name in self.styles if name in names]


def _place(name):
    """tarn, its other modes, the peers, the ordered sets, and raw."""
    if is_tarn(name):
        return (0 if name == "tarn" else 1, name)
    known = list(_KNOWN)
    if name in NO_PEERS:
        return (4 if name == "raw" else 3, name)
    return (2, f"{known.index(name):03}" if name in known else f"999{name}")
