# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""event_source: the trace of a file of events, which TARN_TRACE writes. The text is tarn-record's."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

MAGIC = b"tarn-events 1\n"


def _find_tarn_record():
    """Returns the program's path: beside the running one, as built and as installed, else in PATH. None: there is none."""
    beside = Path(sys.argv[0]).parent / "tarn-record"
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("tarn-record")


class EventSource(io.RawIOBase):
    """failure: once the text has ended, why it is not whole, or None. The caller asks."""

    def __init__(self, path):
        super().__init__()
        self.failure = None
        self._process = None
        program = _find_tarn_record()
        if program:
            self._process = subprocess.Popen([program, "--recover", path, "-o", "-"], stdin=subprocess.DEVNULL,
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        else:
            self.failure = f"{path}: is a file of events, which tarn-record reads; it is not beside this program or in PATH"

    def readable(self):
        return True

    def readinto(self, room):
        count = self._process.stdout.readinto(room) if self._process else 0
        if count == 0 and self._process:
            said = self._process.stderr.read().decode("utf-8", "surrogateescape").strip()
            if self._process.wait() != 0:
                self.failure = said.removeprefix("tarn-record: ") or "tarn-record has ended before the trace"
            self._end()
        return count

    def _end(self):
        self._process.stdout.close() # tarn-record ends if it still writes
        self._process.stderr.close()
        self._process.wait()
        self._process = None

    def close(self):
        if self._process:
            self._end()
        super().close()
