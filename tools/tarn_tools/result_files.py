# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""result_files: reads files of results, plain or compressed by gzip, of tarn-bench or device_heap_bench."""

import gzip
import io
import json
import zlib

from . import heap_results, results
from .failure import BadInput, reason_of

GZIP_MAGIC = b"\x1f\x8b"
FILE_BYTES_MAX = 1 << 28 # a thousand times the largest seen
KINDS = {results.KEY: (results.PROGRAM, results.ResultFile),
         heap_results.KEY: (heap_results.PROGRAM, heap_results.HeapFile)}


def read_results(path):
    """Returns the ResultFile or HeapFile of a path. BadInput says what is wrong with it."""
    try:
        with open(path, "rb") as file:
            text = file.read(FILE_BYTES_MAX + 1)
        if text.startswith(GZIP_MAGIC):
            text = gzip.GzipFile(fileobj=io.BytesIO(text)).read(FILE_BYTES_MAX + 1)
        if len(text) > FILE_BYTES_MAX:
            raise BadInput(f"{path}: is larger than {FILE_BYTES_MAX >> 20} MiB: not a file of results")
        content = json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadInput(f"{path}: is damaged: {error}") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {reason_of(error)}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: is not JSON: {error}") from None
    return _kind_of(content, path)(path, content)


def _kind_of(content, path):
    for key, (_, kind) in KINDS.items():
        if isinstance(content, dict) and key in content:
            return kind
    programs = " or ".join(program for program, _ in KINDS.values())
    keys = " and no ".join(f'"{key}"' for key in KINDS)
    raise BadInput(f"{path}: is JSON, but not of {programs}: it has no {keys}")


def _refuse_constant(text):
    raise ValueError(f"{text} is not a number")
