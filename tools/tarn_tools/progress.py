# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""progress: a line on a terminal that says how far long work is; nothing if stderr is not a terminal."""

import sys
import time

BEGIN_SECONDS = 0.5 # shorter work prints nothing
STEP_SECONDS = 0.1


class Progress:
    """Use it with `with`, which removes the line at the end."""

    def __init__(self, program, what):
        self._words = f"{program}: {what} ..."
        self._is_wanted = sys.stderr is not None and sys.stderr.isatty()
        self._next = time.monotonic() + BEGIN_SECONDS
        self._is_shown = False
        self._parts = {}

    def tell(self, done, whole, part=None):
        """Several parts of the work may run at once; each has its own figures."""
        if not self._is_wanted:
            return
        self._parts[part] = (done, whole)
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + STEP_SECONDS
        self._is_shown = True
        all_done, all_whole = map(sum, zip(*self._parts.values()))
        percent = f" {min(100 * all_done // all_whole, 100)} %" if all_whole else ""
        sys.stderr.write(f"\r{self._words}{percent}\033[K")
        sys.stderr.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._is_shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
