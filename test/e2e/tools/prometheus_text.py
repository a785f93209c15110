"""Reads what gpushim writes for Prometheus."""
import re
from typing import NamedTuple

SAMPLE = re.compile(r'gpushim_(\w+)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Sample(NamedTuple):
    name: str  # without gpushim_
    labels: dict
    value: float


def samples(text):
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return [Sample(name, dict(LABEL.findall(labels or "")), float(value))
            for name, labels, value in (SAMPLE.fullmatch(line).groups() for line in lines)]


def values(text, name, **labels):
    """Of the samples that have these labels among theirs."""
    return [value for of, its, value in samples(text) if of == name and labels.items() <= its.items()]


def value(text, name, **labels):
    """None: there is not one, or there are several."""
    found = values(text, name, **labels)
    return found[0] if len(found) == 1 else None
