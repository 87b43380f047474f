# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The wish to end, by Ctrl-C or SIGTERM. It raises KeyboardInterrupt at once; but where Python calls on its own account,
in a __del__ for one, that is dropped with a message. So the wish is kept, and asked for between steps.
"""

import signal
import sys

_wishes = []


def _note(number, _frame):
    _wishes.append(number)
    raise KeyboardInterrupt


def _report_unraisable(unraisable, otherwise=sys.unraisablehook):
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        otherwise(unraisable)


def listen():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _note)
    sys.unraisablehook = _report_unraisable


def end_if_wished():
    if _wishes:
        raise KeyboardInterrupt
