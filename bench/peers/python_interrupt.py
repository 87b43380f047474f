# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The wish to end, by Ctrl-C or SIGTERM. It is kept, and asked for between steps, which take a second or so: an exception
that comes anywhere, in the middle of a constructor or in a __del__, would leave things half made, or be dropped. Who
asks a second time does not wait.
"""

import signal

_wishes = []


def _note(number, _frame):
    _wishes.append(number)
    if len(_wishes) > 1:
        raise KeyboardInterrupt


def listen():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _note)


def end_if_wished():
    if _wishes:
        raise KeyboardInterrupt
