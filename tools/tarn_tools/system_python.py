# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
system_python: the system's packages belong to the system's Python. The first python3 in the path may be another one,
which does not see them. Then the program restarts in the system's Python, if that has what it needs.
"""

import importlib.util
import os
import subprocess
import sys

SYSTEM_PYTHON = "/usr/bin/python3"
GUARD = "TARN_TOOLS_IN_SYSTEM_PYTHON"


def go_on_where_there_is(module):
    """Returns if the module is here, or nowhere. Otherwise restarts the program in the system's Python."""
    if importlib.util.find_spec(module) or os.environ.get(GUARD) or not os.access(SYSTEM_PYTHON, os.X_OK):
        return
    question = f"import sys, importlib.util as i; sys.exit(sys.version_info < (3, 9) or not i.find_spec('{module}'))"
    asked = subprocess.run([SYSTEM_PYTHON, "-c", question], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           check=False)
    if asked.returncode == 0:
        os.environ[GUARD] = "1"
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
