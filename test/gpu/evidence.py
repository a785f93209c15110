"""What a row leaves that was wrong, or is to be looked at anyway: its traces, the profiler's files, and each
program's command, status and whole stderr, in one archive that is small enough to be carried away: wrong rows
first, the newest of them before others; of a row that is too large the small files alone. Whole on the disk
after every row.
"""
import contextlib
import io
import os
import pathlib
import tarfile

MOST_BYTES = 15 << 20
SMALL_BYTES = 256 << 10  # of a file, where all do not fit


class Evidence:
    def __init__(self, file, most_bytes=MOST_BYTES):
        self.file, self.most_bytes = file, most_bytes  # no file: nothing is kept
        self.rows = {}  # name: whether it was wrong; as it is packed, whole and small

    def keep(self, name, folder, is_wrong=True):
        if self.file is None or folder is None:
            return
        with contextlib.suppress(OSError):  # the rows go on
            self.rows.pop(name, None)
            self.rows[name] = is_wrong, [packed(folder), packed(folder, SMALL_BYTES)]
            self._write()

    def _write(self):
        aside = self.file.with_name(f".{self.file.name}.new")
        left_bytes = self.most_bytes
        with tarfile.open(aside, "w") as archive:
            newest_first = list(reversed(self.rows.items()))
            for name, (_, sizes) in sorted(newest_first, key=lambda row: not row[1][0]):
                fits = next((some for some in sizes if len(some) + 3 * tarfile.BLOCKSIZE <= left_bytes), None)
                if fits is None:
                    continue
                left_bytes -= len(fits) + 3 * tarfile.BLOCKSIZE
                member = tarfile.TarInfo(f"{name}.tar.gz")
                member.size = len(fits)
                archive.addfile(member, io.BytesIO(fits))
        aside.replace(self.file)


def packed(folder, most_of_a_file=None):
    """The folder's files, as they are."""
    bytes_of_it = io.BytesIO()
    with tarfile.open(fileobj=bytes_of_it, mode="w:gz") as archive:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file() and (most_of_a_file is None or path.stat().st_size <= most_of_a_file):
                archive.add(path, os.path.relpath(path, folder))
    return bytes_of_it.getvalue()
