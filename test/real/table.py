"""The rows of the table: functions that say what was found, raise Skip where something is missing, and
AssertionError (as `demand` does) where the shim, the box or our tables disagree with what is real."""
from typing import Callable, NamedTuple

ROWS = []


class Row(NamedTuple):
    name: str
    check: Callable
    for_each_driver: bool


def for_each_driver(name):
    """The function is called with a Driver, once for each that was found."""
    return lambda function: ROWS.append(Row(name, function, True)) or function


def once(name):
    """The function is called with the folder of what was fetched."""
    return lambda function: ROWS.append(Row(name, function, False)) or function
