"""The published precision ladder (examples/precision_ladder): what each rung brings here, and does the first
finding of each name the next?"""
from series_rows import check_series

import ladder

ORDER, LIMIT_S = 71, 50
KEEPS = True  # which finding comes first on another GPU is to be looked at


def check(machine):
    yield from check_series(machine, ladder, ladder.RUNGS, [])
