#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compare_programs.py, with a made-up nvidia-smi: whose memory grows while a program is there that says how much."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "bench" / "programs" / "compare_programs.py"

NVIDIA_SMI = """#!/bin/sh
look() { cat "$MADE_UP/mib" 2>/dev/null || echo 100; }
look
case "$*" in *loop*) while sleep 0.01; do look; done ;; esac
"""


class CompareProgramsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        smi = self.folder / "nvidia-smi"
        smi.write_text(NVIDIA_SMI)
        smi.chmod(0o755)

    def compare(self, *arguments):
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "MADE_UP": str(self.folder)}
        return subprocess.run([sys.executable, PROGRAM, *arguments], capture_output=True, text=True,
                              env=environment, timeout=60)

    def test_programs_take_turns_and_have_medians(self):
        log = self.folder / "log"
        ended = self.compare("--runs=3", "--seconds=^took ([0-9.]+)", "--json", str(self.folder / "r.json"),
                             f"slow=echo slow >> {log}; echo took 1.5; echo took 0.5",
                             f"fast=echo fast >> {log}; echo took 0.5")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertEqual(log.read_text().split(), ["slow", "fast", "fast", "slow", "slow", "fast"])
        self.assertRegex(ended.stdout, r"slow +2\.000 +2\.000 +2\.000 +1\.000")
        self.assertRegex(ended.stdout, r"fast +0\.500 +0\.500 +0\.500 +0\.250")
        runs = json.loads((self.folder / "r.json").read_text())["runs"]
        self.assertEqual([run["seconds"] for run in runs["slow"]], [2.0] * 3)

    def test_the_most_memory_is_found(self):
        grows = f"echo 700 > {self.folder}/mib; sleep 0.3; rm {self.folder}/mib"
        ended = self.compare("--runs=1", f"grows={grows}", "stays=true")
        self.assertRegex(ended.stdout, r"grows .* 600\n")
        self.assertRegex(ended.stdout, r"stays .* 0\n")

    def test_other_results_are_told(self):
        ended = self.compare("--runs=1", "one=echo check: 1", "two=echo check: 2")
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stdout, r"two .*other results")

    def test_a_program_that_fails_ends_it(self):
        ended = self.compare("--runs=1", "bad=echo why; exit 3")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("ended with 3", ended.stderr)
        self.assertIn("why", ended.stderr)

    def test_output_without_seconds_ends_it(self):
        ended = self.compare("--runs=1", "--seconds=took ([0-9.]+)", "mute=true")
        self.assertIn("nothing in its output", ended.stderr)


if __name__ == "__main__":
    unittest.main()
