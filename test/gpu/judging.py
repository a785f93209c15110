"""What the rows of the GPU check say and raise."""
from typing import NamedTuple


class Skip(Exception):
    """The machine lacks what this row needs."""


class OutOfTime(Exception):
    """The row's time, or the whole check's, is over."""


class Row(NamedTuple):
    what: str
    found: str
    figures: dict = {}  # by name, for those who read the JSON


def demand(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def same(found, expected, what):
    demand(found == expected, f"{what}: {found}, expected {expected}")
