"""Calls into a C library by ctypes, each answer a line, for programs that run with and without the shim."""
import ctypes


class Library:
    def __init__(self, path):
        self.functions = ctypes.CDLL(path)

    def ask(self, name, *arguments):
        """Says what the function returns; functions that are not there are an answer, too."""
        try:
            function = getattr(self.functions, name)
        except AttributeError:
            print(f"{name}: not there")
            return None
        function.restype = ctypes.c_int
        status = function(*arguments)
        print(f"{name}: {status}", flush=True)
        return status

    def number(self, name, *arguments, of=ctypes.c_int):
        """Says what a function writes to its last argument."""
        value = of(0)
        self.ask(name, *arguments, ctypes.byref(value))
        print(f"  {value.value}")
        return value.value

    def text(self, name, *arguments):
        """Says what a function that returns a text returns."""
        function = getattr(self.functions, name)
        function.restype = ctypes.c_char_p
        print(f"{name}{arguments}: {function(*arguments)}")
