"""The report of a run as dataclasses, and its tables as rows."""
from __future__ import annotations

import dataclasses
import functools
import json
import os
import typing
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _page
from ._program import Failure, answer, as_path

if typing.TYPE_CHECKING:
    import pandas  # type: ignore

    from .figures import Report  # many classes: a program that only sets marks does without

Value = Union[None, int, float, str, bytes]
Path = Union[str, "os.PathLike[str]"]


class Row(Tuple[Value, ...]):
    """A row of an answer: `row[0]`, `row["cause"]`, and `dict(row)`."""

    columns: Tuple[str, ...]

    def __new__(cls, values: Iterable[Value], columns: Tuple[str, ...]) -> Row:
        row = super().__new__(cls, typing.cast(Any, values))
        row.columns = columns
        return row

    def __getnewargs__(self) -> Tuple[Tuple[Value, ...], Tuple[str, ...]]:
        return tuple(self), self.columns  # for pickle

    def keys(self) -> Tuple[str, ...]:
        """The columns' names; for `dict`."""
        return self.columns

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self.columns:
            raise KeyError(f"{key}: the columns are {', '.join(self.columns)}")
        return super().__getitem__(self.columns.index(key))


class Run:
    """A run: a folder of traces, one trace, or what an analysis made of them. A notebook shows it as its
    verdict, what each GPU did with its time, and a typical step."""

    def __init__(self, path: Path = ".") -> None:
        self.path = path
        self._report: Optional[Report] = None

    def __repr__(self) -> str:
        return f"gpushim.open({os.fspath(self.path)!r})"

    @property
    def report(self) -> Report:
        """The whole report; asked once."""
        if self._report is None:
            self._report = report(self.path)
        return self._report

    def rows(self, query: str, *values: Value, **named: Value) -> List[Row]:
        """What a query answers, which may have `?` and `:name` for values. `gpushim sql PATH .tables` prints
        what there is to ask for."""
        return _rows(self._answer(query, values, named))

    def frame(self, query: str, *values: Value, **named: Value) -> pandas.DataFrame:
        """The same as a pandas.DataFrame."""
        import pandas as there

        lines = self._answer(query, values, named)
        return there.DataFrame(list(_rows(lines)), columns=list(_columns(lines)))

    def _answer(self, query: str, values: Sequence[Value], named: Dict[str, Value]) -> List[str]:
        # To the program, a word that ends as a file's name does or begins with a dot is something else.
        words = ["sql", "--json-lines", as_path(self.path), f"\n{query}\n"]
        columns = [_literal(value) for value in values]
        columns += [f"{_literal(value)} AS {_quoted(name)}" for name, value in named.items()]
        if columns:
            words += ["--parameters", f"SELECT {', '.join(columns)}"]
        return answer(words).split("\n")[:-1]

    def _repr_html_(self) -> str:
        return _page.of(self.report, self.rows)


def open(path: Path = ".") -> Run:  # pylint: disable=redefined-builtin
    """A run to ask questions of.

    >>> run = open("traces/")
    >>> run.rows("SELECT count(*) AS steps FROM step WHERE rank_id = :rank AND NOT left_out", rank=0)
    [(39,)]
    """
    if not os.path.exists(path):
        raise FileNotFoundError(os.fspath(path))
    return Run(path)


def report(*traces: Path, options: Sequence[str] = ()) -> Report:
    """What `gpushim report` says of these traces, or of the newest run in this folder. `options` are the
    program's.

    >>> report("traces/", options=["--from", "10", "--to", "19"]).asked_steps.to
    19
    """
    from .figures import Report as Made

    told = json.loads(answer(["report", "--json", *options, *map(as_path, traces)]))
    if not isinstance(told, dict) or told.get("schema") != Made.schema:
        raise Failure(f"this module reads reports of schema {Made.schema}, and the program's has another one")
    made: Report = _made(Made, told)
    return made


class _Field(NamedTuple):
    name: str
    type: Any


@functools.lru_cache(maxsize=None)
def _fields(kind: Any) -> Dict[str, _Field]:
    """{a key of the report: its field}. One that is a word of Python's has a _ behind it."""
    return {name.rstrip("_"): _Field(name, of) for name, of in typing.get_type_hints(kind).items()}


def _made(kind: Any, told: Any) -> Any:
    """Dataclasses of what JSON says. Keys that this module does not know are of a newer program."""
    if told is None:
        return None
    parts = [part for part in getattr(kind, "__args__", ()) if part is not type(None)]
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        fields = _fields(kind)
        return typing.cast(Any, kind)(**{fields[key].name: _made(fields[key].type, value)
                                         for key, value in told.items() if key in fields})
    if getattr(kind, "__origin__", None) is list:
        return [_made(parts[0], one) for one in told]
    return _made(parts[0], told) if getattr(kind, "__origin__", None) is Union and len(parts) == 1 else told


def _columns(lines: Sequence[str]) -> Tuple[str, ...]:
    return tuple(json.loads(lines[0]))


def _rows(lines: Sequence[str]) -> List[Row]:
    """An array of the columns' names is the first line; each other line is a row."""
    columns = _columns(lines)
    return [Row(_values(line), columns) for line in lines[1:]]


def _values(line: str) -> Iterator[Value]:
    for value in json.loads(line):
        yield bytes.fromhex(value["blob"]) if isinstance(value, dict) else value


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Value) -> str:
    """A value in SQL. Whatever a text holds, it stays a text."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f"CAST(x'{value.encode('utf-8').hex()}' AS TEXT)"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, int):
        return _whole(int(value))
    return _real(float(value))


def _whole(value: int) -> str:
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(f"{value} has more than 64 bits")
    return str(value) if value > -(1 << 63) else "(-9223372036854775807 - 1)"


def _real(value: float) -> str:
    """SQLite has infinities, and takes what is no number for NULL."""
    if value != value:
        return "NULL"
    return repr(value).replace("inf", "9e999")
