# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
replaced_file: files that are whole or not there.

What is written goes to a file beside the wanted one, which takes its place at the end. When anything fails
before that, the old file stays as it was and nothing is left behind.
"""

import contextlib
import os
import sys
import tempfile

from .failure import Failure, reason_of


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def replaced_file(path):
    """Yields a file for bytes that becomes `path`; "-" is the standard output. Its errors are Failures."""
    if path == "-":
        yield sys.stdout.buffer
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with _failures_of(path):
            with open(path, "wb") as file: # a pipe or a device keeps its place
                yield file
        return
    with _failures_of(path):
        handle, beside = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".tarn-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            with _failures_of(path):
                file.flush()
        with _failures_of(path):
            os.chmod(beside, 0o666 & ~_umask())
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
    with replaced_file(path) as file, _failures_of(path):
        file.write(text.encode("utf-8", "replace"))


def write_bytes(path, content):
    with replaced_file(path) as file, _failures_of(path):
        file.write(content)


def make_folder(path):
    with _failures_of(path):
        os.makedirs(path, exist_ok=True)
