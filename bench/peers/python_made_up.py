# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The made-up workloads. Names, sizes and order are those of tarn-bench for the same options and seed. The C file of the
same name tells what each is for.
"""

from python_numbers import show_size
from python_random import Random
from python_workloads import GROWTH, STREAMS, THREADS, Workload

PAIRS_MIN = 20000  # of live, churn and threads
HOT_BYTES = 1024
SWEEP_PAIRS = 1000
HOLES_MAX = 10000
STREAM_TURNS_MIN = 1024
CHUNK_BYTES = 1024  # pools round sizes up to it
PIECE_BYTES = 2 << 20


def show_range(size_range):
    return " to ".join(map(show_size, size_range))


# --- one block --------------------------------------------------------------------------------------


def _one_block(bench, size):
    return Workload(bench, show_size(size), [], [(0, size), (0, -1)] * SWEEP_PAIRS, 1, unit_count=2)


def make_hot():
    return [_one_block("hot", HOT_BYTES)]


def choose_sizes(room_bytes):
    """Powers of 16, and last the largest power of two that the device has room for."""
    if room_bytes == 0:
        return []
    largest = 1 << room_bytes.bit_length() - 1
    sizes = [16**i for i in range(16) if 16**i <= room_bytes]
    return sizes if sizes[-1] == largest else [*sizes, largest]


def make_sweep(sizes):
    return [_one_block("sweep", size) for size in sizes]


# --- live -------------------------------------------------------------------------------------------


def _make_one_live(live_count, size_range, seed):
    random = Random(seed)
    slots = list(range(live_count))
    random.shuffle(slots, live_count)
    hole_count = max(min(live_count // 10, HOLES_MAX), 1)
    setup = [(slot, random.log_uniform(*size_range)) for slot in range(live_count)]
    setup += [(slot, -1) for slot in slots[:hole_count]]
    body = []
    for _ in range(0, PAIRS_MIN, hole_count):
        body += [(slot, random.log_uniform(*size_range)) for slot in slots[:hole_count]]
        random.shuffle(slots, hole_count)
        body += [(slot, -1) for slot in slots[:hole_count]]
    name = f"{live_count} of {show_range(size_range)}"
    return Workload("live", name, setup, body, live_count, unit_count=2 * hole_count)


def make_live(counts, size_ranges, seed):
    return [_make_one_live(count, size_range, seed) for size_range in size_ranges for count in counts]


# --- churn, threads ---------------------------------------------------------------------------------


def _churn_setup(random, first_slot, live_count, size_range):
    return [(first_slot + i, random.log_uniform(*size_range)) for i in range(live_count)]


def _churn_body(random, first_slot, live_count, size_range):
    body = []
    for _ in range(max(2 * live_count, PAIRS_MIN)):
        slot = first_slot + random.below(live_count)
        body += [(slot, -1), (slot, random.log_uniform(*size_range))]
    return body


def _churn_lists(part_count, live_count, size_range, seed):
    """(setup, body), part after part."""
    random = Random(seed)
    firsts = [i * live_count for i in range(part_count)]
    setup = [operation for first in firsts for operation in _churn_setup(random, first, live_count, size_range)]
    body = [operation for first in firsts for operation in _churn_body(random, first, live_count, size_range)]
    return setup, body


def make_churn(live_counts, size_range, seed):
    return [Workload("churn", f"{count} of {show_range(size_range)}", *_churn_lists(1, count, size_range, seed), count,
                     unit_count=2, shows_memory=True) for count in live_counts]


def _make_one_threads(thread_count, live_count, size_range, seed, is_shared, has_one_stream):
    name = (f"{thread_count} x {live_count} of {show_range(size_range)}" + (", shared" if is_shared else "") +
            (", one stream" if has_one_stream else ""))
    return Workload("threads", name, *_churn_lists(thread_count, live_count, size_range, seed),
                    thread_count * live_count, method=THREADS, unit_count=2, part_count=thread_count,
                    is_shared=is_shared, has_one_stream=has_one_stream)


def make_threads(thread_counts, live_counts, size_range, seed, is_shared, has_one_stream):
    return [_make_one_threads(threads, live, size_range, seed, is_shared, has_one_stream)
            for live in live_counts for threads in thread_counts]


# --- streams ----------------------------------------------------------------------------------------


def _stream_setup(sizes):
    """One more block makes the sum a whole number of the pieces that device memory comes in."""
    setup = list(enumerate(sizes))
    rest = sum(-(-size // CHUNK_BYTES) * CHUNK_BYTES for size in sizes) % PIECE_BYTES
    return setup if rest == 0 else [*setup, (len(sizes), PIECE_BYTES - rest)]


def _make_one_streams(stream_count, live_count, size_range, seed, hands_on):
    random = Random(seed)
    sizes = []
    for _ in range(live_count):
        sizes += [random.log_uniform(*size_range)] * stream_count
    setup = _stream_setup(sizes)
    round_of_turns = [operation for slot, size in enumerate(sizes) for operation in ((slot, -1), (slot, size))]
    body = round_of_turns * -(-STREAM_TURNS_MIN // len(sizes))
    name = f"{stream_count} x {live_count} of {show_range(size_range)}, {'handed on' if hands_on else 'own'}"
    return Workload("streams", name, setup, body, len(setup), method=STREAMS, unit_count=2,
                    stream_count=stream_count, hands_on=hands_on)


def make_streams(stream_counts, live_counts, size_range, seed):
    """With one stream there is no other to hand blocks on to."""
    return [_make_one_streams(streams, live, size_range, seed, hands_on)
            for live in live_counts for streams in stream_counts
            for hands_on in ((False, True) if streams > 1 else (False,))]


# --- growth -----------------------------------------------------------------------------------------


def _make_one_growth(live_bytes, size_range, seed):
    random = Random(seed)
    allocs = []
    left = live_bytes
    while left > 0:
        allocs.append((len(allocs), min(random.log_uniform(*size_range), left)))
        left -= allocs[-1][1]
    slots = list(range(len(allocs)))
    random.shuffle(slots, len(slots))
    name = f"to {show_size(live_bytes)} of {show_range(size_range)}"
    return Workload("growth", name, [], allocs + [(slot, -1) for slot in slots], len(slots), method=GROWTH)


def make_growth(growth_sizes, size_range, seed):
    return [_make_one_growth(size, size_range, seed) for size in growth_sizes]
