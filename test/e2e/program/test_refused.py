"""Drivers that refuse what gpushim asks, lack it, or are older or newer than what it knows: the program runs
on as without it, and what is not known for that is said."""
import json
import os
import pathlib
import re

import box
import cli
import preload

PROGRAM = pathlib.Path(__file__).parent / "refused" / "program.c"
SHIM = box.ROOT / "shim"
STATUS = 7
TURNS = 5
UNKNOWN_ERROR = 999
ALL_IS_TIMED = {"GPUSHIM_DEVICE_TIME": "events", "GPUSHIM_BUDGET": "100%", "CUDA_DEVICE_MAX_CONNECTIONS": 32}

# Made where nobody in front of the driver sees it.
FOREIGN = """
#include <cuda.h>
CUstream make_stream(void) {
    CUstream stream = 0;
    return cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS ? stream : 0;
}
"""

# Asked where the newer name is not there.
INSTEAD_OF = {"cuDeviceGetUuid": "cuDeviceGetUuid_v2", "cuStreamGetCtx": "cuStreamGetCtx_v2",
              "cuGraphKernelNodeGetParams": "cuGraphKernelNodeGetParams_v2",
              "cuStreamGetCaptureInfo_v2": "cuStreamGetCaptureInfo_v3",
              "cuStreamGetCaptureInfo_v2_ptsz": "cuStreamGetCaptureInfo_v3_ptsz"}
# It spares questions. Without an answer all of them are asked, and nothing is unknown.
SPARES_QUESTIONS = "cuStreamGetCaptureInfo"

WAYS_TO_ASK = (r"\bCALL\((cu[A-Z]\w+)\)", r"\bASKED\(driver_function, (cu[A-Z]\w+)\)",
               r"\bfind\(\w+, \"(cu[A-Z]\w+)\"\)", r"\bdriver<decltype\(\w+\)>\(\"(cu[A-Z]\w+)\"\)",
               r"\bask\([\w:]+, \"(cu[A-Z]\w+)\"")


def calls_of_the_shim():
    """By its source: what it asks the driver for by name."""
    found = set()
    for file in (*SHIM.rglob("*.cpp"), *SHIM.rglob("*.h")):
        for way in WAYS_TO_ASK:
            found.update(re.findall(way, file.read_text(encoding="utf-8")))
    return sorted(found)


class Refused(cli.Case):
    def setUp(self):
        super().setUp()
        foreign = preload.compiled(FOREIGN, self.folder / "foreign.so", "-shared", "-fPIC")
        program = preload.compiled(PROGRAM.read_text(encoding="utf-8"), self.folder / "program", "-Wall",
                                   "-Werror")
        self.command = [str(program), str(foreign)]

    def alone(self, **knobs):
        done = box.run(self.command, knobs, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (STATUS, ""), done.stdout)
        return done.stdout

    def tried(self, expected, **knobs):
        """What doctor finds of a run that did what the program does alone. Where a busy machine left the
        process no time to write all, doctor says so, and is asked again."""
        for _ in range(TURNS):
            done = self.gpushim("doctor", "--json", "--", *self.command, sim=True,
                                knobs={**ALL_IS_TIMED, **knobs})
            findings = json.loads(done.stdout)["findings"]
            if not any(one["what"] == "end" for one in findings):
                break
        # Beside the program's lines, in order, there are ours.
        lines = [line for line in done.stderr.splitlines() if not line.startswith("gpushim: ")]
        self.assertEqual(lines, expected.splitlines())
        tried, = (one["text"] for one in findings if one["what"] == "tried")
        self.assertTrue(tried.startswith(f"ended with {STATUS};"), tried)
        return [one["text"] for one in findings if one["what"] in ("times", "unknown", "NVML")
                and one["verdict"] == "LIMITED"]

    def counts(self, shim, **knobs):
        truth = self.folder / ("with" if shim else "alone")
        more = {**preload.variables(self.folder), **ALL_IS_TIMED, **knobs} if shim else {}
        done = box.run(self.command, {"GPUSIM_TRUTH": truth, **more}, cwd=self.folder)
        self.assertEqual(done.returncode, STATUS, done.stderr)
        return {name: count.entered for name, count in box.read_counts(f"{truth}.counts").items()}

    def test_the_program_makes_none_of_our_calls_and_we_make_all_of_them(self):
        alone, ours = self.counts(False), self.counts(True)
        calls = calls_of_the_shim()
        self.assertGreater(len(calls), 30)
        self.assertEqual([call for call in calls if alone.get(call, 0)], [])
        self.assertEqual([call for call in calls if not ours.get(call, 0)], sorted(INSTEAD_OF))

    def test_captures_are_asked_about_without_device_times_too(self):
        """Else it hangs on how busy the machine is whether the calls above are made."""
        ours = self.counts(True, GPUSHIM_DEVICE_TIME="off")
        for call in ("cuStreamIsCapturing", "cuStreamGetCaptureInfo_v3"):
            self.assertEqual([name for name in (call, f"{call}_ptsz") if not ours[name]], [])

    def assert_is_said(self, said, call, error):
        base = re.sub(r"(_v\d+)?(_ptsz)?$", "", call)
        if base == SPARES_QUESTIONS:
            self.assertEqual(said, [])
        else:
            self.assertTrue([line for line in said if base in line and error in line], said)

    def test_each_call_of_ours_is_refused(self):
        expected = self.alone()
        self.assertEqual(self.tried(expected), [])
        for call in calls_of_the_shim():
            with self.subTest(call):
                newer = {"GPUSIM_MISSING": INSTEAD_OF[call]} if call in INSTEAD_OF else {}
                said = self.tried(expected, GPUSIM_FAIL=f"{call}:each:{UNKNOWN_ERROR}", **newer)
                self.assert_is_said(said, call, str(UNKNOWN_ERROR))

    def test_each_call_of_ours_is_not_there(self):
        expected = self.alone()
        for call in calls_of_the_shim():
            with self.subTest(call):
                missing = ",".join(filter(None, (call, INSTEAD_OF.get(call))))
                if call in INSTEAD_OF.values():
                    continue  # then the older name is asked
                said = self.tried(expected, GPUSIM_MISSING=missing)
                self.assert_is_said(said, call, "")

    def test_drivers_that_are_older_and_newer_than_what_we_know(self):
        for version, said_of_it in ((11000, "older than 11.4"), (11030, "older than 11.4"), (11040, None),
                                    (12000, None), (13000, None), (13060, "newer than gpushim knows")):
            with self.subTest(version):
                said = self.tried(self.alone(GPUSIM_VERSION=version), GPUSIM_VERSION=version)
                about = [line for line in said if "the driver is" in line]
                self.assertEqual(len(about), 1 if said_of_it else 0, said)
                self.assertTrue(said_of_it is None or said_of_it in about[0], said)

    def without(self, library):
        """A library path with all of the box but that one."""
        bare = self.folder / f"without-{library}"
        bare.mkdir()
        for file in box.SIM.iterdir():
            if library not in file.name:
                os.symlink(file.resolve(), bare / file.name)
        return {"LD_LIBRARY_PATH": bare}

    def test_a_machine_without_nvml(self):
        self.command.append("1500")  # it is asked after a second
        said = self.tried(self.alone(**self.without("nvidia-ml")),
                          LD_LIBRARY_PATH=self.folder / "without-nvidia-ml")
        self.assertEqual([line for line in said if "NVML" in line and "what NVML shows" in line],
                         ["what NVML shows of devices: use, memory, power, clocks, NVML is not there"])

    def test_a_machine_without_cupti(self):
        knobs = {**self.without("cupti"), "GPUSHIM_DEVICE_TIME": "cupti"}
        said = self.tried(self.alone(), **knobs)
        self.assertTrue([line for line in said if line.startswith("CUPTI was not available")], said)
