# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""heap_words: names of device_heap_bench's tests and heaps on a page, their order, and what each measures."""

from .page_words import in_hexadecimal

TESTS = {
    "one-size": ("One size", "Each of many threads allocates one object, all of one size, in a heap that is as new "
                 "(fresh) and in one that has been used (warm), and frees one: in the order in which they were "
                 "allocated, and shuffled. The range is how far the objects lie from the first byte to the last, by "
                 "what was asked for."),
    "mixed": ("Mixed sizes", "The same, with sizes that differ from thread to thread."),
    "scaling": ("Number of threads", "So many threads allocate an object each, and free it, in a heap that has been "
                "used."),
    "churn": ("Churn", "As many threads as the device holds at once allocate, write, read and free, each again and "
              "again."),
    "steady": ("Steady state", "Threads hold objects and replace half of theirs, any, again and again. The range is "
               "how far they lie in the end from the first byte to the last, by what they have."),
    "large": ("Large objects", "Threads allocate one large object each, all at once; then they free them."),
    "oom": ("Out of memory", "More threads than the heap has room for allocate one object each: what share of the heap "
            "they get, and what share again after all has been freed."),
    "graph": ("A graph", "A list of neighbours for each vertex: made, given more edges, halved; then few vertices get "
              "very many edges, and all is dropped. Copying is in these times."),
    "latency": ("Latency", "One call on a device that does nothing else."),
    "create": ("Creation", "What it takes the host to make a heap out of a pool, and the device to prepare it."),
}
HEAPS = {
    "tarn": "tarn's device heap",
    "cuda": "CUDA's own malloc and free in kernels",
    "bump": "a pointer that moves on, the least that an allocation can cost; it manages nothing and frees nothing",
}
BOUNDS = ("bump",) # not a heap that a program could use instead


def title_of(test):
    return TESTS[test][0] if test in TESTS else test


def about(test):
    return TESTS[test][1] if test in TESTS else ""


def in_order(tests):
    known = list(TESTS)
    return sorted(tests, key=lambda test: known.index(test) if test in known else len(known))


def anchor_of(test):
    """Returns the link to its part of the page."""
    return f"device-heap-{test if test in TESTS else in_hexadecimal(test)}"
