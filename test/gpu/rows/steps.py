"""The published seven steps (examples/seven_steps): what each brings here, and does the first finding of each
run name the next?"""
import os

from series_rows import check_series

import series

ORDER, LIMIT_S = 70, 210
# As many loaders as there are processors: a newer GPU than the published one asks for more pictures.
WORKERS = max(8, len(os.sched_getaffinity(0)))


def check(machine):
    yield from check_series(machine, series, series.VARIANTS, ["--workers", WORKERS])
