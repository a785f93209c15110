"""The analyzer and its inputs."""
from row import ALONE, Row

A1 = Row("A1", "truncated, damaged, foreign, huge inputs")
A2 = Row("A2", "hostile databases")
A3 = Row("A3", "older and newer schemas")
A4 = Row("A4", "no rank, missing ranks, half a collective, mixed jobs")
A5 = Row("A5", "HTML, SQL, terminal and CSV payloads in names")
A5.proven_by([ALONE], "test_hostile_names.Names.test_the_report")
A6 = Row("A6", "compression bombs, deep nesting, NaN")
A7 = Row("A7", "time that grows faster than the input")
