"""Random programs on the box have the times that a model written from the documentation works out."""
import json
import pathlib
import sys
import tempfile
import unittest

import box
import stream_model

PROGRAMS = 12


class StreamModel(unittest.TestCase):
    def play(self, seed, truth):
        knobs = {"GPUSIM_CLOCK": "stepped", "GPUSIM_DEVICES": stream_model.DEVICES, "GPUSIM_TRUTH": truth}
        done = box.run([sys.executable, "-B", stream_model.__file__, seed], knobs)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_answers_and_times_are_those_of_the_model(self):
        with tempfile.TemporaryDirectory(prefix="gpusim-model-") as folder:
            for seed in range(PROGRAMS):
                with self.subTest(seed=seed):
                    truth = pathlib.Path(folder) / f"truth-{seed}"
                    played = self.play(seed, truth)
                    answers, operations = stream_model.expected(seed, played["begun_ns"])
                    steps = stream_model.program(seed)
                    self.assertEqual(list(zip(steps, played["answers"])), list(zip(steps, answers)))
                    seen = [(op.device, op.op, op.start_ns, op.end_ns, op.bytes, op.call_enter_ns,
                             op.call_exit_ns) for op in box.read_truth(truth)]
                    self.assertEqual(seen, operations)
