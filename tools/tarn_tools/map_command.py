# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""map_command: tarn-map, a picture of pools."""

import argparse
import os

from . import failure
from .command_line import Parser, check_output, tell_written
from .dump import read_dumps
from .failure import BadInput
from .map_page import map_html
from .map_paint import COLOUR_BY
from .map_picture import WIDTH, MapPicture
from .replaced_file import write_bytes, write_text
from .system_python import go_on_where_there_is

EPILOG = """
TARN_MAP=FILE in the environment of a program writes the dump of its pools at its end, TARN_MAP=signal:FILE at each
SIGUSR2; tarn_pool_dump(pool, TARN_DUMP_FORMAT_JSON, file) writes that of one pool. The name of the output selects the
kind of picture. html suits narrow screens too, and adds tables of live memory by label and size. png needs matplotlib
(package python3-matplotlib). Colours: by label, what is live; by stream, what is pending; by age, what is live in pools
in debug mode, which number their allocations. Exit status: 0 success; 1 the picture cannot be written, or matplotlib is
missing; 2 the command line is wrong, the file is not a dump, or the picture exists and --force is not given; 130 or 143
interrupted.
"""
WIDTH_MIN, WIDTH_MAX = 300, 10_000


def width_of(text):
    if not text.isdigit() or not WIDTH_MIN <= int(text) <= WIDTH_MAX:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from {WIDTH_MIN} to {WIDTH_MAX}")
    return int(text)


def parser():
    parser = Parser(prog="tarn-map", epilog=EPILOG,
                    description="Draws the dump of pools: their static pools to scale, with live, pending and free "
                                "regions.")
    parser.add_argument("dump", metavar="DUMP.json", help="a dump that tarn_pool_dump has written as JSON, or TARN_MAP")
    parser.add_argument("-o", "--output", metavar="PICTURE.svg|png|html",
                        help="the picture (default: the dump's name with .svg, in the current folder)")
    parser.add_argument("--color", metavar="WHAT", choices=COLOUR_BY, default=COLOUR_BY[0],
                        help=f"what the colours tell: {', '.join(COLOUR_BY)} (default: %(default)s)")
    parser.add_argument("--width", metavar="PIXELS", type=width_of, default=WIDTH,
                        help="of svg and png; 360 suits a phone (default: %(default)s)")
    parser.add_force()
    return parser


def main(arguments=None):
    options = parser().parse_args(arguments)
    base = os.path.splitext(os.path.basename(options.dump))[0]
    output = options.output or f"{base}.svg"
    kind = os.path.splitext(output)[1]
    if kind not in (".svg", ".png", ".html"):
        raise BadInput(f"{output}: a picture's name ends in .svg, .png or .html")
    check_output(output, [options.dump], options.force)
    if kind == ".png":
        go_on_where_there_is("matplotlib") # before the dump is read, which may be a pipe
    dumps = read_dumps(options.dump)
    if kind == ".html":
        write_text(output, map_html(dumps, f"{base}: a map of memory", options.color))
    else:
        drawing = MapPicture(dumps, options.width, options.color).drawing
        write_bytes(output, drawing.png() if kind == ".png" else drawing.svg().encode())
    tell_written("tarn-map", output)


def run():
    return failure.run("tarn-map", main)
