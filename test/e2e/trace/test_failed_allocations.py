"""Device memory runs out: what was asked for, and what the program held at that moment."""
import json
import pathlib

import box
import preload

SOURCE = pathlib.Path(__file__).resolve().parent / "failed/allocations.c"
MIB = 1 << 20


class FailedAllocations(preload.PreloadCase):
    def test_what_was_asked_for_and_what_was_held(self):
        program = preload.compiled(SOURCE.read_text(encoding="utf-8"), self.folder / "allocations")
        self.traced([program], GPUSIM_MEMORY_GB=1, GPUSIM_CLOCK="stepped")
        rows = preload.query(self.the_trace(), "SELECT nth, api, bytes, held_bytes, device_id, device_bytes"
                                               " FROM v_failed_allocation ORDER BY nth")
        self.assertEqual(rows, [(0, "cuMemAlloc_v2", 700 * MIB, 600 * MIB, 0, 1024 * MIB),
                                (1, "cuMemAlloc_v2", 2000 * MIB, 0, 0, 1024 * MIB),
                                (2, "cuMemCreate", 1000 * MIB, 300 * MIB, 0, 1024 * MIB),
                                (3, "cuMemAllocAsync", 900 * MIB, 300 * MIB, 0, 1024 * MIB)])
        asked = [preload.ANALYZER, "report", self.the_trace()]
        said = json.loads(box.run([*asked, "--json"], sim=False).stdout)["failed_allocations"]
        self.assertEqual([(one["process_failures"], one["bytes"], one["held_bytes"],
                           one["free_at_most_bytes"]) for one in said],
                         [(4, 900 * MIB, 300 * MIB, 724 * MIB)])
        text = " ".join(box.run(asked, sim=False).stdout.split())
        self.assertRegex(text, r"NO MEMORY .*4 allocations failed; the last, cuMemAllocAsync, asked for "
                               r"900 MiB while the program held 300 MiB of the GPU's 1\.00 GiB: at most "
                               r"724 MiB was free")
