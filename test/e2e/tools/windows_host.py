"""A program that launches at a pace, for tests of what is timed and what is recorded (windows/paced.c)."""
import pathlib

import preload

SOURCE = pathlib.Path(__file__).parent / "windows" / "paced.c"


class Case(preload.PreloadCase):
    def paced(self):
        program = self.folder / "paced"
        if not program.exists():
            preload.compiled(SOURCE.read_text(encoding="utf-8"), program, "-l:libgpusim.so")
        return program
