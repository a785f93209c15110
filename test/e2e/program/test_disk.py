"""Disks that are full, read-only or go away: at most one line on stderr, and the program is what it was
without the shim."""
import subprocess
import unittest

import box
import optional
import preload

LAUNCHES = 60_000
PROGRAM = f"""
#include "one_gpu.h"
#include <unistd.h>
int main(void) {{
    open_gpu();
    const CUfunction function = kernel_of("kernel__1us");
    for (int i = 0; i < {LAUNCHES}; ++i) {{
        launch_one(function, 0);
        if (i % 1000 == 0) usleep(1000);
    }}
    return puts("done"), cuCtxSynchronize();
}}
"""
MOUNT = 'mkdir -p "$1" && mount -t tmpfs -o "$2" none "$1"'


@unittest.skipUnless(optional.may_mount(), optional.lacks("namespaces"))
class Disk(preload.PreloadCase):
    def on_a_disk(self, options, *commands, out="trace.%p.db", min_free_mb=0):
        """Runs the program with its traces on a disk of its own; the commands after it run there, too."""
        program = preload.compiled(PROGRAM, self.folder / "program")
        disk = self.folder / "disk"
        under = f"LD_PRELOAD={preload.SHIM} GPUSHIM_OUT={disk}/{out} GPUSHIM_MIN_FREE_MB={min_free_mb}"
        script = "\n".join(['set -e', MOUNT, *commands, 'cd "$1"', f'{under} "$3"; echo "status $?"',
                            'cp -r "$1" "$1.after"'])
        done = box.run(["unshare", "-m", "sh", "-c", script, "sh", disk, options, program], preload.QUICK)
        self.assertEqual(done.stdout, "done\nstatus 0\n", done.stderr)
        self.assertLessEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done, self.folder / "disk.after"

    def test_large_enough(self):
        done, disk = self.on_a_disk("size=64m")
        (trace,) = disk.glob("*.db")
        self.assertEqual(done.stderr, "")
        self.assert_nothing_lost(trace)
        self.assertEqual(preload.launches(trace), {"kernel__1us": LAUNCHES})

    def test_full_after_a_while(self):
        done, disk = self.on_a_disk("size=1m")
        (trace,) = disk.glob("*.db")
        subprocess.run([preload.ANALYZER, "report", trace], check=False, env=box.environment(),
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        terms = preload.ledger(trace)
        self.assertEqual(terms["unknown"], 0, terms)
        self.assertLess(terms["recorded"], LAUNCHES)
        self.assertGreaterEqual(terms["recorded"] + terms["recovered"] + terms["dropped"], LAUNCHES)
        self.assertEqual(done.stderr.count("\n"), 1, "nothing was said of the full disk")

    def test_less_left_than_is_to_stay_free(self):
        done, disk = self.on_a_disk("size=1m", min_free_mb=256)
        (trace,) = disk.glob("*.db")
        self.assertLess(trace.stat().st_size, 512 * 1024)
        self.assertEqual(preload.query(trace, "SELECT count(*) FROM launch"), [(0,)])
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("little space", done.stderr)

    def test_full_from_the_start(self):
        # dd fills the disk until it fails: that it does is what is wanted.
        done, _ = self.on_a_disk("size=64k", 'dd if=/dev/zero of="$1/fill" 2>/dev/null || true')
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_read_only(self):
        done, disk = self.on_a_disk("size=1m", 'mount -o remount,ro "$1"')
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(list(disk.iterdir()), [])

    def test_unmounted_meanwhile(self):
        program = preload.compiled(PROGRAM, self.folder / "program")
        disk = self.folder / "disk"
        under = f"LD_PRELOAD={preload.SHIM} GPUSHIM_OUT={disk}/trace.db GPUSHIM_MIN_FREE_MB=0"
        script = "\n".join(["set -e", MOUNT, f'{under} "$3" & sleep 0.05', 'umount -l "$1"',
                            'wait $!; echo "status $?"'])
        done = box.run(["unshare", "-m", "sh", "-c", script, "sh", disk, "size=64m", program], preload.QUICK)
        self.assertEqual(done.stdout, "done\nstatus 0\n", done.stderr)
        self.assertLessEqual(len(done.stderr.splitlines()), 1, done.stderr)
