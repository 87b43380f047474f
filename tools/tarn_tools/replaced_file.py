# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
replaced_file: files that are whole or not there.

What is written goes to a file beside the wanted one, which takes its place at the end. When anything fails
before that, the old file stays as it was and nothing is left behind. A link stays a link, and the file that it
leads to is replaced; a pipe or a device keeps its place and is written to as it is.
"""

import contextlib
import os
import stat
import sys
import tempfile

from .failure import BadInput, Failure, reason_of


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _mode_of(path):
    """That of the file that is replaced, or of a new one."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return 0o666 & ~_umask()


def keep_inputs(output, inputs):
    """Refuses to replace a file that is read: a recording, say, would be gone."""
    if not output or output == "-" or not os.path.isfile(output):
        return
    for path in inputs:
        if os.path.exists(path) and os.path.samefile(path, output):
            raise BadInput(f"{output}: would be replaced, and is one of the files that are read")


@contextlib.contextmanager
def replaced_file(path):
    """Yields a file for bytes that becomes `path`; "-" is the standard output. Its errors are Failures."""
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
