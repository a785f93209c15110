"""One run as two have recorded it: which operation is which, how far their clocks are apart, and how far
their times. Pure.

Operations are told by kind, name and order: the nth launch of a kernel in one is the nth in the other. The
clocks are laid on each other by the calls on the host, of which one recorder sees the inside of what the
other sees (a runtime call and the driver call in it), whichever of them is the outer one:

    one        enter|------------------|exit      the difference of the clocks lies between that of the
    the other       enter|--------|exit           enters and that of the exits; of all pairs, where most agree
"""
import statistics
from collections import defaultdict
from typing import List, NamedTuple

MATCHED = 0.95  # of the operations of both; below it names do not say which is which, and kinds may


class Pairs(NamedTuple):
    pairs: list   # (one, other)
    ones: int     # that there were
    others: int

    @property
    def share(self):
        return len(self.pairs) / max(self.ones, self.others, 1)


class Clocks(NamedTuple):
    """Added to the other's times they are the one's."""

    offset_ns: int
    error_ns: int  # at most, where all agree
    agree: float   # share of the pairs


class Off(NamedTuple):
    """How far times are apart: absolute values."""

    count: int
    median_ns: float
    p95_ns: float

    def __str__(self):
        if self.count == 0:
            return "none"
        return f"{self.median_ns / 1000:.2f} us (95 of 100 within {self.p95_ns / 1000:.2f})"


class Errors(NamedTuple):
    starts: Off
    durations: Off
    inside: float  # share whose bounds contain what the other says
    likely: float  # share within the stated error


def _in_order(ones, others, key):
    groups = defaultdict(lambda: ([], []))
    for side, operations in enumerate((ones, others)):
        for operation in operations:
            groups[key(operation)][side].append(operation)
    return [pair for left, right in groups.values() if len(left) == len(right) for pair in zip(left, right)]


def match(ones, others):
    """Both in the order of their calls. A name that is not as often in one as in the other is left out."""
    by_name = _in_order(ones, others, lambda operation: (operation.kind, operation.name))
    found = Pairs(by_name, len(ones), len(others))
    if found.share < MATCHED:
        by_kind = Pairs(_in_order(ones, others, lambda operation: operation.kind), len(ones), len(others))
        found = max(found, by_kind, key=lambda pairs: len(pairs.pairs))
    return found


def completed(found, clock, ones, others):
    """With what the names left out: alike in kind, and of calls that were open at the same time."""
    paired = {id(operation) for pair in found.pairs for operation in pair}
    rest = [operation for operation in others if id(operation) not in paired]
    pairs, at = list(found.pairs), 0
    for one in (operation for operation in ones if id(operation) not in paired):
        while at < len(rest) and _left_ns(rest[at]) + clock.offset_ns < one.enter_ns:
            at += 1
        if at < len(rest) and rest[at].kind == one.kind and \
                rest[at].enter_ns + clock.offset_ns <= _left_ns(one):
            pairs.append((one, rest[at]))
            at += 1
    return found._replace(pairs=pairs)


def _left_ns(operation):
    return operation.enter_ns if operation.exit_ns is None else operation.exit_ns


def clocks(pairs):
    """None: no pair of calls is known from begin to end."""
    edges = []
    for one, other in pairs:
        if one.exit_ns is None or other.exit_ns is None:
            continue
        low, high = sorted((one.enter_ns - other.enter_ns, one.exit_ns - other.exit_ns))
        edges += [(low, 0), (high, 1)]  # at one place the beginnings come first
    if not edges:
        return None
    best = agreeing = 0
    low = high = 0
    edges.sort()
    for index, (at, is_end) in enumerate(edges):
        agreeing += -1 if is_end else 1
        if agreeing > best:
            best, low, high = agreeing, at, edges[index + 1][0]
    return Clocks((low + high) // 2, (high - low + 1) // 2, best / (len(edges) / 2))


def off(values):
    values = sorted(abs(value) for value in values)
    if not values:
        return Off(0, 0, 0)
    return Off(len(values), statistics.median(values), values[int(0.95 * (len(values) - 1))])


def timed(pairs):
    return [(one, other) for one, other in pairs if one.is_timed and other.is_timed]


def errors(pairs, clock):
    """Of pairs that both have timed, by what the one's bounds and stated errors say."""
    starts, durations, inside, likely = [], [], 0, 0
    for one, other in timed(pairs):
        start, end = other.start_ns + clock.offset_ns, other.end_ns + clock.offset_ns
        starts.append(one.start_ns - start)
        durations.append(one.duration_ns - other.duration_ns)
        if one.bounds:
            low, high, end_low, end_high = one.bounds
            slack = clock.error_ns
            inside += low - slack <= start <= high + slack and end_low - slack <= end <= end_high + slack
        worst = max(abs(one.start_ns - start), abs(one.end_ns - end))
        likely += worst <= one.likely_ns + clock.error_ns
    count = max(len(starts), 1)
    return Errors(off(starts), off(durations), inside / count, likely / count)


class Bias(NamedTuple):
    """Of operations that take about as long: ours less theirs, in ns: p5, median, p95."""

    what: str
    count: int
    starts: tuple
    durations: tuple


CLASSES_NS = {"below 5 us": 5_000, "5 to 20 us": 20_000, "20 to 100 us": 100_000, "100 us and more": None}


def spread(values):
    values = sorted(values)
    return tuple(values[int(share * (len(values) - 1))] for share in (0.05, 0.5, 0.95))


def biases(pairs, clock) -> List[Bias]:
    found = {what: [] for what in CLASSES_NS}
    for one, other in timed(pairs):
        what = next(what for what, below in CLASSES_NS.items() if below is None or other.duration_ns < below)
        found[what].append((one.start_ns - other.start_ns - clock.offset_ns,
                            one.duration_ns - other.duration_ns))
    return [Bias(what, len(off_by), *(spread(side) for side in zip(*off_by)))
            for what, off_by in found.items() if off_by]


def as_csv(pairs, clock):
    """Each pair, for whoever looks for a law in them."""
    lines = ["name,queued,enter_ns,exit_ns,our_start_ns,our_end_ns,their_start_ns,their_end_ns"]
    lines += [f'"{one.name}",' + ",".join(str(number) for number in (
        int(bool(one.queued)), one.enter_ns, one.exit_ns, one.start_ns, one.end_ns,
        other.start_ns + clock.offset_ns, other.end_ns + clock.offset_ns)) for one, other in timed(pairs)]
    return "\n".join(lines) + "\n"


def union_ns(spans, begin_ns, end_ns):
    """Length of the union of (start, end) inside [begin, end)."""
    total, covered = 0, begin_ns
    for start, end in sorted(spans):
        start, end = max(start, covered), min(end, end_ns)
        if end > start:
            total += end - start
            covered = end
    return total


def latencies(pairs, clock):
    """From the one's call to the start that the other saw, where the one says that the queue was empty."""
    return [other.start_ns + clock.offset_ns - one.enter_ns for one, other in timed(pairs)
            if not one.queued]


class Longer(NamedTuple):
    """Durations of one kind and name in one run against those in another run of the same work."""

    name: str
    count: int
    before_ns: float
    after_ns: float

    @property
    def ratio(self):
        return self.after_ns / self.before_ns if self.before_ns else 1.0


def longer(before, after) -> List[Longer]:
    """Medians of what both runs have, the name with most time first."""
    durations = [defaultdict(list), defaultdict(list)]
    for side, operations in enumerate((before, after)):
        for operation in filter(lambda one: one.is_timed, operations):
            durations[side][operation.kind, operation.name].append(operation.duration_ns)
    rows = [Longer(name or kind, len(values), statistics.median(durations[0][kind, name]),
                   statistics.median(values))
            for (kind, name), values in durations[1].items() if (kind, name) in durations[0]]
    return sorted(rows, key=lambda row: -row.count * row.before_ns)
