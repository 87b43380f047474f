#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Checks who includes whom.

  scripts/check_layers.py              the tree this script is in; prints each violation, exits 1 if any
  scripts/check_layers.py --self-test  plants violations of every rule and expects each to be found

The rules, each a function below:
  - an area (a folder) includes only the areas that MAY_INCLUDE grants it
  - base, record, core, process, device_heap, backend_common and backend_cuda_hip have no vendor header and no vendor #if;
    backend_cuda, backend_hip and backend_ze have no vendor header; public headers have none, and a vendor #if only in that
    vendor's own header, or in the files of the device heap that are for it; cuda_compat.h and hip_compat.h have both
  - src/core is a stack of folders: a file includes its own folder or one below it
  - no folder of src has more than 25 C files
  - modules (x.h with x.c) of src form no cycle
  - file names of src are unique
"""

import re
import sys
import tempfile
from pathlib import Path

SUFFIXES = {".c", ".h", ".cpp", ".cu", ".cuh", ".hpp"}

# The folders of src/core, bottom up: a file includes its own folder or one below it.
CORE = ["index", "parts", "serve", "arenas", "supply", "pool", "care", "api"]

# In a folder of src.
FILES_MAX = 25

BACKENDS = ["host", "cuda", "hip", "ze"]

# Folders of bench, bottom up: each includes itself and those before it.
BENCH_LAYERS = ["bench/" + name for name in ("common", "allocators", "workloads", "playing", "measuring", "reporting")]

# What a public header is called in the rules: "public", or "public:cuda" where it matters which.
# Headers of the system are not the concern of this table.
MAY_INCLUDE = {
    "public": {"public", "device_part"},
    # include/tarn/device_heap: what the device's half of the device heap consists of, and what both halves know.
    "device_part": {"device_part"},
    # error keeps the last tarn_status of a thread, log has a tarn_log_level; base takes nothing else from above.
    "base": {"base", "public:status", "public:log"},
    # Knows of no pool: what records other programs is made of it, too.
    "record": {"record", "base", "public:status"},
    # What the process has one of: above the pool, which knows nothing of it.
    "process": {"process", "core", "record", "base", "public"},
    # The host's half of the device heap: uses pools as any program does.
    "device_heap": {"device_heap", "base", "public", "device_part:layout", "device_part:size_class"},
    # What the backends do alike. They include it; it includes none of them.
    "backend_common": {"backend_common", "base", "public:backend", "public:status"},
    # What the backends of CUDA and HIP share: it knows the vendor by a table alone.
    "backend_cuda_hip": {"backend_cuda_hip", "base", "backend_common", "public:backend", "public:status"},
    # The one file that knows which backends there are.
    "backends": {"base", "backend_common", "backend_cuda_hip", "public"} | {"backend_" + name for name in BACKENDS},
    "tests/unit": {"base", "core", "process", "record", "device_heap", "backend_common", "backends", "public",
                   "device_part", "tests/unit", "tests/harness"},
    "tests/property": {"base", "core", "public", "tests/property", "tests/harness"},
    "tests/harness": {"base", "core", "public", "tests/harness"},
    # Its headers show nothing of src, so that tests of the public interface may use them.
    "tests/harness headers": {"public", "tests/harness"},
    "tests/conformance": {"public", "tests/conformance", "tests/harness"},
    # The hooks of host memory, and pools that are gone, are inside.
    "tests/sim": {"backend_ze", "core", "public", "tests/sim", "tests/harness"},
    "tests/stress": {"public", "tests/stress", "tests/harness"},
    "tests/streams": {"public", "tests/streams", "tests/harness"},
    "tests/corners": {"public", "tests/corners", "tests/streams", "tests/sim", "tests/harness"},
    "tests/held": {"public", "tests/held", "tests/sim", "tests/harness", *BENCH_LAYERS},
    "tests/device_heap": {"base", "device_heap", "public", "device_part", "tests/device_heap", "tests/harness"},
    "tests/device": {"public", "tests/device", "tests/harness"},
    "tests/life": {"public", "tests/life", "tests/harness"},
    "tests/record": {"base", "record", "public", "recorders", "recorders/convert", "tests/record", "tests/harness"},
    "tests/run": {"public", "run", "backend_cuda:cuda_device", "backend_hip:hip_device", "recorders:launch", "tests/run",
                  "tests/sim", "tests/harness"},
    "tests/abi": {"public"},
    "tests/api": {"public"},
    "tests/docs": {"public"},
    "tests/integration": {"public"},
    "tests/bench": {"public", "tests/bench", *BENCH_LAYERS},
    "tests/speed": {"public", "tests/speed", *BENCH_LAYERS},
    "tests/tools": {"public", "tests/tools"},
    # The model of the device heap has lanes that are fibers, as the emulation has: these are what both are made of.
    "bench": {"public", "bench", *BENCH_LAYERS, "tests/device_heap:fiber_platform", "tests/device_heap:meetings"},
    "tools": {"public", "tools"},
    # What events become. tarn-bench contains it beside libtarn, so it has nothing of base with a state that both show.
    "recorders/convert": {"recorders/convert", "record:event", "record:recorder", "base:arith", "base:assert",
                          "base:compiler", "base:escape", "base:host_memory"},
    "recorders": {"recorders", "recorders/convert", "record", "base", "public:status", "public:version"},
    # A program, and a library over the pools, which fills the table of functions by itself.
    "run": {"run", "record", "base", "backend_common", "backend_cuda_hip", "public", "recorders:launch",
            "recorders:process_recording", "recorders/convert:number_map"},
    "examples": {"public", "bindings", "examples"},
    # Over the public headers alone; they include headers of frameworks and vendors.
    "bindings": {"public", "bindings"},
    "tests/bindings": {"public", "bindings", "tests/bindings", "tests/harness"},
}
for count, layer in enumerate(BENCH_LAYERS, 1):
    MAY_INCLUDE[layer] = {"public", *BENCH_LAYERS[:count]}
# Text from outside is escaped in one way, and misspelt words are guessed in one way.
MAY_INCLUDE["bench/common"].add("base:escape")
MAY_INCLUDE["bench/workloads"] |= {"base:edits", "base:arith", "recorders/convert:trace_writer"}
for i, folder in enumerate(CORE):
    MAY_INCLUDE["core/" + folder] = {"core/" + below for below in CORE[:i + 1]} | {"base", "public"}
MAY_INCLUDE["core/care"].add("record")
for backend in BACKENDS:
    MAY_INCLUDE["backend_" + backend] = {
        "base", "backend_common", "public:backend", "public:status", "public:" + backend,
        "backend_" + backend}
    MAY_INCLUDE["tests/unit"].add("backend_" + backend)
for backend in ("cuda", "hip"):
    MAY_INCLUDE["backend_" + backend].add("backend_cuda_hip")

VENDOR_HEADER = re.compile(
    r"^(cuda|cublas|cupti|cufft|curand|cusparse|driver_types|vector_types|nvml|nvrtc|hip/|hip_|hsa|roc|"
    r"level_zero/|ze_|zes_|sycl|CL/)", re.IGNORECASE)
# Of the device part: what vendors differ in, and functions of the host and of devices.
# Of the public headers: those that look like a vendor's.
FILES_FOR_VENDORS = {"platform.cuh", "platform_cuda.cuh", "platform_hip.cuh", "size_class.h",
                     "cuda_compat.h", "hip_compat.h"}
VENDOR_MACRO = re.compile(r"CUDA|NVCC|(\b|_)HIP|ROCM|LEVEL_ZERO|SYCL|(\b|_)ZE(\b|_)|TARN_HAVE_")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b(.*)")


def area_of(path):
    """The area of a file, given its path from the root; None for what no rule speaks of."""
    parts = path.parts
    if parts[:2] == ("include", "tarn"):
        return "device_part" if parts[2] == "device_heap" else "public"
    if parts[0] == "src":
        if parts[1] == "core":
            return "/".join(parts[1:3]) if len(parts) > 3 else "core"
        return parts[1] if len(parts) > 2 else path.stem
    if path.is_relative_to("recorders/convert"):
        return "recorders/convert"
    if parts[0] == "tests":
        return "/".join(parts[:2]) if len(parts) > 2 else None
    return next((layer for layer in BENCH_LAYERS if path.is_relative_to(layer)), parts[0])


def module_of(path):
    return path.with_suffix("")


class Tree:
    """The C files below a root, and for each what it includes: files of the tree, and system headers."""

    def __init__(self, root):
        self.root = root
        self.files = sorted(
            file.relative_to(root)
            for top in ("include", "src", "bindings", "tests", "bench", "examples", "recorders", "run", "tools")
            for file in (root / top).rglob("*")
            if file.suffix in SUFFIXES and file.is_file())
        self.lines = {file: (root / file).read_text().splitlines() for file in self.files}
        self.violations = []

    def report(self, file, number, text):
        self.violations.append(f"{file}:{number}: {text}")

    def resolve(self, file, quote, name):
        """The included file, from the root; None when it is not of this tree."""
        folders = [file.parent] if quote == '"' else []
        folders += [Path("include"), Path("src"), Path("tests"), Path("bench")]
        folders += sorted((self.root / "bindings").glob("*/"))
        for folder in folders:
            found = (self.root / folder / name).resolve()
            if found.is_file() and found.is_relative_to(self.root):
                return found.relative_to(self.root)
        return None

    def includes(self, file):
        """Yields (line number, quote, name, file of the tree or None)."""
        for number, line in enumerate(self.lines[file], 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match[1], match[2], self.resolve(file, match[1], match[2])


def check_areas(tree):
    for file in tree.files:
        area = area_of(file)
        if area is None:
            continue
        if area not in MAY_INCLUDE:
            tree.report(file, 1, f"'{area}' is not in the table of areas; give it its place there")
            continue
        if area == "tests/harness" and file.suffix == ".h":
            area = "tests/harness headers"
        for number, quote, name, target in tree.includes(file):
            if target is None:
                if quote == '"':
                    tree.report(file, number, f'"{name}" is no file of this tree')
                continue
            target_area = area_of(target)
            grants = {target_area, f"{target_area}:{target.stem}"}
            if target_area.startswith("core/"):
                grants.add("core")
            if not grants & MAY_INCLUDE[area]:
                tree.report(file, number, f"{area} may not include {target_area} ({target})")


def check_folder_sizes(tree):
    folders = [file.parent for file in tree.files if file.parts[0] == "src"]
    for folder in sorted(set(folders)):
        if folders.count(folder) > FILES_MAX:
            tree.report(folder, 1, f"has {folders.count(folder)} files: more than {FILES_MAX} are two folders")


def check_vendors(tree):
    for file in tree.files:
        area = area_of(file)
        if area.startswith("core/"):
            area = "core"
        if area not in ("public", "device_part", "base", "record", "core", "process", "device_heap",
                        "backend_common", "backend_cuda_hip", "backend_cuda", "backend_hip", "backend_ze"):
            continue
        if area in ("device_part", "public") and file.name in FILES_FOR_VENDORS:
            continue
        for number, _, name, target in tree.includes(file):
            if target is None and VENDOR_HEADER.match(name):
                tree.report(file, number, f"vendor header <{name}> in {area}")
        if (area == "public" and file.stem in BACKENDS) or area in ("backend_cuda", "backend_hip", "backend_ze"):
            continue
        for number, line in enumerate(tree.lines[file], 1):
            match = CONDITION.match(line)
            if match and VENDOR_MACRO.search(match[2]):
                tree.report(file, number, f"vendor #if in {area}: {line.strip()}")


def check_cycles(tree):
    needs = {}
    for file in tree.files:
        if file.parts[0] == "src":
            targets = (target for _, _, _, target in tree.includes(file))
            needs.setdefault(module_of(file), set()).update(
                module_of(target) for target in targets if target and target.parts[0] == "src")
    finished, path = set(), []

    def visit(module):
        if module in path:
            cycle = path[path.index(module):] + [module]
            tree.report(module, 1, "cycle: " + " -> ".join(m.name for m in cycle))
        elif module not in finished:
            path.append(module)
            for target in sorted(needs.get(module, set()) - {module}):
                visit(target)
            path.pop()
            finished.add(module)

    for module in sorted(needs):
        visit(module)


def check_unique_names(tree):
    seen = {}
    for file in tree.files:
        if file.parts[0] == "src" and seen.setdefault(file.name, file) != file:
            tree.report(file, 1, f"has the name of {seen[file.name]}")


def check(root):
    """All violations of the tree at root, as lines of text."""
    tree = Tree(root.resolve())
    for rule in (check_areas, check_folder_sizes, check_vendors, check_cycles, check_unique_names):
        rule(tree)
    return tree.files, tree.violations


# --- self-test ------------------------------------------------------------------------------------

CLEAN = {
    "include/tarn/status.h": "",
    "include/tarn/backend.h": '#include "tarn/status.h"\n#include <stddef.h>\n',
    "include/tarn/cuda.h": '#include "tarn/backend.h"\n#ifdef __CUDACC__\n#endif\n',
    "src/base/assert.h": "",
    "src/base/error.h": '#include "tarn/status.h"\n',
    "include/tarn/device_heap.h": '#include "tarn/device_heap/layout.h"\n#include "tarn/backend.h"\n',
    "include/tarn/device_heap.cuh": '#include "tarn/device_heap/platform.cuh"\n',
    "include/tarn/device_heap/layout.h": "",
    "include/tarn/device_heap/platform.cuh":
        '#include "tarn/device_heap/layout.h"\n#include <hip/hip_runtime.h>\n#if defined(__HIPCC__)\n#endif\n',
    "src/device_heap/heap_plan.h":
        '#include "../base/assert.h"\n#include "tarn/device_heap/layout.h"\n#include "tarn/device_heap.h"\n',
    "src/record/recorder.h": '#include "../base/assert.h"\n#include "tarn/status.h"\n',
    "src/core/index/region.h": '#include "../../base/assert.h"\n#ifdef __cplusplus\n#endif\n',
    "src/core/pool/pool.h": '#include "../index/region.h"\n#include "tarn/backend.h"\n',
    "src/core/pool/pool.c": '#include "pool.h"\n#include <stdlib.h>\n',
    "src/core/care/recording.c": '#include "../../record/recorder.h"\n#include "../pool/pool.h"\n',
    "src/core/api/api.c": '#include "../pool/pool.h"\n',
    "src/process/create.h": '#include "../core/pool/pool.h"\n#include "../record/recorder.h"\n',
    "src/backend_common/opening.h": '#include "tarn/backend.h"\n#include "../base/assert.h"\n',
    "src/backend_cuda_hip/gpu_device.h": '#include "../backend_common/opening.h"\n',
    "src/backend_cuda/cuda_backend.c":
        '#include "tarn/cuda.h"\n#include "../backend_cuda_hip/gpu_device.h"\n',
    "src/backend_ze/ze_table.h": "#ifndef TN_ZE_TABLE_H\n#endif\n",
    "src/backend_host/host_backend.c": '#include "../base/assert.h"\n#include "tarn/backend.h"\n',
    "src/backends.c": '#include "tarn/cuda.h"\n#if defined(TARN_HAVE_CUDA_BACKEND)\n#endif\n',
    "tests/unit/test_pool.c": '#include "core/pool/pool.h"\n',
    "tests/harness/faults.h": '#include "tarn/status.h"\n',
    "tests/harness/faults.c": '#include "harness/faults.h"\n#include "base/assert.h"\n',
    "tests/stress/stress_pool.c": '#include <tarn/backend.h>\n#include "harness/faults.h"\n',
    "bench/main.c": '#include "tarn/backend.h"\n#include "measuring/measure.h"\n#include <cuda_runtime_api.h>\n',
    "recorders/convert/trace_writer.h": '#include "../../src/record/recorder.h"\n',
    "bench/common/clock.h": "",
    "bench/workloads/trace_reader.c": '#include "../../recorders/convert/trace_writer.h"\n',
    "bench/measuring/measure.h": '#include "../common/clock.h"\n',
}

# Each adds one line to one file of the clean tree (or adds the file), and says what must be reported.
PLANTED = [
    ("src/base/assert.h", '#include "../core/index/region.h"', "base may not include core/index"),
    ("src/base/assert.h", '#include "tarn/backend.h"', "base may not include public"),
    ("src/base/assert.h", "#include <cuda.h>", "vendor header <cuda.h> in base"),
    ("src/core/index/region.h", '#include "../pool/pool.h"', "core/index may not include core/pool"),
    ("src/core/index/region.h", '#include "../pool/pool.h"', "cycle: pool -> region -> pool"),
    ("src/core/pool/pool.h", '#include "../care/recording.c"', "core/pool may not include core/care"),
    ("src/core/pool/pool.h", '#include "../../record/recorder.h"', "core/pool may not include record"),
    ("src/core/pool/pool.c", '#include "../../backend_host/host_backend.c"', "core/pool may not include backend_host"),
    ("src/core/pool/pool.c", '#include "../../backend_common/opening.h"', "core/pool may not include backend_common"),
    ("src/core/pool/pool.c", "#include <cuda_runtime_api.h>", "vendor header <cuda_runtime_api.h> in core"),
    ("src/core/pool/pool.c", "#include <hip/hip_runtime.h>", "vendor header <hip/hip_runtime.h> in core"),
    ("src/core/pool/pool.c", "#include <level_zero/ze_api.h>", "vendor header <level_zero/ze_api.h> in core"),
    ("src/backend_ze/ze_table.h", "#include <level_zero/ze_api.h>",
     "vendor header <level_zero/ze_api.h> in backend_ze"),
    ("src/core/pool/pool.c", "#ifdef __CUDACC__", "vendor #if in core"),
    ("src/core/pool/pool.c", "#  if TARN_HAVE_CUDA_BACKEND", "vendor #if in core"),
    ("src/core/pool/pool.c", "#elif defined(__HIP_PLATFORM_AMD__)", "vendor #if in core"),
    ("src/core/pool/pool.c", '#include "no_such_file.h"', '"no_such_file.h" is no file of this tree'),
    ("src/core/api/api.c", '#include "../../process/create.h"', "core/api may not include process"),
    ("src/core/api/api.c", '#include "../../record/recorder.h"', "core/api may not include record"),
    ("src/process/create.h", '#include "../backend_host/host_backend.c"', "process may not include backend_host"),
    ("src/process/create.h", "#include <cuda_runtime_api.h>", "vendor header <cuda_runtime_api.h> in process"),
    ("src/process/create.h", "#ifdef __CUDACC__", "vendor #if in process"),
    ("src/record/recorder.h", '#include "../process/create.h"', "record may not include process"),
    ("src/core/brand_new.c", "", "'core' is not in the table of areas"),
    ("src/core/brand_new/thing.c", "", "'core/brand_new' is not in the table of areas"),
    ("src/core/index/assert.h", "", "has the name of src/base/assert.h"),
    ("src/backend_host/host_backend.c", '#include "../core/pool/pool.h"', "backend_host may not include core/pool"),
    ("src/backend_host/host_backend.c", '#include "tarn/cuda.h"', "backend_host may not include public"),
    ("src/backend_host/host_backend.c", '#include "../backend_cuda/cuda_backend.c"',
     "backend_host may not include backend_cuda"),
    ("src/backend_common/opening.h", '#include "../core/pool/pool.h"', "backend_common may not include core/pool"),
    ("src/backend_common/opening.h", '#include "tarn/cuda.h"', "backend_common may not include public"),
    ("src/backend_common/opening.h", '#include "../backend_host/host_backend.c"',
     "backend_common may not include backend_host"),
    ("src/backend_common/opening.h", "#include <cuda.h>", "vendor header <cuda.h> in backend_common"),
    ("src/backend_common/opening.h", "#if TARN_HAVE_CUDA_BACKEND", "vendor #if in backend_common"),
    ("src/backend_cuda_hip/gpu_device.h", "#include <cuda.h>", "vendor header <cuda.h> in backend_cuda_hip"),
    ("src/backend_cuda_hip/gpu_device.h", "#if CUDART_VERSION >= 12000", "vendor #if in backend_cuda_hip"),
    ("src/backend_cuda_hip/gpu_device.h", '#include "../backend_cuda/cuda_backend.c"',
     "backend_cuda_hip may not include backend_cuda"),
    ("src/backend_cuda_hip/gpu_device.h", '#include "tarn/cuda.h"', "backend_cuda_hip may not include public"),
    ("src/backend_cuda/cuda_backend.c", "#include <cuda.h>", "vendor header <cuda.h> in backend_cuda"),
    ("src/backend_host/host_backend.c", '#include "../backend_cuda_hip/gpu_device.h"',
     "backend_host may not include backend_cuda_hip"),
    ("src/backends.c", '#include "core/pool/pool.h"', "backends may not include core/pool"),
    ("include/tarn/status.h", '#include "../../src/base/assert.h"', "public may not include base"),
    ("include/tarn/status.h", "#include <cuda_runtime_api.h>", "vendor header <cuda_runtime_api.h> in public"),
    ("include/tarn/status.h", "#ifdef __CUDACC__", "vendor #if in public"),
    ("tests/stress/stress_pool.c", '#include "../../src/core/pool/pool.h"', "tests/stress may not include core/pool"),
    ("tests/harness/faults.h", '#include "base/assert.h"', "tests/harness headers may not include base"),
    ("bench/common/clock.h", '#include "../measuring/measure.h"', "bench/common may not include bench/measuring"),
    ("bench/main.c", '#include "../src/core/pool/pool.h"', "bench may not include core/pool"),
    ("examples/first.c", '#include "../src/base/assert.h"', "examples may not include base"),
    ("src/record/recorder.h", '#include "../core/pool/pool.h"', "record may not include core/pool"),
    ("src/record/recorder.h", "#include <cuda.h>", "vendor header <cuda.h> in record"),
    ("src/record/recorder.h", '#include "../../recorders/convert/trace_writer.h"',
     "record may not include recorders/convert"),
    ("recorders/convert/trace_writer.h", '#include "../../src/base/error.h"',
     "recorders/convert may not include base"),
    ("bench/common/clock.h", '#include "../../recorders/convert/trace_writer.h"',
     "bench/common may not include recorders/convert"),
    ("src/device_heap/heap_plan.h", '#include "../core/pool/pool.h"', "device_heap may not include core/pool"),
    ("src/device_heap/heap_plan.h", '#include "tarn/device_heap/platform.cuh"',
     "device_heap may not include device_part"),
    ("src/device_heap/heap_plan.h", "#include <cuda.h>", "vendor header <cuda.h> in device_heap"),
    ("src/core/pool/pool.c", '#include "../../device_heap/heap_plan.h"', "core/pool may not include device_heap"),
    ("include/tarn/device_heap/layout.h", '#include "tarn/backend.h"', "device_part may not include public"),
    ("include/tarn/device_heap/layout.h", "#ifdef __CUDACC__", "vendor #if in device_part"),
    ("include/tarn/device_heap/layout.h", "#include <cuda.h>", "vendor header <cuda.h> in device_part"),
    ("include/tarn/device_heap.cuh", "#ifdef __CUDACC__", "vendor #if in public"),
    ("src/odd/thing.c", "", "'odd' is not in the table of areas"),
]


def violations_of(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            file = Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return check(Path(folder))[1]


def self_test():
    failures = []
    clean = violations_of(CLEAN)
    if clean:
        failures.append(f"the clean tree has violations: {clean}")
    for name, line, expected in PLANTED:
        found = violations_of({**CLEAN, name: CLEAN.get(name, "") + line + "\n"})
        if not any(expected in violation for violation in found):
            failures.append(f"{line!r} in {name}: expected {expected!r}, found {found}")
    print("\n".join(failures) or f"{len(PLANTED)} planted violations, all found")
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:]:
        print("usage: check_layers.py [--self-test]", file=sys.stderr)
        return 2
    files, violations = check(Path(__file__).parent.parent)
    print("\n".join(violations) or f"{len(files)} files include what they may")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
