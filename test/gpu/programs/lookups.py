"""Looks up every export of the driver by dlsym, and every base name by both forms of cuGetProcAddress with
several versions and flags. Prints a line each: way, name, version, flags, status, whether there is an
address, which export's it is (the first by name; -: none's), and whose."""
import ctypes
import pathlib
import re

EXPORTS = pathlib.Path(__file__).resolve().parents[2] / "sim" / "exports.def"
VERSIONS = (4000, 8000, 11060, 12000, 12080, 13000, 99000)
FLAGS = (0, 1, 2)  # default, legacy, per thread


def owners():
    """[(first, last, whose)] of the process's code."""
    ranges = []
    for line in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if "x" in fields[1] and len(fields) > 5:
            first, last = (int(word, 16) for word in fields[0].split("-"))
            whose = "driver" if "libcuda" in fields[5] else "shim" if "gpushim" in fields[5] else "other"
            ranges.append((first, last, whose))
    return ranges


def main():
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuInit(0)
    rows = re.findall(r"^EXPORT\((\w+), \w+, (\w+),", EXPORTS.read_text(encoding="utf-8"), re.MULTILINE)
    code = owners()

    libc = ctypes.CDLL(None)
    libc.dlsym.restype = ctypes.c_void_p
    libc.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    exported = {export: libc.dlsym(driver._handle, export.encode()) for export, _ in rows}
    by_address = {address: export for export, address in sorted(exported.items(), reverse=True)}

    def say(way, name, version, flags, status, address):
        whose = next((w for first, last, w in code if address and first <= address < last), "-")
        export = by_address.get(address, "-") if address else "-"
        print(way, name, version, flags, status, bool(address), export, whose)

    for export, address in exported.items():
        say("dlsym", export, 0, 0, 0, address)
    address, outcome = ctypes.c_void_p(), ctypes.c_int()
    for name in sorted({base for _, base in rows} | {"cuNoSuchFunction"}):
        for version in VERSIONS:
            for flags in FLAGS:
                arguments = (name.encode(), ctypes.byref(address), version, ctypes.c_uint64(flags))
                address.value, outcome.value = None, -1
                status = driver.cuGetProcAddress_v2(*arguments, ctypes.byref(outcome))
                say("v2", name, version, flags, (status, outcome.value), address.value)
                address.value = None
                status = driver.cuGetProcAddress(*arguments)
                say("v1", name, version, flags, status, address.value)


if __name__ == "__main__":
    main()
