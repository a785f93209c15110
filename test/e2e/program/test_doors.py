"""Every way in which a program gets at the driver or at NCCL: the shim sees each call once, and the program
sees what it would see without it."""
import sys

import box
from shim_host import LAUNCHES, SHIM, ShimTest

CALLS = {"cuInit": 1, "cuCtxCreate_v2": 1, "cuModuleLoadData": 1, "cuModuleGetFunction": 1,
         "cuMemAlloc_v2": 1, "cuMemcpyHtoD_v2": 1, "cuMemcpyDtoH_v2": 1, "cuLaunchKernel": LAUNCHES,
         "cuCtxSynchronize": 1}


class WaysIn(ShimTest):
    def check(self, host, expected=None, **knobs):
        run = self.assert_undisturbed([host], **knobs)
        self.assertEqual(run.stdout, "7 launches, the bytes came back\n", run.stderr)
        self.assertEqual({name: count for name, count in run.hits.items() if count}, expected or CALLS)
        return run

    def way(self, way, *flags):
        return self.build("host.c", f"host_{way}", f"-DWAY={way}", *flags)

    def test_linked(self):
        self.check(self.way("LINKED", *self.linked(), "-Wl,-z,lazy"))

    def test_linked_and_bound_at_once(self):
        self.check(self.way("LINKED", *self.linked(), "-Wl,-z,now"))

    def test_opened(self):
        self.check(self.way("DLOPEN"))

    def test_opened_by_a_library_that_nobody_else_sees(self):
        library = self.build("host.c", "work.so", "-DWAY=DLOPEN", "-DIN_LIBRARY")
        loads = self.build("loads.c", "loads")
        run = self.assert_undisturbed([loads, library])
        self.assertEqual(run.hits["cuLaunchKernel"], LAUNCHES, run.stdout)

    def test_linked_to_a_library_that_nobody_else_sees(self):
        library = self.build("host.c", "work.so", "-DWAY=LINKED", "-DIN_LIBRARY", *self.linked())
        loads = self.build("loads.c", "loads")
        run = self.assert_undisturbed([loads, library])
        self.assertEqual(run.hits["cuLaunchKernel"], LAUNCHES, run.stdout)

    def test_found_in_the_global_scope(self):
        self.check(self.way("DEFAULT"))

    def test_asked_of_the_driver_by_its_first_form(self):
        self.check(self.way("PROC1"))

    def test_asked_of_the_driver_by_its_second_form(self):
        self.check(self.way("PROC2"))

    def test_asked_of_the_driver_for_the_threads_own_stream(self):
        twins = {"cuMemcpyHtoD_v2": "_ptds", "cuMemcpyDtoH_v2": "_ptds", "cuLaunchKernel": "_ptsz"}
        # Twins exist from CUDA 7 on; before, the plain form is what there is.
        expected = {name + (twins.get(name, "") if self.is_newer(name) else ""): count
                    for name, count in CALLS.items()}
        for form in ("PROC1", "PROC2"):
            with self.subTest(form=form):
                self.check(self.way(form, "-DFLAGS=2", "-DNEWEST"), expected)

    @staticmethod
    def is_newer(name):
        return name in ("cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuLaunchKernel")

    def test_the_driver_calls_itself_through_exported_names(self):
        run = self.assert_undisturbed([self.way("DLOPEN")], GPUSIM_SELF_CALLS="3")
        self.assertEqual((run.counts["cuLaunchKernel"], run.hits["cuLaunchKernel"]), (LAUNCHES, LAUNCHES))

    def test_an_older_driver(self):
        self.check(self.way("DLOPEN"), GPUSIM_VERSION="11040")
        self.check(self.way("PROC1"), GPUSIM_VERSION="11040")
        self.check(self.way("PROC2"), GPUSIM_VERSION="12000")

    def test_a_driver_without_a_function(self):
        for way, flags in (("DLOPEN", []), ("PROC2", [])):
            with self.subTest(way=way):
                run = self.assert_undisturbed([self.way(way, *flags)], GPUSIM_MISSING="cuLaunchKernel")
                self.assertEqual(run.stdout, "no cuLaunchKernel\n")

    def test_versions_of_names_that_have_none(self):
        """dlvsym of a library without versions finds what dlsym finds."""
        host = self.build("dlvsym.c", "host")
        for table in ("gnu", "sysv"):
            with self.subTest(table=table):
                self.build("plain.c", "libcuda.so.1", "-nostdlib", "-Wl,-soname,libcuda.so.1",
                           f"-Wl,--hash-style={table}")
                run = self.assert_undisturbed([host], LD_LIBRARY_PATH=self.folder)
                self.assertEqual(run.stdout, "42\n")
                self.assertEqual(run.hits, {"cuInit": 1})


class Python(ShimTest):
    def python(self, text, **options):
        return self.run_host([sys.executable, "-c", text], **options)

    def test_ctypes(self):
        run = self.python("""
import ctypes
hits = ctypes.CDLL(None).gpushim_hits
hits(None)
cuda = ctypes.CDLL("libcuda.so.1")
print(cuda.cuInit(0), cuda["cuInit"](0), hits(b"cuInit"))
""")
        self.assertEqual(run.stdout, "0 0 2\n", run.stderr)

    def test_the_driver_does_not_look_present_where_it_is_not(self):
        text = """
import ctypes
program = ctypes.CDLL(None)
print([hasattr(program, name) for name in ("cuInit", "ncclAllReduce", "cuGetProcAddress_v2", "printf")])
"""
        without, with_shim = self.python(text, preload=()), self.python(text)
        self.assertEqual(with_shim.seen, without.seen)
        self.assertEqual(with_shim.stdout, "[False, False, False, True]\n")

    def test_calls_without_a_driver_answer_that_there_is_none(self):
        host = self.build("absent.c", "absent")
        done = box.run([host], {"LD_PRELOAD": SHIM}, sim=False)
        self.assertEqual(done.stdout, "cuInit 100 ncclGroupStart 2\n", done.stderr)


class Newer(ShimTest):
    def test_what_the_driver_gives_is_known_by_its_address(self):
        """A driver of tomorrow: the newest form of a name has another signature, and the rules for versions
        are not ours to know."""
        self.build("tomorrow.c", "libcuda.so.1", "-nostdlib", "-Wl,-soname,libcuda.so.1,-Bsymbolic")
        host = self.build("asks.c", "asks")
        run = self.assert_undisturbed([host], LD_LIBRARY_PATH=self.folder)
        self.assertEqual(run.stdout, "14000: 7\n13000: 5\n12000: 50\n", run.stderr)
        # Where one address is two exports, what was asked for tells them apart.
        self.assertEqual(run.hits, {"cuMemFree": 1, "cuMemFree_v2": 1, "cuStreamQuery": 1,
                                    "cuStreamQuery_ptsz": 3, "unknown_abi": 1})


class Nccl(ShimTest):
    def test_opened_and_linked(self):
        for way, flags in (("DLOPEN", []), ("LINKED", self.linked("nccl"))):
            with self.subTest(way=way):
                host = self.build("nccl_host.c", f"nccl_{way}", f"-D{way}", *self.linked(), *flags)
                run = self.assert_undisturbed([host], GPUSIM_DEVICES="2")
                self.assertEqual(run.stdout, "sums are right\n", run.stderr)
                self.assertEqual(run.hits, {"ncclCommInitAll": 1, "ncclGroupStart": 2, "ncclGroupEnd": 2,
                                            "ncclAllReduce": 2, "ncclBcast": 2, "ncclBroadcast": 0,
                                            "ncclCommDestroy": 2})
