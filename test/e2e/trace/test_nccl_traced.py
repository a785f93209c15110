"""NCCL under the preload: ranks get what they get without it, and their traces name the same communicators
and number the same calls."""

import preload
import test_nccl
import test_recovery

SCENARIOS = {"collectives": 3, "with_settings": 3, "ring": 4, "split": 5, "shrink": 4, "scalable": 4,
             "grow": 3, "steps": 2, "order": 2, "graph": 2, "non_blocking": 2}


class NcclTraced(test_nccl.NcclTest):
    def traced(self, scenario, ranks):
        """The traces by rank, after the results were compared with those of a run without the preload."""
        stepped = {"GPUSIM_CLOCK": "stepped"}
        without = self.finish(self.start(scenario, ranks, stepped, f"{scenario} without"))
        variables = preload.variables(self.folder, GPUSHIM_OUT=f"{self.folder}/{scenario}.%r.db", **stepped)
        under = self.finish(self.start(scenario, ranks, variables, f"{scenario} under"))
        self.assertEqual(under, without)
        traces = [self.folder / f"{scenario}.{rank}.db" for rank in range(ranks)]
        for trace in traces:
            # Of many ranks on few processors some leave at their end what there was no time to write.
            self.assertEqual(test_recovery.recover(trace), (0, ""))
            terms = preload.ledger(trace)
            self.assertEqual((terms["dropped"], terms["unknown"], terms["unfinished"]), (0, 0, 0), terms)
            self.assertGreater(terms["recorded"] + terms["recovered"], 0)
        return traces

    def collectives(self, trace, columns):
        return preload.query(trace, f"SELECT {columns} FROM v_collective WHERE NOT failed ORDER BY enter_ns")

    def test_results_of_all_kinds_of_use(self):
        for scenario, ranks in SCENARIOS.items():
            with self.subTest(scenario=scenario):
                first, *_ = self.traced(scenario, ranks)
                self.assertGreater(len(self.collectives(first, "api")), 0)

    def test_each_collective_is_what_was_called(self):
        for rank, trace in enumerate(self.traced("collectives", 3)):
            self.assert_called(trace, rank)

    def test_forms_with_settings_are_the_same_collectives(self):
        for rank, trace in enumerate(self.traced("with_settings", 3)):
            self.assert_called(trace, rank, "Config")

    def assert_called(self, trace, rank, form=""):
        found = self.collectives(trace, "seq, api, count, dtype, op, bytes, peer, rank, ranks")
        common = (rank, 3)
        self.assertEqual(found, [
            (1, "ncclAllReduce" + form, 2, "int32", "sum", 8, None, *common),
            (2, "ncclAllReduce" + form, 2, "int32", "max", 8, None, *common),
            (3, "ncclReduce" + form, 2, "int32", "sum", 8, 2, *common),
            (4, "ncclReduceScatter" + form, 2, "int32", "sum", 8, None, *common),
            (5, "ncclBroadcast" + form, 2, "int32", None, 8, 1, *common),
            (6, "ncclAllGather" + form, 2, "int32", None, 8, None, *common),
            (7, "ncclAlltoAll" + form, 2, "int32", None, 8, None, *common),
            (8, "ncclGather" + form, 2, "int32", None, 8, 0, *common),
            (9, "ncclScatter" + form, 2, "int32", None, 8, 0, *common)])

    def test_sends_and_receives_are_numbered_alike(self):
        sent, received = set(), set()
        for rank, trace in enumerate(self.traced("ring", 4)):
            for uid, api, peer, seq in self.collectives(trace, "communicator, api, peer, seq"):
                ends = (rank, peer) if api == "ncclSend" else (peer, rank)
                (sent if api == "ncclSend" else received).add((uid, *ends, seq))
        self.assertEqual(sent, received)
        self.assertEqual(len(sent), 4 * 3)

    def test_a_group_is_one(self):
        for trace in self.traced("ring", 4):
            groups = [group for group, in self.collectives(trace, "group_id")]
            self.assertEqual(len(set(groups)), 3, groups)
            self.assertEqual(groups, [group for group in sorted(set(groups)) for _ in range(2)])
            kernels = preload.query(trace, "SELECT group_id, count(*) FROM v_launch GROUP BY group_id")
            self.assertEqual({group for group, _ in kernels}, set(groups))

    def test_parts_of_a_communicator(self):
        uids = {}
        for rank, trace in enumerate(self.traced("split", 5)):
            rows = preload.query(trace, "SELECT uid, parent_uid, rank, ranks FROM v_communicator ORDER BY id")
            self.assertEqual(rows[0][2:], (rank, 5))
            self.assertEqual(rows[0][1], None)
            uids.setdefault("all", set()).add(rows[0][0])
            self.assertEqual(len(rows), 1 if rank == 4 else 2)
            for uid, parent, part_rank, ranks in rows[1:]:
                self.assertEqual((parent, part_rank, ranks), (rows[0][0], 1 - rank // 2, 2))
                uids.setdefault(rank % 2, set()).add(uid)
        self.assertEqual([len(found) for found in uids.values()], [1, 1, 1])
        self.assertEqual(len(set.union(*uids.values())), 3)

    def test_what_is_left_of_a_communicator(self):
        by_rank = [preload.query(trace, "SELECT uid, ranks FROM v_communicator ORDER BY id")
                   for trace in self.traced("shrink", 4)]
        sizes = {rank: [ranks for _, ranks in rows] for rank, rows in enumerate(by_rank)}
        self.assertEqual(sizes[0], [4, 3, 2])
        for rows in by_rank[1:]:
            self.assertEqual(rows, by_rank[0][:len(rows)])
        self.assertEqual(len({uid for uid, _ in by_rank[0]}), 3)

    def test_a_communicator_that_grows(self):
        uids = set()
        for rank, trace in enumerate(self.traced("grow", 3)):
            rows = preload.query(trace, "SELECT uid, parent_uid, rank, ranks, handle FROM v_communicator"
                                 " ORDER BY born_ns")
            *old, (uid, parent, *place, grown) = rows
            self.assertEqual([row[2:4] for row in old], [(rank, 2)] if rank < 2 else [])
            self.assertEqual((parent, place), (old[0][0] if old else None, [rank, 3]))
            uids.add((uid, rank < 2))
            calls = preload.query(trace, "SELECT api, target, stream FROM v_call WHERE NOT failed AND"
                                  " (api LIKE '%Suspend' OR api LIKE '%Resume' OR api LIKE '%Signal')"
                                  " ORDER BY enter_ns")
            signals = self.last_stream(trace)
            self.assertEqual(calls, [("ncclCommSuspend", grown, None), ("ncclCommResume", grown, None),
                                     *((name, signals, signals)
                                       for name in ("ncclPutSignal", "ncclSignal", "ncclWaitSignal"))])
            self.assertNotEqual(self.collectives(trace, "stream")[-1], (signals,))
        # Who was there and who came have different names for it.
        self.assertEqual(len({uid for uid, _ in uids}), 2)

    @staticmethod
    def last_stream(trace):
        born = "SELECT stream FROM v_stream WHERE born_ns NOT NULL ORDER BY born_ns"
        return preload.query(trace, born)[-1][0]
