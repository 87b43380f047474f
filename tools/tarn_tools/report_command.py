# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""report_command: tarn-report, a page of results of tarn-bench and device_heap_bench."""

import glob
import os

from . import failure
from .allocators import Palette
from .command_line import Parser, check_output, tell_written
from .csv_table import csv_text
from .failure import BadInput
from .page import page_html
from .progress import Progress
from .replaced_file import make_folder, write_bytes, write_text
from .result_files import read_results
from .runs import runs_of
from .shown import counted
from .system_python import go_on_where_there_is

DEFAULT_PAGE = "tarn-report.html"
DEFAULT_TITLE = "Which allocator?"

EPILOG = """
Files of one machine and build form one run; several machines, vendors or commits stand side by side. The page needs
no network and no script. Exit status: 0 success; 1 the page cannot be written, or matplotlib is missing (package
python3-matplotlib); 2 the command line is wrong, a file is not from `tarn-bench --json` or `device_heap_bench --json`,
or an output exists and --force is not given; 130 or 143 interrupted. On failure nothing is written.
"""


def parser():
    parser = Parser(prog="tarn-report", epilog=EPILOG,
                    description="Makes one page of the results of tarn-bench --json and device_heap_bench --json: who "
                                "wins where, plots, and tables.")
    parser.add_argument("files", nargs="+", metavar="FILE.json", help="results of tarn-bench --json or "
                        "device_heap_bench --json, plain or compressed by gzip")
    parser.add_argument("-o", "--output", metavar="PAGE.html",
                        help=f"the page (default {DEFAULT_PAGE}, or none if only other files are requested; - is the "
                             "standard output)")
    parser.add_argument("--png", metavar="DIR", help="the plots as PNG files in a folder")
    parser.add_argument("--svg", metavar="DIR", help="the plots as SVG files in a folder")
    parser.add_argument("--csv", metavar="FILE", help="all results as a table, one row a result")
    parser.add_argument("--title", metavar="TEXT", default=DEFAULT_TITLE, help="of the page (default: %(default)s)")
    parser.add_force()
    return parser


def parse(arguments):
    options = parser().parse_args(arguments)
    if not (options.output or options.png or options.svg or options.csv):
        options.output = DEFAULT_PAGE
    return options


def check_folder(folder, suffix, force):
    if folder and not force and glob.glob(os.path.join(glob.escape(folder), f"*.{suffix}")):
        raise BadInput(f"{folder}: has .{suffix} files already; --force replaces those of the same names")


def write_plots(folder, suffix, content_of, charts):
    make_folder(folder)
    with Progress("tarn-report", f"writing {suffix}") as progress:
        for number, chart in enumerate(charts):
            progress.tell(number, len(charts))
            write_bytes(os.path.join(folder, f"{chart.name}.{suffix}"), content_of(chart))
    tell_written("tarn-report", folder, f": {counted(len(charts), 'plot')}")


def draw(runs, palette, has_page):
    """Returns all figures and their charts; for a page with the slow part done, and told how far that is."""
    from .figures import all_figures
    figures = all_figures(runs, palette)
    charts = [chart for figure in figures for chart in figure.charts]
    with Progress("tarn-report", "drawing") as progress:
        for number, chart in enumerate(charts if has_page else []):
            progress.tell(number, len(charts))
            chart.page_file # the chart keeps it
    return figures, charts


def main(arguments=None):
    options = parse(arguments)
    has_plots = options.output or options.png or options.svg
    for output in (options.output, options.csv):
        check_output(output, options.files, options.force)
    check_folder(options.png, "png", options.force)
    check_folder(options.svg, "svg", options.force)
    if has_plots:
        go_on_where_there_is("matplotlib") # before any input is read, which may be a pipe
    runs = runs_of([read_results(path) for path in options.files])
    palette = Palette([*(result.allocator for run in runs for result in run.results),
                       *(result.heap for run in runs for result in run.heap_results)])
    if has_plots:
        figures, charts = draw(runs, palette, bool(options.output))
        if options.png:
            write_plots(options.png, "png", lambda chart: chart.png_file, charts)
        if options.svg:
            write_plots(options.svg, "svg", lambda chart: chart.svg_file, charts)
    if options.csv:
        write_text(options.csv, csv_text(runs))
        tell_written("tarn-report", options.csv)
    if options.output:
        write_text(options.output, page_html(options.title, runs, palette, figures))
        tell_written("tarn-report", options.output)


def run():
    return failure.run("tarn-report", main)
