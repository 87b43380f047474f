#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Writes the interface of tarn as one header and a library without content, for scripts/check_abi.

  interface.py INCLUDE FOLDER                    what INCLUDE/tarn declares
  interface.py INCLUDE FOLDER GROWING BASELINE   the same, cut to what BASELINE declares, a header that this has written

Writes FOLDER/interface.h, which is what the compiler sees of all headers for the host, and FOLDER/interface.c, which
defines its functions. With a baseline also FOLDER/added.c, which compiles if no added field lies in what was padding.

GROWING, growing.abignore, names the structs that may grow. They are cut after the baseline's last field, and every
enumeration after the baseline's last enumerator: all that is left must be as it was.
"""

import re
import subprocess
import sys
from pathlib import Path

EXPORTED = re.compile(r'__attribute__\(\(visibility\("default"\)\)\)[^;{]*;')


def preprocess(include):
    headers = [path.relative_to(include) for path in sorted((include / "tarn").glob("*.h"))
               if not path.name.endswith("_compat.h")]  # of inline functions, over a vendor's header
    text = "".join(f"#include <{header}>\n" for header in ["stddef.h", *headers])
    return subprocess.run(["cc", "-E", "-P", "-I", include, "-"], input=text, text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def find_body(text, kind, name):
    return re.search(rf"\b{kind} {name}\s*\{{([^{{}}]*)\}}", text)


def split_items(body, separator):
    return [item.strip() for item in body.split(separator) if item.strip()]


def name_of(item):
    """The name in `size_t a`, `char a[4]`, `void (*a)(int b)` or `A = 1`."""
    match = re.search(r"\(\*(\w+)\)", item) or re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*|=.*)?$", item)
    return match[1]


def cut(text, baseline, kind, name, separator):
    """The text with a body that ends where the baseline's does, and the items that this leaves out."""
    body, baseline_body = find_body(text, kind, name), find_body(baseline, kind, name)
    if not body:
        return text, []
    items = split_items(body[1], separator)
    last = name_of(split_items(baseline_body[1], separator)[-1])
    end = next((i + 1 for i, item in enumerate(items) if name_of(item) == last), len(items))
    kept = "".join(f"\n{item}{separator}" for item in items[:end])
    return text[:body.start(1)] + kept + "\n" + text[body.end(1):], items[end:]


def growing_structs(growing, baseline):
    """The structs of the baseline that the file names. Each begins with its size."""
    patterns = re.findall(r"(?m)^\s*name_regexp\s*=\s*(\S+)", growing.read_text())
    names = [name for name in re.findall(r"\bstruct (tarn_\w+)\s*\{", baseline)
             if any(re.search(pattern, name) for pattern in patterns)]
    for name in names:
        if name_of(split_items(find_body(baseline, "struct", name)[1], ";")[0]) != "struct_bytes":
            sys.exit(f"{growing} lets {name} grow, which does not begin with struct_bytes")
    return names


def cut_to(baseline, growing, text):
    """The text cut to the baseline, and C code in which no added field may lie in what was padding."""
    asserts = ""
    cut_text = text
    for name in growing_structs(growing, baseline):
        cut_text, added = cut(cut_text, baseline, "struct", name, ";")
        if added:
            before = find_body(cut_text, "struct", name)[1]
            asserts += (f"struct before_{name} {{{before}}};\n"
                        f"_Static_assert(__builtin_offsetof({name}, {name_of(added[0])}) >= "
                        f'sizeof(struct before_{name}), "{name}.{name_of(added[0])} lies in what was padding: '
                        f'older programs leave anything there");\n')
    for name in re.findall(r"\benum (tarn_\w+)\s*\{", baseline):
        cut_text, _ = cut(cut_text, baseline, "enum", name, ",")
    return cut_text, text + asserts


def main(include, folder, growing=None, baseline=None):
    text = preprocess(Path(include))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if baseline:
        text, added = cut_to(Path(baseline).read_text(), Path(growing), text)
        (folder / "added.c").write_text(added)
    functions = [match[0][:-1] + " { __builtin_trap(); }\n" for match in EXPORTED.finditer(text)]
    (folder / "interface.h").write_text(text)
    (folder / "interface.c").write_text('#include "interface.h"\n' + "".join(functions))


if __name__ == "__main__":
    main(*sys.argv[1:])
