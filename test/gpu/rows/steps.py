"""The published seven steps (examples/seven_steps): what each brings here, and does the first finding of each
run name the next?"""
import os

from series_rows import check_series

import series

ORDER, LIMIT_S = 70, 115
KEEPS = True  # which finding comes first on another GPU is to be looked at
# A newer GPU than the published one asks for more pictures: as many loaders as there are processors to spare.
WORKERS = max(8, len(os.sched_getaffinity(0)) - 2)


def check(machine):
    yield from check_series(machine, series, series.VARIANTS, ["--workers", WORKERS])
