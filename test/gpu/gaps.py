"""What lies between our stamps and the kernels, by a run that somebody else has recorded, too, and the line
for shim/harvest/calibrated.def that says it. Pure but for `assumed`.

    stamp |before|====kernel====|after| stamp      ours: from stamp + what is taken for `before`
                                                         to stamp - event - what is taken for `after`

A clock of the other's that lies off by some ns makes one gap longer and the other as much shorter, so the
most is longer by as much as the clocks may be apart. Their sum does not depend on the clocks, and durations
only on it. A gap is not below 0: where the clocks make one so, they are taken to be off by at least that, and
the other gap has what is left of the sum (`late_ns`, told: starts and ends are late by it, durations right).
"""
import contextlib
import sqlite3
import statistics
from typing import NamedTuple

import beside

ENOUGH = 100  # launches that had waited in their queue
MOST = 0.999  # of them: what is taken for the most; a kernel that another process held up says nothing


class Gaps(NamedTuple):
    before_ns: int
    before_high_ns: int
    after_ns: int
    after_high_ns: int
    count: int
    late_ns: int = 0  # our clock against the other's, at least; below 0: early

    def setting(self):
        """For the next run."""
        return {"GPUSHIM_STAMP_GAPS": ",".join(str(ns) for ns in self[:4])}

    def line(self, device):
        return f'CALIBRATED("{device}", {", ".join(str(ns) for ns in self[:4])})'


class Assumed(NamedTuple):
    """What the trace's times were reckoned with."""

    before_ns: int
    after_ns: int
    calibrated: bool  # it is no guess


def assumed(path):
    """None: the trace does not say."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
        rows = base.execute("SELECT gap_before_ns, gap_after_ns, gaps_calibrated FROM device_clock"
                            " WHERE gap_before_ns NOT NULL ORDER BY mono_ns DESC LIMIT 1").fetchall()
    return Assumed(*rows[0][:2], bool(rows[0][2])) if rows else None


def measured(pairs, clock, taken_for):
    """None: too few launches had waited in their queue."""
    queued = [(one, other) for one, other in beside.timed(pairs) if one.kind == "launch" and one.queued]
    if taken_for is None or len(queued) < ENOUGH:
        return None
    before = [taken_for.before_ns - (one.start_ns - other.start_ns - clock.offset_ns)
              for one, other in queued]
    after = [taken_for.after_ns + (one.end_ns - other.end_ns - clock.offset_ns) for one, other in queued]
    both_ns = max(0, statistics.median(map(sum, zip(before, after))))
    seen_ns = statistics.median(before)
    before_ns = min(max(seen_ns, 0), both_ns)
    late_ns = round(before_ns - seen_ns)
    return Gaps(round(before_ns), _most(before, late_ns, clock), round(both_ns - before_ns),
                _most(after, -late_ns, clock), len(queued), late_ns)


def _most(values, moved_ns, clock):
    return max(0, round(sorted(values)[int(MOST * (len(values) - 1))] + moved_ns + clock.error_ns))
