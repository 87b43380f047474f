# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
command_line: what the command lines of all these programs have.

That is --help and --version for the program and each command, --force, messages that say what may have been meant, and
a line on stderr for each file that was written.
"""

import argparse
import difflib
import os
import re

from .failure import EXIT_BAD_INPUT, BadInput, say
from .version import version


class _Version(argparse.Action):
    def __init__(self, *arguments, **more):
        super().__init__(*arguments, nargs=0, default=argparse.SUPPRESS, help="print the version and exit", **more)

    def __call__(self, parser, *_):
        print(f"{parser.prog.split()[0]} {version()}")
        parser.exit()


class Parser(argparse.ArgumentParser):
    """Of a program, and of each of its commands."""

    def __init__(self, **more):
        super().__init__(**more)
        self.add_argument("--version", action=_Version)

    def add_force(self):
        self.add_argument("--force", action="store_true", help="replace files that exist")

    def words(self):
        """All options and choices, those of the commands too."""
        for action in self._actions:
            yield from action.option_strings
            for choice in action.choices or ():
                yield str(choice)
            if isinstance(action, argparse._SubParsersAction):
                for command in action.choices.values():
                    yield from command.words()

    def _hint(self, message):
        wrong = re.search(r"invalid choice: '([^']*)'|unrecognized arguments: (-[^\s=]*)", message)
        near = wrong and difflib.get_close_matches(wrong[1] or wrong[2], set(self.words()), 1, 0.6)
        return f"; did you mean '{near[0]}'?" if near else ""

    def format_help(self):
        return super().format_help().replace("usage: ", "Usage: ", 1) # as tarn-bench has it, and help2man wants it

    def error(self, message):
        self.exit(EXIT_BAD_INPUT, f"{self.prog.split()[0]}: {message}{self._hint(message)}\n"
                                  f"Try '{self.prog} --help' for more.\n")


def check_output(output, inputs, force):
    """Refuses to replace an input, since a recording would be lost, or without --force any file."""
    if not output or output == "-" or not os.path.isfile(output):
        return
    for path in inputs:
        if os.path.exists(path) and os.path.samefile(path, output):
            raise BadInput(f"{output}: is also an input, and would be replaced")
    if not force:
        raise BadInput(f"{output}: exists already; --force replaces it")


def tell_written(program, path, what=""):
    if path != "-":
        say(program, f"wrote {path}{what}")
