"""gpushim in Python: marks for a program that is traced, and its report. `python -m gpushim` is the program.

In a training loop, where libgpushim.so may be preloaded or not:

>>> import gpushim
>>> for batch in ([1, 2], [3, 4]):
...     gpushim.step(samples=len(batch))
...     with gpushim.range("forward"):
...         loss = sum(batch)
>>> gpushim.mark("trained")

Afterwards, and in notebooks, which show a run as its verdict, bars and a timeline:

>>> run = gpushim.open("traces/")
>>> run.report.verdict.word
'small kernels'
"""
from ._marks import Range, mark, range, step
from ._program import Failure, lib_path, main
from ._run import Row, Run, open, report
from ._version import __version__

__all__ = ["Failure", "Range", "Row", "Run", "__version__", "lib_path", "main", "mark", "open", "range",
           "report", "step"]
