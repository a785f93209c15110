"""The shim's one line on stderr: where nobody reads it, the program must not notice."""
import fcntl
import os
import subprocess

import box
import preload

F_GETPIPE_SZ = getattr(fcntl, "F_GETPIPE_SZ", 1032)  # Python has the name since 3.10

SOURCE = """
#include <cuda.h>
int main(void) {
    CUcontext context;
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0);
}
"""


class Complaints(preload.PreloadCase):
    def status(self, stderr):
        """Of a program whose trace cannot be written, which the shim says on stderr."""
        program = preload.compiled(SOURCE, self.folder / "program")
        env = box.environment({**preload.variables(self.folder), "GPUSHIM_OUT": "/proc/no/trace.db"})
        return subprocess.run([program], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=stderr, timeout=60, check=False).returncode

    def pipe(self):
        ends = os.pipe()
        for end in ends:
            self.addCleanup(os.close, end)
        return ends

    def test_said_where_somebody_reads(self):
        reader, writer = self.pipe()
        self.assertEqual(self.status(writer), 0)
        self.assertIn(b"gpushim: ", os.read(reader, 4096))

    def test_the_reader_is_gone(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, writer)
        self.assertEqual(self.status(writer), 0)

    def test_the_pipe_is_full(self):
        _, writer = self.pipe()
        os.set_blocking(writer, False)
        self.assertEqual(os.write(writer, bytes(1 << 20)), fcntl.fcntl(writer, F_GETPIPE_SZ))
        os.set_blocking(writer, True)
        self.assertEqual(self.status(writer), 0)
