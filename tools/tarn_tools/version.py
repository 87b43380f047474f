# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""version: of tarn, as its header says. An installation has the header beside this file."""

import re
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_PLACES = (_HERE / "version.h", _HERE.parents[1] / "include" / "tarn" / "version.h")


def version():
    text = next(place for place in _PLACES if place.exists()).read_text()
    return ".".join(re.search(rf"#define TARN_VERSION_{part}\s+(\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))
