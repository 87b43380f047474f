# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
result_fields: checks of fields for all files of results. If a field has the wrong kind, is not a possible number or
is missing, BadInput says which field and where.
"""

import json
import os

from .failure import BadInput
from .shown import printable

# Bounds for nonzero numbers. Beyond them, ratios of ratios would exceed floating-point numbers.
NUMBER_MIN, NUMBER_MAX = 2.0 ** -80, 2.0 ** 80


class FileOfResults:
    """One file. `shown_name` is its name with its folder, without the rest of the path."""

    is_python = False # whether it has peers measured from Python beside tarn-bench
    command = ""

    def __init__(self, path, content):
        self.folder = os.path.dirname(os.path.abspath(path))
        self.shown_name = printable("/".join(os.path.abspath(path).split(os.sep)[-2:]))
        self.machine = facts_of(content, "machine", path)
        self.options = facts_of(content, "options", path)


def check_format(content, key, known, program, path):
    if content[key] != known or content[key] is True: # True equals 1
        raise BadInput(f"{path}: has {program}'s results in format {json.dumps(content[key])[:40]}; this program "
                       f"knows format {known}")


def occurrences(results, subject_of):
    """Yields each with its number among those of its subject, from 1."""
    seen = {}
    for result in results:
        subject = subject_of(result)
        seen[subject] = seen.get(subject, 0) + 1
        yield result, seen[subject]


def rows_of(content, key, path):
    rows = content.get(key, [])
    if not isinstance(rows, list):
        raise BadInput(f"{path}: \"{key}\" is not a list")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise BadInput(f"{path}: \"{key}\" has an entry, number {number}, that is not an object")
        yield number, row


def placed_rows_of(content, key, path):
    for number, row in rows_of(content, key, path):
        yield row, f"{path}: entry {number} of \"{key}\""


def text_of(row, key, where):
    text = row.get(key)
    if not isinstance(text, str) or not text:
        raise BadInput(f"{where}: has no text \"{key}\"")
    return printable(text)


def is_number(value):
    """Returns whether it is a possible number: not negative, and not larger than any machine."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and (
        value == 0 or NUMBER_MIN <= value <= NUMBER_MAX)


def number_of(row, key, where):
    value = row.get(key)
    if value is None or is_number(value):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise BadInput(f"{where}: \"{key}\" is not a possible number: {str(value)[:40]}")
    raise BadInput(f"{where}: \"{key}\" is not a number")


def facts_of(content, key, path):
    facts = content.get(key, {})
    if not isinstance(facts, dict):
        raise BadInput(f"{path}: \"{key}\" is not an object")
    for name, value in facts.items():
        if isinstance(value, (dict, list)):
            raise BadInput(f"{path}: {json.dumps(name)} in \"{key}\" is neither a text nor a number")
    return {printable(name): printable(value) if isinstance(value, str) else value for name, value in facts.items()}
