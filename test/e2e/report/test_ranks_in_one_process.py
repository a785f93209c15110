"""One process with several ranks of a communicator, as ncclCommInitAll makes it and torch.nn.DataParallel
uses it. On the stepped clock."""
import json

import box
import preload

PROGRAM = box.ROOT / "test" / "e2e" / "trace" / "nccl_view" / "two_ranks.c"


class RanksInOneProcess(preload.PreloadCase):
    def setUp(self):
        super().setUp()
        program = preload.compiled(PROGRAM.read_text(encoding="utf-8"), self.folder / "two_ranks",
                                   "-l:libnccl.so.2")
        self.traced([program, "20"], GPUSIM_CLOCK="stepped", GPUSIM_DEVICES=2, GPUSHIM_BUDGET="100%")
        done = box.run([preload.ANALYZER, "report", "--json", self.the_trace()], sim=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.answer = json.loads(done.stdout)

    def test_each_of_its_ranks_has_a_part_in_each_collective(self):
        rows = preload.query(self.folder / "gpushim.run.db", """
            SELECT comm_rank, count(*), count(DISTINCT gpu_id), min(parts) FROM collective_instance
            WHERE op = 'allreduce' GROUP BY comm_rank ORDER BY comm_rank""")
        self.assertEqual(rows, [(0, 20, 1, 2), (1, 20, 1, 2)])
        reduced, = [row for row in self.answer["collectives"] if row["op"] == "allreduce"]
        self.assertEqual((reduced["count"], reduced["ranks"]), (20, 2))
        self.assertEqual(len(self.answer["gpus"]), 2)
