"""A C library as a table of functions: argument types declared once, every return code checked.

A call that does not return 0 raises ApiError, so callers read like the C they stand for, without its checks.
"""
import ctypes


class ApiError(Exception):
    """A library could not be opened, or one of its functions returned an error."""


class Library:
    """Opens a library by its soname, the way the loader finds it, and offers the functions of the table."""

    def __init__(self, soname, functions):
        try:
            self.handle = ctypes.CDLL(soname)
        except OSError as error:
            raise ApiError(f"{soname} cannot be loaded ({error}); its folder must be on LD_LIBRARY_PATH")
        for name, argtypes in functions.items():
            setattr(self, name, self._bind(soname, name, argtypes))

    def _bind(self, soname, name, argtypes):
        try:
            function = getattr(self.handle, name)
        except AttributeError:
            raise ApiError(f"{soname} has no function {name}")
        function.argtypes = argtypes
        function.restype = ctypes.c_int
        function.errcheck = self._check
        return function

    def _check(self, code, function, _arguments):
        if code != 0:
            raise ApiError(f"{function.__name__} returned {self.describe(code)}")

    def describe(self, code):
        return str(code)
