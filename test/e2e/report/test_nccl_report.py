"""What NCCL says of its own work, in the report: what its service threads wait for, and slow channels."""
import json
import re
import unittest

import box
import preload
import test_nccl

STEPPED = {"GPUSIM_CLOCK": "stepped", "GPUSIM_NCCL_NETWORK": 1}


class NcclReport(unittest.TestCase):
    setUp, start, finish = test_nccl.NcclTest.setUp, test_nccl.NcclTest.start, test_nccl.NcclTest.finish

    def report(self, wanted, **knobs):
        """Text, and what the JSON says of NCCL; of two ranks that all-reduce."""
        variables = preload.variables(self.folder, GPUSHIM_OUT=f"{self.folder}/%r.db",
                                      GPUSHIM_NCCL_PROFILER=wanted, **{**STEPPED, **knobs})
        self.finish(self.start("steps", 2, variables))
        traces = [self.folder / "0.db", self.folder / "1.db"]
        text = box.run([preload.ANALYZER, "report", *traces], sim=False)
        said = box.run([preload.ANALYZER, "report", "--json", *traces], sim=False)
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        return text.stdout, json.loads(said.stdout)["nccl"]

    def test_the_network(self):
        text, said = self.report("network")
        self.assertEqual([one["interface"] for one in said["plugins"]], [5, 5])
        keys = ("rank", "comm_rank", "peer", "direction", "channels")
        self.assertEqual(sorted(tuple(one[key] for key in keys) for one in said["network"]),
                         [(rank, rank, 1 - rank, way, 2) for rank in (0, 1) for way in ("receive", "send")])
        self.assertEqual(len({one["comm"] for one in said["network"]}), 1)
        for one in said["network"]:
            sends = one["direction"] == "send"
            self.assertAlmostEqual(one["gpu_wait_share"], 0.25, delta=0.01)
            self.assertAlmostEqual(one["network_wait_share"], 0.5 if sends else 0.75, delta=0.01)
            if sends:
                self.assertAlmostEqual(one["peer_wait_share"], 0.25, delta=0.01)
            else:
                self.assertIsNone(one["peer_wait_share"])
                self.assertIn("no room at its peer", one["why"])
            self.assertAlmostEqual(one["bytes_per_s"], one["bytes"] * 1e9 / one["busy_ns"], delta=1)
        self.assertEqual(said["channels"], [])
        self.assertRegex(text, r"\nNETWORK +peer +way +operations +bytes")
        self.assertRegex(text, r"\n  rank [01], communicator [0-9a-f]{16} +[01] +(send|receive) ")
        self.assertNotRegex(text, r"\n(CHANNELS|NCCL) ")

    def test_the_slowest_channel(self):
        """Channel 0 is over an eighth earlier than channel 1."""
        text, said = self.report("all")
        times = {(one["rank"], one["channel"]): one["mean_ns"] for one in said["channels"]}
        self.assertEqual(sorted(times), [(0, 0), (0, 1), (1, 0), (1, 1)])
        for rank in (0, 1):
            self.assertAlmostEqual(times[rank, 0], times[rank, 1] * 7 / 8, delta=times[rank, 1] / 50)
        self.assertEqual({one["by"] for one in said["channels"]}, {"gpu"})
        found = re.findall(r"\nCHANNELS +rank ([01]), communicator [0-9a-f]+: channel (\d) of 2 is the "
                           r"slowest", text)
        self.assertEqual(found, [("0", "1"), ("1", "1")])

    def test_by_the_service_thread_where_the_gpu_tells_nothing(self):
        text, said = self.report("all", GPUSIM_NCCL_INTERFACE=3)
        self.assertEqual({one["by"] for one in said["channels"]}, {"host"})
        self.assertIn("as NCCL's service thread noticed it", " ".join(text.split()))
        for one in said["network"]:
            self.assertIsNone(one["peer_wait_share"])

    def test_why_there_is_nothing(self):
        text, said = self.report("network", NCCL_PROFILER_PLUGIN="none")
        self.assertRegex(text, r"\nNCCL +rank 0: what it says of its work is not recorded, for "
                               r"NCCL_PROFILER_PLUGIN is\s+set")
        self.assertEqual([one["interface"] for one in said["plugins"]], [None, None])
        self.assertEqual(said["network"], [])

    def test_nothing_where_nobody_asked(self):
        text, said = self.report("off")
        self.assertEqual(said, {"plugins": [], "network": [], "channels": []})
        self.assertNotRegex(text, r"\n(NETWORK|CHANNELS|NCCL) ")
