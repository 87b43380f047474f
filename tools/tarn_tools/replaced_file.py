# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
replaced_file: files that are either whole or absent.

Output goes to a file beside the wanted one, which replaces it at the end. If anything fails before, the old file
stays unchanged and nothing is left behind. A link stays a link, and the file that it leads to is replaced. A pipe or
a device is written to directly.
"""

import contextlib
import os
import stat
import sys
import tempfile

from .failure import Failure, reason_of


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _mode_of(path):
    """Returns the mode of the file that is replaced, or of a new one."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return 0o666 & ~_umask()


@contextlib.contextmanager
def replaced_file(path):
    """Yields a binary file that becomes `path`; "-" is the standard output. Its errors are Failures."""
    if path == "-" and not sys.stdout:
        raise Failure("the standard output is closed")
    with _failures_of("the standard output" if path == "-" else path):
        if path == "-":
            yield sys.stdout.buffer
            sys.stdout.flush()
        elif os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                yield file
        else:
            with _file_beside(os.path.realpath(path)) as file:
                yield file


@contextlib.contextmanager
def _file_beside(path):
    handle, beside = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".tarn-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(beside, _mode_of(path))
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


@contextlib.contextmanager
def _failures_of(path):
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {reason_of(error)}") from None


def write_text(path, text):
    write_bytes(path, text.encode("utf-8", "replace"))


def write_bytes(path, content):
    with replaced_file(path) as file:
        file.write(content)


def make_folder(path):
    with _failures_of(path):
        os.makedirs(path, exist_ok=True)
