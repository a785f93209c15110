"""Programs that launch at a pace, for tests of what is timed and what is recorded (windows/)."""
import pathlib

import preload

SOURCES = pathlib.Path(__file__).parent / "windows"


class Case(preload.PreloadCase):
    def paced(self):
        return self.built("paced")

    def decode(self):
        return self.built("decode")

    def built(self, name):
        program = self.folder / name
        if not program.exists():
            source = (SOURCES / f"{name}.c").read_text(encoding="utf-8")
            preload.compiled(source, program, "-l:libgpusim.so")
        return program
