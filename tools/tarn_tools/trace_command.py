# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""trace_command: tarn-trace, the commands for recorded traces."""

import argparse
import json
import re
import sys
from fractions import Fraction

from . import failure
from .command_line import Parser, check_output, tell_written
from .failure import EXIT_FAILED, say
from .line_source import Fault
from .shown import counted, escaped
from .trace_anonymise import anonymise
from .trace_cut import Part, cut
from .trace_merge import merge
from .trace_reader import TraceReader
from .trace_stats import trace_stats
from .trace_stats_text import stats_text
from .trace_timeline import SLICES_MAX, timeline

EPILOG = """
A trace is text or gzip'd text, in the format of docs/file_formats.md, or a file of events as TARN_TRACE writes it, which
tarn-record reads. Output is gzip'd if its name ends in .gz; - is
the standard output. All commands are as strict as tarn-bench replay: they report the first error with its line, and
write nothing. Sizes take the suffixes K, M, G and T, times ns, us, ms and s. Exit status: 0 success; 1 a trace is
damaged, or a file cannot be written; 2 the command line is wrong, or the output exists and --force is not given; 130
or 143 interrupted.
"""

_TIME_UNITS = {"": 1, "ns": 1, "us": 1000, "ms": 1_000_000, "s": 1_000_000_000}
_SIZE_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


# --- values of options -------------------------------------------------------------------------------

def time_of(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s)?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time such as 500, 20us or 1.5s")
    return int(Fraction(match[1]) * _TIME_UNITS[match[2] or ""])


def size_of(text):
    match = re.fullmatch(r"(\d+)([KMGT])?", text)
    if not match or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size above zero such as 256, 4K or 1M")
    return int(match[1]) << _SIZE_UNITS[match[2] or ""]


def step_of(text):
    step = time_of(text)
    if step == 0:
        raise argparse.ArgumentTypeError("the step must be at least 1ns")
    return step


def count_of(text):
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a number")
    return int(text)


def factor_of(text):
    if not re.fullmatch(r"\d+(\.\d+)?(/\d*[1-9]\d*)?", text) or Fraction(text.split("/")[0]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a factor above zero such as 10, 0.5 or 1/3")
    parts = text.split("/")
    return Fraction(parts[0]) / Fraction(parts[1] if len(parts) > 1 else 1)


def _range_of(text, parse):
    first, colon, last = text.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"'{text}' is not a range such as 100:200, 100: or :200")
    bounds = (parse(first) if first else 0, parse(last) if last else None)
    if bounds[1] is not None and bounds[1] <= bounds[0]:
        raise argparse.ArgumentTypeError(f"the range '{text}' is empty")
    return bounds


def event_range(text):
    return _range_of(text, count_of)


def time_range(text):
    return _range_of(text, time_of)


# --- the commands -------------------------------------------------------------------------------------

def do_stats(options):
    found = [trace_stats(path) for path in options.traces]
    if options.json:
        print(json.dumps(found if len(found) > 1 else found[0], indent=1))
    else:
        sys.stdout.write("\n".join(stats_text(stats) for stats in found))


def do_check(options):
    status = 0
    for path in options.traces:
        reader = TraceReader(path)
        try:
            for _ in reader.events():
                pass
            print(f"{escaped(path)}: {counted(reader.event_count, 'event')}, "
                  f"{counted(len(reader.live), 'block')} left live")
        except Fault as fault:
            say("tarn-trace", str(fault))
            status = EXIT_FAILED
    return status


def do_cut(options):
    first, last = options.events or (0, options.first)
    from_ns, to_ns = options.time or (0, None)
    count, fault = cut(options.trace, options.output, Part(first, last, from_ns, to_ns), name=options.name,
                       frees_rest=options.free_rest, until_damage=options.until_damage)
    if fault:
        say("tarn-trace", f"{fault}; what comes before is kept")
    tell_written("tarn-trace", options.output, f": {counted(count, 'event')}")


def do_merge(options):
    count = merge(options.traces, options.output, name=options.name, is_aligned=options.align)
    tell_written("tarn-trace", options.output, f": {counted(count, 'event')}")


def do_anonymise(options):
    count = anonymise(options.trace, options.output, name=options.name, size_step=options.round_sizes,
                      time_step_ns=options.round_times, time_scale=options.scale_times)
    tell_written("tarn-trace", options.output, f": {counted(count, 'event')}")


def do_timeline(options):
    written, count = timeline(options.trace, options.output, options.slices)
    left_out = f", the largest of {count}; --slices N shows more" if written < count else ""
    tell_written("tarn-trace", options.output, f": {counted(written, 'allocation')}{left_out}")


# --- the command line ---------------------------------------------------------------------------------

def parser():
    parser = Parser(prog="tarn-trace", epilog=EPILOG, description="Examines and changes recorded traces of allocations.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name, run, text, many=False, writes=False, **more):
        command = commands.add_parser(name, help=text, description=text, epilog=EPILOG, **more)
        command.set_defaults(run=run)
        command.add_argument("traces" if many else "trace", nargs="+" if many else None, metavar="TRACE")
        if writes:
            command.add_argument("-o", "--output", metavar="FILE", required=True)
            command.add_force()
        return command

    command = add("stats", do_stats, "prints sizes, lifetimes, live memory over time, threads, streams", many=True)
    command.add_argument("--json", action="store_true", help="JSON, for programs")
    add("check", do_check, "checks that traces are valid", many=True)

    command = add("cut", do_cut, "extracts a part of a trace, without earlier allocations", writes=True)
    part = command.add_mutually_exclusive_group()
    part.add_argument("--first", metavar="N", type=count_of, help="the first N events")
    part.add_argument("--events", metavar="FROM:TO", type=event_range,
                      help="events by number, from 0; TO is excluded")
    part.add_argument("--time", metavar="FROM:TO", type=time_range,
                      help="events by time since the first event; TO is excluded")
    command.add_argument("--free-rest", action="store_true",
                         help="free live blocks at the end (default: leave them live; a replay frees them after)")
    command.add_argument("--until-damage", action="store_true",
                         help="accept a damaged trace and use the part before the damage")
    command.add_argument("--name", help="name of the new trace (default: the old name with -cut)")

    command = add("merge", do_merge, "merges traces in order of time, with distinct ids, streams and threads",
                  many=True, writes=True)
    command.add_argument("--align", action="store_true",
                         help="start all traces at time 0 (default: at their recorded times)")
    command.add_argument("--name", help="name of the new trace (default: merged)")

    command = add("anonymise", do_anonymise, "removes what identifies the origin of a trace: head, ids, numbers of "
                  "streams and threads, start time", writes=True, aliases=["anonymize"])
    command.add_argument("--round-sizes", metavar="SIZE", type=size_of, default=1,
                         help="round sizes up to a multiple of SIZE")
    command.add_argument("--round-times", metavar="TIME", type=step_of, default=1,
                         help="round times down to a multiple of TIME")
    command.add_argument("--scale-times", metavar="FACTOR", type=factor_of, default=Fraction(1),
                         help="multiply times before rounding them")
    command.add_argument("--name", default="anonymous", help="name of the new trace (default: %(default)s)")

    command = add("timeline", do_timeline, "writes a timeline for Perfetto (ui.perfetto.dev) or chrome://tracing",
                  writes=True)
    command.add_argument("--slices", metavar="N", type=count_of, default=SLICES_MAX,
                         help="maximum number of allocations; keeps the largest and longest (default %(default)s)")
    return parser


def main(arguments=None):
    options = parser().parse_args(arguments)
    if hasattr(options, "output"):
        check_output(options.output, getattr(options, "traces", None) or [options.trace], options.force)
    return options.run(options)


def run():
    return failure.run("tarn-trace", main)
