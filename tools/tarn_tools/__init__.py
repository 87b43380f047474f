# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tarn-report, tarn-trace and tarn-map are made of. tools/README.md has the modules in reading order."""
