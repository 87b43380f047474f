# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Ctrl-C and SIGTERM ask the program to end. The request is kept, and checked between steps, which take a second or so.
An exception at any place, such as a constructor or a __del__, would leave objects half made, or be dropped. A second
signal ends the program at once.
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
