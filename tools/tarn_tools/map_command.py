# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""map_command: tarn-map, a picture of a pool."""

import argparse
import os

from . import failure
from .dump import read_dump
from .failure import BadInput
from .map_page import map_html
from .map_picture import MapPicture
from .replaced_file import write_bytes, write_text
from .system_python import go_on_where_there_is

EPILOG = """
tarn_pool_dump(pool, TARN_DUMP_FORMAT_JSON, file) writes the dump. The name of the output selects the kind of
picture; html adds tables of live memory by label and size. png needs matplotlib (package python3-matplotlib). Exit
status: 0 success; 1 the picture cannot be written, or matplotlib is missing; 2 the command line is wrong, or the
file is not a dump.
"""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tarn-map", epilog=EPILOG,
                                     description="Draws the dump of a pool: its static pools to scale, with live, "
                                                 "pending and free regions.")
    parser.add_argument("dump", metavar="DUMP.json", help="a dump that tarn_pool_dump has written as JSON")
    parser.add_argument("-o", "--output", metavar="PICTURE.svg|png|html",
                        help="the picture (default: the dump's name with .svg, in the current folder)")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    base = os.path.splitext(os.path.basename(options.dump))[0]
    output = options.output or f"{base}.svg"
    kind = os.path.splitext(output)[1]
    if kind not in (".svg", ".png", ".html"):
        raise BadInput(f"{output}: a picture's name ends in .svg, .png or .html")
    if kind == ".png":
        go_on_where_there_is("matplotlib") # before the dump is read, which may be a pipe
    picture = MapPicture(read_dump(options.dump))
    if kind == ".svg":
        write_text(output, picture.drawing.svg())
    elif kind == ".png":
        write_bytes(output, picture.drawing.png())
    else:
        write_text(output, map_html(picture, f"{base}: a pool"))


def run():
    return failure.run("tarn-map", main)
