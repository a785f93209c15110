"""Where tests have their files: no disk holds them up there."""
import os
import pathlib
import tempfile

MEMORY, MEMORY_BYTES = "/dev/shm", 4 << 30


def place():
    """A folder in which programs may lie, too; beside much else a disk may stand still for longer than an
    exit waits for it. None, which is the usual one: this machine has none."""
    try:
        there = os.statvfs(MEMORY)
    except OSError:
        return None
    serves = not there.f_flag & (os.ST_NOEXEC | os.ST_RDONLY) and os.access(MEMORY, os.W_OK)
    return MEMORY if serves and there.f_bavail * there.f_frsize >= MEMORY_BYTES else None


def folder_of(test):
    """A new one, which goes with the case, or with the class, that it is made for."""
    folder = tempfile.TemporaryDirectory(prefix="test-gpushim-", dir=place())
    (test.addClassCleanup if isinstance(test, type) else test.addCleanup)(folder.cleanup)
    return pathlib.Path(folder.name)
