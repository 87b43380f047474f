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
The dump is what tarn_pool_dump(pool, TARN_DUMP_FORMAT_JSON, file) writes. The kind of picture follows from the name
of the output; html adds tables of what is live by label and size. png needs matplotlib (package
python3-matplotlib). Exit status: 0 it is drawn; 1 it cannot be written, or matplotlib is missing; 2 the command
line is wrong or the file is no dump.
"""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tarn-map", epilog=EPILOG,
                                     description="Draws the dump of a pool: its static pools to scale, with what is "
                                                 "live, pending and free.")
    parser.add_argument("dump", metavar="DUMP.json", help="what tarn_pool_dump has written as JSON")
    parser.add_argument("-o", "--output", metavar="PICTURE.svg|png|html",
                        help="(default: the dump's name with .svg, in the current folder)")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    base = os.path.splitext(os.path.basename(options.dump))[0]
    output = options.output or f"{base}.svg"
    kind = os.path.splitext(output)[1]
    if kind not in (".svg", ".png", ".html"):
        raise BadInput(f"{output}: a picture's name ends in .svg, .png or .html")
    if kind == ".png":
        go_on_where_there_is("matplotlib") # before the dump is read, of a pipe perhaps
    picture = MapPicture(read_dump(options.dump))
    if kind == ".svg":
        write_text(output, picture.drawing.svg())
    elif kind == ".png":
        write_bytes(output, picture.drawing.png())
    else:
        write_text(output, map_html(picture, f"{base}: a pool"))


def run():
    return failure.run("tarn-map", main)
