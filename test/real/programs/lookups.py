"""Looks names up in the driver by dlsym and by both forms of cuGetProcAddress; what to ask is on stdin, as
JSON: {"exports": [...], "bases": {name: [versions]}}. Prints a line for each question: way, name, version,
flags, status, what became of the address (given, null, untouched), which export's it is (the first by name;
-: none's), and whose."""
import ctypes
import json
import pathlib
import sys

FLAGS = (0, 1, 2, 3, 4)  # default, legacy, per thread, both, none that there is
UNTOUCHED = 16  # an address that nobody gives


def owners():
    """[(first, last, whose)] of the process's code."""
    ranges = []
    for line in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if len(fields) > 5:
            first, last = (int(word, 16) for word in fields[0].split("-"))
            whose = "driver" if "libcuda" in fields[5] else "shim" if "gpushim" in fields[5] else "other"
            ranges.append((first, last, whose))
    return ranges


class Asker:
    def __init__(self, exports):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.code = owners()
        libc = ctypes.CDLL(None)
        libc.dlsym.restype = libc.dlerror.restype = ctypes.c_void_p
        libc.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self.libc = libc
        handle = self.driver._handle
        self.exported = {name: libc.dlsym(handle, name.encode()) for name in exports}
        named = sorted(self.exported.items(), reverse=True)
        self.by_address = {address: name for name, address in named if address}

    def say(self, way, name, version, flags, status, address):
        whose = next((w for first, last, w in self.code if address and first <= address < last), "-")
        export = self.by_address.get(address, "-") if address else "-"
        became = "untouched" if address == UNTOUCHED else "given" if address else "null"
        print(way, name or "(empty)", version, flags, status, became, export, whose)

    def by_dlsym(self):
        for name, address in self.exported.items():
            self.say("dlsym", name, 0, 0, 0, address)

    def by_version(self, name, version):
        for flags in FLAGS:
            arguments = version, ctypes.c_uint64(flags)
            outcome = ctypes.c_int(-1)
            if hasattr(self.driver, "cuGetProcAddress_v2"):  # from 12.0 on
                status, address = self.given("cuGetProcAddress_v2", name, *arguments, ctypes.byref(outcome))
                self.say("v2", name, version, flags, f"{status}/{outcome.value}", address)
                self.say("v2-", name, version, flags,
                         *self.given("cuGetProcAddress_v2", name, *arguments, None))
            self.say("v1", name, version, flags, *self.given("cuGetProcAddress", name, *arguments))

    def given(self, way, name, *arguments):
        """(status, address) of a question."""
        address = ctypes.c_void_p(UNTOUCHED)
        status = getattr(self.driver, way)(name.encode(), ctypes.byref(address), *arguments)
        return status, address.value


def main():
    asked = json.load(sys.stdin)
    asker = Asker(asked["exports"])
    asker.by_dlsym()
    for name, versions in asked["bases"].items():
        for version in versions:
            asker.by_version(name, version)


if __name__ == "__main__":
    main()
