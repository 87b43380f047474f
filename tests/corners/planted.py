#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""planted: plants faults in a copy of the sources, one at a time, and has prop_corners find each.

Usage: planted.py [NAME...]

Takes a few minutes for all, so it is run by hand when the program or the code that it looks into changes. Prints the kinds of
finding for each fault, in how many worlds of 500. A fault whose place in the sources is gone is an error, and so is one
that is not found."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORE = "src/core/"

# The name, and for each change the file, the text and what is planted in its place.
FAULTS = {
    "a free in a capture forgets earlier work": [
        (CORE + "parts/stream_table.h", "<< stream | paused_bit", "<< stream | (paused_bit & 0)")],
    "a capture's memory waits for its owner alone": [
        (CORE + "serve/pool_streams.c", "    dependency.streams |= bit;", "    dependency.streams = bit;")],
    "the ladder is not tried again": [
        (CORE + "pool/ladder.c",
         "if (pool->change_count != before || tn_pool_await_callback(pool)) return", "if (before == UINT64_MAX) return")],
    "after a yes only the pool is looked at": [
        (CORE + "care/out_of_memory.c", "rung = change_count < CHANGE_COUNT_MAX ?", "rung = rung == 2 ? 2 : change_count < CHANGE_COUNT_MAX ?")],
    "one flag for all pools of a thread": [
        (CORE + "care/out_of_memory.c", "if (asking[i].pool == pool) return true;", "return pool != NULL;")],
    "a function that is left stays in its frame": [
        (CORE + "care/out_of_memory.c", "while (asking_depth > 0 &&", "while (0 && asking_depth > 0 &&")],
    "a refused piece is lost": [
        (CORE + "supply/piece.c",
         "if (result.status == TARN_STATUS_NOT_READY) result.status = TARN_STATUS_VENDOR_ERROR;\n    }\n    bool",
         "result.status = TARN_STATUS_OK;\n    }\n    bool")],
    "the limit is rounded down": [
        (CORE + "parts/growth.c", "return state->footprint_bytes < policy->limit_bytes\n",
         "return tn_round_down(policy->limit_bytes, policy->granularity_bytes) <= state->footprint_bytes ? 0\n"
         "           : state->footprint_bytes < policy->limit_bytes\n"),
        (CORE + "parts/growth.c", "? policy->limit_bytes - state",
         "? tn_round_down(policy->limit_bytes, policy->granularity_bytes) - state")],
    "memory of graphs counts as free": [
        (CORE + "arenas/footprint.c", "free_bytes(part_bytes) - part_bytes[PART(CAPTURED)];", "free_bytes(part_bytes);")],
    "whole steps leave much of a limit": [
        (CORE + "parts/step_range.c", "while (limit_bytes < device_bytes &&", "while (0 && limit_bytes < device_bytes &&")],
    "releases during captures of other pools": [
        (CORE + "supply/piece.c", "|| tn_captures_are_under_way()) return NULL;",
         "|| tn_pool_is_capturing(pool)) return NULL;"),
        (CORE + "supply/piece.c", "return pool->is_ending || !tn_captures_are_under_way();",
         "return pool != NULL;")],
    "queries during captures of other pools": [
        (CORE + "supply/stream_reuse.c", "if (!pool->streams || tn_captures_are_under_way()) return false;\n    for",
         "if (!pool->streams || tn_pool_is_capturing(pool)) return false;\n    for")],
    "no stream is evicted": [
        (CORE + "supply/stream_evict.c", "    if (streams == 0) return false;\n    uint32_t later",
         "    if (streams != 0) return false;\n    uint32_t later")],
    "uses are forgotten": [
        (CORE + "arenas/pool_uses.c", "added = tn_pool_depend(pool, stream);", "(void)stream;")],
    "the end of a stream forgets uses": [
        (CORE + "supply/stream_known.c", "tn_pool_end_uses(pool, name, tn_stream_table_depend(pool->streams, stream));",
         "tn_pool_end_uses(pool, name, (struct tn_dependency){ 0, stream });")],
    "a trim in a function has no end": [
        (CORE + "supply/pool_trim.c", "if (pool->arriving_count == 0) given", "given"),
        (CORE + "pool/ladder.c", "#define ROUND_COUNT_MAX 100", "#define ROUND_COUNT_MAX 4000000000U")],
}


def plant(tree, changes):
    for name, text, planted in changes:
        file = tree / name
        source = file.read_text()
        if text not in source:
            sys.exit(f"{name} no longer has: {text}")
        file.write_text(source.replace(text, planted, 1))


def findings_of(tree, build):
    subprocess.run(["cmake", "--build", build, "--target", "prop_corners"], check=True,
                   stdout=subprocess.DEVNULL)
    run = subprocess.run([build / "bin/tests/prop_corners", "--survey", "--operations", "1500000"], cwd=tree,
                         capture_output=True, text=True, errors="replace", check=False)
    return re.findall(r"^(\w+) +in (\d+) worlds", run.stdout, re.MULTILINE)


def main():
    unfound = 0
    names = sys.argv[1:] or list(FAULTS)
    with tempfile.TemporaryDirectory() as folder:
        tree, build = pathlib.Path(folder) / "tree", pathlib.Path(folder) / "build"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns("build", ".git"))
        subprocess.run(["cmake", "--preset", "dev", "-B", build], cwd=tree, check=True, stdout=subprocess.DEVNULL)
        for name in names:
            plant(tree, FAULTS[name])
            findings = findings_of(tree, build)
            print(f"{name}: {', '.join(f'{kind} {count}' for kind, count in findings) or 'NOT FOUND'}", flush=True)
            unfound += not findings
            for file, _, _ in FAULTS[name]:
                shutil.copyfile(ROOT / file, tree / file)
    return unfound > 0


if __name__ == "__main__":
    sys.exit(main())
