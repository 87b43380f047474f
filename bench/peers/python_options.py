# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line: the options of tarn-bench that have a meaning here, by its names."""

import argparse

import python_numbers

SIZE_MAX = 2**46
LIVE_MAX = 10_000_000

COMMANDS = {
    "hot": "one block of 1 KB",
    "sweep": "one block at a time, by size",
    "live": "tiny blocks and mixed ones, by the number of live ones",
    "churn": "random replacement among live blocks of all sizes",
    "threads": "churn by several threads at once on one allocator",
    "streams": "blocks that streams fill and pass on",
    "growth": "from nothing to many live bytes, and back",
    "replay": "TRACE...: the allocations of a real program, from a recorded trace",
    "all": "[TRACE...]: all of these, shorter; by default with bench/traces",
}

WITH_TRACES = ("replay", "all")
WITH_LIVE = ("churn", "threads", "streams")
WITH_RANGE = ("live", *WITH_LIVE, "growth")


def _sizes(least=1, most=SIZE_MAX):
    return lambda text: python_numbers.parse_list(text, least, most)


def _numbers(most):
    return lambda text: python_numbers.parse_list(text, 1, most, has_suffix=False)


# Options of some commands: (name, metavar, how it is read, the commands, help).
SPECIAL = (
    ("sizes", "LIST", _sizes(), ("sweep",), "sizes (default: powers of 16, and the largest power of 2 that fits)"),
    ("counts", "LIST", _numbers(LIVE_MAX), ("live",), "numbers of live blocks (default 10,100,1000,10000,100000)"),
    ("live", "LIST", _numbers(LIVE_MAX), WITH_LIVE,
     "numbers of live blocks (default as live's); of each thread (default 100), of each stream (default 16)"),
    ("threads", "LIST", _numbers(256), ("threads",), "numbers of threads (default 1,2,4,8,16)"),
    ("streams", "LIST", _numbers(64), ("streams",), "numbers of streams (default 1,2,4,8)"),
    ("until", "LIST", _sizes(), ("growth",), "bytes live at the end (default 64M,256M,1G,4G)"),
    ("size-range", "MIN,MAX", lambda text: python_numbers.parse_range(text, 1, SIZE_MAX), WITH_RANGE,
     "sizes of blocks (default 1,10 and 1,64K for live, 4K,1M for streams, else 1K,16M)"),
    ("shared", None, None, ("threads",), "each frees blocks of all threads"),
    ("one-stream", None, None, ("threads",), "all on one stream"),
)


def _field(name):
    return name.replace("-", "_")


def _make_parser(names):
    parser = argparse.ArgumentParser(
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
        description="Measures the allocators of PyTorch and CuPy from Python, on the workloads of tarn-bench.\n\n"
                    "Commands:\n" + "".join(f"  {name:<9}{text}\n" for name, text in COMMANDS.items()),
        epilog="Sizes take the suffixes K, M, G and T, powers of 1024. Exit status: 0 all was measured; 1 something "
               "failed, or no allocator was found; 2 the command line is wrong; 130 the run was interrupted.")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    parser.add_argument("traces", nargs="*", metavar="TRACE", default=[])
    parser.add_argument("--allocator", default=",".join(names), metavar="LIST",
                        help="which to compare (default %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the results to FILE as well")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="1 to 1000 (default 5)")
    parser.add_argument("--time", type=float, metavar="SECONDS",
                        help="the most that one allocator may take on one workload: fewer repetitions if needed "
                             "(default 10; all: 1)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the random workloads (default 1)")
    parser.add_argument("--device", type=int, default=0, metavar="N", help="number of the device (default 0)")
    for name, metavar, _, commands, text in SPECIAL:
        how = {"metavar": metavar} if metavar else {"action": "store_true"}
        parser.add_argument(f"--{name}", help=f"{', '.join(commands)}: {text}", **how)
    return parser


def _check_allocators(parser, options, names):
    options.allocator = options.allocator.split(",")
    for name in options.allocator:
        if name not in names:
            parser.error(f"--allocator: there is no allocator '{name}'; there are {', '.join(names)}")
        if options.allocator.count(name) > 1:
            parser.error(f"--allocator: '{name}' is named twice")


def _check_numbers(parser, options):
    if options.time is None:
        options.time = 1.0 if options.command == "all" else 10.0
    if not 1 <= options.repetitions <= 1000:
        parser.error(f"--repetitions {options.repetitions}: is not from 1 to 1000")
    if not 0 < options.time <= 3600:
        parser.error(f"--time {options.time}: must be above 0 and at most 3600 seconds")
    if not 0 <= options.seed < 2**64:
        parser.error(f"--seed {options.seed}: is not from 0 to {2**64 - 1}")
    if not 0 <= options.device < 1024:
        parser.error(f"--device {options.device}: is not from 0 to 1023")


def _read_special(parser, options):
    """A list that was not given is None: the command then has its own default."""
    for name, _, read, commands, _ in SPECIAL:
        text = getattr(options, _field(name))
        if text and options.command not in (*commands, "all"):
            parser.error(f"--{name} is an option of {', '.join(commands)} only")
        if read and text is not None:
            try:
                setattr(options, _field(name), read(text))
            except ValueError as error:
                parser.error(f"--{name} {text}: {error}")


def _check_traces(parser, options):
    if options.traces and options.command not in WITH_TRACES:
        parser.error(f"'{options.traces[0]}' is one argument too many: only replay and all take any")
    if options.command == "replay" and not options.traces:
        parser.error("replay needs the name of a trace")
    if options.json in options.traces:
        parser.error(f"--json is '{options.json}', which is a trace to play")


def parse(arguments, names):
    """Ends the program with status 2 if the command line is wrong."""
    parser = _make_parser(names)
    options = parser.parse_intermixed_args(arguments)
    _check_allocators(parser, options, names)
    _check_numbers(parser, options)
    _read_special(parser, options)
    _check_traces(parser, options)
    return options
