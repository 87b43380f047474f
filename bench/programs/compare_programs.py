#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Compares whole programs that differ in their allocator alone: time, and the device memory that they held.

  compare_programs.py [--runs N] [--seconds REGEX] [--json FILE] NAME=COMMAND...

Each COMMAND runs N times (default 5), in turn with the others: first each once, then each a second time in the reverse
order, and so on. So slow drifts of the machine touch all of them alike. A run's time is the number in what REGEX finds in
its output, summed over all that it finds; without REGEX it is the time of the process. Its memory is the most that
nvidia-smi saw in use on the device, less what was in use before the run; a look takes some 20 ms, so a shorter peak can
be missed. Memory of the context is in it: some 500 MiB, in all programs alike.

It prints a table with the median of each program, the least and the most. A program whose `check:` lines differ from the
first program's is told apart: its results are other ones. Exit status 1 if a run failed or such a line differs.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import threading
import time

MEMORY_QUERY = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"]


class MemoryWatch:
    """The most MiB in use on device 0 while it is entered."""

    def __enter__(self):
        self.before = self.most = int(subprocess.check_output(MEMORY_QUERY, text=True))
        self.process = subprocess.Popen([*MEMORY_QUERY, "--loop-ms=20"], stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        return self

    def _read(self):
        for line in self.process.stdout:
            if line.strip().isdigit():
                self.most = max(self.most, int(line))

    def __exit__(self, *_):
        self.process.terminate()
        self.reader.join()
        self.process.wait()


def run_once(command, seconds_pattern):
    """Runs a command: its seconds, its MiB, its check lines."""
    with MemoryWatch() as watch:
        start = time.perf_counter()
        ended = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        seconds = time.perf_counter() - start
    if ended.returncode != 0:
        sys.exit(f"{command}: ended with {ended.returncode}\n{ended.stdout[-4000:]}")
    if seconds_pattern:
        found = seconds_pattern.findall(ended.stdout)
        if not found:
            sys.exit(f"{command}: nothing in its output matches {seconds_pattern.pattern}\n{ended.stdout[-4000:]}")
        seconds = sum(float(number) for number in found)
    checks = [line for line in ended.stdout.splitlines() if line.startswith("check:")]
    return {"seconds": seconds, "mib": watch.most - watch.before, "checks": checks}


def parse_arguments():
    parser = argparse.ArgumentParser(description="Compares whole programs that differ in their allocator alone.")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="of each program (default 5)")
    parser.add_argument("--seconds", type=lambda text: re.compile(text, re.MULTILINE), metavar="REGEX",
                        help="with one group: the seconds that a program prints (default: those of the process)")
    parser.add_argument("--json", metavar="FILE", help="write the results there, too")
    parser.add_argument("programs", nargs="+", metavar="NAME=COMMAND")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs is 1 or more")
    if not all("=" in program for program in options.programs):
        parser.error("a program is NAME=COMMAND")
    return options


def main():
    options = parse_arguments()
    commands = dict(program.split("=", 1) for program in options.programs)
    runs = {name: [] for name in commands}
    for i in range(options.runs):
        for name in list(commands) if i % 2 == 0 else reversed(commands):
            runs[name].append(run_once(commands[name], options.seconds))
    first = next(iter(runs.values()))
    print(f"{'':24} {'seconds':>9} {'least':>9} {'most':>9} {'/ first':>8} {'MiB':>8}")
    are_equal = True
    for name, results in runs.items():
        seconds = [result["seconds"] for result in results]
        median = statistics.median(seconds)
        ratio = median / statistics.median(result["seconds"] for result in first)
        mib = statistics.median(result["mib"] for result in results)
        differs = any(result["checks"] != first[0]["checks"] for result in results)
        are_equal = are_equal and not differs
        print(f"{name:24} {median:9.3f} {min(seconds):9.3f} {max(seconds):9.3f} {ratio:8.3f} {mib:8.0f}"
              f"{'  other results' if differs else ''}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"commands": commands, "runs": runs}, file, indent=1)
        print(f"wrote {options.json}")
    return 0 if are_equal else 1


if __name__ == "__main__":
    sys.exit(main())
