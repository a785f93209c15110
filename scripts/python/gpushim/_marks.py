"""Steps, marks and ranges. Where libgpushim.so is not preloaded they do nothing. Any thread."""
import ctypes
import functools
import inspect
import sys
from typing import Any, Callable, Optional, Type, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _of_library(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """The library's function, or one that does nothing. The function keeps Python's lock: it is quicker than
    giving the lock away and taking it again."""
    function = getattr(ctypes.PyDLL(None), name, None)
    if function is None:
        return lambda *_: 0
    function.restype, function.argtypes = result, arguments
    return function  # type: ignore[no-any-return]


_step = _of_library("gpushim_step", None)
_step_n = _of_library("gpushim_step_n", None, ctypes.c_uint64)
_mark = _of_library("gpushim_mark", None, ctypes.c_char_p)
_range_push = _of_library("gpushim_range_push", None, ctypes.c_char_p)
_range_pop = _of_library("gpushim_range_pop", None)
_range_start = _of_library("gpushim_range_start", ctypes.c_uint64, ctypes.c_char_p)
_range_end = _of_library("gpushim_range_end", None, ctypes.c_uint64)


def _bytes(text: str) -> bytes:
    """What the library takes for a text: it ends at a zero byte."""
    return text.encode("utf-8", "replace").replace(b"\0", b" ")


def step(samples: Optional[int] = None) -> None:
    """A step of the training loop begins, and the one before ends; it has so many samples.

    >>> for batch in ([1, 2], [3, 4]):
    ...     step(samples=len(batch))
    """
    if samples is None:
        _step()
    elif 0 < samples < 1 << 63:
        _step_n(samples)
    else:
        raise ValueError(f"a step of {samples} samples")


def mark(text: str) -> None:
    """A text at this time; at most 1024 bytes of it are kept. The rows around it are kept, too.

    >>> mark("warm-up is over")
    """
    _mark(_bytes(text))


# A block in one of these may be left while others run, and be entered again in another thread.
_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Range:
    """What `range` gives: for `with`, and for a function. What a thread launches belongs to the ranges that
    are open on it; a block of a coroutine or a generator is a range of time alone, because others run in
    between."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError("a range needs a text: @gpushim.range('load')")
        self._text = _bytes(text)
        self._end: Optional[Callable[[], Any]] = None

    def __enter__(self) -> "Range":
        if self._end is not None:
            raise RuntimeError("this range is open: each `with` needs one of its own")
        if sys._getframe(1).f_code.co_flags & _RESUMED:
            self._end = functools.partial(_range_end, _range_start(self._text))
        else:
            _range_push(self._text)
            self._end = _range_pop
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 where: Any) -> None:
        end, self._end = self._end, None
        if end is not None:
            end()

    def __call__(self, function: _Function) -> _Function:
        around = _WRAPPERS[_kind_of(function)]
        return cast(_Function, around(self._text.decode(), function))


def range(text: str) -> Range:  # pylint: disable=redefined-builtin
    """A range of time with a name, of a block or of each call of a function; at most 1024 bytes are kept.

    >>> with range("load"):
    ...     batch = [1, 2, 3]

    >>> @range("forward")
    ... def forward(batch):
    ...     return sum(batch)
    >>> forward(batch)
    6

    A report says what a range launched. Of a coroutine or a generator it is the time from its first line to
    its last, waits included, and what is launched meanwhile is not told apart.
    """
    return Range(text)


def _kind_of(function: Callable[..., Any]) -> str:
    if inspect.iscoroutinefunction(function):
        return "coroutine"
    if inspect.isasyncgenfunction(function):
        raise TypeError("a range around an asynchronous generator: put `with gpushim.range(...)` into it")
    return "generator" if inspect.isgeneratorfunction(function) else "function"


def _around_function(text: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*words: Any, **named: Any) -> Any:
        with Range(text):
            return function(*words, **named)
    return called


def _around_coroutine(text: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def called(*words: Any, **named: Any) -> Any:
        with Range(text):
            return await function(*words, **named)
    return called


def _around_generator(text: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*words: Any, **named: Any) -> Any:
        with Range(text):
            return (yield from function(*words, **named))
    return called


_WRAPPERS = {"function": _around_function, "coroutine": _around_coroutine, "generator": _around_generator}
