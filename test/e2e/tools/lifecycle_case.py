"""What tests of a traced program's life and files stand on: lifecycle/host.c, with and without the shim."""
import pathlib
import shutil
import tempfile

import box
import preload

SOURCE = pathlib.Path(__file__).parent / "lifecycle" / "host.c"
COPIES = 100  # of lifecycle/host.c's work()
COUNT_COPIES = "SELECT count(*) FROM copy WHERE flags & 4 = 0"


class LifecycleCase(preload.PreloadCase):
    def host(self):
        """The program, built once per test, outside of the folder that the test looks at."""
        if not hasattr(self, "program"):
            folder = tempfile.mkdtemp(prefix="gpushim-host-")
            self.addCleanup(shutil.rmtree, folder)
            self.program = preload.compiled(SOURCE.read_text(encoding="utf-8"), pathlib.Path(folder) / "host")
        return self.program

    def same(self, *words, **knobs):
        """Runs it with and without the shim; both do the same. Returns the traced run."""
        command = [self.host(), *words]
        others = {name: value for name, value in knobs.items() if name not in preload.variables(self.folder)}
        alone = box.run(command, {**preload.QUICK, **others}, cwd=self.folder)
        done = box.run(command, {**preload.variables(self.folder), **preload.QUICK, **knobs}, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (alone.returncode, alone.stdout), done.stderr)
        return done

    def copies(self, trace=None):
        return preload.query(trace or self.the_trace(), COUNT_COPIES)[0][0]

    def assert_no_rings_left(self):
        """Of processes whose traces are in this test's folder."""
        folder = str(self.folder).encode()
        own = pathlib.Path("/dev/shm")
        left = [ring for traced in own.glob("gpushim-*/*") for ring in preload.listed(traced)
                if ring.name.startswith("ring-") and folder in preload.content(ring)[:4096]]
        self.assertEqual(left, [])
