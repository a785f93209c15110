"""`python -m gpushim` is `gpushim`, but this Python runs the script of `run -- train.py`."""
import os
import sys

from ._program import main

if sys.argv[1:2] == ["run"] and "--" in sys.argv:
    _program = sys.argv.index("--") + 1
    if sys.argv[_program:] and sys.argv[_program].endswith(".py") and os.path.isfile(sys.argv[_program]):
        sys.argv.insert(_program, sys.executable)
main()
